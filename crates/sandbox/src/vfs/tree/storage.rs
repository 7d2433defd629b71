//! The bytes of a file in the workspace, kept in chunks so that holes and growth cost little.

use std::io::{self, BufRead, Read};
use std::ops::Range;
use std::sync::Arc;

use crate::vfs::errno::Errno;
use crate::vfs::tree::content::{Content, copy_from};
use crate::vfs::tree::quota::Quota;

/// Bytes of a full chunk: large enough that a file of 256 MiB needs only 4,096 of them, small
/// enough that the time to clear one is negligible.
const CHUNK: usize = 64 << 10;

/// [`CHUNK`] for arithmetic on offsets.
const CHUNK_SIZE: u64 = 64 << 10;

/// Smallest capacity of a chunk, so that a file written byte by byte does not start with a dozen
/// reallocations.
const MIN_CAPACITY: usize = 64;

/// The content of holes.
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Reads a file from its start.
#[derive(Debug)]
pub(crate) struct StorageReader<'a> {
    storage: &'a Storage,
    position: u64,
}

impl Read for StorageReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.storage.read_at(self.position, into);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for StorageReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let (index, inside) = place(self.position);
        let left = self.storage.size.saturating_sub(self.position);
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK.saturating_sub(inside));
        let chunk = self.storage.chunks.get(index).and_then(|chunk| chunk.get(inside..));
        let bytes = chunk.filter(|rest| !rest.is_empty()).unwrap_or(&ZEROS);
        Ok(bytes.get(..most.min(bytes.len())).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.position = self.position.saturating_add(count(amount));
    }
}

/// A file's bytes.
///
/// INVARIANT(charged-memory): the quota is charged for exactly the memory that the chunks and their
/// table have allocated. Holes allocate nothing: bytes past the end of a chunk or of the table read
/// as zero.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    chunks: Vec<Vec<u8>>,
    size: u64,
    /// The path of the mount that has the same bytes, until something is written.
    mounted: Option<Arc<str>>,
    /// The number of changes of the bytes or the length.
    edits: u64,
}

/// The lengths of a file and of the memory that holds it, without the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StorageShape {
    /// Length of the file.
    pub(crate) size: u64,
    /// Chunks that the table has room for.
    pub(crate) table: usize,
    /// All chunks.
    pub(crate) chunks: Vec<ChunkRun>,
    /// The path of the mount that has the same bytes.
    pub(crate) mounted: Option<Arc<str>>,
}

/// Chunks in a row that are alike. Most chunks of a large file are full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkRun {
    /// Their number.
    pub(crate) count: usize,
    /// The length of each.
    pub(crate) length: usize,
    /// The capacity of each.
    pub(crate) capacity: usize,
}

impl Storage {
    /// Length of the file.
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// A copy of the content that is mounted at `path`.
    ///
    /// # Errors
    ///
    /// `ENOSPC` if the quota does not suffice, `EIO` if the mount cannot be read.
    pub(crate) fn copy_of(
        content: &dyn Content,
        path: &Arc<str>,
        quota: &mut Quota,
    ) -> Result<Self, Errno> {
        let mut copy = Self::default();
        let copied = copy.copy_all(content, quota);
        if let Err(errno) = copied {
            quota.release(copy.allocated());
            return Err(errno);
        }
        copy.mounted = Some(Arc::clone(path));
        Ok(copy)
    }

    fn copy_all(&mut self, content: &dyn Content, quota: &mut Quota) -> Result<(), Errno> {
        if content.size() > quota.max_bytes() {
            return Err(Errno::NoSpace);
        }
        let mut piece = vec![0; CHUNK];
        while self.size < content.size() {
            let read = content.read_at(self.size, &mut piece).ok().ok_or(Errno::InputOutput)?;
            let bytes = piece.get(..read).filter(|read| !read.is_empty());
            let bytes = bytes.ok_or(Errno::InputOutput)?;
            if self.write_at(self.size, bytes, quota)? < bytes.len() {
                return Err(Errno::NoSpace);
            }
        }
        Ok(())
    }

    /// True if nothing was written since this was copied from the mount at `path`.
    pub(crate) fn is_still(&self, path: &str) -> bool {
        self.mounted.as_deref() == Some(path)
    }

    /// Bytes of memory that this holds, as charged.
    pub(crate) fn allocated(&self) -> u64 {
        let chunks = self.chunks.iter().map(|chunk| count(chunk.capacity())).sum::<u64>();
        chunks.saturating_add(self.table_size())
    }

    /// The number of changes since the file was made. While it stays, so do the bytes.
    pub(crate) const fn edits(&self) -> u64 {
        self.edits
    }

    /// The ranges of bytes that have memory, in order. All others are zero.
    pub(crate) fn filled(&self) -> impl Iterator<Item = Range<u64>> {
        let starts = (0_u64..).step_by(CHUNK);
        let chunks = starts.zip(&self.chunks).filter(|(_, chunk)| !chunk.is_empty());
        chunks.map(|(start, chunk)| start..start.saturating_add(count(chunk.len())))
    }

    /// The lengths of the file and its memory.
    pub(crate) fn shape(&self) -> StorageShape {
        let like = |one: &Vec<u8>, next: &Vec<u8>| {
            one.len() == next.len() && one.capacity() == next.capacity()
        };
        let chunks = self.chunks.chunk_by(like).map(|run| {
            let (length, capacity) = run.first().map_or((0, 0), |it| (it.len(), it.capacity()));
            ChunkRun { count: run.len(), length, capacity }
        });
        let chunks = chunks.collect();
        let (size, table, mounted) = (self.size, self.chunks.capacity(), self.mounted.clone());
        StorageShape { size, table, chunks, mounted }
    }

    /// A file of zeros with these lengths, which holds as much memory as the one that had them.
    ///
    /// # Errors
    ///
    /// `EINVAL` for lengths that no file has, `ENOSPC` if the quota does not suffice.
    pub(crate) fn of_shape(shape: &StorageShape, quota: &mut Quota) -> Result<Self, Errno> {
        let chunks = shape.chunks.iter().map(|run| run.count).fold(0, usize::saturating_add);
        if shape.size > quota.max_bytes() {
            return Err(Errno::NoSpace);
        }
        if chunks > shape.table {
            return Err(Errno::Invalid);
        }
        let mut made = Self { size: shape.size, ..Self::default() };
        let table = count(shape.table.saturating_mul(size_of::<Vec<u8>>()));
        if table > quota.free_bytes() {
            return Err(Errno::NoSpace);
        }
        made.chunks.try_reserve_exact(shape.table).ok().ok_or(Errno::NoSpace)?;
        quota.charge(made.table_size())?;
        for run in &shape.chunks {
            for _ in 0..run.count {
                made.add_zeros(*run, quota)?;
            }
        }
        made.mounted.clone_from(&shape.mounted);
        Ok(made)
    }

    /// Appends a chunk of zeros.
    fn add_zeros(&mut self, run: ChunkRun, quota: &mut Quota) -> Result<(), Errno> {
        let ChunkRun { length, capacity, .. } = run;
        let end = self.chunks.len().saturating_mul(CHUNK).saturating_add(length);
        let is_within = length == 0 || count(end) <= self.size;
        if length > capacity || capacity > CHUNK || !is_within {
            return Err(Errno::Invalid);
        }
        if count(capacity) > quota.free_bytes() {
            return Err(Errno::NoSpace);
        }
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(capacity).ok().ok_or(Errno::NoSpace)?;
        quota.charge(count(chunk.capacity()))?;
        chunk.resize(length, 0);
        self.chunks.push(chunk);
        Ok(())
    }

    /// Puts bytes into the memory that a file [has](Self::filled) from `offset` on, as a copy of
    /// another file. Zeros may lie beyond that memory.
    ///
    /// # Errors
    ///
    /// `EINVAL` if anything else lies beyond it.
    pub(crate) fn fill(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        let (mut rest, mut position) = (bytes, offset);
        while !rest.is_empty() {
            let (index, inside) = place(position);
            let length = rest.len().min(CHUNK.saturating_sub(inside));
            let (part, later) = rest.split_at_checked(length).unwrap_or_default();
            let chunk = self.chunks.get_mut(index).map(Vec::as_mut_slice).unwrap_or_default();
            let room = chunk.get_mut(inside..).unwrap_or_default();
            let (within, beyond) = part.split_at(part.len().min(room.len()));
            if let Some(to) = room.get_mut(..within.len()) {
                to.copy_from_slice(within);
            }
            if beyond.iter().any(|byte| *byte != 0) {
                return Err(Errno::Invalid);
            }
            position = position.saturating_add(count(length));
            rest = later;
        }
        Ok(())
    }

    /// Reads from `offset`. Returns the number of bytes, zero at the end.
    pub(crate) fn read_at(&self, offset: u64, into: &mut [u8]) -> usize {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = into.len().min(left);
        let mut rest = into.get_mut(..wanted).unwrap_or_default();
        let mut position = offset;
        while !rest.is_empty() {
            let (index, inside) = place(position);
            let length = rest.len().min(CHUNK.saturating_sub(inside));
            let Some((part, later)) = rest.split_at_mut_checked(length) else { break };
            let chunk = self.chunks.get(index).map(Vec::as_slice).unwrap_or_default();
            let copied = copy_from(chunk, count(inside), part);
            part.get_mut(copied..).unwrap_or_default().fill(0);
            position = position.saturating_add(count(length));
            rest = later;
        }
        wanted
    }

    /// Writes at `offset`, which may be past the end. Returns the number of written bytes, fewer
    /// than requested if the quota does not suffice.
    ///
    /// # Errors
    ///
    /// `EFBIG` beyond the largest size, `ENOSPC` if not one byte could be written.
    pub(crate) fn write_at(
        &mut self,
        offset: u64,
        from: &[u8],
        quota: &mut Quota,
    ) -> Result<usize, Errno> {
        if from.is_empty() {
            return Ok(0);
        }
        self.mounted = None;
        self.edits = self.edits.saturating_add(1);
        let room = quota.max_bytes().saturating_sub(offset);
        if room == 0 {
            return Err(Errno::FileTooBig);
        }
        let wanted = from.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let mut rest = from.get(..wanted).unwrap_or_default();
        let mut position = offset;
        while !rest.is_empty() {
            let (index, inside) = place(position);
            let length = rest.len().min(CHUNK.saturating_sub(inside));
            let Some((part, later)) = rest.split_at_checked(length) else { break };
            let written = self.write_chunk(index, inside, part, quota);
            position = position.saturating_add(count(written));
            if written > 0 {
                self.size = self.size.max(position);
            }
            if written < length {
                break;
            }
            rest = later;
        }
        match usize::try_from(position.saturating_sub(offset)).unwrap_or(usize::MAX) {
            0 => Err(Errno::NoSpace),
            written => Ok(written),
        }
    }

    /// Cuts the file, or lengthens it by a hole.
    ///
    /// # Errors
    ///
    /// `EFBIG` beyond the largest size.
    pub(crate) fn set_size(&mut self, size: u64, quota: &mut Quota) -> Result<(), Errno> {
        if size > quota.max_bytes() {
            return Err(Errno::FileTooBig);
        }
        self.mounted = None;
        self.edits = self.edits.saturating_add(1);
        if size < self.size {
            let before = self.allocated();
            let (index, inside) = place(size);
            self.chunks.truncate(if inside == 0 { index } else { index.saturating_add(1) });
            if let Some(last) = self.chunks.get_mut(index) {
                last.truncate(inside);
                last.shrink_to_fit();
            }
            self.chunks.shrink_to_fit();
            quota.release(before.saturating_sub(self.allocated()));
        }
        self.size = size;
        Ok(())
    }

    /// Copies the whole file, if it has at most `max` bytes and memory is left.
    pub(crate) fn to_vec(&self, max: u64) -> Result<Vec<u8>, Errno> {
        if self.size > max {
            return Err(Errno::FileTooBig);
        }
        let size = usize::try_from(self.size).ok().ok_or(Errno::FileTooBig)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).ok().ok_or(Errno::NoSpace)?;
        for index in 0..size.div_ceil(CHUNK) {
            let chunk = self.chunks.get(index).map(Vec::as_slice).unwrap_or_default();
            bytes.extend_from_slice(chunk);
            bytes.resize(size.min(index.saturating_add(1).saturating_mul(CHUNK)), 0);
        }
        Ok(bytes)
    }

    /// Reads the file from its start without copying it.
    pub(crate) const fn reader(&self) -> StorageReader<'_> {
        StorageReader { storage: self, position: 0 }
    }

    /// Writes as many bytes within one chunk as the quota allows. Returns their number.
    fn write_chunk(&mut self, index: usize, at: usize, from: &[u8], quota: &mut Quota) -> usize {
        if self.ensure_table(index, quota).is_err() {
            return 0;
        }
        let Some(chunk) = self.chunks.get_mut(index) else { return 0 };
        ensure_capacity(chunk, at.saturating_add(from.len()), quota);
        let room = chunk.capacity().saturating_sub(at).min(from.len());
        if room == 0 {
            return 0;
        }
        if chunk.len() < at {
            chunk.resize(at, 0);
        }
        // Overwrite existing bytes, then append the rest, so that no byte is cleared first.
        let (over, beyond) =
            from.get(..room).unwrap_or_default().split_at(room.min(chunk.len().saturating_sub(at)));
        if let Some(to) = chunk.get_mut(at..at.saturating_add(over.len())) {
            to.copy_from_slice(over);
        }
        chunk.extend_from_slice(beyond);
        room
    }

    /// Makes sure that there is a chunk of that index.
    fn ensure_table(&mut self, index: usize, quota: &mut Quota) -> Result<(), Errno> {
        let needed = index.saturating_add(1);
        if needed > self.chunks.capacity() {
            let before = self.table_size();
            let doubled = self.chunks.capacity().saturating_mul(2);
            for capacity in [needed.max(doubled), needed] {
                let cost = count(capacity.saturating_mul(size_of::<Vec<u8>>()));
                if cost.saturating_sub(before) <= quota.free_bytes() {
                    let more = capacity.saturating_sub(self.chunks.len());
                    self.chunks.try_reserve_exact(more).ok().ok_or(Errno::NoSpace)?;
                    break;
                }
            }
            quota.charge(self.table_size().saturating_sub(before))?;
        }
        if needed > self.chunks.capacity() {
            return Err(Errno::NoSpace);
        }
        if needed > self.chunks.len() {
            self.chunks.resize_with(needed, Vec::new);
        }
        Ok(())
    }

    fn table_size(&self) -> u64 {
        count(self.chunks.capacity().saturating_mul(size_of::<Vec<u8>>()))
    }
}

/// Grows a chunk towards `needed` bytes, as far as the quota allows.
fn ensure_capacity(chunk: &mut Vec<u8>, needed: usize, quota: &mut Quota) {
    let before = chunk.capacity();
    if needed <= before {
        return;
    }
    // A file that is written at once gets the needed capacity; a growing file doubles its capacity.
    let roomy = needed.max(before.saturating_mul(2)).clamp(MIN_CAPACITY, CHUNK);
    let affordable =
        before.saturating_add(usize::try_from(quota.free_bytes()).unwrap_or(usize::MAX));
    let capacity = if roomy <= affordable { roomy } else { needed.min(affordable) };
    if chunk.try_reserve_exact(capacity.saturating_sub(chunk.len())).is_ok() {
        let more = count(chunk.capacity().saturating_sub(before));
        if quota.charge(more).is_err() {
            // The allocator gave more than was requested, and more than the quota has left.
            chunk.shrink_to(before);
        }
    }
}

/// Index of the chunk that holds `offset`, and the offset in it.
fn place(offset: u64) -> (usize, usize) {
    let index = usize::try_from(offset / CHUNK_SIZE).unwrap_or(usize::MAX);
    let inside = usize::try_from(offset % CHUNK_SIZE).unwrap_or(usize::MAX);
    (index, inside)
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
