//! The differences between a document and a repetition, or another document.
//!
//! INVARIANT(unequal-differs): two inputs, and two ends, that are not equal have a difference, also
//! if no member shows it.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::job::LayerPlace;
use crate::job::outcome::{LogChunk, Stream};
use crate::provenance::document::{DocumentError, DocumentFile, RunEnding, RunInputs};
use crate::provenance::fault::{ProvenanceError, harmless};
use crate::provenance::session::asked::PartEnding;
use wardian_vocabulary::ids::BlobId;

/// Longest value that a difference repeats, in characters.
const MAX_SHOWN: usize = 200;

/// Characters before the first one that differs.
const LEAD: usize = 40;

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The member that differs, such as `fuel` or `log line 3`.
    pub what: String,
    /// Its value in the document; none if it does not exist.
    pub recorded: Option<String>,
    /// Its other value; none if it does not exist.
    pub found: Option<String>,
}

/// The inputs of a repetition differ from those of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherInputs {
    /// The first difference.
    pub difference: Difference,
    /// True if the interpreter, the image or the batteries are others.
    pub is_of_machine: bool,
}

impl fmt::Display for OtherInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { what, recorded, found } = &self.difference;
        let shown = |value: &Option<String>| {
            let text = value.as_ref().map(|text| format!("`{}`", harmless(text)));
            text.unwrap_or_else(|| "nothing".to_owned())
        };
        let (what, recorded, found) = (harmless(what), shown(recorded), shown(found));
        write!(f, "`{what}` is {recorded} in the document and {found} here; nothing was executed")
    }
}

impl Difference {
    /// A request to the network that is on one side only, in a sentence.
    #[must_use]
    pub fn in_network(mut sentence: String) -> Self {
        sentence.insert_str(0, "network: ");
        Self::of(sentence, None, None)
    }

    /// A request for an answer that is on one side only, or is another one, in a sentence.
    #[must_use]
    pub fn in_tools(mut sentence: String) -> Self {
        sentence.insert_str(0, "tools: ");
        Self::of(sentence, None, None)
    }

    fn of(what: impl Into<String>, recorded: Option<String>, found: Option<String>) -> Self {
        Self { what: what.into(), recorded, found }
    }
}

impl RunInputs {
    /// The differences from other inputs.
    ///
    /// # Errors
    ///
    /// The inputs have no JSON, which does not happen.
    pub fn differences(&self, other: &Self) -> Result<Vec<Difference>, ProvenanceError> {
        let value =
            |inputs: &Self| serde_json::to_value(inputs).map_err(ProvenanceError::Unserialisable);
        let mut found = Vec::new();
        walk("", &value(self)?, &value(other)?, &mut found);
        if found.is_empty() && self != other {
            found.push(Difference::of("inputs", None, None));
        }
        Ok(found)
    }

    /// True if the other inputs have another interpreter, another image or other batteries, which
    /// belong to a machine and not to a run.
    #[must_use]
    pub fn is_for_other_machine(&self, other: &Self) -> bool {
        let batteries = |inputs: &Self| {
            let layers = inputs.layers.iter().filter(|one| one.place == LayerPlace::Batteries);
            layers.map(|layer| layer.digest).collect::<Vec<_>>()
        };
        self.engine != other.engine
            || self.image != other.image
            || batteries(self) != batteries(other)
    }
}

/// Compares two values member by member.
pub(super) fn walk(path: &str, recorded: &Value, found: &Value, differences: &mut Vec<Difference>) {
    match (recorded, found) {
        (Value::Object(one), Value::Object(other)) => {
            let more = other.keys().filter(|name| !one.contains_key(*name));
            for name in one.keys().chain(more) {
                let dot = if path.is_empty() { "" } else { "." };
                let null = &Value::Null;
                let (one, other) = (one.get(name).unwrap_or(null), other.get(name).unwrap_or(null));
                walk(&format!("{path}{dot}{name}"), one, other, differences);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (one, other)) in one.iter().zip(other).enumerate() {
                walk(&format!("{path}[{at}]"), one, other, differences);
            }
        }
        (Value::String(one), Value::String(other)) if one != other => {
            let (one, other) = around(one, other);
            differences.push(Difference::of(path, Some(one), Some(other)));
        }
        _ if recorded == found => {}
        _ => {
            let shown = |value: &Value| (!value.is_null()).then(|| cut(&value.to_string()));
            differences.push(Difference::of(path, shown(recorded), shown(found)));
        }
    }
}

impl RunEnding {
    /// The first difference in each part of what came out: status, error, output, log, fuel, blobs
    /// and files.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        // The first part that differs explains the others.
        let mut found = part_difference(&self.parts, &other.parts);
        let mut note = |what: &str, one: Option<String>, two: Option<String>| {
            if one != two {
                found.push(Difference::of(what, one, two));
            }
        };
        let whole = |number: u64| Some(number.to_string());
        note("status", Some(self.status.name().into()), Some(other.status.name().into()));
        error_parts(self.error.as_ref(), other.error.as_ref(), &mut note);
        note("output", self.output.clone(), other.output.clone());
        let truncated = |ending: &Self| Some(ending.output_truncated.to_string());
        note("output_truncated", truncated(self), truncated(other));
        note("summary", Some(self.summary.clone()), Some(other.summary.clone()));
        if let Some(line) = first_line(&self.log.pieces, &other.log.pieces) {
            note(&line.what, line.recorded, line.found);
        }
        note("dropped log bytes", whole(self.log.dropped_bytes), whole(other.log.dropped_bytes));
        note("fuel", self.fuel.and_then(whole), other.fuel.and_then(whole));
        note("memory_peak_bytes", whole(self.memory_peak_bytes), whole(other.memory_peak_bytes));
        note("files_total", self.files_total.and_then(whole), other.files_total.and_then(whole));
        found.extend(first_item(
            "blob",
            &self.output_blobs,
            &other.output_blobs,
            BlobId::to_string,
        ));
        found.extend(first_item("file", &self.files, &other.files, file_text));
        if found.is_empty() && self != other {
            found.push(Difference::of("ending", None, None));
        }
        found
    }
}

/// The differences of the first part that differs.
fn part_difference(one: &[PartEnding], other: &[PartEnding]) -> Vec<Difference> {
    let longest = one.len().max(other.len());
    let Some(at) = (0..longest).find(|at| one.get(*at) != other.get(*at)) else {
        return Vec::new();
    };
    let value = |parts: &[PartEnding]| serde_json::to_value(parts.get(at)).unwrap_or_default();
    let (name, mut found) = (format!("part {}", at.saturating_add(1)), Vec::new());
    walk(&name, &value(one), &value(other), &mut found);
    found
}

/// Takes a difference, if there is one.
type Note<'n> = dyn FnMut(&str, Option<String>, Option<String>) + 'n;

/// A part of an error.
type ErrorPart = fn(&DocumentError) -> Option<String>;

/// The parts of an error, by name.
const ERROR_PARTS: [(&str, ErrorPart); 3] = [
    ("error.type", |error| Some(error.error_type.clone())),
    ("error.message", |error| Some(error.message.clone())),
    ("error.traceback", |error| error.traceback.clone()),
];

fn error_parts(one: Option<&DocumentError>, two: Option<&DocumentError>, note: &mut Note<'_>) {
    for (what, part) in ERROR_PARTS {
        note(what, one.and_then(part), two.and_then(part));
    }
}

fn file_text(file: &DocumentFile) -> String {
    let DocumentFile { path, size_bytes, blob_id, kind, not_kept } = file;
    let kept = blob_id.as_ref().map_or("not kept".to_owned(), ToString::to_string);
    let kind = kind.as_ref().map_or(String::new(), |kind| format!(", {kind}"));
    let why = not_kept.as_ref().map_or(String::new(), |why| format!(": `{why}`"));
    format!("{path} ({size_bytes} bytes, {kept}{kind}){why}")
}

/// The first items of two lists that differ, whether their texts differ or not.
fn first_item<T: PartialEq>(
    what: &str,
    one: &[T],
    two: &[T],
    shown: fn(&T) -> String,
) -> Option<Difference> {
    let longest = one.len().max(two.len());
    let at = (0..longest).find(|at| one.get(*at) != two.get(*at))?;
    let name = format!("{what} {}", at.saturating_add(1));
    Some(Difference::of(name, one.get(at).map(shown), two.get(at).map(shown)))
}

/// The first line of two logs that differs. Lines are counted from 1.
fn first_line(one: &[LogChunk], two: &[LogChunk]) -> Option<Difference> {
    let (mut one, mut two) = (lines(one), lines(two));
    let mut number: u64 = 0;
    loop {
        number = number.saturating_add(1);
        match (one.next(), two.next()) {
            (None, None) => return None,
            (one, two) if one == two => {}
            (one, two) => {
                let texts = (one.map(|(_, text)| text), two.map(|(_, text)| text));
                let (one, two) = match (one, two) {
                    // The texts are the same, and the streams are not.
                    (Some((from, text)), Some((to, other))) if text == other => {
                        let told = |stream| format!("{}: {}", stream_name(stream), cut(text));
                        (Some(told(from)), Some(told(to)))
                    }
                    (Some((_, text)), Some((_, other))) => {
                        let (text, other) = around(text, other);
                        (Some(text), Some(other))
                    }
                    _ => (texts.0.map(cut), texts.1.map(cut)),
                };
                return Some(Difference::of(format!("log line {number}"), one, two));
            }
        }
    }
}

fn lines(pieces: &[LogChunk]) -> impl Iterator<Item = (Stream, &str)> {
    pieces
        .iter()
        .flat_map(|piece| piece.text.split_inclusive('\n').map(move |line| (piece.stream, line)))
}

const fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Log => "log",
        Stream::Progress => "progress",
        Stream::Request => "request",
    }
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Two texts where they begin to differ.
fn around(one: &str, two: &str) -> (String, String) {
    let same = one.chars().zip(two.chars()).take_while(|(one, two)| one == two).count();
    let skipped = same.saturating_sub(LEAD);
    let part = |text: &str| {
        let part: String = text.chars().skip(skipped).collect();
        let before = if skipped > 0 { "…" } else { "" };
        format!("{before}{}", cut(&part))
    };
    if one.chars().nth(MAX_SHOWN).is_none() && two.chars().nth(MAX_SHOWN).is_none() {
        return (one.to_owned(), two.to_owned());
    }
    (part(one), part(two))
}

/// Lines around the first place at which two texts differ, each with `-`, `+` or a space before it.
/// At most `most` lines of each text are shown.
#[must_use]
pub fn line_diff(recorded: &str, found: &str, most: usize) -> Vec<String> {
    const CONTEXT: usize = 2;
    let (one, two): (Vec<_>, Vec<_>) = (recorded.lines().collect(), found.lines().collect());
    let same = one.iter().zip(&two).take_while(|(one, two)| one == two).count();
    let (rest_one, rest_two) =
        (one.get(same..).unwrap_or_default(), two.get(same..).unwrap_or_default());
    let tail = rest_one.iter().rev().zip(rest_two.iter().rev()).take_while(|(one, two)| one == two);
    let tail = tail.count();
    let mut shown = Vec::new();
    let first = same.saturating_sub(CONTEXT);
    let lead = one.get(first..same).unwrap_or_default();
    shown.extend(lead.iter().map(|line| format!("  {}", cut(line))));
    for (mark, lines) in [('-', rest_one), ('+', rest_two)] {
        let lines = lines.get(..lines.len().saturating_sub(tail)).unwrap_or_default();
        for (line, other) in lines.iter().zip(0..most) {
            let other = if mark == '-' { rest_two.get(other) } else { rest_one.get(other) };
            let text = other.map_or_else(|| cut(line), |other| around(line, other).0);
            shown.push(format!("{mark} {text}"));
        }
        if lines.len() > most {
            shown.push(format!("{mark} … {} more lines", lines.len().saturating_sub(most)));
        }
    }
    let behind = rest_one.get(rest_one.len().saturating_sub(tail)..).unwrap_or_default();
    shown.extend(behind.iter().take(CONTEXT).map(|line| format!("  {}", cut(line))));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::document::{DocumentLog, DocumentStatus};

    fn ending(files: Vec<DocumentFile>, pieces: Vec<LogChunk>) -> RunEnding {
        RunEnding {
            status: DocumentStatus::Completed,
            summary: "Completed.".into(),
            output: None,
            output_truncated: false,
            error: None,
            log: DocumentLog { pieces, dropped_bytes: 0 },
            output_blobs: Vec::new(),
            files,
            files_total: None,
            fuel: Some(1),
            memory_peak_bytes: 1,
            parts: Vec::new(),
        }
    }

    #[test]
    fn the_first_part_that_differs_is_named() {
        let digest = wardian_vocabulary::ids::Digest::of(b"x");
        let part = |fuel| PartEnding {
            log_sha256: digest,
            display_sha256: digest,
            output_blobs: Vec::new(),
            fuel,
            memory_bytes: 1,
            state_digest: None,
        };
        let with = |parts| RunEnding { parts, ..ending(Vec::new(), Vec::new()) };
        let recorded = with(vec![part(1), part(2)]);
        let found = recorded.differences(&with(vec![part(1), part(3)]));
        assert_eq!(found.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(), ["part 2.fuel"]);
        let found = recorded.differences(&with(vec![part(1)]));
        assert_eq!(found.first().map(|one| one.what.as_str()), Some("part 2"));
    }

    fn file() -> DocumentFile {
        DocumentFile {
            path: "a".into(),
            size_bytes: 1,
            blob_id: Some(BlobId::of_digest(&wardian_vocabulary::ids::Digest::of(b"a"))),
            kind: Some("text/plain".into()),
            not_kept: None,
        }
    }

    /// The test of the invariant `unequal-differs`.
    #[test]
    fn unequal_differs() {
        let recorded = ending(vec![file()], Vec::new());
        assert_eq!(recorded.differences(&recorded), []);
        let changes: [fn(&mut DocumentFile); 6] = [
            |file| file.path.push('b'),
            |file| file.size_bytes = 2,
            |file| file.blob_id = None,
            |file| file.kind = Some("text/html".into()),
            |file| file.kind = None,
            |file| file.not_kept = Some(String::new()),
        ];
        for change in changes {
            let mut other = file();
            change(&mut other);
            let found = recorded.differences(&ending(vec![other], Vec::new()));
            assert_eq!(found[0].what, "file 1", "{found:?}");
            assert_ne!(found[0].recorded, found[0].found, "{found:?}");
        }
        // Two files whose texts are the same.
        let (mut one, mut two) = (file(), file());
        (one.kind, one.not_kept) = (Some("t".into()), Some("): `x".into()));
        (two.kind, two.not_kept) = (Some("t): `".into()), Some("x".into()));
        let found = ending(vec![one], Vec::new()).differences(&ending(vec![two], Vec::new()));
        assert_eq!(found.len(), 1, "{found:?}");
        // Two logs with the same lines.
        let whole = ending(Vec::new(), vec![chunk(Stream::Stdout, "a\nb")]);
        let parts = vec![chunk(Stream::Stdout, "a\n"), chunk(Stream::Stdout, "b")];
        let found = whole.differences(&ending(Vec::new(), parts));
        assert_eq!(found[0].what, "ending", "{found:?}");
    }

    #[test]
    fn a_difference_cannot_write_to_the_terminal() {
        let other = OtherInputs {
            difference: Difference::of(
                "a\u{1b}",
                Some("\u{1b}]0;x\u{7}".into()),
                Some("\u{202e}".into()),
            ),
            is_of_machine: false,
        };
        let text = other.to_string();
        assert!(text.contains("\\u{1b}]0;x\\u{7}") && text.contains("\\u{202e}"), "{text}");
        assert!(text.is_ascii() && !text.chars().any(char::is_control), "{text}");
    }

    fn chunk(stream: Stream, text: &str) -> LogChunk {
        LogChunk { stream, text: text.to_owned() }
    }

    #[test]
    fn the_first_line_that_differs_is_told_with_its_number() {
        let one = [chunk(Stream::Stdout, "a\nb\n"), chunk(Stream::Stderr, "c\n")];
        let two = [chunk(Stream::Stdout, "a\nB\n"), chunk(Stream::Stderr, "d\n")];
        let found = first_line(&one, &two).unwrap();
        assert_eq!(found.what, "log line 2");
        assert_eq!((found.recorded.as_deref(), found.found.as_deref()), (Some("b\n"), Some("B\n")));
        assert_eq!(first_line(&one, &one), None);
        let found = first_line(&one, &one[..1]).unwrap();
        assert_eq!((found.what.as_str(), found.found), ("log line 3", None));
        let other = [chunk(Stream::Stdout, "a\n"), chunk(Stream::Stderr, "b\nc\n")];
        assert_eq!(first_line(&one, &other).unwrap().found.unwrap(), "stderr: b\n");
    }

    #[test]
    fn a_diff_shows_the_lines_that_differ_and_their_neighbours() {
        let diff = line_diff("a\nb\nc\nd\ne\nf", "a\nb\nc\nX\ne\nf", 9);
        assert_eq!(diff, ["  b", "  c", "- d", "+ X", "  e", "  f"]);
        assert_eq!(line_diff("a", "a\nb", 9), ["  a", "+ b"]);
        let long = "x\n".repeat(50);
        assert_eq!(line_diff(&long, "", 2), ["- x", "- x", "- … 48 more lines"]);
        assert!(line_diff(&"é".repeat(9_000), "e", 2)[0].chars().count() < 210);
    }

    #[test]
    fn long_texts_are_shown_where_they_differ() {
        let (one, two) = ("é".repeat(900) + "1", "é".repeat(900) + "2");
        let (one, two) = around(&one, &two);
        assert!(one.ends_with("é1") && two.ends_with("é2"), "{one} {two}");
        assert!(one.chars().count() <= LEAD + 2);
    }
}
