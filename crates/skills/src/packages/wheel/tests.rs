//! Wheels that are sound, and wheels that are not.

use std::io::{Cursor, Write as _};

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest as _, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;

const NAME: &str = "tool-1.0-py3-none-any.whl";

const KIND: &str = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n";

/// Files of a wheel, with a record of them.
fn sound(files: &[(&str, &[u8])]) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> =
        files.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec())).collect();
    let metadata = b"Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n".to_vec();
    all.push(("tool-1.0.dist-info/METADATA".to_owned(), metadata));
    all.push(("tool-1.0.dist-info/WHEEL".to_owned(), KIND.into()));
    let rows = all.iter().filter(|(path, _)| !path.ends_with('/')).map(|(path, content)| {
        let digest = BASE64URL_NOPAD.encode(&Sha256::digest(content));
        format!("\"{}\",sha256={digest},{}\n", path.replace('"', "\"\""), content.len())
    });
    let record = rows.collect::<String>() + "tool-1.0.dist-info/RECORD,,\n";
    all.push(("tool-1.0.dist-info/RECORD".to_owned(), record.into_bytes()));
    all
}

fn zipped(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in files {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        if path.ends_with('/') {
            writer.add_directory(path.as_str(), options).unwrap();
        } else {
            writer.start_file(path.as_str(), options).unwrap();
            writer.write_all(content).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

fn unpacked(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let name = WheelName::parse(NAME).unwrap();
    let unpacked = unpack(&name, bytes, &WheelLimits::DEFAULT);
    let files = unpacked.map_err(|error| error.to_string())?.files;
    Ok(files.into_iter().map(|file| (file.path, file.content)).collect())
}

fn paths(files: &[(&str, &[u8])]) -> Result<Vec<String>, String> {
    let files = unpacked(&zipped(&sound(files)))?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Replaces bytes of an archive by as many others, wherever they are.
fn patched(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, at)| *at == from)
        .map(|(at, _)| at)
        .collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + to.len()].copy_from_slice(to);
    }
    bytes
}

#[test]
fn a_sound_wheel_is_unpacked() {
    let files = unpacked(&zipped(&sound(&[
        ("tool/", b""),
        ("tool/__init__.py", b"x = 1\n"),
        ("tool/data.txt", b""),
    ])));
    let files = files.unwrap();
    assert_eq!(files[0], ("tool/__init__.py".to_owned(), b"x = 1\n".to_vec()));
    assert_eq!(files.len(), 5);
}

#[test]
fn pure_python_goes_to_the_library_and_nothing_else_does() {
    let kept = paths(&[
        ("tool/__init__.py", b""),
        ("tool/__pycache__/__init__.cpython-315.pyc", b"code"),
        ("tool/old.pyc", b"code"),
        ("tool-1.0.data/scripts/tool", b"#!python"),
        ("tool-1.0.data/headers/tool.h", b""),
        ("tool-1.0.data/data/etc/x", b""),
        ("tool-1.0.data/purelib/more.py", b""),
    ]);
    let kept = kept.unwrap();
    assert_eq!(kept[..2], ["tool/__init__.py", "more.py"]);
    assert_eq!(kept.len(), 5, "{kept:?}");
    let twice = paths(&[("more.py", b""), ("tool-1.0.data/purelib/more.py", b"")]);
    assert!(twice.unwrap_err().contains("`more.py`, which it installs twice"));
}

#[test]
fn pure_python_wheels_hold_no_native_code_and_nothing_that_starts() {
    for (path, content, expected) in [
        ("tool/fast.so", &b""[..], "native code"),
        ("tool/fast.cpython-313-x86_64-linux-gnu.so", b"", "native code"),
        ("tool/libx.so.6", b"", "native code"),
        ("tool/fast.PYD", b"", "native code"),
        ("tool/x.dylib", b"", "native code"),
        ("tool/x.wasm", b"", "native code"),
        ("tool/data.bin", b"\x7fELF\x02\x01", "native code"),
        ("tool/data.txt", b"\0asm\x01\0\0\0", "native code"),
        ("tool/data.txt", b"\xcf\xfa\xed\xfe", "native code"),
        ("tool.pth", b"import os", "would run at startup"),
        ("tool-1.0.data/purelib/x.PTH", b"import os", "would run at startup"),
    ] {
        let refused = paths(&[(path, content)]).unwrap_err();
        assert!(refused.contains(expected) && refused.contains(path), "{path}: {refused}");
        assert!(refused.starts_with("`tool-1.0-py3-none-any.whl` contains"), "{refused}");
    }
}

#[test]
fn pure_python_wheels_have_plain_paths() {
    for path in [
        "../x.py",
        "a/../../x.py",
        "/etc/passwd",
        "C:\\x.py",
        "a\\x.py",
        "a//x.py",
        "./x.py",
        "nul.py",
        "a\u{202e}b.py",
        "x. /a.py",
    ] {
        // A writer may refuse such a name; the bytes in the archive are what counts.
        let stand_in = "A".repeat(path.len());
        let files = sound(&[(stand_in.as_str(), b"")]);
        let bytes = patched(zipped(&files), stand_in.as_bytes(), path.as_bytes());
        let refused = unpacked(&bytes).unwrap_err();
        assert!(
            refused.contains("path") || refused.contains("device") || refused.contains("letter"),
            "{path}: {refused}"
        );
    }
    let bytes = patched(zipped(&sound(&[("AAAA", b"")])), b"AAAA", b"\xff\xfeAA");
    assert!(unpacked(&bytes).unwrap_err().contains("not UTF-8"));
}

#[test]
fn entries_that_some_systems_take_for_one_are_refused() {
    for (one, other) in [
        ("tool/A.py", "tool/a.py"),
        ("Tool/a.py", "tool/b.py"),
        ("\u{e9}.py", "e\u{301}.py"),
        ("tool/x", "tool/x/y.py"),
        ("tool/x/y.py", "tool/x"),
    ] {
        let refused = paths(&[(one, b""), (other, b"")]).unwrap_err();
        assert!(
            refused.contains("case or accents") || refused.contains("a file and a folder"),
            "{refused}"
        );
    }
    let bytes = patched(zipped(&sound(&[("one.py", b""), ("two.py", b"")])), b"two.py", b"one.py");
    assert!(unpacked(&bytes).unwrap_err().contains("two entries with one name"));
}

#[test]
fn links_and_special_files_are_refused() {
    for mode in [0o120_777_u32, 0o010_644, 0o060_644, 0o140_777, 0o040_755] {
        let mut files = sound(&[]);
        files.retain(|(path, _)| !path.ends_with("RECORD"));
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, content) in &files {
            writer.start_file(path.as_str(), SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.start_file("tool.py", SimpleFileOptions::default()).unwrap();
        writer.write_all(b"/etc/passwd").unwrap();
        let mut bytes = writer.finish().unwrap().into_inner();
        // The mode lies in the last entry of the central directory, at offset 38 + 2.
        let entry = bytes.windows(4).rposition(|at| at == b"PK\x01\x02").unwrap();
        bytes[entry + 5] = 3;
        bytes[entry + 40..entry + 42].copy_from_slice(&u16::try_from(mode).unwrap().to_le_bytes());
        let refused = unpacked(&bytes).unwrap_err();
        assert!(refused.contains("link or another special file"), "{mode:o}: {refused}");
    }
}

#[test]
fn bounded_wheel_in_entries_sizes_and_ratio() {
    let name = WheelName::parse(NAME).unwrap();
    let refused = |files: &[(String, Vec<u8>)], limits: WheelLimits| {
        unpack(&name, &zipped(files), &limits).unwrap_err().to_string()
    };
    let limits = WheelLimits::DEFAULT;
    let files = sound(&[("a.py", b""), ("b.py", b"")]);
    assert!(refused(&files, WheelLimits { entries: 4, ..limits }).contains("too many files"));
    let noise: Vec<u8> =
        (0..4_000_u32).flat_map(|n| Sha256::digest(n.to_le_bytes()).to_vec()).collect();
    let files = sound(&[("a.bin", &noise)]);
    assert!(refused(&files, WheelLimits { file: 100_000, ..limits }).contains("is too large"));
    assert!(refused(&files, WheelLimits { total: 128_000, ..limits }).contains("is too large"));
    let files = sound(&[("bomb.txt", &vec![0; 3 << 20])]);
    assert!(refused(&files, limits).contains("unpacks to far more than its size"));
}

#[test]
fn bounded_wheel_whatever_length_it_states() {
    // The stated length of the first entry, in both of its headers, is made smaller.
    let content = vec![b'x'; 4_096];
    let bytes = zipped(&sound(&[("aaaa.py", &content)]));
    let bytes = patched(bytes, &4_096_u32.to_le_bytes(), &16_u32.to_le_bytes());
    let refused = unpacked(&bytes).unwrap_err();
    assert!(refused.contains("`aaaa.py`") || refused.contains("valid archive"), "{refused}");
}

#[test]
fn content_that_the_record_does_not_have_is_refused() {
    let mut files = sound(&[("tool.py", b"x = 1\n")]);
    files[0].1 = b"x = 2\n".to_vec();
    assert!(
        unpacked(&zipped(&files))
            .unwrap_err()
            .contains("`tool.py`, whose content is not that in its RECORD")
    );
    let mut files = sound(&[("tool.py", b"x = 1\n")]);
    files.push(("more.py".to_owned(), Vec::new()));
    assert!(
        unpacked(&zipped(&files))
            .unwrap_err()
            .contains("`more.py`, which its RECORD does not list")
    );
    let mut files = sound(&[("tool.py", b"x = 1\n"), ("gone.py", b"")]);
    files.retain(|(path, _)| path != "gone.py");
    assert!(unpacked(&zipped(&files)).unwrap_err().contains("lacks `gone.py`"));
}

#[test]
fn metadata_of_something_else_are_refused() {
    let with = |path: &str, from: &str, to: &str| {
        let mut files = sound(&[]);
        for (name, content) in &mut files {
            if name.ends_with(path) {
                *content = String::from_utf8_lossy(content).replace(from, to).into_bytes();
            }
        }
        unpacked(&zipped(&files)).unwrap_err()
    };
    assert!(with("METADATA", "Name: tool", "Name: other").contains("metadata of another package"));
    assert!(
        with("METADATA", "Version: 1.0", "Version: 2.0").contains("metadata of another version")
    );
    assert!(with("WHEEL", "py3-none-any", "cp315-cp315-wasi").contains("not pure Python"));
    assert!(with("RECORD", ",", ";").contains("`RECORD` that is not a table"));
    let mut files = sound(&[]);
    files.push(("other-1.dist-info/METADATA".to_owned(), Vec::new()));
    assert!(unpacked(&zipped(&files)).unwrap_err().contains("or several of them"));
    assert!(unpacked(b"no archive").unwrap_err().contains("is not a valid archive"));
    assert!(unpacked(&[]).is_err());
}

#[test]
fn a_damaged_archive_is_an_error_at_every_byte() {
    let bytes = zipped(&sound(&[("tool.py", b"x = 1\n")]));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        // Some bytes mean nothing, such as times. No byte changes what is installed.
        if let Ok(files) = unpacked(&damaged) {
            assert!(files.contains(&("tool.py".to_owned(), b"x = 1\n".to_vec())), "byte {at}");
        }
        assert!(unpacked(&bytes[..at]).is_err(), "cut at {at}");
    }
}

/// Where the record at the end begins, and where the directory does.
fn parts(bytes: &[u8]) -> (usize, usize) {
    let end = bytes.len() - 22;
    let start = u32::from_le_bytes(bytes[end + 16..end + 20].try_into().unwrap());
    (end, usize::try_from(start).unwrap())
}

#[test]
fn an_archive_with_bytes_around_its_parts_is_refused() {
    let sound = zipped(&sound(&[("tool/__init__.py", b"x = 1\n")]));
    let (end, start) = parts(&sound);
    let moved = |at: usize, by: u32| {
        // The directory of an archive that has further bytes before it.
        let mut bytes = sound.clone();
        bytes.splice(at..at, vec![b'x'; usize::try_from(by).unwrap()]);
        let place = end + usize::try_from(by).unwrap() + 16;
        let now = u32::try_from(start).unwrap() + by;
        bytes[place..place + 4].copy_from_slice(&now.to_le_bytes());
        bytes
    };
    let with_comment = [&sound[..sound.len() - 2], &[4, 0], b"more"].concat();
    for (what, bytes) in [
        ("before", [b"#!/bin/sh\n", &sound[..]].concat()),
        ("behind", [&sound[..], b"more"].concat()),
        ("comment", with_comment),
        ("before the directory", moved(start, 7)),
        ("another archive before it", [&sound[..], &sound[..]].concat()),
        ("before the end", [&sound[..end], b"more", &sound[end..]].concat()),
    ] {
        let refused = unpacked(&bytes).unwrap_err();
        assert!(refused.contains("not a valid archive"), "{what}: {refused}");
    }
    assert!(unpacked(&sound).is_ok());
}

#[test]
fn an_entry_with_another_header_than_its_directory_says_is_refused() {
    let sound = zipped(&sound(&[("tool/__init__.py", b"x = 1\n"), ("tool/other.py", b"y = 2\n")]));
    let name = sound.windows(16).position(|part| part == b"tool/__init__.py").unwrap();
    for (what, at, value) in [
        ("name", name + 5, b'X'),
        ("flags", name - 24, 1),
        ("method", name - 22, 0),
        ("checksum", name - 16, sound[name - 16] ^ 1),
        ("packed", name - 12, sound[name - 12] ^ 1),
        ("length", name - 8, sound[name - 8] ^ 1),
    ] {
        let mut bytes = sound.clone();
        bytes[at] = value;
        let refused = unpacked(&bytes).unwrap_err();
        assert!(
            refused.contains("header of an entry differs from the directory"),
            "{what}: {refused}"
        );
    }
}

/// Archives in the forms that builders of wheels write.
#[test]
fn archives_of_all_common_forms_are_accepted() {
    for (large, padded) in [(false, false), (true, false), (false, true)] {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, content) in sound(&[("tool/__init__.py", b"x = 1\n")]) {
            let options = SimpleFileOptions::default().large_file(large);
            let options = if padded { options.with_alignment(64) } else { options };
            writer.start_file(path.as_str(), options).unwrap();
            writer.write_all(&content).unwrap();
        }
        let bytes = writer.finish().unwrap().into_inner();
        unpacked(&bytes).unwrap_or_else(|refused| panic!("{large} {padded}: {refused}"));
    }
    // Lengths that follow the content, as of a stream.
    let mut writer = ZipWriter::new_stream(Vec::new());
    for (path, content) in sound(&[("tool/__init__.py", b"x = 1\n")]) {
        writer.start_file(path.as_str(), SimpleFileOptions::default()).unwrap();
        writer.write_all(&content).unwrap();
    }
    unpacked(&writer.finish().unwrap().into_inner()).unwrap();
}

#[test]
fn only_the_named_folders_are_kept_at_their_new_paths() {
    let file = |path: &str| UnpackedFile { path: path.to_owned(), content: Vec::new() };
    let files = ["a/data/x", "a/data/y/z", "a/database", "a/data", "b.py"].map(file).into();
    let mut unpacked = Unpacked { files };
    unpacked.keep_only(&[("a/data".to_owned(), "c-d".to_owned())].into());
    let kept: Vec<&str> = unpacked.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(kept, ["c-d/x", "c-d/y/z"]);
}
