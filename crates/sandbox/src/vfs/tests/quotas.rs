//! Quotas of the workspace and of descriptors.

use std::ops::ControlFlow;

use proptest::prelude::*;

use crate::vfs::descriptor::{Descriptor, Source};
use crate::vfs::tests::{BLOB, WORKSPACE, WRITE, at, files, limited, read, write};
use crate::vfs::tree::node::NodeKind;
use crate::vfs::tree::quota::ENTRY_COST;
use crate::vfs::{At, Errno, Fd, FileSystem, LastLink, MAX_NAME, OpenHow, Whence};
use wardian_formats::job::SetupLimits;
use wardian_formats::job::outcome::Stream;
use wardian_vocabulary::units::ByteCount;

#[test]
fn charged_memory_ends_writing_at_the_quota_and_not_before() {
    let limits = SetupLimits { workspace: ByteCount::mebibytes(1), ..SetupLimits::DEFAULT };
    let mut files = limited(limits);
    let fd = files.open(at("/workspace/big"), WRITE, 0).unwrap();
    let piece = vec![7; 10_000];
    let mut total = 0;
    let errno = loop {
        match files.write(fd, &piece, 0) {
            Ok(written) => total += written,
            Err(errno) => break errno,
        }
    };
    assert_eq!(errno, Errno::NoSpace);
    assert!(total > (1 << 20) - 10_000, "only {total} bytes fit");
    assert_eq!(files.stat_open(fd).unwrap().size, total as u64);
    assert!(files.workspace_usage().0 <= 1 << 20);
    assert_eq!(write(&mut files, "/workspace/more", b"x"), Err(Errno::NoSpace));
    files.set_size(fd, 0, 0).unwrap();
    assert_eq!(write(&mut files, "/workspace/more", b"x"), Ok(1));
}

#[test]
fn charged_memory_of_an_open_file_outlives_its_name() {
    let mut files = files();
    let fd = files.open(at("/workspace/a"), WRITE, 0).unwrap();
    files.write(fd, &[1; 100_000], 0).unwrap();
    files.remove_file(at("/workspace/a"), 0).unwrap();
    assert!(files.workspace_usage().0 >= 100_000);
    let mut buffer = [0; 4];
    assert_eq!(files.read_at(fd, &mut buffer, 99_998), Ok(2));
    assert_eq!(files.stat_open(fd).unwrap().links, 0);
    files.close(fd).unwrap();
    assert_eq!(files.workspace_usage(), (0, 0));
    assert!(files.workspace_peak() >= 100_000);
}

#[test]
fn a_file_written_at_once_is_charged_for_what_it_needs() {
    let mut files = files();
    for len in [1, 100, 20_000, 65_536, 65_537, 100_000] {
        let before = files.workspace_usage().0;
        write(&mut files, &format!("/workspace/{len}"), &vec![1; len]).unwrap();
        let cost = files.workspace_usage().0 - before - ENTRY_COST;
        assert!(cost < len as u64 + 200, "{len} bytes cost {cost}");
    }
}

#[test]
fn holes_take_no_memory_and_end_at_the_quota() {
    let mut files = files();
    let fd = files.open(at("/workspace/sparse"), WRITE, 0).unwrap();
    let before = files.workspace_usage().0;
    let max = SetupLimits::DEFAULT.workspace.as_u64();
    for size in [max + 1, 1 << 42, i64::MAX as u64] {
        assert_eq!(files.set_size(fd, size, 0), Err(Errno::FileTooBig));
    }
    for size in [(i64::MAX as u64) + 1, u64::MAX] {
        assert_eq!(files.set_size(fd, size, 0), Err(Errno::Invalid));
    }
    files.set_size(fd, max, 0).unwrap();
    assert_eq!(files.workspace_usage().0, before);
    assert_eq!(files.write_at(fd, b"ab", max - 1, 0), Ok(1));
    assert_eq!(files.write_at(fd, b"ab", max, 0), Err(Errno::FileTooBig));
    assert!(files.workspace_usage().0 < before + (300 << 10), "a hole was filled");
    let mut buffer = [9; 3];
    assert_eq!(files.read_at(fd, &mut buffer, max - 3), Ok(3));
    assert_eq!(buffer, [0, 0, b'a']);
    assert_eq!(files.read_file("sparse", max - 1).unwrap_err(), Errno::FileTooBig);
}

#[test]
fn entries_end_at_their_limit() {
    let limits = SetupLimits { workspace_entries: 10, ..SetupLimits::DEFAULT };
    let mut files = limited(limits);
    for number in 0..3 {
        files.make_folder(at(&format!("/workspace/folder{number}")), 0).unwrap();
        files.make_link("x", at(&format!("/workspace/link{number}")), 0).unwrap();
        write(&mut files, &format!("/workspace/file{number}"), b"").unwrap();
    }
    let (again, other) = (at("/workspace/again"), at("/workspace/other"));
    files.add_name(at("/workspace/file0"), LastLink::Follow, again, 0).unwrap();
    assert_eq!(files.make_folder(other, 0), Err(Errno::NoSpace));
    assert_eq!(files.make_link("x", other, 0), Err(Errno::NoSpace));
    assert_eq!(files.open(other, WRITE, 0), Err(Errno::NoSpace));
    let more = files.add_name(at("/workspace/file0"), LastLink::Follow, other, 0);
    assert_eq!(more, Err(Errno::NoSpace));
    files.rename(again, at("/workspace/folder0/moved"), 0).unwrap();
    files.remove_file(at("/workspace/link0"), 0).unwrap();
    assert_eq!(files.make_folder(other, 0), Ok(()));
}

#[test]
fn entries_cost_bytes_too() {
    let limits = SetupLimits { workspace: ByteCount::kibibytes(8), ..SetupLimits::DEFAULT };
    let mut files = limited(limits);
    let made = (0..100)
        .take_while(|number| write(&mut files, &format!("/workspace/{number}"), b"").is_ok());
    assert_eq!(made.count(), 7);
    assert!(files.workspace_usage().0 >= 7 * ENTRY_COST);
    let longer = "n".repeat(MAX_NAME - 1);
    let renamed = (0..7).filter(|number| {
        let (from, to) = (format!("/workspace/{number}"), format!("/workspace/{number}{longer}"));
        files.rename(at(&from), at(&to), 0).is_ok()
    });
    assert!(renamed.count() < 7, "names were not charged");
}

#[test]
fn open_files_end_at_their_limit() {
    let limits = SetupLimits { open_files: 4, ..SetupLimits::DEFAULT };
    let mut files = limited(limits);
    let open: Vec<Fd> = (0..4).map(|_| files.open(at(BLOB), OpenHow::READ, 0).unwrap()).collect();
    assert_eq!(open, [7, 8, 9, 10]);
    assert_eq!(files.open(at(BLOB), OpenHow::READ, 0), Err(Errno::TooManyOpenFiles));
    assert_eq!(files.open(at("/workspace/x"), WRITE, 0), Err(Errno::TooManyOpenFiles));
    assert_eq!(read(&files, "/workspace/x"), Err(Errno::NotFound), "the refused file was made");
    files.close(8).unwrap();
    assert_eq!(files.open(at(BLOB), OpenHow::READ, 0), Ok(8));
    assert_eq!(files.close(99), Err(Errno::BadDescriptor));
}

#[test]
fn renumbering_closes_what_had_the_number() {
    let mut files = files();
    let gone = files.open(at("/workspace/gone"), WRITE, 0).unwrap();
    files.remove_file(at("/workspace/gone"), 0).unwrap();
    files.write(gone, &[0; 5000], 0).unwrap();
    let blob = files.open(at(BLOB), OpenHow::READ, 0).unwrap();
    files.renumber(blob, gone).unwrap();
    assert_eq!(files.workspace_usage(), (0, 0));
    assert_eq!(files.tell(blob), Err(Errno::BadDescriptor));
    let mut buffer = [0; 3];
    assert_eq!((files.read(gone, &mut buffer), &buffer), (Ok(3), b"a,b"));
    assert_eq!(files.renumber(gone, 99), Err(Errno::BadDescriptor));
    assert_eq!(files.renumber(99, gone), Err(Errno::BadDescriptor));
    assert_eq!(files.renumber(gone, WORKSPACE), Err(Errno::NotSupported));
    assert_eq!(files.renumber(gone, gone), Ok(()));
    files.renumber(gone, 1).unwrap();
    assert_eq!(files.output_stream(1), Ok(None), "stdout was redirected");
}

#[test]
fn streams_are_no_files() {
    let mut files = files();
    assert_eq!(files.read(0, &mut [0; 9]), Ok(0));
    assert_eq!(files.write(0, b"x", 0), Err(Errno::BadDescriptor));
    for (fd, stream) in [(1, Stream::Stdout), (2, Stream::Stderr)] {
        assert_eq!(files.output_stream(fd), Ok(Some(stream)));
        assert_eq!(files.read(fd, &mut [0]), Err(Errno::BadDescriptor));
        assert_eq!(files.seek(fd, 0, Whence::Current), Err(Errno::NotSeekable));
        assert_eq!(files.tell(fd), Err(Errno::NotSeekable));
        assert_eq!(files.set_size(fd, 0, 0), Err(Errno::Invalid));
        assert_eq!(files.list(fd, 0, |_| ControlFlow::Break(())), Err(Errno::NotFolder));
        assert_eq!(
            files.open(At { folder: fd, path: "x" }, OpenHow::READ, 0),
            Err(Errno::NotFolder)
        );
    }
    files.close(1).unwrap();
    assert_eq!(files.output_stream(1), Err(Errno::BadDescriptor));
    assert_eq!(files.open(at(BLOB), OpenHow::READ, 0), Ok(1), "the lowest free number");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn charged_memory_is_what_a_file_holds(
        changes in prop::collection::vec((0_usize..400_000, 0_usize..90_000, 0_u8..4), 1..40),
    ) {
        let limits = SetupLimits { workspace: ByteCount::kibibytes(300), ..SetupLimits::DEFAULT };
        let mut files = limited(limits);
        let fd = files.open(at("/workspace/f"), WRITE, 0).unwrap();
        let entry = files.workspace_usage().0;
        let mut model: Vec<u8> = Vec::new();
        for (number, (offset, len, kind)) in (1_u8..).zip(changes) {
            if kind == 0 {
                if files.set_size(fd, offset as u64, 0).is_ok() {
                    model.resize(offset, 0);
                }
            } else {
                let piece = vec![number; len];
                if let Ok(written) = files.write_at(fd, &piece, offset as u64, 0) {
                    let end = offset + written;
                    if written > 0 {
                        model.resize(model.len().max(end), 0);
                        model[offset..end].copy_from_slice(&piece[..written]);
                    }
                }
            }
            prop_assert!(files.workspace_usage().0 <= 300 << 10);
            prop_assert_eq!(files.stat_open(fd).unwrap().size, model.len() as u64);
            prop_assert_eq!(files.workspace_usage().0, entry + allocated(&files, fd));
        }
        let whole = files.read_file("f", 1 << 20).unwrap();
        prop_assert!(whole.as_slice() == model);
        let mut buffer = vec![1; model.len() + 10];
        let count = files.read_at(fd, &mut buffer, 0).unwrap();
        prop_assert!(buffer[..count] == model);
    }
}

/// The memory that the file open under `fd` really holds.
fn allocated(files: &FileSystem, fd: Fd) -> u64 {
    let Ok(Descriptor::File(file)) = files.descriptors.find(fd) else { panic!("no file") };
    let Source::Workspace(index) = file.source else { panic!("not in the workspace") };
    let NodeKind::File(storage) = &files.names.nodes.find(index).unwrap().kind else {
        panic!("no file")
    };
    storage.allocated()
}
