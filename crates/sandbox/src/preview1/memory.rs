//! The guest's memory during one call, with every access checked.

use crate::vfs::Errno;

/// A pointer and a length as the guest gave them: unchecked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub start: u32,
    pub len: u32,
}

impl Span {
    pub(crate) const fn new(start: u32, len: u32) -> Self {
        Self { start, len }
    }

    /// The first `len` bytes of it at most.
    pub(crate) fn at_most(self, len: u32) -> Self {
        Self { start: self.start, len: self.len.min(len) }
    }
}

/// Most vectors that one call may name, as on Linux: beyond it `EINVAL`.
pub(crate) const MAX_VECTORS: u32 = 1024;

/// Size of a vector in the guest's memory: pointer and length.
const VECTOR_SIZE: u32 = 8;

/// The guest's memory.
pub(crate) struct GuestMemory<'a>(&'a mut [u8]);

impl<'a> GuestMemory<'a> {
    pub(crate) const fn new(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes of a span, or `EFAULT`.
    pub(crate) fn bytes(&self, span: Span) -> Result<&[u8], Errno> {
        let (start, end) = range(span)?;
        self.0.get(start..end).ok_or(Errno::Fault)
    }

    /// The bytes of a span to change, or `EFAULT`.
    pub(crate) fn bytes_mut(&mut self, span: Span) -> Result<&mut [u8], Errno> {
        let (start, end) = range(span)?;
        self.0.get_mut(start..end).ok_or(Errno::Fault)
    }

    /// The text of a span: `EFAULT`, or `EILSEQ` if it is no UTF-8.
    pub(crate) fn text(&self, span: Span) -> Result<&str, Errno> {
        std::str::from_utf8(self.bytes(span)?).ok().ok_or(Errno::IllegalSequence)
    }

    /// Refuses a span outside of memory. Functions check the places of their results in this way
    /// before they have effects.
    pub(crate) fn ensure(&self, start: u32, len: u32) -> Result<(), Errno> {
        self.bytes(Span::new(start, len)).map(|_| ())
    }

    /// The `N` bytes from `start`.
    pub(crate) fn array<const N: usize>(&self, start: u32) -> Result<[u8; N], Errno> {
        let start = usize::try_from(start).ok().ok_or(Errno::Fault)?;
        let rest = self.0.get(start..).ok_or(Errno::Fault)?;
        rest.first_chunk().copied().ok_or(Errno::Fault)
    }

    /// Writes `value` at `start`.
    pub(crate) fn put<const N: usize>(&mut self, start: u32, value: [u8; N]) -> Result<(), Errno> {
        let start = usize::try_from(start).ok().ok_or(Errno::Fault)?;
        let rest = self.0.get_mut(start..).ok_or(Errno::Fault)?;
        *rest.first_chunk_mut().ok_or(Errno::Fault)? = value;
        Ok(())
    }

    pub(crate) fn put_u32(&mut self, start: u32, value: u32) -> Result<(), Errno> {
        self.put(start, value.to_le_bytes())
    }

    pub(crate) fn put_u64(&mut self, start: u32, value: u64) -> Result<(), Errno> {
        self.put(start, value.to_le_bytes())
    }

    /// Writes a count; counts are lengths within the guest's memory, so they fit.
    pub(crate) fn put_count(&mut self, start: u32, count: usize) -> Result<(), Errno> {
        self.put_u32(start, u32::try_from(count).ok().ok_or(Errno::Overflow)?)
    }

    /// Checks that a list of `vectors.len` vectors and all their buffers are inside of memory.
    pub(crate) fn ensure_vectors(&self, vectors: Span) -> Result<(), Errno> {
        if vectors.len > MAX_VECTORS {
            return Err(Errno::Invalid);
        }
        for index in 0..vectors.len {
            let vector = self.vector(vectors, index)?;
            self.ensure(vector.start, vector.len)?;
        }
        Ok(())
    }

    /// The vector of that index.
    pub(crate) fn vector(&self, vectors: Span, index: u32) -> Result<Span, Errno> {
        let offset = index.checked_mul(VECTOR_SIZE).ok_or(Errno::Fault)?;
        let at = vectors.start.checked_add(offset).ok_or(Errno::Fault)?;
        let [a, b, c, d, e, f, g, h] = self.array(at)?;
        Ok(Span::new(u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
    }
}

fn range(span: Span) -> Result<(usize, usize), Errno> {
    let start = usize::try_from(span.start).ok().ok_or(Errno::Fault)?;
    let len = usize::try_from(span.len).ok().ok_or(Errno::Fault)?;
    Ok((start, start.checked_add(len).ok_or(Errno::Fault)?))
}
