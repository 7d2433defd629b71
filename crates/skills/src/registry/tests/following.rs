//! A thread picks up changes: with the kernel's notices and without.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rstest::rstest;

use crate::registry::tests::{DOCUMENT, Disk, open_within, rejected, served};
use crate::registry::{Registry, Watching};

/// Far longer than a change takes to show, on a machine that does many other things.
const SOON: Duration = Duration::from_secs(20);

const NOTIFIED: usize = 262_144;
const POLLED: usize = 0;

fn watching(max_watches: usize) -> Watching {
    Watching { max_watches, ..Watching::default() }
}

fn follow(disk: &Disk, max_watches: usize) -> Registry {
    let registry = open_within(&[disk.0.path()], watching(max_watches)).unwrap();
    registry.follow().unwrap();
    registry
}

fn eventually(registry: &Registry, expected: &[&str]) {
    let deadline = Instant::now() + SOON;
    loop {
        let index = registry.current();
        if served(&index) == expected {
            return;
        }
        assert!(Instant::now() < deadline, "{:?}, {:?}", served(&index), rejected(&index));
        thread::park_timeout(Duration::from_millis(20));
    }
}

#[rstest]
fn changes_show_by_themselves(#[values(NOTIFIED, POLLED, 2)] max_watches: usize) {
    let disk = Disk::new();
    disk.skill("a", "1.0.0").write("a/code/x.txt", "x");
    let registry = follow(&disk, max_watches);
    disk.skill("b", "1.0.0");
    eventually(&registry, &["a 1.0.0", "b 1.0.0"]);
    disk.skill("a", "1.1.0").write("a/code/deep/er/x.txt", "x");
    eventually(&registry, &["a 1.1.0", "b 1.0.0"]);
    fs::rename(disk.path("b"), disk.path("b@1.0.0")).unwrap();
    disk.skill("b", "2.0.0").remove("a");
    eventually(&registry, &["b 2.0.0", "b 1.0.0"]);
    // A file in a folder that came later is noticed as well.
    disk.write("b/res/x.txt", "1");
    wait_for_file(&registry, "res/x.txt", b"1");
    disk.write("b/res/x.txt", "2");
    wait_for_file(&registry, "res/x.txt", b"2");
}

fn wait_for_file(registry: &Registry, path: &str, content: &[u8]) {
    let deadline = Instant::now() + SOON;
    let holds = || {
        let index = registry.current();
        index.snapshots().any(|one| one.read_file(path).is_ok_and(|bytes| bytes == content))
    };
    while !holds() {
        assert!(Instant::now() < deadline, "{path} is not as it should be");
        thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn calls_never_walk_and_never_wait() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0");
    let registry = open_within(&[disk.0.path()], watching(NOTIFIED)).unwrap();
    // Folders are not followed: a call sees what was read before, whatever happens on disk.
    disk.remove("a");
    assert_eq!(served(&registry.current()), ["a 1.0.0"]);
    let held = registry.disk.lock();
    assert_eq!(served(&registry.current()), ["a 1.0.0"]);
    drop(held);
}

#[rstest]
fn a_root_may_lead_elsewhere_be_removed_and_made_again(
    #[values(NOTIFIED, POLLED)] max_watches: usize,
) {
    let outer = Disk::new();
    for (root, version) in [("one", "1.0.0"), ("two", "2.0.0")] {
        let manifest = format!(
            "name = \"a\"\nversion = \"{version}\"\ndescription = \"d\"\nkind = \"instruction\"\n"
        );
        outer.write(&format!("{root}/a/skill.toml"), manifest);
        outer.write(&format!("{root}/a/SKILL.md"), DOCUMENT);
    }
    symlink("one", outer.path("current")).unwrap();
    let registry = open_within(&[&outer.path("current")], watching(max_watches)).unwrap();
    registry.follow().unwrap();
    eventually(&registry, &["a 1.0.0"]);
    symlink("two", outer.path("next")).unwrap();
    fs::rename(outer.path("next"), outer.path("current")).unwrap();
    eventually(&registry, &["a 2.0.0"]);
    // Gone for a while: the skills stay. Made again: they are those of the new folder.
    fs::remove_file(outer.path("current")).unwrap();
    thread::park_timeout(Duration::from_millis(1_500));
    assert_eq!(served(&registry.current()), ["a 2.0.0"]);
    fs::create_dir(outer.path("current")).unwrap();
    eventually(&registry, &[]);
    outer.write("current/b/SKILL.md", "---\nname: b\ndescription: d\n---\nx");
    eventually(&registry, &["b 0.1.0"]);
}

#[test]
fn one_moment_is_what_a_snapshot_holds() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0").skill("good", "1.0.0");
    for file in 0..40 {
        disk.write(&format!("a/res/{file}"), "00000000");
    }
    let registry = follow(&disk, NOTIFIED);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            // A generation is written as a whole next to the skill and put in its place.
            for generation in (1..).take_while(|_| !is_done.load(Ordering::Relaxed)) {
                for file in 0..40 {
                    disk.write(&format!(".next/{file}"), format!("{generation:08}"));
                }
                fs::rename(disk.path("a/res"), disk.path(".last")).unwrap();
                fs::rename(disk.path(".next"), disk.path("a/res")).unwrap();
                disk.remove(".last");
            }
        });
        let deadline = Instant::now() + Duration::from_secs(4);
        let mut generations = std::collections::BTreeSet::new();
        while Instant::now() < deadline {
            let index = registry.current();
            for one in index.snapshots().filter(|one| one.name().as_str() == "a") {
                let files: Vec<_> =
                    one.files().iter().filter(|file| file.path.starts_with("res/")).collect();
                let first = one.read_file("res/0");
                generations.extend(first.ok().map(<[u8]>::to_vec));
                for file in files {
                    assert_eq!(one.read_file(&file.path).ok(), one.read_file("res/0").ok());
                }
            }
            thread::park_timeout(Duration::from_millis(5));
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(!generations.is_empty());
    });
}

#[test]
fn a_folder_that_changes_all_the_time_keeps_no_other() {
    let disk = Disk::new();
    disk.skill("noisy", "1.0.0").skill("quiet", "1.0.0");
    let registry = follow(&disk, NOTIFIED);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for turn in (0_u64..).take_while(|_| !is_done.load(Ordering::Relaxed)) {
                disk.write(&format!("noisy/res/{}", turn % 500), turn.to_string());
            }
        });
        disk.skill("quiet", "1.1.0");
        let deadline = Instant::now() + SOON;
        while !served(&registry.current()).contains(&"quiet 1.1.0".to_owned()) {
            assert!(Instant::now() < deadline, "a quiet folder waits for a noisy one");
            thread::park_timeout(Duration::from_millis(20));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(served(&registry.current()).contains(&"noisy 1.0.0".to_owned()));
}

#[test]
fn a_root_with_too_many_folders_is_served_as_far_as_it_goes() {
    let disk = Disk::new();
    for name in ["a", "b", "c", "d"] {
        disk.skill(name, "1.0.0");
    }
    let bounds = Watching { max_folders: 3, ..Watching::default() };
    let registry = open_within(&[disk.0.path()], bounds).unwrap();
    assert_eq!(served(&registry.current()), ["a 1.0.0", "b 1.0.0", "c 1.0.0"]);
    let told: Vec<_> = registry.current().left_out().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["root 1 has more than 3 folders: at least 1 are left out"]);
    registry.follow().unwrap();
    // New folders displace no known ones, whatever their names. Freed room is used.
    disk.skill("0", "1.0.0");
    thread::park_timeout(Duration::from_millis(1_000));
    assert_eq!(served(&registry.current()), ["a 1.0.0", "b 1.0.0", "c 1.0.0"]);
    disk.remove("b");
    eventually(&registry, &["0 1.0.0", "a 1.0.0", "c 1.0.0"]);
}

#[test]
fn names_that_are_not_text_and_links_hurt_nothing() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0");
    let registry = follow(&disk, NOTIFIED);
    thread::park_timeout(Duration::from_millis(300));
    for name in [&b"\xff\xfe"[..], b"x\xff", b"a\nb"] {
        fs::create_dir(disk.path("").join(OsStr::from_bytes(name))).unwrap();
        fs::write(disk.path("a").join(OsStr::from_bytes(name)), "").unwrap();
        fs::remove_file(disk.path("a").join(OsStr::from_bytes(name))).unwrap();
    }
    symlink("/etc", disk.path("linked")).unwrap();
    disk.skill("b", "1.0.0");
    eventually(&registry, &["a 1.0.0", "b 1.0.0"]);
    let told = rejected(&registry.current());
    assert!(
        told.iter().any(|line| line.starts_with("linked: .: error: is a symbolic")),
        "{told:?}"
    );
}

#[test]
fn a_huge_skill_is_not_watched_and_is_followed_all_the_same() {
    let disk = Disk::new();
    disk.skill("huge", "1.0.0").skill("small", "1.0.0");
    for folder in 0..200 {
        disk.write(&format!("huge/res/{folder}/x"), "before");
    }
    let registry = follow(&disk, 100);
    thread::park_timeout(Duration::from_millis(500));
    disk.write("huge/res/199/x", "after!").skill("small", "1.1.0");
    eventually(&registry, &["huge 1.0.0", "small 1.1.0"]);
    wait_for_file(&registry, "res/199/x", b"after!");
}

#[test]
fn a_registry_that_is_gone_leaves_no_thread() {
    let disk = Disk::new();
    let registry = follow(&disk, NOTIFIED);
    let shared = Arc::downgrade(&registry.shared);
    drop(registry);
    let deadline = Instant::now() + SOON;
    while shared.strong_count() > 0 {
        assert!(Instant::now() < deadline, "the thread goes on");
        thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn changes_before_the_thread_begins_are_not_missed() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0").skill("gone", "1.0.0");
    let registry = open_within(&[disk.0.path()], watching(NOTIFIED)).unwrap();
    disk.skill("a", "1.1.0").skill("b", "1.0.0").remove("gone");
    registry.follow().unwrap();
    eventually(&registry, &["a 1.1.0", "b 1.0.0"]);
}

/// More changes than the kernel keeps notices of: those after them are not told of.
#[test]
fn an_overflow_of_notices_leads_to_a_look_at_everything() {
    let queued = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let queued: usize = queued.trim().parse().unwrap();
    let disk = Disk::new();
    disk.skill("noisy", "1.0.0").skill("quiet", "1.0.0");
    let registry = open_within(&[disk.0.path()], watching(NOTIFIED)).unwrap();
    // Two at once, since equal notices in a row are one.
    for _ in 0..queued / 2 + 1_000 {
        for file in ["noisy/.one", "noisy/.two"] {
            disk.write(file, "x");
        }
    }
    disk.skill("quiet", "1.1.0");
    let started = Instant::now();
    registry.follow().unwrap();
    eventually(&registry, &["noisy 1.0.0", "quiet 1.1.0"]);
    assert!(started.elapsed() < Duration::from_secs(15), "only the walk of a minute found it");
}
