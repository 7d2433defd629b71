//! The guest's file system, driven by a script: one operation a line, its parts apart by spaces.
//!
//! No model of it is needed (`crates/sandbox/src/vfs/tests/reference.rs` compares it with Linux). What is
//! checked holds after any script: mounts are as they were, nothing was opened, shown or listed
//! that was not mounted or made, quotas hold, and all of them are given back.

#![no_main]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use wardian_formats::job::SetupLimits;
use wardian_sandbox::vfs::tree::content::{Content, SharedBytes};
use wardian_sandbox::vfs::tree::immutable::ImmutableTree;
use wardian_sandbox::vfs::{
    Access, At, Errno, Fd, FileKind, FileSystem, LastLink, Mount, OpenHow, Whence,
};
use wardian_vocabulary::units::ByteCount;

const ROOT: Fd = 3;
const WORKSPACE: Fd = 4;

/// First descriptor that a script can open: three streams, three folders, one mounted tree.
const FIRST: Fd = 7;

const LIMITS: SetupLimits = SetupLimits {
    workspace: ByteCount::kibibytes(64),
    workspace_entries: 40,
    open_files: 16,
    ..SetupLimits::DEFAULT
};

/// Every mounted file and what it holds. The workspace never holds these bytes by itself.
const MOUNTED: [(&str, &str); 5] = [
    ("/blobs/blob:a", "\u{1}blob"),
    ("/skills/a.b/SKILL.md", "\u{1}document"),
    ("/skills/a.b/code/main.py", "\u{1}code"),
    ("/usr/lib/python.zip", "\u{1}library"),
    ("/usr/lib/python.zip/data/font", "\u{1}font"),
];

/// All that is visible from the root, without what is below the workspace.
const VISIBLE: [&str; 12] = [
    "/blobs",
    "/blobs/blob:a",
    "/skills",
    "/skills/a.b",
    "/skills/a.b/SKILL.md",
    "/skills/a.b/code",
    "/skills/a.b/code/main.py",
    "/tmp",
    "/usr",
    "/usr/lib",
    "/usr/lib/python.zip",
    "/workspace",
];

const MAX_LINES: usize = 200;

fuzz_target!(|script: &[u8]| {
    let Ok(script) = std::str::from_utf8(script) else { return };
    let mut files = FileSystem::for_run(&LIMITS, &mounts(), 1).unwrap();
    for line in script.lines().take(MAX_LINES) {
        let words: Vec<&str> = line.split(' ').collect();
        // That something is refused is as good an end as any.
        step(&mut files, &words).ok();
        let (bytes, entries) = files.workspace_usage();
        assert!(
            bytes <= LIMITS.workspace.as_u64() && entries <= LIMITS.workspace_entries,
            "{line}"
        );
    }
    check_mounts(&mut files);
    remove_all(&mut files);
});

/// A file, a tree among the names, and a tree behind a file, which only its full path reaches.
fn mounts() -> [Mount; 4] {
    let bytes =
        |text: &str| -> Arc<dyn Content> { Arc::new(SharedBytes::new(text.as_bytes().to_vec())) };
    let [blob, document, code, library, font] = MOUNTED.map(|(_, text)| text);
    let skill = [("SKILL.md", bytes(document)), ("code/main.py", bytes(code))];
    let data = [("font", bytes(font))];
    [
        Mount::file("/blobs/blob:a", bytes(blob)),
        Mount::tree("/skills/a.b", Arc::new(ImmutableTree::from_files(skill).unwrap())),
        Mount::file("/usr/lib/python.zip", bytes(library)),
        Mount::tree("/usr/lib/python.zip/data", Arc::new(ImmutableTree::from_files(data).unwrap())),
    ]
}

fn step(files: &mut FileSystem, words: &[&str]) -> Result<(), Errno> {
    match *words {
        ["open", how, path] => files.open(at(path), open_how(how), 2).map(drop),
        ["openat", fd, how, path] => {
            files.open(At { folder: number(fd), path }, open_how(how), 2).map(drop)
        }
        ["close", fd] => files.close(started(fd)),
        ["renumber", from, to] => files.renumber(started(from), started(to)),
        ["read", fd, count] => {
            let mut into = vec![0; number(count) as usize % 300];
            files.read(number(fd), &mut into).map(drop)
        }
        ["write", fd, text] => files.write(number(fd), text.as_bytes(), 3).map(drop),
        ["writeat", fd, offset, text] => {
            files.write_at(number(fd), text.as_bytes(), u64::from(number(offset)), 3).map(drop)
        }
        ["seek", fd, delta] => {
            let whence = [Whence::Start, Whence::Current, Whence::End][delta.len() % 3];
            files.seek(number(fd), delta.parse().unwrap_or(i64::MIN), whence).map(drop)
        }
        ["size", fd, size] => files.set_size(number(fd), size.parse().unwrap_or(u64::MAX), 4),
        ["mkdir", path] => files.make_folder(at(path), 5),
        ["rmdir", path] => files.remove_folder(at(path), 5),
        ["unlink", path] => files.remove_file(at(path), 5),
        ["rename", from, to] => files.rename(at(from), at(to), 6),
        ["link", from, to] => files.add_name(at(from), LastLink::Keep, at(to), 6),
        ["linkto", from, to] => files.add_name(at(from), LastLink::Follow, at(to), 6),
        ["symlink", target, path] => files.make_link(target, at(path), 6),
        ["readlink", path] => files.read_link(at(path)).map(drop),
        ["stat", path] => files.stat(at(path), LastLink::Follow).map(drop),
        ["get", path] => files.read_file(path, 1 << 16).map(drop),
        ["list", fd, cookie] => {
            files.list(number(fd), number(cookie).into(), |_| ControlFlow::Continue(()))
        }
        ["mount", path] => {
            let content: Arc<dyn Content> = Arc::new(SharedBytes::new(b"late".to_vec()));
            // What is mounted below the workspace would count as the guest's own here.
            let path = format!("/blobs/late{}", path.trim_matches('/'));
            files.mount(&Mount::file(path, content)).ok();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A path from the workspace, where a guest starts.
fn at(path: &str) -> At<'_> {
    At { folder: WORKSPACE, path }
}

fn number(word: &str) -> u32 {
    word.parse().unwrap_or(u32::MAX)
}

/// A descriptor that the guest may close without losing its own folders.
fn started(word: &str) -> u32 {
    number(word).max(FIRST)
}

fn open_how(letters: &str) -> OpenHow {
    let has = |letter: char| letters.contains(letter);
    OpenHow {
        last_link: if has('k') { LastLink::Keep } else { LastLink::Follow },
        access: Access { read: has('r'), write: has('w') },
        create: has('c'),
        exclusive: has('x'),
        truncate: has('t'),
        folder: has('f'),
        appends: has('a'),
        nonblocking: has('n'),
    }
}

/// Whatever the script did, the mounts are what they were, and the tree has nothing else.
fn check_mounts(files: &mut FileSystem) {
    for fd in FIRST..FIRST + 2 * LIMITS.open_files {
        files.close(fd).ok();
    }
    for (path, text) in MOUNTED {
        let content =
            files.read_file(path, 1 << 10).unwrap_or_else(|errno| panic!("{path}: {errno}"));
        assert_eq!(content.as_slice(), text.as_bytes(), "{path} was changed");
    }
    let mut pending = vec![String::new()];
    while let Some(folder) = pending.pop() {
        for (name, kind) in entries(files, &format!("{folder}/")) {
            let path = format!("{folder}/{name}");
            let is_known = VISIBLE.contains(&path.as_str())
                || path.starts_with("/blobs/late")
                || path.starts_with("/dev");
            assert!(is_known, "{path} is there");
            let is_own = ["/workspace", "/tmp"].contains(&path.as_str());
            if kind == FileKind::Folder && !is_own {
                pending.push(path);
            }
        }
        let depth = folder.split('/').count() + 32;
        let above = entries(files, &format!("{folder}{}", "/..".repeat(depth)));
        assert!(above.contains_key("workspace"), "`..` does not end at the root");
    }
}

fn entries(files: &mut FileSystem, path: &str) -> BTreeMap<String, FileKind> {
    let how = OpenHow { folder: true, ..OpenHow::READ };
    let fd = files.open(At { folder: ROOT, path }, how, 0).unwrap();
    let mut found = BTreeMap::new();
    let show = |entry: wardian_sandbox::vfs::ListedEntry<'_>| {
        if ![".", ".."].contains(&entry.name) {
            assert!(!entry.name.contains('/') && !entry.name.is_empty());
            assert!(found.insert(entry.name.to_owned(), entry.kind).is_none(), "listed twice");
        }
        ControlFlow::Continue(())
    };
    files.list(fd, 0, show).unwrap();
    files.close(fd).unwrap();
    found
}

/// Removes everything from the workspace: then nothing is charged any more.
fn remove_all(files: &mut FileSystem) {
    let mut folders = vec!["/workspace".to_owned()];
    let mut seen = 0;
    while let Some(folder) = folders.get(seen).cloned() {
        seen += 1;
        for (name, kind) in entries(files, &folder) {
            let path = format!("{folder}/{name}");
            if kind == FileKind::Folder {
                folders.push(path);
            } else {
                files.remove_file(at(&path), 9).unwrap_or_else(|errno| panic!("{path}: {errno}"));
            }
        }
    }
    for folder in folders.iter().skip(1).rev() {
        files.remove_folder(at(folder), 9).unwrap_or_else(|errno| panic!("{folder}: {errno}"));
    }
    assert_eq!(files.workspace_usage(), (0, 0), "something is still charged");
}
