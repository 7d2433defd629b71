//! The programs of a notebook that a client sent: nbformat 4 of the Jupyter project.
//!
//! INVARIANT(no-tree-of-notebooks): nothing but programs is made of it. Outputs are skipped as they are read,
//! and cells beyond the bounds are refused before they are kept.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

use crate::sessions::notebook::language::NotebookMetadata;
use wardian_formats::protocol::params_error::ParamsError;

/// Maximum number of cells with programs.
pub(super) const MAX_PROGRAMS: usize = 1_000;

/// Maximum number of all cells.
const MAX_CELLS: usize = 10_000;

/// Bytes of the name of a language that a message shows.
const MAX_LANGUAGE: usize = 64;

/// Tags of cells that are not executed.
const SKIPPED: [&str; 2] = ["skip-execution", "nbval-skip"];

/// A program of a notebook.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotebookProgram {
    /// Its place among the cells with programs, from 1 on.
    pub(super) place: u64,
    pub(super) source: String,
}

#[derive(serde::Deserialize)]
#[serde(expecting = "an object with `nbformat` and `cells`")]
struct SentNotebook {
    nbformat: u64,
    #[serde(default)]
    metadata: NotebookMetadata,
    cells: Programs,
}

/// The programs of the cells so far.
#[derive(Default)]
struct Programs {
    kept: Vec<NotebookProgram>,
    /// The number of all cells.
    cells: usize,
    /// The number of those with programs.
    places: u64,
}

#[derive(serde::Deserialize)]
#[serde(expecting = "a cell")]
struct SentCell {
    cell_type: String,
    source: Source,
    #[serde(default)]
    metadata: SentMetadata,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct SentMetadata {
    tags: Tags,
}

/// A text: whole, or as a list of its lines.
struct Source(String);

/// True if a tag of the list says that the cell is not executed.
#[derive(Default)]
struct Tags(bool);

/// The name of a language, as far as a message shows it.
fn shown(language: &str) -> String {
    let end = language.floor_char_boundary(MAX_LANGUAGE);
    format!("{:?}", language.get(..end).unwrap_or_default())
}

/// The programs that are executed, in order.
///
/// # Errors
///
/// It is not a notebook of format 4 and of Python, or has too many cells.
pub(super) fn programs_of(text: &[u8]) -> Result<Vec<NotebookProgram>, ParamsError> {
    let expected = "a notebook of Jupyter (nbformat 4)";
    let notebook: SentNotebook = serde_json::from_slice(text)
        .map_err(|fault| ParamsError::wrong("notebook", expected, fault.to_string()))?;
    if notebook.nbformat != 4 {
        let found = format!("nbformat {}", notebook.nbformat);
        return Err(ParamsError::wrong("notebook", expected, found));
    }
    if let Some(other) = notebook.metadata.other_language() {
        return Err(ParamsError::wrong("notebook", "a notebook of Python", shown(other)));
    }
    Ok(notebook.cells.kept)
}

impl Programs {
    /// Adds the program of a cell, if it has one that is executed. The error says of what there are too many.
    fn add(&mut self, cell: SentCell) -> Result<(), String> {
        self.cells = self.cells.saturating_add(1);
        if self.cells > MAX_CELLS {
            return Err(format!("more than {MAX_CELLS} cells"));
        }
        let SentCell { cell_type, source: Source(source), metadata } = cell;
        // An empty cell has no number in Jupyter either.
        if cell_type != "code" || source.trim().is_empty() {
            return Ok(());
        }
        self.places = self.places.saturating_add(1);
        if metadata.tags.0 {
            return Ok(());
        }
        if self.kept.len() >= MAX_PROGRAMS {
            return Err(format!("more than {MAX_PROGRAMS} cells with programs"));
        }
        self.kept.push(NotebookProgram { place: self.places, source });
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Programs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Cells;

        impl<'de> Visitor<'de> for Cells {
            type Value = Programs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of cells")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Programs, A::Error> {
                let mut programs = Programs::default();
                while let Some(cell) = cells.next_element::<SentCell>()? {
                    programs.add(cell).map_err(A::Error::custom)?;
                }
                Ok(programs)
            }
        }

        deserializer.deserialize_seq(Cells)
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Source;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of lines")
            }

            fn visit_str<E>(self, text: &str) -> Result<Source, E> {
                Ok(Source(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Source, E> {
                Ok(Source(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut lines: A) -> Result<Source, A::Error> {
                let mut source = String::new();
                while let Some(line) = lines.next_element::<String>()? {
                    source.push_str(&line);
                }
                Ok(Source(source))
            }
        }

        deserializer.deserialize_any(Text)
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Tags;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tags")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut tags: A) -> Result<Tags, A::Error> {
                let mut is_skipped = false;
                while let Some(tag) = tags.next_element::<String>()? {
                    is_skipped |= SKIPPED.contains(&tag.as_str());
                }
                Ok(Tags(is_skipped))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        programs_of(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn programs_are_read_with_their_places() {
        let text = r##"{"cells": [
            {"cell_type": "markdown", "source": "# x"},
            {"cell_type": "code", "source": ["a = 1\n", "a"], "outputs": [{"data": [[[{"x": 1}]]]}]},
            {"cell_type": "code", "source": " \n"},
            {"cell_type": "code", "source": "b", "metadata": {"tags": ["skip-execution"], "other": {}}},
            {"cell_type": "code", "source": "c", "metadata": {"tags": ["raises-exception"]}}
        ], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"##;
        let program = |place, source: &str| NotebookProgram { place, source: source.to_owned() };
        assert_eq!(
            programs_of(text.as_bytes()).unwrap(),
            [program(1, "a = 1\na"), program(3, "c")]
        );
    }

    #[test]
    fn no_tree_of_notebooks_that_are_none_or_too_long() {
        assert!(refusal("[1").contains("nbformat 4"));
        assert!(refusal(r#"{"nbformat": 3, "cells": []}"#).contains("nbformat 3"));
        let of_r = r#"{"nbformat": 4, "cells": [], "metadata": {"language_info": {"name": "R"}}}"#;
        assert!(refusal(of_r).contains("a notebook of Python, got \"R\""), "{}", refusal(of_r));
        assert!(
            refusal(r#"{"nbformat": 4, "cells": [{"cell_type": "code", "source": 5}]}"#)
                .contains("list of lines")
        );
        let many = |cell: &str, count: usize| {
            let cells = vec![cell; count].join(",");
            refusal(&format!("{{\"nbformat\": 4, \"cells\": [{cells}]}}"))
        };
        let code = r#"{"cell_type": "code", "source": "1"}"#;
        assert!(many(code, MAX_PROGRAMS + 1).contains("cells with programs"));
        let text = r#"{"cell_type": "raw", "source": "1"}"#;
        assert!(many(text, MAX_CELLS + 1).contains("more than 10000 cells"));
    }
}
