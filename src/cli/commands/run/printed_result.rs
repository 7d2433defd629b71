//! Prints the result of a run.

use std::io::{self, IsTerminal as _};

use serde::Serialize;
use serde_json::Value;

use crate::cli::exit_code::Exit;
use crate::cli::terminal::json_layout::laid_out;
use crate::cli::terminal::output::{note, print, print_error, print_json, print_line, shown};
use wardian_formats::job::outcome::{LogChunk, Logs, Stream};
use wardian_formats::protocol::methods::execution::{ConvertedValue, RunResult, RunStatus};
use wardian_service::LocalResult;

/// Prints the result as a call would return it, and the profile as one more member, if there is one.
pub(crate) fn print_protocol(result: &RunResult, profile: Option<&Value>) -> Exit {
    #[derive(Serialize)]
    struct Printed<'a> {
        #[serde(flatten)]
        result: &'a RunResult,
        #[serde(skip_serializing_if = "Option::is_none")]
        fuel_profile: Option<&'a Value>,
    }
    print_json(&Printed { result, fuel_profile: profile });
    exit_of(result)
}

/// Prints the rest of the logs, and then the returned value or the failure. `shown_logs` counts the
/// logs that were shown while the program ran. `whole` is an output that was too large for the
/// protocol's result.
pub(crate) fn print_all(ended: &LocalResult, shown_logs: ShownLogs, whole: Option<&str>) -> Exit {
    shown_logs.finish(&ended.logs);
    let result = &ended.result;
    if let Some(output) = whole.or_else(|| result.output.as_ref().map(|output| output.get())) {
        print_line(&laid_out(output));
    }
    if let Some(line) = converted_line(result) {
        note(&line);
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

/// Tells what was converted in the output, if anything was.
fn converted_line(result: &RunResult) -> Option<String> {
    const SHOWN: usize = 3;
    let of = |one: &ConvertedValue| {
        let count = one.count.map(|count| format!(" ({count} times)")).unwrap_or_default();
        format!("{} from {} to {}{count}", shown(&one.path), shown(&one.from), shown(&one.to))
    };
    let first: Vec<String> = result.converted.iter().take(SHOWN).map(of).collect();
    if first.is_empty() {
        return None;
    }
    let more = match result.converted.len() > SHOWN || result.converted_total.is_some() {
        true => "; `--json` shows all",
        false => "",
    };
    Some(format!("converted: {}{more}", first.join("; ")))
}

fn exit_of(result: &RunResult) -> Exit {
    match result.status {
        RunStatus::Completed => Exit::Done,
        RunStatus::Failed | RunStatus::Waiting => Exit::GuestFailed,
    }
}

/// Prints a program's output to the stream that it was written to, unescaped: the user runs their
/// own program.
#[derive(Debug)]
pub(crate) struct ShownLogs {
    /// Bytes of each stream that were shown.
    shown: [usize; 3],
    ends_line: bool,
}

impl Default for ShownLogs {
    fn default() -> Self {
        Self { shown: [0; 3], ends_line: true }
    }
}

impl ShownLogs {
    /// Shows output while the program runs.
    pub(crate) fn show(&mut self, chunk: &LogChunk) {
        if let Some(shown) = self.shown.get_mut(slot(chunk.stream)) {
            *shown = shown.saturating_add(chunk.text.len());
        }
        self.print(chunk.stream, &chunk.text);
    }

    /// Shows the rest of the output.
    fn finish(mut self, logs: &Logs) {
        for chunk in &logs.chunks {
            let Some(left) = self.shown.get_mut(slot(chunk.stream)) else { continue };
            let known = (*left).min(chunk.text.len());
            *left = left.saturating_sub(known);
            let rest = chunk.text.get(known..).unwrap_or_default();
            self.print(chunk.stream, rest);
        }
        if !self.ends_line {
            print_line("");
        }
        if logs.dropped > 0 {
            note(&format!("{} bytes beyond the limit of `limits.logs` were dropped", logs.dropped));
        }
    }

    fn print(&mut self, stream: Stream, text: &str) {
        if text.is_empty() {
            return;
        }
        match stream {
            Stream::Stdout => {
                print(text);
                self.ends_line = text.ends_with('\n');
            }
            Stream::Stderr | Stream::Log => print_error(text),
            // The output of the program itself shows it, if it likes.
            Stream::Progress | Stream::Request => {}
        }
    }
}

const fn slot(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
        Stream::Log => 2,
        Stream::Progress | Stream::Request => 3,
    }
}

fn with_newline(text: &str) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_its_line() {
        assert_eq!((with_newline("a"), with_newline("a\n")), ("a\n".to_owned(), "a\n".to_owned()));
    }
}
