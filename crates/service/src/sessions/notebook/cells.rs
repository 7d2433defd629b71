//! The cells of a session as the JSON of a notebook.

use std::collections::BTreeMap;
use std::slice::Iter;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::sessions::kept_cells::long_result::NotKept;
use crate::sessions::notebook::download::mark_of;
use crate::sessions::notebook::pictures::BlobFate;
use crate::sessions::views::CellView;
use wardian_formats::protocol::methods::cells::{DisplayedForm, DisplayedObject};
use wardian_formats::protocol::methods::execution::{TruncatedOutput, value_in_preview};
use wardian_sessions::ForkedFrom;
use wardian_vocabulary::ids::{BlobId, CheckpointId};

/// The members of a result that a notebook shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ShownResult {
    output: Option<Box<RawValue>>,
    output_truncated: bool,
    logs_preview: String,
    display: Vec<DisplayedObject>,
    error: Option<ShownError>,
    left_out: NotKept,
}

#[derive(Debug, Deserialize)]
struct ShownError {
    #[serde(rename = "type")]
    error_type: String,
    message: String,
    traceback: Option<String>,
}

#[derive(Serialize)]
struct Notebook<'a> {
    cells: Vec<NotebookPart<'a>>,
    metadata: Value,
    nbformat: u32,
    nbformat_minor: u32,
}

#[derive(Serialize)]
#[serde(untagged)]
enum NotebookPart<'a> {
    /// A sentence for people.
    Note {
        cell_type: &'static str,
        id: &'static str,
        metadata: Value,
        source: String,
    },
    Cell(NotebookCell<'a>),
}

#[derive(Serialize)]
struct NotebookCell<'a> {
    cell_type: &'static str,
    id: String,
    execution_count: u32,
    metadata: Value,
    source: &'a str,
    outputs: Vec<NotebookOutput>,
}

/// An output of a cell.
#[derive(Serialize)]
#[serde(untagged)]
enum NotebookOutput {
    /// What the host has written of it.
    Told(Value),
    /// A displayed object. Its JSON comes from a program, so it stays text: as a tree it would take many
    /// times as much memory.
    Displayed { output_type: &'static str, data: BTreeMap<String, Box<RawValue>>, metadata: Value },
}

/// The cells of a notebook, as they were read.
#[derive(Debug)]
pub(super) struct NotebookCells {
    cells: Vec<ShownCell>,
    without_source: Vec<u32>,
}

/// A cell that a notebook shows.
#[derive(Debug)]
struct ShownCell {
    number: u32,
    source: String,
    state: String,
    left: bool,
    checkpoint: Option<CheckpointId>,
    result: ShownResult,
}

impl NotebookCells {
    /// Reads the results of cells. Cells whose program is not kept are left out.
    pub(super) fn of(cells: Vec<CellView>) -> Self {
        let (mut shown, mut without_source) = (Vec::with_capacity(cells.len()), Vec::new());
        for CellView { number, source, state, left, checkpoint, result, .. } in cells {
            match source {
                Some(source) => {
                    let result = shown_result(result.as_deref());
                    shown.push(ShownCell { number, source, state, left, checkpoint, result });
                }
                None => without_source.push(number),
            }
        }
        Self { cells: shown, without_source }
    }

    /// The blobs that cells displayed, each with its MIME type, in order.
    pub(super) fn blobs(&self) -> impl Iterator<Item = (&str, &BlobId)> + Send {
        let objects = self.cells.iter().flat_map(|cell| &cell.result.display);
        let forms = objects.flat_map(|object| &object.0);
        forms.filter_map(|(kind, form)| match form {
            DisplayedForm::Blob(id) => Some((kind.as_str(), id)),
            DisplayedForm::Text(_) => None,
        })
    }

    /// Writes the notebook. Cells from `left_out` on and those up to what is `missing` are not in it, which its
    /// metadata say. `fates` has what becomes of each blob, and `mark` is for the places of pictures.
    ///
    /// # Errors
    ///
    /// It cannot be written as JSON.
    pub(super) fn write(
        self,
        (left_out, missing): (Option<u32>, Option<&ForkedFrom>),
        fates: &[BlobFate],
        mark: &str,
    ) -> serde_json::Result<String> {
        let mut fates = fates.iter();
        let cells = self.cells.iter().map(|cell| {
            NotebookPart::Cell(NotebookCell {
                cell_type: "code",
                id: format!("cell-{}", cell.number),
                execution_count: cell.number,
                metadata: metadata_of(cell),
                source: &cell.source,
                outputs: outputs_of(cell, &mut fates, mark),
            })
        });
        let cells = missing.map(note_on).into_iter().chain(cells);
        let metadata = json!({
            "kernelspec": { "display_name": "Python (Wardian)", "language": "python", "name": "wardian" },
            "language_info": { "name": "python", "file_extension": ".py" },
            "wardian": {
                "cells_without_source": self.without_source,
                "left_out_from_cell": left_out,
                "missing_up_to_cell": missing.map(|from| from.checkpoint.cell()),
            },
        });
        let notebook =
            Notebook { cells: cells.collect(), metadata, nbformat: 4, nbformat_minor: 5 };
        serde_json::to_string_pretty(&notebook)
    }
}

/// A note in place of the cells before a fork.
fn note_on<'a>(from: &ForkedFrom) -> NotebookPart<'a> {
    let ForkedFrom { session, checkpoint } = from;
    NotebookPart::Note {
        cell_type: "markdown",
        id: "missing",
        metadata: json!({}),
        source: format!(
            "Cells 1 to {} are missing: they ran in the session `{session}`, which is closed or too many forks away.",
            checkpoint.cell()
        ),
    }
}

/// What a notebook says of a cell beside its program and its outputs. Cells that are not in the state of the session
/// are skipped by whoever executes the notebook.
fn metadata_of(cell: &ShownCell) -> Value {
    let ShownCell { state, checkpoint, left, .. } = cell;
    let wardian = json!({ "state": state, "checkpoint": checkpoint, "left": left });
    if *left || state == "rolled_back" {
        return json!({ "tags": ["skip-execution"], "wardian": wardian });
    }
    json!({ "wardian": wardian })
}

/// The members of a result that a notebook shows. One that cannot be read is of another version, and is not
/// shown. A list would be read as members.
fn shown_result(result: Option<&RawValue>) -> ShownResult {
    let text = result.map_or("", RawValue::get);
    let is_object = text.trim_start().starts_with('{');
    let read = if is_object { serde_json::from_str(text).ok() } else { None };
    read.unwrap_or_default()
}

/// What a cell printed, displayed, returned and raised.
fn outputs_of(cell: &ShownCell, fates: &mut Iter<'_, BlobFate>, mark: &str) -> Vec<NotebookOutput> {
    let ShownResult { output, output_truncated, logs_preview, display, error, left_out } =
        &cell.result;
    let mut outputs = Vec::new();
    if !logs_preview.is_empty() {
        let told = json!({ "output_type": "stream", "name": "stdout", "text": logs_preview });
        outputs.push(NotebookOutput::Told(told));
    }
    for object in display {
        add_displayed(&mut outputs, object, fates, mark);
    }
    if !left_out.is_empty() {
        outputs.push(NotebookOutput::Told(json!({
            "output_type": "display_data",
            "data": { "text/plain": left_out.sentence() },
            "metadata": { "wardian_left_out": left_out },
        })));
    }
    if let Some(value) = output {
        let cut = if *output_truncated { serde_json::from_str(value.get()).ok() } else { None };
        let (text, metadata) = match cut {
            None => (shown_value(value.get()).to_owned(), json!({})),
            Some(cut) => beginning_of(&cut),
        };
        outputs.push(NotebookOutput::Told(json!({
            "output_type": "execute_result",
            "execution_count": cell.number,
            "data": { "text/plain": text },
            "metadata": metadata,
        })));
    }
    if let Some(ShownError { error_type, message, traceback }) = error {
        let lines: Vec<&str> = traceback.as_deref().unwrap_or(message).lines().collect();
        outputs.push(NotebookOutput::Told(json!({
            "output_type": "error",
            "ename": error_type,
            "evalue": message,
            "traceback": lines,
        })));
    }
    outputs
}

/// Adds a displayed object, and a sentence on each of its forms that the notebook only names.
fn add_displayed(
    outputs: &mut Vec<NotebookOutput>,
    object: &DisplayedObject,
    fates: &mut Iter<'_, BlobFate>,
    mark: &str,
) {
    let (mut data, mut blobs, mut sentences) = (BTreeMap::new(), Map::new(), Vec::new());
    for (kind, form) in &object.0 {
        let shown = match form {
            DisplayedForm::Text(text) => form_of(kind, text),
            DisplayedForm::Blob(id) => match fates.next() {
                Some(BlobFate::Embedded(number)) => to_raw_value(&mark_of(mark, *number)).ok(),
                Some(BlobFate::Named(reason)) => {
                    blobs.insert(kind.clone(), json!(id));
                    sentences.push(format!("{kind} is not in this notebook: {reason}"));
                    None
                }
                None => None,
            },
        };
        data.extend(shown.map(|shown| (kind.clone(), shown)));
    }
    let metadata = if blobs.is_empty() { json!({}) } else { json!({ "wardian_blobs": blobs }) };
    let note = if sentences.is_empty() { None } else { to_raw_value(&sentences.join("\n")).ok() };
    let note = note.map(|note| ("text/plain".to_owned(), note));
    let output_type = "display_data";
    // Beside another form, a text would not be shown.
    let apart = if data.is_empty() {
        data.extend(note);
        None
    } else {
        note
    };
    outputs.push(NotebookOutput::Displayed { output_type, data, metadata });
    if let Some(note) = apart {
        let (data, metadata) = (BTreeMap::from([note]), json!({}));
        outputs.push(NotebookOutput::Displayed { output_type, data, metadata });
    }
}

/// A form as a notebook has it: JSON as it is, and everything else, also what is no JSON, as a text.
fn form_of(kind: &str, text: &str) -> Option<Box<RawValue>> {
    let is_json =
        kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json");
    let json = if is_json { serde_json::from_str(text).ok() } else { None };
    json.or_else(|| to_raw_value(text).ok())
}

/// The value of a cell as text. A result has an object, whose only member `result` is a value that is none.
fn shown_value(output: &str) -> &str {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    serde_json::from_str(output).map_or(output, |Wrapped { result }| result.get())
}

/// The beginning of a value that is too large for a result, with a sentence on the rest, and the metadata that name
/// its blob.
fn beginning_of(cut: &TruncatedOutput) -> (String, Value) {
    let TruncatedOutput { blob_id, size_bytes, preview, .. } = cut;
    let shown = value_in_preview(preview);
    let text = format!(
        "{shown}\n[this is the beginning of a value of {size_bytes} bytes; `wardian blobs get {blob_id}` saves it]"
    );
    (text, json!({ "wardian_blobs": { "application/json": blob_id } }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::ids::{Digest, SessionId};

    fn cell(number: u32, source: Option<&str>, result: &str) -> CellView {
        CellView {
            number,
            source: source.map(str::to_owned),
            state: "kept".to_owned(),
            checkpoint: None,
            began_ms: 0,
            result: RawValue::from_string(result.to_owned()).ok(),
            reason: None,
            left: false,
        }
    }

    fn notebook(cells: Vec<CellView>, left_out: Option<u32>, fates: &[BlobFate]) -> Value {
        let text = NotebookCells::of(cells).write((left_out, None), fates, "mark").unwrap();
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_notebook_has_what_cells_printed_displayed_returned_and_raised() {
        let result = r#"{"output": {"result": 3}, "logs_preview": "hi\n", "display": [
            {"text/html": {"text": "<b>x</b>"}, "application/x+json": {"text": "{\"a\": 1}"}, "application/json": {"text": "{1"}}]}"#;
        let failed = r#"{"output": null, "logs_preview": "", "error":
            {"type": "ValueError", "message": "no", "traceback": "a\nb"}}"#;
        let cells =
            vec![cell(1, Some("1 + 2"), result), cell(2, None, "{}"), cell(3, Some("x"), failed)];
        let notebook = notebook(cells, Some(9), &[]);
        assert_eq!((&notebook["nbformat"], &notebook["nbformat_minor"]), (&json!(4), &json!(5)));
        assert_eq!(notebook["metadata"]["wardian"]["cells_without_source"], json!([2]));
        assert_eq!(notebook["metadata"]["wardian"]["left_out_from_cell"], 9);
        let cells = notebook["cells"].as_array().unwrap();
        assert_eq!(cells.len(), 2);
        assert_eq!(cells[0]["source"], "1 + 2");
        let outputs = cells[0]["outputs"].as_array().unwrap();
        assert_eq!(outputs[0]["text"], "hi\n");
        assert_eq!(
            outputs[1]["data"],
            json!({ "text/html": "<b>x</b>", "application/x+json": { "a": 1 }, "application/json": "{1" })
        );
        assert_eq!(outputs[2]["data"]["text/plain"], "3");
        assert_eq!(cells[1]["outputs"][0]["ename"], "ValueError");
        assert_eq!(cells[1]["outputs"][0]["traceback"], json!(["a", "b"]));
    }

    #[test]
    fn pictures_have_marks_and_other_blobs_a_sentence() {
        let blob = BlobId::of_digest(&Digest::of(b"x"));
        let picture = format!(r#"{{"image/png": {{"blob": "{blob}"}}}}"#);
        let titled =
            format!(r#"{{"image/png": {{"blob": "{blob}"}}, "text/plain": {{"text": "Plot"}}}}"#);
        let result = format!(r#"{{"display": [{picture}, {picture}, {titled}]}}"#);
        let read = NotebookCells::of(vec![cell(1, Some("x"), &result)]);
        assert_eq!(read.blobs().collect::<Vec<_>>(), vec![("image/png", &blob); 3]);
        let named = || BlobFate::Named("it is large".into());
        let fates = [BlobFate::Embedded(0), named(), named()];
        let notebook = notebook(vec![cell(1, Some("x"), &result)], None, &fates);
        let outputs = notebook["cells"][0]["outputs"].as_array().unwrap();
        let data: Vec<&Value> = outputs.iter().map(|output| &output["data"]).collect();
        let sentence = "image/png is not in this notebook: it is large";
        assert_eq!(*data[0], json!({ "image/png": "mark0000" }));
        assert_eq!(outputs[0]["metadata"], json!({}));
        assert_eq!(*data[1], json!({ "text/plain": sentence }));
        assert_eq!(outputs[1]["metadata"]["wardian_blobs"]["image/png"], json!(blob));
        assert_eq!(*data[2], json!({ "text/plain": "Plot" }));
        assert_eq!(*data[3], json!({ "text/plain": sentence }));
        assert_eq!(outputs.len(), 4);
    }

    #[test]
    fn cells_that_are_not_in_the_state_are_skipped_and_missing_ones_are_named() {
        let left = CellView { left: true, ..cell(5, Some("x = 2"), "{}") };
        let rolled_back =
            CellView { state: "rolled_back".to_owned(), ..cell(6, Some("x = 3"), "{}") };
        let cells = vec![left, rolled_back, cell(7, Some("x"), "{}")];
        let session = SessionId::of_random(&[1; 16]);
        let checkpoint = CheckpointId::new(4, &Digest::of(b"x"));
        let from = ForkedFrom { session: session.clone(), checkpoint };
        let text = NotebookCells::of(cells).write((None, Some(&from)), &[], "mark").unwrap();
        let notebook: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(notebook["metadata"]["wardian"]["missing_up_to_cell"], 4);
        let cells = notebook["cells"].as_array().unwrap();
        assert_eq!(cells[0]["cell_type"], "markdown");
        assert!(cells[0]["source"].as_str().unwrap().contains(session.as_str()), "{text}");
        let tags: Vec<&Value> = cells.iter().map(|cell| &cell["metadata"]["tags"]).collect();
        let skipped = json!(["skip-execution"]);
        assert_eq!(tags, [&Value::Null, &skipped, &skipped, &Value::Null]);
        assert_eq!(cells[1]["metadata"]["wardian"]["left"], true);
    }

    #[test]
    fn a_notebook_says_what_was_not_kept() {
        let result = r#"{"output": {"result": 3}, "display": [{"text/plain": {"text": "x"}}],
            "left_out": {"items": 2, "bytes": 90000}}"#;
        let notebook = notebook(vec![cell(1, Some("x"), result)], None, &[]);
        let outputs = notebook["cells"][0]["outputs"].as_array().unwrap();
        let kinds: Vec<&Value> = outputs.iter().map(|output| &output["output_type"]).collect();
        assert_eq!(kinds, ["display_data", "display_data", "execute_result"]);
        let sentence = outputs[1]["data"]["text/plain"].as_str().unwrap();
        assert!(sentence.starts_with("2 items of 90000 bytes were not kept"), "{sentence}");
        assert_eq!(outputs[1]["metadata"]["wardian_left_out"]["items"], 2);
    }

    #[test]
    fn a_notebook_has_the_beginning_of_a_large_value_and_names_the_rest() {
        let blob = BlobId::of_digest(&Digest::of(b"x"));
        let cut = format!(
            r#"{{"truncated": true, "blob_id": "{blob}", "size_bytes": 5013, "preview": "{{\"result\":\"xx"}}"#
        );
        let shown = |marked: bool| {
            let result = format!(r#"{{"output": {cut}, "output_truncated": {marked}}}"#);
            let notebook = notebook(vec![cell(1, Some("x"), &result)], None, &[]);
            notebook["cells"][0]["outputs"][0].clone()
        };
        let output = shown(true);
        let text = output["data"]["text/plain"].as_str().unwrap();
        let rest = format!("a value of 5013 bytes; `wardian blobs get {blob}` saves it]");
        assert!(text.starts_with("\"xx\n[") && text.ends_with(&rest), "{text}");
        assert_eq!(output["metadata"]["wardian_blobs"]["application/json"], json!(blob));
        let own = shown(false);
        assert_eq!(own["data"]["text/plain"], cut, "a program may return such an object");
    }

    #[test]
    fn a_result_of_another_form_is_not_shown() {
        let notebook = notebook(vec![cell(1, Some("1"), "[1]")], None, &[]);
        assert_eq!(notebook["cells"][0]["outputs"], json!([]));
    }
}
