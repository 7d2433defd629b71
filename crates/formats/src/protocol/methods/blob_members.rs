//! What a program calls a blob: the member of its output that has the blob's id.
//!
//! Outputs are searched as text: what comes from a guest becomes no tree here.

use crate::protocol::methods::execution::RunResult;
use wardian_vocabulary::ids::BlobId;

/// Maximum length of a reported member's name, in bytes.
const MAX_NAME: usize = 80;

/// Most ids of a list that are looked at to find the name of the list.
const MAX_ITEMS: usize = 1_000;

/// What a run's program calls this blob: the member of its output that has the id, or `output` if the
/// blob is the whole output, which was too large for the result.
pub fn called_by(run: &RunResult, id: &BlobId) -> Option<String> {
    let output = run.output.as_ref().map_or("", |output| output.get());
    match run.output_truncated {
        true => Some("output".to_owned()).filter(|_| output.contains(&id.to_string())),
        false => member_of(output, id),
    }
}

/// The name of the member of `output`, which is JSON, that has this id: as its value, or in a list of
/// ids that is its value. `None` if there is none, or if its name is long.
fn member_of(output: &str, id: &BlobId) -> Option<String> {
    let quoted = format!("\"{id}\"");
    let at = output.find(&quoted)?;
    let mut before = output.get(..at)?.trim_end();
    let mut items = 0;
    while !before.ends_with(':') {
        if let Some(rest) = before.strip_suffix('[') {
            before = rest.trim_end();
            break;
        }
        // The item before it in the list.
        let rest = before.strip_suffix(',')?.trim_end();
        let start = rest.len().checked_sub(quoted.len())?;
        let item = rest.get(start..)?.strip_prefix('"')?.strip_suffix('"')?;
        BlobId::parse(item).ok()?;
        before = rest.get(..start)?.trim_end();
        items = usize::checked_add(items, 1).filter(|items| *items < MAX_ITEMS)?;
    }
    let name = before.strip_suffix(':')?.trim_end();
    let inside = name.strip_suffix('"')?;
    let is_escaped = |at: usize| {
        let slashes = inside.get(..at).map_or("", |text| text).bytes().rev();
        slashes.take_while(|byte| *byte == b'\\').count() % 2 == 1
    };
    let start = inside.rmatch_indices('"').map(|(at, _)| at).find(|at| !is_escaped(*at))?;
    let name: String = serde_json::from_str(name.get(start..)?).ok()?;
    (name.len() <= MAX_NAME).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::ids::Digest;

    #[test]
    fn a_blob_is_called_like_the_member_that_has_its_id() {
        let [a, b] = [b"a", b"b"].map(|content| BlobId::of_digest(&Digest::of(content)));
        let long = "x".repeat(MAX_NAME + 1);
        for (output, expected) in [
            (format!(r#"{{"chart": "{a}"}}"#), Some("chart")),
            (format!(r#"{{"n":1,"deep":{{"pie":"{a}"}}}}"#), Some("pie")),
            (format!(r#"{{"pages" : [ "{b}" , "{a}" ] }}"#), Some("pages")),
            (format!(r#"{{"say \"hi\"":"{a}"}}"#), Some(r#"say "hi""#)),
            (format!(r#"{{"ends in \\":"{a}"}}"#), Some(r"ends in \")),
            (format!(r#"{{"\u00e4":"{a}"}}"#), Some("ä")),
            (format!(r#"{{"rows":[[1,"{a}"]]}}"#), None),
            (format!(r#"{{"rows":[1,"{a}"]}}"#), None),
            (format!(r#"{{"{a}":1}}"#), None),
            (format!(r#"{{"{long}":"{a}"}}"#), None),
            (format!(r#"["{a}"]"#), None),
            (format!(r#""{a}""#), None),
            (format!(r#"{{"text":"its id is \"{a}\""}}"#), None),
            (format!(r#"{{"b":"{b}"}}"#), None),
            (String::new(), None),
        ] {
            assert_eq!(member_of(&output, &a).as_deref(), expected, "{output}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_name_is_found_as_it_was_written(name in "\\PC{0,20}") {
            let id = BlobId::parse(&format!("blob:{}", "a".repeat(52))).unwrap();
            let output = serde_json::json!({"first": "x", &name: id.to_string()}).to_string();
            proptest::prop_assert_eq!(member_of(&output, &id), Some(name));
        }
    }
}
