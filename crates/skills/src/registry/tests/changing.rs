//! Changes on disk show without a restart, and never in a snapshot that a call already holds.

use std::fs;
use std::sync::Arc;

use crate::registry::folders::snapshot::Snapshot;
use crate::registry::index::Index;
use crate::registry::tests::{DOCUMENT, Disk, open, rejected, served};
use wardian_vocabulary::ids::SkillName;

fn only(index: &Index, name: &str) -> Arc<Snapshot> {
    Arc::clone(index.find(&SkillName::parse(name).unwrap(), None).unwrap())
}

#[test]
fn skills_come_change_and_go() {
    let disk = Disk::new();
    let registry = disk.open();
    assert_eq!(served(&registry.current()), Vec::<String>::new());
    disk.skill("a", "1.0.0");
    assert_eq!(served(&registry.refresh()), ["a 1.0.0"]);
    disk.skill("a", "1.1.0").skill("b", "0.1.0");
    assert_eq!(served(&registry.refresh()), ["a 1.1.0", "b 0.1.0"]);
    disk.remove("a");
    assert_eq!(served(&registry.refresh()), ["b 0.1.0"]);
}

#[test]
fn immutable_snapshot_does_not_see_the_disk_change() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0").write("a/code/x.txt", "before");
    let registry = disk.open();
    let (index, held) = (registry.current(), only(&registry.current(), "a"));
    disk.write("a/code/x.txt", "after!");
    let now = only(&registry.refresh(), "a");
    assert_eq!(held.read_file("code/x.txt").unwrap(), b"before");
    assert_eq!(only(&index, "a").digest(), held.digest());
    assert_eq!(now.read_file("code/x.txt").unwrap(), b"after!");
    assert_ne!(now.digest(), held.digest());
    disk.write("a/code/x.txt", "before");
    assert_eq!(only(&registry.refresh(), "a").digest(), held.digest());
}

#[test]
fn a_change_behind_a_forged_time_is_noticed() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0").write("a/x.txt", "before");
    let registry = disk.open();
    registry.refresh();
    let path = disk.path("a/x.txt");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    disk.write("a/x.txt", "after!");
    fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    assert_eq!(only(&registry.refresh(), "a").read_file("x.txt").unwrap(), b"after!");
}

#[test]
fn an_unchanged_folder_is_not_read_again() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0");
    let registry = disk.open();
    let before = registry.refresh();
    disk.write("a/.git/HEAD", "hidden").write("README.md", "beside");
    let after = registry.refresh();
    assert!(Arc::ptr_eq(&before, &after), "nothing that is served changed");
    disk.skill("b", "1.0.0");
    let after = registry.refresh();
    assert!(Arc::ptr_eq(&only(&before, "a"), &only(&after, "a")));
}

#[test]
fn a_folder_in_the_middle_of_being_written_is_served_as_it_was() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0");
    let registry = disk.open();
    registry.refresh();
    disk.write("a/skill.toml", "name = \"a\"\nvers");
    let during = registry.refresh();
    assert_eq!((served(&during), rejected(&during).len()), (vec!["a 1.0.0".to_owned()], 1));
    disk.skill("a", "1.1.0");
    assert_eq!(served(&registry.refresh()), ["a 1.1.0"]);
}

#[test]
fn a_folder_that_stays_bad_is_no_longer_served() {
    let disk = Disk::new();
    disk.skill("a", "1.0.0").skill("b", "1.0.0");
    let registry = disk.open();
    disk.write("a/skill.toml", "name = 1");
    registry.refresh();
    let rested = registry.refresh();
    assert_eq!(served(&rested), ["b 1.0.0"]);
    assert!(rejected(&rested)[0].starts_with("a: skill.toml"), "{:?}", rejected(&rested));
}

#[test]
fn a_root_that_is_gone_for_a_while_keeps_its_skills() {
    let outer = Disk::new();
    outer.write("root/a/SKILL.md", "---\nname: a\ndescription: d\n---\nx");
    let registry = open(&[&outer.path("root")]).unwrap();
    fs::rename(outer.path("root"), outer.path("away")).unwrap();
    assert_eq!(served(&registry.refresh()), ["a 0.1.0"]);
    assert_eq!(served(&registry.refresh()), ["a 0.1.0"]);
    fs::rename(outer.path("away"), outer.path("root")).unwrap();
    outer.remove("root/a");
    assert_eq!(served(&registry.refresh()), Vec::<String>::new());
}

#[test]
fn a_swapped_file_never_shows_what_lies_outside() {
    use std::sync::atomic::{AtomicBool, Ordering};
    const SECRET: &[u8] = b"a secret of the host that is as long as it needs to be";
    let disk = Disk::new();
    let outside = Disk::new();
    outside.write("secret", SECRET).write("folder/x.txt", SECRET);
    disk.skill("a", "1.0.0").write("a/res/x.txt", "harmless").skill("b", "1.0.0");
    let registry = disk.open();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (file, folder) = (disk.path("a/res/x.txt"), disk.path("a/res"));
            while !is_done.load(Ordering::Relaxed) {
                fs::remove_file(&file).unwrap();
                std::os::unix::fs::symlink(outside.path("secret"), &file).unwrap();
                fs::remove_file(&file).unwrap();
                fs::remove_dir(&folder).unwrap();
                std::os::unix::fs::symlink(outside.path("folder"), &folder).unwrap();
                fs::remove_file(&folder).unwrap();
                disk.write("a/res/x.txt", "harmless");
            }
        });
        for _ in 0..300 {
            let index = registry.refresh();
            for snapshot in index.snapshots() {
                let leaks = snapshot.pack().windows(SECRET.len()).any(|bytes| bytes == SECRET);
                assert!(!leaks, "a link was followed");
            }
            assert!(served(&index).contains(&"b 1.0.0".to_owned()));
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert_eq!(only(&registry.refresh(), "a").document_text(), DOCUMENT);
}
