//! What a cell asks for, and what is typed for it.

use crate::cli::commands::repl::call::{AskedLine, LineAnswer};
use crate::cli::commands::repl::input::TypedLine;
use crate::cli::commands::repl::source::PromptSource;
use crate::cli::failed::Failed;

/// Reads what a cell asks for. `None` after Ctrl-C.
pub(super) fn answers_of(
    requests: &[AskedLine],
    source: &mut PromptSource,
) -> Result<Option<Vec<LineAnswer>>, Failed> {
    let mut answers = Vec::with_capacity(requests.len());
    for AskedLine { id, kind, prompt, hidden } in requests {
        let (output, error) = if kind == "input" {
            match source.line(prompt, *hidden)? {
                TypedLine::Line(line) => (Some(line), None),
                TypedLine::End => (None, Some("EOF when reading a line")),
                TypedLine::Interrupted => return Ok(None),
            }
        } else {
            (None, Some("this prompt has no tools"))
        };
        answers.push(LineAnswer { id: id.clone(), output, error });
    }
    Ok(Some(answers))
}
