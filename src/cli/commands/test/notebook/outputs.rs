//! The outputs of a cell, as a notebook has them and as a run leaves them, and their differences.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde_json::Value;

use crate::assembly::OwnBlobs;
use crate::cli::commands::blobs::read_blob;
use crate::cli::commands::test::notebook::notebook_file::{SavedOutput, SavedText};
use crate::cli::commands::test::report::line_diff::line_diff;
use crate::cli::failed::Failed;
use wardian_formats::job::session::cell::VALUE_KIND;
use wardian_formats::protocol::methods::cells::DisplayedForm;
use wardian_formats::protocol::methods::execution::RunError;
use wardian_service::{LocalCellResult, Stream};
use wardian_vocabulary::ids::Digest;

/// Forms that are compared as texts. Others that are no pictures are not compared.
const TEXTS: [&str; 2] = ["text/plain", "text/html"];

/// What a cell has printed, shown and raised.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CellOutputs {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The objects that it displayed, and its value, in order.
    pub(crate) objects: Vec<ShownObject>,
    pub(crate) error: Option<ShownError>,
}

/// An object in all of its forms.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownObject {
    /// True for the value of the cell.
    pub(crate) is_value: bool,
    pub(crate) forms: BTreeMap<String, OutputForm>,
}

/// A form of an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OutputForm {
    Text(String),
    Bytes(Vec<u8>),
    /// JSON, which is not compared.
    Data(Value),
}

/// What a cell has raised.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShownError {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) traceback: Vec<String>,
}

impl CellOutputs {
    /// Those that a notebook has.
    pub(crate) fn saved(outputs: &[SavedOutput]) -> Self {
        let mut all = Self::default();
        for output in outputs {
            let text = || output.text.as_ref().map_or_else(String::new, SavedText::joined);
            match output.output_type.as_str() {
                "stream" if output.name.as_deref() == Some("stderr") => {
                    all.stderr.push_str(&text());
                }
                "stream" => all.stdout.push_str(&text()),
                "error" => {
                    all.error = Some(ShownError {
                        name: output.ename.clone().unwrap_or_default(),
                        value: output.evalue.clone().unwrap_or_default(),
                        traceback: Vec::new(),
                    });
                }
                kind => all.objects.push(ShownObject {
                    is_value: kind == "execute_result",
                    forms: output.data.iter().filter_map(saved_form).collect(),
                }),
            }
        }
        all
    }

    /// Those that a cell has left.
    pub(crate) fn of_run(place: &OwnBlobs, ended: &LocalCellResult) -> Result<Self, Failed> {
        let mut all = Self::default();
        for chunk in &ended.logs.chunks {
            match chunk.stream {
                Stream::Stdout => all.stdout.push_str(&chunk.text),
                Stream::Stderr | Stream::Log => all.stderr.push_str(&chunk.text),
                Stream::Progress | Stream::Request => {}
            }
        }
        if ended.logs.dropped > 0 {
            let note = format!("\n[{} bytes beyond the limit were dropped]\n", ended.logs.dropped);
            all.stderr.push_str(&note);
        }
        for object in &ended.result.display {
            let is_value = object.0.iter().any(|(kind, _)| kind == VALUE_KIND);
            let mut forms = BTreeMap::new();
            for (kind, form) in object.0.iter().filter(|(kind, _)| kind != VALUE_KIND) {
                forms.insert(kind.clone(), run_form(place, kind, form)?);
            }
            all.objects.push(ShownObject { is_value, forms });
        }
        all.error = ended.result.error.as_ref().map(ShownError::of);
        Ok(all)
    }

    /// Lines that say how these differ from those of a run, and what; none if they do not.
    pub(crate) fn differences(&self, now: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        text_difference("stdout", &self.stdout, &now.stdout, &mut lines);
        text_difference("stderr", &self.stderr, &now.stderr, &mut lines);
        if self.objects.len() == now.objects.len() {
            for (number, (saved, found)) in (1_usize..).zip(self.objects.iter().zip(&now.objects)) {
                object_difference(number, saved, found, &mut lines);
            }
        } else {
            lines.push(format!(
                "{} displayed in the notebook, {} now",
                counted(&self.objects),
                counted(&now.objects)
            ));
            let all = |outputs: &Self| {
                outputs.objects.iter().map(ShownObject::told).collect::<Vec<_>>().join("\n")
            };
            text_difference("objects", &all(self), &all(now), &mut lines);
        }
        let told = |error: &ShownError| format!("{}: {}", error.name, error.value);
        let [saved, found] = [self, now].map(|outputs| outputs.error.as_ref().map(told));
        match (saved, found) {
            (Some(saved), Some(found)) => text_difference("error", &saved, &found, &mut lines),
            (Some(saved), None) => lines.push(format!("error: nothing was raised, saved {saved}")),
            (None, Some(found)) => {
                lines.push(format!("error: {found}"));
                let traceback = now.error.iter().flat_map(|error| &error.traceback);
                lines.extend(traceback.cloned());
            }
            (None, None) => {}
        }
        lines
    }
}

impl ShownError {
    fn of(error: &RunError) -> Self {
        let RunError { error_type, message, traceback } = error;
        let lines = traceback.as_deref().unwrap_or(message).lines().map(str::to_owned).collect();
        Self { name: error_type.clone(), value: message.clone(), traceback: lines }
    }
}

impl ShownObject {
    /// The object in a line or more.
    fn told(&self) -> String {
        match self.forms.get("text/plain") {
            Some(OutputForm::Text(text)) => text.clone(),
            _ => self.forms.keys().cloned().collect::<Vec<_>>().join(", "),
        }
    }

    /// The forms that are compared.
    fn compared(&self) -> BTreeMap<&str, &OutputForm> {
        let is_compared = |kind: &str| TEXTS.contains(&kind) || kind.starts_with("image/");
        let forms = self.forms.iter().filter(|(kind, _)| is_compared(kind));
        forms.map(|(kind, form)| (kind.as_str(), form)).collect()
    }
}

/// A form as a notebook has it.
fn saved_form((kind, value): (&String, &Value)) -> Option<(String, OutputForm)> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) if lines.iter().all(Value::is_string) => {
            lines.iter().filter_map(Value::as_str).collect()
        }
        other => return Some((kind.clone(), OutputForm::Data(other.clone()))),
    };
    if !is_picture(kind) {
        return Some((kind.clone(), OutputForm::Text(text)));
    }
    let packed: String = text.split_whitespace().collect();
    let bytes = BASE64.decode(packed.as_bytes());
    // What is no Base64 differs from every picture.
    Some((kind.clone(), bytes.map_or_else(|_wrong| OutputForm::Text(text), OutputForm::Bytes)))
}

/// A form as a run has left it.
fn run_form(place: &OwnBlobs, kind: &str, form: &DisplayedForm) -> Result<OutputForm, Failed> {
    let text = match form {
        DisplayedForm::Text(text) => text.clone(),
        DisplayedForm::Blob(id) => {
            let bytes = read_blob(&place.blobs, id)?;
            match String::from_utf8(bytes) {
                Ok(text) if !is_picture(kind) => text,
                Ok(text) => return Ok(OutputForm::Bytes(text.into_bytes())),
                Err(other) => return Ok(OutputForm::Bytes(other.into_bytes())),
            }
        }
    };
    let is_json =
        kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json");
    let data = if is_json { serde_json::from_str(&text).ok() } else { None };
    Ok(data.map_or(OutputForm::Text(text), OutputForm::Data))
}

/// True for pictures that are bytes.
fn is_picture(kind: &str) -> bool {
    kind.starts_with("image/") && kind != "image/svg+xml"
}

fn counted(objects: &[ShownObject]) -> String {
    match objects.len() {
        1 => "1 object is".to_owned(),
        count => format!("{count} objects are"),
    }
}

fn object_difference(
    number: usize,
    saved: &ShownObject,
    found: &ShownObject,
    lines: &mut Vec<String>,
) {
    let name = match saved.is_value {
        true => "the value".to_owned(),
        false => format!("object {number}"),
    };
    if saved.is_value != found.is_value {
        let kind = |object: &ShownObject| match object.is_value {
            true => "the value of the cell",
            false => "displayed",
        };
        lines.push(format!("object {number}: was {}, is {}", kind(saved), kind(found)));
    }
    let (one, other) = (saved.compared(), found.compared());
    for (kind, form) in &one {
        match (form, other.get(kind)) {
            (OutputForm::Text(one), Some(OutputForm::Text(other))) => {
                text_difference(&format!("{kind} of {name}"), one, other, lines);
            }
            (form, Some(other)) if form != other => {
                let [one, other] = [form, other].map(|form| told(form));
                lines.push(format!("{kind} of {name}: was {one}, is {other}"));
            }
            (_, Some(_)) => {}
            (_, None) => lines.push(format!("{kind} of {name}: is missing now")),
        }
    }
    let new = other.keys().filter(|kind| !one.contains_key(*kind));
    lines.extend(new.map(|kind| format!("{kind} of {name}: is not in the notebook")));
}

/// A form in a few words.
fn told(form: &OutputForm) -> String {
    match form {
        OutputForm::Text(text) => format!("a text of {} bytes", text.len()),
        OutputForm::Bytes(bytes) => {
            let digest: String = Digest::of(bytes).to_string().chars().take(16).collect();
            format!("{} bytes with SHA-256 {digest}...", bytes.len())
        }
        OutputForm::Data(_) => "JSON".to_owned(),
    }
}

/// Notes how two texts differ.
fn text_difference(name: &str, saved: &str, found: &str, lines: &mut Vec<String>) {
    if saved == found {
        return;
    }
    let is_short = |text: &str| !text.trim_end_matches('\n').contains('\n') && text.len() <= 60;
    if is_short(saved) && is_short(found) {
        lines.push(format!("{name}: was {saved:?}, is {found:?}"));
        return;
    }
    let diff = line_diff(saved, found).unwrap_or_default();
    if diff.iter().all(|line| line.starts_with("  ")) {
        let sizes = (saved.len(), found.len());
        lines.push(format!("{name}: differs: was {} bytes, is {} bytes", sizes.0, sizes.1));
        return;
    }
    lines.push(format!("{name}, - in the notebook, + now:"));
    lines.extend(diff);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs(text: &str) -> CellOutputs {
        CellOutputs::saved(&serde_json::from_str::<Vec<SavedOutput>>(text).unwrap())
    }

    const SAVED: &str = r#"[
        {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
        {"output_type": "stream", "name": "stderr", "text": "warning\n"},
        {"output_type": "stream", "name": "stdout", "text": "c\n"},
        {"output_type": "display_data", "metadata": {},
         "data": {"text/plain": ["<Figure>"], "image/png": "iVBORw0K\nGgo=\n", "application/x+json": {"a": 1}}},
        {"output_type": "execute_result", "execution_count": 7, "metadata": {"m": 1},
         "data": {"text/html": ["<b>\n", "1</b>"], "text/plain": "1"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\u001b[0m"]}
    ]"#;

    #[test]
    fn outputs_are_read_however_a_notebook_spells_them() {
        let saved = outputs(SAVED);
        assert_eq!((saved.stdout.as_str(), saved.stderr.as_str()), ("a\nb\nc\n", "warning\n"));
        let figure = &saved.objects[0];
        assert_eq!(figure.forms["image/png"], OutputForm::Bytes(b"\x89PNG\r\n\x1a\n".to_vec()));
        assert!(saved.objects[1].is_value);
        let other = SAVED
            .replace("\"execution_count\": 7", "\"execution_count\": null")
            .replace("{\"m\": 1}", "{}")
            .replace("iVBORw0K\\nGgo=\\n", "iVBORw0KGgo=")
            .replace("{\"a\": 1}", "{\"a\": 2}")
            .replace("[\"a\\n\", \"b\\n\"]", "\"a\\nb\\n\"");
        assert_eq!(saved.differences(&outputs(&other)), Vec::<String>::new());
    }

    #[test]
    fn each_difference_has_its_lines() {
        let saved = outputs(SAVED);
        let differences =
            |from: &str, to: &str| saved.differences(&outputs(&SAVED.replace(from, to))).join("\n");
        let stream = differences("\"c\\n\"", "\"d\\n\"");
        assert_eq!(stream, "stdout, - in the notebook, + now:\n  a\n  b\n- c\n+ d");
        assert_eq!(differences("warning", "other"), r#"stderr: was "warning\n", is "other\n""#);
        let picture = differences("iVBORw0K", "iVBORw0L");
        assert!(
            picture.starts_with("image/png of object 1: was 8 bytes with SHA-256 "),
            "{picture}"
        );
        assert_eq!(
            differences("\"text/plain\": \"1\"", "\"text/latex\": \"1\""),
            "text/plain of the value: is missing now"
        );
        assert!(differences("1</b>", "2</b>").contains("text/html of the value, - in the"));
        assert_eq!(
            differences("\"no\"", "\"yes\""),
            r#"error: was "ValueError: no", is "ValueError: yes""#
        );
        assert!(
            differences("execute_result", "display_data").contains("was the value of the cell")
        );
        let fewer = CellOutputs { objects: Vec::new(), ..outputs(SAVED) };
        let lines = saved.differences(&fewer);
        assert_eq!(lines[0], "2 objects are displayed in the notebook, 0 objects are now");
    }
}
