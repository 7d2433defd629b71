//! Packs: objects as a server sends them, whole or as differences to others.
//!
//! INVARIANT(bounded-packs): nothing is allocated by a size that a pack claims; what comes is counted, and so is what
//! differences make of it.
//!
//! INVARIANT(named-by-content): an object is found by the hash that was computed of it here. So a server cannot send
//! other content for a commit than its name says. Attacks on SHA-1 that are known are noticed.

use std::collections::HashMap;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use flate2::bufread::ZlibDecoder;
use gix_hash::{Kind as HashKind, ObjectId};

use crate::error::SourceError;

/// Most objects of a pack.
const MAX_OBJECTS: u32 = 500_000;

/// Most bytes of one object, and of all.
const MAX_OBJECT: u64 = 64 << 20;
const MAX_BYTES: u64 = 256 << 20;

/// Longest chain of differences, as git itself has it.
const MAX_CHAIN: usize = 4_095;

/// Steps from differences to their bases, of all of them. Packs that are made to be slow need many more.
const MAX_STEPS: usize = 16_000_000;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }
}

/// An object.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) kind: Kind,
    pub(super) content: Rc<[u8]>,
}

/// The objects that came, by their hashes.
#[derive(Debug, Default)]
pub(super) struct Objects {
    by_id: HashMap<ObjectId, Object>,
    bytes: u64,
}

impl Objects {
    pub(super) fn found(&self, id: &ObjectId) -> Option<&Object> {
        self.by_id.get(id)
    }

    /// Adds an object under the hash of its content.
    pub(super) fn add(
        &mut self,
        kind: Kind,
        content: impl Into<Rc<[u8]>>,
        hash: HashKind,
    ) -> Result<ObjectId, SourceError> {
        let content = content.into();
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(size);
        if self.bytes > MAX_BYTES {
            return Err(too_large());
        }
        let mut hasher = gix_hash::hasher(hash);
        hasher.update(format!("{} {size}\0", kind.name()).as_bytes());
        hasher.update(&content);
        let id = hasher.try_finalize();
        let id =
            id.map_err(|_collision| damaged("an object is made to have the hash of another"))?;
        self.by_id.insert(id, Object { kind, content });
        Ok(id)
    }
}

fn damaged(problem: impl ToString) -> SourceError {
    SourceError::damaged("the pack of the repository", problem)
}

fn too_large() -> SourceError {
    SourceError::TooLarge(format!(
        "the commit has more than {} MiB, or a file of more than {} MiB: name the folder of a skill",
        MAX_BYTES >> 20,
        MAX_OBJECT >> 20
    ))
}

/// What an entry of a pack is a difference to.
#[derive(Debug, Clone, Copy)]
enum Base {
    Offset(u64),
    Id(ObjectId),
}

#[derive(Debug)]
enum Entry {
    Whole(Object),
    Difference { base: Base, content: Vec<u8> },
}

/// Reads a pack, and adds its objects.
pub(super) fn read_pack(
    reader: impl BufRead,
    hash: HashKind,
    objects: &mut Objects,
) -> Result<(), SourceError> {
    let mut pack = Counted { inner: reader, offset: 0 };
    let mut head = [0; 12];
    pack.read_exact(&mut head).map_err(damaged)?;
    let [b'P', b'A', b'C', b'K', 0, 0, 0, 2 | 3, count @ ..] = head else {
        return Err(damaged("it does not begin as a pack"));
    };
    let count = u32::from_be_bytes(count);
    if count > MAX_OBJECTS {
        return Err(too_large());
    }
    let mut entries: HashMap<u64, Entry> = HashMap::new();
    let mut order = Vec::new();
    let mut left = MAX_BYTES;
    for _entry in 0..count {
        let offset = pack.offset;
        let entry = read_entry(&mut pack, hash, &mut left)?;
        entries.insert(offset, entry);
        order.push(offset);
    }
    // The checksum of the pack. Objects are known by their own hashes.
    io::copy(&mut pack, &mut io::sink()).map_err(damaged)?;
    Resolving { entries, ids: HashMap::new(), hash, objects, steps_left: MAX_STEPS }.all(&order)
}

/// Counts the bytes that were taken.
struct Counted<R> {
    inner: R,
    offset: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.offset = self.offset.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.inner.consume(amount);
        self.offset = self.offset.saturating_add(u64::try_from(amount).unwrap_or(u64::MAX));
    }
}

fn byte(reader: &mut impl Read) -> Result<u8, SourceError> {
    let mut byte = [0];
    reader.read_exact(&mut byte).map_err(damaged)?;
    let [byte] = byte;
    Ok(byte)
}

fn read_entry(
    pack: &mut Counted<impl BufRead>,
    hash: HashKind,
    left: &mut u64,
) -> Result<Entry, SourceError> {
    let start = pack.offset;
    let first = byte(pack)?;
    let kind = first >> 4 & 7;
    let (mut size, mut shift, mut more) = (u64::from(first & 15), 4, first & 0x80 != 0);
    while more {
        let next = byte(pack)?;
        if shift > 57 {
            return Err(damaged("a size is too large"));
        }
        size |= u64::from(next & 0x7f) << shift;
        shift += 7;
        more = next & 0x80 != 0;
    }
    let base = match kind {
        6 => Some(Base::Offset(base_offset(pack, start)?)),
        7 => {
            let mut id = vec![0; hash.len_in_bytes()];
            pack.read_exact(&mut id).map_err(damaged)?;
            let id = gix_hash::oid::try_from_bytes(&id).map_err(damaged)?;
            Some(Base::Id(id.to_owned()))
        }
        _ => None,
    };
    let content = inflated(pack, size, left)?;
    let kind = match (kind, base) {
        (_, Some(base)) => return Ok(Entry::Difference { base, content }),
        (1, _) => Kind::Commit,
        (2, _) => Kind::Tree,
        (3, _) => Kind::Blob,
        (4, _) => Kind::Tag,
        _ => return Err(damaged("an object is of an unknown kind")),
    };
    Ok(Entry::Whole(Object { kind, content: content.into() }))
}

/// Where the base of a difference begins: before it.
fn base_offset(pack: &mut impl Read, start: u64) -> Result<u64, SourceError> {
    let mut next = byte(pack)?;
    let mut distance = u64::from(next & 0x7f);
    while next & 0x80 != 0 {
        next = byte(pack)?;
        let shifted = distance.checked_add(1).and_then(|one| one.checked_mul(128));
        let shifted = shifted.ok_or_else(|| damaged("a distance is too large"))?;
        distance = shifted | u64::from(next & 0x7f);
    }
    start.checked_sub(distance).ok_or_else(|| damaged("a difference has no base"))
}

/// Inflates one stream, which must have exactly `size` bytes.
fn inflated(pack: &mut impl BufRead, size: u64, left: &mut u64) -> Result<Vec<u8>, SourceError> {
    if size > MAX_OBJECT || size > *left {
        return Err(too_large());
    }
    let mut content = Vec::new();
    let mut stream = ZlibDecoder::new(pack).take(size.saturating_add(1));
    stream.read_to_end(&mut content).map_err(damaged)?;
    if u64::try_from(content.len()).ok() != Some(size) {
        return Err(damaged("an object has another size than it claims"));
    }
    *left = left.saturating_sub(size);
    Ok(content)
}

/// Makes whole objects of differences.
struct Resolving<'o> {
    entries: HashMap<u64, Entry>,
    ids: HashMap<u64, ObjectId>,
    hash: HashKind,
    objects: &'o mut Objects,
    steps_left: usize,
}

impl Resolving<'_> {
    fn all(mut self, order: &[u64]) -> Result<(), SourceError> {
        // Whole objects first: differences may name them by their hashes.
        for offset in order {
            if let Some(Entry::Whole(object)) = self.entries.get(offset) {
                let Object { kind, content } = object.clone();
                let id = self.objects.add(kind, content, self.hash)?;
                self.ids.insert(*offset, id);
                self.entries.remove(offset);
            }
        }
        // A difference may name another by its hash, which is known once that one is whole.
        let mut pending: Vec<u64> =
            order.iter().copied().filter(|offset| self.entries.contains_key(offset)).collect();
        while !pending.is_empty() {
            let before = pending.len();
            for offset in &pending {
                self.chain(*offset)?;
            }
            pending.retain(|offset| self.entries.contains_key(offset));
            if pending.len() == before {
                return Err(damaged("a difference has no base"));
            }
        }
        Ok(())
    }

    /// Resolves an entry and those that it builds on. What waits for an unknown hash stays.
    fn chain(&mut self, offset: u64) -> Result<(), SourceError> {
        let mut chain = vec![offset];
        while let Some(Entry::Difference { base: Base::Offset(base), .. }) =
            chain.last().and_then(|last| self.entries.get(last))
        {
            if self.ids.contains_key(base) {
                break;
            }
            if chain.len() > MAX_CHAIN || !self.entries.contains_key(base) {
                return Err(damaged("a difference has no base, or too many"));
            }
            chain.push(*base);
        }
        let left = self.steps_left.checked_sub(chain.len());
        self.steps_left = left.ok_or_else(too_large)?;
        for offset in chain.into_iter().rev() {
            let Some(Entry::Difference { base, .. }) = self.entries.get(&offset) else { continue };
            let id = match base {
                Base::Offset(base) => self.ids.get(base).copied(),
                Base::Id(id) => Some(*id),
            };
            let Some(base) = id.and_then(|id| self.objects.found(&id)).cloned() else {
                return Ok(());
            };
            if let Some(Entry::Difference { content, .. }) = self.entries.remove(&offset) {
                let whole = applied(&base.content, &content)?;
                let id = self.objects.add(base.kind, whole, self.hash)?;
                self.ids.insert(offset, id);
            }
        }
        Ok(())
    }
}

/// Applies a difference to its base.
fn applied(base: &[u8], difference: &[u8]) -> Result<Vec<u8>, SourceError> {
    let short = || damaged("a difference ends early");
    let mut rest = difference;
    let from = size_in(&mut rest).ok_or_else(short)?;
    let to = size_in(&mut rest).ok_or_else(short)?;
    if from != u64::try_from(base.len()).unwrap_or(u64::MAX) {
        return Err(damaged("a difference is to another base"));
    }
    if to > MAX_OBJECT {
        return Err(too_large());
    }
    let most = usize::try_from(to).map_err(damaged)?;
    let mut whole = Vec::new();
    while let Some((command, after)) = rest.split_first() {
        rest = after;
        let piece = if command & 0x80 == 0 {
            let (piece, after) = rest.split_at_checked(usize::from(*command)).ok_or_else(short)?;
            if piece.is_empty() {
                return Err(damaged("a difference has an unknown command"));
            }
            rest = after;
            piece
        } else {
            let (start, length) = copied(*command, &mut rest).ok_or_else(short)?;
            let end = start.checked_add(length).ok_or_else(short)?;
            base.get(start..end).ok_or_else(|| damaged("a difference reads beyond its base"))?
        };
        if whole.len().saturating_add(piece.len()) > most {
            return Err(damaged("a difference makes more than it claims"));
        }
        whole.extend_from_slice(piece);
    }
    if whole.len() != most {
        return Err(damaged("a difference makes less than it claims"));
    }
    Ok(whole)
}

/// A size in seven bits a byte, the lowest first.
fn size_in(rest: &mut &[u8]) -> Option<u64> {
    let (mut size, mut shift) = (0_u64, 0_u32);
    loop {
        let (next, after) = rest.split_first()?;
        *rest = after;
        if shift > 56 {
            return None;
        }
        size |= u64::from(next & 0x7f) << shift;
        shift += 7;
        if next & 0x80 == 0 {
            return Some(size);
        }
    }
}

/// Start and length of a copy, whose bytes are there as the bits of the command say.
fn copied(command: u8, rest: &mut &[u8]) -> Option<(usize, usize)> {
    let mut parts = [0_usize; 7];
    for (bit, part) in parts.iter_mut().enumerate() {
        if command >> bit & 1 == 1 {
            let (next, after) = rest.split_first()?;
            *rest = after;
            *part = usize::from(*next);
        }
    }
    let [a, b, c, d, e, f, g] = parts;
    let length = e | f << 8 | g << 16;
    Some((a | b << 8 | c << 16 | d << 24, if length == 0 { 0x1_0000 } else { length }))
}

#[cfg(test)]
#[path = "../tests/packs.rs"]
mod tests;
