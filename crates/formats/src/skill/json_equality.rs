//! Compares a value of a manifest with the text of an argument, without building a tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// True if `text` is the JSON of `expected`. A number at the top is compared by value: `1` is
/// `1.0`.
///
/// Memory depends on the depth of `expected` alone. The text is parsed along the expected value, up
/// to the first difference.
pub(crate) fn is_same_text(expected: &Json, text: &RawValue) -> bool {
    // All numbers are compared as floats, as `is_same` of `[inputs]` does.
    if let (Json::Number(_), Ok(number)) = (expected, text.get().parse::<f64>()) {
        #[expect(clippy::float_cmp, reason = "the same number written twice is the same float")]
        return expected.as_f64().is_some_and(|expected| expected == number);
    }
    let mut reader = serde_json::Deserializer::from_str(text.get());
    Same(expected).deserialize(&mut reader).is_ok()
}

/// Deserializes a value and fails unless it equals this one.
struct Same<'e>(&'e Json);

fn differs<E: Error>() -> E {
    E::custom("another value")
}

impl<'de> DeserializeSeed<'de> for Same<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Same<'_> {
    fn is<E: Error>(&self, found: &Json) -> Result<(), E> {
        if self.0 == found { Ok(()) } else { Err(differs()) }
    }
}

impl<'de> Visitor<'de> for Same<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the same value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.is(&Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.is(&Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.is(&Json::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.is(&Json::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.is(&Json::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        if self.0.as_str() == Some(value) { Ok(()) } else { Err(differs()) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let expected = self.0.as_array().ok_or_else(differs)?;
        for item in expected {
            items.next_element_seed(Same(item))?.ok_or_else(differs)?;
        }
        match items.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(Error::invalid_type(Unexpected::Seq, &"no more items")),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let expected = self.0.as_object().ok_or_else(differs)?;
        let mut found: usize = 0;
        while let Some(Name(name)) = members.next_key()? {
            let value = expected.get(name.as_ref()).ok_or_else(differs)?;
            members.next_value_seed(Same(value))?;
            found = found.saturating_add(1);
        }
        // Names are unique, so an equal count means that no member is missing.
        if found == expected.len() { Ok(()) } else { Err(differs()) }
    }
}

/// A member's name, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::skill::manifest::inputs::declared::is_same;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn values_are_compared_with_texts() {
        for (expected, text, is_so) in [
            (json!("é"), "\"\\u00e9\"", true),
            (json!("é"), "\"e\"", false),
            (json!(1), "1.0", true),
            (json!(1.5), "15e-1", true),
            (json!(1), "\"1\"", false),
            (json!(true), "true", true),
            (json!(null), "null", true),
            (json!([1, {"a": "x"}]), "[1, {\"a\": \"x\"}]", true),
            (json!([1]), "[1, 2]", false),
            (json!([1, 2]), "[1]", false),
            (json!({"a": 1, "b": 2}), "{\"b\": 2, \"a\": 1}", true),
            (json!({"a": 1}), "{\"a\": 1, \"b\": 2}", false),
            (json!({"a": 1, "b": 2}), "{\"a\": 1}", false),
            (json!({}), "[]", false),
        ] {
            assert_eq!(is_same_text(&expected, &raw(text)), is_so, "{expected} {text}");
        }
    }

    fn value() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (-3_i64..3).prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            (-2_i32..2).prop_map(|half| Json::from(f64::from(half) / 2.0)),
            "[ab\"]{0,2}".prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
                proptest::collection::btree_map("[ab]", inner, 0..3)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn texts_are_the_same_as_trees_say(one in value(), other in value()) {
            for (one, other) in [(&one, &other), (&one, &one)] {
                let text = raw(&other.to_string());
                prop_assert_eq!(is_same_text(one, &text), is_same(one, other));
            }
        }
    }
}
