//! Reads notebooks: nbformat 4 of the Jupyter project (`nbformat.readthedocs.io`).
//!
//! A notebook is a file of the user's own, so it may become a tree. Where its outputs stand in the text is
//! noted, so that they can be replaced and nothing else changes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::commands::test::report::outcomes::{MAX_MESSAGE, cut};
use crate::cli::failed::Failed;
use wardian_service::NotebookMetadata;

/// Largest notebook, in bytes.
pub(crate) const MAX_NOTEBOOK: u64 = 64 << 20;

/// Maximum number of cells of a notebook.
const MAX_CELLS: usize = 10_000;

/// Tags of cells that are not executed: Jupyter's, and that of nbval.
const SKIPPED: [&str; 2] = ["skip-execution", "nbval-skip"];

/// Tags of cells that have to raise.
const RAISING: [&str; 2] = ["raises-exception", "nbval-raises-exception"];

/// Tags of cells whose outputs are not compared.
const UNCOMPARED: [&str; 2] = ["ignore-output", "nbval-ignore-output"];

/// A notebook.
#[derive(Debug)]
pub(crate) struct NotebookFile {
    pub(crate) text: String,
    pub(crate) cells: Vec<CodeCell>,
}

/// A cell with a program.
#[derive(Debug)]
pub(crate) struct CodeCell {
    /// Its place among those with programs, from 1 on.
    pub(crate) number: usize,
    pub(crate) source: String,
    /// The line of the file where it begins.
    pub(crate) line: u64,
    pub(crate) execution_count: Option<u64>,
    /// What is done with it.
    pub(crate) rule: CellRule,
    pub(crate) outputs: Vec<SavedOutput>,
    /// Where they stand in the text; `None` if the cell has no such member.
    pub(crate) outputs_at: Option<Range<usize>>,
}

/// What is done with a cell, as its tags say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellRule {
    /// It is executed, and its outputs are compared.
    Compared,
    /// It has to raise, and its outputs are compared.
    Raises,
    /// It is executed.
    Executed,
    /// It is not executed.
    Skipped,
}

/// An output that a notebook has.
#[derive(Debug, Deserialize)]
pub(crate) struct SavedOutput {
    pub(crate) output_type: String,
    /// The stream of a text.
    pub(crate) name: Option<String>,
    pub(crate) text: Option<SavedText>,
    /// Forms of an object, by their MIME types.
    #[serde(default)]
    pub(crate) data: BTreeMap<String, Value>,
    pub(crate) ename: Option<String>,
    pub(crate) evalue: Option<String>,
}

/// A text: whole, or as a list of its lines.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum SavedText {
    Whole(String),
    Split(Vec<String>),
}

impl SavedText {
    pub(crate) fn joined(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Split(lines) => lines.concat(),
        }
    }
}

#[derive(Deserialize)]
struct RawNotebook<'a> {
    nbformat: u64,
    #[serde(default)]
    metadata: NotebookMetadata,
    #[serde(borrow)]
    cells: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawCell<'a> {
    #[serde(borrow)]
    cell_type: Cow<'a, str>,
    source: SavedText,
    #[serde(default)]
    metadata: CellMetadata,
    execution_count: Option<u64>,
    #[serde(borrow, default)]
    outputs: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CellMetadata {
    tags: Vec<String>,
}

impl NotebookFile {
    /// Reads the notebook in a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failed> {
        let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
        let mut text = String::new();
        let file = File::open(path).map_err(|fault| named(&fault))?;
        let read = file.take(MAX_NOTEBOOK.saturating_add(1)).read_to_string(&mut text);
        read.map_err(|fault| named(&fault))?;
        if u64::try_from(text.len()).is_ok_and(|size| size > MAX_NOTEBOOK) {
            let most = MAX_NOTEBOOK >> 20;
            return Err(Failed::usage(format!(
                "{}: is larger than {most} MiB, the maximum for a notebook",
                path.display()
            )));
        }
        Self::parse(text).map_err(|problem| {
            let problem = cut(&problem, MAX_MESSAGE);
            Failed::usage(format!("{}: is not a notebook of Python: {problem}", path.display()))
        })
    }

    /// Reads a notebook. The error says what is wrong with it.
    fn parse(text: String) -> Result<Self, String> {
        let whole: RawNotebook<'_> =
            serde_json::from_str(&text).map_err(|fault| fault.to_string())?;
        if whole.nbformat != 4 {
            return Err(format!(
                "it has the format {}, and only nbformat 4 is read: `jupyter nbconvert --to notebook` \
                 converts it",
                whole.nbformat
            ));
        }
        if let Some(other) = whole.metadata.other_language() {
            return Err(format!("its language is {other}"));
        }
        if whole.cells.len() > MAX_CELLS {
            return Err(format!("it has more than {MAX_CELLS} cells"));
        }
        let (mut cells, mut line, mut counted) = (Vec::new(), 1_u64, 0);
        for raw in whole.cells {
            let at = offset(&text, raw.get());
            line = line.saturating_add(lines_in(text.get(counted..at).unwrap_or_default()));
            counted = at;
            let cell: RawCell<'_> =
                serde_json::from_str(raw.get()).map_err(|fault| format!("a cell: {fault}"))?;
            // An empty cell has no number in Jupyter either.
            if cell.cell_type != "code" || cell.source.joined().trim().is_empty() {
                continue;
            }
            let outputs = cell.outputs.map_or("[]", RawValue::get);
            cells.push(CodeCell {
                number: cells.len().saturating_add(1),
                source: cell.source.joined(),
                line,
                execution_count: cell.execution_count,
                rule: CellRule::of(&cell.metadata.tags),
                outputs: serde_json::from_str(outputs)
                    .map_err(|fault| format!("the outputs of a cell: {fault}"))?,
                outputs_at: cell.outputs.map(|outputs| {
                    let start = offset(&text, outputs.get());
                    start..start.saturating_add(outputs.get().len())
                }),
            });
        }
        Ok(Self { cells, text })
    }
}

impl CellRule {
    fn of(tags: &[String]) -> Self {
        let has = |any: [&str; 2]| tags.iter().any(|tag| any.contains(&tag.as_str()));
        if has(SKIPPED) {
            Self::Skipped
        } else if has(UNCOMPARED) {
            Self::Executed
        } else if has(RAISING) {
            Self::Raises
        } else {
            Self::Compared
        }
    }
}

/// Where `part` begins, which is a part of `whole`.
fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// Ends of lines in a text.
fn lines_in(text: &str) -> u64 {
    u64::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "metadata": {},
   "source": ["# A title"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "metadata": {"tags": ["raises-exception"]},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["a\n", "b"]}
   ],
   "source": [
    "x = 1\n",
    "print(x)"
   ]
  },
  {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "  \n"},
  {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [], "source": "y"}
 ],
 "metadata": {"language_info": {"name": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

    #[test]
    fn cells_are_read_with_their_places() {
        let notebook = NotebookFile::parse(NOTEBOOK.to_owned()).unwrap();
        let [first, second] = notebook.cells.as_slice() else { panic!() };
        assert_eq!((first.number, first.line, first.rule), (1, 8, CellRule::Raises));
        assert_eq!((first.source.as_str(), first.execution_count), ("x = 1\nprint(x)", Some(3)));
        assert_eq!(first.outputs[0].text.as_ref().unwrap().joined(), "a\nb");
        let at = first.outputs_at.clone().unwrap();
        let saved = NOTEBOOK.get(at).unwrap();
        assert!(saved.starts_with("[\n    {\"name\"") && saved.ends_with(']'));
        assert_eq!((second.number, second.source.as_str(), second.line), (2, "y", 21));
        assert_eq!(NOTEBOOK.get(second.outputs_at.clone().unwrap()), Some("[]"));
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let refused = |text: &str| NotebookFile::parse(text.to_owned()).unwrap_err();
        assert!(refused("[1]").contains("invalid"), "{}", refused("[1]"));
        assert!(refused(r#"{"nbformat": 3, "cells": []}"#).contains("nbformat 4"));
        let other = NOTEBOOK.replace("\"python\"", "\"julia\"");
        assert!(refused(&other).contains("julia"));
    }

    #[test]
    fn tags_decide_what_is_done_with_a_cell() {
        let rule = |tags: &[&str]| {
            CellRule::of(&tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(rule(&["other"]), CellRule::Compared);
        assert_eq!(rule(&["raises-exception", "skip-execution"]), CellRule::Skipped);
        assert_eq!(rule(&["nbval-ignore-output"]), CellRule::Executed);
        assert_eq!(rule(&["nbval-raises-exception"]), CellRule::Raises);
    }
}
