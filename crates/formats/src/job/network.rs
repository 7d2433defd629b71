//! What a guest asks of the network, and what it is answered, as bytes.
//!
//! A request goes from the guest through its worker to the gateway. Both read it with
//! [`NetworkRequest::parse`]: the worker shortens it, the gateway does not believe the worker.
//! All numbers are little endian.

use std::time::Duration;

use crate::job::message::INLINE_MAX;

/// Maximum number of bytes that one request writes or one answer holds. More would travel as a
/// memory file, which costs more than a second request.
pub const PIECE_MAX: usize = INLINE_MAX - 64;

/// Maximum number of connections that one request waits for.
pub(crate) const WISHES_MAX: usize = 256;

/// Longest name that is looked up or connected to, in bytes.
pub(crate) const NAME_MAX: usize = 255;

/// Maximum number of bytes that a request asks to read. An answer holds at most [`PIECE_MAX`] of
/// them.
const READ_MAX: usize = 1 << 20;

/// Maximum number of bytes that a guest offers to write in one request. At most [`PIECE_MAX`] of
/// them are taken.
const WRITE_MAX: usize = 1 << 18;

/// A wait without an end.
const FOR_EVER: u32 = u32::MAX;

/// A request, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkRequest<'a> {
    /// Is there a host of this name, and may the run reach it?
    Resolve {
        /// The name.
        name: &'a str,
    },
    /// Begin to connect.
    Start {
        /// The port.
        port: u16,
        /// The name of the host, or its address.
        name: &'a str,
    },
    /// Wait until one of the connections is ready.
    Poll {
        /// The longest wait; `None` for one without an end.
        timeout: Option<Duration>,
        /// The connections.
        wishes: Vec<Wish>,
    },
    /// Read bytes.
    Read {
        /// Names the connection.
        handle: u32,
        /// Maximum number of bytes to read.
        max: usize,
        /// The longest wait; `None` for one without an end.
        timeout: Option<Duration>,
    },
    /// Write bytes. Of nothing, tell how connecting went.
    Write {
        /// Names the connection.
        handle: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// End a connection.
    Close {
        /// Names the connection.
        handle: u32,
        /// True if only the writing half ends.
        is_half: bool,
    },
}

/// One connection of a [`NetworkRequest::Poll`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Names the connection.
    pub handle: u32,
    /// [`Wish::READ`], [`Wish::WRITE`] or both.
    pub mask: u8,
}

impl Wish {
    /// Bytes, the end or an error can be read.
    pub const READ: u8 = 1;
    /// Bytes can be written, or connecting is over.
    pub const WRITE: u8 = 2;
}

impl<'a> NetworkRequest<'a> {
    /// Takes a request apart. `None` if it is malformed or beyond its bounds.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (operation, rest) = bytes.split_first()?;
        match operation {
            1 => Some(Self::Resolve { name: name(rest)? }),
            2 => {
                let (port, rest) = rest.split_first_chunk::<2>()?;
                Some(Self::Start { port: u16::from_le_bytes(*port), name: name(rest)? })
            }
            3 => {
                let (timeout, rest) = number(rest)?;
                let (wishes, left) = rest.as_chunks::<5>();
                if !left.is_empty() || wishes.len() > WISHES_MAX {
                    return None;
                }
                let wishes = wishes.iter().map(Wish::parse).collect::<Option<_>>()?;
                Some(Self::Poll { timeout: wait(timeout), wishes })
            }
            4 => {
                let (handle, rest) = number(rest)?;
                let (max, rest) = number(rest)?;
                let (timeout, rest) = number(rest)?;
                let max = usize::try_from(max).ok().filter(|max| (1..=READ_MAX).contains(max))?;
                rest.is_empty().then_some(Self::Read { handle, max, timeout: wait(timeout) })
            }
            5 => {
                let (handle, bytes) = number(rest)?;
                (bytes.len() <= WRITE_MAX).then_some(Self::Write { handle, bytes })
            }
            6 => {
                let (handle, rest) = number(rest)?;
                let is_half = match rest {
                    [0] => false,
                    [1] => true,
                    _ => return None,
                };
                Some(Self::Close { handle, is_half })
            }
            _ => None,
        }
    }

    /// The same request with no longer wait than `time`, and no more bytes than one message moves.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        let shorter = |timeout: Option<Duration>| Some(timeout.map_or(time, |own| own.min(time)));
        match self {
            Self::Poll { timeout, wishes } => Self::Poll { timeout: shorter(timeout), wishes },
            Self::Read { handle, max, timeout } => {
                Self::Read { handle, max: max.min(PIECE_MAX), timeout: shorter(timeout) }
            }
            Self::Write { handle, bytes } => {
                Self::Write { handle, bytes: bytes.get(..PIECE_MAX).unwrap_or(bytes) }
            }
            other => other,
        }
    }

    /// The request as bytes, which [`NetworkRequest::parse`] reads.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Resolve { name } => [&[1], name.as_bytes()].concat(),
            Self::Start { port, name } => [&[2], &port.to_le_bytes()[..], name.as_bytes()].concat(),
            Self::Poll { timeout, wishes } => {
                let mut bytes = vec![3];
                bytes.extend(milliseconds(*timeout).to_le_bytes());
                for wish in wishes {
                    bytes.extend(wish.handle.to_le_bytes());
                    bytes.push(wish.mask);
                }
                bytes
            }
            Self::Read { handle, max, timeout } => {
                let max = u32::try_from(*max).unwrap_or(u32::MAX);
                let numbers = [*handle, max, milliseconds(*timeout)].map(u32::to_le_bytes);
                [&[4], numbers.as_flattened()].concat()
            }
            Self::Write { handle, bytes } => [&[5], &handle.to_le_bytes()[..], bytes].concat(),
            Self::Close { handle, is_half } => {
                [&[6], &handle.to_le_bytes()[..], &[u8::from(*is_half)]].concat()
            }
        }
    }

    /// How long the request may wait, and for what.
    #[must_use]
    pub const fn wait(&self) -> NetworkWait {
        match self {
            Self::Poll { timeout, .. } => NetworkWait::Readiness(*timeout),
            Self::Read { timeout, .. } => NetworkWait::Bytes(*timeout),
            _ => NetworkWait::None,
        }
    }

    /// The reply that says that nothing came; none for a request that does not wait.
    #[must_use]
    pub fn in_vain(&self) -> Option<NetworkReply> {
        match self {
            Self::Poll { wishes, .. } => Some(NetworkReply::Ready(vec![0; wishes.len()])),
            Self::Read { .. } => Some(NetworkReply::Nothing),
            Self::Resolve { .. } | Self::Start { .. } | Self::Write { .. } | Self::Close { .. } => {
                None
            }
        }
    }

    /// True for requests that count as calls of the host. The others move bytes or wait, and have
    /// limits of their own.
    #[must_use]
    pub const fn is_counted(&self) -> bool {
        matches!(self, Self::Resolve { .. } | Self::Start { .. })
    }
}

/// A wait of a request, with its longest time; none for one without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkWait {
    /// The request does not wait.
    None,
    /// It waits until a connection is ready.
    Readiness(Option<Duration>),
    /// It waits for bytes.
    Bytes(Option<Duration>),
}

impl NetworkWait {
    /// The longest time; none for a wait without an end.
    #[must_use]
    pub const fn time(self) -> Option<Duration> {
        match self {
            Self::None => Some(Duration::ZERO),
            Self::Readiness(time) | Self::Bytes(time) => time,
        }
    }

    /// True if this reply to the request says that nothing came.
    #[must_use]
    pub fn was_in_vain(self, reply: &[u8]) -> bool {
        match self {
            Self::None => false,
            Self::Readiness(_) => reply.iter().all(|byte| *byte == 0),
            Self::Bytes(_) => reply == [0, 2],
        }
    }
}

impl Wish {
    fn parse(bytes: &[u8; 5]) -> Option<Self> {
        let [handle @ .., mask] = bytes;
        let handle = u32::from_le_bytes(*handle);
        (1..=Self::READ | Self::WRITE).contains(mask).then_some(Self { handle, mask: *mask })
    }
}

fn name(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|name| (1..=NAME_MAX).contains(&name.len()))
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*number), rest))
}

fn wait(milliseconds: u32) -> Option<Duration> {
    (milliseconds != FOR_EVER).then(|| Duration::from_millis(milliseconds.into()))
}

/// Rounded up, so that no wait ends early.
fn milliseconds(timeout: Option<Duration>) -> u32 {
    let Some(timeout) = timeout else { return FOR_EVER };
    let number = timeout.as_nanos().div_ceil(1_000_000);
    u32::try_from(number).unwrap_or(FOR_EVER).min(FOR_EVER - 1)
}

/// What a guest is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NetworkReply {
    /// Nothing more than that it is done: names and ends of connections.
    Done,
    /// The handle of a connection, or how many bytes were taken.
    Number(u32),
    /// What each connection of a [`NetworkRequest::Poll`] is ready for, in its order.
    Ready(Vec<u8>),
    /// Bytes that were read.
    Bytes(Vec<u8>),
    /// The end of what can be read.
    End,
    /// Nothing came within the time.
    Nothing,
    /// It failed: a number of Linux and a text for the guest.
    Failed {
        /// The number, such as 111 for a refused connection.
        errno: u16,
        /// Why; no host path, no secret.
        text: String,
    },
}

impl NetworkReply {
    /// The answer of a run without any network. The guest says what to do about it.
    #[must_use]
    pub const fn no_network() -> Self {
        Self::Failed { errno: 101, text: String::new() }
    }

    /// The answer to a wait without an end for what cannot come.
    #[must_use]
    pub fn never() -> Self {
        const ETIMEDOUT: u16 = 110;
        let text = "nothing more can arrive: the server has answered everything that was sent, \
            and a recorded run receives no later messages";
        Self::Failed { errno: ETIMEDOUT, text: text.to_owned() }
    }

    /// The reply as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Done => vec![0],
            Self::Number(number) => [&[0], &number.to_le_bytes()[..]].concat(),
            Self::Ready(masks) => [&[0], masks.as_slice()].concat(),
            Self::Bytes(bytes) => [&[0, 0], bytes.as_slice()].concat(),
            Self::End => vec![0, 1],
            Self::Nothing => vec![0, 2],
            Self::Failed { errno, text } => {
                let text = text.get(..text.floor_char_boundary(TEXT_MAX)).unwrap_or_default();
                [&[1], &errno.to_le_bytes()[..], text.as_bytes()].concat()
            }
        }
    }
}

/// Longest text of a failure, in bytes.
const TEXT_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_are_taken_apart_and_put_together() {
        let second = Some(Duration::from_secs(1));
        let wishes = vec![Wish { handle: 7, mask: 1 }, Wish { handle: 8, mask: 3 }];
        for (bytes, request) in [
            (&b"\x01a.test"[..], NetworkRequest::Resolve { name: "a.test" }),
            (b"\x02\xbb\x01a", NetworkRequest::Start { port: 443, name: "a" }),
            (
                b"\x03\xe8\x03\0\0\x07\0\0\0\x01\x08\0\0\0\x03",
                NetworkRequest::Poll { timeout: second, wishes },
            ),
            (
                b"\x04\x07\0\0\0\x05\0\0\0\xff\xff\xff\xff",
                NetworkRequest::Read { handle: 7, max: 5, timeout: None },
            ),
            (b"\x05\x07\0\0\0xy", NetworkRequest::Write { handle: 7, bytes: b"xy" }),
            (b"\x06\x07\0\0\0\x01", NetworkRequest::Close { handle: 7, is_half: true }),
        ] {
            assert_eq!(NetworkRequest::parse(bytes), Some(request.clone()), "{bytes:?}");
            assert_eq!(request.encode(), bytes);
        }
    }

    #[test]
    fn malformed_requests_are_refused() {
        let long_name = [&[1], "a".repeat(NAME_MAX + 1).as_bytes()].concat();
        let many = [&[3, 0, 0, 0, 0], [1, 0, 0, 0, 1].repeat(WISHES_MAX + 1).as_slice()].concat();
        let large = [&[5, 1, 0, 0, 0], vec![0; (1 << 18) + 1].as_slice()].concat();
        for bytes in [
            &b""[..],
            b"\x00",
            b"\x07",
            b"\x01",
            b"\x01\xff",
            &long_name,
            b"\x02\x01",
            b"\x02\x01\x00",
            b"\x03\0\0\0",
            b"\x03\0\0\0\0\x01",
            b"\x03\0\0\0\0\x01\0\0\0\x00",
            b"\x03\0\0\0\0\x01\0\0\0\x04",
            &many,
            b"\x04\x07\0\0\0\x05\0\0\0\0\0\0",
            b"\x04\x07\0\0\0\x05\0\0\0\0\0\0\0\0",
            b"\x04\x07\0\0\0\0\0\0\0\0\0\0\0",
            b"\x04\x07\0\0\0\x01\0\x10\0\0\0\0\0",
            b"\x05\x07\0\0",
            &large,
            b"\x06\x07\0\0\0",
            b"\x06\x07\0\0\0\x02",
            b"\x06\x07\0\0\0\x00\x00",
        ] {
            assert_eq!(NetworkRequest::parse(bytes), None, "{:?}", bytes.get(..20));
        }
    }

    #[test]
    fn waits_and_pieces_are_shortened_and_never_lengthened() {
        let second = Duration::from_secs(1);
        let read = |max, timeout| NetworkRequest::Read { handle: 1, max, timeout };
        assert_eq!(read(1 << 20, None).within(second), read(PIECE_MAX, Some(second)));
        assert_eq!(read(5, Some(Duration::ZERO)).within(second), read(5, Some(Duration::ZERO)));
        let poll = |timeout| NetworkRequest::Poll { timeout, wishes: vec![] };
        assert_eq!(poll(Some(2 * second)).within(second), poll(Some(second)));
        let bytes = vec![0; 1 << 18];
        let write = NetworkRequest::Write { handle: 1, bytes: &bytes };
        assert!(write.within(second).encode().len() <= INLINE_MAX);
    }

    #[test]
    fn a_wait_is_rounded_up_to_milliseconds() {
        for (wait, expected) in [
            (None, u32::MAX),
            (Some(Duration::ZERO), 0),
            (Some(Duration::from_nanos(1)), 1),
            (Some(Duration::from_millis(5)), 5),
            (Some(Duration::MAX), u32::MAX - 1),
        ] {
            assert_eq!(milliseconds(wait), expected);
        }
    }

    #[test]
    fn replies_are_written_as_the_guest_reads_them() {
        let failed = NetworkReply::Failed { errno: 111, text: "no".to_owned() };
        for (reply, bytes) in [
            (NetworkReply::Done, &b"\0"[..]),
            (NetworkReply::Number(7), b"\0\x07\0\0\0"),
            (NetworkReply::Ready(vec![1, 0, 3]), b"\0\x01\0\x03"),
            (NetworkReply::Bytes(b"xy".to_vec()), b"\0\0xy"),
            (NetworkReply::End, b"\0\x01"),
            (NetworkReply::Nothing, b"\0\x02"),
            (failed, b"\x01\x6f\0no"),
            (NetworkReply::no_network(), b"\x01\x65\0"),
        ] {
            assert_eq!(reply.encode(), bytes);
        }
        let long = NetworkReply::Failed { errno: 1, text: "é".repeat(TEXT_MAX) };
        assert!(long.encode().len() <= TEXT_MAX + 3);
    }

    proptest! {
        #[test]
        fn every_request_that_is_read_is_written_as_it_was(
            bytes in prop::collection::vec(any::<u8>(), 0..64)
        ) {
            if let Some(request) = NetworkRequest::parse(&bytes) {
                prop_assert_eq!(request.encode(), bytes);
            }
        }
    }
}
