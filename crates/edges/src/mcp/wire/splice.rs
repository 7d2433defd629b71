//! Lays contents into an answer: the answer is written with a token in place of each content, and the
//! token is replaced as the bytes of the answer pass.
//!
//! INVARIANT(unguessable-tokens): a token has 128 random bits that only one answer uses and that
//! nobody sees before it. So neither a client nor a guest can write one, whatever it knows of the
//! source. Each token is replaced once.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use wardian_vocabulary::crypto::fill_random;

/// Maximum number of contents of one answer.
pub(crate) const MAX_CONTENTS: usize = 256;

/// Digits of the random part of a token.
const SECRET: usize = 32;

/// What follows the random part: two digits, the form, and the quote.
const TAIL: usize = 4;

/// What follows a token that stands for members.
const NULL: &[u8] = b":null";

/// An answer has too many contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an answer may have at most at most {MAX_CONTENTS} contents")]
pub(crate) struct TooManyContents;

/// The contents that are laid into one answer.
#[derive(Debug)]
pub(crate) struct Splices {
    /// A quote and the random part.
    needle: Vec<u8>,
    contents: Mutex<Vec<Option<Bytes>>>,
}

impl Splices {
    /// No contents yet.
    ///
    /// # Errors
    ///
    /// The system has no random bytes.
    pub(crate) fn new() -> io::Result<Arc<Self>> {
        let mut secret = [0; SECRET / 2];
        fill_random(&mut secret)?;
        let mut needle = vec![b'"'];
        needle.extend_from_slice(data_encoding::HEXLOWER.encode(&secret).as_bytes());
        Ok(Arc::new(Self { needle, contents: Mutex::new(Vec::new()) }))
    }

    /// Returns the text for which `json`, a JSON value, will stand: the text is written as a string.
    ///
    /// # Errors
    ///
    /// The answer has too many contents.
    pub(crate) fn value(&self, json: Bytes) -> Result<String, TooManyContents> {
        self.token(json, 'v')
    }

    /// Returns the object for which `json`, the text of an object, will stand.
    ///
    /// # Errors
    ///
    /// The answer has too many contents.
    pub(crate) fn object(&self, json: &Bytes) -> Result<Map<String, Value>, TooManyContents> {
        // The braces are those of the object that is written.
        let inner = json.len().checked_sub(1).filter(|end| *end >= 1);
        let inner = inner.map_or_else(Bytes::new, |end| json.slice(1..end));
        let token = self.token(inner, 'm')?;
        Ok(Map::from_iter([(token, Value::Null)]))
    }

    fn token(&self, content: Bytes, form: char) -> Result<String, TooManyContents> {
        let mut contents = self.contents.lock();
        let number = contents.len();
        if number >= MAX_CONTENTS {
            return Err(TooManyContents);
        }
        contents.push(Some(content));
        let secret = self.needle.get(1..).unwrap_or_default();
        Ok(format!("{}{number:02x}{form}", String::from_utf8_lossy(secret)))
    }

    fn take(&self, number: usize) -> Option<Bytes> {
        self.contents.lock().get_mut(number).and_then(Option::take)
    }
}

/// Replaces the tokens in a stream of bytes.
#[derive(Debug)]
pub(crate) struct Splicer {
    splices: Arc<Splices>,
    /// The end of what has passed, which may be the beginning of a token.
    held: Vec<u8>,
}

impl Splicer {
    pub(crate) const fn new(splices: Arc<Splices>) -> Self {
        Self { splices, held: Vec::new() }
    }

    /// Takes the next bytes, and hands on what is certain to `out`.
    pub(crate) fn feed(&mut self, chunk: Bytes, out: &mut impl FnMut(Bytes)) {
        let mut rest = if self.held.is_empty() {
            chunk
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(&chunk);
            joined.into()
        };
        loop {
            match next_token(&rest, &self.splices.needle) {
                Found::Token { start, end, number } => {
                    match self.splices.take(number) {
                        Some(content) => {
                            hand_on(rest.slice(..start), out);
                            hand_on(content, out);
                        }
                        None => hand_on(rest.slice(..end), out),
                    }
                    rest = rest.slice(end..);
                }
                Found::Nothing { upto } => {
                    hand_on(rest.slice(..upto), out);
                    self.held = rest.slice(upto..).into();
                    return;
                }
            }
        }
    }

    /// Hands on the rest.
    pub(crate) fn finish(&mut self, out: &mut impl FnMut(Bytes)) {
        hand_on(std::mem::take(&mut self.held).into(), out);
    }
}

fn hand_on(bytes: Bytes, out: &mut impl FnMut(Bytes)) {
    if !bytes.is_empty() {
        out(bytes);
    }
}

enum Found {
    /// A whole token.
    Token { start: usize, end: usize, number: usize },
    /// No whole token. All before `upto` belongs to none.
    Nothing { upto: usize },
}

fn next_token(bytes: &[u8], needle: &[u8]) -> Found {
    let mut from = 0;
    while let Some(quote) = position(bytes.get(from..).unwrap_or_default(), needle) {
        let start = from.saturating_add(quote);
        let tail = start.saturating_add(needle.len());
        match read_tail(bytes.get(tail..).unwrap_or_default()) {
            Tail::Whole { length, number } => {
                return Found::Token { start, end: tail.saturating_add(length), number };
            }
            Tail::Incomplete => return Found::Nothing { upto: start },
            Tail::Wrong => from = start.saturating_add(1),
        }
    }
    // The longest end that is a beginning of the needle.
    let longest = needle.len().saturating_sub(1).min(bytes.len());
    let held = (1..=longest).rev().find(|length| {
        let end = bytes.len().saturating_sub(*length);
        bytes.get(end..).is_some_and(|end| needle.starts_with(end))
    });
    Found::Nothing { upto: bytes.len().saturating_sub(held.unwrap_or(0)) }
}

fn position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

enum Tail {
    Whole { length: usize, number: usize },
    Incomplete,
    Wrong,
}

/// Reads what follows the random part of a token.
fn read_tail(bytes: &[u8]) -> Tail {
    let Some([high, low, form, b'"']) = bytes.get(..TAIL) else {
        return if bytes.len() < TAIL { Tail::Incomplete } else { Tail::Wrong };
    };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return Tail::Wrong };
    let number = usize::try_from(high.saturating_mul(16).saturating_add(low)).unwrap_or(usize::MAX);
    match form {
        b'v' => Tail::Whole { length: TAIL, number },
        b'm' => {
            let after = bytes.get(TAIL..).unwrap_or_default();
            match after.len() < NULL.len() {
                true if NULL.starts_with(after) => Tail::Incomplete,
                false if after.starts_with(NULL) => {
                    Tail::Whole { length: TAIL.saturating_add(NULL.len()), number }
                }
                _ => Tail::Wrong,
            }
        }
        _ => Tail::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn spliced(splices: &Arc<Splices>, chunks: &[&[u8]]) -> Vec<u8> {
        let mut splicer = Splicer::new(Arc::clone(splices));
        let mut all = Vec::new();
        let mut out = |bytes: Bytes| all.extend_from_slice(&bytes);
        for chunk in chunks {
            splicer.feed(Bytes::copy_from_slice(chunk), &mut out);
            // A token and what follows it.
            assert!(splicer.held.len() < 1 + SECRET + TAIL + NULL.len(), "{}", splicer.held.len());
        }
        splicer.finish(&mut out);
        all
    }

    #[test]
    fn a_content_stands_where_its_token_stood() {
        let splices = Splices::new().unwrap();
        let text = splices.value(Bytes::from_static(b"\"a \\\" b\"")).unwrap();
        let object = splices.object(&Bytes::from_static(br#"{"x":1,"y":[]}"#)).unwrap();
        let empty = splices.object(&Bytes::from_static(b"{}")).unwrap();
        let answer = json!({"content": [{"text": text}], "s": object, "e": empty}).to_string();
        let whole = spliced(&splices, &[answer.as_bytes()]);
        let whole: Value = serde_json::from_slice(&whole).unwrap();
        let expected = json!({"content": [{"text": "a \" b"}], "s": {"x": 1, "y": []}, "e": {}});
        assert_eq!(whole, expected);
    }

    #[test]
    fn unguessable_tokens_are_replaced_once_and_by_their_own_answer() {
        let (one, other) = (Splices::new().unwrap(), Splices::new().unwrap());
        let token = one.value(Bytes::from_static(b"1")).unwrap();
        assert_ne!(token, other.value(Bytes::from_static(b"2")).unwrap(), "tokens are random");
        let answer = format!("[\"{token}\",\"{token}\"]");
        assert_eq!(spliced(&other, &[answer.as_bytes()]), answer.as_bytes());
        assert_eq!(spliced(&one, &[answer.as_bytes()]), format!("[1,\"{token}\"]").as_bytes());
    }

    #[test]
    fn an_answer_has_a_bounded_number_of_contents() {
        let splices = Splices::new().unwrap();
        for _ in 0..MAX_CONTENTS {
            assert!(splices.value(Bytes::new()).is_ok());
        }
        assert_eq!(splices.value(Bytes::new()), Err(TooManyContents));
        assert!(splices.object(&Bytes::from_static(b"{}")).is_err());
    }

    /// A content of a guest: text that looks like a token, or like parts of an answer.
    fn contents() -> impl Strategy<Value = Vec<String>> {
        let hostile = prop_oneof![
            any::<String>(),
            "[0-9a-f]{0,40}[vm]?",
            "\"[0-9a-f]{32}[0-9a-f]{2}[vm]\"(:null)?",
            Just("\"},\"isError\":false,\"x\":{\"y\":\"".to_owned()),
            Just("\n\ndata: {}\n\n".to_owned()),
        ];
        proptest::collection::vec(hostile, 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn contents_arrive_as_they_are_however_the_answer_is_cut(
            texts in contents(),
            noise in any::<String>(),
            cuts in proptest::collection::vec(1_usize..40, 1..60),
        ) {
            let splices = Splices::new().unwrap();
            let mut parts = Vec::new();
            let mut expected = Vec::new();
            for (at, text) in texts.iter().enumerate() {
                let quoted: Bytes = serde_json::to_vec(text).unwrap().into();
                if at % 2 == 0 {
                    parts.push(json!({"noise": noise, "text": splices.value(quoted).unwrap()}));
                    expected.push(json!({"noise": noise, "text": text}));
                } else {
                    let object = json!({"a": text, "b": {"c": [text]}});
                    let laid = splices.object(&object.to_string().into()).unwrap();
                    parts.push(json!({"structured": laid, "noise": noise}));
                    expected.push(json!({"structured": object, "noise": noise}));
                }
            }
            let answer = Value::from(parts).to_string().into_bytes();
            let (mut chunks, mut rest) = (Vec::new(), answer.as_slice());
            for cut in cuts.iter().cycle() {
                let (chunk, more) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = more;
                if rest.is_empty() { break; }
            }
            let whole = spliced(&splices, &chunks);
            prop_assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap(), Value::from(expected));
        }

        #[test]
        fn bytes_without_tokens_pass_unchanged(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 0..20),
            guess in "[0-9a-f]{32}",
        ) {
            let splices = Splices::new().unwrap();
            splices.value(Bytes::from_static(b"secret")).unwrap();
            let guess = format!("\"{guess}00v\"").into_bytes();
            // The beginning of a real token, which is none.
            let begun = splices.needle.clone();
            let mut chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            chunks.push(&guess);
            chunks.push(&begun);
            let expected = chunks.concat();
            prop_assert_eq!(spliced(&splices, &chunks), expected);
        }
    }
}
