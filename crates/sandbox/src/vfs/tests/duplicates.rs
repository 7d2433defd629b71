//! Duplicates of descriptors, paths of open folders, and devices.

use crate::vfs::tests::{SLASH, WORKSPACE, at, files, limited, within};
use crate::vfs::{Errno, FileKind, LastLink, OpenHow, Whence};
use wardian_formats::job::SetupLimits;

#[test]
fn duplicates_share_one_position_and_keep_the_file_alive() {
    let mut files = files();
    let fd = files.open(within("f"), OpenHow::REPLACE, 0).unwrap();
    let copy = files.duplicate(fd, 0).unwrap();
    assert!(copy > fd);
    assert_eq!(files.write(fd, b"hello", 0), Ok(5));
    assert_eq!(files.write(copy, b"!", 0), Ok(1));
    assert_eq!(files.tell(fd), Ok(6));
    files.remove_file(within("f"), 0).unwrap();
    files.close(fd).unwrap();
    assert_eq!(files.stat_open(copy).unwrap().size, 6);
    let used = files.workspace_usage().0;
    files.close(copy).unwrap();
    assert!(files.workspace_usage().0 < used, "the last descriptor frees the file");
    assert_eq!(files.workspace_usage(), (0, 0));
}

#[test]
fn duplicates_count_as_open_files() {
    let mut files = limited(SetupLimits { open_files: 4, ..SetupLimits::DEFAULT });
    let fd = files.open(within("f"), OpenHow::REPLACE, 0).unwrap();
    for _ in 0..3 {
        files.duplicate(fd, 0).unwrap();
    }
    assert_eq!(files.duplicate(fd, 0), Err(Errno::TooManyOpenFiles));
    assert_eq!(files.duplicate_to(fd, 77), Err(Errno::TooManyOpenFiles));
    assert_eq!(files.duplicate_to(fd, fd), Ok(fd));
    files.close(fd).unwrap();
    assert_eq!(files.duplicate(fd, 0), Err(Errno::BadDescriptor));
}

#[test]
fn a_duplicate_gets_the_requested_number() {
    let mut files = files();
    let fd = files.open(within("f"), OpenHow::REPLACE, 0).unwrap();
    assert_eq!(files.duplicate(fd, 50), Ok(50));
    assert_eq!(files.duplicate(fd, 50), Ok(51));
    assert_eq!(files.duplicate_to(fd, 1), Ok(1), "standard output leads to the file now");
    files.write(1, b"x", 0).unwrap();
    assert_eq!(files.stat_open(fd).unwrap().size, 1);
    for preopened in [SLASH, WORKSPACE] {
        assert_eq!(files.duplicate_to(fd, preopened), Err(Errno::NotSupported));
    }
    for far in [u32::MAX, 1 << 20] {
        assert_eq!(files.duplicate_to(fd, far), Err(Errno::TooManyOpenFiles));
        assert_eq!(files.duplicate(fd, far), Err(Errno::TooManyOpenFiles));
    }
    assert_eq!(files.duplicate_to(99, fd), Err(Errno::BadDescriptor));
    assert!(files.tell(fd).is_ok(), "a failed duplication closes nothing");
}

#[test]
fn open_folders_know_their_paths() {
    let mut files = files();
    files.make_folder(within("a"), 0).unwrap();
    files.make_folder(within("a/b"), 0).unwrap();
    for path in ["/", "/workspace", "/workspace/a/b", "/blobs", "/skills/acme.report/code", "/dev"]
    {
        let fd = files.open(at(path), OpenHow::READ, 0).unwrap();
        assert_eq!(files.folder_path(fd).unwrap(), path);
    }
    let fd = files.open(at("/tmp/a"), OpenHow::READ, 0).unwrap();
    assert_eq!(files.folder_path(fd).unwrap(), "/workspace/a");
    let gone = files.open(within("a/b"), OpenHow::READ, 0).unwrap();
    files.remove_folder(within("a/b"), 0).unwrap();
    assert_eq!(files.folder_path(gone), Err(Errno::NotFound));
    assert_eq!(files.folder_path(1), Err(Errno::NotFolder));
    assert_eq!(files.folder_path(99), Err(Errno::BadDescriptor));
}

#[test]
fn devices_give_and_take_without_limit_and_cost_nothing() {
    let mut files = files();
    let mut read = |name: &str| {
        let fd = files.open(at(name), OpenHow::READ, 0).unwrap();
        let mut buffer = [7; 16];
        files.read(fd, &mut buffer).map(|count| (count, buffer))
    };
    assert_eq!(read("/dev/null"), Ok((0, [7; 16])));
    assert_eq!(read("/dev/zero"), Ok((16, [0; 16])));
    assert_eq!(read("/dev/stdin"), Ok((0, [7; 16])));
    for (name, taken) in [
        ("/dev/null", Ok(3)),
        ("/dev/zero", Ok(3)),
        ("/dev/urandom", Ok(3)),
        ("/dev/full", Err(Errno::NoSpace)),
    ] {
        let fd = files.open(at(name), OpenHow::REPLACE, 0).unwrap();
        assert_eq!(files.write(fd, b"abc", 0), taken, "{name}");
        assert_eq!(files.write_at(fd, b"abc", 9, 0), taken, "{name}");
        assert_eq!(files.seek(fd, 5, Whence::Start), Ok(0));
        assert_eq!(files.is_random(fd), Ok(name == "/dev/urandom"));
        assert_eq!(files.stat(at(name), LastLink::Follow).unwrap().kind, FileKind::Device);
        assert_eq!(files.remove_file(at(name), 0), Err(Errno::ReadOnly));
    }
    assert_eq!(files.open(at("/dev/new"), OpenHow::REPLACE, 0), Err(Errno::ReadOnly));
    assert_eq!(files.workspace_usage(), (0, 0));
}

#[test]
fn nonblocking_is_remembered_until_the_number_is_closed() {
    let mut files = files();
    let how = OpenHow { nonblocking: true, ..OpenHow::REPLACE };
    let fd = files.open(within("f"), how, 0).unwrap();
    assert!(files.descriptor_stat(fd).unwrap().nonblocking);
    let copy = files.duplicate(fd, 0).unwrap();
    assert!(files.descriptor_stat(copy).unwrap().nonblocking);
    files.set_nonblocking(fd, false).unwrap();
    assert!(!files.descriptor_stat(fd).unwrap().nonblocking);
    files.close(copy).unwrap();
    assert_eq!(files.set_nonblocking(copy, true), Err(Errno::BadDescriptor));
    let again = files.open(within("g"), OpenHow::REPLACE, 0).unwrap();
    assert_eq!(again, copy);
    assert!(!files.descriptor_stat(again).unwrap().nonblocking);
}
