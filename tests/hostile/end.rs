//! The expected end of a run, and its comparison with the result.

use std::collections::BTreeSet;

use serde_json::Value;

/// The end that a program states.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    /// With exactly this output.
    Completed(Value),
    /// With an output of this many bytes, which becomes the run's only blob.
    Apart(u64),
    /// With an output no part of which is the same in any other run.
    Differing,
    /// With an error of one of these types and with this message, or one that begins so.
    Failed { error_types: Vec<String>, message: String, is_prefix: bool },
}

/// The mark after which a message may continue in any way.
const AND_SO_ON: char = '…';

impl End {
    /// Reads `completed <JSON>`, `completed apart <bytes>`, `completed differing`, or `failed
    /// <type>: <message>`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(' ') {
            Some(("completed", "differing")) => Ok(Self::Differing),
            Some(("completed", output)) if output.starts_with("apart ") => {
                let size = output.trim_start_matches("apart ").parse();
                size.map(Self::Apart).map_err(|fault| format!("no size: {fault}"))
            }
            Some(("completed", output)) => serde_json::from_str(output)
                .map(Self::Completed)
                .map_err(|fault| format!("the output is no JSON: {fault}")),
            Some(("failed", error)) => {
                let (types, message) =
                    error.split_once(": ").ok_or("a failure is `<type>: <message>`")?;
                let error_types = types.split(" or ").map(str::to_owned).collect();
                let is_prefix = message.ends_with(AND_SO_ON);
                let message = message.trim_end_matches(AND_SO_ON).to_owned();
                Ok(Self::Failed { error_types, message, is_prefix })
            }
            _ => Err(format!("no end: `{text}`")),
        }
    }

    /// True for the end by a deadline.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::Failed { error_types, .. } if error_types == &["Timeout"])
    }

    /// Compares the result of a run with this end. The error describes the difference.
    pub(crate) fn check(&self, result: &Value) -> Result<(), String> {
        match self {
            Self::Completed(expected) => {
                completed(result)?;
                let output = &result["output"];
                if output == expected && result["output_truncated"] == false {
                    return Ok(());
                }
                Err(format!("the output is {output:.600}"))
            }
            Self::Apart(size) => {
                completed(result)?;
                let output = &result["output"];
                let is_blob = Some([output["blob_id"].clone()].as_slice())
                    == result["output_blobs"].as_array().map(Vec::as_slice);
                let is_marked = result["output_truncated"] == true && output["truncated"] == true;
                if is_marked && output["size_bytes"] == *size && is_blob {
                    return Ok(());
                }
                Err(format!("the output is {output:.600}"))
            }
            Self::Differing => completed(result),
            Self::Failed { error_types, message, is_prefix } => {
                let error = &result["error"];
                let found = (error["type"].as_str(), error["message"].as_str());
                let (Some(found_type), Some(found)) = found else {
                    return Err(format!("it completed: {result:.600}"));
                };
                let is_message =
                    if *is_prefix { found.starts_with(message) } else { found == message };
                let is_failed = result["status"] == "failed" && result["output"].is_null();
                let is_type = error_types.iter().any(|known| known == found_type);
                if is_failed && is_type && is_message {
                    return Ok(());
                }
                Err(format!("it failed with {found_type}: {found:.600}"))
            }
        }
    }
}

fn completed(result: &Value) -> Result<(), String> {
    if result["status"] == "completed" && result.get("error").is_none() {
        return Ok(());
    }
    Err(format!("it failed: {:.900}", result["error"]))
}

/// Parts of outputs that are the same in two runs.
pub(crate) fn repeated(outputs: &[Value]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut twice = BTreeSet::new();
    for output in outputs {
        let mut parts = BTreeSet::new();
        leaves(output, &mut parts);
        twice.extend(parts.iter().filter(|part| seen.contains(*part)).cloned());
        seen.extend(parts);
    }
    twice
}

fn leaves(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| leaves(item, into)),
        Value::Object(members) => members.values().for_each(|item| leaves(item, into)),
        leaf => drop(into.insert(leaf.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_end_is_compared_exactly() {
        let completed =
            json!({"status": "completed", "output_truncated": false, "output": {"breaches": []}});
        let failed = |error_type: &str, message: &str| json!({"status": "failed", "output": null, "error": {"type": error_type, "message": message}});
        let forged = json!({"status": "completed", "output_blobs": ["blob:x"], "output_truncated": false,
            "output": {"truncated": true, "size_bytes": 7, "blob_id": "blob:x", "preview": "…"}});
        let apart = json!({"status": "completed", "output_blobs": ["blob:x"], "output_truncated": true,
            "output": {"truncated": true, "size_bytes": 7, "blob_id": "blob:x", "preview": "…"}});
        for (end, result, is_so) in [
            ("completed apart 7", forged, false),
            ("completed apart 7", apart.clone(), true),
            ("completed apart 8", apart, false),
            ("completed apart 7", completed.clone(), false),
            ("completed {\"breaches\": []}", completed.clone(), true),
            ("completed {\"breaches\": [1]}", completed.clone(), false),
            ("completed {}", completed.clone(), false),
            ("completed differing", completed.clone(), true),
            ("failed Timeout: late", completed, false),
            ("failed Timeout: late", failed("Timeout", "late"), true),
            ("failed Timeout: late", failed("Timeout", "later"), false),
            ("failed Timeout: lat…", failed("Timeout", "later"), true),
            ("failed Timeout: …", failed("MemoryLimit", "late"), false),
            ("failed Timeout or SandboxCrash: …", failed("SandboxCrash", "late"), true),
            ("failed Timeout or SandboxCrash: …", failed("MemoryLimit", "late"), false),
            ("completed null", failed("Timeout", "late"), false),
            ("completed differing", failed("Timeout", "late"), false),
        ] {
            let checked = End::parse(end).unwrap().check(&result);
            assert_eq!(checked.is_ok(), is_so, "{end}: {checked:?}");
        }
        for wrong in ["", "completed", "completed {", "failed Timeout", "stopped: x", "failed"] {
            assert!(End::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn repeated_parts_are_found_wherever_they_are() {
        let outputs = [json!({"a": [1, "x"]}), json!({"b": {"c": "x"}}), json!([2, 2])];
        assert_eq!(repeated(&outputs).into_iter().collect::<Vec<_>>(), ["\"x\""]);
    }
}
