//! Promises of the file system that Linux knows nothing of: mounts, quotas, limits, images.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::content::{Content, FileContent};
use super::immutable::ImmutableTree;
use super::quota::ENTRY_COST;
use super::*;
use crate::units::ByteCount;

/// Descriptor of `/`.
const SLASH: Fd = 3;

/// Descriptor of `/workspace`.
const WORKSPACE: Fd = 4;

const ZIP: &str = "/usr/local/lib/python315.zip";
const FONTS: &str = "/usr/local/lib/python315.zip/matplotlib/mpl-data";
const BLOB: &str = "/blobs/blob:abc";

fn bytes(text: &str) -> Arc<dyn Content> {
    Arc::new(SharedBytes::new(text.as_bytes().to_vec()))
}

fn mounts() -> Vec<Mount> {
    let skill = [("SKILL.md", bytes("# Report")), ("code/main.py", bytes("def main(args): ..."))];
    let fonts = [("fonts/a.ttf", bytes("glyphs"))];
    vec![
        Mount::file(ZIP, bytes("PK")),
        Mount::tree(FONTS, Arc::new(ImmutableTree::from_files(fonts).unwrap())),
        Mount::tree("/skills/acme.report", Arc::new(ImmutableTree::from_files(skill).unwrap())),
        Mount::file(BLOB, bytes("a,b\n1,2\n")),
    ]
}

fn files() -> FileSystem {
    limited(RunLimits::DEFAULT)
}

fn limited(limits: RunLimits) -> FileSystem {
    FileSystem::for_run(&limits, &mounts(), 1).unwrap()
}

/// A path from the root.
fn at(path: &str) -> At<'_> {
    At { folder: SLASH, path }
}

/// A path from the workspace.
fn within(path: &str) -> At<'_> {
    At { folder: WORKSPACE, path }
}

const WRITE: OpenHow = OpenHow { access: Access { read: true, write: true }, ..OpenHow::REPLACE };

fn write(files: &mut FileSystem, path: &str, content: &[u8]) -> Result<usize, Errno> {
    let fd = files.open(at(path), OpenHow::REPLACE, 2)?;
    let written = files.write(fd, content, 3);
    files.close(fd)?;
    written
}

fn read(files: &FileSystem, path: &str) -> Result<Vec<u8>, Errno> {
    files.read_file(path, 1 << 20).map(|bytes| bytes.as_slice().to_vec())
}

/// Names in a folder, read in pieces of `step` entries.
fn names_in_steps(files: &mut FileSystem, path: &str, step: usize) -> Vec<String> {
    let fd = files.open(at(path), OpenHow::READ, 0).unwrap();
    let (mut names, mut last) = (Vec::new(), 0);
    loop {
        let (before, cookie) = (names.len(), last);
        let show = |entry: ListedEntry<'_>| {
            if names.len() == before + step {
                return ControlFlow::Break(());
            }
            names.push(entry.name.to_owned());
            last = entry.next_cookie;
            ControlFlow::Continue(())
        };
        files.list(fd, cookie, show).unwrap();
        if names.len() == before {
            files.close(fd).unwrap();
            return names;
        }
    }
}

fn names(files: &mut FileSystem, path: &str) -> Vec<String> {
    names_in_steps(files, path, usize::MAX / 2).split_off(2)
}

#[test]
fn the_root_shows_exactly_what_guests_may_know() {
    let mut files = files();
    assert_eq!(names(&mut files, "/"), ["blobs", "skills", "tmp", "usr", "workspace"]);
    assert_eq!(names(&mut files, "/blobs"), ["blob:abc"]);
    assert_eq!(names(&mut files, "/skills/acme.report"), ["SKILL.md", "code"]);
    assert_eq!(names(&mut files, "/usr/local/lib"), ["python315.zip"]);
    let mut empty = FileSystem::for_run(&RunLimits::DEFAULT, &[], 0).unwrap();
    assert_eq!(names(&mut empty, "/"), ["blobs", "skills", "tmp", "workspace"]);
}

#[test]
fn no_outside_is_ever_reached() {
    let mut files = files();
    files.make_link("../../../../../../etc/passwd", at("/workspace/up"), 0).unwrap();
    files.make_link("/etc/passwd", at("/workspace/absolute"), 0).unwrap();
    for path in [
        "/etc/passwd",
        "/proc/self/environ",
        "../../etc/passwd",
        "/workspace/../../etc/passwd",
        "/skills/acme.report/../../../etc/shadow",
        "//etc/passwd",
        "/workspace/up",
        "/workspace/absolute",
    ] {
        assert_eq!(files.open(at(path), OpenHow::READ, 0), Err(Errno::NotFound), "{path}");
        assert_eq!(read(&files, path), Err(Errno::NotFound), "{path}");
    }
    let root = files.stat(at("/"), LastLink::Follow).unwrap();
    for path in
        ["..", "/..", "/../../..", "/workspace/../..", "/skills/acme.report/code/../../../.."]
    {
        assert_eq!(files.stat(at(path), LastLink::Follow), Ok(root), "{path}");
    }
}

#[test]
fn read_only_mounts_refuse_every_change() {
    let mut files = files();
    write(&mut files, "/workspace/mine", b"x").unwrap();
    let append = OpenHow { appends: true, create: false, truncate: false, ..OpenHow::REPLACE };
    let truncate = OpenHow { truncate: true, ..OpenHow::READ };
    for file in [BLOB, ZIP, "/skills/acme.report/SKILL.md", "/skills/acme.report/code/main.py"] {
        let before = (read(&files, file).unwrap(), files.stat(at(file), LastLink::Follow));
        for how in [OpenHow::REPLACE, append, truncate] {
            assert_eq!(files.open(at(file), how, 0), Err(Errno::ReadOnly), "{file} {how:?}");
        }
        assert_eq!(files.remove_file(at(file), 0), Err(Errno::ReadOnly));
        let times = SetTimes { accessed: Some(1), modified: Some(1) };
        assert_eq!(files.set_times(at(file), LastLink::Follow, times, 0), Err(Errno::ReadOnly));
        let (out, other) = (at("/workspace/out"), at("/blobs/other"));
        assert_eq!(files.rename(at(file), out, 0), Err(Errno::CrossDevice));
        assert_eq!(files.rename(at(file), other, 0), Err(Errno::ReadOnly));
        assert_eq!(files.rename(at("/workspace/mine"), at(file), 0), Err(Errno::CrossDevice));
        assert_eq!(files.add_name(at(file), LastLink::Follow, out, 0), Err(Errno::CrossDevice));
        assert_eq!(files.add_name(at(file), LastLink::Follow, other, 0), Err(Errno::ReadOnly));
        let fd = files.open(at(file), OpenHow::READ, 0).unwrap();
        assert_eq!(files.write(fd, b"x", 0), Err(Errno::BadDescriptor));
        assert_eq!(files.write_at(fd, b"x", 0, 0), Err(Errno::BadDescriptor));
        assert_eq!(files.set_size(fd, 0, 0), Err(Errno::Invalid));
        assert_eq!(files.set_times_open(fd, times, 0), Err(Errno::ReadOnly));
        files.close(fd).unwrap();
        assert_eq!((read(&files, file).unwrap(), files.stat(at(file), LastLink::Follow)), before);
    }
    for folder in
        ["/", "/blobs", "/skills", "/skills/acme.report", "/skills/acme.report/code", "/usr"]
    {
        let new = format!("{folder}/new");
        assert_eq!(files.make_folder(at(&new), 0), Err(Errno::ReadOnly), "{folder}");
        assert_eq!(files.make_link("x", at(&new), 0), Err(Errno::ReadOnly));
        assert_eq!(files.open(at(&new), WRITE, 0), Err(Errno::ReadOnly));
        let moved = files.rename(at("/workspace/mine"), at(&new), 0);
        assert_eq!(moved, Err(Errno::CrossDevice));
    }
    for folder in ["/workspace", "/tmp", "/skills", "/skills/acme.report", "/usr/local"] {
        assert_eq!(files.remove_folder(at(folder), 0), Err(Errno::ReadOnly), "{folder}");
        let out = at("/workspace/out");
        assert_eq!(files.rename(at(folder), out, 0), Err(Errno::CrossDevice), "{folder}");
    }
}

#[test]
fn tmp_and_workspace_are_one_folder() {
    let mut files = files();
    write(&mut files, "/tmp/a", b"one").unwrap();
    assert_eq!(read(&files, "/workspace/a").unwrap(), b"one");
    files.rename(at("/workspace/a"), at("/tmp/b"), 0).unwrap();
    assert_eq!(names(&mut files, "/tmp"), ["b"]);
    let (tmp, workspace) = (at("/tmp"), at("/workspace"));
    let stat = |at| files.stat(at, LastLink::Follow).unwrap();
    assert_eq!(stat(tmp), stat(workspace));
}

#[test]
fn a_relative_path_of_the_host_starts_in_the_workspace() {
    let mut files = files();
    write(&mut files, "/workspace/out.csv", b"1").unwrap();
    files.make_link("out.csv", at("/workspace/link"), 0).unwrap();
    assert_eq!(read(&files, "out.csv").unwrap(), b"1");
    assert_eq!(read(&files, "link").unwrap(), b"1");
    assert_eq!(read(&files, "../blobs/blob:abc").unwrap(), b"a,b\n1,2\n");
    assert_eq!(files.read_file("out.csv", 0).unwrap_err(), Errno::FileTooBig);
    assert_eq!(files.read_file(BLOB, 7).unwrap_err(), Errno::FileTooBig);
    assert_eq!(files.read_file("/workspace", 9).unwrap_err(), Errno::IsFolder);
    assert_eq!(files.read_file("/skills/acme.report", 9).unwrap_err(), Errno::IsFolder);
}

#[test]
fn a_mount_that_lies_in_memory_is_shared_and_one_in_a_file_is_read() {
    let content: Arc<dyn Content> = Arc::new(SharedBytes::new(b"shared".to_vec()));
    let mut host = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut host, b"from a file").unwrap();
    let mounts = [
        Mount::file("/blobs/one", Arc::clone(&content)),
        Mount::file("/blobs/two", Arc::new(FileContent::new(host).unwrap())),
    ];
    let mut files = FileSystem::for_run(&RunLimits::DEFAULT, &mounts, 0).unwrap();
    let shared = files.read_file("/blobs/one", 100).unwrap();
    let original = content.shared().unwrap();
    assert!(std::ptr::eq(shared.as_slice(), original.as_slice()));
    assert_eq!(read(&files, "/blobs/two").unwrap(), b"from a file");
    let fd = files.open(at("/blobs/two"), OpenHow::READ, 0).unwrap();
    assert_eq!(files.seek(fd, -4, Whence::End), Ok(7));
    let mut buffer = [0; 10];
    assert_eq!((files.read(fd, &mut buffer), &buffer[..4]), (Ok(4), &b"file"[..]));
    assert_eq!(files.read(fd, &mut buffer), Ok(0));
}

#[test]
fn a_blob_can_appear_during_a_run() {
    let mut files = files();
    let fd = files.open(at("/blobs"), OpenHow::READ, 0).unwrap();
    files.mount(&Mount::file("/blobs/blob:new", bytes("fresh"))).unwrap();
    assert_eq!(read(&files, "/blobs/blob:new").unwrap(), b"fresh");
    assert_eq!(names(&mut files, "/blobs"), ["blob:abc", "blob:new"]);
    files.close(fd).unwrap();
    let again = files.mount(&Mount::file(BLOB, bytes("other")));
    assert_eq!(again, Err(MountError::Taken(BLOB.to_owned())));
}

#[test]
fn a_tree_below_a_file_is_found_by_its_full_path_only() {
    let mut files = files();
    let fonts = (0..).find(|&fd| files.preopened_path(fd) == Ok(FONTS)).unwrap();
    let font = At { folder: fonts, path: "fonts/a.ttf" };
    assert!(files.open(font, OpenHow::READ, 0).is_ok());
    assert_eq!(read(&files, &format!("{FONTS}/fonts/a.ttf")).unwrap(), b"glyphs");
    files.make_link(FONTS, at("/workspace/data"), 0).unwrap();
    assert_eq!(read(&files, "/workspace/data/fonts/a.ttf").unwrap(), b"glyphs");
    let folder = format!("{ZIP}/matplotlib");
    assert_eq!(files.stat(at(&folder), LastLink::Follow), Err(Errno::NotFolder));
    assert_eq!(read(&files, &format!("{FONTS}-more")), Err(Errno::NotFolder));
    let stat = |path| files.stat(At { folder: fonts, path }, LastLink::Follow);
    assert_eq!(stat(".."), stat("."), "its root has no parent");
}

#[test]
fn preopened_folders_come_first_and_end_with_a_gap() {
    let files = files();
    let paths: Vec<&str> = (3..).map_while(|fd| files.preopened_path(fd).ok()).collect();
    assert_eq!(paths, ["/", "/workspace", "/tmp", FONTS]);
    for fd in [0, 1, 2, 7, u32::MAX] {
        assert_eq!(files.preopened_path(fd), Err(Errno::BadDescriptor), "{fd}");
    }
}

#[test]
fn mounts_that_are_in_the_way_of_each_other_are_refused() {
    let tree = || Arc::new(ImmutableTree::from_files([("a", bytes(""))]).unwrap());
    for path in ["", "x", "/", "/a//b", "/a/../b", "/a/", "/./a", "/a\0"] {
        let mount = Mount::tree(path, tree());
        let made = FileSystem::for_run(&RunLimits::DEFAULT, &[mount], 0);
        assert_eq!(made.unwrap_err(), MountError::Path(path.to_owned()));
    }
    for path in ["/workspace", "/tmp/x", "/skills", "/skills/acme.report/x", BLOB] {
        let mounts = [mounts(), vec![Mount::tree(path, tree())]].concat();
        let made = FileSystem::for_run(&RunLimits::DEFAULT, &mounts, 0);
        let detached = path == BLOB;
        assert_eq!(made.unwrap_err(), MountError::Taken(path.to_owned()), "{detached}");
    }
}

#[test]
fn charged_memory_ends_writing_at_the_quota_and_not_before() {
    let limits = RunLimits { workspace: ByteCount::mebibytes(1), ..RunLimits::DEFAULT };
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
    let max = RunLimits::DEFAULT.workspace.as_u64();
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
    let limits = RunLimits { workspace_entries: 10, ..RunLimits::DEFAULT };
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
    let limits = RunLimits { workspace: ByteCount::kibibytes(8), ..RunLimits::DEFAULT };
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
    let limits = RunLimits { open_files: 4, ..RunLimits::DEFAULT };
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
fn listings_survive_whatever_happens_to_the_folder() {
    let mut files = files();
    for number in 0..100 {
        write(&mut files, &format!("/workspace/{number:03}"), b"").unwrap();
    }
    let fd = files.open(at("/workspace"), OpenHow::READ, 0).unwrap();
    let (mut seen, mut cookie) = (Vec::new(), 0);
    loop {
        let mut batch = Vec::new();
        let show = |entry: ListedEntry<'_>| {
            if batch.len() == 7 {
                return ControlFlow::Break(());
            }
            batch.push((entry.name.to_owned(), entry.next_cookie));
            ControlFlow::Continue(())
        };
        files.list(fd, cookie, show).unwrap();
        let Some((_, last)) = batch.last() else { break };
        cookie = *last;
        // Remove all that was just shown, and add names before and after it.
        for (name, _) in &batch {
            if !name.starts_with('.') {
                files.remove_file(at(&format!("/workspace/{name}")), 0).unwrap();
                write(&mut files, &format!("/workspace/!{name}"), b"").unwrap();
            }
        }
        seen.extend(batch.into_iter().map(|(name, _)| name));
    }
    let expected: Vec<String> = (0..100).map(|number| format!("{number:03}")).collect();
    assert_eq!(seen[2..], expected);
}

#[test]
fn a_listing_goes_on_from_any_cookie_of_an_entry_that_is_there() {
    let mut files = files();
    for name in ["a", "b", "c", "d"] {
        write(&mut files, &format!("/workspace/{name}"), b"").unwrap();
    }
    for path in ["/workspace", "/skills/acme.report", "/"] {
        let fd = files.open(at(path), OpenHow::READ, 0).unwrap();
        let mut all = Vec::new();
        let collect = |entry: ListedEntry<'_>| {
            all.push((entry.name.to_owned(), entry.next_cookie));
            ControlFlow::Continue(())
        };
        files.list(fd, 0, collect).unwrap();
        for (index, (_, cookie)) in all.iter().enumerate().rev() {
            let mut next = None;
            let first = |entry: ListedEntry<'_>| {
                next = Some(entry.name.to_owned());
                ControlFlow::Break(())
            };
            files.list(fd, *cookie, first).unwrap();
            assert_eq!(next.as_ref(), all.get(index + 1).map(|(name, _)| name), "{path}");
        }
        assert_eq!(files.list(fd, u64::MAX, |_| ControlFlow::Break(())), Ok(()));
        assert_eq!(names_in_steps(&mut files, path, 1).len(), all.len());
    }
}

#[test]
fn listing_a_folder_takes_time_in_proportion_to_its_size() {
    let mut files = files();
    for number in 0..9_000 {
        write(&mut files, &format!("/workspace/{number}"), b"").unwrap();
    }
    let start = Instant::now();
    assert_eq!(names_in_steps(&mut files, "/workspace", 100).len(), 9_002);
    assert_eq!(names_in_steps(&mut files, "/workspace", 1).len(), 9_002);
    // A quadratic listing in steps of one would look at 40 million entries.
    assert!(start.elapsed() < Duration::from_millis(500), "took {:?}", start.elapsed());
}

#[test]
fn flat_drop_of_the_deepest_and_fullest_workspace() {
    let mut files = files();
    let mut folder = WORKSPACE;
    for _ in 0..MAX_DEPTH - 1 {
        files.make_folder(At { folder, path: "d" }, 0).unwrap();
        let below = files.open(At { folder, path: "d" }, OpenHow::READ, 0).unwrap();
        if folder != WORKSPACE {
            files.close(folder).unwrap();
        }
        folder = below;
    }
    let too_deep = files.make_folder(At { folder, path: "d" }, 0);
    assert_eq!(too_deep, Err(Errno::NameTooLong));
    for number in 0..9_000 {
        files.make_link("target", At { folder, path: &number.to_string() }, 0).unwrap();
    }
    let start = Instant::now();
    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(move || drop(files))
        .unwrap()
        .join()
        .unwrap();
    assert!(start.elapsed() < Duration::from_millis(200), "took {:?}", start.elapsed());
}

#[test]
fn folders_cannot_be_moved_beyond_the_deepest_level() {
    let mut files = files();
    let deep = "d/".repeat(200);
    let mut folder = WORKSPACE;
    for _ in 0..200 {
        files.make_folder(At { folder, path: "d" }, 0).unwrap();
        folder = files.open(At { folder, path: "d" }, OpenHow::READ, 0).unwrap();
    }
    files.make_folder(at("/workspace/tower"), 0).unwrap();
    let tower = files.open(at("/workspace/tower"), OpenHow::READ, 0).unwrap();
    files.make_folder(At { folder: tower, path: "t/" }, 0).unwrap();
    let mut path = "t".to_owned();
    for _ in 0..53 {
        path.push_str("/t");
        files.make_folder(At { folder: tower, path: &path }, 0).unwrap();
    }
    let (from, to) = (at("/workspace/tower"), format!("/workspace/{deep}tower"));
    assert_eq!(files.rename(from, at(&to), 0), Ok(()), "255 levels fit");
    files.rename(at(&to), from, 0).unwrap();
    path.push_str("/t/");
    files.make_folder(At { folder: tower, path: &path }, 0).unwrap();
    assert_eq!(files.rename(from, at(&to), 0), Err(Errno::NameTooLong));
}

#[test]
fn names_paths_and_links_end_at_the_limits_of_linux() {
    let mut files = files();
    let longest = "n".repeat(MAX_NAME);
    assert_eq!(files.make_folder(at(&format!("/workspace/{longest}")), 0), Ok(()));
    let too_long = files.make_folder(at(&format!("/workspace/{longest}n")), 0);
    assert_eq!(too_long, Err(Errno::NameTooLong));

    let path = format!("/workspace/{}", "./".repeat((MAX_PATH - 12) / 2));
    assert_eq!(path.len(), MAX_PATH - 1);
    assert!(files.stat(at(&path), LastLink::Follow).is_ok());
    let stat = files.stat(at(&format!("{path}.")), LastLink::Follow);
    assert_eq!(stat, Err(Errno::NameTooLong));
    let link = files.make_link(&"t".repeat(MAX_PATH), at("/workspace/link"), 0);
    assert_eq!(link, Err(Errno::NameTooLong));

    write(&mut files, "/workspace/0", b"end").unwrap();
    for number in 0..=MAX_LINKS {
        let link = format!("/workspace/{}", number + 1);
        files.make_link(&number.to_string(), at(&link), 0).unwrap();
    }
    assert_eq!(read(&files, &MAX_LINKS.to_string()).unwrap(), b"end");
    assert_eq!(read(&files, &(MAX_LINKS + 1).to_string()), Err(Errno::LinkLoop));
    files.make_link("self", at("/workspace/self"), 0).unwrap();
    assert_eq!(read(&files, "self"), Err(Errno::LinkLoop));
    assert_eq!(read(&files, "a\0b"), Err(Errno::Invalid));
    assert_eq!(read(&files, ""), Err(Errno::NotFound));
}

#[test]
fn links_lead_into_mounts_but_change_nothing_there() {
    let mut files = files();
    files.make_link("/skills/acme.report", at("/workspace/skill"), 0).unwrap();
    assert_eq!(read(&files, "skill/SKILL.md").unwrap(), b"# Report");
    let opened = files.open(at("/workspace/skill/SKILL.md"), OpenHow::REPLACE, 0);
    assert_eq!(opened, Err(Errno::ReadOnly));
    assert_eq!(files.make_folder(at("/workspace/skill/new"), 0), Err(Errno::ReadOnly));
    files.rename(at("/workspace/skill"), at("/workspace/renamed"), 0).unwrap();
    files.remove_file(at("/workspace/renamed"), 0).unwrap();
    assert_eq!(read(&files, "/skills/acme.report/SKILL.md").unwrap(), b"# Report");
}

#[test]
fn times_are_those_of_the_run_and_of_no_host() {
    let mut files = files();
    let stat = |files: &FileSystem, path| files.stat(at(path), LastLink::Keep).unwrap().times;
    for path in ["/", "/skills", "/skills/acme.report/SKILL.md", BLOB, ZIP] {
        assert_eq!(stat(&files, path), Times::all(MOUNT_TIME), "{path}");
    }
    assert_eq!(stat(&files, "/workspace"), Times::all(1));
    let fd = files.open(at("/workspace/a"), WRITE, 10).unwrap();
    assert_eq!(stat(&files, "/workspace").modified, 10);
    files.write(fd, b"x", 20).unwrap();
    assert_eq!(stat(&files, "/workspace/a"), Times { accessed: 10, modified: 20, changed: 20 });
    files.read_at(fd, &mut [0], 0).unwrap();
    let times = SetTimes { accessed: Some(5), modified: None };
    files.set_times(at("/workspace/a"), LastLink::Follow, times, 30).unwrap();
    assert_eq!(stat(&files, "/workspace/a"), Times { accessed: 5, modified: 20, changed: 30 });
}

#[test]
fn every_file_has_a_number_of_its_own() {
    let mut files = files();
    write(&mut files, "/workspace/a", b"").unwrap();
    files.add_name(at("/workspace/a"), LastLink::Follow, at("/workspace/b"), 0).unwrap();
    let mut numbers = std::collections::BTreeMap::new();
    for path in [
        "/",
        "/blobs",
        BLOB,
        "/skills",
        "/skills/acme.report",
        "/skills/acme.report/SKILL.md",
        "/skills/acme.report/code",
        ZIP,
        FONTS,
        "/usr",
        "/workspace",
        "/workspace/a",
    ] {
        let stat = files.stat(at(path), LastLink::Follow).unwrap();
        assert!(stat.inode > 0);
        assert_eq!(numbers.insert((stat.device, stat.inode), path), None, "{path}");
    }
    let (a, b) = (at("/workspace/a"), at("/workspace/b"));
    assert_eq!(files.stat(a, LastLink::Keep), files.stat(b, LastLink::Keep));
    assert_eq!(files.stat(a, LastLink::Keep).unwrap().links, 2);
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

#[test]
fn an_image_carries_what_it_has_open_on_mounts() {
    let mut image = files();
    let font = format!("{FONTS}/fonts/a.ttf");
    let fds: Vec<Fd> = [&font, ZIP, "/skills/acme.report/code", ZIP]
        .iter()
        .map(|path| image.open(at(path), OpenHow::READ, 0).unwrap())
        .collect();
    image.seek(fds[0], 3, Whence::Start).unwrap();
    image.close(fds[1]).unwrap();
    let carried = image.image_descriptors().unwrap();
    assert_eq!(carried.open.len(), 3);
    let text = serde_json::to_string(&carried).unwrap();

    let mut run = limited(RunLimits { open_files: 1, ..RunLimits::DEFAULT });
    run.restore_descriptors(&serde_json::from_str(&text).unwrap()).unwrap();
    let mut buffer = [0; 9];
    assert_eq!((run.read(fds[0], &mut buffer), &buffer[..3]), (Ok(3), &b"phs"[..]));
    assert_eq!(run.read(fds[3], &mut buffer), Ok(2));
    let main = run.stat(At { folder: fds[2], path: "main.py" }, LastLink::Keep);
    assert_eq!(main.unwrap().kind, FileKind::File);
    assert_eq!(run.tell(fds[1]), Err(Errno::BadDescriptor));
    assert_eq!(run.open(at(BLOB), OpenHow::READ, 0), Ok(fds[1]), "its own limit is untouched");
    assert_eq!(run.open(at(BLOB), OpenHow::READ, 0), Err(Errno::TooManyOpenFiles));
    assert_eq!(run.restore_descriptors(&carried), Err(Errno::Exists));
}

#[test]
fn an_image_cannot_carry_what_is_different_in_every_run() {
    for (path, how) in
        [("/workspace/log", WRITE), ("/workspace", OpenHow::READ), ("/", OpenHow::READ)]
    {
        let mut image = files();
        let fd = image.open(at(path), how, 0).unwrap();
        assert_eq!(image.image_descriptors().unwrap_err().fd, fd, "{path}");
        image.close(fd).unwrap();
        assert_eq!(image.image_descriptors().unwrap(), ImageDescriptors::default());
    }
    let missing = OpenDescriptor { fd: 9, path: "/blobs/gone".to_owned(), offset: 0 };
    let image = ImageDescriptors { open: vec![missing] };
    assert_eq!(files().restore_descriptors(&image), Err(Errno::NotFound));
    let absurd = OpenDescriptor { fd: u32::MAX, path: ZIP.to_owned(), offset: 0 };
    let image = ImageDescriptors { open: vec![absurd] };
    assert_eq!(files().restore_descriptors(&image), Err(Errno::TooManyOpenFiles));
}

#[test]
fn making_the_files_of_a_run_does_not_depend_on_the_size_of_its_mounts() {
    let many = (0..50_000).map(|number| (format!("folder{}/{number}", number % 100), bytes("")));
    let tree = Arc::new(ImmutableTree::from_files(many).unwrap());
    let mounts = [mounts(), vec![Mount::tree("/skills/huge", tree)]].concat();
    let start = Instant::now();
    for _ in 0..1000 {
        drop(FileSystem::for_run(&RunLimits::DEFAULT, &mounts, 0).unwrap());
    }
    assert!(start.elapsed() < Duration::from_millis(500), "took {:?} for 1000", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_path_or_an_error(
        texts in prop::collection::vec("[a/.\\PC\0]{0,12}", 1..20),
        ) {
        let mut files = files();
        let before = names(&mut files, "/");
        for pair in texts.windows(2) {
            let [one, two] = pair else { continue };
            let errors = [
                files.make_folder(within(one), 0).err(),
                files.make_link(one, within(two), 0).err(),
                files.add_name(within(one), LastLink::Follow, within(two), 0).err(),
                files.open(within(one), WRITE, 0).err(),
                files.rename(within(one), within(two), 0).err(),
                files.stat(within(two), LastLink::Keep).err(),
                files.read_link(within(two)).err(),
                files.remove_file(within(one), 0).err(),
                files.remove_folder(within(two), 0).err(),
                files.read_file(one, 1 << 20).err(),
            ];
            // That would be a node which nothing is known about.
            prop_assert!(!errors.contains(&Some(Errno::InputOutput)));
        }
        prop_assert_eq!(names(&mut files, "/"), before);
        prop_assert_eq!(read(&files, "/skills/acme.report/SKILL.md").unwrap(), b"# Report");
    }

    #[test]
    fn charged_memory_is_what_a_file_holds(
        changes in prop::collection::vec((0_usize..400_000, 0_usize..90_000, 0_u8..4), 1..40),
    ) {
        let limits = RunLimits { workspace: ByteCount::kibibytes(300), ..RunLimits::DEFAULT };
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

/// What the file that is open under `fd` really holds of memory.
fn allocated(files: &FileSystem, fd: Fd) -> u64 {
    let Ok(Descriptor::File(file)) = files.descriptors.find(fd) else { panic!("no file") };
    let descriptor::Source::Workspace(index) = file.source else { panic!("not in the workspace") };
    let NodeKind::File(storage) = &files.names.nodes.find(index).unwrap().kind else {
        panic!("no file")
    };
    storage.allocated()
}
