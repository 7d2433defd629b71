//! Checks the parameters of a call against the tool table.
//!
//! INVARIANT(schema-is-behaviour): a value passes exactly if the published schema allows it, with
//! two exceptions. `null` leaves an optional parameter out, because clients send
//! `"cursor": null` for the first page. And no integer may need more than 64 bits. For limits of a
//! run this check demands positive integers; the service compares them with the published bounds.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde::de::value::MapDeserializer;
use serde_json::value::{RawValue, to_raw_value};

use crate::protocol::members::{Elements, Members, Sort, string};
use crate::protocol::params_error::ParamsError;
use crate::protocol::schema::{Fallback, Integer, Parameter, Presence, Shape, Text, Tool};
use crate::protocol::wording::{listed, shortened};

/// Parameters that passed the check, with defaults filled in.
#[derive(Debug)]
pub struct Checked<'a>(Vec<(&'static str, Cow<'a, RawValue>)>);

impl Checked<'_> {
    /// Converts the parameters to the type of the method.
    ///
    /// # Errors
    ///
    /// The table and the type disagree. A test compares the two.
    pub fn read<T: for<'de> Deserialize<'de>>(&self, tool: &Tool) -> Result<T, ParamsError> {
        let members = self.0.iter().map(|(name, value)| (*name, value.as_ref()));
        T::deserialize(MapDeserializer::new(members)).map_err(|error: serde_json::Error| {
            ParamsError::wrong(
                tool.name,
                "called as its schema says",
                shortened(&error.to_string()),
            )
        })
    }
}

/// Checks the parameters of a call to `tool`.
///
/// # Errors
///
/// The first wrong parameter. Unknown parameters come before all others.
pub fn check<'a>(
    tool: &'static Tool,
    params: Option<&'a RawValue>,
) -> Result<Checked<'a>, ParamsError> {
    let members = match params {
        None => Members::default(),
        Some(params) => Members::split(params.get())
            .ok_or_else(|| ParamsError::wrong("params", "an object", described(params)))?,
    };
    check_members(tool.name, "", tool.parameters, &members)
}

/// Checks the members of an object. Their names in errors start with `prefix`.
fn check_members<'a>(
    owner: &str,
    prefix: &str,
    known: &'static [Parameter],
    members: &Members<'a>,
) -> Result<Checked<'a>, ParamsError> {
    let is_known = |name: &str| known.iter().any(|parameter| parameter.name == name);
    if let Some((name, _)) = members.0.iter().find(|member| !is_known(&member.0)) {
        let names = listed(known.iter().map(|parameter| parameter.name), "and");
        return Err(ParamsError::Unknown {
            parameter: format!("{prefix}{}", shortened(name)),
            owner: owner.to_owned(),
            known: if names.is_empty() { "no parameters".to_owned() } else { names },
        });
    }
    let mut checked = Vec::new();
    for parameter in known {
        let path = format!("{prefix}{}", parameter.name);
        let sent = members.find(parameter.name);
        let is_left_out = |value: &RawValue| {
            parameter.presence == Presence::Optional && Sort::of(value) == Sort::Null
        };
        match sent.filter(|value| !is_left_out(value)) {
            Some(value) => checked.push((parameter.name, check_value(parameter, &path, value)?)),
            None if parameter.presence == Presence::Required => {
                let expected = parameter.expectation();
                return Err(ParamsError::Missing { parameter: path, expected });
            }
            None => {
                let default = default_of(parameter);
                checked.extend(default.map(|value| (parameter.name, Cow::Owned(value))));
            }
        }
    }
    Ok(Checked(checked))
}

fn default_of(parameter: &Parameter) -> Option<Box<RawValue>> {
    match parameter.shape {
        Shape::Text(Text { shows_default: true, .. }) => None,
        Shape::Text(Text { default, .. }) | Shape::Choice { default, .. } => {
            default.and_then(|text| to_raw_value(text).ok())
        }
        Shape::Integer(Integer { fallback: Fallback::Filled(default), .. }) => {
            to_raw_value(&default).ok()
        }
        Shape::Flag
        | Shape::Integer(_)
        | Shape::Limit(_)
        | Shape::TextList { .. }
        | Shape::WordList { .. }
        | Shape::TextOrObjectList { .. }
        | Shape::FlagOrList { .. }
        | Shape::FlagOrObject(_)
        | Shape::TextOrObject(..)
        | Shape::AnyObject
        | Shape::Object(_)
        | Shape::ObjectList { .. }
        | Shape::Any => None,
    }
}

fn check_value<'a>(
    parameter: &Parameter,
    path: &str,
    value: &'a RawValue,
) -> Result<Cow<'a, RawValue>, ParamsError> {
    let wrong = || ParamsError::wrong(path, parameter.expectation(), described(value));
    let keep = |is_right: bool| if is_right { Ok(Cow::Borrowed(value)) } else { Err(wrong()) };
    match parameter.shape {
        Shape::Text(text) => keep(fits_text(text, value)),
        Shape::Flag => keep(Sort::of(value) == Sort::Boolean),
        Shape::Choice { values, .. } => {
            keep(string(value).is_some_and(|text| values.contains(&text.as_ref())))
        }
        Shape::Integer(integer) => fit_integer(integer, value).ok_or_else(wrong),
        Shape::Limit(_) => fit_integer(POSITIVE, value).ok_or_else(wrong),
        Shape::TextList { item, max_items } => {
            check_list(item, max_items, path, value).and_then(keep)
        }
        Shape::WordList { item, max_items } => {
            check_words(item, max_items, path, value).and_then(keep)
        }
        Shape::TextOrObjectList { item, members, max_items } => {
            check_mixed_list((item, members), max_items, path, value).and_then(keep)
        }
        Shape::FlagOrList { .. } | Shape::FlagOrObject(_) if Sort::of(value) == Sort::Boolean => {
            keep(true)
        }
        Shape::FlagOrList { item, max_items } => {
            check_list(item, max_items, path, value).and_then(keep)
        }
        Shape::TextOrObject(text, _) if Sort::of(value) == Sort::Text => {
            keep(fits_text(text, value))
        }
        Shape::AnyObject => keep(Sort::of(value) == Sort::Object),
        Shape::Any => keep(true),
        Shape::ObjectList { members, max_items } => {
            let split = Elements::split(value, max_items);
            let items = split.filter(|items| items.count <= max_items).ok_or_else(wrong)?;
            let mut checked = Vec::with_capacity(items.count);
            for (index, item) in items.first.into_iter().enumerate() {
                let place = format!("{path}[{index}]");
                let object = || ParamsError::wrong(&place, "an object", described(item));
                let found = Members::split(item.get()).ok_or_else(object)?;
                checked.push(check_members(&place, &format!("{place}."), members, &found)?);
            }
            to_raw_value(&checked).map(Cow::Owned).or(Err(wrong()))
        }
        Shape::Object(known) | Shape::FlagOrObject(known) | Shape::TextOrObject(_, known) => {
            let members = Members::split(value.get()).ok_or_else(wrong)?;
            let checked = check_members(path, &format!("{path}."), known, &members)?;
            to_raw_value(&checked).map(Cow::Owned).or(Err(wrong()))
        }
    }
}

/// Prints the checked object.
impl serde::Serialize for Checked<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (*name, value.as_ref())))
    }
}

fn fits_text(text: Text, value: &RawValue) -> bool {
    if Sort::of(value) != Sort::Text {
        return false;
    }
    // A text has at most as many characters as its JSON has bytes, so most texts need no decoding.
    let fits_undecoded = text.max_length.is_none_or(|most| value.get().len() <= most);
    if fits_undecoded && text.pattern.is_none() {
        return true;
    }
    string(value).is_some_and(|decoded| {
        text.max_length
            .is_none_or(|most| decoded.chars().take(most.saturating_add(1)).count() <= most)
            && text.pattern.is_none_or(|pattern| pattern.fits(&decoded))
    })
}

/// A limit of a run. The service checks its other bounds.
const POSITIVE: Integer = Integer { minimum: 1, maximum: None, fallback: Fallback::None };

/// Returns the value, written as an integer, if it is one within the limits.
fn fit_integer<'a>(integer: Integer, value: &'a RawValue) -> Option<Cow<'a, RawValue>> {
    let most = integer.maximum.unwrap_or(u64::MAX);
    let is_within = |number: &u64| (integer.minimum..=most).contains(number);
    if Sort::of(value) != Sort::Number {
        return None;
    }
    if let Ok(number) = value.get().parse::<u64>() {
        return is_within(&number).then_some(Cow::Borrowed(value));
    }
    // In JSON Schema 50.0 and 1e18 are integers, and some clients write integers in this form.
    let number = exact_integer(value.get()).filter(is_within)?;
    to_raw_value(&number).ok().map(Cow::Owned)
}

/// Returns the integer that a JSON number stands for, if it fits into 64 bits. Never rounds.
fn exact_integer(number: &str) -> Option<u64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if matches!(significant, "" | "-") {
        return Some(0);
    }
    let zeros = i64::try_from(digits.len().checked_sub(significant.len())?).ok()?;
    let moved = i64::try_from(fraction.len()).ok()?;
    let power = exponent.parse::<i64>().ok()?.checked_sub(moved)?.checked_add(zeros)?;
    let factor = 10_u64.checked_pow(u32::try_from(power).ok()?)?;
    significant.parse::<u64>().ok()?.checked_mul(factor)
}

/// Checks a list. Returns false if the value is not a list or too long. An error names the wrong
/// item.
fn check_list(
    item: Text,
    max_items: usize,
    path: &str,
    value: &RawValue,
) -> Result<bool, ParamsError> {
    let Some(items) = Elements::split(value, max_items).filter(|items| items.count <= max_items)
    else {
        return Ok(false);
    };
    let mut seen = HashSet::new();
    for (index, found) in items.first.into_iter().enumerate() {
        let place = || format!("{path}[{index}]");
        let Some(text) = string(found).filter(|_| fits_text(item, found)) else {
            return Err(ParamsError::wrong(&place(), item.expectation(), described(found)));
        };
        let shown = shortened(&text);
        if !seen.insert(text) {
            return Err(ParamsError::Repeated { parameter: place(), item: shown });
        }
    }
    Ok(true)
}

/// Checks a list of strings that may repeat, as [`check_list`].
fn check_words(
    item: Text,
    max_items: usize,
    path: &str,
    value: &RawValue,
) -> Result<bool, ParamsError> {
    let Some(items) = Elements::split(value, max_items).filter(|items| items.count <= max_items)
    else {
        return Ok(false);
    };
    let wrong = items.first.iter().enumerate().find(|(_, found)| !fits_text(item, found));
    match wrong {
        None => Ok(true),
        Some((index, found)) => {
            let place = format!("{path}[{index}]");
            Err(ParamsError::wrong(&place, item.expectation(), described(found)))
        }
    }
}

/// Checks a list of strings and objects. Returns false if the value is not a list or too long. An
/// error names the wrong item.
fn check_mixed_list(
    (item, members): (Text, &'static [Parameter]),
    max_items: usize,
    path: &str,
    value: &RawValue,
) -> Result<bool, ParamsError> {
    let Some(items) = Elements::split(value, max_items).filter(|items| items.count <= max_items)
    else {
        return Ok(false);
    };
    let mut seen = HashSet::new();
    for (index, found) in items.first.into_iter().enumerate() {
        let place = format!("{path}[{index}]");
        let texts: Vec<(&str, String)> = match Members::split(found.get()) {
            Some(sent) => {
                let checked = check_members(&place, &format!("{place}."), members, &sent)?;
                let members = checked.0.iter();
                members.map(|(name, value)| (*name, decoded(value))).collect()
            }
            None if fits_text(item, found) => vec![("", decoded(found))],
            None => {
                let expected = format!("{} or an object", item.expectation());
                return Err(ParamsError::wrong(&place, expected, described(found)));
            }
        };
        let shown = texts.iter().map(|(_, text)| shortened(text)).collect::<Vec<_>>().join(" ");
        if !seen.insert(texts) {
            return Err(ParamsError::Repeated { parameter: place, item: shown });
        }
    }
    Ok(true)
}

/// The text of a string, and the JSON of another value.
fn decoded(value: &RawValue) -> String {
    string(value).map_or_else(|| value.get().to_owned(), Cow::into_owned)
}

/// Describes a value for a message: a short one by its text, a long one by its type.
fn described(value: &RawValue) -> String {
    const SHORT: usize = 64;
    match Sort::of(value) {
        Sort::Null | Sort::Boolean | Sort::Number => shortened(value.get()),
        Sort::Text if value.get().len() <= SHORT => {
            format!("\"{}\"", shortened(&string(value).unwrap_or_default()))
        }
        Sort::Text => format!("a string of {} characters", characters(value)),
        Sort::Array => {
            let count = Elements::split(value, 0).map_or(0, |elements| elements.count);
            format!("an array of {count}")
        }
        Sort::Object => "an object".to_owned(),
    }
}

fn characters(value: &RawValue) -> usize {
    string(value).unwrap_or_default().chars().count()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
