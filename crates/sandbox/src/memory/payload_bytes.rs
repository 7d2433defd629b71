//! The bytes of a payload as one slice, without a copy of large ones.
#![expect(unsafe_code, reason = "a mapped file is read as a slice")]

use std::fmt;
use std::slice;

use crate::memory::MemoryError;
use crate::memory::mapping::Mapping;
use wardian_formats::job::message::Payload;
use wardian_formats::job::socket::IMMUTABLE;
use wardian_vocabulary::units::ByteCount;

/// The bytes of a payload of the gateway. Those of a memory file are mapped, so they take no private
/// memory.
pub struct PayloadBytes(Source);

enum Source {
    Inline(Vec<u8>),
    Mapped { file: Mapping, length: usize },
}

impl PayloadBytes {
    /// Opens a payload.
    ///
    /// # Errors
    ///
    /// It is a file that could still change, or of another size than stated, or the operating system
    /// does not map it.
    pub fn open(payload: Payload) -> Result<Self, MemoryError> {
        let (file, size) = match payload {
            Payload::None => return Ok(Self(Source::Inline(Vec::new()))),
            Payload::Inline(bytes) => return Ok(Self(Source::Inline(bytes))),
            Payload::Shared(file, size) => (file, size),
        };
        let unsealed = MemoryError::Payload { problem: "is not sealed" };
        match rustix::fs::fcntl_get_seals(&file) {
            Ok(seals) if seals.contains(IMMUTABLE) => {}
            _ => return Err(unsealed),
        }
        let status = rustix::fs::fstat(&file).map_err(MemoryError::system("inspect a payload"))?;
        if u64::try_from(status.st_size) != Ok(size.as_u64()) {
            return Err(MemoryError::Payload { problem: "is not as large as stated" });
        }
        if size == ByteCount::default() {
            return Ok(Self(Source::Inline(Vec::new())));
        }
        let length = size.as_usize();
        Ok(Self(Source::Mapped { file: Mapping::read_only(&file, length)?, length }))
    }
}

impl AsRef<[u8]> for PayloadBytes {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Source::Inline(bytes) => bytes,
            // SAFETY: the mapping is readable for this length, which is that of its file. Nobody can
            // change or shrink the file, because it is sealed, and nothing here changes the mapping,
            // which lives as long as `self`.
            Source::Mapped { file, length } => unsafe {
                slice::from_raw_parts(file.base(), *length)
            },
        }
    }
}

/// Prints no byte: a payload can hold a guest's memory.
impl fmt::Debug for PayloadBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PayloadBytes").field("length", &self.as_ref().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::OwnedFd;

    use rustix::fs::MemfdFlags;

    use super::*;
    use wardian_formats::job::socket::share;

    fn shared(bytes: &[u8]) -> Payload {
        Payload::Shared(share(bytes).unwrap(), ByteCount::from(bytes.len()))
    }

    #[test]
    fn bytes_are_the_same_by_every_way() {
        let large: Vec<u8> = (0..300_001_u32).map(|number| number.to_le_bytes()[1]).collect();
        for bytes in [&[][..], b"x", &large] {
            for payload in [Payload::Inline(bytes.to_vec()), shared(bytes)] {
                let opened = PayloadBytes::open(payload).unwrap();
                assert!(opened.as_ref() == bytes, "{opened:?}");
            }
        }
        assert_eq!(PayloadBytes::open(Payload::None).unwrap().as_ref(), b"");
    }

    #[test]
    fn a_file_that_could_change_is_refused() {
        let memory = rustix::fs::memfd_create(c"x", MemfdFlags::ALLOW_SEALING).unwrap();
        let mut on_disk = tempfile::tempfile().unwrap();
        on_disk.write_all(b"12345").unwrap();
        let mut memory = File::from(memory);
        memory.write_all(b"12345").unwrap();
        for file in [OwnedFd::from(memory), on_disk.into()] {
            let opened = PayloadBytes::open(Payload::Shared(file, ByteCount::bytes(5)));
            assert!(matches!(opened, Err(MemoryError::Payload { problem: "is not sealed" })));
        }
        for stated in [0, 4, 6, u64::MAX] {
            let file = share(b"12345").unwrap();
            let opened = PayloadBytes::open(Payload::Shared(file, ByteCount::bytes(stated)));
            assert!(matches!(opened, Err(MemoryError::Payload { .. })), "{stated}");
        }
    }

    #[test]
    fn no_byte_is_printed() {
        let printed = format!("{:?}", PayloadBytes::open(shared(b"hunter2")).unwrap());
        assert_eq!(printed, "PayloadBytes { length: 7 }");
    }
}
