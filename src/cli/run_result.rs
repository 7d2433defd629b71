//! How the end of a run is shown.

use std::io::{self, IsTerminal as _};

use serde_json::Value;

use crate::cli::exit_code::Exit;
use crate::cli::output::{note, print, print_error, print_json, print_line, shown};
use crate::job::outcome::{Logs, Stream};
use crate::protocol::execution::{RunResult, RunStatus};
use crate::service::LocalResult;

/// Prints what a call would return.
pub(crate) fn print_protocol(result: &RunResult) -> Exit {
    print_json(result);
    exit_of(result)
}

/// Prints what the program printed, and then what it returned or why it failed.
pub(crate) fn print_all(ended: &LocalResult) -> Exit {
    print_logs(&ended.logs);
    let result = &ended.result;
    if let Some(output) = &result.output {
        print_line(&pretty(output.get()));
    }
    match &result.error {
        Some(error) => {
            if let Some(traceback) = &error.traceback {
                print_error(&with_newline(traceback));
            }
            let (error_type, message) = (shown(&error.error_type), shown(&error.message));
            note(&format!("failed after {} ms: {error_type}: {message}", result.duration_ms));
        }
        None if io::stderr().is_terminal() => note(&shown(&result.summary)),
        None => {}
    }
    exit_of(result)
}

fn exit_of(result: &RunResult) -> Exit {
    match result.status {
        RunStatus::Completed => Exit::Done,
        RunStatus::Failed => Exit::GuestFailed,
    }
}

/// What a program wrote goes where it wrote it, as it is: its user asked for it.
fn print_logs(logs: &Logs) {
    let mut ends_line = true;
    for chunk in &logs.chunks {
        match chunk.stream {
            Stream::Stdout => {
                print(&chunk.text);
                ends_line = chunk.text.ends_with('\n');
            }
            Stream::Stderr | Stream::Log => print_error(&chunk.text),
        }
    }
    if !ends_line {
        print_line("");
    }
    if logs.dropped > 0 {
        note(&format!("{} bytes beyond the limit of `limits.logs` were dropped", logs.dropped));
    }
}

fn pretty(json: &str) -> String {
    let value = serde_json::from_str::<Value>(json);
    value.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| shown(json))
}

fn with_newline(text: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_laid_out_for_people() {
        insta::assert_snapshot!(pretty(r#"{"b":[1,2],"a":"x\ny"}"#), @r#"
        {
          "a": "x\ny",
          "b": [
            1,
            2
          ]
        }
        "#);
        // What cannot be read as one number is shown as it is.
        assert_eq!(pretty(r#"{"n":1e999}"#), r#"{"n":1e999}"#);
    }

    #[test]
    fn a_text_ends_its_line() {
        assert_eq!((with_newline("a"), with_newline("a\n")), ("a\n".to_owned(), "a\n".to_owned()));
    }
}
