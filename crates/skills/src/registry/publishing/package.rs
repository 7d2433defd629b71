//! The form in which a skill travels to a server: one line of JSON with the paths and sizes of its
//! files, and then their contents, one behind the other.
//!
//! INVARIANT(one-reading): a package has one reading. There are no links, modes or compression, the
//! paths are sorted and differ, and the last content ends with the package.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::registry::folders::walk::{MAX_DEPTH, MAX_FILE, MAX_FILES, MAX_TOTAL};
use wardian_formats::skill::path::{check_path, is_left_out};

/// Longest first line, in bytes.
const MAX_HEAD: u64 = 2 << 20;

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

fn check(head: &Head, content: u64, room: u64) -> Result<(), PackageError> {
    if head.wardian_skill != FORMAT {
        return Err(malformed("the package has a form that this server does not know"));
    }
    if head.files.len() > MAX_FILES {
        return Err(malformed(format!("the package has more than {MAX_FILES} files")));
    }
    let (mut total, mut last): (u64, Option<&str>) = (0, None);
    for (path, size) in &head.files {
        let wrong = |fault: &str| malformed(format!("the path `{}` {fault}", path.escape_debug()));
        check_path(path).map_err(wrong)?;
        if path.split('/').any(is_left_out) {
            return Err(wrong("must not be hidden or made by Python"));
        }
        if path.split('/').count() >= MAX_DEPTH {
            return Err(wrong("lies too deep"));
        }
        if last.is_some_and(|last| last >= path.as_str()) {
            return Err(wrong("must come after the one before it, and each path once"));
        }
        if last
            .is_some_and(|last| path.strip_prefix(last).is_some_and(|rest| rest.starts_with('/')))
        {
            return Err(wrong("lies in a file"));
        }
        if *size > MAX_FILE.as_u64() {
            return Err(wrong(&format!("is larger than {MAX_FILE}")));
        }
        total = total.saturating_add(*size);
        last = Some(path);
    }
    if total > MAX_TOTAL.as_u64() || total > room {
        return Err(malformed(format!("the files have {total} bytes together, which is too much")));
    }
    if total != content {
        return Err(malformed(format!(
            "the files have {total} bytes together, and the package has {content}"
        )));
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
        let deep = format!("[\"{}x\",1]", "a/".repeat(20));
        assert!(unpacked(&head(&deep), b"x").is_err());
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
}
