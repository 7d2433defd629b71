//! A pack as a whole: its head, its parts, and the digests that find damage.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::session::error::PackError;
use crate::session::pack::reader::PackReader;
use crate::session::pack::writer::PackWriter;
use wardian_formats::job::session::checkpoint::{ChainError, PACK_FORMAT, PackFacts};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// A checkpoint, as it was made.
pub struct Pack {
    /// Its bytes, which nobody but the sandbox reads.
    pub bytes: Vec<u8>,
    /// What others may know of it.
    pub facts: PackFacts,
}

/// Prints no byte of the guest's memory.
impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pack").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// The beginning of every pack. The ends of lines find transfers that change them.
const MAGIC: &[u8; 16] = b"wardian pack\r\n\x1a\n";

/// Bytes of the digest at the end.
const DIGEST: usize = 32;

/// What stands before the parts of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The image that the guest began as.
    pub(crate) image: Digest,
    /// The digest of what the order says of the guest.
    pub(crate) order: Digest,
    /// The number of the checkpoint.
    pub(crate) sequence: u32,
    /// The digest of the pack before, unless this is a whole one.
    pub(crate) base: Option<Digest>,
    /// The digest of the state.
    pub(crate) root: Digest,
    /// The pages that are described.
    pub(crate) pages: u64,
    /// Bytes of the guest's memory.
    pub(crate) memory: u64,
}

/// The parts of a pack, as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PackParts<'a> {
    /// Pages of memory.
    pub(crate) memory: &'a [u8],
    /// Pages of files.
    pub(crate) contents: &'a [u8],
    /// The tree of files and the descriptors.
    pub(crate) files: &'a [u8],
    /// The clocks.
    pub(crate) clocks: &'a [u8],
}

/// A pack whose digest and head were checked. Its parts were not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenedPack<'a> {
    pub(crate) facts: PackFacts,
    pub(crate) head: Head,
    pub(crate) parts: PackParts<'a>,
}

/// Writes a pack.
pub(crate) fn write_pack(head: &Head, parts: PackParts<'_>) -> Pack {
    let mut output = PackWriter::default();
    output.raw(MAGIC);
    output.u32(PACK_FORMAT);
    output.digest(&head.image);
    output.digest(&head.order);
    output.u32(head.sequence);
    output.flag(head.base.is_some());
    head.base.iter().for_each(|base| output.digest(base));
    output.digest(&head.root);
    output.u64(head.pages);
    output.u64(head.memory);
    let PackParts { memory, contents, files, clocks } = parts;
    for part in [memory, contents, files, clocks] {
        output.u64(u64::try_from(part.len()).unwrap_or(u64::MAX));
        output.raw(part);
    }
    let (sum, digest) = digests(output.as_slice());
    output.raw(&sum);
    let bytes = output.into_bytes();
    let facts = facts_of(head, digest, bytes.len());
    Pack { bytes, facts }
}

/// Reads a pack up to its parts.
///
/// # Errors
///
/// It is of another format, or damaged.
pub(crate) fn read_pack(bytes: &[u8]) -> Result<OpenedPack<'_>, PackError> {
    let mut start = PackReader::new(bytes, "it does not begin as a pack");
    if start.raw(MAGIC.len())? != MAGIC {
        return Err(start.fault());
    }
    let format = start.u32()?;
    if format != PACK_FORMAT {
        return Err(ChainError::Format { found: format }.into());
    }
    let (body, sum) = bytes
        .split_last_chunk::<DIGEST>()
        .filter(|(body, _)| body.len() > MAGIC.len())
        .ok_or(PackError::damaged("it is cut off"))?;
    let (expected, digest) = digests(body);
    if *sum != expected {
        return Err(PackError::damaged("its digest is another one"));
    }
    let begun = bytes.len().saturating_sub(start.left());
    let mut input = PackReader::new(body.get(begun..).unwrap_or_default(), "its head is malformed");
    let head = read_head(&mut input)?;
    let mut part = || {
        let length = input.u64()?;
        let length = usize::try_from(length).ok().ok_or_else(|| input.fault())?;
        input.raw(length)
    };
    let parts = PackParts { memory: part()?, contents: part()?, files: part()?, clocks: part()? };
    input.end()?;
    Ok(OpenedPack { facts: facts_of(&head, digest, bytes.len()), head, parts })
}

fn read_head(input: &mut PackReader<'_>) -> Result<Head, PackError> {
    Ok(Head {
        image: input.digest()?,
        order: input.digest()?,
        sequence: input.u32()?,
        base: if input.flag()? { Some(input.digest()?) } else { None },
        root: input.digest()?,
        pages: input.u64()?,
        memory: input.u64()?,
    })
}

/// The SHA-256 that stands at the end of a pack, and that of the whole pack with its end.
fn digests(body: &[u8]) -> ([u8; DIGEST], Digest) {
    let hasher = Sha256::new().chain_update(body);
    let sum: [u8; DIGEST] = hasher.clone().finalize().into();
    let whole: [u8; DIGEST] = hasher.chain_update(sum).finalize().into();
    (sum, Digest::from_bytes(whole))
}

fn facts_of(head: &Head, digest: Digest, size: usize) -> PackFacts {
    PackFacts {
        format: PACK_FORMAT,
        image: head.image,
        sequence: head.sequence,
        base: head.base,
        digest,
        root: head.root,
        pages: head.pages,
        size: ByteCount::from(size),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest() -> impl Strategy<Value = Digest> {
        any::<[u8; 32]>().prop_map(Digest::from_bytes)
    }

    fn head() -> impl Strategy<Value = Head> {
        let digests = (digest(), digest(), digest(), prop::option::of(digest()));
        let numbers = (any::<u32>(), any::<u64>(), any::<u64>());
        (digests, numbers).prop_map(|((image, order, root, base), (sequence, pages, memory))| {
            Head { image, order, sequence, base, root, pages, memory }
        })
    }

    fn part() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..60)
    }

    /// Appends the digest that a pack with this body has.
    fn sealed(body: &[u8]) -> Vec<u8> {
        [body, &digests(body).0].concat()
    }

    proptest! {
        #[test]
        fn a_pack_is_read_as_it_was_written(
            head in head(), (memory, contents, files, clocks) in (part(), part(), part(), part())
        ) {
            let parts =
                PackParts { memory: &memory, contents: &contents, files: &files, clocks: &clocks };
            let pack = write_pack(&head, parts);
            let read = read_pack(&pack.bytes).unwrap();
            prop_assert_eq!(read.head, head);
            prop_assert_eq!(read.parts, parts);
            prop_assert_eq!(read.facts, pack.facts);
            prop_assert_eq!(pack.facts.digest, Digest::of(&pack.bytes));
            prop_assert_eq!(pack.facts.size, ByteCount::from(pack.bytes.len()));
        }

        #[test]
        fn every_flipped_bit_and_every_cut_has_a_name(
            head in head(), part in part(), at in any::<prop::sample::Index>(), bit in 0..8_u32
        ) {
            let parts = PackParts { memory: &part, contents: &[], files: &part, clocks: &[] };
            let pack = write_pack(&head, parts).bytes;
            let mut flipped = pack.clone();
            flipped[at.index(pack.len())] ^= 1 << bit;
            prop_assert!(read_pack(&flipped).is_err());
            prop_assert!(read_pack(&pack[..at.index(pack.len())]).is_err());
            let mut longer = pack;
            longer.push(0);
            prop_assert!(read_pack(&longer).is_err());
        }

        #[test]
        fn bounded_packs_are_read_whatever_their_bytes(
            bytes in prop::collection::vec(any::<u8>(), 0..400), is_begun in any::<bool>()
        ) {
            let begin: &[u8] = if is_begun { &[&MAGIC[..], &1_u32.to_le_bytes()].concat() } else { &[] };
            let whole = sealed(&[begin, &bytes].concat());
            if let Ok(read) = read_pack(&whole) {
                let PackParts { memory, contents, files, clocks } = read.parts;
                let length = [memory, contents, files, clocks].iter().map(|p| p.len()).sum::<usize>();
                prop_assert!(length <= bytes.len());
            }
        }
    }

    #[test]
    fn the_format_is_named_before_anything_else_is_read() {
        let mut other = [&MAGIC[..], &7_u32.to_le_bytes()].concat();
        let expected = PackError::Chain(ChainError::Format { found: 7 });
        assert_eq!(read_pack(&other).unwrap_err(), expected);
        other[2] = b'x';
        assert!(matches!(read_pack(&other), Err(PackError::Damaged { .. })));
        for short in [&[][..], MAGIC, &MAGIC[..9]] {
            assert!(matches!(read_pack(short), Err(PackError::Damaged { .. })));
        }
    }

    #[test]
    fn a_part_that_is_longer_than_its_pack_is_refused() {
        let digest = Digest::of(b"x");
        let head = Head {
            image: digest,
            order: digest,
            sequence: 1,
            base: None,
            root: digest,
            pages: 0,
            memory: 0,
        };
        let parts = PackParts { memory: b"abc", contents: &[], files: &[], clocks: &[] };
        let pack = write_pack(&head, parts).bytes;
        let body = &pack[..pack.len() - DIGEST];
        let at = body.windows(3).position(|bytes| bytes == b"abc").unwrap() - 8;
        for length in [2_u64, 4, 1 << 40, u64::MAX] {
            let mut wrong = body.to_vec();
            wrong[at..at + 8].copy_from_slice(&length.to_le_bytes());
            let refused = read_pack(&sealed(&wrong)).unwrap_err();
            assert_eq!(refused, PackError::damaged("its head is malformed"), "{length}");
        }
        assert!(read_pack(&sealed(body)).is_ok());
    }
}
