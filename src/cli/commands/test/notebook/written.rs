//! `--update`: puts the outputs of a run in the place of those that a notebook has. The rest of the file keeps
//! its bytes.

use std::ops::Range;

use data_encoding::BASE64;
use serde_json::{Map, Value, json};

use crate::cli::commands::test::notebook::outputs::{CellOutputs, OutputForm, ShownObject};

/// The depth of the list of outputs in a notebook, in steps of its indentation.
const DEPTH: usize = 3;

/// The text of a notebook with other outputs: each with its place in the text, in order.
pub(crate) fn with_outputs(text: &str, new: &[(Range<usize>, Value)]) -> String {
    let (mut whole, mut end) = (String::with_capacity(text.len()), 0);
    for (at, outputs) in new {
        whole.push_str(text.get(end..at.start).unwrap_or_default());
        whole.push_str(&laid_out(text, at.start, outputs));
        end = at.end;
    }
    whole.push_str(text.get(end..).unwrap_or_default());
    whole
}

/// Outputs in the layout of the notebook: on lines of their own if the member is on one of its own.
fn laid_out(text: &str, at: usize, outputs: &Value) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let member = line.trim_start_matches(' ');
    let indent = line.len().saturating_sub(member.len());
    if !before.contains('\n') || !member.starts_with("\"outputs\"") {
        return outputs.to_string();
    }
    let step = " ".repeat((indent / DEPTH).max(1));
    let mut pretty = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(step.as_bytes());
    let mut writer = serde_json::Serializer::with_formatter(&mut pretty, formatter);
    let written = serde::Serialize::serialize(outputs, &mut writer).is_ok();
    match String::from_utf8(pretty) {
        Ok(pretty) if written => pretty.replace('\n', &format!("\n{}", " ".repeat(indent))),
        _ => outputs.to_string(),
    }
}

/// Outputs as a notebook has them, with members in the order of their names, as nbformat writes them.
pub(crate) fn as_saved(outputs: &CellOutputs, execution_count: Option<u64>) -> Value {
    let mut all = Vec::new();
    for (name, text) in [("stdout", &outputs.stdout), ("stderr", &outputs.stderr)] {
        if !text.is_empty() {
            let text = lines_of(text);
            all.push(json!({ "name": name, "output_type": "stream", "text": text }));
        }
    }
    all.extend(outputs.objects.iter().map(|object| saved_object(object, execution_count)));
    if let Some(error) = &outputs.error {
        all.push(json!({
            "ename": error.name,
            "evalue": error.value,
            "output_type": "error",
            "traceback": error.traceback,
        }));
    }
    Value::Array(all)
}

fn saved_object(object: &ShownObject, execution_count: Option<u64>) -> Value {
    let form = |(kind, form): (&String, &OutputForm)| {
        let saved = match form {
            OutputForm::Text(text) if is_split(kind) => lines_of(text),
            OutputForm::Text(text) => Value::String(text.clone()),
            OutputForm::Bytes(bytes) => Value::String(BASE64.encode(bytes)),
            OutputForm::Data(data) => data.clone(),
        };
        (kind.clone(), saved)
    };
    let data: Map<String, Value> = object.forms.iter().map(form).collect();
    if object.is_value {
        json!({
            "data": data,
            "execution_count": execution_count,
            "metadata": {},
            "output_type": "execute_result",
        })
    } else {
        json!({ "data": data, "metadata": {}, "output_type": "display_data" })
    }
}

/// True for forms that nbformat writes as lists of lines.
fn is_split(kind: &str) -> bool {
    kind.starts_with("text/") || ["application/javascript", "image/svg+xml"].contains(&kind)
}

/// A text as a list of its lines, each with its end.
fn lines_of(text: &str) -> Value {
    text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cli::commands::test::notebook::outputs::ShownError;

    fn outputs() -> CellOutputs {
        let text = ("text/plain".to_owned(), OutputForm::Text("1".to_owned()));
        let picture = ("image/png".to_owned(), OutputForm::Bytes(b"\x89PNG\r\n\x1a\n".to_vec()));
        CellOutputs {
            stdout: "a\nb".to_owned(),
            stderr: String::new(),
            objects: vec![ShownObject { is_value: true, forms: BTreeMap::from([text, picture]) }],
            error: Some(ShownError {
                name: "E".to_owned(),
                value: "é".to_owned(),
                traceback: vec!["t".to_owned()],
            }),
        }
    }

    #[test]
    fn outputs_are_written_in_the_layout_of_their_notebook() {
        let text = "{\n \"cells\": [\n  {\n   \"outputs\": [],\n   \"source\": []\n  }\n ]\n}\n";
        let at = text.find("[],").unwrap();
        let new = with_outputs(text, &[(at..at + 2, as_saved(&outputs(), Some(4)))]);
        let expected = r#"{
 "cells": [
  {
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "a\n",
      "b"
     ]
    },
    {
     "data": {
      "image/png": "iVBORw0KGgo=",
      "text/plain": [
       "1"
      ]
     },
     "execution_count": 4,
     "metadata": {},
     "output_type": "execute_result"
    },
    {
     "ename": "E",
     "evalue": "é",
     "output_type": "error",
     "traceback": [
      "t"
     ]
    }
   ],
   "source": []
  }
 ]
}
"#;
        assert_eq!(new, expected);
    }

    #[test]
    fn a_notebook_without_layout_keeps_none() {
        let text = "{\"cells\": [{\"outputs\": [1], \"source\": \"\"}]}";
        let at = text.find("[1]").unwrap();
        let new = with_outputs(text, &[(at..at + 3, as_saved(&CellOutputs::default(), None))]);
        assert_eq!(new, "{\"cells\": [{\"outputs\": [], \"source\": \"\"}]}");
    }
}
