//! The form in which a skill travels to a server: one line of JSON with the paths and sizes of its
//! files, and then their contents, one behind the other.
//!
//! INVARIANT(one-reading): a package has one reading. There are no links, modes or compression, the
//! paths are sorted and differ, and the last content ends with the package.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::registry::folders::walk::{MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_TOTAL};
use wardian_formats::provenance::skill_signature::{MAX_SIGNATURES_SIZE, SIGNATURES_FILE};
use wardian_formats::skill::path::{check_path, is_left_out};

/// Longest first line, in bytes.
const MAX_HEAD: u64 = 2 << 20;

/// Longest name of a file or folder, in bytes: file systems have no longer ones.
const MAX_NAME: usize = 255;

/// The only form that there is.
const FORMAT: u32 = 1;

/// The first line of a package.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    wardian_skill: u32,
    /// Paths, sorted by their bytes, and sizes.
    files: Vec<(String, u64)>,
}

/// The reason why a package cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackageError {
    /// The package breaks a rule.
    #[error("{0}")]
    Malformed(String),
    /// The disk failed.
    #[error("the package cannot be unpacked")]
    Disk(#[from] io::Error),
}

fn malformed(fault: impl Into<String>) -> PackageError {
    PackageError::Malformed(fault.into())
}

/// Packs these files: paths and contents.
///
/// # Errors
///
/// The output cannot be written.
pub fn pack(files: &[(&str, &[u8])], out: &mut impl io::Write) -> io::Result<()> {
    let mut sorted: Vec<(&str, &[u8])> = files.to_vec();
    sorted.sort_unstable();
    let size = |content: &[u8]| u64::try_from(content.len()).unwrap_or(u64::MAX);
    let sized = sorted.iter().map(|(path, content)| ((*path).to_owned(), size(content)));
    let head = Head { wardian_skill: FORMAT, files: sized.collect() };
    serde_json::to_writer(&mut *out, &head)?;
    out.write_all(b"\n")?;
    sorted.iter().try_for_each(|(_, content)| out.write_all(content))
}

/// Unpacks a package of `size` bytes into an empty folder. The contents have at most `room` bytes.
pub(super) fn unpack(
    package: &mut dyn Read,
    size: u64,
    room: u64,
    folder: &Path,
) -> Result<(), PackageError> {
    let (head, length) = head_of(package)?;
    check(&head, size.saturating_sub(length), room)?;
    for (path, size) in &head.files {
        let place = folder.join(path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut file = File::create_new(&place)?;
        let copied = io::copy(&mut Read::take(&mut *package, *size), &mut file)?;
        if copied != *size {
            return Err(malformed(format!("the package ends within `{}`", path.escape_debug())));
        }
        file.flush()?;
        file.sync_all()?;
    }
    Ok(())
}

/// Reads the first line, and its length with the line break.
fn head_of(package: &mut dyn Read) -> Result<(Head, u64), PackageError> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        if u64::try_from(line.len()).unwrap_or(u64::MAX) > MAX_HEAD {
            return Err(malformed("the first line of the package is too long"));
        }
        if package.read(&mut byte)? == 0 {
            return Err(malformed("the package ends within its first line"));
        }
        match byte {
            [b'\n'] => break,
            [other] => line.push(other),
        }
    }
    let length = u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(1);
    let head: Head = serde_json::from_slice(&line)
        .map_err(|fault| malformed(format!("the first line of the package is wrong: {fault}")))?;
    Ok((head, length))
}

/// Checks all of the first line. `content` is the number of bytes after it. The signatures are no part of the skill, so the
/// bounds of its files are not for them.
fn check(head: &Head, content: u64, room: u64) -> Result<(), PackageError> {
    if head.wardian_skill != FORMAT {
        return Err(malformed("the package has a format that this server does not know"));
    }
    if head.files.iter().filter(|(path, _)| path != SIGNATURES_FILE).count() > MAX_FILES {
        return Err(malformed(format!("the package has more than {MAX_FILES} files")));
    }
    let (mut total, mut of_skill, mut seen) = (0_u64, 0_u64, BTreeSet::new());
    for (path, size) in &head.files {
        let wrong = |fault: &str| malformed(format!("the path `{}` {fault}", path.escape_debug()));
        check_file(path, *size).map_err(|fault| wrong(&fault))?;
        if seen.last().is_some_and(|last| *last >= path.as_str()) {
            return Err(wrong("must be in sorted order, and each path may appear once"));
        }
        // `a.b` may stand between `a` and `a/c`, so all are compared. Folders come before what is in them.
        let mut folders = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
        if folders.any(|folder| seen.contains(folder)) {
            return Err(wrong("is inside a file"));
        }
        seen.insert(path.as_str());
        total = total.saturating_add(*size);
        if path != SIGNATURES_FILE {
            of_skill = of_skill.saturating_add(*size);
        }
    }
    if of_skill > MAX_TOTAL.as_u64() || total > room {
        return Err(malformed(format!("the files have {total} bytes in total, which is too much")));
    }
    if total != content {
        return Err(malformed(format!(
            "the files have {total} bytes in total, but the package has {content}"
        )));
    }
    Ok(())
}

/// Checks the path and the size of one file. The error comes after the path.
fn check_file(path: &str, size: u64) -> Result<(), String> {
    check_path(path)?;
    let is_signatures = path == SIGNATURES_FILE;
    if !is_signatures && path.split('/').any(is_left_out) {
        return Err("must not be hidden or generated by Python".to_owned());
    }
    // The folder of the skill is one, and the file is none.
    if path.split('/').count() > MAX_DEPTH {
        return Err("is nested too deeply".to_owned());
    }
    if path.split('/').any(|name| name.len() > MAX_NAME) {
        return Err(format!("has a name of more than {MAX_NAME} bytes"));
    }
    let most = if is_signatures { MAX_SIGNATURES_SIZE } else { MAX_FILE };
    if size > most.as_u64() {
        return Err(format!("is larger than {most}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(head: &str, content: &[u8]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let whole = [head.as_bytes(), b"\n", content].concat();
        let size = whole.len() as u64;
        unpack(&mut whole.as_slice(), size, 1 << 20, folder.path())
            .map_err(|error| format!("{error:?}"))?;
        let mut found = Vec::new();
        let mut pending = vec![folder.path().to_owned()];
        while let Some(next) = pending.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    pending.push(path);
                } else {
                    found.push(path.strip_prefix(folder.path()).unwrap().display().to_string());
                }
            }
        }
        found.sort();
        Ok(found)
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let mut package = Vec::new();
        pack(&[("z/y.py", b"one"), ("SKILL.md", b"")], &mut package).unwrap();
        let head = b"{\"wardian_skill\":1,\"files\":[[\"SKILL.md\",0],[\"z/y.py\",3]]}\none";
        assert_eq!(package, head);
        let folder = tempfile::tempdir().unwrap();
        let size = package.len() as u64;
        unpack(&mut package.as_slice(), size, 3, folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("z/y.py")).unwrap(), "one");
    }

    /// INVARIANT(one-reading)
    #[test]
    fn one_reading_or_none_has_a_hostile_package() {
        let head = |files: &str| format!("{{\"wardian_skill\":1,\"files\":[{files}]}}");
        assert_eq!(unpacked(&head("[\"a\",1],[\"b/c\",2]"), b"xyz").unwrap(), ["a", "b/c"]);
        for (files, content) in [
            ("[\"../x\",1]", "x"),
            ("[\"/etc/x\",1]", "x"),
            ("[\"a/../../x\",1]", "x"),
            ("[\"a\\\\b\",1]", "x"),
            ("[\"\",1]", "x"),
            ("[\"a\",1],[\"a\",1]", "xx"),
            ("[\"b\",1],[\"a\",1]", "xx"),
            ("[\"a\",1],[\"a/b\",1]", "xx"),
            ("[\"a\",1],[\"a.b\",1],[\"a/c\",1]", "xxx"),
            ("[\"a/b\",1],[\"a/b-c\",1],[\"a/b/c/d\",1]", "xxx"),
            ("[\".git/config\",1]", "x"),
            ("[\"code/__pycache__/x.pyc\",1]", "x"),
            ("[\"a\\u0000b\",1]", "x"),
            ("[\"a\",1]", ""),
            ("[\"a\",1]", "xx"),
            ("[\"a\",18446744073709551615]", "x"),
            ("[\"a\",-1]", "x"),
            ("[\"a\",1048577]", "x"),
            ("[\"a\"]", "x"),
        ] {
            assert!(unpacked(&head(files), content.as_bytes()).is_err(), "{files}");
        }
        for long in ["a/".repeat(16) + "x", "a".repeat(256), "a".repeat(256) + "/x"] {
            assert!(unpacked(&head(&format!("[\"{long}\",1]")), b"x").is_err(), "{long}");
        }
        for wrong in [
            "{\"wardian_skill\":2,\"files\":[]}",
            "{\"wardian_skill\":1,\"files\":[],\"more\":1}",
            "{\"wardian_skill\":1,\"wardian_skill\":1,\"files\":[]}",
            "PK\u{3}\u{4}",
            "[]",
        ] {
            assert!(unpacked(wrong, b"").is_err(), "{wrong}");
        }
    }

    /// What a skill may have at most, it may have in a package, and its signatures besides.
    #[test]
    fn the_largest_skill_has_a_package() {
        let checked = |count: usize| {
            let of_skill = (0..count).map(|number| (format!("f{number:05}"), 0));
            let signatures = std::iter::once((SIGNATURES_FILE.to_owned(), 1));
            let files = signatures.chain(of_skill).collect();
            check(&Head { wardian_skill: FORMAT, files }, 1, 1)
        };
        checked(MAX_FILES).unwrap();
        assert!(checked(MAX_FILES + 1).is_err());
        let head = |file: &str, size: usize| {
            format!("{{\"wardian_skill\":1,\"files\":[[\"{file}\",{size}]]}}")
        };
        let deepest = "a/".repeat(MAX_DEPTH - 1) + &"x".repeat(MAX_NAME);
        assert_eq!(unpacked(&head(&deepest, 1), b"x").unwrap(), [deepest]);
        let large = MAX_SIGNATURES_SIZE.as_usize() + 1;
        let refused = unpacked(&head(SIGNATURES_FILE, large), &vec![b'x'; large]).unwrap_err();
        assert!(refused.contains("is larger than"), "{refused}");
    }
}
