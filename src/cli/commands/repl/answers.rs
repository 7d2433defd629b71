//! What a cell asks for, and what is typed for it.

use serde_json::value::RawValue;

use crate::cli::commands::repl::call::{AskedLine, LineAnswer, LineOutput};
use crate::cli::commands::repl::input::TypedLine;
use crate::cli::commands::repl::source::PromptSource;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;

/// Most characters of the arguments of a call that a question shows.
const MAX_ARGUMENTS: usize = 2_000;

/// Reads what a cell asks for. `None` after Ctrl-C.
pub(super) fn answers_of(
    requests: &[AskedLine],
    source: &mut PromptSource,
) -> Result<Option<Vec<LineAnswer>>, Failed> {
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        let (output, error) = match request.kind.as_str() {
            "input" => match source.line(&request.prompt, request.hidden)? {
                TypedLine::Line(line) => (Some(LineOutput::Line(line)), None),
                TypedLine::End => (None, Some("EOF when reading a line")),
                TypedLine::Interrupted => return Ok(None),
            },
            // A line of a file or a pipe is no decision about what the code in it does.
            "approval" if !source.is_terminal() => (None, Some("nobody can be asked here")),
            "approval" => match source.line(&question_of(request), false)? {
                TypedLine::Line(line) if is_yes(&line) => (Some(LineOutput::Approved(true)), None),
                TypedLine::Line(_) | TypedLine::End => (None, Some("the user has refused it")),
                TypedLine::Interrupted => return Ok(None),
            },
            _ => (None, Some("this prompt has no tools")),
        };
        answers.push(LineAnswer { id: request.id.clone(), output, error });
    }
    Ok(Some(answers))
}

/// The question whether a call may be made.
fn question_of(AskedLine { name, arguments, .. }: &AskedLine) -> String {
    let arguments = arguments.as_deref().map_or("{}", RawValue::get);
    let cut: String = arguments.chars().take(MAX_ARGUMENTS).collect();
    let more = match arguments.chars().count().saturating_sub(MAX_ARGUMENTS) {
        0 => String::new(),
        more => format!("... and {more} more characters"),
    };
    format!("Allow {}({}{more})? [y/N] ", shown(name), shown(&cut))
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(arguments: &str) -> String {
        let request =
            format!(r#"{{"id":"c1-r1","kind":"approval","name":"a.b","arguments":{arguments}}}"#);
        question_of(&serde_json::from_str(&request).unwrap())
    }

    #[test]
    fn a_question_shows_the_call_and_cannot_move_the_cursor() {
        assert_eq!(question(r#"{"id": "é"}"#), r#"Allow a.b({"id": "é"})? [y/N] "#);
        assert!(!question("{\"id\": \"\u{202e}\"}").contains('\u{202e}'));
        let long = question(&format!(r#"{{"id":"{}"}}"#, "x".repeat(3_000)));
        assert!(long.len() < 2_100 && long.contains("1009 more characters"), "{long}");
    }

    #[test]
    fn only_a_yes_is_one() {
        assert!(["y", "Y", " yes "].into_iter().all(is_yes));
        assert!(["", "n", "yo", "true", "\u{4}"].into_iter().all(|line| !is_yes(line)));
    }
}
