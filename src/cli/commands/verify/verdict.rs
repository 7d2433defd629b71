//! The verdict on a repetition, for people and programs.

use serde::Serialize;

use crate::cli::exit_code::Exit;
use crate::cli::terminal::json_layout::laid_out;
use crate::cli::terminal::output::{print_json, print_line, shown};
use wardian_formats::provenance::Difference;
use wardian_formats::provenance::difference::line_diff;
use wardian_vocabulary::ids::Digest;

/// Most lines of each text that a diff shows.
const MAX_LINES: usize = 20;

/// The longest JSON, in bytes, that is compared line by line.
const MAX_LAID_OUT: usize = 1 << 20;

/// The verdict on a repetition.
#[derive(Debug, Serialize)]
pub(super) struct RunVerdict {
    pub(super) verdict: Sameness,
    /// The digest of the document.
    pub(super) record_sha256: Digest,
    pub(super) differences: Vec<Difference>,
}

/// Whether two runs are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sameness {
    Identical,
    Different,
}

impl RunVerdict {
    pub(super) fn of(document: Digest, differences: Vec<Difference>) -> Self {
        let verdict =
            if differences.is_empty() { Sameness::Identical } else { Sameness::Different };
        Self { verdict, record_sha256: document, differences }
    }

    /// Prints it. The words are those of the two sides: `recorded` and `now`, or two files.
    pub(super) fn print(&self, as_json: bool, sides: [&str; 2]) -> Exit {
        if as_json {
            print_json(self);
        } else if self.verdict == Sameness::Identical {
            print_line("identical");
        } else {
            print_line("different");
            for difference in &self.differences {
                lines(difference, sides).iter().for_each(|line| print_line(line));
            }
        }
        match self.verdict {
            Sameness::Identical => Exit::Done,
            Sameness::Different => Exit::GuestFailed,
        }
    }
}

/// A difference in one line, or in several for texts of several lines and for JSON.
fn lines(difference: &Difference, [one, two]: [&str; 2]) -> Vec<String> {
    let Difference { what, recorded, found } = difference;
    let is_long =
        |text: &Option<String>| text.as_deref().is_some_and(|text| text.trim_end().contains('\n'));
    let is_json = what == "output" || what.ends_with(": output");
    if let (Some(recorded), Some(found)) = (recorded, found)
        && (is_json || is_long(&difference.recorded) || is_long(&difference.found))
    {
        let is_short = recorded.len().max(found.len()) <= MAX_LAID_OUT;
        let text = |text: &str| match is_json && is_short {
            true => laid_out(text),
            false => text.to_owned(),
        };
        let diff = line_diff(&text(recorded), &text(found), MAX_LINES);
        let head = format!("{what}: - {one}, + {two}");
        let same = diff.iter().all(|line| line.starts_with("  "));
        if !same {
            let diff = diff.iter().map(|line| format!("  {}", shown(line)));
            return std::iter::once(head).chain(diff).collect();
        }
    }
    if recorded.is_none() && found.is_none() {
        return vec![shown(what)];
    }
    let told = |text: &Option<String>| {
        text.as_deref().map_or_else(|| "nothing".to_owned(), |text| shown(text.trim_end()))
    };
    vec![format!("{what}: {one} {}, {two} {}", told(recorded), told(found))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(what: &str, recorded: &str, found: &str) -> Difference {
        let (recorded, found) = (Some(recorded.to_owned()), Some(found.to_owned()));
        Difference { what: what.to_owned(), recorded, found }
    }

    #[test]
    fn differences_read_well() {
        let sides = ["recorded", "now"];
        assert_eq!(lines(&difference("fuel", "1", "2"), sides), ["fuel: recorded 1, now 2"]);
        let none = Difference { found: None, ..difference("blob 2", "blob:a", "") };
        assert_eq!(lines(&none, sides), ["blob 2: recorded blob:a, now nothing"]);
        assert_eq!(
            lines(&difference("output", r#"{"a":1,"b":2}"#, r#"{"a":1,"b":3}"#), sides),
            [
                "output: - recorded, + now",
                "    {",
                "      \"a\": 1,",
                "  -   \"b\": 2",
                "  +   \"b\": 3",
                "    }"
            ]
        );
        // Texts that differ in their spelling only are shown as they are.
        let spelt = lines(&difference("output", r#"{"a":1}"#, r#"{"a": 1}"#), sides);
        assert_eq!(spelt, [r#"output: recorded {"a":1}, now {"a": 1}"#]);
        let hostile = lines(&difference("log line 1", "\u{1b}[2J", "b"), sides);
        assert_eq!(hostile, ["log line 1: recorded \\u{1b}[2J, now b"]);
    }
}
