//! Files that the host lists, writes and removes.

use super::*;
use crate::vfs::operations::host_files::HostFiles;
use crate::vfs::{FileKind, LastLink, ListBounds};

const ALL: ListBounds = ListBounds { count: 100, path: 200, paths: 10_000 };

fn list(files: &FileSystem, folder: Option<&str>) -> Result<HostFiles, Errno> {
    files.files_below(folder, None, ALL)
}

fn paths(found: &HostFiles) -> Vec<&str> {
    found.files.iter().map(|file| file.path.as_str()).collect()
}

/// A workspace with files, folders and links, some of which lead out of it.
fn filled() -> FileSystem {
    let mut files = files();
    for path in ["b.txt", "a/x/1", "a/2", "a.txt"] {
        files.put_file(path, path.as_bytes(), 9).unwrap();
    }
    for (target, path) in [
        ("/skills/acme.report/SKILL.md", "skill"),
        ("../blobs", "blobs"),
        ("a/x", "near"),
        ("b.txt", "b"),
        ("b", "a/loop"),
        ("nothing", "dangling"),
    ] {
        files.make_link(target, within(path), 5).unwrap();
    }
    files
}

#[test]
fn lists_have_each_folder_before_what_is_in_it() {
    let files = filled();
    let found = list(&files, None).unwrap();
    let expected = [
        "a", "a/2", "a/loop", "a/x", "a/x/1", "a.txt", "b", "b.txt", "blobs", "dangling", "near",
        "skill",
    ];
    assert_eq!(paths(&found), expected);
    assert!(!found.has_more && found.unlisted == 0);
    let of = |path: &str| found.files.iter().find(|file| file.path == path).unwrap();
    assert_eq!((of("a").kind, of("a").size), (FileKind::Folder, 0));
    assert_eq!((of("b.txt").kind, of("b.txt").size, of("b.txt").modified), (FileKind::File, 5, 9));
    assert_eq!((of("near").kind, of("near").size), (FileKind::Link, 3));
    assert_eq!(paths(&list(&files, Some("a/x")).unwrap()), ["a/x/1"]);
    assert_eq!(paths(&list(&files, Some("near")).unwrap()), ["near/1"], "a link within");
}

#[test]
fn pages_follow_each_other_without_gaps() {
    let files = filled();
    let whole = list(&files, None).unwrap();
    for count in 1..=whole.files.len() {
        let (mut all, mut after): (Vec<_>, Option<String>) = (Vec::new(), None);
        loop {
            let bounds = ListBounds { count, ..ALL };
            let page = files.files_below(None, after.as_deref(), bounds).unwrap();
            assert!(page.files.len() <= count);
            after = page.files.last().map(|file| file.path.clone());
            all.extend(page.files);
            if !page.has_more {
                break;
            }
        }
        assert_eq!(all, whole.files, "{count}");
    }
    let gone = files.files_below(None, Some("a/9"), ALL).unwrap();
    assert_eq!(paths(&gone)[..2], ["a/loop", "a/x"], "the path after which it goes on is gone");
    let short = files.files_below(None, None, ListBounds { path: 3, ..ALL }).unwrap();
    assert_eq!((paths(&short), short.unlisted), (vec!["a", "a/2", "a/x", "b"], 8));
    let few = files.files_below(None, None, ListBounds { paths: 4, ..ALL }).unwrap();
    assert_eq!((paths(&few), few.has_more), (vec!["a", "a/2"], true));
}

#[test]
fn workspace_only_is_read_and_changed() {
    let mut files = filled();
    let open = |files: &FileSystem, path: &str| files.open_own(path).map(|(file, _)| file.size);
    assert_eq!(open(&files, "b"), Ok(5));
    assert_eq!(open(&files, "a/loop"), Err(Errno::NotFound), "`a/b` does not exist");
    assert_eq!(open(&files, "near/1"), Ok(5));
    assert_eq!(open(&files, "a"), Err(Errno::IsFolder));
    assert_eq!(open(&files, "a.txt/b"), Err(Errno::NotFolder));
    assert_eq!(open(&files, "blob:abc"), Err(Errno::ReadOnly), "programs find the blob here");
    for path in ["skill", "blobs/blob:abc"] {
        assert_eq!(open(&files, path), Err(Errno::ReadOnly), "{path}");
        assert_eq!(files.put_file(path, b"x", 9), Err(Errno::ReadOnly), "{path}");
    }
    assert_eq!(list(&files, Some("blobs")).unwrap_err(), Errno::ReadOnly);
    assert_eq!(files.put_file("blobs/new/x", b"x", 9), Err(Errno::ReadOnly));
    assert_eq!(files.remove_own("blobs/blob:abc", 9), Err(Errno::ReadOnly));
    assert_eq!(files.remove_own("skill", 9), Ok(()), "the link, not what it leads to");
    assert_eq!(read(&files, "/skills/acme.report/SKILL.md").unwrap(), b"# Report");
}

#[test]
fn a_file_is_made_or_replaced() {
    let mut files = files();
    assert_eq!(files.put_file("deep/er/file", b"one", 7), Ok(false));
    assert_eq!(files.put_file("deep/er/file", b"second", 8), Ok(true));
    assert_eq!(read(&files, "/tmp/deep/er/file").unwrap(), b"second");
    let (used, entries) = files.workspace_usage();
    assert_eq!(files.put_file("deep/er/file", b"", 9), Ok(true));
    assert_eq!(read(&files, "/workspace/deep/er/file").unwrap(), b"");
    assert!(files.workspace_usage().0 < used && files.workspace_usage().1 == entries);
    assert_eq!(files.put_file("deep", b"x", 9), Err(Errno::IsFolder));
    assert_eq!(files.put_file("deep/er/file/x", b"x", 9), Err(Errno::NotFolder));
    let stat = files.stat(at("/workspace/deep/er/file"), LastLink::Keep).unwrap();
    assert_eq!((stat.times.modified, stat.links), (9, 1));
}

#[test]
fn what_cannot_be_put_is_seen_before_anything_is_changed() {
    let mut files = filled();
    files.make_link("none/x", within("far"), 5).unwrap();
    let before = (files.workspace_usage(), list(&files, None).unwrap());
    let deep = format!("{}x", "d/".repeat(crate::vfs::limits::MAX_DEPTH));
    for (path, expected) in [
        ("b.txt", Ok(())),
        ("new", Ok(())),
        ("new/er/file", Ok(())),
        ("dangling", Ok(())),
        ("a", Err(Errno::IsFolder)),
        ("a.txt/x", Err(Errno::NotFolder)),
        ("skill", Err(Errno::ReadOnly)),
        ("blobs/new/x", Err(Errno::ReadOnly)),
        ("far", Err(Errno::NotFound)),
        ("far/x", Err(Errno::NotFound)),
        (deep.as_str(), Err(Errno::NameTooLong)),
    ] {
        assert_eq!(files.check_put(path, 3), expected, "{path:.40}");
        assert_eq!((files.workspace_usage(), list(&files, None).unwrap()), before, "{path:.40}");
        if expected.is_err() {
            assert_eq!(files.put_file(path, b"abc", 9).err(), expected.err(), "{path:.40}");
        }
    }
    for (path, leads_to_nothing) in
        [("far", true), ("far/x", true), ("dangling", true), ("b", false), ("new", false)]
    {
        assert_eq!(files.leads_to_nothing(path), leads_to_nothing, "{path}");
    }
    let workspace = wardian_vocabulary::units::ByteCount::kibibytes(64);
    let mut small = limited(SetupLimits { workspace, ..SetupLimits::DEFAULT });
    small.put_file("a", &[7; 40_000], 9).unwrap();
    assert_eq!(small.check_put("b", 40_000), Err(Errno::NoSpace));
    assert_eq!(small.check_put("a", 60_000), Ok(()), "what is replaced makes room");
}

#[test]
fn files_and_empty_folders_are_removed() {
    let mut files = filled();
    let before = files.workspace_usage();
    files.put_file("new/folder/file", b"content", 9).unwrap();
    assert_eq!(files.remove_own("new", 9), Err(Errno::NotEmpty));
    for path in ["new/folder/file", "new/folder", "new"] {
        assert_eq!(files.remove_own(path, 9), Ok(()), "{path}");
    }
    assert_eq!(files.workspace_usage(), before, "nothing is left of them");
    for path in ["new", "a/none", "none/a"] {
        assert_eq!(files.remove_own(path, 9), Err(Errno::NotFound), "{path}");
    }
}

#[test]
fn the_quota_holds_for_the_host_too() {
    let workspace = wardian_vocabulary::units::ByteCount::kibibytes(64);
    let mut files =
        limited(SetupLimits { workspace, workspace_entries: 3, ..SetupLimits::DEFAULT });
    assert_eq!(files.put_file("large", &[7; 70_000], 9), Err(Errno::NoSpace));
    files.remove_own("large", 9).unwrap();
    assert_eq!(files.workspace_usage(), (0, 0));
    assert_eq!(files.put_file("a/b/c", b"x", 9), Ok(false));
    assert_eq!(files.put_file("d", b"x", 9), Err(Errno::NoSpace), "there are three entries");
}
