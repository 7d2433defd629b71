//! Mounts of the host, and the open files of images in them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::vfs::tests::{
    BLOB, FONTS, WRITE, ZIP, at, bytes, files, limited, mounts, names, read, write,
};
use crate::vfs::tree::content::{Content, FileContent, SharedBytes};
use crate::vfs::tree::immutable::ImmutableTree;
use crate::vfs::{
    At, Errno, Fd, FileKind, FileSystem, ImageDescriptors, LastLink, MOUNT_TIME, Mount, MountError,
    OpenDescriptor, OpenHow, SetTimes, Times, Whence,
};
use wardian_formats::job::SetupLimits;

#[test]
fn the_root_lists_exactly_the_fixed_folders() {
    let mut files = files();
    assert_eq!(names(&mut files, "/"), ["blobs", "dev", "skills", "tmp", "usr", "workspace"]);
    assert_eq!(names(&mut files, "/blobs"), ["blob:abc"]);
    assert_eq!(names(&mut files, "/skills/acme.report"), ["SKILL.md", "code"]);
    assert_eq!(names(&mut files, "/usr/local/lib"), ["python315.zip"]);
    let mut empty = FileSystem::for_run(&SetupLimits::DEFAULT, &[], 0).unwrap();
    assert_eq!(names(&mut empty, "/"), ["blobs", "dev", "skills", "tmp", "workspace"]);
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
fn a_mount_that_lies_in_memory_is_shared_and_one_in_a_file_is_read() {
    let content: Arc<dyn Content> = Arc::new(SharedBytes::new(b"shared".to_vec()));
    let mut host = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut host, b"from a file").unwrap();
    let mounts = [
        Mount::file("/blobs/one", Arc::clone(&content)),
        Mount::file("/blobs/two", Arc::new(FileContent::new(host).unwrap())),
    ];
    let mut files = FileSystem::for_run(&SetupLimits::DEFAULT, &mounts, 0).unwrap();
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
        let made = FileSystem::for_run(&SetupLimits::DEFAULT, &[mount], 0);
        assert_eq!(made.unwrap_err(), MountError::Path(path.to_owned()));
    }
    for path in ["/workspace", "/tmp/x", "/skills", "/skills/acme.report/x", BLOB] {
        let mounts = [mounts(), vec![Mount::tree(path, tree())]].concat();
        let made = FileSystem::for_run(&SetupLimits::DEFAULT, &mounts, 0);
        let detached = path == BLOB;
        assert_eq!(made.unwrap_err(), MountError::Taken(path.to_owned()), "{detached}");
    }
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
fn making_the_files_of_a_run_does_not_depend_on_the_size_of_its_mounts() {
    let many = (0..50_000).map(|number| (format!("folder{}/{number}", number % 100), bytes("")));
    let tree = Arc::new(ImmutableTree::from_files(many).unwrap());
    let mounts = [mounts(), vec![Mount::tree("/skills/huge", tree)]].concat();
    let start = Instant::now();
    for _ in 0..1000 {
        drop(FileSystem::for_run(&SetupLimits::DEFAULT, &mounts, 0).unwrap());
    }
    assert!(start.elapsed() < Duration::from_millis(500), "took {:?} for 1000", start.elapsed());
}

#[test]
fn an_image_keeps_its_open_files_on_mounts() {
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

    let mut run = limited(SetupLimits { open_files: 1, ..SetupLimits::DEFAULT });
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
fn an_image_cannot_keep_open_files_that_differ_between_runs() {
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
