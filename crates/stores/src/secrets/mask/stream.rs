//! Masks over a stream that comes in pieces.

use std::io::{self, Read};
use std::sync::Arc;

use zeroize::Zeroize as _;

use crate::secrets::mask::Masks;

/// Covers forms in a stream, wherever it is cut. It holds bytes back only as long as they may be
/// the beginning of a form, and never more than the longest form has.
#[derive(Debug)]
pub struct MaskStream {
    masks: Arc<Masks>,
    held: Held,
}

/// Bytes that are held back, which may be a part of a value.
#[derive(Default)]
struct Held(Vec<u8>);

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl MaskStream {
    /// A stream at its beginning.
    #[must_use]
    pub fn new(masks: Arc<Masks>) -> Self {
        Self { masks, held: Held::default() }
    }

    /// Takes a piece, and returns as much as is decided.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held.0);
        bytes.extend_from_slice(piece);
        let (mut done, mut decided) = (0, self.masks.undecided_from(&bytes));
        // A match that starts before the undecided end is whole, and no longer one starts there.
        while let Some(end) = self.masks.cover_next(&mut bytes, done, decided) {
            done = end;
            if done > decided {
                let rest = bytes.get(done..).unwrap_or_default();
                decided = done.saturating_add(self.masks.undecided_from(rest));
            }
        }
        self.held.0 = bytes.split_off(decided.min(bytes.len()));
        bytes
    }

    /// Returns what was held back: no more comes.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.held.0);
        self.masks.cover(&mut bytes);
        bytes
    }
}

/// Content with all forms redacted. It has as many bytes as the content below.
#[derive(Debug)]
pub struct MaskedContent<R> {
    content: R,
    stream: MaskStream,
    ready: io::Cursor<Vec<u8>>,
    is_over: bool,
}

/// Bytes that are read from the content at once.
const PIECE: usize = 64 << 10;

impl<R: Read> MaskedContent<R> {
    /// Covers `masks` in `content`.
    pub fn new(content: R, masks: Arc<Masks>) -> Self {
        let ready = io::Cursor::new(Vec::new());
        Self { content, stream: MaskStream::new(masks), ready, is_over: false }
    }
}

impl<R: Read> Read for MaskedContent<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.ready.read(buffer)?;
            if read > 0 || self.is_over || buffer.is_empty() {
                return Ok(read);
            }
            let mut piece = vec![0; PIECE];
            let count = self.content.read(&mut piece)?;
            self.is_over = count == 0;
            let ready = match piece.get(..count) {
                Some(piece) if count > 0 => self.stream.push(piece),
                _ => self.stream.finish(),
            };
            self.ready = io::Cursor::new(ready);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn streamed(masks: &Arc<Masks>, pieces: &[&[u8]]) -> Vec<u8> {
        let mut stream = MaskStream::new(Arc::clone(masks));
        let mut all: Vec<u8> = pieces.iter().flat_map(|piece| stream.push(piece)).collect();
        all.extend(stream.finish());
        all
    }

    #[test]
    fn only_what_may_become_a_value_waits() {
        let masks = Arc::new(Masks::hiding(["hunter2-and-more"]).unwrap());
        let mut stream = MaskStream::new(masks);
        assert_eq!(stream.push(b"data: hello\n\n"), b"data: hello\n\n");
        assert_eq!(stream.push(b"a hunter2-an"), b"a ");
        assert_eq!(stream.push(b"d-mor"), b"");
        assert_eq!(stream.push(b"e."), b"****************.");
        assert_eq!(stream.push(b"hunter2-"), b"");
        assert_eq!(stream.push(b"x"), b"hunter2-x");
        assert_eq!(stream.push(b"hunt"), b"");
        assert_eq!(stream.finish(), b"hunt");
    }

    #[test]
    fn content_of_any_size_keeps_its_length() {
        let masks = Arc::new(Masks::hiding(["hunter2"]).unwrap());
        let content = "x hunter2 ".repeat(50_000);
        let mut text = String::new();
        MaskedContent::new(content.as_bytes(), masks).read_to_string(&mut text).unwrap();
        assert_eq!(text, "x ******* ".repeat(50_000));
    }

    proptest! {
        #[test]
        fn cuts_of_a_stream_change_nothing(
            text in "[abx]{0,80}",
            cuts in proptest::collection::vec(0_usize..80, 0..8),
        ) {
            // Values that overlap each other and themselves.
            let masks = Arc::new(Masks::hiding(["abababx", "babxab", "xababa", "aaaaaa"]).unwrap());
            let mut whole = text.clone().into_bytes();
            masks.cover(&mut whole);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> =
                cuts.windows(2).map(|ends| &text.as_bytes()[ends[0]..ends[1]]).collect();
            prop_assert_eq!(streamed(&masks, &pieces), whole);
        }
    }
}
