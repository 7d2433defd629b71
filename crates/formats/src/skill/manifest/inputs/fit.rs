//! Checks the text of a value against an [`InputShape`].
//!
//! No value becomes a tree, because a tree can take a hundred times the memory of its text. The
//! text is parsed along the shape. Each part is parsed at most as often as the shape is deep.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Number, Value as Json};

use crate::skill::json_equality::is_same_text;
use crate::skill::manifest::inputs::shape::{InputShape, InputType};
use crate::skill::text::{printable, quoted};
use wardian_vocabulary::ids::BlobId;

/// Most problems that are reported for one call.
pub const MAX_PROBLEMS: usize = 16;

/// Most allowed values that a message lists.
const MAX_LISTED: usize = 20;

/// Longest part of a description that is repeated in a message, in characters.
const MAX_REMINDER: usize = 120;

/// Longest text of a string or number that a message repeats, in bytes of JSON.
const MAX_SHOWN: usize = 1 << 10;

/// Longest text of a string that can be the id of a blob, in bytes of JSON.
const MAX_BLOB_ID: usize = 1 << 10;

/// The results of checking values.
#[derive(Debug, Default)]
pub(crate) struct Fit {
    /// The problems, in words for the caller.
    pub problems: Vec<String>,
    /// The blobs named where the shape has a blob, each once, in the order of the values.
    pub blobs: Vec<BlobId>,
    known: HashSet<BlobId>,
}

/// The place of a value, such as `rows[3].name`.
#[derive(Debug, Clone, Copy)]
pub enum ArgumentPlace<'p> {
    /// The argument of this name.
    Argument(&'p str),
    /// A member of an object.
    Member(&'p ArgumentPlace<'p>, &'p str),
    /// An item of an array.
    Item(&'p ArgumentPlace<'p>, usize),
}

impl fmt::Display for ArgumentPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

impl Fit {
    /// A fit with problems that are known before any value is examined.
    pub(crate) fn with_problems(problems: Vec<String>) -> Self {
        Self { problems, ..Self::default() }
    }

    /// Adds a problem. Returns false if there are enough of them.
    fn add(&mut self, problem: String) -> bool {
        self.problems.push(problem);
        !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    /// Adds a blob unless it is known.
    pub(crate) fn add_blob(&mut self, blob: BlobId) {
        if self.known.insert(blob.clone()) {
            self.blobs.push(blob);
        }
    }

    /// Examines the value at `place`.
    pub(crate) fn examine(
        &mut self,
        place: &ArgumentPlace<'_>,
        shape: &InputShape,
        value: &RawValue,
    ) {
        if self.is_full() {
            return;
        }
        if let Some(problem) = misfit(place, shape, value) {
            self.add(problem);
            return;
        }
        if shape.input_type == InputType::Blob {
            blob_of(value).into_iter().for_each(|blob| self.add_blob(blob));
        }
        let mut reader = serde_json::Deserializer::from_str(value.get());
        // The error is ignored: the text is not JSON, or there are enough problems.
        let _stopped = match shape.input_type {
            InputType::Array if shape.items.is_some() || shape.size != (None, None) => {
                reader.deserialize_seq(Items { fit: self, place, shape })
            }
            InputType::Object if !shape.properties.is_empty() => {
                reader.deserialize_map(Members { fit: self, place, shape })
            }
            _ => Ok(()),
        };
    }

    fn check_size(&mut self, place: &ArgumentPlace<'_>, shape: &InputShape, items: usize) {
        let items = u64::try_from(items).unwrap_or(u64::MAX);
        if let Some((bound, count)) = beyond(shape.size, items) {
            let word = if count == 1 { "item" } else { "items" };
            self.add(format!("`{place}` must have {bound} {count} {word}, not {items}"));
        }
    }
}

/// The bound that a size breaks, such as `at least` and 2.
fn beyond((least, most): (Option<u64>, Option<u64>), size: u64) -> Option<(&'static str, u64)> {
    match (least, most) {
        (Some(least), _) if size < least => Some(("at least", least)),
        (_, Some(most)) if size > most => Some(("at most", most)),
        _ => None,
    }
}

struct Items<'w, 'p> {
    fit: &'w mut Fit,
    place: &'w ArgumentPlace<'p>,
    shape: &'w InputShape,
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut count: usize = 0;
        if let Some(shape) = &self.shape.items {
            while let Some(item) = items.next_element::<&RawValue>()? {
                self.fit.examine(&ArgumentPlace::Item(self.place, count), shape, item);
                if self.fit.is_full() {
                    return Err(Error::custom("enough problems"));
                }
                count = count.saturating_add(1);
            }
        } else {
            while items.next_element::<IgnoredAny>()?.is_some() {
                count = count.saturating_add(1);
            }
        }
        self.fit.check_size(self.place, self.shape, count);
        Ok(())
    }
}

struct Members<'w, 'p> {
    fit: &'w mut Fit,
    place: &'w ArgumentPlace<'p>,
    shape: &'w InputShape,
}

/// A member's name, borrowed unless it has escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Members<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut found: HashSet<&str> = HashSet::new();
        while let Some(Name(name)) = members.next_key()? {
            let value: &RawValue = members.next_value()?;
            let Some(property) = self.shape.property(&name) else { continue };
            if property.is_required {
                found.insert(&property.name);
            } else if value.get() == "null" {
                continue;
            }
            let place = ArgumentPlace::Member(self.place, &property.name);
            self.fit.examine(&place, &property.shape, value);
            if self.fit.is_full() {
                return Err(Error::custom("enough problems"));
            }
        }
        if found.len() == self.shape.required {
            return Ok(());
        }
        for property in &self.shape.properties {
            if property.is_required && !found.contains(property.name.as_str()) {
                let place = ArgumentPlace::Member(self.place, &property.name);
                if !self.fit.add(missing(&place, &property.shape)) {
                    return Err(Error::custom("enough problems"));
                }
            }
        }
        Ok(())
    }
}

/// The message about a missing required value.
pub fn missing(place: &ArgumentPlace<'_>, shape: &InputShape) -> String {
    let reminder = shape.description.as_deref().map(|text| {
        let start: String = text.chars().take(MAX_REMINDER).collect();
        format!(" ({})", printable(&start).replace('\n', " "))
    });
    format!("`{place}` is required: {}{}", shape.input_type, reminder.unwrap_or_default())
}

/// The problem of a value itself, without its items and members.
fn misfit(place: &ArgumentPlace<'_>, shape: &InputShape, value: &RawValue) -> Option<String> {
    let given = || shown(value);
    if !shape.allowed.is_empty() && !is_one_of(&shape.allowed, value) {
        return Some(format!(
            "`{place}` must be {}, not {}",
            alternatives(&shape.allowed),
            given()
        ));
    }
    if !is_of_type(shape.input_type, value) {
        let is_text = shape.input_type == InputType::Blob && value.get().starts_with('"');
        return Some(if is_text {
            format!(
                "`{place}` must be the id of a blob, `blob:` and 52 letters as `create_blob` returned it, not {}",
                given()
            )
        } else {
            format!("`{place}` must be {}, not {}", shape.input_type, given())
        });
    }
    match shape.input_type {
        InputType::Integer | InputType::Number => {
            let (least, most) = &shape.range;
            let is_below = least.as_ref().is_some_and(|least| is_less(value.get(), least));
            let is_above = most.as_ref().is_some_and(|most| is_greater(value.get(), most));
            match (least, most) {
                (Some(least), _) if is_below => {
                    Some(format!("`{place}` must be at least {least}, not {}", given()))
                }
                (_, Some(most)) if is_above => {
                    Some(format!("`{place}` must be at most {most}, not {}", given()))
                }
                _ => None,
            }
        }
        InputType::String if shape.size != (None, None) => {
            let length = characters(value.get());
            let (bound, count) = beyond(shape.size, length)?;
            let word = if count == 1 { "character" } else { "characters" };
            Some(format!("`{place}` must have {bound} {count} {word}, not {length}"))
        }
        _ => None,
    }
}

/// True if the value is one of `allowed`. A number or string is read once, because an array may
/// have millions of items with hundreds of allowed values each.
fn is_one_of(allowed: &[Json], value: &RawValue) -> bool {
    let text = value.get();
    let plain = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    if let Some(plain) = plain.filter(|text| !text.contains('\\')) {
        return allowed.iter().any(|one| one.as_str() == Some(plain));
    }
    if let Ok(number) = text.parse::<f64>() {
        return allowed.iter().any(|one| one.as_f64() == Some(number));
    }
    allowed.iter().any(|one| is_same_text(one, value))
}

fn is_less(text: &str, bound: &Number) -> bool {
    compare(text, bound, |value, bound| value < bound, |value, bound| value < bound)
}

fn is_greater(text: &str, bound: &Number) -> bool {
    compare(text, bound, |value, bound| value > bound, |value, bound| value > bound)
}

/// Compares whole numbers exactly and all others as floats.
fn compare(
    text: &str,
    bound: &Number,
    whole: impl Fn(i128, i128) -> bool,
    float: impl Fn(f64, f64) -> bool,
) -> bool {
    match (text.parse::<i128>(), bound.as_i128()) {
        (Ok(value), Some(bound)) => whole(value, bound),
        _ => match (text.parse::<f64>(), bound.as_f64()) {
            (Ok(value), Some(bound)) => float(value, bound),
            _ => false,
        },
    }
}

/// Characters of a string, counted in its JSON text: an escape is one, and so is a pair of
/// surrogates.
fn characters(text: &str) -> u64 {
    let mut letters = text.chars().skip(1);
    let mut count: u64 = 0;
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' if letters.next() == Some('u') => {
                let code: String = letters.by_ref().take(4).collect();
                let code = u32::from_str_radix(&code, 16).unwrap_or_default();
                // The second half of a pair belongs to the first.
                if !(0xdc00..0xe000).contains(&code) {
                    count = count.saturating_add(1);
                }
            }
            _ => count = count.saturating_add(1),
        }
    }
    count
}

/// The blob that a value names, if it is a blob's id.
pub fn blob_of(value: &RawValue) -> Option<BlobId> {
    let short = Some(value.get()).filter(|text| text.len() <= MAX_BLOB_ID);
    let text: Cow<'_, str> = short.and_then(|text| serde_json::from_str(text).ok())?;
    BlobId::parse(&text).ok()
}

/// True if the value is of this type. The first character of valid JSON determines the type.
fn is_of_type(input_type: InputType, value: &RawValue) -> bool {
    let text = value.get();
    let first = text.bytes().next();
    let is_number = matches!(first, Some(b'-' | b'0'..=b'9'));
    match input_type {
        InputType::String => first == Some(b'"'),
        InputType::Integer => is_number && !text.contains(['.', 'e', 'E']),
        InputType::Number => is_number,
        InputType::Boolean => matches!(text, "true" | "false"),
        InputType::Object => first == Some(b'{'),
        InputType::Array => first == Some(b'['),
        InputType::Blob => blob_of(value).is_some(),
        InputType::Any => true,
    }
}

fn alternatives(allowed: &[Json]) -> String {
    let mut texts: Vec<String> = allowed.iter().take(MAX_LISTED).map(shown_allowed).collect();
    if allowed.len() > MAX_LISTED {
        texts.push(format!("one of {} others", allowed.len() - MAX_LISTED));
    }
    match texts.pop() {
        Some(last) if texts.is_empty() => last,
        Some(last) => format!("{} or {last}", texts.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// An allowed value as a short text; arrays and objects by their type alone.
fn shown_allowed(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

/// A given value as a short text; arrays, objects and long values by their type alone.
fn shown(value: &RawValue) -> String {
    let text = value.get();
    match text.bytes().next() {
        Some(b'[') => "an array".to_owned(),
        Some(b'{') => "an object".to_owned(),
        Some(b'"') if text.len() > MAX_SHOWN => format!("a string of {} bytes", text.len()),
        Some(b'"') => quoted(&serde_json::from_str::<Cow<'_, str>>(text).unwrap_or_default()),
        _ if text.len() > MAX_SHOWN => format!("a number of {} digits", text.len()),
        _ => quoted(text).trim_matches('"').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_are_counted_in_the_text() {
        for (text, count) in [
            (r#""""#, 0),
            (r#""ab""#, 2),
            (r#""é漢""#, 2),
            (r#""\n\"\\""#, 3),
            (r#""\u00e9""#, 1),
            (r#""\ud83d\ude00x""#, 2),
        ] {
            assert_eq!(characters(text), count, "{text}");
        }
    }

    #[test]
    fn numbers_are_compared_exactly_however_large() {
        let bound = Number::from(u64::MAX);
        assert!(!is_greater("18446744073709551615", &bound));
        assert!(is_greater("18446744073709551616", &bound));
        assert!(is_less("-9223372036854775809", &Number::from(i64::MIN)));
        assert!(is_greater("1e400", &bound) && is_less("1.5", &Number::from(2)));
        assert!(!is_less("2.0", &Number::from(2)) && !is_greater("2e0", &Number::from(2)));
    }

    proptest! {
        #[test]
        fn as_many_characters_as_the_string_has(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(characters(&json), u64::try_from(text.chars().count()).unwrap());
        }
    }
}
