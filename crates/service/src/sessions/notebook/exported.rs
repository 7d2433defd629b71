//! The cells of a session as a notebook.
//!
//! The format is nbformat 4.5 of the Jupyter project: `nbformat.readthedocs.io`. Pictures and long texts
//! that cells displayed are blobs, which a notebook names instead of having them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::sessions::views::CellView;

/// The members of a result that a notebook shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ShownResult {
    output: Option<Box<RawValue>>,
    logs_preview: String,
    display: Vec<Map<String, Value>>,
    error: Option<ShownError>,
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
    cells: Vec<NotebookCell<'a>>,
    metadata: Value,
    nbformat: u32,
    nbformat_minor: u32,
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

/// The notebook of these cells. Cells whose program is not kept are left out, and those from `left_out` on
/// have no room, with a note in the notebook's metadata.
///
/// # Errors
///
/// It cannot be written as JSON.
pub(crate) fn notebook_of(cells: &[CellView], left_out: Option<u32>) -> serde_json::Result<String> {
    let without_source: Vec<u32> =
        cells.iter().filter(|cell| cell.source.is_none()).map(|cell| cell.number).collect();
    let shown = cells.iter().filter_map(|cell| {
        Some(NotebookCell {
            cell_type: "code",
            id: format!("cell-{}", cell.number),
            execution_count: cell.number,
            metadata: json!({ "wardian": { "state": cell.state, "checkpoint": cell.checkpoint } }),
            source: cell.source.as_deref()?,
            outputs: outputs_of(cell),
        })
    });
    let metadata = json!({
        "kernelspec": { "display_name": "Python (Wardian)", "language": "python", "name": "wardian" },
        "language_info": { "name": "python", "file_extension": ".py" },
        "wardian": { "cells_without_source": without_source, "left_out_from_cell": left_out },
    });
    let notebook = Notebook { cells: shown.collect(), metadata, nbformat: 4, nbformat_minor: 5 };
    serde_json::to_string_pretty(&notebook)
}

/// What a cell printed, displayed, returned and raised.
fn outputs_of(cell: &CellView) -> Vec<NotebookOutput> {
    let text = cell.result.as_deref().map_or("{}", RawValue::get);
    // A result that cannot be read is one of another version, and is not shown. A list would be read as members.
    let result: ShownResult = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).unwrap_or_default()
    } else {
        ShownResult::default()
    };
    let mut outputs = Vec::new();
    if !result.logs_preview.is_empty() {
        let text = result.logs_preview;
        let told = json!({ "output_type": "stream", "name": "stdout", "text": text });
        outputs.push(NotebookOutput::Told(told));
    }
    for object in result.display {
        let mut data = BTreeMap::new();
        let mut blobs = Map::new();
        for (kind, form) in object {
            match (form.get("text").and_then(Value::as_str), form.get("blob")) {
                (Some(text), _) => {
                    if let Some(shown) = form_of(&kind, text) {
                        data.insert(kind, shown);
                    }
                }
                (None, Some(blob)) => drop(blobs.insert(kind, blob.clone())),
                (None, None) => {}
            }
        }
        let metadata = if blobs.is_empty() { json!({}) } else { json!({ "wardian_blobs": blobs }) };
        let output_type = "display_data";
        outputs.push(NotebookOutput::Displayed { output_type, data, metadata });
    }
    if let Some(value) = result.output {
        outputs.push(NotebookOutput::Told(json!({
            "output_type": "execute_result",
            "execution_count": cell.number,
            "data": { "text/plain": shown_value(&value) },
            "metadata": {},
        })));
    }
    if let Some(ShownError { error_type, message, traceback }) = result.error {
        let lines: Vec<&str> = traceback.as_deref().unwrap_or(&message).lines().collect();
        outputs.push(NotebookOutput::Told(json!({
            "output_type": "error",
            "ename": error_type,
            "evalue": message,
            "traceback": lines,
        })));
    }
    outputs
}

/// A form as a notebook has it: JSON as it is, and everything else, also what is no JSON, as a text.
fn form_of(kind: &str, text: &str) -> Option<Box<RawValue>> {
    let is_json =
        kind == "application/json" || kind.starts_with("application/") && kind.ends_with("+json");
    let json = if is_json { serde_json::from_str(text).ok() } else { None };
    json.or_else(|| to_raw_value(text).ok())
}

/// The value of a cell as text. A result has an object, whose only member `result` is a value that is none.
fn shown_value(output: &RawValue) -> String {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wrapped {
        result: Box<RawValue>,
    }
    match serde_json::from_str::<Wrapped>(output.get()) {
        Ok(Wrapped { result }) => result.get().to_owned(),
        Err(_) => output.get().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(number: u32, source: Option<&str>, result: &str) -> CellView {
        CellView {
            number,
            source: source.map(str::to_owned),
            state: "kept".to_owned(),
            checkpoint: None,
            began_ms: 0,
            result: RawValue::from_string(result.to_owned()).ok(),
        }
    }

    #[test]
    fn a_notebook_has_what_cells_printed_displayed_returned_and_raised() {
        let result = r#"{"output": {"result": 3}, "logs_preview": "hi\n", "display": [
            {"text/html": {"text": "<b>x</b>"}, "application/x+json": {"text": "{\"a\": 1}"}, "application/json": {"text": "{1"}, "image/png": {"blob": "blob:1"}}]}"#;
        let failed = r#"{"output": null, "logs_preview": "", "error":
            {"type": "ValueError", "message": "no", "traceback": "a\nb"}}"#;
        let cells =
            [cell(1, Some("1 + 2"), result), cell(2, None, "{}"), cell(3, Some("x"), failed)];
        let text = notebook_of(&cells, Some(9)).unwrap();
        let notebook: Value = serde_json::from_str(&text).unwrap();
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
        assert_eq!(outputs[1]["metadata"]["wardian_blobs"]["image/png"], "blob:1");
        assert_eq!(outputs[2]["data"]["text/plain"], "3");
        assert_eq!(cells[1]["outputs"][0]["ename"], "ValueError");
        assert_eq!(cells[1]["outputs"][0]["traceback"], json!(["a", "b"]));
    }

    #[test]
    fn a_result_of_another_form_is_not_shown() {
        let text = notebook_of(&[cell(1, Some("1"), "[1]")], None).unwrap();
        let notebook: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(notebook["cells"][0]["outputs"], json!([]));
    }
}
