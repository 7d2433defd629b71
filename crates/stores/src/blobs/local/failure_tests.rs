//! The state of a store after every kind of disk failure.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;

use crate::blobs::BlobPart;
use crate::blobs::local::disk::Disk as _;
use crate::blobs::local::faulty_disk::{Fault, FaultyDisk};
use crate::blobs::local::testing::{HOUR, START, plain, tenant};
use crate::blobs::testing::DerivedIdKeys;
use crate::blobs::{BlobError, BlobStoreConfig, LocalBlobStore, NewBlob, StoredBlob};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

type Store = LocalBlobStore<FaultyDisk>;

fn config() -> BlobStoreConfig {
    BlobStoreConfig::at(PathBuf::from("/var/blobs"))
}

fn open(disk: &FaultyDisk) -> Result<Store, BlobError> {
    let store = LocalBlobStore::open_on(disk.clone(), config(), Clock::Fixed(START))?;
    Ok(store.with_id_keys(Arc::new(DerivedIdKeys)))
}

fn content(store: &Store, tenant: &TenantId, id: &BlobId) -> Result<Vec<u8>, BlobError> {
    let all = ByteCount::bytes(u64::MAX);
    store.read(tenant, id, BlobPart::Head, all).map(|window| window.bytes)
}

/// Stores content that arrives in pieces of two bytes.
fn put_pieces(
    store: &Arc<Store>,
    tenant: &TenantId,
    content: &[u8],
) -> Result<StoredBlob, BlobError> {
    let new = NewBlob::announced(plain(), ByteCount::from(content.len()));
    let mut writer = store.begin(tenant, &new)?;
    for piece in content.chunks(2) {
        writer.append(piece)?;
    }
    writer.finish().map(|written| written.blob)
}

fn put_from(store: &Store, tenant: &TenantId, content: &[u8]) -> Result<StoredBlob, BlobError> {
    let reader: &mut dyn Read = &mut &*content;
    store.put_from(tenant, &plain(), ByteCount::from(content.len()), reader)
}

/// Checks that the store counts exactly what its files hold, and that no other file is left.
fn assert_consistent(disk: &FaultyDisk, store: &Store, tenant: &TenantId) {
    let counted = store.usage(tenant).unwrap();
    let folder = Path::new("/var/blobs/tenants").join(tenant.as_str());
    assert_eq!(counted.blobs, disk.files(&folder).len() as u64);
    assert_eq!(disk.files(Path::new("/var/blobs/drafts")), Vec::<String>::new());
}

const FAULTS: [Fault; 8] = [
    Fault::Once(libc::EROFS),
    Fault::Once(libc::EIO),
    Fault::Once(libc::ENOSPC),
    Fault::OnceAfterEffect(libc::EIO),
    Fault::Full,
    Fault::ShortWrite,
    Fault::Interrupted,
    Fault::PowerCut,
];

/// One life of a store with a failure at its `at`-th call; false if it was over before that call.
fn live_through(fault: Fault, at: u64) -> bool {
    let local = TenantId::local();
    let disk = FaultyDisk::default();
    let store = open(&disk).unwrap();
    let old = store.put(&local, &plain(), b"old").unwrap();
    drop(store);

    // A server that has just started has no state in memory.
    let store = Arc::new(open(&disk).unwrap());
    let started = disk.calls();
    disk.fail_at(at, fault);
    let new = store.put(&local, &plain(), b"new");
    let again = put_from(&store, &local, b"old");
    let streamed = put_from(&store, &local, b"streamed");
    let pieces = put_pieces(&store, &local, b"pieces");
    let read = content(&store, &local, &old.id);
    let was_reached = disk.calls() > started + at;
    disk.heal();

    // Each failure was reported, and no earlier blob is lost.
    assert!(read.is_err() || read.is_ok_and(|bytes| bytes == b"old"));
    assert_eq!(content(&store, &local, &old.id).unwrap(), b"old");
    for (put, bytes) in
        [(&new, &b"new"[..]), (&again, b"old"), (&streamed, b"streamed"), (&pieces, b"pieces")]
    {
        match put {
            Ok(blob) => assert_eq!(content(&store, &local, &blob.id).unwrap(), bytes),
            Err(error) => {
                let kinds = [ErrorKind::Internal, ErrorKind::Overloaded];
                assert!(kinds.contains(&error.kind()), "{error}");
                assert!(!error.to_string().contains("/var"), "{error}");
            }
        }
    }
    if matches!(fault, Fault::ShortWrite | Fault::Interrupted) {
        assert!(new.is_ok() && again.is_ok() && streamed.is_ok() && pieces.is_ok());
    }
    if fault == Fault::Full && was_reached {
        let is_full = |put: &Result<_, _>| matches!(put, Err(BlobError::DiskFull(_)) | Ok(_));
        assert!(is_full(&new) && is_full(&again) && is_full(&streamed) && is_full(&pieces));
    }

    // When the disk works again, so does the store, unless it can no longer promise durability.
    match store.put(&local, &plain(), b"new") {
        Ok(blob) => assert_eq!(content(&store, &local, &blob.id).unwrap(), b"new"),
        Err(BlobError::Sealed) => assert!(store.is_sealed()),
        Err(error) => panic!("{fault:?} at {at}: {error}"),
    }
    if !store.is_sealed() && fault != Fault::PowerCut {
        let is_removal_failed = disk.files(Path::new("/var/blobs/drafts")).len() == 1;
        if !is_removal_failed {
            assert_consistent(&disk, &store, &local);
        }
    }
    drop(store);
    let store = open(&disk).unwrap();
    store.put(&local, &plain(), b"new").unwrap();
    assert_eq!(content(&store, &local, &old.id).unwrap(), b"old");
    assert_consistent(&disk, &store, &local);
    was_reached
}

#[test]
fn whole_or_absent_after_a_failure_at_any_call() {
    for fault in FAULTS {
        let mut at = 0;
        while live_through(fault, at) {
            at += 1;
        }
        assert!(at > 45, "{fault:?} was tried at {at} calls only");
    }
}

#[test]
fn a_start_with_a_failing_disk_is_an_error_or_works() {
    for fault in [Fault::Once(libc::EIO), Fault::Once(libc::EACCES), Fault::Full] {
        for at in 0..40 {
            let disk = FaultyDisk::default();
            disk.fail_at(at, fault);
            if let Err(error) = open(&disk) {
                assert!(!error.to_string().contains("/var"), "{error}");
            }
            disk.heal();
            let store = open(&disk).unwrap();
            let blob = store.put(&TenantId::local(), &plain(), b"abc").unwrap();
            assert_eq!(content(&store, &TenantId::local(), &blob.id).unwrap(), b"abc");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_synced_seals_the_store() {
    let (disk, local) = (FaultyDisk::default(), TenantId::local());
    let store = open(&disk).unwrap();
    let old = store.put(&local, &plain(), b"old").unwrap();
    let before = disk.calls();
    store.put(&local, &plain(), b"probe").unwrap();
    let calls = disk.calls() - before;
    // The last call but one, which stamps the file, syncs the folder.
    disk.fail_at(calls - 2, Fault::Once(libc::EIO));
    assert!(matches!(store.put(&local, &plain(), b"new"), Err(BlobError::Storage { .. })));
    assert!(store.is_sealed());
    for content in [&b"new"[..], b"old", b"other"] {
        assert!(matches!(store.put(&local, &plain(), content), Err(BlobError::Sealed)));
        assert!(matches!(put_from(&store, &local, content), Err(BlobError::Sealed)));
    }
    assert_eq!(content(&store, &local, &old.id).unwrap(), b"old");
    drop(store);
    assert!(open(&disk).unwrap().put(&local, &plain(), b"new").is_ok());
}

/// Another writer has given a blob its name and was stopped before it synced the folder.
#[test]
fn acknowledged_is_durable_for_content_that_another_writer_has_not_finished() {
    let (disk, local) = (FaultyDisk::default(), TenantId::local());
    let store = open(&disk).unwrap();
    let blob = store.put(&local, &plain(), b"abc").unwrap();
    store.sweep(START + HOUR * 24 * 7).unwrap();
    assert_eq!(store.usage(&local).unwrap().blobs, 0);

    let folder = Path::new("/var/blobs/tenants/local");
    disk.sync_folder(folder).unwrap();
    let mut file = disk.create(&folder.join(blob.id.letters())).unwrap();
    disk.write(&mut file, b"abc").unwrap();
    disk.write(&mut file, &blob.encode()).unwrap();
    disk.sync_file(&file).unwrap();

    for stored in [store.put(&local, &plain(), b"abc"), put_from(&store, &local, b"abc")] {
        assert_eq!(stored.unwrap().id, blob.id);
        let disk = disk.after_power_loss(|_| 0);
        let store = open(&disk).unwrap();
        assert_eq!(content(&store, &local, &blob.id).unwrap(), b"abc");
    }
}

#[test]
fn a_failed_removal_removes_all_or_nothing() {
    for fault in FAULTS {
        for at in 0..8 {
            let (disk, local) = (FaultyDisk::default(), TenantId::local());
            let store = open(&disk).unwrap();
            let ids =
                [b"one", b"two"].map(|content| store.put(&local, &plain(), content).unwrap().id);
            disk.fail_at(at, fault);
            let removed = store.remove(&local, &ids[0]);
            let disk = if removed.is_ok() {
                // A removal that was acknowledged survives a loss of power.
                drop(store);
                disk.after_power_loss(|_| 0)
            } else {
                disk.heal();
                drop(store);
                disk
            };
            let store = open(&disk).unwrap();
            let is_there = content(&store, &local, &ids[0]).is_ok();
            assert!(!(is_there && removed.is_ok()), "{fault:?} at {at}");
            assert_eq!(content(&store, &local, &ids[1]).unwrap(), b"two");
            assert_consistent(&disk, &store, &local);
        }
    }
}

#[test]
fn a_failing_sweep_removes_what_it_can_and_loses_nothing_else() {
    for fault in [Fault::Once(libc::EIO), Fault::OnceAfterEffect(libc::EIO)] {
        for at in 0..20 {
            sweep_with(fault, at);
        }
    }
}

fn sweep_with(fault: Fault, at: u64) {
    let (disk, local) = (FaultyDisk::default(), TenantId::local());
    let week = HOUR * 24 * 7;
    let store = open(&disk).unwrap();
    for content in [b"a", b"b", b"c"] {
        store.put(&local, &plain(), content).unwrap();
    }
    disk.fail_at(at, fault);
    if let Ok(report) = store.sweep(START + week) {
        assert!(report.expired + report.failed <= 3);
    }
    disk.heal();
    assert_consistent(&disk, &store, &local);
    store.sweep(START + week).unwrap();
    assert_eq!(store.usage(&local).unwrap().blobs, 0);
    assert_consistent(&disk, &store, &local);
}

/// A request of a client.
#[derive(Debug, Clone)]
enum Step {
    Put(u8, u8),
    PutFrom(u8, u8),
    PutPieces(u8, u8),
    Remove(u8),
    Read(u8),
    Restart,
}

fn any_step() -> impl Strategy<Value = Step> {
    let who_and_what = (0u8..2, 0u8..6);
    prop_oneof![
        3 => who_and_what.clone().prop_map(|(tenant, content)| Step::Put(tenant, content)),
        3 => who_and_what.clone().prop_map(|(tenant, content)| Step::PutFrom(tenant, content)),
        3 => who_and_what.prop_map(|(tenant, content)| Step::PutPieces(tenant, content)),
        1 => (0u8..2).prop_map(Step::Remove),
        2 => (0u8..2).prop_map(Step::Read),
        1 => Just(Step::Restart),
    ]
}

fn bytes_of(content: u8) -> Vec<u8> {
    (0..u16::from(content) * 37).map(|n| (n % 255) as u8 ^ content).collect()
}

/// The blobs that were promised to be there, with the tenant and number of each.
type Promised = BTreeMap<(u8, BlobId), u8>;

/// Takes the steps until the power is cut.
fn take_steps(disk: &FaultyDisk, steps: &[Step]) -> Promised {
    let tenants = [tenant("one"), tenant("two")];
    let mut promised = Promised::new();
    let Ok(mut store) = open(disk).map(Arc::new) else { return promised };
    for step in steps {
        match step {
            Step::Put(who, what) => {
                if let Ok(blob) = store.put(&tenants[usize::from(*who)], &plain(), &bytes_of(*what))
                {
                    promised.insert((*who, blob.id), *what);
                }
            }
            Step::PutFrom(who, what) => {
                if let Ok(blob) = put_from(&store, &tenants[usize::from(*who)], &bytes_of(*what)) {
                    promised.insert((*who, blob.id), *what);
                }
            }
            Step::PutPieces(who, what) => {
                let tenant = &tenants[usize::from(*who)];
                if let Ok(blob) = put_pieces(&store, tenant, &bytes_of(*what)) {
                    promised.insert((*who, blob.id), *what);
                }
            }
            Step::Remove(who) => {
                let first = promised.keys().find(|(owner, _)| owner == who).cloned();
                if let Some((_, id)) = &first {
                    // A removal that fails may have happened.
                    drop(store.remove(&tenants[usize::from(*who)], id));
                }
                first.and_then(|key| promised.remove(&key));
            }
            Step::Read(who) => {
                for (owner, id) in promised.keys().filter(|(owner, _)| owner == who) {
                    let read = content(&store, &tenants[usize::from(*owner)], id);
                    if let Ok(bytes) = read {
                        assert_eq!(bytes, bytes_of(promised[&(*owner, id.clone())]));
                    }
                }
            }
            Step::Restart => {
                drop(store);
                let Ok(reopened) = open(disk) else { return promised };
                store = Arc::new(reopened);
            }
        }
    }
    promised
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn acknowledged_is_durable_whenever_the_power_is_cut(
        steps in proptest::collection::vec(any_step(), 1..12),
        cut in 0u64..220,
        fates in proptest::collection::vec(any::<u16>(), 64),
    ) {
        let disk = FaultyDisk::default();
        disk.fail_at(cut, Fault::PowerCut);
        let promised = take_steps(&disk, &steps);

        let mut next = fates.iter().cycle();
        let disk = disk.after_power_loss(|choices| usize::from(*next.next().unwrap()) % choices);
        let store = open(&disk).unwrap();
        let tenants = [tenant("one"), tenant("two")];
        for ((who, id), what) in &promised {
            prop_assert_eq!(content(&store, &tenants[usize::from(*who)], id).unwrap(), bytes_of(*what));
        }
        // A blob that was not promised is whole or absent, never damaged.
        for who in &tenants {
            for name in disk.files(&Path::new("/var/blobs/tenants").join(who.as_str())) {
                let id = BlobId::parse(&format!("blob:{name}")).unwrap();
                prop_assert!(content(&store, who, &id).is_ok());
            }
            store.put(who, &plain(), b"afterwards").unwrap();
            assert_consistent(&disk, &store, who);
        }
    }
}
