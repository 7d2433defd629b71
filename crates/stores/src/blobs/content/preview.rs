//! Encodes bytes of a blob as text for a JSON string.

use std::str;

use data_encoding::BASE64;

use crate::blobs::BlobWindow;

/// The encodings of bytes in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    /// As UTF-8 text.
    Utf8,
    /// As base64.
    Base64,
}

/// Part of a blob as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The text, or base64.
    pub content: String,
    /// The encoding of the content.
    pub encoding: TextEncoding,
    /// True if the blob has more bytes than are shown.
    pub is_truncated: bool,
}

impl Preview {
    /// Encodes a window as text, cut between characters, or as base64 if it is not text.
    ///
    /// UTF-8 of a text kind is text. Bytes of another kind may be UTF-8 by chance, so they are text
    /// only without control characters.
    #[must_use]
    pub fn of(window: &BlobWindow) -> Self {
        let text = whole_characters(window)
            .and_then(|bytes| str::from_utf8(bytes).ok())
            .filter(|text| window.blob.kind.is_text() || !text.chars().any(is_binary));
        let (content, encoding, shown) = match text {
            Some(text) => (text.to_owned(), TextEncoding::Utf8, text.len()),
            None => (BASE64.encode(&window.bytes), TextEncoding::Base64, window.bytes.len()),
        };
        Self { content, encoding, is_truncated: shown < window.blob.size.as_usize() }
    }
}

fn is_binary(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{c}')
}

/// Returns the window without the partial characters at its edges. At the end of the blob, a
/// partial character means that the blob is not text.
fn whole_characters(window: &BlobWindow) -> Option<&[u8]> {
    let bytes = window.bytes.as_slice();
    let is_continuation = |byte: &&u8| (0x80..0xc0).contains(*byte);
    let cut_off = match window.offset {
        0 => 0,
        _ => bytes.iter().take(3).take_while(is_continuation).count(),
    };
    let bytes = bytes.get(cut_off..)?;
    match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && window.has_more() => {
            bytes.get(..error.valid_up_to())
        }
        _ => Some(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::blobs::content::blob_id::{IdScheme, id_of};
    use crate::blobs::content::kind::BlobKind;
    use crate::blobs::content::trailer::StoredBlob;
    use wardian_vocabulary::units::ByteCount;

    fn window(kind: &str, blob: &[u8], from: usize, to: usize) -> BlobWindow {
        let kind = BlobKind::parse(kind).unwrap();
        BlobWindow {
            blob: StoredBlob {
                id: id_of(&IdScheme::Content, &kind, blob),
                kind,
                size: ByteCount::from(blob.len()),
                created: Duration::ZERO,
                name: None,
                other_names: Vec::new(),
            },
            offset: from as u64,
            bytes: blob[from..to].to_vec(),
        }
    }

    fn shown(kind: &str, blob: &[u8], from: usize, to: usize) -> (String, TextEncoding, bool) {
        let preview = Preview::of(&window(kind, blob, from, to));
        (preview.content, preview.encoding, preview.is_truncated)
    }

    #[test]
    fn text_is_cut_between_characters() {
        use TextEncoding::Utf8;
        let text = "aé€😀z".as_bytes();
        for (from, to, content) in [
            (0, 11, "aé€😀z"),
            (0, 1, "a"),
            (0, 2, "a"),
            (0, 3, "aé"),
            (0, 5, "aé"),
            (0, 9, "aé€"),
            (0, 10, "aé€😀"),
            (7, 11, "z"),
            (6, 11, "😀z"),
            (4, 11, "😀z"),
            (2, 9, "€"),
            (8, 9, ""),
        ] {
            let is_truncated = content.len() < text.len();
            assert_eq!(shown("text/plain", text, from, to), (content.into(), Utf8, is_truncated));
        }
    }

    #[test]
    fn bytes_that_are_not_text_become_base64() {
        for (kind, blob) in [
            ("text/plain", &b"abc\xff"[..]),
            ("text/plain", b"\xe2\x82"),
            ("application/octet-stream", b"a\0b"),
            ("image/png", b"\x89PNG\r\n\x1a\n"),
        ] {
            let content = BASE64.encode(blob);
            assert_eq!(shown(kind, blob, 0, blob.len()), (content, TextEncoding::Base64, false));
        }
        assert_eq!(
            shown("image/png", b"\x89PNG\r\n", 0, 3),
            (BASE64.encode(b"\x89PN"), TextEncoding::Base64, true)
        );
        assert_eq!(shown("text/plain", b"a\0b", 0, 3), ("a\0b".into(), TextEncoding::Utf8, false));
        let toml = shown("application/toml", b"a = 1\n", 0, 6);
        assert_eq!(toml, ("a = 1\n".into(), TextEncoding::Utf8, false));
        assert_eq!(shown("a/b", b"", 0, 0), (String::new(), TextEncoding::Utf8, false));
    }

    proptest! {
        #[test]
        fn every_window_of_a_text_is_text(text in "\\PC{0,20}", cut in any::<(u8, u8)>()) {
            let bytes = text.as_bytes();
            let (one, two) = (usize::from(cut.0) % (bytes.len() + 1), usize::from(cut.1) % (bytes.len() + 1));
            let (from, to) = (one.min(two), one.max(two));
            let (content, encoding, is_truncated) = shown("text/plain", bytes, from, to);
            prop_assert_eq!(encoding, TextEncoding::Utf8);
            prop_assert!(text.contains(&content));
            prop_assert!(content.len() <= to - from && content.len() + 6 >= to - from);
            prop_assert_eq!(is_truncated, content.len() < bytes.len());
        }

        #[test]
        fn every_window_of_any_bytes_can_be_shown(blob in proptest::collection::vec(any::<u8>(), 0..20), cut in any::<u8>()) {
            let cut = usize::from(cut) % (blob.len() + 1);
            for (from, to) in [(0, cut), (cut, blob.len())] {
                let (content, encoding, _) = shown("a/b", &blob, from, to);
                if encoding == TextEncoding::Base64 {
                    prop_assert_eq!(BASE64.decode(content.as_bytes()).unwrap(), &blob[from..to]);
                }
            }
        }
    }
}
