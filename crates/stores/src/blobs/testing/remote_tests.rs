//! What is promised of blobs in an object store that fails at any operation, and of servers that end at any.

use std::time::Duration;

use crate::blobs::local::testing::{HOUR, START, plain, tenant};
use crate::blobs::testing::ObjectFault;
use crate::blobs::testing::place_tests::{Place, RemotePlace};
use crate::blobs::{BlobError, BlobPart, Blobs, PlaceOwner, Reconciling, StoreDifference};
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// A time at which whatever was left half done is taken for left.
const LATER: Duration = Duration::from_secs(START.as_secs() + HOUR.as_secs());

/// Each failure that one of the first operations can have.
fn faults() -> impl Iterator<Item = ObjectFault> {
    (0..6).flat_map(|after| {
        [(false, false), (true, false), (false, true), (true, true)]
            .map(|(has_effect, lasts)| ObjectFault { after, has_effect, lasts })
    })
}

async fn put(blobs: &Blobs, owner: &TenantId, content: &[u8]) -> Result<BlobId, BlobError> {
    Ok(blobs.store.put(owner, &plain(), content.to_vec()).await?.id)
}

async fn content(blobs: &Blobs, owner: &TenantId, id: &BlobId) -> Result<Vec<u8>, BlobError> {
    Ok(blobs.store.read(owner, id, BlobPart::Head, ByteCount::bytes(99)).await?.bytes)
}

/// INVARIANT(uploaded-before-acknowledged), INVARIANT(row-before-object): each object has a row, and each row of a
/// stored blob an object, once another server has ended what was left.
async fn check_in_order(place: &RemotePlace, owner: &TenantId, expected: u64) {
    let blobs = place.blobs();
    assert_eq!(blobs.store.usage(owner).await.unwrap().blobs, expected);
    let listed = blobs.store.list(owner, None, 99).await.unwrap().blobs;
    assert_eq!(listed.len() as u64, expected);
    assert_eq!(place.objects.keys("team/a/blobs/").len() as u64, expected);
    for one in listed {
        content(&blobs, owner, &one.id).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploaded_before_acknowledged_whatever_the_store_does() {
    let acme = tenant("acme");
    for fault in faults() {
        let place = RemotePlace::with(|_| ());
        let kept = put(&place.blobs(), &acme, b"kept").await.unwrap();
        place.objects.fail(Some(fault));
        let stored = put(&place.blobs(), &acme, b"abc").await;
        place.objects.fail(None);
        // Another server, without copies, finds what was acknowledged.
        let place = place.after_crash_at(LATER);
        if let Ok(id) = &stored {
            assert_eq!(content(&place.blobs(), &acme, id).await.unwrap(), b"abc", "{fault:?}");
        }
        place.remote.sweep(LATER).await.unwrap();
        let blobs = place.blobs();
        let id = put(&blobs, &acme, b"abc").await.unwrap();
        assert_eq!(content(&blobs, &acme, &id).await.unwrap(), b"abc");
        assert_eq!(content(&blobs, &acme, &kept).await.unwrap(), b"kept");
        check_in_order(&place, &acme, 2).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_before_object_in_removals_that_fail() {
    let acme = tenant("acme");
    for fault in faults() {
        let place = RemotePlace::with(|_| ());
        let id = put(&place.blobs(), &acme, b"abc").await.unwrap();
        place.objects.fail(Some(fault));
        place.blobs().store.remove(&acme, &id).await.unwrap();
        let gone = place.blobs().store.stat(&acme, &id).await;
        assert!(matches!(gone, Err(BlobError::NotFound { .. })), "{fault:?}");
        place.objects.fail(None);
        let place = place.after_crash_at(LATER);
        place.remote.sweep(LATER).await.unwrap();
        check_in_order(&place, &acme, 0).await;
        assert_eq!(put(&place.blobs(), &acme, b"abc").await.unwrap(), id);
        check_in_order(&place, &acme, 1).await;
    }
}

/// A store that does not answer damages nothing: no blob is taken for damaged, and none is removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_answer_is_no_damage() {
    let acme = tenant("acme");
    for fault in faults() {
        let place = RemotePlace::with(|_| ());
        let id = put(&place.blobs(), &acme, b"abc").await.unwrap();
        let place = place.after_crash();
        place.objects.fail(Some(fault));
        match content(&place.blobs(), &acme, &id).await {
            Ok(bytes) => assert_eq!(bytes, b"abc"),
            Err(error) => assert!(matches!(error, BlobError::Unreachable(_)), "{fault:?}: {error}"),
        }
        place.objects.fail(None);
        assert_eq!(content(&place.blobs(), &acme, &id).await.unwrap(), b"abc", "{fault:?}");
        assert_eq!(place.set_aside(), 0);
        check_in_order(&place, &acme, 1).await;
    }
}

/// What a reconciliation tells, by the words for its differences.
async fn reconciled(place: &RemotePlace, restores: bool, forgets: bool) -> Vec<String> {
    let mut told = Vec::new();
    let order = Reconciling { restores, forgets };
    place.remote.reconcile(order, &mut |found| told.push(found)).await.unwrap();
    let words = told.into_iter().map(|found| match found {
        StoreDifference::Unlisted { tenant, id, size } => format!("unlisted {tenant} {id} {size}"),
        StoreDifference::Damaged { key } => format!("damaged {key}"),
        StoreDifference::Foreign { key } => format!("foreign {key}"),
        StoreDifference::Lost { tenant, id } => format!("lost {tenant} {id}"),
    });
    words.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_was_lost_is_made_from_the_objects() {
    let place = RemotePlace::with(|config| config.tenant_blobs = 3);
    let (acme, beta) = (tenant("acme"), tenant("beta"));
    let mut ids = Vec::new();
    for content in [&b"one"[..], b"two", b"three"] {
        ids.push(put(&place.blobs(), &acme, content).await.unwrap());
    }
    let damaged = put(&place.blobs(), &beta, b"four").await.unwrap();
    let key = format!("team/a/blobs/beta/{}", damaged.letters());
    assert_eq!(reconciled(&place, true, true).await, Vec::<String>::new());

    let place = place.without_table();
    place.objects.damage(&key);
    place.objects.put("team/a/blobs/README", b"by hand");
    assert_eq!(place.blobs().store.usage(&acme).await.unwrap().blobs, 0);
    let mut expected: Vec<String> = Vec::new();
    for (id, size) in ids.iter().zip([3, 3, 5]) {
        expected.push(format!("unlisted acme {id} {size} bytes"));
    }
    expected.push(format!("damaged {key}"));
    expected.push("foreign team/a/blobs/README".to_owned());
    expected.sort();
    for restores in [false, true] {
        let mut told = reconciled(&place, restores, false).await;
        told.sort();
        assert_eq!(told, expected);
    }
    let left = [format!("damaged {key}"), "foreign team/a/blobs/README".to_owned()];
    let mut told = reconciled(&place, true, false).await;
    told.sort();
    assert_eq!(told, left);
    let usage = place.blobs().store.usage(&acme).await.unwrap();
    assert_eq!((usage.blobs, usage.bytes), (3, 11));
    assert_eq!(content(&place.blobs(), &acme, &ids[2]).await.unwrap(), b"three");
    let full = put(&place.blobs(), &acme, b"more").await.unwrap_err();
    assert!(matches!(full, BlobError::QuotaExceeded { .. }), "{full}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_without_an_object_is_named_and_removed_if_that_is_wanted() {
    let place = RemotePlace::with(|_| ());
    let acme = tenant("acme");
    let kept = put(&place.blobs(), &acme, b"kept").await.unwrap();
    let lost = put(&place.blobs(), &acme, b"lost").await.unwrap();
    place.objects.delete(&format!("team/a/blobs/acme/{}", lost.letters()));
    let told = [format!("lost acme {lost}")];
    assert_eq!(reconciled(&place, true, false).await, told);
    assert_eq!(place.blobs().store.usage(&acme).await.unwrap().blobs, 2);
    assert_eq!(reconciled(&place, true, true).await, told);
    assert_eq!(place.blobs().store.usage(&acme).await.unwrap().blobs, 1);
    assert_eq!(reconciled(&place, true, true).await, Vec::<String>::new());
    assert_eq!(content(&place.blobs(), &acme, &kept).await.unwrap(), b"kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_belongs_to_one_database_until_another_one_takes_it() {
    let one = RemotePlace::with(|_| ());
    one.remote.take_place(PlaceOwner::First).await.unwrap();
    let one = one.after_crash();
    one.remote.take_place(PlaceOwner::First).await.unwrap();
    let objects = one.objects.clone();
    let other = RemotePlace::over(objects);
    let refused = other.remote.take_place(PlaceOwner::First).await.unwrap_err();
    assert!(matches!(refused, BlobError::OtherDatabase), "{refused}");
    one.remote.take_place(PlaceOwner::First).await.unwrap();
    other.remote.take_place(PlaceOwner::This).await.unwrap();
    let refused = one.remote.take_place(PlaceOwner::First).await.unwrap_err();
    assert!(matches!(refused, BlobError::OtherDatabase), "{refused}");
}

/// Somebody has put other content there by hand, or a server whose table was lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_the_place_of_a_new_blob_is_set_aside_before_it_is_acknowledged() {
    let place = RemotePlace::with(|_| ());
    let acme = tenant("acme");
    let id = put(&place.blobs(), &acme, b"abc").await.unwrap();
    let place = place.without_table();
    let key = format!("team/a/blobs/acme/{}", id.letters());
    // The same content stays as it is.
    assert_eq!(put(&place.blobs(), &acme, b"abc").await.unwrap(), id);
    assert_eq!(place.objects.keys("team/a/quarantine/").len(), 0);
    let place = place.without_table();
    place.objects.put(&key, b"other");
    assert_eq!(put(&place.blobs(), &acme, b"abc").await.unwrap(), id);
    let place = place.after_crash();
    assert_eq!(content(&place.blobs(), &acme, &id).await.unwrap(), b"abc");
    assert_eq!(place.objects.keys("team/a/quarantine/").len(), 1);
}
