//! Masks over values: finds them in texts, in many forms, and writes something else of the same
//! length in their place.
//!
//! One pass finds all forms of all values, in time linear in the text (Aho and Corasick). The
//! length never changes, so nothing that was counted before is wrong behind.
//!
//! This is best effort. A program that has a value can always tell it in a form that is not known
//! here, or in single characters.

mod forms;
pub mod json;
pub mod stream;

use std::collections::BTreeMap;
use std::fmt;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, Input, MatchKind};
use zeroize::Zeroize;

use crate::secrets::mask::forms::{MAX_KEY, MIN_VALUE, forms, pieces};

/// Memory of masks for each byte of a value, for each byte of a key in addition, and besides them:
/// measured, and rounded up.
const PER_BYTE: usize = 400;
const PER_BYTE_OF_KEYS: usize = 1_200;
const BESIDE: usize = 64 << 10;

/// What is written over a value.
const COVER: u8 = b'*';

/// True if a value is long enough to be searched for.
#[must_use]
pub(crate) fn is_masked(value: &str) -> bool {
    value.len() >= MIN_VALUE
}

/// Forms of values, and what is written over each. `Debug` shows their number only.
pub struct Masks {
    automaton: AhoCorasick,
    /// By the number of the form.
    covers: Vec<Cover>,
    /// All forms, sorted.
    forms: Vec<Box<[u8]>>,
    longest: usize,
}

enum Cover {
    Asterisks,
    Text(Box<[u8]>),
}

impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masks").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}

impl Drop for Masks {
    fn drop(&mut self) {
        self.forms.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl Masks {
    /// Writes asterisks over `values`. Values that are too short are left out.
    ///
    /// # Errors
    ///
    /// The values are too large together.
    pub fn hiding<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Result<Self, BuildError> {
        let mut covers = BTreeMap::new();
        for value in values.into_iter().filter(|value| is_masked(value.as_ref())) {
            let is_key = value.as_ref().len() <= MAX_KEY;
            for piece in pieces(value.as_ref()) {
                let forms = forms(piece, is_key).into_iter();
                covers.extend(forms.map(|form| (form, Cover::Asterisks)));
            }
        }
        Self::of(covers)
    }

    /// Writes the second of each pair over the first. Both have one shape: the same length, and
    /// characters that are encoded the same way.
    ///
    /// # Errors
    ///
    /// The texts are too large together.
    pub fn exchanging<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, BuildError> {
        let mut covers = BTreeMap::new();
        for (from, to) in pairs.into_iter().filter(|(from, _)| is_masked(from)) {
            let is_key = from.len() <= MAX_KEY;
            for (from, to) in pieces(from).into_iter().zip(pieces(to)) {
                let pairs = forms(from, is_key).into_iter().zip(forms(to, is_key));
                let pairs = pairs.filter(|(from, to)| from.len() == to.len());
                covers.extend(pairs.map(|(from, to)| (from, Cover::Text(to.into()))));
            }
        }
        Self::of(covers)
    }

    /// The most memory that masks over values of these sizes, in bytes, take.
    #[must_use]
    pub fn memory_for(values: impl IntoIterator<Item = usize>) -> usize {
        let memory = |size: usize| {
            let rarer = if size <= MAX_KEY { PER_BYTE_OF_KEYS } else { 0 };
            size.saturating_mul(PER_BYTE.saturating_add(rarer))
        };
        values.into_iter().map(memory).fold(BESIDE, usize::saturating_add)
    }

    fn of(covers: BTreeMap<Vec<u8>, Cover>) -> Result<Self, BuildError> {
        let (forms, covers): (Vec<_>, Vec<_>) =
            covers.into_iter().filter(|(form, _)| form.len() >= MIN_VALUE).unzip();
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // A DFA takes a hundred times as much memory.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&forms)?;
        let longest = forms.iter().map(Vec::len).max().unwrap_or(0);
        let forms = forms.into_iter().map(Vec::into_boxed_slice).collect();
        Ok(Self { automaton, covers, forms, longest })
    }

    /// True if a form is in `bytes`.
    #[must_use]
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.automaton.is_match(bytes)
    }

    /// Covers all forms in `bytes`. Returns true if there was one.
    pub fn cover(&self, bytes: &mut [u8]) -> bool {
        let mut at = 0;
        while let Some(end) = self.cover_next(bytes, at, bytes.len()) {
            at = end;
        }
        at > 0
    }

    /// Covers all forms in a text.
    pub fn cover_text(&self, text: &mut String) {
        if self.is_in(text.as_bytes()) {
            let mut bytes = std::mem::take(text).into_bytes();
            self.cover(&mut bytes);
            *text = into_text(bytes);
        }
    }

    /// Covers the first form that starts at `from` or behind it, and before `until`. Returns its
    /// end.
    fn cover_next(&self, bytes: &mut [u8], from: usize, until: usize) -> Option<usize> {
        let input = Input::new(&*bytes).span(from..bytes.len());
        let found = self.automaton.find(input).filter(|found| found.start() < until)?;
        let place = bytes.get_mut(found.range())?;
        match self.covers.get(found.pattern().as_usize()) {
            Some(Cover::Text(cover)) if cover.len() == place.len() => place.copy_from_slice(cover),
            _ => place.fill(COVER),
        }
        Some(found.end())
    }

    /// Where the longest end of `bytes` starts that is the beginning of a form and not all of it:
    /// more bytes may complete it.
    fn undecided_from(&self, bytes: &[u8]) -> usize {
        let first = bytes.len().saturating_sub(self.longest.saturating_sub(1));
        let is_beginning = |from: &usize| {
            let Some(end) = bytes.get(*from..) else { return false };
            let at = self.forms.partition_point(|form| form.as_ref() <= end);
            self.forms.get(at).is_some_and(|form| form.starts_with(end))
        };
        (first..bytes.len()).find(is_beginning).unwrap_or(bytes.len())
    }
}

/// Covers are ASCII and forms are whole characters, so the bytes are a text as they were before.
pub(crate) fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(masks: &Masks, text: &str) -> String {
        let mut text = text.to_owned();
        masks.cover_text(&mut text);
        text
    }

    #[test]
    fn values_are_covered_and_nothing_else() {
        let masks = Masks::hiding(["hunter2", "café-au-lait", "short"]).unwrap();
        assert_eq!(covered(&masks, "a hunter2b hunter"), "a *******b hunter");
        assert_eq!(covered(&masks, "un café-au-lait!"), "un *************!");
        assert_eq!(covered(&masks, "short"), "short", "five bytes are too few");
        // The last character of Base64 has bits of the padding, too.
        assert_eq!(covered(&masks, "aHVudGVyMg== 68756e74657232"), "*********g== **************");
    }

    #[test]
    fn the_longest_of_several_values_is_covered() {
        let masks = Masks::hiding(["abc123", "abc123xyz", "xyz-098"]).unwrap();
        assert_eq!(covered(&masks, "abc123xyz abc123xy"), "********* ******xy");
    }

    #[test]
    fn parts_of_a_long_value_are_covered() {
        let letters = (0..300_u16).map(|n| b'!' + u8::try_from(n * 7 % 90).unwrap());
        let value: String = letters.map(char::from).collect();
        let masks = Masks::hiding([value.as_str()]).unwrap();
        assert_eq!(covered(&masks, &value), "*".repeat(300));
        let part = value.get(90..250).unwrap();
        assert!(covered(&masks, part).contains(&"*".repeat(96)));
    }

    #[test]
    fn an_exchange_keeps_every_form() {
        let (value, placeholder) = ("sk-12345678/abc", "sk-87654321/xyz");
        let masks = Masks::exchanging([(value, placeholder)]).unwrap();
        assert_eq!(covered(&masks, &format!("<{value}>")), format!("<{placeholder}>"));
        assert_eq!(covered(&masks, "sk-12345678%2Fabc"), "sk-87654321%2Fxyz");
        let encode = |text: &str| data_encoding::BASE64.encode(format!("user:{text}").as_bytes());
        let seen =
            data_encoding::BASE64.decode(covered(&masks, &encode(value)).as_bytes()).unwrap();
        let seen = String::from_utf8_lossy(&seen).into_owned();
        assert!(!seen.contains("12345678") && seen.contains("k-87654321/xy"), "{seen}");
    }

    #[test]
    fn nothing_to_hide_covers_nothing() {
        let masks = Masks::hiding([""; 0]).unwrap();
        assert_eq!(covered(&masks, "text"), "text");
        assert_eq!(masks.undecided_from(b"text"), 4);
    }

    fn assert_bounded(values: &[String]) {
        let masks = Masks::hiding(values).unwrap();
        let forms: usize = masks.forms.iter().map(|form| form.len()).sum();
        let memory = masks.automaton.memory_usage() + forms;
        let most = Masks::memory_for(values.iter().map(String::len));
        let start: String = values[0].chars().take(4).collect();
        assert!(memory <= most, "{} of {}, {start:?}...: {memory}", values.len(), values[0].len());
    }

    #[test]
    fn the_memory_of_masks_is_bounded_by_the_size_of_values() {
        let random = |seed: u32, size: usize| -> String {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from(b'!' + u8::try_from(state >> 24).unwrap() % 90)
            };
            (0..size).map(|_| next()).collect()
        };
        for (count, size) in [(1_u32, 16), (1, 96), (32, 40), (8, 8 << 10), (2, 32 << 10)] {
            let values: Vec<_> = (0..count).map(|seed| random(seed + 7, size)).collect();
            assert_bounded(&values);
        }
        // Quotes and markup have the longest forms.
        for letters in ["\"", "'", "<", "&", "\"<", "é", "\u{7f}", "\u{1}", "/'\"&"] {
            for size in [8, 96, 500, 8 << 10] {
                assert_bounded(&[letters.chars().cycle().take(size / letters.len()).collect()]);
            }
        }
    }

    #[test]
    fn no_value_is_shown() {
        let masks = Masks::hiding(["hunter2"]).unwrap();
        assert!(!format!("{masks:?}").contains("hunter"));
    }
}
