//! What a cell printed, displayed and returned, as the prompt shows it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cli::commands::repl::call::{CellError, CellOutput, CellResult, ShownForm};
use crate::cli::terminal::json_layout::laid_out;
use crate::cli::terminal::output::{note, print, print_error, print_line, shown};
use crate::cli::terminal::readable::readable;
use wardian_formats::protocol::methods::execution::value_in_preview;
use wardian_vocabulary::units::ByteCount;

/// Shows the output of a cell while it runs. It is the user's own program, so nothing is escaped.
#[derive(Debug)]
pub(super) struct ShownOutput {
    ends_line: bool,
    is_any: bool,
}

impl Default for ShownOutput {
    fn default() -> Self {
        Self { ends_line: true, is_any: false }
    }
}

impl ShownOutput {
    pub(super) fn show(&mut self, output: &CellOutput) {
        match output {
            CellOutput::Text { is_error: true, text } => print_error(text),
            CellOutput::Text { is_error: false, text } => self.print(text),
            CellOutput::LeftOut(bytes) => {
                let size = readable(ByteCount::bytes(*bytes));
                note(&format!("({size} of output were left out)"));
            }
        }
        self.is_any = true;
    }

    fn print(&mut self, text: &str) {
        print(text);
        self.ends_line = text.is_empty() || text.ends_with('\n');
    }

    /// Shows the result, below the output.
    pub(super) fn finish(mut self, result: &CellResult) {
        // The answer of a server that sends no events.
        if !self.is_any {
            self.print(&result.logs_preview);
        }
        if !self.ends_line {
            print_line("");
        }
        let Report { lines, notes } = Report::of(result);
        lines.iter().for_each(|line| print_line(line));
        notes.iter().for_each(|line| note(line));
    }
}

/// What is shown of a result.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    /// For standard output: what was displayed, and the value.
    lines: Vec<String>,
    /// For standard error: the failure, and what became of the session.
    notes: Vec<String>,
}

impl Report {
    fn of(result: &CellResult) -> Self {
        let mut lines: Vec<String> = result.display.iter().flat_map(displayed).collect();
        // A value that was displayed is not shown once more, as the JSON that it was converted to.
        let is_displayed = !lines.is_empty() && is_converted_as_a_whole(result);
        if let Some(output) = result.output.as_deref().filter(|_| !is_displayed) {
            lines.push(value(output, result.output_truncated));
        }
        let mut notes: Vec<String> = result.error.as_ref().map(failure).into_iter().collect();
        if let Some(session) = &result.session
            && session.state == "rolled_back"
        {
            let reason = session.reason.as_deref().unwrap_or("it was stopped");
            let place = session.checkpoint.as_deref().map_or_else(
                || "its beginning".to_owned(),
                |checkpoint| format!("checkpoint {}", shown(checkpoint)),
            );
            notes.push(format!(
                "rolled back: this cell left no trace ({}); the session is at {place}",
                shown(reason)
            ));
        }
        Self { lines, notes }
    }
}

fn is_converted_as_a_whole(result: &CellResult) -> bool {
    result.converted.iter().any(|converted| ["$", "$.result"].contains(&converted.path.as_str()))
}

/// The value of the last expression, as JSON. One that is no object is within one for the protocol.
fn value(output: &RawValue, is_truncated: bool) -> String {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Truncated {
        blob_id: String,
        size_bytes: u64,
        preview: String,
    }
    let text = output.get();
    if is_truncated && let Ok(whole) = serde_json::from_str::<Truncated>(text) {
        let size = readable(ByteCount::bytes(whole.size_bytes));
        return format!(
            "{}…\n<the whole value: {size}, {}>",
            shown(value_in_preview(&whole.preview)),
            shown(&whole.blob_id)
        );
    }
    let wrapped = serde_json::from_str::<Wrapped<'_>>(text);
    laid_out(wrapped.map_or(text, |wrapped| wrapped.result.get()))
}

/// An object that was displayed: its text, and its pictures by the ids of their blobs.
fn displayed(bundle: &BTreeMap<String, ShownForm>) -> Vec<String> {
    let text = bundle.get("text/plain").and_then(|part| part.text.clone());
    let has_text = text.is_some();
    let others = bundle.iter().filter_map(|(kind, part)| {
        let blob = part.blob.as_deref()?;
        // HTML beside a text is the same table once more.
        if has_text && !kind.starts_with("image/") {
            return None;
        }
        let size = part.size.map(|size| format!("{}, ", readable(ByteCount::bytes(size))));
        Some(format!("<{}: {}{}>", shown(kind), size.unwrap_or_default(), shown(blob)))
    });
    let others: Vec<String> = others.collect();
    let lines: Vec<String> = text.into_iter().chain(others).collect();
    if !lines.is_empty() {
        return lines;
    }
    // Without a text of its own, the first form is shown as it is.
    bundle.values().find_map(|part| part.text.clone()).into_iter().collect()
}

/// The failure of a cell: its traceback, which ends with the error in most cases.
fn failure(error: &CellError) -> String {
    let last = format!("{}: {}", shown(&error.error_type), shown(&error.message));
    match error.traceback.as_deref().map(str::trim_end) {
        Some(traceback) if names_error(traceback, &error.error_type) => traceback.to_owned(),
        Some(traceback) => format!("{traceback}\n{last}"),
        None => last,
    }
}

/// True if a line without indentation names the error, below the frames. It names the module of most classes, too.
fn names_error(traceback: &str, error_type: &str) -> bool {
    let last = traceback.lines().rev().find(|line| !line.starts_with([' ', '\t']));
    let class = last.map(|line| line.split_once(':').map_or(line, |(class, _)| class));
    let module = class.and_then(|class| class.strip_suffix(error_type));
    module.is_some_and(|module| module.is_empty() || module.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(members: &str) -> Report {
        let text = format!(
            r#"{{"session": {{"id": "ses_a", "cell": 3, "checkpoint": "c3-0", "state": "kept"}},
                {members}}}"#
        );
        Report::of(&serde_json::from_str(&text).unwrap())
    }

    fn lines(members: &str) -> Vec<String> {
        report(members).lines
    }

    #[test]
    fn a_value_is_shown_as_json() {
        let value = |output: &str| lines(&format!(r#""status": "completed", "output": {output}"#));
        assert_eq!(value("null"), Vec::<String>::new());
        assert_eq!(value(r#"{"result": 42}"#), ["42"]);
        assert_eq!(value(r#"{"result": "a\u001b[2Jb"}"#), [r#""a\u001b[2Jb""#]);
        assert_eq!(value(r#"{"result": 1, "n": 2}"#), ["{\n  \"result\": 1,\n  \"n\": 2\n}"]);
    }

    #[test]
    fn a_long_value_is_shown_by_its_beginning() {
        let output =
            r#"{"truncated": true, "blob_id": "blob:a", "size_bytes": 5012, "preview": "[1,"}"#;
        let members =
            format!(r#""status": "completed", "output": {output}, "output_truncated": true"#);
        assert_eq!(lines(&members), ["[1,…\n<the whole value: 4.8 KiB, blob:a>"]);
        let text = members.replace("[1,", r#"{\"result\":\"xx"#);
        assert_eq!(lines(&text), ["\"xx…\n<the whole value: 4.8 KiB, blob:a>"]);
    }

    #[test]
    fn what_is_displayed_is_shown_once() {
        let table = r#""status": "completed",
            "display": [{"text/html": {"text": "<table>"}, "text/plain": {"text": "   x\n0  1"}}]"#;
        let converted = r#""converted": [{"path": "$.result", "from": "DataFrame", "to": "rows"}]"#;
        let value = r#""output": {"result": [{"x": 1}]}"#;
        assert_eq!(lines(&format!("{table}, {converted}, {value}")), ["   x\n0  1"]);
        // It was displayed by a call, and the value is another one.
        let other = format!(r#"{table}, "output": {{"result": 7}}"#);
        assert_eq!(lines(&other), ["   x\n0  1", "7"]);
        let figure = r#""status": "completed", "output": null, "display": [
            {"text/plain": {"text": "<Figure>"}, "image/png": {"blob": "blob:a", "size": 12288}},
            {"text/html": {"blob": "blob:b"}}, {"text/markdown": {"text": "*m*"}}, {}]"#;
        let expected = ["<Figure>", "<image/png: 12 KiB, blob:a>", "<text/html: blob:b>", "*m*"];
        assert_eq!(lines(figure), expected);
    }

    #[test]
    fn a_failure_is_told_once() {
        let notes = |error: &str| {
            report(&format!(r#""status": "failed", "output": null, "error": {error}"#)).notes
        };
        let whole =
            "Traceback (most recent call last):\n  File \"<cell 3>\", line 1\nKeyError: 'a'";
        let error = |traceback: &str| {
            let error = serde_json::json!({
                "type": "KeyError", "message": "'a'", "traceback": traceback
            });
            notes(&error.to_string())
        };
        assert_eq!(error(&format!("{whole}\n")), [whole]);
        let frames = "Traceback (most recent call last):\n  File \"<cell 3>\", line 1";
        assert_eq!(error(frames), [format!("{frames}\nKeyError: 'a'")]);
        let usage = "Traceback (most recent call last):\nIPython.core.error.UsageError: `?` shows nothing here: x";
        let error = serde_json::json!({
            "type": "UsageError", "message": "`?` shows nothing here: x", "traceback": usage
        });
        assert_eq!(notes(&error.to_string()), [usage]);
        let timeout = notes(r#"{"type": "Timeout", "message": "took more than 1 s"}"#);
        assert_eq!(timeout, ["Timeout: took more than 1 s"]);
    }

    #[test]
    fn a_cell_that_was_rolled_back_says_so() {
        let text = r#"{"status": "failed", "output": null,
            "session": {"id": "ses_a", "cell": 4, "checkpoint": "c3-0", "state": "rolled_back",
                        "reason": "the time was over"}}"#;
        let notes = Report::of(&serde_json::from_str(text).unwrap()).notes;
        let expected = "rolled back: this cell left no trace (the time was over); the session is at \
             checkpoint c3-0";
        assert_eq!(notes, [expected]);
        let first = text.replace(r#""c3-0""#, "null").replace("\"reason\"", "\"other\"");
        let notes = Report::of(&serde_json::from_str(&first).unwrap()).notes;
        assert!(notes[0].ends_with("(it was stopped); the session is at its beginning"));
    }
}
