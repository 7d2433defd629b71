//! The frames that a guest sends to its host.
//!
//! A frame is an operation byte and a payload; an answer is a status byte and a body. The frames
//! come from a possibly hostile guest: everything in them is bounded and checked.

use std::time::Duration;

use crate::host_call::cell::CellRequest;
use crate::host_call::file_request::FileRequest;
use crate::run::capture::GuestLogLevel;
use wardian_formats::job::network::NetworkRequest;

/// A frame, parsed.
#[derive(Debug, PartialEq)]
pub(crate) enum Request<'a> {
    /// Fetch the job.
    Job,
    /// The program's value, as JSON text.
    Returned(&'a [u8]),
    /// The same, with the conversions that made it, as JSON text.
    Converted { conversions: &'a [u8], value: &'a [u8] },
    /// The program raised; JSON text.
    Raised(&'a [u8]),
    /// A line for the log.
    Log { level: GuestLogLevel, message: &'a [u8] },
    /// Store this content.
    WriteBlob { kind: &'a str, content: &'a [u8] },
    /// Store the content of a file that the guest can read.
    WriteBlobFile { kind: &'a str, path: &'a str },
    /// A request about the guest's own files.
    Files(FileRequest),
    /// Read or write a picture or a table.
    Codec(&'a [u8]),
    /// Ask the network.
    Network(NetworkRequest<'a>),
    /// Name a blob that was stored.
    NameBlob { id: &'a str, name: &'a str },
    /// Look at the timer of SIGALRM, or set it.
    Timer(TimerRequest),
    /// Something of a cell.
    Cell(CellRequest<'a>),
    /// Tell the caller how far the program is.
    Progress { done: f64, total: Option<f64>, message: &'a [u8] },
}

impl<'a> Request<'a> {
    /// Parses a frame; none if it is malformed.
    pub(crate) fn parse(frame: &'a [u8]) -> Option<Self> {
        let (operation, payload) = frame.split_first()?;
        match operation {
            0x01 if payload.is_empty() => Some(Self::Job),
            0x02 => Some(Self::Returned(payload)),
            0x03 => Some(Self::Raised(payload)),
            0x04 => {
                let (level, message) = payload.split_first()?;
                Some(Self::Log { level: GuestLogLevel::from_byte(*level), message })
            }
            0x05 => kind_and_rest(payload).map(|(kind, content)| Self::WriteBlob { kind, content }),
            0x06 => {
                let (kind, path) = kind_and_rest(payload)?;
                Some(Self::WriteBlobFile { kind, path: std::str::from_utf8(path).ok()? })
            }
            0x07 => FileRequest::parse(payload).map(Self::Files),
            0x08 => Some(Self::Codec(payload)),
            0x09 => NetworkRequest::parse(payload).map(Self::Network),
            0x0a => {
                let (done, rest) = payload.split_first_chunk::<8>()?;
                let (total, message) = rest.split_first_chunk::<8>()?;
                let total = Some(f64::from_le_bytes(*total)).filter(|total| !total.is_nan());
                Some(Self::Progress { done: f64::from_le_bytes(*done), total, message })
            }
            0x0b => {
                let (length, rest) = payload.split_first_chunk::<4>()?;
                let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
                let (conversions, value) = rest.split_at_checked(length)?;
                Some(Self::Converted { conversions, value })
            }
            0x0c => {
                let (id, name) = kind_and_rest(payload)?;
                Some(Self::NameBlob { id, name: std::str::from_utf8(name).ok()? })
            }
            0x0e => CellRequest::parse(payload).map(Self::Cell),
            0x0d => TimerRequest::parse(payload).map(Self::Timer),
            _ => None,
        }
    }
}

/// A request about the timer of SIGALRM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerRequest {
    /// How long it still runs, and its interval.
    Get,
    /// The same; then set it again. It runs for `first`, and not at all if that is zero.
    Set {
        /// The time until the signal.
        first: Duration,
        /// The time from each signal to the next, zero for one signal alone.
        interval: Duration,
    },
    /// Whether a signal is due. If so, the guest calls the handler itself, and nobody else does.
    Take,
}

impl TimerRequest {
    /// The operation byte of its frames.
    pub(crate) const OPERATION: u8 = 0x0d;

    fn parse(payload: &[u8]) -> Option<Self> {
        let (kind, rest) = payload.split_first()?;
        match kind {
            0 if rest.is_empty() => Some(Self::Get),
            1 => {
                let (first, interval) = rest.split_first_chunk::<8>()?;
                let nanoseconds = |bytes| Duration::from_nanos(u64::from_le_bytes(bytes));
                let interval = nanoseconds(interval.try_into().ok()?);
                Some(Self::Set { first: nanoseconds(*first), interval })
            }
            2 if rest.is_empty() => Some(Self::Take),
            _ => None,
        }
    }
}

fn kind_and_rest(payload: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = payload.split_first_chunk::<2>()?;
    let (kind, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((std::str::from_utf8(kind).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_are_parsed() {
        let blob = b"\x05\x0a\x00text/plainhello";
        let expected = Request::WriteBlob { kind: "text/plain", content: b"hello" };
        assert_eq!(Request::parse(blob), Some(expected));
        let log = Request::Log { level: GuestLogLevel::Warning, message: b"x" };
        assert_eq!(Request::parse(b"\x04\x02x"), Some(log));
        let file = b"\x06\x01\x00a/workspace/x";
        assert_eq!(Request::parse(b"\x08x"), Some(Request::Codec(b"x")));
        let progress =
            [&b"\x0a"[..], &2.5_f64.to_le_bytes(), &f64::NAN.to_le_bytes(), b"x"].concat();
        let expected = Request::Progress { done: 2.5, total: None, message: b"x" };
        assert_eq!(Request::parse(&progress), Some(expected));
        let converted = Request::Converted { conversions: b"{}", value: b"[1]" };
        assert_eq!(Request::parse(b"\x0b\x02\x00\x00\x00{}[1]"), Some(converted));
        let named = b"\x0c\x01\x00ab.csv";
        let expected = Request::NameBlob { id: "a", name: "b.csv" };
        assert_eq!(Request::parse(named), Some(expected));
        let set = [&b"\x0d\x01"[..], &5_u64.to_le_bytes(), &7_u64.to_le_bytes()].concat();
        let (first, interval) = (Duration::from_nanos(5), Duration::from_nanos(7));
        let expected = Request::Timer(TimerRequest::Set { first, interval });
        assert_eq!(Request::parse(&set), Some(expected));
        assert_eq!(Request::parse(b"\x0d\x00"), Some(Request::Timer(TimerRequest::Get)));
        assert_eq!(Request::parse(b"\x0d\x02"), Some(Request::Timer(TimerRequest::Take)));
        assert_eq!(Request::parse(b"\x0e\x01"), Some(Request::Cell(CellRequest::Clear)));
        let name = NetworkRequest::Resolve { name: "a" };
        assert_eq!(Request::parse(b"\x09\x01a"), Some(Request::Network(name)));
        assert_eq!(
            Request::parse(file),
            Some(Request::WriteBlobFile { kind: "a", path: "/workspace/x" })
        );
    }

    #[test]
    fn malformed_frames_are_refused() {
        for frame in [
            &b""[..],
            b"\x00",
            b"\x01extra",
            b"\x04",
            b"\x05\x05",
            b"\x05\xff\xffabc",
            b"\x05\x01\x00\xff",
            b"\x06\x01\x00a\xff",
            b"\x09",
            b"\x09\x01",
            b"\x0a1234567812345678"[..16].as_ref(),
            b"\x0b\x02\x00\x00",
            b"\x0b\x02\x00\x00\x00{",
            b"\x0b\xff\xff\xff\xff{}",
            b"\x0c",
            b"\x0c\x05\x00a",
            b"\x0c\x01\x00a\xff",
            b"\x0d",
            b"\x0d\x00x",
            b"\x0d\x0112345678",
            b"\x0d\x01123456781234567812",
            b"\x0d\x02x",
            b"\x0d\x03",
            b"\x0e",
            b"\x0e\x01x",
            b"\x7f",
        ] {
            assert_eq!(Request::parse(frame), None, "{frame:?}");
        }
    }

    proptest! {
        #[test]
        fn hostile_frames_never_panic(frame in prop::collection::vec(any::<u8>(), 0..64)) {
            std::hint::black_box(Request::parse(&frame));
        }
    }
}
