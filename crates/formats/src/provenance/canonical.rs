//! Canonical JSON: RFC 8785, the JSON Canonicalization Scheme. Equal values have equal bytes, so a
//! digest of the bytes names the value.
//!
//! A crate for it would make every parser of this program read floating-point numbers in another
//! way, because features of `serde_json` are shared.
//!
//! INVARIANT(one-canonical-form): a text is accepted only if it is the canonical form of what was
//! read from it. So unknown and repeated members, other orders, spaces and spellings are refused,
//! and the digest of a file is the digest of its value.

use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::protocol::strict;
use crate::provenance::fault::ProvenanceError;

/// Largest integer that every reader of JSON keeps: 2⁵³-1.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// The canonical form of a value.
///
/// # Errors
///
/// The value has an integer beyond 2⁵³-1, which canonical JSON would round, or is no JSON.
pub fn canonical(value: &impl Serialize) -> Result<String, ProvenanceError> {
    let value = serde_json::to_value(value).map_err(ProvenanceError::Unserialisable)?;
    let mut text = String::new();
    write_value(&value, &mut text)?;
    Ok(text)
}

/// Reads a value from its canonical form. `what` names it in errors.
///
/// # Errors
///
/// The text is no JSON, has other members, or is not in canonical form.
pub(crate) fn read_canonical<T: DeserializeOwned + Serialize>(
    what: &'static str,
    text: &[u8],
) -> Result<T, ProvenanceError> {
    let read = strict::read(text)
        .map_err(|fault| ProvenanceError::Json { what, problem: fault.to_string() })?;
    let value: T = serde_json::from_str(read.text)
        .map_err(|fault| ProvenanceError::Json { what, problem: fault.to_string() })?;
    if canonical(&value)?.as_bytes() == text {
        return Ok(value);
    }
    Err(ProvenanceError::NotCanonical { what })
}

fn write_value(value: &Value, text: &mut String) -> Result<(), ProvenanceError> {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => text.push_str(&number_text(number)?),
        Value::String(string) => write_string(string, text),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_value(item, text)?;
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            text.push('{');
            for (at, (name, item)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write_string(name, text);
                text.push(':');
                write_value(item, text)?;
            }
            text.push('}');
        }
    }
    Ok(())
}

fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for letter in string.chars() {
        match letter {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\u{8}' => text.push_str("\\b"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\u{c}' => text.push_str("\\f"),
            '\r' => text.push_str("\\r"),
            // Writing to a string cannot fail.
            '\0'..='\u{1f}' => write!(text, "\\u{:04x}", u32::from(letter)).unwrap_or_default(),
            _ => text.push(letter),
        }
    }
    text.push('"');
}

/// A number as ECMAScript writes it.
fn number_text(number: &Number) -> Result<String, ProvenanceError> {
    if let Some(whole) = number.as_i64() {
        let is_exact = whole.unsigned_abs() <= MAX_INTEGER;
        return is_exact.then(|| whole.to_string()).ok_or(ProvenanceError::NumberTooLarge);
    }
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(double) => Ok(double_text(double)),
        None => Err(ProvenanceError::NumberTooLarge),
    }
}

/// `Number::toString` of ECMAScript: the shortest digits that read back as the same number.
fn double_text(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    let shortest = format!("{:e}", double.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits = even_of_two(double, mantissa.replace('.', ""));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // The decimal point stands behind so many digits.
    let point = exponent.saturating_add(1);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let split = |at: i32| digits.split_at_checked(usize::try_from(at).unwrap_or_default());
    let sign = if double < 0.0 { "-" } else { "" };
    let text = if (count..=21).contains(&point) {
        format!("{digits}{}", zeros(point.saturating_sub(count)))
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = split(point).unwrap_or((&digits, ""));
        format!("{whole}.{fraction}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", zeros(point.saturating_neg()))
    } else {
        let (first, rest) = split(1).unwrap_or((&digits, ""));
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{exponent:+}")
    };
    format!("{sign}{text}")
}

/// The digits that ECMAScript chooses where two of the same length are equally close: the even ones.
fn even_of_two(double: f64, digits: String) -> String {
    // No double has more digits.
    let exact = format!("{:.770e}", double.abs()).replace('.', "");
    let (head, tail) = exact.split_at_checked(digits.len()).unwrap_or((&exact, ""));
    let tail = tail.split('e').next().unwrap_or_default();
    let is_tie = tail.strip_prefix('5').is_some_and(|rest| rest.bytes().all(|byte| byte == b'0'));
    let is_even = head.bytes().next_back().is_some_and(|byte| byte % 2 == 0);
    if is_tie && is_even { head.to_owned() } else { digits }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Appendix B of RFC 8785: the bits of a number and its text.
    #[test]
    fn numbers_are_written_as_the_rfc_says() {
        for (bits, expected) in [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            assert_eq!(double_text(f64::from_bits(bits)), expected, "{bits:x}");
        }
    }

    /// Sections 3.2.2 and 3.2.3 of RFC 8785.
    #[test]
    fn the_examples_of_the_rfc_have_their_canonical_form() {
        let text = r#"{"string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]}"#;
        let mut value: Value = serde_json::from_str(text).unwrap();
        // The parser of this program reads some doubles less exactly than the compiler does.
        value["numbers"] = json!([333_333_333.333_333_3, 1E30, 4.50, 2e-3, 1e-27]);
        let expected = "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(canonical(&value).unwrap(), expected);
        let names = json!({"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5,
            "\u{80}": 6, "\u{f6}": 7});
        let order = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        assert_eq!(canonical(&names).unwrap(), order);
    }

    #[test]
    fn a_number_that_would_be_rounded_is_refused() {
        assert_eq!(canonical(&json!(MAX_INTEGER)).unwrap(), "9007199254740991");
        assert_eq!(canonical(&json!(-9_007_199_254_740_991_i64)).unwrap(), "-9007199254740991");
        for large in [json!(MAX_INTEGER + 1), json!(u64::MAX), json!(i64::MIN)] {
            assert!(canonical(&large).is_err(), "{large}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let whole = -9_007_199_254_740_991_i64..=9_007_199_254_740_991;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            whole.prop_map(Value::from),
            any::<i32>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::hash_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_value_has_one_canonical_form(value in any_json()) {
            let text = canonical(&value).unwrap();
            let again: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&canonical(&again).unwrap(), &text);
            let spaced = serde_json::to_string_pretty(&value).unwrap();
            let reread: Value = serde_json::from_str(&spaced).unwrap();
            prop_assert_eq!(&canonical(&reread).unwrap(), &text);
        }

        #[test]
        fn numbers_read_back_as_they_were(double in any::<f64>()) {
            prop_assume!(double.is_finite());
            prop_assert_eq!(double_text(double).parse::<f64>().unwrap(), double);
        }
    }
}
