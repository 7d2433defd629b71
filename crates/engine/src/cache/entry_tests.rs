//! Tests of the cache: damage, locks, owners and interrupted writes.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::mpsc;
use std::thread;

use tempfile::TempDir;

use super::*;
use crate::tiny::TinyEngine;

fn cache() -> (TempDir, CacheFolder, CacheEntry) {
    let folder = tempfile::tempdir().unwrap();
    let cache = CacheFolder::open(&folder.path().join("deep/cache"), Clock::System).unwrap();
    let entry = cache.entry(Area::Native, &Digest::of(b"key"));
    (folder, cache, entry)
}

fn put(entry: &CacheEntry, name: &str, content: &[u8]) -> CheckedFile {
    let lock = entry.lock(|| {}).unwrap();
    let mut draft = lock.draft(name).unwrap();
    draft.write_all(content).unwrap();
    draft.commit("a file", BTreeMap::new()).unwrap()
}

#[test]
fn content_is_read_from_the_beginning_every_time() {
    let (_folder, _cache, entry) = cache();
    let file = put(&entry, "file", b"content");
    for _ in 0..2 {
        let mut first = file.content();
        first.read_exact(&mut [0; 3]).unwrap();
        assert_eq!(io::read_to_string(file.content()).unwrap(), "content");
        assert_eq!(io::read_to_string(first).unwrap(), "tent");
    }
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn own_folder_and_everything_in_it_is_private() {
    let (folder, cache, entry) = cache();
    let file = put(&entry, "file", b"content");
    assert_eq!(mode_of(&folder.path().join("deep")), 0o700);
    assert_eq!((mode_of(cache.path()), mode_of(entry.path())), (0o700, 0o700));
    assert_eq!(mode_of(&file.path), 0o600);
    assert!(CacheFolder::open(cache.path(), Clock::System).is_ok());
}

#[test]
fn own_folder_means_that_no_other_user_can_write() {
    let (_folder, cache, _) = cache();
    for (mode, expected) in [(0o755, true), (0o500, true), (0o770, false), (0o702, false)] {
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(mode)).unwrap();
        let opened = CacheFolder::open(cache.path(), Clock::System);
        assert_eq!(opened.is_ok(), expected, "{mode:o}");
        if let Err(error) = opened {
            assert!(error.to_string().contains("is writable by other users"), "{error}");
        }
    }
    for (me, owner, mode, expected) in [
        (1_000, 1_000, 0o40700, None),
        (1_000, 0, 0o40755, None),
        (1_000, 1_001, 0o40700, Some("belongs to another user")),
        (0, 1_000, 0o40700, Some("belongs to another user")),
        (1_000, 1_000, 0o100_600, Some("is not a folder")),
    ] {
        assert_eq!(problem_with(mode, owner, me), expected);
    }
}

#[test]
fn a_cache_must_be_an_absolute_folder() {
    let (folder, ..) = cache();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [Path::new("relative"), Path::new(""), &file, &file.join("below")] {
        assert!(CacheFolder::open(path, Clock::System).is_err(), "accepted {path:?}");
    }
}

#[test]
fn a_committed_file_reads_back() {
    let (_folder, _, entry) = cache();
    assert!(entry.open_checked("file", None).unwrap().is_none());
    let made = put(&entry, "file", b"content");
    let found = entry.open_checked("file", Some(&Digest::of(b"content"))).unwrap().unwrap();
    assert_eq!((found.digest(), found.size()), (made.digest(), ByteCount::bytes(7)));
    assert_eq!(io::read_to_string(&found.file).unwrap(), "content");
    assert!((&found.file).write_all(b"x").is_err(), "it could be changed");
    assert_eq!(entry.names().unwrap(), ["file"]);
}

#[test]
fn complete_or_absent_when_the_writer_gives_up() {
    let (_folder, _, entry) = cache();
    let lock = entry.lock(|| {}).unwrap();
    let mut draft = lock.draft("file").unwrap();
    draft.write_all(b"half").unwrap();
    assert!(entry.open_checked("file", None).unwrap().is_none());
    drop(draft);
    assert_eq!(names_in(entry.path()).unwrap(), [LOCK]);
}

#[test]
fn complete_or_absent_when_the_writer_dies() {
    let (_folder, _, entry) = cache();
    drop(put(&entry, "file", b"old"));
    // Killed while writing: a partial file is left, and goes with the next writer.
    fs::write(entry.path().join(format!(".file.abc{PARTIAL}")), "half").unwrap();
    fs::create_dir(entry.path().join(format!(".download.abc{PARTIAL}"))).unwrap();
    assert!(entry.open_checked("file", None).unwrap().is_some());
    drop(entry.lock(|| {}).unwrap());
    assert_eq!(names_in(entry.path()).unwrap(), [LOCK, "file", "file.json"]);

    // Killed between the file and its record, which is another one's.
    let other = entry.path().join("other");
    fs::write(&other, "new").unwrap();
    fs::rename(&other, entry.path().join("file")).unwrap();
    assert!(entry.open_checked("file", None).unwrap().is_none());
    fs::remove_file(entry.path().join("file.json")).unwrap();
    assert!(entry.open_checked("file", None).unwrap().is_none());
}

#[test]
fn checked_means_that_no_change_goes_unseen() {
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("a byte", TinyEngine::flip_a_byte),
        ("an end", |path| {
            OpenOptions::new().append(true).open(path).unwrap().write_all(b"x").unwrap();
        }),
        ("a cut", |path| {
            OpenOptions::new().write(true).open(path).unwrap().set_len(3).unwrap();
        }),
        ("a byte, with the old time", |path| {
            let before = fs::metadata(path).unwrap().modified().unwrap();
            TinyEngine::flip_a_byte(path);
            let file = OpenOptions::new().write(true).open(path).unwrap();
            file.set_modified(before).unwrap();
        }),
    ];
    for (what, change) in changes {
        let (_folder, _, entry) = cache();
        let file = put(&entry, "file", b"content");
        assert!(entry.open_checked("file", None).unwrap().is_some(), "{what}");
        change(&file.path);
        assert!(entry.open_checked("file", None).unwrap().is_none(), "{what}");
        assert_eq!(entry.verify("file", None, |_| {}).unwrap(), Finding::Damaged, "{what}");
    }
}

#[test]
fn checked_means_that_a_damaged_file_is_not_handed_out() {
    let (_folder, _, entry) = cache();
    let file = put(&entry, "file", b"content");
    fs::write(&file.path, "CONTENT").unwrap();
    forget(&entry, "file");
    assert!(entry.open_checked("file", None).unwrap().is_none());
    fs::write(&file.path, "content").unwrap();
    assert!(entry.open_checked("file", None).unwrap().is_some());
    assert!(entry.open_checked("file", Some(&Digest::of(b"CONTENT"))).unwrap().is_none());

    fs::remove_file(&file.path).unwrap();
    symlink("/etc/hostname", &file.path).unwrap();
    assert!(entry.open_checked("file", None).is_err(), "a link was followed");
}

/// As after a restart of the machine.
fn forget(entry: &CacheEntry, name: &str) {
    let mut record = entry.find_record(name).unwrap().unwrap();
    record.seen = None;
    write_record(entry.path(), name, &record).unwrap();
}

#[test]
fn a_file_is_read_again_only_when_it_may_have_changed() {
    let (_folder, _, entry) = cache();
    drop(put(&entry, "file", b"content"));
    // A record that does not fit shows whether the file was read.
    let mut record = entry.find_record("file").unwrap().unwrap();
    let right = record.sha256;
    record.sha256 = Digest::of(b"something else");
    write_record(entry.path(), "file", &record).unwrap();
    assert!(entry.open_checked("file", None).unwrap().is_some(), "was read again");
    assert_eq!(entry.verify("file", None, |_| {}).unwrap(), Finding::Damaged);
    forget(&entry, "file");
    assert!(entry.open_checked("file", None).unwrap().is_none(), "was not read again");

    record.sha256 = right;
    record.seen = None;
    write_record(entry.path(), "file", &record).unwrap();
    assert!(entry.open_checked("file", None).unwrap().is_some());
    assert!(entry.find_record("file").unwrap().unwrap().seen.is_some(), "not remembered");
}

#[test]
fn a_waiting_process_reports_it_and_finds_the_file_afterwards() {
    let (_folder, _, entry) = cache();
    let lock = entry.lock(|| panic!("the lock is free")).unwrap();
    let (sender, receiver) = mpsc::channel();
    let waiting = thread::spawn({
        let entry = entry.clone();
        move || {
            let lock = entry.lock(|| sender.send(()).unwrap()).unwrap();
            let found = entry.open_checked("file", None).unwrap();
            drop(lock);
            found.is_some()
        }
    });
    receiver.recv().unwrap();
    let mut draft = lock.draft("file").unwrap();
    draft.write_all(b"content").unwrap();
    drop(draft.commit("a file", BTreeMap::new()).unwrap());
    drop(lock);
    assert!(waiting.join().unwrap());
}

#[test]
fn nothing_is_removed_while_a_process_writes() {
    let (_folder, cache, entry) = cache();
    let kept = put(&entry, "file", &[7; 5_000]);
    let other = cache.entry(Area::Images, &Digest::of(b"other"));
    let lock = other.lock(|| {}).unwrap();
    let error = cache.remove(std::slice::from_ref(&entry)).unwrap_err();
    assert!(error.to_string().contains("in use by another process"), "{error}");
    assert!(kept.path.try_exists().unwrap());
    drop(lock);
    assert!(cache.remove(&[entry]).unwrap() >= ByteCount::bytes(5_000));
    assert!(!kept.path.try_exists().unwrap());
    let left = cache.entries(Area::Images).unwrap();
    assert_eq!(left.iter().map(CacheEntry::path).collect::<Vec<_>>(), [other.path()]);
}

#[test]
fn zeros_take_no_space() {
    let (_folder, _, entry) = cache();
    let mut content = vec![0; 1 << 20];
    content[500_000] = 1;
    let lock = entry.lock(|| {}).unwrap();
    let mut draft = lock.draft("file").unwrap();
    draft.write_sparse(&content).unwrap();
    let file = draft.commit("a file", BTreeMap::new()).unwrap();
    assert_eq!(file.digest(), Digest::of(&content));
    assert_eq!(fs::read(&file.path).unwrap(), content);
    assert!(fs::metadata(&file.path).unwrap().blocks() * 512 < 64 << 10);
}
