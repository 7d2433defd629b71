//! Reads a folder for a scan: also what a server would leave out, since other clients use it all.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

use rustix::fs::FileType;

use crate::registry::folders::handle::Dir;
use crate::registry::{AtPath, MAX_DEPTH, MAX_FILES, RegistryError};
use crate::scan::finding::{Notes, SYMLINK};
use crate::scan::kinds::{
    SKILL_PAGE, ScannedPart, SkillScan, findings_of_parts, is_acted_on, unread_rule_of,
};

/// Most bytes that are read of a file: one more than is looked at, so that the rest is noticed.
const MAX_READ: u64 = (1 << 20) + 1;

/// Most bytes of all files that are held at once.
const MAX_HELD: usize = 64 << 20;

/// Most bytes that other files than code and pages take of them.
const MAX_HELD_OF_OTHERS: usize = MAX_HELD / 2;

/// So much is read of other files beyond that: it tells what they are.
const MAX_HEAD: u64 = 8 << 10;

/// Folders of tools, which no client reads as part of a skill.
const LEFT_OUT: [&str; 2] = [".git", "node_modules"];

/// Looks at the files of the folder at `path`. Links are not followed.
///
/// # Errors
///
/// The folder cannot be opened.
pub fn findings_of_folder(path: &Path) -> Result<SkillScan, RegistryError> {
    let at_path = |cause| RegistryError::Root(AtPath { path: path.to_owned(), cause });
    let folder = Dir::open_path(path).map_err(at_path)?;
    let mut held = Held::default();
    held.read(&folder, "", 1);
    let parts = held.files.iter().map(|(path, bytes, is_whole)| ScannedPart {
        path,
        bytes,
        is_whole: *is_whole,
    });
    let mut scan = findings_of_parts(&parts.collect::<Vec<_>>());
    let unread = held.unread.iter().map(|path| (path, unread_rule_of(path)));
    for (path, rule) in held.links.iter().map(|path| (path, SYMLINK)).chain(unread) {
        let mut notes = Notes::of(path);
        notes.note(rule, 0, path);
        scan.findings.extend(notes.found);
    }
    scan.findings.sort_by_key(|one| std::cmp::Reverse(one.level));
    if !held.unread.is_empty() {
        scan.is_partial = true;
        scan.left_out.push(format!("files that were not read: {}", held.unread.len()));
    }
    if held.has_more {
        scan.is_partial = true;
        scan.left_out.push("the folder has more files than a skill may have".to_owned());
    }
    Ok(scan)
}

/// The files of a folder.
#[derive(Default)]
struct Held {
    /// Paths, bytes, and whether they are all that is looked at.
    files: Vec<(String, Vec<u8>, bool)>,
    links: Vec<String>,
    unread: Vec<String>,
    bytes: usize,
    has_more: bool,
}

impl Held {
    fn read(&mut self, folder: &Dir, prefix: &str, depth: usize) {
        let mut names: Vec<OsString> = Vec::new();
        let listed = folder.entries(|name, _| {
            names.push(name.to_owned());
            if names.len() > MAX_FILES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        self.has_more |= listed.is_err() || names.len() > MAX_FILES;
        names.sort_by(|one, other| {
            let is_late = |name: &OsString| name != SKILL_PAGE;
            is_late(one).cmp(&is_late(other)).then_with(|| one.cmp(other))
        });
        for name in names {
            if self.files.len() >= MAX_FILES || self.bytes >= MAX_HELD {
                self.has_more = true;
                return;
            }
            let path = format!("{prefix}{}", name.to_string_lossy());
            self.entry(folder, &name, path, depth);
        }
    }

    fn entry(&mut self, folder: &Dir, name: &OsStr, path: String, depth: usize) {
        let kind = folder.see_entry(name).map(|seen| seen.kind());
        match kind {
            Ok(FileType::Symlink) => self.links.push(path),
            Ok(FileType::Directory) if LEFT_OUT.iter().any(|one| name == *one) => {}
            Ok(FileType::Directory) => match folder.open_folder(name) {
                Ok(inner) if depth < MAX_DEPTH => {
                    self.read(&inner, &format!("{path}/"), depth.saturating_add(1));
                }
                _ => self.has_more = true,
            },
            Ok(FileType::RegularFile) => {
                let has_room = self.bytes < MAX_HELD_OF_OTHERS || is_acted_on(&path);
                let most = if has_room { MAX_READ } else { MAX_HEAD };
                let mut bytes = Vec::new();
                let read =
                    folder.open_file(name).and_then(|file| file.take(most).read_to_end(&mut bytes));
                if read.is_err() {
                    return self.unread.push(path);
                }
                let is_cut = u64::try_from(bytes.len()).is_ok_and(|read| read >= most);
                self.bytes = self.bytes.saturating_add(bytes.len());
                self.files.push((path, bytes, has_room || !is_cut));
            }
            _ => self.unread.push(path),
        }
    }
}
