//! Reads a folder for a scan: also what a server would leave out, since other clients use it all.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

use rustix::fs::FileType;

use crate::registry::folders::handle::Dir;
use crate::registry::{AtPath, MAX_DEPTH, MAX_FILES, RegistryError};
use crate::scan::finding::{NOT_SCANNED, Notes, SYMLINK};
use crate::scan::kinds::{SkillScan, findings_of};

/// Most bytes that are read of a file: one more than is looked at, so that the rest is noticed.
const MAX_READ: u64 = (1 << 20) + 1;

/// Most bytes of all files that are held at once.
const MAX_HELD: usize = 64 << 20;

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
    let mut scan =
        findings_of(held.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())));
    for (path, rule) in held
        .links
        .iter()
        .map(|path| (path, SYMLINK))
        .chain(held.unread.iter().map(|path| (path, NOT_SCANNED)))
    {
        let mut notes = Notes::of(path);
        notes.note(rule, 0, path);
        scan.findings.extend(notes.found);
    }
    scan.findings.sort_by_key(|one| std::cmp::Reverse(one.level));
    if held.has_more {
        scan.left_out.push("the folder has more files than a skill may have".to_owned());
    }
    Ok(scan)
}

/// The files of a folder.
#[derive(Default)]
struct Held {
    files: Vec<(String, Vec<u8>)>,
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
        names.sort();
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
                let mut bytes = Vec::new();
                let read = folder
                    .open_file(name)
                    .and_then(|file| file.take(MAX_READ).read_to_end(&mut bytes));
                if read.is_err() {
                    return self.unread.push(path);
                }
                self.bytes = self.bytes.saturating_add(bytes.len());
                self.files.push((path, bytes));
            }
            _ => self.unread.push(path),
        }
    }
}
