//! Wheels, lists of packages and locks. The first byte says which of them the rest is.
//!
//! Beyond "no panic": what is unpacked has plain paths, no two of which are one on any system, no
//! native or compiled code, and no more bytes than the limits allow; it makes a layer that reads
//! back. A lock that is accepted is written as the same lock.

#![no_main]

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use wardian_formats::job::layer::LayerContent;
use wardian_skills::packages::GuestPlatform;
use wardian_skills::packages::guest::PackageVersion;
use wardian_skills::packages::layer::LayerDraft;
use wardian_skills::packages::lock::Lock;
use wardian_skills::packages::requirements::Requirements;
use wardian_skills::packages::wheel::{
    Unpacked, WheelLimits, WheelName, collision_key, path_fault, unpack,
};

const LIMITS: WheelLimits = WheelLimits { entries: 50, file: 1 << 20, total: 2 << 20, ratio: 100 };

static NAME: LazyLock<WheelName> =
    LazyLock::new(|| WheelName::parse("tool-1.0-py3-none-any.whl").expect("a name"));

static GUEST: LazyLock<GuestPlatform> =
    LazyLock::new(|| GuestPlatform::new("3.15.0", [("numpy", "2.5.2")]).expect("a version"));

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    match kind % 4 {
        0 => check_wheel(rest),
        1 => check_wheel(&wheel_of(rest)),
        2 => check_requirements(rest),
        _ => check_lock(rest),
    }
});

/// A wheel with a right record: each line is a path, and a content after a tab.
fn wheel_of(lines: &[u8]) -> Vec<u8> {
    let mut files: Vec<(Vec<u8>, Vec<u8>)> = lines
        .split(|byte| *byte == b'\n')
        .take(40)
        .map(|line| {
            let mut parts = line.splitn(2, |byte| *byte == b'\t');
            let path = parts.next().unwrap_or_default().to_vec();
            (path, parts.next().unwrap_or_default().to_vec())
        })
        .filter(|(path, _)| !path.is_empty() && path.len() < 1_000)
        .collect();
    let text = |path: &str, content: &str| {
        (format!("tool-1.0.dist-info/{path}").into_bytes(), content.as_bytes().to_vec())
    };
    files.push(text("METADATA", "Metadata-Version: 2.1\nName: tool\nVersion: 1.0\n"));
    files.push(text("WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n"));
    let rows = files.iter().map(|(path, content)| {
        let path = String::from_utf8_lossy(path).replace('"', "\"\"");
        format!("\"{path}\",sha256={},{}\n", digest(content), content.len())
    });
    let record = rows.collect::<String>();
    files.push(text("RECORD", &record));
    stored(&files)
}

fn digest(content: &[u8]) -> String {
    use data_encoding::BASE64URL_NOPAD;
    use sha2::{Digest as _, Sha256};
    BASE64URL_NOPAD.encode(&Sha256::digest(content))
}

/// An archive of files that are not compressed, whatever their names are.
fn stored(files: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    let u16s = |into: &mut Vec<u8>, values: &[u16]| {
        values.iter().for_each(|value| into.extend(value.to_le_bytes()));
    };
    for (path, content) in files {
        let offset = u32::try_from(archive.len()).expect("a short archive");
        let size = u32::try_from(content.len()).expect("a short file");
        let name = u16::try_from(path.len()).expect("a short name");
        let mut fields = Vec::new();
        u16s(&mut fields, &[20, 1 << 11, 0, 0, 0x21]);
        fields.extend(crc32(content).to_le_bytes());
        fields.extend(size.to_le_bytes());
        fields.extend(size.to_le_bytes());
        u16s(&mut fields, &[name, 0]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&fields);
        archive.extend(path);
        archive.extend(content);
        directory.extend(b"PK\x01\x02");
        u16s(&mut directory, &[20]);
        directory.extend(&fields);
        u16s(&mut directory, &[0, 0, 0, 0, 0]);
        directory.extend(offset.to_le_bytes());
        directory.extend(path);
    }
    let start = u32::try_from(archive.len()).expect("a short archive");
    let length = u32::try_from(directory.len()).expect("a short directory");
    let count = u16::try_from(files.len()).expect("few files");
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06");
    u16s(&mut archive, &[0, 0, count, count]);
    archive.extend(length.to_le_bytes());
    archive.extend(start.to_le_bytes());
    u16s(&mut archive, &[0]);
    archive
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

fn check_wheel(bytes: &[u8]) {
    let Ok(unpacked) = unpack(&NAME, bytes, &LIMITS) else { return };
    check_files(&unpacked);
    let package = PackageVersion { name: NAME.package.clone(), version: NAME.version.clone() };
    let mut draft = LayerDraft::default();
    draft.add(package, unpacked.clone()).expect("one wheel cannot conflict with itself");
    let mut file = tempfile::tempfile().expect("a temporary file");
    let mut layer = Vec::new();
    let digest = draft.write(&mut layer).expect("memory");
    file.write_all(&layer).expect("a file");
    let content = LayerContent::open(file).expect("a layer reads back");
    assert_eq!(content.digest, digest);
    let places = content.places().expect("an index");
    assert_eq!(places.len(), unpacked.files.len());
    for file in &unpacked.files {
        let place = places.iter().find(|place| place.path == file.path).expect("a place");
        assert_eq!(content.read(place).expect("a file"), file.content);
    }
}

fn check_files(unpacked: &Unpacked) {
    let mut keys = HashSet::new();
    let mut total = 0;
    for file in &unpacked.files {
        assert_eq!(path_fault(&file.path), None, "{:?}", file.path);
        assert!(keys.insert(collision_key(&file.path)), "{:?}", file.path);
        let lower = file.path.to_lowercase();
        for end in [".pth", ".pyc", ".so", ".pyd", ".dylib", ".wasm", "/"] {
            assert!(!lower.ends_with(end), "{:?}", file.path);
        }
        assert!(!file.content.starts_with(b"\x7fELF") && !file.content.starts_with(b"\0asm"));
        total += file.content.len();
    }
    assert!(unpacked.files.len() <= LIMITS.entries && total <= 2 << 20);
}

fn check_requirements(bytes: &[u8]) {
    let Ok(requirements) = Requirements::parse(bytes) else { return };
    let lines: Vec<String> =
        requirements.that_apply(GUEST.markers()).map(ToString::to_string).collect();
    for line in &lines {
        assert!(!line.contains("://") && !line.starts_with('-'), "{line}");
        Requirements::parse(line.as_bytes()).expect("what was accepted is accepted again");
    }
}

fn check_lock(bytes: &[u8]) {
    let Ok(lock) = Lock::parse(bytes) else { return };
    let again = Lock::parse(lock.to_text().as_bytes()).expect("a lock reads back");
    assert_eq!(again, lock);
}
