//! Tells programs, compiled code and archives by their first bytes.

use crate::scan::finding::{ARCHIVE, COMPILED, Notes, PROGRAM, ScanRule};

/// Endings of files that are archives by their form and documents by their use.
const DOCUMENTS: [&str; 14] = [
    "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "xlsm", "dotx", "potx", "svgz", "ttf",
    "woff", "woff2",
];

/// Endings of pictures, sounds, films, fonts, and documents that are no archives.
const MEDIA: [&str; 21] = [
    "png", "jpg", "jpeg", "gif", "webp", "ico", "bmp", "tif", "tiff", "pdf", "mp3", "mp4", "wav",
    "ogg", "webm", "otf", "mov", "icns", "doc", "xls", "ppt",
];

/// First bytes of programs of Linux, Windows (checked further) and macOS, and of WebAssembly.
const PROGRAMS: [&[u8]; 8] = [
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\0asm",
    b"!<arch>\n",
];

/// First bytes of archives.
const ARCHIVES: [&[u8]; 9] = [
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b"\x28\xb5\x2f\xfd",
    b"xar!",
];

/// What a file is by its name, and what is said if it is not looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedAs {
    /// True for names of code and of pages: they are read even if their bytes are those of something
    /// else, since interpreters and models read over what they do not understand.
    pub(crate) is_acted_on: bool,
    pub(crate) unread: ScanRule,
}

/// Looks at all bytes of a file. True if it is binary, so that it is no text to look at.
pub(crate) fn look_at_bytes(path: &str, bytes: &[u8], named: NamedAs, notes: &mut Notes) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let starts = |magic: &&[u8]| bytes.starts_with(magic);
    if PROGRAMS.iter().any(starts) || is_windows_program(bytes) {
        notes.note(PROGRAM, 0, path);
        return true;
    }
    if matches!(ending.as_str(), "pyc" | "pyo") {
        notes.note(COMPILED, 0, path);
        return true;
    }
    if matches!(ending.as_str(), "exe" | "dll" | "so" | "dylib" | "scr" | "msi" | "dmg" | "pkg") {
        notes.note(PROGRAM, 0, path);
    }
    let is_document = DOCUMENTS.contains(&ending.as_str());
    let is_tar = bytes.get(257..262) == Some(b"ustar");
    if (ARCHIVES.iter().any(starts) || is_tar) && !is_document {
        notes.note(ARCHIVE, 0, path);
        if !named.is_acted_on {
            return true;
        }
        notes.note(named.unread, 0, "an archive by its first bytes");
    }
    if named.is_acted_on {
        if bytes.contains(&0) && !is_wide_text(bytes) {
            notes.note(named.unread, 0, "bytes that are no text");
        }
        return false;
    }
    let is_binary = is_no_text(bytes);
    if is_binary && !MEDIA.contains(&ending.as_str()) && !is_document {
        notes.note(named.unread, 0, "no text");
    }
    is_binary
}

/// True if more than a few of the first bytes are of another encoding than UTF-8.
pub(crate) fn is_foreign(bytes: &[u8]) -> bool {
    let head = bytes.get(..8 << 10).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let marks = text.chars().filter(|letter| *letter == '\u{fffd}').count();
    !is_wide_text(bytes) && marks.saturating_mul(10) > head.len()
}

/// True for bytes that are no text of a common encoding.
fn is_no_text(bytes: &[u8]) -> bool {
    let head = bytes.get(..8 << 10).unwrap_or(bytes);
    !is_wide_text(bytes) && head.contains(&0) || is_foreign(bytes)
}

/// A program of Windows: `MZ`, and a header at the offset that its first header names.
fn is_windows_program(bytes: &[u8]) -> bool {
    let offset =
        bytes.get(0x3c..0x40).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    let Some(offset) = offset.and_then(|offset| usize::try_from(offset).ok()) else { return false };
    bytes.starts_with(b"MZ")
        && bytes.get(offset..offset.saturating_add(2)).is_some_and(|two| two == b"PE")
}

/// UTF-16 with a byte order mark.
pub(crate) fn is_wide_text(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// The text of a file: UTF-8, or UTF-16 with a byte order mark; other bytes become marks.
pub(crate) fn text_of(bytes: &[u8]) -> String {
    let wide = |of: fn([u8; 2]) -> u16| {
        let pairs = bytes.get(2..).unwrap_or_default().chunks_exact(2);
        let units = pairs.filter_map(|pair| pair.try_into().ok().map(of));
        String::from_utf16_lossy(&units.collect::<Vec<_>>())
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::finding::NOT_SCANNED;

    const OTHER: NamedAs = NamedAs { is_acted_on: false, unread: NOT_SCANNED };

    #[test]
    fn programs_and_archives_are_told_from_documents() {
        let mut windows = vec![0_u8; 128];
        windows[..2].copy_from_slice(b"MZ");
        windows[0x3c] = 64;
        windows[64..66].copy_from_slice(b"PE");
        let zip: &[u8] = b"PK\x03\x04rest";
        for (path, bytes, wanted) in [
            ("tool", b"\x7fELF\x02\x01".as_slice(), Some("native-program")),
            ("a.txt", &windows, Some("native-program")),
            ("setup.exe", b"text", Some("native-program")),
            ("x.pyc", b"\xcb\r\r\n", Some("compiled-code")),
            ("x.zip", zip, Some("archive")),
            ("notes.md", zip, Some("archive")),
            ("template.docx", zip, None),
            ("MZ.txt", b"MZ is a name", None),
            ("old.doc", b"\xd0\xcf\x11\xe0\0\0", None),
            ("picture.png", b"\x89PNG\r\n\x1a\n\0\0", None),
        ] {
            let mut notes = Notes::of(path);
            look_at_bytes(path, bytes, OTHER, &mut notes);
            assert_eq!(notes.found.first().map(|one| one.code), wanted, "{path}");
        }
        assert_eq!(text_of(b"\xff\xfea\0b\0"), "ab");
    }
}
