//! Reads JSON more strictly than the standard demands, so that no request has two meanings.
//!
//! One pass over the bytes, without recursion and without building anything: it proves that the
//! text is JSON that every parser understands in the same way. Later stages cut pieces out of the
//! same text and need not look again.
//!
//! INVARIANT(one-meaning): in an accepted text no object has two members of the same name
//! (however it is escaped), no number is changed by reading it into 64 bits, and every string is
//! Unicode.
//!
//! INVARIANT(bounded-reading): nesting beyond [`MAX_DEPTH`] and objects of more than
//! [`MAX_MEMBERS`] members are refused; the memory needed does not grow with the rest of the text.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::protocol::wording::shortened;

/// Deepest nesting of arrays and objects, the whole body included. Deep nesting is an attack on
/// recursive readers (the guest's own among them); real arguments stay below ten.
pub const MAX_DEPTH: usize = 64;

/// Most members of one object. Comparing their names costs memory, so a body of nothing but
/// members would otherwise cost many times its own size.
pub const MAX_MEMBERS: usize = 100_000;

/// From this many members on, names are looked up in a set instead of compared one by one.
const MANY_MEMBERS: usize = 16;

/// Longest path that an error shows, in characters.
const SHOWN_PATH: usize = 200;

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrictError {
    /// Nothing there.
    #[error("the body is empty")]
    Empty,
    /// Bytes that are no UTF-8.
    #[error("byte {offset} is not valid UTF-8")]
    NotUtf8 {
        /// Where, counted from 0.
        offset: usize,
    },
    /// Not JSON.
    #[error("byte {offset}: expected {expected}")]
    Syntax {
        /// Where, counted from 0.
        offset: usize,
        /// What would have been right.
        expected: &'static str,
    },
    /// Nested too deeply.
    #[error("byte {offset}: nested more than {MAX_DEPTH} levels deep")]
    TooDeep {
        /// Where, counted from 0.
        offset: usize,
    },
    /// Two members of one object have the same name.
    #[error("member `{path}` appears twice")]
    DuplicateMember {
        /// The member, from the top of the body.
        path: String,
    },
    /// An object has too many members.
    #[error("`{path}` is one member too many: an object may have {MAX_MEMBERS}")]
    TooManyMembers {
        /// The first member beyond the limit.
        path: String,
    },
    /// A number that 64 bits cannot hold.
    #[error("the number at `{path}` does not fit into 64 bits; send it as a string")]
    NumberTooLarge {
        /// The number, from the top of the body.
        path: String,
    },
}

impl StrictError {
    /// True if the text is no JSON at all; false if it is JSON that we refuse.
    #[must_use]
    pub const fn is_syntax(&self) -> bool {
        matches!(
            self,
            Self::Empty | Self::NotUtf8 { .. } | Self::Syntax { .. } | Self::TooDeep { .. }
        )
    }
}

/// What the outermost value of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// An object.
    Object,
    /// An array of this many elements.
    Array(usize),
    /// Anything else.
    Scalar,
}

/// A text that kept all rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// The text.
    pub text: &'a str,
    /// Its outermost value.
    pub root: Root,
}

/// Checks a whole body.
///
/// # Errors
///
/// Syntax errors first: a text is only refused for its meaning if it is JSON to its end.
pub fn read(bytes: &[u8]) -> Result<Document<'_>, StrictError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| StrictError::NotUtf8 { offset: error.valid_up_to() })?;
    let mut scanner = Scanner { text, at: 0, open: Vec::new(), names: Vec::new(), fault: None };
    let root = scanner.scan()?;
    scanner.fault.map_or(Ok(Document { text, root }), Err)
}

/// An array or object whose end has not been seen yet.
struct Open<'a> {
    is_object: bool,
    /// Elements or members before the present one.
    count: usize,
    /// Where the present member's name lies in the text, quotes included.
    name: (usize, usize),
    /// This object's names in [`Scanner::names`] start here.
    names_from: usize,
    /// All names, once there are many.
    many: HashSet<Cow<'a, str>>,
}

/// What the grammar wants next.
enum Next {
    Value,
    Name,
    Separator,
    End,
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Open<'a>>,
    /// Names of all open objects that have few.
    names: Vec<Cow<'a, str>>,
    /// The first breach of a rule that is not one of syntax.
    fault: Option<StrictError>,
}

impl Scanner<'_> {
    fn scan(&mut self) -> Result<Root, StrictError> {
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
        Ok(match first {
            b'{' => Root::Object,
            b'[' => Root::Array(elements),
            _ => Root::Scalar,
        })
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

    /// Remembers the name that starts at `start` and ends here, and notes if it is not new.
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
                open.many.extend(self.names.drain(open.names_from..));
            }
            open.many.insert(name)
        };
        if !is_new {
            self.fault = Some(StrictError::DuplicateMember { path: self.path() });
        } else if open.count >= MAX_MEMBERS {
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
                    let expected = "a pair of surrogates that is one character";
                    return Err(StrictError::Syntax { offset: start, expected });
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
        if self.fault.is_none() && !fits(number, is_integer) {
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

    /// Where the scanner is, such as `params.args.rows[3].name`.
    fn path(&self) -> String {
        if self.open.is_empty() {
            return "body".to_owned();
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

/// Length of the beginning of `bytes` that holds neither a quote, a backslash nor a control
/// character. Strings are most of a large body, so this looks at eight bytes at a time.
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

/// True if reading the number into 64 bits keeps its value (an integer) or its size (any other).
fn fits(number: &str, is_integer: bool) -> bool {
    // 18 digits always fit, and so do 300 without an exponent.
    if is_integer {
        number.len() <= 18 || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()
    } else {
        let is_short = number.len() <= 300 && !number.contains(['e', 'E']);
        is_short || number.parse::<f64>().is_ok_and(f64::is_finite)
    }
}

/// The string that a quoted text stands for.
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
    use serde_json::Value;

    use super::*;

    fn fault(text: &str) -> StrictError {
        read(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn plain_json_is_accepted() {
        for (text, root) in [
            ("{}", Root::Object),
            (" [ ] ", Root::Array(0)),
            ("[[],{}]", Root::Array(2)),
            ("[1 , [2,3,4], 5]\n", Root::Array(3)),
            ("\"\\u00e9 \\ud83d\\ude00 é\"", Root::Scalar),
            ("-0.5e-10", Root::Scalar),
            ("{\"a\":{\"a\":[{\"a\":null},{\"a\":true}]},\"b\":false}", Root::Object),
            ("{\"\":1,\" \":2}", Root::Object),
            ("1e-400", Root::Scalar),
            ("18446744073709551615", Root::Scalar),
            ("-9223372036854775808", Root::Scalar),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(Document { text, root }));
        }
    }

    #[test]
    fn what_is_no_json_is_a_syntax_error() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            " ",
            "[",
            "]",
            "{",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{a:1}",
            "{'a':1}",
            "{1:1}",
            "01",
            "-",
            "-a",
            "+1",
            ".5",
            "1.",
            "1e",
            "1e+",
            "0x10",
            "NaN",
            "Infinity",
            "-Infinity",
            "nul",
            "truee",
            "True",
            "\"",
            "\"\\",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\t\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud800\\u0041\"",
            "\"\\ud800\\n\"",
            "\"\\ud800x\"",
            "\"\0\"",
            "\u{feff}{}",
            "{} {}",
            "1 2",
            "/* */1",
            "[1]//",
            "{\"a\":1]",
            "[1}",
            "\u{a0}1",
            "\u{c}1",
            &deep,
        ] {
            assert!(fault(text).is_syntax(), "{text:.40}: {}", fault(text));
            assert!(serde_json::from_str::<Value>(text).is_err());
        }
        assert_eq!(fault("[1 2]").to_string(), "byte 3: expected `,` or `]`");
    }

    #[test]
    fn what_is_no_utf8_is_a_syntax_error() {
        assert_eq!(read(b"\"\xff\"").unwrap_err(), StrictError::NotUtf8 { offset: 1 });
        assert!(read(b"\xff\xfe{\0}\0").unwrap_err().is_syntax());
        assert!(read(b"\"\xed\xa0\x80\"").unwrap_err().is_syntax());
    }

    #[test]
    fn one_meaning_no_member_twice() {
        for (text, path) in [
            ("{\"method\":1,\"method\":2}", "method"),
            ("{\"a\":1,\"\\u0061\":2}", "a"),
            ("{\"params\":{\"args\":[0,{\"x\":1,\"y\":2,\"x\":3}]}}", "params.args[1].x"),
            ("[{\"a\":{}},{\"a\":{\"b\":[],\"b\":[]}}]", "[1].a.b"),
        ] {
            assert_eq!(fault(text), StrictError::DuplicateMember { path: path.to_owned() });
        }
        let many: Vec<String> = (0..50).map(|n| format!("\"k{n}\":{{\"k0\":1}}")).collect();
        assert!(read(format!("{{{}}}", many.join(",")).as_bytes()).is_ok());
        for twice in [0, 15, 16, 17, 49] {
            let text = format!("{{{},\"k{twice}\":0}}", many.join(","));
            assert_eq!(fault(&text), StrictError::DuplicateMember { path: format!("k{twice}") });
        }
    }

    #[test]
    fn one_meaning_no_number_is_rounded() {
        for number in [
            "18446744073709551616",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "1e400",
            "-1e309",
            &format!("{}.0", "9".repeat(310)),
        ] {
            let text = format!("{{\"params\":{{\"n\":[{number}]}}}}");
            let path = "params.n[0]".to_owned();
            assert_eq!(fault(&text), StrictError::NumberTooLarge { path });
        }
    }

    #[test]
    fn a_number_on_its_own_is_the_body() {
        assert_eq!(fault("1e999"), StrictError::NumberTooLarge { path: "body".to_owned() });
    }

    #[test]
    fn syntax_comes_before_meaning() {
        assert!(fault("{\"a\":1,\"a\":2").is_syntax());
        assert!(!fault("{\"a\":1,\"a\":2}").is_syntax());
    }

    #[test]
    fn bounded_reading_of_depth() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert_eq!(fault(&nested(MAX_DEPTH + 1)), StrictError::TooDeep { offset: MAX_DEPTH });
        let objects = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
        assert_eq!(fault(&objects), StrictError::TooDeep { offset: 64 * 5 });
    }

    #[test]
    fn bounded_reading_of_members() {
        let members = |count: usize| {
            let members: Vec<String> = (0..count).map(|n| format!("\"{n}\":0")).collect();
            format!("{{{}}}", members.join(","))
        };
        assert!(read(members(MAX_MEMBERS).as_bytes()).is_ok());
        let path = MAX_MEMBERS.to_string();
        assert_eq!(fault(&members(MAX_MEMBERS + 1)), StrictError::TooManyMembers { path });
    }

    #[test]
    fn error_paths_stay_short() {
        let name = "n".repeat(10_000);
        let text = format!("{{\"{name}\":{{\"{name}\":{{\"{name}\":{{\"a\":1,\"a\":1}}}}}}}}");
        assert!(fault(&text).to_string().len() < 400, "{}", fault(&text));
        assert!(!fault("{\"\\u001b\":1e999}").to_string().contains('\u{1b}'));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[\"\\\\\u{0}-\u{30}é]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                proptest::collection::btree_map(any::<String>(), inner, 0..24)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Text made of the pieces that JSON is made of, so that it is nearly right.
    fn nearly_json() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            proptest::sample::select(vec![
                "{",
                "}",
                "[",
                "]",
                ":",
                ",",
                " ",
                "\"",
                "\\",
                "\"a\"",
                "\"\\u0061\"",
                "\"b\":",
                "\"a\":1",
                "{}",
                "[]",
                "\\u",
                "\\ud83d",
                "\\ude00",
                "0",
                "-",
                "1",
                ".",
                "e",
                "E+",
                "9",
                "true",
                "null",
                "18446744073709551616",
                "1e999",
                "\u{1}",
                "é",
                "\n",
            ])
            .prop_map(str::to_owned),
            "[0-9.eE+-]{1,6}",
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    fn agrees_with_serde(bytes: &[u8]) -> Result<(), TestCaseError> {
        match (read(bytes), serde_json::from_slice::<Value>(bytes)) {
            (Ok(_), theirs) => prop_assert!(theirs.is_ok(), "only we accept it"),
            (Err(fault), Ok(_)) => prop_assert!(!fault.is_syntax(), "only we refuse it: {fault}"),
            (Err(_), Err(_)) => {}
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn every_value_that_serde_writes_is_accepted(value in any_json()) {
            prop_assert!(read(serde_json::to_string(&value).unwrap().as_bytes()).is_ok());
            prop_assert!(read(serde_json::to_string_pretty(&value).unwrap().as_bytes()).is_ok());
        }

        #[test]
        fn we_accept_nothing_that_serde_refuses(text in nearly_json()) {
            agrees_with_serde(text.as_bytes())?;
            agrees_with_serde(format!("[{text}]").as_bytes())?;
            agrees_with_serde(format!("{{\"a\":\"{text}\"}}").as_bytes())?;
        }

        #[test]
        fn a_damaged_text_is_judged_as_serde_judges_it(
            value in any_json(), at in any::<proptest::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = serde_json::to_vec(&value).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            agrees_with_serde(&bytes)?;
            bytes.truncate(at);
            agrees_with_serde(&bytes)?;
        }

        #[test]
        fn runs_of_plain_text_end_where_a_slow_search_ends(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let slow = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            prop_assert_eq!(plain_run(&bytes), slow.unwrap_or(bytes.len()));
        }
    }
}
