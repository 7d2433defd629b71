//! Checks JSON more strictly than the standard demands, so that no request has two meanings.
//!
//! The check is one pass over the bytes. It neither recurses nor builds values. It proves that
//! every JSON parser understands the text in the same way. Later stages take parts of the same text
//! and need not check them again.
//!
//! INVARIANT(one-meaning): in an accepted text no object has two members of the same name
//! (however it is escaped), no integer loses digits and no other number becomes infinite in 64
//! bits, and every string is Unicode.
//!
//! INVARIANT(bounded-reading): nesting beyond [`MAX_DEPTH`] and objects of more than
//! [`MAX_MEMBERS`](crate::protocol::strict::rules::MAX_MEMBERS) members are refused. Nothing else in the text makes the check need more memory.

mod rules;
mod scanner;

use crate::protocol::strict::rules::Rules;
use crate::protocol::strict::scanner::Scanner;

#[cfg(test)]
pub(crate) use crate::protocol::strict::rules::MAX_MEMBERS;
pub use crate::protocol::strict::rules::ROOT;
pub use crate::protocol::strict::rules::{MAX_DEPTH, RootKind, StrictError};

/// A text that passed the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrictText<'a> {
    /// The text.
    pub text: &'a str,
    /// Its outermost value.
    pub root: RootKind,
}

/// Checks a whole body.
///
/// # Errors
///
/// Syntax errors come first: other rules are reported only for a text that is JSON to its end.
pub fn read(bytes: &[u8]) -> Result<StrictText<'_>, StrictError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| StrictError::NotUtf8 { offset: error.valid_up_to() })?;
    let (root, fault) = Scanner::new(text, Rules::REQUEST).scan()?;
    fault.map_or(Ok(StrictText { text, root }), Err)
}

/// Checks a value that a program returned. Python's integers have any length and an object may have
/// any number of members, so members are not counted, and a number only must not be infinite as a
/// double.
///
/// # Errors
///
/// The errors of [`read`].
pub fn read_output(text: &str) -> Result<RootKind, StrictError> {
    let (root, fault) = Scanner::new(text, Rules::OUTPUT).scan()?;
    fault.map_or(Ok(root), Err)
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
    fn outputs_may_have_any_number_of_members_and_digits_but_one_meaning() {
        let many: Vec<String> = (0..=MAX_MEMBERS).map(|n| format!("\"{n}\":0")).collect();
        let many = format!("{{{}}}", many.join(","));
        assert_eq!(read_output(&many), Ok(RootKind::Object));
        let twice = format!("{},\"\\u0037\":1}}", many.trim_end_matches('}'));
        let path = "7".to_owned();
        assert_eq!(read_output(&twice), Err(StrictError::DuplicateMember { path }));
        let digits = |count: usize| format!("[1{}]", "0".repeat(count));
        assert_eq!(read_output(&digits(308)), Ok(RootKind::Array(1)));
        for number in [digits(309), digits(5_000), "[1e309]".into(), "[-1e309]".into()] {
            let path = "[0]".to_owned();
            assert_eq!(read_output(&number), Err(StrictError::NumberTooLarge { path }));
        }
    }

    #[test]
    fn plain_json_is_accepted() {
        for (text, root) in [
            ("{}", RootKind::Object),
            (" [ ] ", RootKind::Array(0)),
            ("[[],{}]", RootKind::Array(2)),
            ("[1 , [2,3,4], 5]\n", RootKind::Array(3)),
            ("\"\\u00e9 \\ud83d\\ude00 é\"", RootKind::Scalar),
            ("-0.5e-10", RootKind::Scalar),
            ("{\"a\":{\"a\":[{\"a\":null},{\"a\":true}]},\"b\":false}", RootKind::Object),
            ("{\"\":1,\" \":2}", RootKind::Object),
            ("1e-400", RootKind::Scalar),
            ("18446744073709551615", RootKind::Scalar),
            ("-9223372036854775808", RootKind::Scalar),
        ] {
            assert_eq!(read(text.as_bytes()), Ok(StrictText { text, root }));
        }
    }

    #[test]
    fn text_that_is_not_json_is_a_syntax_error() {
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
    fn bytes_that_are_not_utf8_are_a_syntax_error() {
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

    /// Text made of tokens of JSON, so that it is nearly valid.
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
    }
}
