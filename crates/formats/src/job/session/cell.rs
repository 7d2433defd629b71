//! Cells: turns of a guest that is kept, whose program runs in the `__main__` of the cells before it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::job::few::at_most;
use crate::job::session::asking::{CallerRequests, JsonText};
use wardian_vocabulary::ids::BlobId;

/// Maximum number of bundles that one cell displays.
pub const MAX_BUNDLES: usize = 256;

/// Maximum number of forms that a bundle has of one object.
pub const MAX_PARTS: usize = 16;

/// Longest text within an outcome, in bytes. A longer one is a blob.
pub const MAX_INLINE: usize = 64 << 10;

/// Most bytes that the texts of one outcome take as JSON. What does not fit beside the others is a
/// blob.
pub const MAX_INLINE_TOTAL: usize = 1 << 20;

/// Longest MIME type of a part, in bytes: as long as that of a blob.
pub const MAX_PART_KIND: usize = 127;

/// The kind of an empty form that marks the value of a cell among the objects that it displayed, if the
/// order asks for it.
pub const VALUE_KIND: &str = "application/vnd.wardian.value+json";

/// The time that a cell has to end after it was interrupted, by its caller or at its time limit. Then it
/// is stopped, and its guest is of no use any more.
pub const INTERRUPT_GRACE: Duration = Duration::from_secs(1);

/// Makes a turn a cell: its source runs in `__main__`, which stays for the next cell, and `main` is
/// not called.
///
/// [`Turn::entrypoint`](crate::job::Turn::entrypoint) has no meaning then, unless it is a
/// [`Self::program`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellOrder {
    /// The number of the cell in its session, from one on: tracebacks name the source `<cell 3>`.
    pub number: u32,
    /// True if the state is continued a second time, so that its randomness must become another one
    /// before the cell runs.
    pub reseed: bool,
    /// The tools that the program may call: a list of objects with `name`, `description`,
    /// `input_schema` and `output_schema`. Without it, a cell that goes on has those that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<JsonText>,
    /// Lets the cell go on that waits for its caller, instead of running the source: a list of objects
    /// with the `number` of each request and its `output` or `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<JsonText>,
    /// True if the value of the cell is displayed whatever it is, also as text alone. Its bundle has a form
    /// of the kind [`VALUE_KIND`] then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shows_value: bool,
    /// True if the source is a whole program, as that of a run: the only cell of its guest, which may
    /// wait for its caller.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub program: bool,
    /// True if the caller hears what the program asks, and may answer before the turn ends: see
    /// [`Host::ask_caller`](crate::job::host::Host::ask_caller).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_heard: bool,
}

impl CellOrder {
    /// A cell that begins, and whose program may call no tools.
    #[must_use]
    pub const fn new(number: u32, reseed: bool) -> Self {
        let (tools, answers) = (None, None);
        let (shows_value, program, is_heard) = (false, false, false);
        Self { number, reseed, tools, answers, shows_value, program, is_heard }
    }
}

/// What a cell leaves beside its value and its log. As these, a program can make it up, all but
/// [`Self::interrupted`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// What it displayed, in the order in which that came: at most [`MAX_BUNDLES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "few_bundles")]
    pub display: Vec<DisplayBundle>,
    /// True if the guest has confirmed that it was reseeded. One that was ordered to be and has not
    /// confirmed it must not be continued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reseeded: bool,
    /// True if the host interrupted the cell, for its caller or at its time limit. The cell may have
    /// ended with the exception, caught it and returned, or been stopped. One that waits has seen the
    /// interrupt if this is true; otherwise it may have come too late for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// What the cell asks of its caller. It waits for that, and has not ended, if there is something.
    #[serde(default, skip_serializing_if = "CallerRequests::is_empty")]
    pub requests: CallerRequests,
    /// True if the cell waits for that in the middle of a call: its native stack is not empty, so its guest
    /// cannot be saved, and goes on only as it is, with its next turn. Other cells that wait are parked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_held: bool,
}

/// One object that was displayed, in one form or several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DisplayBundle {
    /// The forms, in the order of the guest: at most [`MAX_PARTS`].
    #[serde(deserialize_with = "few_parts")]
    pub parts: Vec<DisplayPart>,
}

/// A form of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisplayPart {
    /// Its MIME type, such as `text/html`: see [`is_part_kind`].
    pub kind: String,
    /// The form itself.
    pub content: DisplayContent,
}

/// The content of a form.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisplayContent {
    /// A text of at most [`MAX_INLINE`] bytes.
    Text(String),
    /// A picture, other bytes, or a longer text. A worker names blobs that its turn has stored; the
    /// gateway has to check that.
    Blob(BlobId),
}

/// Prints no text: the program chooses it, so it may hold anything.
impl fmt::Debug for DisplayContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.debug_struct("Text").field("len", &text.len()).finish(),
            Self::Blob(id) => f.debug_tuple("Blob").field(id).finish(),
        }
    }
}

impl CellOutcome {
    /// True if everything in it is within the bounds of this module, as the host of a guest keeps it.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.display.len() <= MAX_BUNDLES
            && self.display.iter().all(DisplayBundle::is_bounded)
            && self.inline_length() <= MAX_INLINE_TOTAL
            && self.requests.is_bounded()
            && (!self.is_held || !self.requests.is_empty())
    }

    /// Bytes that the texts take as JSON.
    #[must_use]
    pub fn inline_length(&self) -> usize {
        self.display.iter().map(DisplayBundle::inline_length).fold(0, usize::saturating_add)
    }
}

impl DisplayBundle {
    /// True if its parts are few, with MIME types and short texts.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let is_sound = |part: &DisplayPart| {
            let is_short = match &part.content {
                DisplayContent::Text(text) => text.len() <= MAX_INLINE,
                DisplayContent::Blob(_) => true,
            };
            is_short && is_part_kind(&part.kind)
        };
        self.parts.len() <= MAX_PARTS && self.parts.iter().all(is_sound)
    }

    /// Bytes that its texts take as JSON.
    #[must_use]
    pub fn inline_length(&self) -> usize {
        let length = |part: &DisplayPart| match &part.content {
            DisplayContent::Text(text) => json_length(text),
            DisplayContent::Blob(_) => 0,
        };
        self.parts.iter().map(length).fold(0, usize::saturating_add)
    }
}

/// True for a MIME type without parameters in lowercase, such as `image/svg+xml`.
#[must_use]
pub fn is_part_kind(text: &str) -> bool {
    let is_token = |token: &str| {
        let letter = |letter: u8| {
            letter.is_ascii_lowercase()
                || letter.is_ascii_digit()
                || b"!#$%&'*+-.^_`|~".contains(&letter)
        };
        !token.is_empty() && token.bytes().all(letter)
    };
    text.len() <= MAX_PART_KIND
        && text.split_once('/').is_some_and(|(top, sub)| is_token(top) && is_token(sub))
}

/// Bytes that `text` takes as JSON, without the quotes around it.
#[must_use]
pub fn json_length(text: &str) -> usize {
    let escaped = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..=31 => 6,
        _ => 1,
    };
    text.bytes().map(escaped).fold(0, usize::saturating_add)
}

/// Reads a list of at most [`MAX_BUNDLES`] bundles.
fn few_bundles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<DisplayBundle>, D::Error> {
    at_most(MAX_BUNDLES, deserializer)
}

/// Reads a list of at most [`MAX_PARTS`] parts.
fn few_parts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<DisplayPart>, D::Error> {
    at_most(MAX_PARTS, deserializer)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use wardian_vocabulary::ids::Digest;

    fn text(kind: &str, text: &str) -> DisplayPart {
        DisplayPart { kind: kind.to_owned(), content: DisplayContent::Text(text.to_owned()) }
    }

    fn outcome(display: Vec<DisplayBundle>) -> CellOutcome {
        CellOutcome { display, ..CellOutcome::default() }
    }

    #[test]
    fn an_outcome_is_read_as_it_was_written() {
        let id = BlobId::of_digest(&Digest::of(b"picture"));
        let picture =
            DisplayPart { kind: "image/png".to_owned(), content: DisplayContent::Blob(id.clone()) };
        let bundle = DisplayBundle { parts: vec![text("text/plain", "a"), picture] };
        let whole = CellOutcome {
            display: vec![bundle],
            reseeded: true,
            interrupted: true,
            ..CellOutcome::default()
        };
        let written = serde_json::to_string(&whole).unwrap();
        let expected = format!(
            r#"{{"display":[[{{"kind":"text/plain","content":{{"text":"a"}}}},{{"kind":"image/png","content":{{"blob":"{id}"}}}}]],"reseeded":true,"interrupted":true}}"#
        );
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_str::<CellOutcome>(&written).unwrap(), whole);
        let nothing = CellOutcome::default();
        assert_eq!(serde_json::to_string(&nothing).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<CellOutcome>("{}").unwrap(), nothing);
    }

    #[test]
    fn lists_that_are_too_long_are_not_read() {
        for (bundles, parts, is_read) in [
            (MAX_BUNDLES, 1, true),
            (MAX_BUNDLES + 1, 1, false),
            (1, MAX_PARTS, true),
            (1, MAX_PARTS + 1, false),
        ] {
            let part = r#"{"kind":"a/b","content":{"text":""}}"#;
            let bundle = format!("[{}]", vec![part; parts].join(","));
            let text = format!(r#"{{"display":[{}]}}"#, vec![bundle; bundles].join(","));
            let read = serde_json::from_str::<CellOutcome>(&text);
            assert_eq!(read.is_ok_and(|read| read.is_bounded()), is_read, "{bundles} {parts}");
        }
    }

    #[test]
    fn texts_are_short_one_by_one_and_together() {
        let bundle =
            |length: usize| DisplayBundle { parts: vec![text("text/plain", &"x".repeat(length))] };
        assert!(outcome(vec![bundle(MAX_INLINE)]).is_bounded());
        assert!(!outcome(vec![bundle(MAX_INLINE + 1)]).is_bounded());
        let most = MAX_INLINE_TOTAL / MAX_INLINE;
        assert!(outcome(vec![bundle(MAX_INLINE); most]).is_bounded());
        let mut more = vec![bundle(MAX_INLINE); most];
        more.push(bundle(1));
        assert!(!outcome(more).is_bounded());
        let escaped =
            DisplayBundle { parts: vec![text("text/plain", &"\u{1}".repeat(MAX_INLINE))] };
        assert!(!outcome(vec![escaped; 3]).is_bounded(), "escapes take room, too");
    }

    #[test]
    fn kinds_are_mime_types() {
        for kind in ["text/plain", "image/svg+xml", "application/vnd.vega.v5+json", "a/b"] {
            assert!(is_part_kind(kind), "{kind}");
        }
        let long = format!("a/{}", "b".repeat(MAX_PART_KIND - 1));
        for kind in
            ["", "/", "a/", "/b", "text", "Text/plain", "a/b/c", "a/b; c=d", "a/\u{e9}", &long]
        {
            assert!(!is_part_kind(kind), "{kind}");
        }
        let part = DisplayBundle { parts: vec![text("<b>", "")] };
        assert!(!part.is_bounded());
    }

    #[test]
    fn texts_of_a_program_are_not_printed() {
        let bundle = DisplayBundle { parts: vec![text("text/plain", "hunter2")] };
        assert!(!format!("{bundle:?}").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn the_length_as_json_is_that_of_the_serialiser(text in ".*") {
            prop_assert_eq!(json_length(&text) + 2, serde_json::to_string(&text).unwrap().len());
        }

        #[test]
        fn the_length_as_json_counts_control_characters(text in "[\u{0}-\u{7f}]*") {
            prop_assert_eq!(json_length(&text) + 2, serde_json::to_string(&text).unwrap().len());
        }
    }
}
