//! Compares a value with the expected parts of it.

use serde_json::Value;

/// Checks that `actual` is what `expected` says: objects may have more members, arrays have
/// equally many elements, numbers agree to a relative 1e-9, and all else is equal. Says where the
/// first difference is.
pub(crate) fn matches(actual: &Value, expected: &Value) -> Result<(), String> {
    differ("output", actual, expected)
}

fn differ(place: &str, actual: &Value, expected: &Value) -> Result<(), String> {
    match (actual, expected) {
        (Value::Object(members), Value::Object(wanted)) => {
            wanted.iter().try_for_each(|(name, wanted)| {
                let place = format!("{place}.{name}");
                match members.get(name) {
                    Some(found) => differ(&place, found, wanted),
                    None => Err(format!("{place} is missing, expected {wanted}")),
                }
            })
        }
        (Value::Array(items), Value::Array(wanted)) => {
            if items.len() != wanted.len() {
                return Err(format!("{place} has {} items, not {}", items.len(), wanted.len()));
            }
            items.iter().zip(wanted).enumerate().try_for_each(|(index, (item, wanted))| {
                differ(&format!("{place}[{index}]"), item, wanted)
            })
        }
        (Value::Number(_), Value::Number(_)) if are_close(actual, expected) => Ok(()),
        _ if actual == expected => Ok(()),
        _ => Err(format!("{place} is {actual}, not {expected}")),
    }
}

fn are_close(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) else { return false };
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// The texts that are not in `text`.
pub(crate) fn contained<'a>(text: &str, wanted: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    wanted.into_iter().filter(|wanted| !text.contains(wanted)).collect()
}
