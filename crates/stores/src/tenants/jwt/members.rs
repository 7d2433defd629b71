//! The members of a JSON object, as slices of its text.

use std::collections::HashSet;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The text is no JSON object, or has a name twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoObject;

/// Finds the values of the members `wanted`, in their order. All others are stepped over, and no
/// name may be there twice, wanted or not: two readers of one token could understand two things.
pub(super) fn members<'a>(
    text: &'a str,
    wanted: &[&str],
) -> Result<Vec<Option<&'a RawValue>>, NoObject> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = deserializer.deserialize_map(Wanted(wanted)).map_err(|_malformed| NoObject)?;
    deserializer.end().map_err(|_more| NoObject)?;
    Ok(found)
}

/// Reads a value as the type that it must have.
pub(super) fn read<T: DeserializeOwned>(value: &RawValue) -> Result<T, NoObject> {
    serde_json::from_str(value.get()).map_err(|_wrong| NoObject)
}

struct Wanted<'w>(&'w [&'w str]);

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Vec<Option<&'de RawValue>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = vec![None; self.0.len()];
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let value: &RawValue = map.next_value()?;
            let places = self.0.iter().zip(&mut found).filter(|(wanted, _)| **wanted == name);
            places.for_each(|(_, place)| *place = Some(value));
            if !names.insert(name) {
                return Err(A::Error::custom("a name appears twice"));
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_once_at_any_depth_of_others() {
        let deep = format!("{{\"x\":{}{},\"a\":[1]}}", "[".repeat(4_000), "]".repeat(4_000));
        let found = members(&deep, &["a", "b", "a"]).unwrap();
        let texts: Vec<_> = found.iter().map(|value| value.map(RawValue::get)).collect();
        assert_eq!(texts, [Some("[1]"), None, Some("[1]")]);
        for wrong in [
            "",
            "1",
            "[]",
            "null",
            "{",
            "{}}",
            "{} x",
            "{\"a\":1,\"a\":1}",
            "{\"z\":1,\"\\u007a\":2}",
            "{\"a\":1,}",
            "{'a':1}",
            "\u{feff}{}",
            "{\"a\":[}",
        ] {
            assert_eq!(members(wrong, &["a"]).unwrap_err(), NoObject, "{wrong}");
        }
    }
}
