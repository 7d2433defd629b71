//! Packs, as git makes them and as an attacker would.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;

use super::*;

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// The head of an entry: its kind, and the size that it claims.
fn head(kind: u8, mut size: u64) -> Vec<u8> {
    let mut bytes = vec![kind << 4 | u8::try_from(size & 15).unwrap()];
    size >>= 4;
    while size > 0 {
        *bytes.last_mut().unwrap() |= 0x80;
        bytes.push(u8::try_from(size & 0x7f).unwrap());
        size >>= 7;
    }
    bytes
}

fn entry(kind: u8, base: &[u8], content: &[u8]) -> Vec<u8> {
    [head(kind, content.len() as u64), base.to_vec(), deflated(content)].concat()
}

fn pack(entries: &[Vec<u8>]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).unwrap();
    [b"PACK\0\0\0\x02", &count.to_be_bytes()[..], &entries.concat(), &[0; 20]].concat()
}

fn read(bytes: &[u8]) -> Result<Objects, SourceError> {
    let mut objects = Objects::default();
    read_pack(bytes, HashKind::Sha1, &mut objects)?;
    Ok(objects)
}

fn id_of(content: &[u8]) -> ObjectId {
    Objects::default().add(Kind::Blob, content.to_vec(), HashKind::Sha1).unwrap()
}

fn content(objects: &Objects, content: &[u8]) -> bool {
    objects.found(&id_of(content)).is_some_and(|found| &*found.content == content)
}

/// `hello` becomes `hello you`: a copy, and an insertion.
const DIFFERENCE: &[u8] = b"\x05\x09\x90\x05\x04 you";

#[test]
fn named_by_content_and_differences_are_applied() {
    assert_eq!(id_of(b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    let base = entry(3, &[], b"hello");
    let distance = u8::try_from(base.len()).unwrap();
    let by_offset = read(&pack(&[base.clone(), entry(6, &[distance], DIFFERENCE)])).unwrap();
    assert!(content(&by_offset, b"hello") && content(&by_offset, b"hello you"));
    // A difference may come before its base, if it names it by its hash.
    let id = id_of(b"hello");
    let by_id = read(&pack(&[entry(7, id.as_slice(), DIFFERENCE), base])).unwrap();
    assert!(content(&by_id, b"hello you"));
}

#[test]
fn bounded_packs() {
    let base = entry(3, &[], b"hello");
    let distance = u8::try_from(base.len()).unwrap();
    let huge = |size: u64| [head(3, size), deflated(b"x")].concat();
    for bytes in [
        pack(&[huge(1 << 40)]),
        pack(&[huge(2)]),
        pack(&[[head(3, 0), deflated(b"x")].concat()]),
        // A difference that claims and makes too much.
        pack(&[base.clone(), entry(6, &[distance], b"\x05\xff\xff\xff\xff\x7f\x90\x05")]),
        pack(&[base.clone(), entry(6, &[distance], b"\x05\x01\x90\x05")]),
        pack(&[base.clone(), entry(6, &[distance], b"\x05\x06\x90\x06")]),
        pack(&[base.clone(), entry(6, &[distance], b"\x04\x05\x90\x05")]),
        pack(&[base.clone(), entry(6, &[distance], b"\x05\x00\x00")]),
        // Bases that are not there, or the entry itself.
        pack(&[entry(6, &[0], DIFFERENCE)]),
        pack(&[entry(6, &[9], DIFFERENCE)]),
        pack(&[entry(7, &[1; 20], DIFFERENCE)]),
        pack(&[entry(5, &[], b"x")]),
        pack(&[entry(0, &[], b"x")]),
        [b"PACK\0\0\0\x02".as_slice(), &u32::MAX.to_be_bytes()].concat(),
        b"PACK\0\0\0\x09\0\0\0\0".to_vec(),
        b"PACK".to_vec(),
    ] {
        assert!(read(&bytes).is_err(), "{bytes:02x?}");
    }
}

/// Each difference doubles the one before: few bytes that would become very many.
#[test]
fn differences_that_grow_are_stopped() {
    let mut entries = vec![entry(3, &[], &[b'x'; 1 << 16])];
    let mut size = 1_u64 << 16;
    for _ in 0..16 {
        let mut difference = Vec::new();
        for number in [size, size * 2] {
            let mut number = number;
            while number >= 0x80 {
                difference.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
                number >>= 7;
            }
            difference.push(u8::try_from(number).unwrap());
        }
        for at in (0..size).step_by(0x1_0000).chain((0..size).step_by(0x1_0000)) {
            difference.push(0x8f);
            difference.extend_from_slice(&u32::try_from(at).unwrap().to_le_bytes());
        }
        let distance = entries.last().unwrap().len();
        entries.push(entry(6, &offset(distance as u64), &difference));
        size *= 2;
    }
    assert!(matches!(read(&pack(&entries)), Err(SourceError::TooLarge(_))));
}

fn offset(mut distance: u64) -> Vec<u8> {
    let mut bytes = vec![u8::try_from(distance & 0x7f).unwrap()];
    while distance >= 0x80 {
        distance = (distance >> 7) - 1;
        bytes.insert(0, u8::try_from(distance & 0x7f).unwrap() | 0x80);
    }
    bytes
}

proptest! {
    /// A damaged pack is refused, or its objects have the names of their content.
    #[test]
    fn damaged_packs_never_panic(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let base = entry(3, &[], b"hello");
        let distance = u8::try_from(base.len()).unwrap();
        let mut bytes = pack(&[base, entry(6, &[distance], DIFFERENCE), entry(2, &[], b"")]);
        let place = at.index(bytes.len());
        bytes[place] = to;
        if let Ok(objects) = read(&bytes) {
            prop_assert!(objects.by_id.len() <= 3);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(read(&[b"PACK\0\0\0\x02\0\0\0\x02".as_slice(), &bytes].concat()));
        drop(applied(b"hello", &bytes));
    }
}
