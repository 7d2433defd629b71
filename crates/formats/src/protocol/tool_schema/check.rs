//! The check of one value, which goes as deep as the value and its schema do.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use serde::de::{Deserializer as _, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Deserializer;
use serde_json::value::RawValue;

use crate::protocol::members::{Members, Sort, string};
use crate::protocol::tool_schema::keywords::{Keywords, OtherMembers, SizeBounds, number};
use crate::protocol::wording::{listed, shortened};

/// Most levels of a value and of the schemas that apply to it one after another.
pub(crate) const MAX_LEVELS: usize = 128;

/// Most levels of schemas that are kept as they were read.
const MAX_KEPT: usize = 4_096;

/// Longest text about alternatives that gets longer, in bytes.
const MAX_ALTERNATIVES: usize = 200;

/// Most values that a message lists.
const MAX_SHOWN: usize = 8;

/// The work that a check may still do, in bytes that are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work(usize);

impl Work {
    /// Enough for every reasonable schema: the value may be read sixteen times.
    pub(crate) fn for_value(value: &RawValue) -> Self {
        Self((4_usize << 20).saturating_add(value.get().len().saturating_mul(16)))
    }
}

/// Why a value does not fit.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// A part of it is something else. The place begins with its innermost part.
    Wrong { place: Vec<String>, expected: String },
    /// The check would take too long.
    TooMuch,
}

impl Misfit {
    fn wrong(expected: impl Into<String>) -> Self {
        Self::Wrong { place: Vec::new(), expected: expected.into() }
    }

    /// The same misfit, of a part of something.
    fn within(self, part: impl FnOnce() -> String) -> Self {
        match self {
            Self::TooMuch => Self::TooMuch,
            Self::Wrong { mut place, expected } => {
                place.push(part());
                Self::Wrong { place, expected }
            }
        }
    }
}

/// A check in progress.
#[derive(Debug)]
pub(crate) struct Check<'a> {
    root: &'a RawValue,
    work: Work,
    /// Levels of the schema that were read, by the place of their text.
    known: HashMap<*const u8, Rc<Keywords<'a>>>,
}

impl<'a> Check<'a> {
    pub(crate) fn new(root: &'a RawValue, work: Work) -> Self {
        Self { root, work, known: HashMap::new() }
    }

    /// Checks a value against a part of the schema.
    pub(crate) fn value(
        &mut self,
        schema: &'a RawValue,
        value: &RawValue,
        level: usize,
    ) -> Result<(), Misfit> {
        if level > MAX_LEVELS {
            return Err(Misfit::TooMuch);
        }
        self.charge(value.get().len())?;
        let keywords = self.keywords(schema)?;
        if keywords.is_never {
            return Err(Misfit::wrong("left out"));
        }
        let inner = level.saturating_add(1);
        if let Some(reference) = &keywords.reference
            && let Some(target) = self.target(reference)
        {
            self.value(target, value, inner)?;
        }
        for &schema in &keywords.all_of {
            self.value(schema, value, inner)?;
        }
        for alternatives in &keywords.any_of {
            self.any_of(alternatives, value, inner)?;
        }
        ensure_type(&keywords, value)?;
        ensure_choice(&keywords, value)?;
        match Sort::of(value) {
            Sort::Number => ensure_number(&keywords, value),
            Sort::Text => {
                let length = string(value).map_or(0, |text| text.chars().count());
                ensure_count(keywords.length, length, "character")
            }
            Sort::Array => self.elements(&keywords, value, inner),
            Sort::Object => self.members(&keywords, value, inner),
            Sort::Null | Sort::Boolean => Ok(()),
        }
    }

    fn any_of(
        &mut self,
        alternatives: &[&'a RawValue],
        value: &RawValue,
        level: usize,
    ) -> Result<(), Misfit> {
        let mut first = None;
        for &schema in alternatives {
            match self.value(schema, value, level) {
                Ok(()) => return Ok(()),
                Err(Misfit::TooMuch) => return Err(Misfit::TooMuch),
                // That of a deeper place says more: the others are of another kind.
                Err(misfit) => first = Some(deeper(first, misfit)),
            }
        }
        first.map_or(Ok(()), Err)
    }

    fn elements(
        &mut self,
        keywords: &Keywords<'a>,
        value: &RawValue,
        level: usize,
    ) -> Result<(), Misfit> {
        let mut count = 0_usize;
        each(value, &mut |_, element| {
            let at = count;
            count = count.saturating_add(1);
            let Some(items) = keywords.items else { return Ok(()) };
            self.value(items, element, level).map_err(|misfit| misfit.within(|| format!("[{at}]")))
        })?;
        ensure_count(keywords.count, count, "element")
    }

    fn members(
        &mut self,
        keywords: &Keywords<'a>,
        value: &RawValue,
        level: usize,
    ) -> Result<(), Misfit> {
        let mut count = 0_usize;
        let mut missing: BTreeSet<&str> = keywords.required.iter().map(AsRef::as_ref).collect();
        each(value, &mut |name, member| {
            count = count.saturating_add(1);
            missing.remove(name);
            let schema = match (keywords.properties.get(name), keywords.others) {
                (Some(schema), _) => *schema,
                (None, OtherMembers::Fit(schema)) => schema,
                (None, OtherMembers::Any) => return Ok(()),
                (None, OtherMembers::Refused) => {
                    let known = keywords.properties.keys().take(MAX_SHOWN);
                    let known: Vec<String> = known.map(|name| shortened(name)).collect();
                    let known = listed(known.iter().map(String::as_str), "and");
                    let expected = match known.as_str() {
                        "" => "left out".to_owned(),
                        known => format!("left out; the schema has {known}"),
                    };
                    return Err(Misfit::wrong(expected).within(|| member_named(name)));
                }
            };
            self.value(schema, member, level).map_err(|misfit| misfit.within(|| member_named(name)))
        })?;
        if let Some(name) = missing.first() {
            return Err(Misfit::wrong(format!("an object with `{}`", shortened(name))));
        }
        ensure_count(keywords.members, count, "member")
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Misfit> {
        self.work.0 = self.work.0.checked_sub(bytes.max(16)).ok_or(Misfit::TooMuch)?;
        Ok(())
    }

    /// The keywords of a part of the schema, which is read once.
    fn keywords(&mut self, schema: &'a RawValue) -> Result<Rc<Keywords<'a>>, Misfit> {
        let place = schema.get().as_ptr();
        if let Some(known) = self.known.get(&place) {
            return Ok(Rc::clone(known));
        }
        self.charge(schema.get().len())?;
        let read = Rc::new(Keywords::of(schema));
        if self.known.len() < MAX_KEPT {
            self.known.insert(place, Rc::clone(&read));
        }
        Ok(read)
    }

    /// The part of the schema at this path, such as `#/$defs/Line`.
    fn target(&mut self, reference: &str) -> Option<&'a RawValue> {
        let path = reference.strip_prefix('#')?;
        let mut found = self.root;
        for part in path.split('/').skip(1) {
            self.charge(found.get().len()).ok()?;
            let part = part.replace("~1", "/").replace("~0", "~");
            found = Members::split(found.get())?.find(&part)?;
        }
        Some(found)
    }
}

fn member_named(name: &str) -> String {
    format!(".{}", shortened(name))
}

/// The misfit that says more of two alternatives: that of the deeper place.
fn deeper(first: Option<Misfit>, next: Misfit) -> Misfit {
    let Some(Misfit::Wrong { place, expected }) = first else { return next };
    match next {
        Misfit::TooMuch => Misfit::TooMuch,
        Misfit::Wrong { place: other, expected: more } => {
            match (place.len().cmp(&other.len()), expected.len() < MAX_ALTERNATIVES) {
                (Ordering::Less, _) => Misfit::Wrong { place: other, expected: more },
                (Ordering::Equal, true) if place == other && expected != more => {
                    Misfit::Wrong { place, expected: format!("{expected} or {more}") }
                }
                _ => Misfit::Wrong { place, expected },
            }
        }
    }
}

fn ensure_type(keywords: &Keywords<'_>, value: &RawValue) -> Result<(), Misfit> {
    let known = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let is_known = |name: &Cow<'_, str>| known.contains(&name.as_ref());
    if keywords.types.is_empty() || !keywords.types.iter().all(is_known) {
        return Ok(());
    }
    let sort = Sort::of(value);
    let fits = |name: &Cow<'_, str>| match name.as_ref() {
        "null" => sort == Sort::Null,
        "boolean" => sort == Sort::Boolean,
        "integer" => number(value).is_some_and(|number| number.fract() == 0.0),
        "number" => sort == Sort::Number,
        "string" => sort == Sort::Text,
        "array" => sort == Sort::Array,
        _ => sort == Sort::Object,
    };
    if keywords.types.iter().any(fits) {
        return Ok(());
    }
    let names = keywords.types.iter().map(|name| match name.as_ref() {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        _ => format!("a {name}"),
    });
    Err(Misfit::wrong(names.collect::<Vec<_>>().join(" or ")))
}

/// Values that consist of others are not compared.
fn ensure_choice(keywords: &Keywords<'_>, value: &RawValue) -> Result<(), Misfit> {
    let Some(choices) = &keywords.choices else { return Ok(()) };
    let is_scalar = |one: &RawValue| !matches!(Sort::of(one), Sort::Array | Sort::Object);
    let may_be = |choice: &&RawValue| {
        if !is_scalar(choice) {
            return !is_scalar(value);
        }
        is_same_scalar(choice, value)
    };
    if choices.iter().any(may_be) {
        return Ok(());
    }
    let shown = choices.iter().filter(|choice| is_scalar(choice)).take(MAX_SHOWN);
    let shown: Vec<String> = shown.map(|choice| shortened(choice.get().trim())).collect();
    Err(Misfit::wrong(format!("one of {}", shown.join(", "))))
}

fn is_same_scalar(one: &RawValue, other: &RawValue) -> bool {
    match (Sort::of(one), Sort::of(other)) {
        (Sort::Text, Sort::Text) => string(one) == string(other),
        (Sort::Number, Sort::Number) => {
            one.get().trim() == other.get().trim()
                || number(one)
                    .zip(number(other))
                    .is_some_and(|(one, other)| one.total_cmp(&other).is_eq())
        }
        (one_sort, other_sort) => one_sort == other_sort && one.get().trim() == other.get().trim(),
    }
}

fn ensure_number(keywords: &Keywords<'_>, value: &RawValue) -> Result<(), Misfit> {
    let Some(number) = number(value) else { return Ok(()) };
    let (within, beyond) = (keywords.value, keywords.beyond);
    let expected = match (within.least, within.most, beyond.least, beyond.most) {
        (Some(least), ..) if number < least => format!("at least {least}"),
        (_, Some(most), ..) if number > most => format!("at most {most}"),
        (.., Some(least), _) if number <= least => format!("more than {least}"),
        (.., Some(most)) if number >= most => format!("less than {most}"),
        _ => return Ok(()),
    };
    Err(Misfit::wrong(expected))
}

fn ensure_count(bounds: SizeBounds, count: usize, of: &str) -> Result<(), Misfit> {
    // No text has so many parts that a double could not count them.
    let count = u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
    match (bounds.least, bounds.most) {
        (Some(least), _) if count < least => {
            Err(Misfit::wrong(format!("at least {least} {of}{}", plural(least))))
        }
        (_, Some(most)) if count > most => {
            Err(Misfit::wrong(format!("at most {most} {of}{}", plural(most))))
        }
        _ => Ok(()),
    }
}

fn plural(count: f64) -> &'static str {
    if count > 1.0 { "s" } else { "" }
}

/// What is done with each part of a value.
type Step<'s> = dyn FnMut(&str, &RawValue) -> Result<(), Misfit> + 's;

/// Reads an array or an object part by part, until a part does not fit.
fn each(value: &RawValue, step: &mut Step<'_>) -> Result<(), Misfit> {
    let mut found = Ok(());
    let parts = Parts { step, found: &mut found };
    let read = Deserializer::from_str(value.get()).deserialize_any(parts);
    // Texts are checked before, so only a part that does not fit ends this.
    found.and(read.map_err(|_unreadable| Misfit::TooMuch))
}

struct Parts<'s, 'f> {
    step: &'s mut Step<'f>,
    found: &'s mut Result<(), Misfit>,
}

impl<'de> Visitor<'de> for Parts<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self { step, found } = self;
        while let Some(element) = elements.next_element::<&RawValue>()? {
            *found = step("", element);
            if found.is_err() {
                return Err(A::Error::custom("a part does not fit"));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { step, found } = self;
        while let Some((Name(name), member)) = members.next_entry::<Name<'_>, &RawValue>()? {
            *found = step(&name, member);
            if found.is_err() {
                return Err(A::Error::custom("a part does not fit"));
            }
        }
        Ok(())
    }
}

/// The name of a member, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
