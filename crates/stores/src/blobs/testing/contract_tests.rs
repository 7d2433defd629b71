//! What every store of blobs promises, checked of each: the local one, the remote one and the one in memory.

use std::io::{self, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::blobs::content::kind::BlobKind;
use crate::blobs::local::testing::{HOUR, START, plain, tenant};
use crate::blobs::testing::place_tests::{LocalPlace, MemoryPlace, Place, RemotePlace};
use crate::blobs::{
    BlobError, BlobOrder, BlobPage, BlobPart, BlobVerdict, BlobWriter, Blobs, NewBlob, OnDamage,
    OpenBlob, StoredBlob, TenantUsage, WrittenBlob,
};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{BlobId, BlobName, Digest, MAX_NAMES_OF_BLOB, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Tests each promise of each store.
macro_rules! contract {
    ($($promise:ident),* $(,)?) => {
        mod local_store {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                super::$promise::<LocalPlace>().await;
            })*
        }

        mod remote_store {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                super::$promise::<RemotePlace>().await;
            })*
        }

        mod memory_store {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                super::$promise::<MemoryPlace>().await;
            })*
        }
    };
}

contract!(
    content_reads_back_however_it_was_stored,
    each_part_has_its_bytes,
    tenants_apart,
    a_blob_keeps_its_last_names_the_latest_first,
    names_go_with_their_blob,
    pages_have_each_blob_once_in_every_order,
    limits_hold_before_and_while_content_arrives,
    what_is_announced_and_not_sent_takes_no_room,
    known_content_needs_no_room,
    content_with_another_digest_is_not_stored,
    content_that_is_not_finished_leaves_nothing,
    a_crash_before_the_end_leaves_nothing_and_loses_nothing,
    a_writer_that_failed_stores_nothing,
    a_future_that_is_dropped_ends_its_writer,
    a_source_that_ends_early_stores_nothing,
    writers_of_equal_content_make_one_blob,
    a_quota_holds_for_writers_at_the_same_time,
    readers_see_whole_blobs_or_none,
    names_given_at_the_same_time_are_all_kept,
    a_held_blob_does_not_expire,
    a_blob_can_be_held_from_the_moment_it_is_stored,
    every_use_counts_and_lists_do_not,
    a_removed_blob_is_gone_and_stays_readable_where_it_is_open,
    damaged_content_is_found_and_never_returned,
    verifying_treats_damage_as_it_is_told,
    a_good_copy_replaces_a_damaged_one,
    a_store_that_takes_no_more_writes_can_be_read,
);

/// Out of the list, so that the invariant finds its test by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verified_descriptor_of_each_store() {
    a_verified_descriptor_cannot_change_the_content::<LocalPlace>().await;
    a_verified_descriptor_cannot_change_the_content::<RemotePlace>().await;
    a_verified_descriptor_cannot_change_the_content::<MemoryPlace>().await;
}

fn place<P: Place>() -> P {
    P::with(|_| ())
}

fn bytes(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

fn name(text: &str) -> BlobName {
    BlobName::parse(text).unwrap()
}

fn unannounced() -> NewBlob {
    NewBlob { kind: plain(), announced: None, digest: None }
}

async fn put(blobs: &Blobs, tenant: &TenantId, content: &[u8]) -> Result<StoredBlob, BlobError> {
    blobs.store.put(tenant, &plain(), content.to_vec()).await
}

async fn put_from(
    blobs: &Blobs,
    tenant: &TenantId,
    content: &[u8],
) -> Result<StoredBlob, BlobError> {
    let source: Box<dyn Read + Send> = Box::new(io::Cursor::new(content.to_vec()));
    blobs.store.put_from(tenant, &plain(), content.len().into(), source).await
}

async fn put_pieces(
    blobs: &Blobs,
    tenant: &TenantId,
    content: &[u8],
) -> Result<WrittenBlob, BlobError> {
    let new = NewBlob::announced(plain(), content.len().into());
    let mut writer = blobs.store.begin(tenant, new).await?;
    for piece in content.chunks(100_000) {
        assert_eq!(writer.append(piece.to_vec()).await?, piece, "the buffer comes back");
    }
    writer.finish().await
}

async fn content(blobs: &Blobs, tenant: &TenantId, id: &BlobId) -> Result<Vec<u8>, BlobError> {
    let all = ByteCount::bytes(u64::MAX);
    Ok(blobs.store.read(tenant, id, BlobPart::Head, all).await?.bytes)
}

fn content_of(opened: &OpenBlob<std::fs::File>) -> Vec<u8> {
    let mut content = vec![0; opened.blob.size.as_usize()];
    opened.file.read_exact_at(&mut content, 0).unwrap();
    content
}

async fn usage(blobs: &Blobs, tenant: &TenantId) -> (u64, u64) {
    let TenantUsage { blobs, bytes } = blobs.store.usage(tenant).await.unwrap();
    (blobs, bytes)
}

fn is_not_found<T>(result: &Result<T, BlobError>) -> bool {
    matches!(result, Err(BlobError::NotFound { .. }))
}

async fn content_reads_back_however_it_was_stored<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    for length in [0, 1, 128 << 10, (256 << 10) + 17] {
        let bytes = bytes(length);
        let written = put_pieces(&blobs, &local, &bytes).await.unwrap();
        assert!(written.is_new);
        let blob = written.blob;
        assert_eq!((blob.size, blob.created), (length.into(), START));
        assert_eq!((&blob.kind, &blob.name), (&plain(), &None));
        assert_eq!(put(&blobs, &local, &bytes).await.unwrap(), blob);
        assert_eq!(put_from(&blobs, &local, &bytes).await.unwrap(), blob);
        assert!(!put_pieces(&blobs, &local, &bytes).await.unwrap().is_new);
        assert_eq!(content(&blobs, &local, &blob.id).await.unwrap(), bytes);
        assert_eq!(blobs.store.stat(&local, &blob.id).await.unwrap(), blob);
        assert_eq!(content_of(&blobs.files.open(&local, &blob.id).await.unwrap()), bytes);
    }
    let of_kind = |text: &str| BlobKind::parse(text).unwrap();
    let csv = blobs.store.put(&local, &of_kind("text/csv"), b"x".to_vec()).await.unwrap();
    assert_ne!(csv.id, put(&blobs, &local, b"x").await.unwrap().id, "the kind is hashed too");
    let place = place.after_crash();
    let blobs = place.blobs();
    assert_eq!(blobs.store.stat(&local, &csv.id).await.unwrap(), csv);
    assert_eq!(usage(&blobs, &local).await.0, 6);
}

async fn each_part_has_its_bytes<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let id = put(&blobs, &local, b"0123456789").await.unwrap().id;
    for (part, limit, offset, bytes, has_more) in [
        (BlobPart::Head, 3, 0, "012", true),
        (BlobPart::Head, 10, 0, "0123456789", false),
        (BlobPart::Head, u64::MAX, 0, "0123456789", false),
        (BlobPart::Tail, 3, 7, "789", false),
        (BlobPart::Tail, 99, 0, "0123456789", false),
        (BlobPart::From(4), 2, 4, "45", true),
        (BlobPart::From(9), 9, 9, "9", false),
        (BlobPart::From(10), 9, 10, "", false),
        (BlobPart::From(u64::MAX), u64::MAX, 10, "", false),
        (BlobPart::Head, 0, 0, "", true),
    ] {
        let window = blobs.store.read(&local, &id, part, ByteCount::bytes(limit)).await.unwrap();
        assert_eq!((window.offset, window.has_more()), (offset, has_more), "{part:?} {limit}");
        assert_eq!(window.bytes, bytes.as_bytes(), "{part:?} {limit}");
        assert_eq!(window.blob.id, id);
    }
}

async fn tenants_apart<P: Place>() {
    let place: P = place();
    let blobs = place.blobs();
    let [local, acme, beta] = ["local", "acme", "beta"].map(tenant);
    let mut ids = Vec::new();
    for owner in [&local, &acme, &beta] {
        ids.push(put(&blobs, owner, b"known").await.unwrap().id);
    }
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "ids tell of content");
    let unknown = BlobId::of_digest(&Digest::of(b"unknown"));
    for id in [&ids[0], &ids[2], &unknown] {
        let names = [(id.clone(), name("stolen"))];
        blobs.store.set_names(&acme, &names).await.unwrap();
        let refusals = [
            blobs.store.stat(&acme, id).await.map(drop),
            content(&blobs, &acme, id).await.map(drop),
            blobs.store.pin(&acme, id).await.map(drop),
            blobs.store.remove(&acme, id).await,
            blobs.files.open(&acme, id).await.map(drop),
            blobs.files.verify(&acme, id, OnDamage::Remove).await.map(drop),
        ];
        for refused in refusals {
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::BlobNotFound);
            let text = format!("the blob `{id}` does not exist; it may have expired");
            assert_eq!(refused.to_string(), text, "a known id must look like an unknown one");
        }
    }
    for (owner, id) in [&local, &acme, &beta].into_iter().zip(&ids) {
        assert_eq!(content(&blobs, owner, id).await.unwrap(), b"known");
        assert_eq!(blobs.store.stat(owner, id).await.unwrap().name, None);
        assert_eq!(usage(&blobs, owner).await, (1, 5));
        assert_eq!(blobs.store.list(owner, None, 9).await.unwrap().blobs.len(), 1);
    }
    assert_eq!(usage(&blobs, &tenant("nobody")).await, (0, 0));
    let none = blobs.store.list(&tenant("nobody"), None, 9).await.unwrap();
    assert_eq!(none, BlobPage::default());
}

async fn names_of(blobs: &Blobs, id: &BlobId) -> Vec<String> {
    let blob = blobs.store.stat(&TenantId::local(), id).await.unwrap();
    blob.name.iter().chain(&blob.other_names).map(BlobName::to_string).collect()
}

async fn a_blob_keeps_its_last_names_the_latest_first<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let id = put(&blobs, &local, b"abc").await.unwrap().id;
    for text in ["january.csv", "february.csv", "january.csv", "märz.csv"] {
        blobs.store.set_names(&local, &[(id.clone(), name(text))]).await.unwrap();
    }
    let expected = ["märz.csv", "january.csv", "february.csv"];
    assert_eq!(names_of(&blobs, &id).await, expected);
    let place = place.after_crash();
    let blobs = place.blobs();
    assert_eq!(names_of(&blobs, &id).await, expected);
    let opened = blobs.files.open(&local, &id).await.unwrap().blob;
    assert_eq!(opened.other_names, [name("january.csv"), name("february.csv")]);
    assert_eq!(put(&blobs, &local, b"abc").await.unwrap().name, Some(name("märz.csv")));
    let listed = blobs.store.list(&local, None, 9).await.unwrap().blobs.remove(0);
    let described = listed.described.unwrap();
    assert_eq!((described.name, described.other_names), (Some(name("märz.csv")), Vec::new()));
    let longest = |n: usize| format!("{n:0>255}");
    let given: Vec<_> = (0..40).map(|n| (id.clone(), name(&longest(n)))).collect();
    blobs.store.set_names(&local, &given).await.unwrap();
    let kept: Vec<String> = (0..40).rev().take(MAX_NAMES_OF_BLOB).map(longest).collect();
    assert_eq!(names_of(&blobs, &id).await, kept);
}

async fn names_go_with_their_blob<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let id = put(&blobs, &local, b"abc").await.unwrap().id;
    blobs.store.set_names(&local, &[(id.clone(), name("a"))]).await.unwrap();
    blobs.store.remove(&local, &id).await.unwrap();
    // A blob that does not exist gets no name.
    blobs.store.set_names(&local, &[(id.clone(), name("b"))]).await.unwrap();
    put(&blobs, &local, b"abc").await.unwrap();
    assert_eq!(names_of(&blobs, &id).await, Vec::<String>::new());
}

async fn pages_have_each_blob_once_in_every_order<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    for number in 0..23_u8 {
        let content = vec![number; usize::from(number % 5) + 1];
        let id = put(&blobs, &local, &content).await.unwrap().id;
        if number % 3 > 0 {
            let text = format!("{}{}.txt", ["b", "A", "ä"][usize::from(number % 3)], number % 4);
            blobs.store.set_names(&local, &[(id, name(&text))]).await.unwrap();
        }
    }
    let all = blobs.store.list(&local, None, 23).await.unwrap();
    assert_eq!((all.blobs.len(), all.has_more), (23, false));
    assert!(all.blobs.is_sorted_by_key(|listed| listed.id.clone()));
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let page = blobs.store.list(&local, after.as_ref(), 4).await.unwrap();
        after = page.blobs.last().map(|listed| listed.id.clone());
        assert!(page.blobs.len() == 4 || !page.has_more);
        paged.extend(page.blobs);
        if !page.has_more {
            break;
        }
    }
    assert_eq!(paged, all.blobs);
    for order in [BlobOrder::Newest, BlobOrder::Name, BlobOrder::Largest] {
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let page = blobs.store.list_in_order(&local, order, after.as_ref(), 4).await;
            let page = page.unwrap().unwrap();
            after = page.blobs.last().map(|listed| listed.place(order));
            paged.extend(page.blobs);
            if !page.has_more {
                break;
            }
        }
        let mut expected = all.blobs.clone();
        expected.sort_by_key(|listed| listed.place(order));
        assert_eq!(paged, expected, "{order:?}");
    }
    // The last blob of a page may be gone when the next page is asked for.
    let (gone, next) = (&all.blobs[9].id, &all.blobs[10].id);
    blobs.store.remove(&local, gone).await.unwrap();
    let page = blobs.store.list(&local, Some(gone), 1).await.unwrap();
    assert_eq!(page.blobs[0].id, *next);
}

async fn limits_hold_before_and_while_content_arrives<P: Place>() {
    let place = P::with(|config| {
        config.blob_max = ByteCount::bytes(5);
        config.tenant_bytes = ByteCount::bytes(8);
        config.tenant_blobs = 2;
    });
    let (blobs, local) = (place.blobs(), TenantId::local());
    for size in [6, u64::MAX] {
        let new = NewBlob::announced(plain(), ByteCount::bytes(size));
        let refused = blobs.store.begin(&local, new).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TooLarge);
    }
    assert_eq!(put(&blobs, &local, b"123456").await.unwrap_err().kind(), ErrorKind::TooLarge);
    let too_long = put_from(&blobs, &local, b"123456").await.unwrap_err();
    assert_eq!(too_long.kind(), ErrorKind::TooLarge);
    let mut writer = blobs.store.begin(&local, unannounced()).await.unwrap();
    writer.append(b"12345".to_vec()).await.unwrap();
    assert_eq!(writer.append(b"6".to_vec()).await.unwrap_err().kind(), ErrorKind::TooLarge);
    drop(writer);

    put(&blobs, &local, b"12345").await.unwrap();
    let is_full = |refused: BlobError| assert_eq!(refused.kind(), ErrorKind::QuotaExceeded);
    is_full(put(&blobs, &local, b"abcd").await.unwrap_err());
    is_full(put_from(&blobs, &local, b"abcd").await.unwrap_err());
    let new = NewBlob::announced(plain(), ByteCount::bytes(4));
    is_full(blobs.store.begin(&local, new).await.unwrap_err());
    let mut writer = blobs.store.begin(&local, unannounced()).await.unwrap();
    writer.append(b"abc".to_vec()).await.unwrap();
    is_full(writer.append(b"d".to_vec()).await.unwrap_err());
    drop(writer);
    assert_eq!(usage(&blobs, &local).await, (1, 5));

    // The number of blobs counts too, and each tenant has a quota of its own.
    let second = put(&blobs, &local, b"x").await.unwrap().id;
    is_full(put(&blobs, &local, b"").await.unwrap_err());
    is_full(blobs.store.begin(&local, unannounced()).await.unwrap_err());
    put(&blobs, &tenant("acme"), b"12345").await.unwrap();
    blobs.store.remove(&local, &second).await.unwrap();
    put_pieces(&blobs, &local, b"abc").await.unwrap();
    assert_eq!(usage(&blobs, &local).await, (2, 8));
    assert_eq!(place.remains(), 0);
}

async fn what_is_announced_and_not_sent_takes_no_room<P: Place>() {
    let place = P::with(|config| config.tenant_bytes = ByteCount::bytes(8));
    let (blobs, local) = (place.blobs(), TenantId::local());
    let new = NewBlob::announced(plain(), ByteCount::bytes(8));
    let mut writer = blobs.store.begin(&local, new).await.unwrap();
    let other = put(&blobs, &local, b"12345").await.unwrap();
    assert!(writer.append(b"1234".to_vec()).await.is_err());
    drop(writer);
    blobs.store.remove(&local, &other.id).await.unwrap();
    put(&blobs, &local, b"12345678").await.unwrap();
}

async fn known_content_needs_no_room<P: Place>() {
    let place = P::with(|config| config.tenant_blobs = 1);
    let (blobs, local) = (place.blobs(), TenantId::local());
    let blob = put(&blobs, &local, b"abc").await.unwrap();
    assert_eq!(put(&blobs, &local, b"abc").await.unwrap(), blob);
    assert_eq!(put(&blobs, &local, b"abd").await.unwrap_err().kind(), ErrorKind::QuotaExceeded);
}

async fn content_with_another_digest_is_not_stored<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    for (digest, is_right) in [(Digest::of(b"abd"), false), (Digest::of(b"abc"), true)] {
        let new = NewBlob { digest: Some(*digest.as_bytes()), ..unannounced() };
        let mut writer = blobs.store.begin(&local, new).await.unwrap();
        for piece in [&b"ab"[..], b"c"] {
            writer.append(piece.to_vec()).await.unwrap();
        }
        match writer.finish().await {
            Ok(written) => assert!(is_right && written.is_new),
            Err(error) => assert!(!is_right && matches!(error, BlobError::WrongDigest), "{error}"),
        }
        assert_eq!(usage(&blobs, &local).await.0, u64::from(is_right));
        assert_eq!(place.remains(), 0);
    }
}

async fn content_that_is_not_finished_leaves_nothing<P: Place>() {
    let place = P::with(|config| config.tenant_bytes = ByteCount::bytes(8));
    let (blobs, local) = (place.blobs(), TenantId::local());
    for pieces in 0..3 {
        let mut writer = blobs.store.begin(&local, unannounced()).await.unwrap();
        for _ in 0..pieces {
            writer.append(b"abc".to_vec()).await.unwrap();
        }
        drop(writer);
        assert_eq!(usage(&blobs, &local).await, (0, 0));
        assert_eq!(place.remains(), 0);
    }
    put(&blobs, &local, b"12345678").await.unwrap();
}

async fn a_crash_before_the_end_leaves_nothing_and_loses_nothing<P: Place>() {
    let place = P::with(|config| config.tenant_bytes = ByteCount::bytes(8));
    let (blobs, local) = (place.blobs(), TenantId::local());
    let kept = put(&blobs, &local, b"kept").await.unwrap();
    let mut unfinished: Vec<Box<dyn BlobWriter>> = Vec::new();
    for pieces in 0..3 {
        let mut writer = blobs.store.begin(&local, unannounced()).await.unwrap();
        for _ in 0..pieces {
            writer.append(b"x".to_vec()).await.unwrap();
        }
        unfinished.push(writer);
    }
    let place = place.after_crash();
    let blobs = place.blobs();
    assert_eq!(place.remains(), 0);
    assert_eq!(usage(&blobs, &local).await, (1, 4));
    assert_eq!(content(&blobs, &local, &kept.id).await.unwrap(), b"kept");
    assert_eq!(blobs.store.list(&local, None, 9).await.unwrap().blobs.len(), 1);
    put(&blobs, &local, b"1234").await.unwrap();
    drop(unfinished);
}

async fn a_writer_that_failed_stores_nothing<P: Place>() {
    let place = P::with(|config| config.blob_max = ByteCount::bytes(4));
    let (blobs, local) = (place.blobs(), TenantId::local());
    let mut writer = blobs.store.begin(&local, unannounced()).await.unwrap();
    writer.append(b"abc".to_vec()).await.unwrap();
    assert_eq!(writer.append(b"de".to_vec()).await.unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(writer.append(b"d".to_vec()).await.is_err(), "it went on with a piece missing");
    assert!(writer.finish().await.is_err(), "it stored the pieces before");
    assert_eq!(usage(&blobs, &local).await, (0, 0));
    assert_eq!(place.remains(), 0);
}

async fn a_future_that_is_dropped_ends_its_writer<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let mut writer = blobs.store.begin(&local, unannounced()).await.unwrap();
    {
        let mut appending = writer.append(bytes(8 << 20));
        let early = polled_once(&mut appending).await;
        assert!(early.is_none(), "the store appends without waiting");
    }
    assert!(writer.append(b"rest".to_vec()).await.is_err(), "a piece may be missing");
    assert!(writer.finish().await.is_err());
    assert_eq!(usage(&blobs, &local).await, (0, 0));
}

/// Polls a future once; `None` if it waits.
async fn polled_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

async fn a_source_that_ends_early_stores_nothing<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let source: Box<dyn Read + Send> = Box::new(io::Cursor::new(bytes(200_000)));
    let stored = blobs.store.put_from(&local, &plain(), ByteCount::bytes(200_001), source).await;
    assert!(matches!(stored, Err(BlobError::Content(_))));
    assert_eq!(usage(&blobs, &local).await, (0, 0));
    assert_eq!(place.remains(), 0);
    // A longer source is cut.
    let source: Box<dyn Read + Send> = Box::new(io::repeat(7));
    let stored = blobs.store.put_from(&local, &plain(), ByteCount::bytes(3), source).await.unwrap();
    assert_eq!(content(&blobs, &local, &stored.id).await.unwrap(), [7; 3]);
}

async fn writers_of_equal_content_make_one_blob<P: Place>() {
    let place: P = place();
    let (blobs, acme) = (place.blobs(), tenant("acme"));
    let mut writers = JoinSet::new();
    for number in 0..12 {
        let (blobs, acme) = (blobs.clone(), acme.clone());
        writers.spawn(async move {
            let content = bytes(150_000);
            match number % 3 {
                0 => (put(&blobs, &acme, &content).await.unwrap(), false),
                1 => (put_from(&blobs, &acme, &content).await.unwrap(), false),
                _ => {
                    let written = put_pieces(&blobs, &acme, &content).await.unwrap();
                    (written.blob, written.is_new)
                }
            }
        });
    }
    let stored = writers.join_all().await;
    assert!(stored.iter().all(|(blob, _)| blob.id == stored[0].0.id));
    assert!(stored.iter().filter(|(_, is_new)| *is_new).count() <= 1, "it was new twice");
    assert_eq!(usage(&blobs, &acme).await, (1, 150_000));
    assert_eq!(content(&blobs, &acme, &stored[0].0.id).await.unwrap(), bytes(150_000));
    assert_eq!(place.remains(), 0);
}

async fn a_quota_holds_for_writers_at_the_same_time<P: Place>() {
    let place = P::with(|config| config.tenant_bytes = ByteCount::bytes(50));
    let (blobs, local) = (place.blobs(), TenantId::local());
    let mut writers = JoinSet::new();
    for number in 0..20_u8 {
        let (blobs, local) = (blobs.clone(), local.clone());
        writers.spawn(async move {
            let stored = match number % 2 {
                0 => put(&blobs, &local, &[number; 10]).await,
                _ => put_pieces(&blobs, &local, &[number; 10]).await.map(|written| written.blob),
            };
            match stored {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::QuotaExceeded, "{error}");
                    0
                }
            }
        });
    }
    let stored: u64 = writers.join_all().await.into_iter().sum();
    assert!((1..=5).contains(&stored), "{stored} blobs of 10 bytes in a quota of 50");
    assert_eq!(usage(&blobs, &local).await, (stored, stored * 10));
    for number in 100..(105 - u8::try_from(stored).unwrap()) {
        put(&blobs, &local, &[number; 10]).await.unwrap();
    }
    assert_eq!(usage(&blobs, &local).await, (5, 50), "room was lost");
}

async fn readers_see_whole_blobs_or_none<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let expected = Arc::new(bytes(150_000));
    let id = put(&blobs, &local, &expected).await.unwrap().id;
    let mut tasks = JoinSet::new();
    for number in 0..4 {
        let (blobs, local, id) = (blobs.clone(), local.clone(), id.clone());
        let expected = Arc::clone(&expected);
        tasks.spawn(async move {
            for _ in 0..25 {
                match number {
                    0 => drop(put_pieces(&blobs, &local, &expected).await.unwrap()),
                    1 => {
                        let removed = blobs.store.remove(&local, &id).await;
                        assert!(removed.is_ok() || is_not_found(&removed));
                    }
                    2 => match blobs.files.open(&local, &id).await {
                        Ok(opened) => assert!(content_of(&opened) == *expected),
                        refused => assert!(is_not_found(&refused), "{refused:?}"),
                    },
                    _ => match content(&blobs, &local, &id).await {
                        Ok(bytes) => assert!(bytes == *expected),
                        refused => assert!(is_not_found(&refused)),
                    },
                }
            }
        });
    }
    tasks.join_all().await;
    let (count, size) = usage(&blobs, &local).await;
    assert_eq!(size, count * 150_000);
    let listed = blobs.store.list(&local, None, 9).await.unwrap().blobs;
    assert_eq!(listed.len() as u64, count);
    assert_eq!((place.remains(), place.set_aside()), (0, 0));
}

async fn names_given_at_the_same_time_are_all_kept<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let id = put(&blobs, &local, b"abc").await.unwrap().id;
    let texts: Vec<String> = (0..MAX_NAMES_OF_BLOB).map(|n| format!("{n:02}.csv")).collect();
    let mut tasks = JoinSet::new();
    for text in &texts {
        let names = [(id.clone(), name(text))];
        let (blobs, local) = (blobs.clone(), local.clone());
        tasks.spawn(async move { blobs.store.set_names(&local, &names).await.unwrap() });
    }
    tasks.join_all().await;
    let mut found = names_of(&blobs, &id).await;
    found.sort();
    assert_eq!(found, texts);
}

const WEEK: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 60 * 60);

async fn a_held_blob_does_not_expire<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let mut ids = Vec::new();
    for content in [b"a", b"b", b"c"] {
        ids.push(put(&blobs, &local, content).await.unwrap().id);
    }
    assert_eq!(place.sweep(START + WEEK - HOUR), 0);
    let pin = blobs.store.pin(&local, &ids[0]).await.unwrap();
    let again = blobs.store.pin(&local, &ids[0]).await.unwrap();
    let opened = blobs.files.open(&local, &ids[1]).await.unwrap();
    assert_eq!(place.sweep(START + WEEK), 1, "the third one");
    assert!(is_not_found(&blobs.store.stat(&local, &ids[2]).await));
    drop(pin);
    assert_eq!(place.sweep(START + WEEK), 0, "it is held twice");
    drop(again);
    assert_eq!(place.sweep(START + WEEK), 1);
    assert_eq!(content_of(&opened), b"b");
    drop(opened);
    assert_eq!(place.sweep(START + WEEK), 1);
    assert_eq!(usage(&blobs, &local).await, (0, 0));
    // A pin of one tenant holds no blob of another.
    let theirs = put(&blobs, &tenant("acme"), b"a").await.unwrap().id;
    put(&blobs, &local, b"a").await.unwrap();
    let _pin = blobs.store.pin(&tenant("acme"), &theirs).await.unwrap();
    assert_eq!(place.sweep(START + WEEK), 1);
}

async fn a_blob_can_be_held_from_the_moment_it_is_stored<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let source = || -> Box<dyn Read + Send> { Box::new(io::Cursor::new(b"abc".to_vec())) };
    let size = ByteCount::bytes(3);
    let (stored, pin) = blobs.store.put_held(&local, &plain(), size, source()).await.unwrap();
    assert_eq!(content(&blobs, &local, &stored.id).await.unwrap(), b"abc");
    assert_eq!(place.sweep(START + WEEK), 0, "it is held");
    drop(pin.unwrap());
    assert_eq!(place.sweep(START + WEEK), 1);
    let refused = blobs.store.put_held(&local, &plain(), ByteCount::bytes(4), source()).await;
    assert!(matches!(refused, Err(BlobError::Content(_))));
}

async fn every_use_counts_and_lists_do_not<P: Place>() {
    let (local, later) = (TenantId::local(), START + WEEK - HOUR);
    for (number, is_use) in
        [(0, true), (1, true), (2, true), (3, true), (4, true), (5, true), (6, false), (7, false)]
    {
        let place: P = place();
        let id = put(&place.blobs(), &local, b"abc").await.unwrap().id;
        let place = place.after_crash_at(later);
        let blobs = place.blobs();
        match number {
            0 => drop(blobs.store.stat(&local, &id).await.unwrap()),
            1 => drop(content(&blobs, &local, &id).await.unwrap()),
            2 => drop(blobs.files.open(&local, &id).await.unwrap()),
            3 => drop(blobs.store.pin(&local, &id).await.unwrap()),
            4 => drop(put(&blobs, &local, b"abc").await.unwrap()),
            5 => drop(put_pieces(&blobs, &local, b"abc").await.unwrap()),
            6 => drop(blobs.files.verify(&local, &id, OnDamage::Keep).await.unwrap()),
            _ => drop(blobs.store.list_in_order(&local, BlobOrder::Name, None, 9).await.unwrap()),
        }
        let listed = blobs.store.list(&local, None, 9).await.unwrap().blobs.remove(0);
        assert_eq!(listed.used, if is_use { later } else { START }, "operation {number}");
        assert_eq!(place.sweep(START + WEEK), usize::from(!is_use), "operation {number}");
    }
}

async fn a_removed_blob_is_gone_and_stays_readable_where_it_is_open<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let id = put(&blobs, &local, b"abc").await.unwrap().id;
    let opened = blobs.files.open(&local, &id).await.unwrap();
    blobs.store.remove(&local, &id).await.unwrap();
    assert!(is_not_found(&blobs.store.remove(&local, &id).await));
    assert!(is_not_found(&blobs.store.stat(&local, &id).await));
    assert!(is_not_found(&blobs.store.pin(&local, &id).await), "a pin of nothing");
    assert!(is_not_found(&blobs.files.open(&local, &id).await));
    assert_eq!(content_of(&opened), b"abc");
    assert_eq!(usage(&blobs, &local).await, (0, 0));
    let place = place.after_crash();
    let blobs = place.blobs();
    assert!(is_not_found(&blobs.store.stat(&local, &id).await), "the removal was not durable");
    assert!(put_pieces(&blobs, &local, b"abc").await.unwrap().is_new);
}

async fn a_verified_descriptor_cannot_change_the_content<P: Place>() {
    let place: P = place();
    let (blobs, acme) = (place.blobs(), tenant("acme"));
    for length in [0, 3, 300_000] {
        let expected = bytes(length);
        let id = put(&blobs, &acme, &expected).await.unwrap().id;
        let mut opened = blobs.files.open(&acme, &id).await.unwrap();
        assert_eq!(opened.blob, blobs.store.stat(&acme, &id).await.unwrap());
        assert!(opened.file.metadata().unwrap().is_file());
        assert!(opened.file.write_all(b"x").is_err(), "the descriptor can write");
        assert!(opened.file.set_len(1_000_000).is_err(), "the descriptor can grow the file");
        assert!(length == 0 || opened.file.set_len(0).is_err(), "the descriptor can cut it");
        assert_eq!(content_of(&opened), expected);
        let other = blobs.files.open(&acme, &id).await.unwrap();
        drop(opened);
        assert_eq!(content_of(&other), expected);
    }
}

async fn damaged_content_is_found_and_never_returned<P: Place>() {
    for by_file in [true, false] {
        let place: P = place();
        let (blobs, acme) = (place.blobs(), tenant("acme"));
        let id = put(&blobs, &acme, b"abc").await.unwrap().id;
        let other = put(&blobs, &acme, b"other").await.unwrap().id;
        // Also after it was found intact.
        assert_eq!(content(&blobs, &acme, &id).await.unwrap(), b"abc");
        drop(blobs.files.open(&acme, &id).await.unwrap());
        place.damage(&acme, &id);
        let found = match by_file {
            true => blobs.files.open(&acme, &id).await.map(drop),
            false => content(&blobs, &acme, &id).await.map(drop),
        };
        assert!(matches!(&found, Err(BlobError::Damaged { id: of }) if *of == id), "{found:?}");
        assert_eq!(place.set_aside(), 1);
        assert!(is_not_found(&blobs.files.open(&acme, &id).await));
        assert!(is_not_found(&blobs.store.stat(&acme, &id).await));
        assert_eq!(usage(&blobs, &acme).await, (1, 5));
        assert_eq!(content(&blobs, &acme, &other).await.unwrap(), b"other");
        assert_eq!(put(&blobs, &acme, b"abc").await.unwrap().id, id);
        assert_eq!(content(&blobs, &acme, &id).await.unwrap(), b"abc");
    }
}

async fn verifying_treats_damage_as_it_is_told<P: Place>() {
    for (treatment, stays, set_aside) in
        [(OnDamage::Keep, true, 0), (OnDamage::Quarantine, false, 1), (OnDamage::Remove, false, 0)]
    {
        let place: P = place();
        let (blobs, acme) = (place.blobs(), tenant("acme"));
        let good = put(&blobs, &acme, b"good").await.unwrap().id;
        let bad = put(&blobs, &acme, b"bad").await.unwrap().id;
        place.damage(&acme, &bad);
        let verdict = blobs.files.verify(&acme, &good, treatment).await.unwrap();
        assert!(matches!(verdict, BlobVerdict::Intact(blob) if blob.id == good));
        let verdict = blobs.files.verify(&acme, &bad, treatment).await.unwrap();
        assert!(matches!(verdict, BlobVerdict::Damaged(_)), "{treatment:?}");
        let listed = blobs.store.list(&acme, None, 9).await.unwrap().blobs;
        assert_eq!(listed.iter().any(|listed| listed.id == bad), stays, "{treatment:?}");
        assert_eq!(place.set_aside(), set_aside, "{treatment:?}");
        assert_eq!(content(&blobs, &acme, &good).await.unwrap(), b"good");
    }
}

async fn a_good_copy_replaces_a_damaged_one<P: Place>() {
    let place: P = place();
    let (blobs, acme) = (place.blobs(), tenant("acme"));
    let id = put(&blobs, &acme, b"abc").await.unwrap().id;
    for turn in 0..3 {
        place.damage(&acme, &id);
        let stored = match turn {
            0 => put(&blobs, &acme, b"abc").await.unwrap(),
            1 => put_from(&blobs, &acme, b"abc").await.unwrap(),
            _ => put_pieces(&blobs, &acme, b"abc").await.unwrap().blob,
        };
        assert_eq!(stored.id, id);
        assert_eq!(content(&blobs, &acme, &id).await.unwrap(), b"abc");
    }
    assert_eq!(place.set_aside(), 3);
    assert_eq!(usage(&blobs, &acme).await, (1, 3));
}

async fn a_store_that_takes_no_more_writes_can_be_read<P: Place>() {
    let place: P = place();
    let (blobs, local) = (place.blobs(), TenantId::local());
    let id = put(&blobs, &local, b"abc").await.unwrap().id;
    assert!(!blobs.store.is_read_only());
    place.seal();
    assert!(blobs.store.is_read_only());
    let names = [(id.clone(), name("a"))];
    let refusals = [
        put(&blobs, &local, b"abc").await.map(drop),
        put_from(&blobs, &local, b"other").await.map(drop),
        blobs.store.begin(&local, unannounced()).await.map(drop),
        blobs.store.set_names(&local, &names).await,
        blobs.store.remove(&local, &id).await,
    ];
    for refused in refusals {
        assert!(matches!(refused, Err(BlobError::Sealed)), "{refused:?}");
    }
    assert_eq!(content(&blobs, &local, &id).await.unwrap(), b"abc");
    assert_eq!(content_of(&blobs.files.open(&local, &id).await.unwrap()), b"abc");
    assert_eq!(blobs.store.list(&local, None, 9).await.unwrap().blobs.len(), 1);
}
