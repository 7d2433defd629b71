//! Blobs that are opened by their names, and files of the workspace that are mounts until they are
//! written.

use proptest::prelude::*;

use crate::vfs::tests::{BLOB, WRITE, at, files, limited, names_in_steps, read, write};
use crate::vfs::{Access, Errno, FileSystem, Harvest, LastLink, NameInWorkspace, OpenHow};
use wardian_formats::job::SetupLimits;
use wardian_vocabulary::units::ByteCount;

const CONTENT: &[u8] = b"a,b\n1,2\n";

fn named() -> FileSystem {
    let mut files = files();
    files.name_blob(BLOB, "sales.csv", NameInWorkspace::Listed, 5).unwrap();
    files
}

fn left(files: &FileSystem) -> Vec<String> {
    paths(files, Harvest::All)
}

fn paths(files: &FileSystem, harvest: Harvest) -> Vec<String> {
    files.workspace_files(512, harvest).0.into_iter().map(|file| file.path).collect()
}

#[test]
fn a_name_leads_to_the_blob_and_is_listed_in_the_workspace_alone() {
    let mut files = named();
    for path in ["/workspace/sales.csv", "/tmp/sales.csv", "/blobs/sales.csv", BLOB] {
        assert_eq!(read(&files, path).unwrap(), CONTENT, "{path}");
    }
    assert_eq!(names_in_steps(&mut files, "/workspace", 9), [".", "..", "sales.csv"]);
    assert_eq!(names_in_steps(&mut files, "/blobs", 9), [".", "..", "blob:abc"]);
    assert_eq!(left(&files), Vec::<String>::new());
    assert_eq!(read(&files, "/blobs/other.csv").unwrap_err(), Errno::NotFound);
    assert_eq!(
        files.name_blob("/blobs/blob:gone", "x", NameInWorkspace::Listed, 5),
        Err(Errno::NotFound)
    );
    files.name_blob(BLOB, "module.py", NameInWorkspace::Absent, 5).unwrap();
    assert_eq!(read(&files, "/workspace/module.py").unwrap_err(), Errno::NotFound);
    assert_eq!(read(&files, "/blobs/module.py").unwrap(), CONTENT);
}

#[test]
fn a_further_name_is_opened_and_not_listed_until_its_file_is_changed() {
    let mut files = named();
    for name in ["copy.csv", "zebra.csv"] {
        files.name_blob(BLOB, name, NameInWorkspace::Unlisted, 5).unwrap();
    }
    for path in ["/workspace/copy.csv", "/tmp/copy.csv", "/blobs/copy.csv", "copy.csv"] {
        assert_eq!(read(&files, path).unwrap(), CONTENT, "{path}");
    }
    for step in [1, 2, 3, 9] {
        assert_eq!(names_in_steps(&mut files, "/workspace", step), [".", "..", "sales.csv"]);
    }
    assert_eq!(left(&files), Vec::<String>::new());
    files.rename(at("/workspace/zebra.csv"), at("/workspace/moved.csv"), 6).unwrap();
    write(&mut files, "/workspace/copy.csv", b"new").unwrap();
    let listed = [".", "..", "copy.csv", "moved.csv", "sales.csv"];
    assert_eq!(names_in_steps(&mut files, "/workspace", 2), listed);
    assert_eq!(left(&files), ["copy.csv", "moved.csv"]);
    assert_eq!(read(&files, "/workspace/sales.csv").unwrap(), CONTENT, "the others stay");
    assert_eq!(read(&files, "/blobs/copy.csv").unwrap(), CONTENT);
    files.remove_file(at("/workspace/sales.csv"), 8).unwrap();
    assert_eq!(read(&files, "/workspace/moved.csv").unwrap(), CONTENT);
}

#[test]
fn further_names_leave_half_of_the_workspace_to_the_program() {
    let mut files = limited(SetupLimits { workspace_entries: 8, ..SetupLimits::DEFAULT });
    for number in 0..16 {
        let name = format!("{number}.csv");
        files.name_blob(BLOB, &name, NameInWorkspace::Unlisted, 5).unwrap();
        assert_eq!(read(&files, &format!("/blobs/{name}")).unwrap(), CONTENT);
    }
    assert_eq!(files.workspace_usage().1, 4);
}

#[test]
fn a_written_file_has_bytes_of_its_own_and_readers_go_on() {
    let mut files = named();
    let reader = files.open(at("/workspace/sales.csv"), OpenHow::READ, 6).unwrap();
    let how = OpenHow { access: Access { read: true, write: true }, ..OpenHow::READ };
    let writer = files.open(at("/workspace/sales.csv"), how, 6).unwrap();
    assert_eq!(left(&files), Vec::<String>::new(), "opened and not written");
    files.write(writer, b"X", 7).unwrap();
    let mut bytes = [0; 8];
    files.read_at(reader, &mut bytes, 0).unwrap();
    assert_eq!(bytes, CONTENT, "the reader has the mount");
    assert_eq!(read(&files, "/workspace/sales.csv").unwrap(), b"X,b\n1,2\n");
    assert_eq!(read(&files, "/blobs/sales.csv").unwrap(), CONTENT);
    files.close(reader).unwrap();
    files.close(writer).unwrap();
    assert_eq!(left(&files), ["sales.csv"]);
    files.remove_file(at("/workspace/sales.csv"), 8).unwrap();
    assert_eq!(files.workspace_usage(), (0, 0), "all of it is given back");
}

#[test]
fn a_mount_that_does_not_fit_is_read_and_not_written() {
    let limits = SetupLimits { workspace: ByteCount::bytes(1_050), ..SetupLimits::DEFAULT };
    let mut files = limited(limits);
    files.name_blob(BLOB, "sales.csv", NameInWorkspace::Listed, 5).unwrap();
    let before = files.workspace_usage();
    let appending = OpenHow { access: Access { read: false, write: true }, ..OpenHow::READ };
    let refused = files.open(at("/workspace/sales.csv"), appending, 6);
    assert_eq!(refused, Err(Errno::NoSpace));
    assert_eq!(files.workspace_usage(), before, "nothing stays charged");
    assert_eq!(read(&files, "/workspace/sales.csv").unwrap(), CONTENT);
    let mut full = limited(SetupLimits { workspace_entries: 0, ..SetupLimits::DEFAULT });
    full.name_blob(BLOB, "sales.csv", NameInWorkspace::Listed, 5).unwrap();
    assert_eq!(read(&full, "/workspace/sales.csv").unwrap_err(), Errno::NotFound);
    assert_eq!(read(&full, "/blobs/sales.csv").unwrap(), CONTENT);
}

proptest! {
    /// Whatever a program does with its files, a mount is never listed while it is as it was, is
    /// always listed once it is not, and never changes.
    #[test]
    fn what_is_listed_is_new_or_changed(steps in prop::collection::vec((0_u8..6, 0_u8..3), 0..12)) {
        let mut files = named();
        let names = ["/workspace/sales.csv", "/workspace/b", "/workspace/c"];
        for (step, which) in steps {
            let path = names[usize::from(which)];
            let other = names[(usize::from(which) + 1) % 3];
            match step {
                0 => drop(write(&mut files, path, b"new")),
                1 => drop(files.remove_file(at(path), 9)),
                2 => drop(files.rename(at(path), at(other), 9)),
                3 => drop(files.add_name(at(path), LastLink::Keep, at(other), 9)),
                4 => drop(files.open(at(path), OpenHow::READ, 9).and_then(|fd| files.close(fd))),
                _ => {
                    let how = OpenHow { access: Access { read: true, write: true }, ..OpenHow::READ };
                    files.open(at(path), how, 9).and_then(|fd| files.close(fd)).ok();
                }
            }
            prop_assert_eq!(read(&files, BLOB).unwrap(), CONTENT);
        }
        let listed = left(&files);
        for path in names {
            let name = path.rsplit('/').next().unwrap();
            let Ok(content) = read(&files, path) else {
                prop_assert!(!listed.iter().any(|one| one == name));
                continue;
            };
            let is_new = name != "sales.csv" || content != CONTENT;
            if is_new {
                prop_assert!(listed.iter().any(|one| one == name), "{name} is lost");
            }
        }
    }
}

#[test]
fn the_files_of_a_turn_are_those_that_it_has_made_changed_or_named() {
    let mut files = named();
    let of_turn = |files: &FileSystem| paths(files, Harvest::OfTurn);
    write(&mut files, "/workspace/before", b"1").unwrap();
    files.make_folder(at("/workspace/folder"), 2).unwrap();
    for name in ["deep", "other"] {
        write(&mut files, &format!("/workspace/folder/{name}"), b"1").unwrap();
    }
    let open = files.open(at("/workspace/before"), WRITE, 3).unwrap();
    assert_eq!(of_turn(&files), left(&files));

    files.begin_turn();
    assert_eq!(of_turn(&files), Vec::<String>::new());
    let _files = files.workspace_files(512, Harvest::OfTurn);
    write(&mut files, "/workspace/new", b"1").unwrap();
    write(&mut files, "/workspace/folder/deep", b"2").unwrap();
    write(&mut files, "/workspace/sales.csv", b"2").unwrap();
    assert_eq!(read(&files, "/workspace/before").unwrap(), b"");
    assert_eq!(of_turn(&files), ["new", "sales.csv", "folder/deep"]);
    assert_eq!(files.workspace_files(512, Harvest::OfTurn).1, 3);

    files.begin_turn();
    files.write(open, b"through a descriptor of an earlier turn", 4).unwrap();
    assert_eq!(of_turn(&files), ["before"]);
    files.set_size(open, 1, 5).unwrap();

    files.begin_turn();
    files.rename(at("/workspace/new"), at("/workspace/renamed"), 6).unwrap();
    let (from, to) = (at("/workspace/before"), at("/workspace/link"));
    files.add_name(from, LastLink::Keep, to, 6).unwrap();
    assert_eq!(of_turn(&files), ["before", "link", "renamed"]);

    files.begin_turn();
    files.rename(at("/workspace/folder"), at("/workspace/moved"), 7).unwrap();
    assert_eq!(of_turn(&files), ["moved/deep", "moved/other"], "they have new paths");

    files.begin_turn();
    write(&mut files, "/workspace/moved/third", b"").unwrap();
    files.remove_file(at("/workspace/moved/other"), 8).unwrap();
    assert_eq!(of_turn(&files), ["moved/third"], "a folder that has changed is not a new one");
    let all = ["before", "link", "renamed", "sales.csv", "moved/deep", "moved/third"];
    assert_eq!(left(&files), all);
}

/// What a turn does to one of a few files.
#[derive(Debug, Clone)]
enum Act {
    Write(u8),
    Rename(u8, u8),
    Remove(u8),
    Begin,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let name = 0..5_u8;
    prop::collection::vec(
        prop_oneof![
            name.clone().prop_map(Act::Write),
            (name.clone(), name.clone()).prop_map(|(one, other)| Act::Rename(one, other)),
            name.prop_map(Act::Remove),
            Just(Act::Begin),
        ],
        0..40,
    )
}

proptest! {
    #[test]
    fn the_files_of_a_turn_are_those_of_a_model(acts in acts()) {
        use std::collections::BTreeMap;
        let path = |name: u8| format!("/workspace/{name}");
        let mut files = files();
        // Whether a file is of the turn.
        let mut model: BTreeMap<u8, bool> = BTreeMap::new();
        for act in acts {
            match act {
                Act::Write(name) => {
                    write(&mut files, &path(name), b"x").unwrap();
                    model.insert(name, true);
                }
                Act::Rename(from, to) => {
                    let renamed = files.rename(at(&path(from)), at(&path(to)), 3);
                    prop_assert_eq!(renamed.is_ok(), model.contains_key(&from));
                    if from != to && model.remove(&from).is_some() {
                        model.insert(to, true);
                    }
                }
                Act::Remove(name) => {
                    let removed = files.remove_file(at(&path(name)), 3);
                    prop_assert_eq!(removed.is_ok(), model.remove(&name).is_some());
                }
                Act::Begin => {
                    files.begin_turn();
                    model.values_mut().for_each(|of_turn| *of_turn = false);
                }
            }
            let names = |wanted: bool| -> Vec<String> {
                let wanted = model.iter().filter(|(_, of_turn)| **of_turn || !wanted);
                wanted.map(|(name, _)| name.to_string()).collect()
            };
            prop_assert_eq!(paths(&files, Harvest::OfTurn), names(true));
            prop_assert_eq!(paths(&files, Harvest::All), names(false));
        }
    }
}
