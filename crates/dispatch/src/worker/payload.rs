//! Checks and reads the bulk bytes that a worker sends. None of its statements is trusted.
//!
//! INVARIANT(sealed-only): the gateway reads a worker's descriptor only if it is a sealed memory
//! file, which can no longer be changed or shrunk, of the announced size. The gateway never maps
//! it. So a worker can neither block a reader with a pipe or a device, nor change checked bytes,
//! nor cause a fault by truncating the file.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FileType, fcntl_get_seals, fstat};

use wardian_formats::job::message::Payload;
use wardian_formats::job::socket::IMMUTABLE;
use wardian_vocabulary::units::ByteCount;

/// The reason why a payload is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// Not a memory file: a pipe, a device, a socket, a file on disk.
    #[error("a payload is not a memory file")]
    NotMemory,
    /// Another process could still change it.
    #[error("a payload is not sealed")]
    NotSealed,
    /// Its size is not the announced one.
    #[error("a payload has {actual} instead of {announced}")]
    WrongSize {
        /// The announced size.
        announced: ByteCount,
        /// The real size.
        actual: ByteCount,
    },
}

/// Bytes from a worker, to be read once from start to end.
#[derive(Debug)]
pub struct CheckedPayload {
    source: Source,
    position: u64,
}

#[derive(Debug)]
enum Source {
    Bytes(Vec<u8>),
    Sealed { file: File, size: u64 },
}

impl CheckedPayload {
    /// Checks a payload.
    ///
    /// # Errors
    ///
    /// The payload breaks the rules: the worker is broken or hostile.
    pub fn accept(payload: Payload) -> Result<Self, PayloadError> {
        let source = match payload {
            Payload::None => Source::Bytes(Vec::new()),
            Payload::Inline(bytes) => Source::Bytes(bytes),
            Payload::Shared(descriptor, size) => accept_shared(descriptor, size)?,
        };
        Ok(Self { source, position: 0 })
    }

    /// Length in bytes.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        match &self.source {
            Source::Bytes(bytes) => ByteCount::from(bytes.len()),
            Source::Sealed { size, .. } => ByteCount::bytes(*size),
        }
    }

    /// Fills `buffer` with the bytes at `offset`. Blocks while they are read.
    ///
    /// # Errors
    ///
    /// There are fewer, or the operating system reports an error.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.source {
            Source::Bytes(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let part = bytes.get(start..).and_then(|rest| rest.get(..buffer.len()));
                buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Source::Sealed { file, .. } => file.read_exact_at(buffer, offset),
        }
    }

    /// All bytes at once. Blocks while they are read.
    ///
    /// # Errors
    ///
    /// The operating system reports an error.
    pub fn into_bytes(mut self) -> io::Result<Vec<u8>> {
        if let Source::Bytes(bytes) = self.source {
            return Ok(bytes);
        }
        let mut bytes = Vec::with_capacity(self.size().as_usize());
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for CheckedPayload {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &self.source {
            Source::Bytes(bytes) => {
                let start = usize::try_from(self.position).unwrap_or(usize::MAX);
                let mut rest = bytes.get(start..).unwrap_or_default();
                rest.read(buffer)?
            }
            Source::Sealed { file, size } => {
                let rest = ByteCount::bytes(size.saturating_sub(self.position)).as_usize();
                let wanted = buffer.len().min(rest);
                file.read_at(buffer.get_mut(..wanted).unwrap_or_default(), self.position)?
            }
        };
        self.position = self.position.saturating_add(ByteCount::from(count).as_u64());
        Ok(count)
    }
}

fn accept_shared(descriptor: OwnedFd, announced: ByteCount) -> Result<Source, PayloadError> {
    // Only memory files have seals. This call never blocks.
    let Ok(seals) = fcntl_get_seals(&descriptor) else {
        return Err(PayloadError::NotMemory);
    };
    let Ok(status) = fstat(&descriptor) else {
        return Err(PayloadError::NotMemory);
    };
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(PayloadError::NotMemory);
    }
    if !seals.contains(IMMUTABLE) {
        return Err(PayloadError::NotSealed);
    }
    let actual = ByteCount::bytes(u64::try_from(status.st_size).unwrap_or(0));
    if actual != announced {
        return Err(PayloadError::WrongSize { announced, actual });
    }
    Ok(Source::Sealed { file: descriptor.into(), size: announced.as_u64() })
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

    use super::*;
    use wardian_formats::job::socket::share;

    fn memory_file(size: u64, seals: SealFlags) -> OwnedFd {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
        let file = memfd_create(c"test", flags).unwrap();
        ftruncate(&file, size).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    }

    #[test]
    fn sealed_only_and_everything_else_is_refused() {
        let open = |path: &str| OwnedFd::from(File::open(path).unwrap());
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let half = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE;
        let cases: [(&str, OwnedFd); 9] = [
            ("a pipe", pipe),
            ("a socket", socket.into()),
            ("a device of zeros", open("/dev/zero")),
            ("a file of the kernel", open("/proc/self/stat")),
            ("a folder", open("/")),
            ("a file on disk", tempfile::tempfile().unwrap().into()),
            ("memory that can change", memory_file(5, SealFlags::SHRINK | SealFlags::GROW)),
            ("memory that old mappings can change", memory_file(5, half)),
            ("memory that can shrink", memory_file(5, SealFlags::WRITE | SealFlags::SEAL)),
        ];
        for (what, descriptor) in cases {
            let payload = Payload::Shared(descriptor, ByteCount::bytes(5));
            assert!(CheckedPayload::accept(payload).is_err(), "accepted {what}");
        }
    }

    #[test]
    fn the_announced_size_must_be_the_true_one() {
        for announced in [0, 4, 6, u64::MAX] {
            let payload = Payload::Shared(share(b"five!").unwrap(), ByteCount::bytes(announced));
            let end = CheckedPayload::accept(payload);
            assert!(matches!(end, Err(PayloadError::WrongSize { .. })), "{announced}: {end:?}");
        }
    }

    #[test]
    fn all_bytes_arrive_by_either_way() {
        let large: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let size = ByteCount::from(large.len());
        for payload in
            [Payload::Inline(large.clone()), Payload::Shared(share(&large).unwrap(), size)]
        {
            let received = CheckedPayload::accept(payload).unwrap();
            assert_eq!(received.size(), size);
            assert!(received.into_bytes().unwrap() == large);
        }
        let mut text = String::new();
        let payload = Payload::Shared(share(b"in small steps").unwrap(), ByteCount::bytes(14));
        CheckedPayload::accept(payload).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "in small steps");
    }
}
