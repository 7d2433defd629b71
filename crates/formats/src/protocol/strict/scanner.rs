//! The scanner of strict JSON: a state machine with its own stack, so that no text can exhaust the
//! stack of the thread.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use crate::protocol::strict::rules::{MAX_DEPTH, ROOT, RootKind, Rules, StrictError};
use crate::protocol::wording::shortened;

/// From this many members on, names are looked up in a set instead of being compared one by one.
const MANY_MEMBERS: usize = 16;

/// Longest path that an error shows, in characters.
const SHOWN_PATH: usize = 200;

/// An array or object whose end has not been reached.
struct Open {
    is_object: bool,
    /// Elements or members before the current one.
    count: usize,
    /// The range of the current member's name in the text, quotes included.
    name: (usize, usize),
    /// The index of this object's first name in [`Scanner::names`].
    names_from: usize,
    /// Hashes of all names, from [`MANY_MEMBERS`] on. A set of the names themselves would take
    /// several times the memory of the text.
    many: HashSet<u64>,
}

/// The next token that the grammar expects.
enum Next {
    Value,
    Name,
    Separator,
    End,
}

pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Open>,
    /// The names of all open objects with fewer members than [`MANY_MEMBERS`].
    names: Vec<Cow<'a, str>>,
    /// The first fault that is not a syntax error.
    fault: Option<StrictError>,
    rules: Rules,
    /// The key is random for each text, so a client cannot prepare names whose hashes collide.
    hasher: RandomState,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, rules: Rules) -> Self {
        let hasher = RandomState::new();
        Self { text, at: 0, open: Vec::new(), names: Vec::new(), fault: None, rules, hasher }
    }

    /// Scans the text to its end. Returns its type and the first fault that is not a syntax error.
    pub(super) fn scan(mut self) -> Result<(RootKind, Option<StrictError>), StrictError> {
        self.skip_space();
        let first = self.peek().ok_or(StrictError::Empty)?;
        let mut elements = 0;
        let mut next = Next::Value;
        loop {
            self.skip_space();
            next = match next {
                Next::Value => self.value()?,
                Next::Name => self.name()?,
                Next::Separator => {
                    if let [only] = self.open.as_slice() {
                        elements = only.count.saturating_add(1);
                    }
                    self.separator()?
                }
                Next::End => break,
            };
        }
        if self.at < self.text.len() {
            return Err(self.expected("the end of the body"));
        }
        let root = match first {
            b'{' => RootKind::Object,
            b'[' => RootKind::Array(elements),
            _ => RootKind::Scalar,
        };
        Ok((root, self.fault))
    }

    fn value(&mut self) -> Result<Next, StrictError> {
        match self.peek() {
            Some(b'{') => return self.enter(b'}', Next::Name),
            Some(b'[') => return self.enter(b']', Next::Value),
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word("true")?,
            Some(b'f') => self.word("false")?,
            Some(b'n') => self.word("null")?,
            _ => return Err(self.expected("a JSON value")),
        }
        Ok(self.after_value())
    }

    /// Opens an array or object, and closes it if it is empty.
    fn enter(&mut self, end: u8, inside: Next) -> Result<Next, StrictError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(StrictError::TooDeep { offset: self.at });
        }
        self.step();
        self.skip_space();
        if self.peek() == Some(end) {
            self.step();
            return Ok(self.after_value());
        }
        self.open.push(Open {
            is_object: end == b'}',
            count: 0,
            name: (self.at, self.at),
            names_from: self.names.len(),
            many: HashSet::new(),
        });
        Ok(inside)
    }

    fn after_value(&self) -> Next {
        if self.open.is_empty() { Next::End } else { Next::Separator }
    }

    fn name(&mut self) -> Result<Next, StrictError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a member name in double quotes"));
        }
        let start = self.at;
        self.string()?;
        self.note_name(start);
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.step();
        Ok(Next::Value)
    }

    fn separator(&mut self) -> Result<Next, StrictError> {
        let found = self.peek();
        let Some(open) = self.open.last_mut() else {
            return Ok(Next::End);
        };
        match (found, open.is_object) {
            (Some(b','), is_object) => {
                open.count = open.count.saturating_add(1);
                self.step();
                Ok(if is_object { Next::Name } else { Next::Value })
            }
            (Some(b'}'), true) | (Some(b']'), false) => {
                self.names.truncate(open.names_from);
                self.open.pop();
                self.step();
                Ok(self.after_value())
            }
            (_, true) => Err(self.expected("`,` or `}`")),
            (_, false) => Err(self.expected("`,` or `]`")),
        }
    }

    /// Records the name from `start` to the scanner's position. A duplicate is a fault.
    fn note_name(&mut self, start: usize) {
        let name = decoded(self.text.get(start..self.at).unwrap_or_default());
        let Some(open) = self.open.last_mut() else { return };
        open.name = (start, self.at);
        if self.fault.is_some() {
            return;
        }
        let is_new = if open.count < MANY_MEMBERS {
            let few = self.names.get(open.names_from..).unwrap_or_default();
            let is_new = !few.contains(&name);
            self.names.push(name);
            is_new
        } else {
            if open.many.is_empty() {
                let few = self.names.drain(open.names_from..);
                open.many.extend(few.map(|name| self.hasher.hash_one(name.as_ref())));
            }
            open.many.insert(self.hasher.hash_one(name.as_ref()))
        };
        if !is_new {
            self.fault = Some(StrictError::DuplicateMember { path: self.path() });
        } else if open.count >= self.rules.members {
            self.fault = Some(StrictError::TooManyMembers { path: self.path() });
        }
    }

    fn string(&mut self) -> Result<(), StrictError> {
        self.step();
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at = self.at.saturating_add(plain_run(rest));
            match self.peek() {
                Some(b'"') => {
                    self.step();
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.expected("no control character in a string")),
                None => return Err(self.expected("`\"` at the end of the string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), StrictError> {
        self.step();
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.step(),
            Some(b'u') => {
                let start = self.at.saturating_sub(1);
                let unit = self.code_unit()?;
                let is_paired = match unit {
                    0xd800..=0xdbff if self.text.as_bytes().get(self.at) == Some(&b'\\') => {
                        self.step();
                        matches!(self.code_unit()?, 0xdc00..=0xdfff)
                    }
                    0xd800..=0xdfff => false,
                    _ => true,
                };
                if !is_paired {
                    return Err(StrictError::LoneSurrogate { offset: start });
                }
            }
            _ => return Err(self.expected("an escape that JSON knows")),
        }
        Ok(())
    }

    /// Reads `uXXXX`.
    fn code_unit(&mut self) -> Result<u32, StrictError> {
        let digits = self.text.get(self.at.saturating_add(1)..self.at.saturating_add(5));
        let unit = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match (self.peek(), unit) {
            (Some(b'u'), Some(unit)) => {
                self.at = self.at.saturating_add(5);
                Ok(unit)
            }
            (Some(b'u'), None) => Err(self.expected("four hexadecimal digits after `\\u`")),
            _ => Err(self.expected("the second of a pair of surrogates")),
        }
    }

    fn number(&mut self) -> Result<(), StrictError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.step();
        }
        if self.peek() == Some(b'0') {
            self.step();
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.expected("no digit after a leading 0"));
            }
        } else {
            self.digits()?;
        }
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            is_integer = false;
            self.step();
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.step();
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.step();
            }
            self.digits()?;
        }
        let number = self.text.get(start..self.at).unwrap_or_default();
        if self.fault.is_none() && !self.rules.numbers.allow(number, is_integer) {
            self.fault = Some(StrictError::NumberTooLarge { path: self.path() });
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), StrictError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.expected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.step();
        }
        Ok(())
    }

    fn word(&mut self, word: &'static str) -> Result<(), StrictError> {
        let end = self.at.saturating_add(word.len());
        if self.text.get(self.at..end) != Some(word) {
            return Err(self.expected("a JSON value"));
        }
        self.at = end;
        Ok(())
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.step();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    const fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn expected(&self, expected: &'static str) -> StrictError {
        StrictError::Syntax { offset: self.at, expected }
    }

    /// The path of the scanner's position, such as `params.args.rows[3].name`.
    fn path(&self) -> String {
        if self.open.is_empty() {
            return ROOT.to_owned();
        }
        let mut path = String::new();
        for open in &self.open {
            if open.is_object {
                let name = decoded(self.text.get(open.name.0..open.name.1).unwrap_or_default());
                let dot = if path.is_empty() { "" } else { "." };
                path.push_str(dot);
                path.push_str(&shortened(&name));
            } else {
                path.push_str(&format!("[{}]", open.count));
            }
            if path.chars().count() > SHOWN_PATH {
                path.push('…');
                break;
            }
        }
        path
    }
}

/// Returns the number of bytes before the first quote, backslash or control character. Most of a
/// large body is strings, so this checks eight bytes at a time.
fn plain_run(bytes: &[u8]) -> usize {
    const LOW: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    // Marks the high bit of each zero byte; exact up to and including the first one.
    let zeros = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;

    let (words, rest) = bytes.as_chunks::<8>();
    let mut run: usize = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let quotes = zeros(word ^ u64::from_le_bytes([b'"'; 8]));
        let backslashes = zeros(word ^ u64::from_le_bytes([b'\\'; 8]));
        let controls = word.wrapping_sub(u64::from_le_bytes([0x20; 8])) & !word & HIGH;
        let special = quotes | backslashes | controls;
        if special != 0 {
            let bits = usize::try_from(special.trailing_zeros()).unwrap_or(0);
            return run.saturating_add(bits / 8);
        }
        run = run.saturating_add(8);
    }
    let is_plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
    run.saturating_add(rest.iter().take_while(is_plain).count())
}

/// Returns the string that a quoted text stands for.
fn decoded(quoted: &str) -> Cow<'_, str> {
    if quoted.contains('\\') {
        Cow::Owned(serde_json::from_str(quoted).unwrap_or_default())
    } else {
        Cow::Borrowed(quoted.trim_matches('"'))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn runs_of_plain_text_end_where_a_slow_search_ends(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let slow = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            prop_assert_eq!(plain_run(&bytes), slow.unwrap_or(bytes.len()));
        }
    }
}
