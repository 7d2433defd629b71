//! Tests of properties that Linux does not have, and a comparison with Linux.

mod duplicates;
mod folders;
mod host_files;
mod mounts;
mod names;
pub(crate) mod operations;
mod paths;
mod placed;
mod quotas;
mod reference;

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::vfs::tree::content::{Content, SharedBytes};
use crate::vfs::tree::immutable::ImmutableTree;
use crate::vfs::{Access, At, Errno, Fd, FileSystem, ListedEntry, Mount, OpenHow};
use wardian_formats::job::SetupLimits;

/// Descriptor of `/`.
pub(crate) const SLASH: Fd = 3;

/// Descriptor of `/workspace`.
pub(crate) const WORKSPACE: Fd = 4;

pub(crate) const ZIP: &str = "/usr/local/lib/python315.zip";
pub(crate) const FONTS: &str = "/usr/local/lib/python315.zip/matplotlib/mpl-data";
pub(crate) const BLOB: &str = "/blobs/blob:abc";

pub(crate) fn bytes(text: &str) -> Arc<dyn Content> {
    Arc::new(SharedBytes::new(text.as_bytes().to_vec()))
}

pub(crate) fn mounts() -> Vec<Mount> {
    let skill = [("SKILL.md", bytes("# Report")), ("code/main.py", bytes("def main(args): ..."))];
    let fonts = [("fonts/a.ttf", bytes("glyphs"))];
    vec![
        Mount::file(ZIP, bytes("PK")),
        Mount::tree(FONTS, Arc::new(ImmutableTree::from_files(fonts).unwrap())),
        Mount::tree("/skills/acme.report", Arc::new(ImmutableTree::from_files(skill).unwrap())),
        Mount::file(BLOB, bytes("a,b\n1,2\n")),
    ]
}

pub(super) fn files() -> FileSystem {
    limited(SetupLimits::DEFAULT)
}

pub(super) fn limited(limits: SetupLimits) -> FileSystem {
    FileSystem::for_run(&limits, &mounts(), 1).unwrap()
}

/// A path from the root.
pub(super) fn at(path: &str) -> At<'_> {
    At { folder: SLASH, path }
}

/// A path from the workspace.
pub(super) fn within(path: &str) -> At<'_> {
    At { folder: WORKSPACE, path }
}

pub(super) const WRITE: OpenHow =
    OpenHow { access: Access { read: true, write: true }, ..OpenHow::REPLACE };

pub(super) fn write(files: &mut FileSystem, path: &str, content: &[u8]) -> Result<usize, Errno> {
    let fd = files.open(at(path), OpenHow::REPLACE, 2)?;
    let written = files.write(fd, content, 3);
    files.close(fd)?;
    written
}

pub(super) fn read(files: &FileSystem, path: &str) -> Result<Vec<u8>, Errno> {
    files.read_file(path, 1 << 20).map(|bytes| bytes.as_slice().to_vec())
}

/// Names in a folder, read in pieces of `step` entries.
pub(crate) fn names_in_steps(files: &mut FileSystem, path: &str, step: usize) -> Vec<String> {
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

pub(super) fn names(files: &mut FileSystem, path: &str) -> Vec<String> {
    names_in_steps(files, path, usize::MAX / 2).split_off(2)
}
