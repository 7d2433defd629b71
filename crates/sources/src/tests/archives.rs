//! Archives that nobody should make, and those that everybody makes.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{EntryType, Header};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

/// A tar of entries: kind, path as it is written into the head, and content or target.
fn tarred(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, path, content) in entries {
        let mut header = Header::new_ustar();
        header.set_entry_type(*kind);
        header.set_mode(0o6777);
        // As nobody but an attacker writes it: the library would refuse `..`.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        let content = match kind {
            EntryType::Symlink | EntryType::Link => {
                header.as_mut_bytes()[157..157 + content.len()].copy_from_slice(content.as_bytes());
                ""
            }
            _ => content,
        };
        header.set_size(content.len() as u64);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(content.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1_024, 0);
    bytes
}

fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in entries {
        writer.start_file(*path, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unpacked(bytes: &[u8]) -> Result<Tree, SourceError> {
    let mut tree = Tree::default();
    unpack(bytes, &mut tree)?;
    Ok(tree)
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.files().map(|(path, _)| path).collect()
}

#[test]
fn every_kind_is_known_by_its_bytes() {
    let tar = tarred(&[
        (EntryType::Directory, "./a/", ""),
        (EntryType::Regular, "./a/SKILL.md", "text"),
        (EntryType::Symlink, "a/link", "SKILL.md"),
    ]);
    let zstd = compress_to_vec(tar.as_slice(), CompressionLevel::Fastest);
    for bytes in [tar.clone(), gzipped(&tar), zstd.clone(), zipped(&[("a/SKILL.md", b"text")])] {
        let tree = unpacked(&bytes).unwrap();
        assert_eq!(tree.files().collect::<Vec<_>>(), [("a/SKILL.md", &b"text"[..])]);
    }
    assert!(unpacked(&tar).unwrap().notes()[0].contains("`a/link` is a link"));
    // What follows the first frame would be lost.
    assert!(unpacked(&[zstd.clone(), zstd].concat()).is_err());
    assert!(unpacked(b"#!/bin/sh").is_err() && unpacked(b"").is_err());
}

#[test]
fn hostile_tars_are_refused() {
    use EntryType as T;
    for entries in [
        &[(T::Regular, "../x", "")][..],
        &[(T::Regular, "/etc/passwd", "")],
        &[(T::Regular, "a/../../x", "")],
        &[(T::Regular, "a\\..\\x", "")],
        &[(T::Regular, "a\u{1b}", "")],
        &[(T::Directory, "../x/", "")],
        &[(T::Symlink, "a", "/etc")],
        &[(T::Symlink, "a/b", "../../x")],
        &[(T::Link, "a", "/etc/passwd")],
        &[(T::Link, "a", "../x")],
        &[(T::Char, "a", "")],
        &[(T::Block, "a", "")],
        &[(T::Fifo, "a", "")],
        &[(T::GNUSparse, "a", "")],
        &[(T::Regular, "a", "1"), (T::Regular, "a", "2")],
        &[(T::Regular, "a", "1"), (T::Regular, "A", "2")],
        &[(T::Regular, "a", "1"), (T::Regular, "a/b", "2")],
        &[(T::Directory, "A/", ""), (T::Regular, "a/b", "2")],
    ] {
        assert!(unpacked(&tarred(entries)).is_err(), "{entries:?}");
    }
}

#[test]
fn hostile_zips_are_refused() {
    for path in ["../x", "/x", "a\\b", "a/../../b", "C:/x", "a\u{7}"] {
        assert!(unpacked(&zipped(&[(path, b"")])).is_err(), "{path}");
    }
    assert!(unpacked(&zipped(&[("a", b""), ("A", b"")])).is_err());
    // One name twice, which writers refuse: the second is renamed in the bytes.
    let mut twice = zipped(&[("one", b"1"), ("two", b"2")]);
    for at in 0..twice.len() - 3 {
        if twice[at..].starts_with(b"two") {
            twice[at..at + 3].copy_from_slice(b"one");
        }
    }
    assert!(unpacked(&twice).is_err());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("a/b", "../../x", SimpleFileOptions::default()).unwrap();
    assert!(unpacked(&writer.finish().unwrap().into_inner()).is_err());
}

#[test]
fn bounded_archives_stop_bombs_before_they_expand() {
    let zeros = "\0".repeat(40 << 20);
    let tar = tarred(&[(EntryType::Regular, "a", &zeros)]);
    let bombs = [gzipped(&tar), zipped(&[("a", zeros.as_bytes())])];
    for bomb in bombs {
        assert!(bomb.len() < 200 << 10, "{}", bomb.len());
        assert!(unpacked(&bomb).is_err());
    }
    // A size that is not there.
    let mut header = Header::new_ustar();
    header.set_path("a").unwrap();
    header.set_size(u64::MAX >> 8);
    header.set_cksum();
    assert!(unpacked(header.as_bytes()).is_err());
    let many: Vec<(String, Vec<u8>)> =
        (0..MAX_FILES + 1).map(|at| (at.to_string(), Vec::new())).collect();
    let many: Vec<(EntryType, &str, &str)> =
        many.iter().map(|(path, _)| (EntryType::Regular, path.as_str(), "")).collect();
    assert!(matches!(unpacked(&tarred(&many)), Err(SourceError::TooLarge(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Damaged archives are refused or read; none makes a path that leads out, and none panics.
    #[test]
    fn damaged_archives_never_escape(which in 0..4_usize, at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let tar = tarred(&[(EntryType::Regular, "a/b", "some text"), (EntryType::Symlink, "a/c", "b")]);
        let mut bytes = match which {
            0 => tar,
            1 => gzipped(&tar),
            2 => compress_to_vec(tar.as_slice(), CompressionLevel::Fastest),
            _ => zipped(&[("a/b", b"some text"), ("c", b"more")]),
        };
        let place = at.index(bytes.len());
        bytes[place] = to;
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(tree) = unpacked(&bytes) {
            for path in paths(&tree) {
                prop_assert!(crate::tree::check_path(path).is_ok());
            }
        }
    }
}
