//! Results that are too long to be kept as they are: kept without their longest texts.
//!
//! In the place of a text is a sentence that says what is missing and how long it was, and the member
//! `left_out` of the result counts all of them. What a cell asks of its caller is never left out, because
//! nobody could answer it then.

use std::collections::BTreeSet;
use std::mem::take;

use serde::{Deserialize, Serialize};

use wardian_formats::protocol::methods::cells::DisplayedForm;
use wardian_formats::protocol::methods::execution::RunResult;
use wardian_sessions::{MAX_ASKED, MAX_RESULT};

/// What precedes the last member of a result of which something was left out.
const MEMBER: &str = ",\"left_out\":";

/// Texts up to this length stay: the sentence in their place would hardly be shorter.
const SHORT: usize = 512;

/// Longest sentence in the place of a text.
const SENTENCE: usize = 256;

/// Blobs and files that are listed of a result that is still too long without its texts.
const MAX_LISTED: usize = 100;

/// Longest prompt of a result that is still too long without everything else.
const MAX_PROMPT: usize = 256;

/// The type of a form in which objects can say what is missing of them.
const PLAIN: &str = "text/plain";

/// What a kept result lacks of what its cell has given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct NotKept {
    /// Texts, displayed objects and entries of lists.
    items: u64,
    /// Their bytes.
    bytes: u64,
    /// True if nothing is known of an earlier part of the cell.
    #[serde(skip_serializing_if = "is_false")]
    earlier_part: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl NotKept {
    /// Adds so many things of so many bytes.
    pub(crate) fn add(&mut self, items: usize, bytes: usize) {
        let more = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        self.items = self.items.saturating_add(more(items));
        self.bytes = self.bytes.saturating_add(more(bytes));
    }

    /// True if all is there.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// One sentence for people and models.
    pub(crate) fn sentence(&self) -> String {
        let Self { items, bytes, earlier_part } = self;
        let (thing, was) = if *items == 1 { ("item", "was") } else { ("items", "were") };
        let items = (*items > 0).then(|| {
            format!(
                "{items} {thing} of {bytes} bytes {was} not kept, because the result of the cell is too long"
            )
        });
        let part = earlier_part
            .then(|| "what an earlier part of the cell has shown is not known".to_owned());
        items.into_iter().chain(part).collect::<Vec<_>>().join("; ")
    }
}

/// A kept result of which nothing is known but that it was one.
pub(crate) fn unknown_result() -> String {
    "{\"left_out\":{\"items\":0,\"bytes\":0,\"earlier_part\":true}}".to_owned()
}

/// The result of a cell as it is kept, in at most [`MAX_RESULT`] bytes without `reserved` ones, and what the
/// cell asks beside them. `left_out` is what it lacks already.
pub(crate) fn kept_text(
    result: &RunResult,
    mut left_out: NotKept,
    reserved: usize,
) -> Option<String> {
    let most = MAX_RESULT.checked_sub(reserved)?.saturating_add(length_of_asked(result));
    let text = written(result, left_out)?;
    let Some(mut excess) = excess_of(&text, most) else { return Some(text) };
    drop(text);
    let mut short = result.clone();
    for shorten in [leave_texts_out, shorten_lists, leave_displays_out, shorten_prompts] {
        shorten(&mut short, &mut left_out, excess);
        let text = written(&short, left_out)?;
        match excess_of(&text, most) {
            None => return Some(text),
            Some(more) => excess = more,
        }
    }
    None
}

/// Bytes of what a cell asks, up to those that it may have beside its result.
fn length_of_asked(result: &RunResult) -> usize {
    if result.requests.is_empty() { 0 } else { length_of(&result.requests).min(MAX_ASKED) }
}

fn length_of(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

fn excess_of(text: &str, most: usize) -> Option<usize> {
    text.len().checked_sub(most).filter(|excess| *excess > 0)
}

fn written(result: &RunResult, left_out: NotKept) -> Option<String> {
    let mut text = serde_json::to_string(result).ok()?;
    if !left_out.is_empty() {
        text.pop();
        text.push_str(MEMBER);
        text.push_str(&serde_json::to_string(&left_out).ok()?);
        text.push('}');
    }
    Some(text)
}

/// Leaves the longest displayed texts out, until these bytes are saved. Of equal ones the last goes first.
fn leave_texts_out(result: &mut RunResult, left_out: &mut NotKept, excess: usize) {
    let mut texts = Vec::new();
    for (object, shown) in result.display.iter().enumerate() {
        for (form, (_, content)) in shown.0.iter().enumerate() {
            if let DisplayedForm::Text(text) = content
                && text.len() > SHORT
            {
                texts.push((text.len(), object, form));
            }
        }
    }
    texts.sort_unstable();
    let (mut saved, mut chosen) = (0_usize, BTreeSet::new());
    while let Some((length, object, form)) = texts.pop().filter(|_| saved < excess) {
        saved = saved.saturating_add(length.saturating_sub(SENTENCE));
        left_out.add(1, length);
        chosen.insert((object, form));
    }
    for (object, shown) in result.display.iter_mut().enumerate() {
        let is_chosen = |form: usize| chosen.contains(&(object, form));
        shown.0 = without(take(&mut shown.0), is_chosen);
    }
}

/// The forms of an object without those that are left out. Its plain text says which.
fn without(
    forms: Vec<(String, DisplayedForm)>,
    is_left_out: impl Fn(usize) -> bool,
) -> Vec<(String, DisplayedForm)> {
    let (mut kept, mut sentences) = (Vec::with_capacity(forms.len()), Vec::new());
    for (place, (kind, content)) in forms.into_iter().enumerate() {
        match content {
            DisplayedForm::Text(text) if is_left_out(place) => {
                let bytes = text.len();
                sentences.push(format!(
                    "[{kind} of {bytes} bytes was not kept: the result of the cell is too long]"
                ));
            }
            content => kept.push((kind, content)),
        }
    }
    if sentences.is_empty() {
        return kept;
    }
    let sentence = sentences.join("\n");
    let plain = kept.iter_mut().find_map(|(kind, content)| match content {
        DisplayedForm::Text(text) if kind == PLAIN => Some(text),
        _ => None,
    });
    match plain {
        Some(text) => {
            text.push('\n');
            text.push_str(&sentence);
        }
        None => kept.push((PLAIN.to_owned(), DisplayedForm::Text(sentence))),
    }
    kept
}

/// Keeps the beginnings of the lists of blobs and files.
fn shorten_lists(result: &mut RunResult, left_out: &mut NotKept, _excess: usize) {
    let (blobs, files) = (result.output_blobs.len(), result.files.len());
    let before = length_of(&result.output_blobs).saturating_add(length_of(&result.files));
    result.output_blobs.truncate(MAX_LISTED);
    result.files.truncate(MAX_LISTED);
    let gone = (blobs.saturating_sub(MAX_LISTED)).saturating_add(files.saturating_sub(MAX_LISTED));
    if gone == 0 {
        return;
    }
    let after = length_of(&result.output_blobs).saturating_add(length_of(&result.files));
    if files > MAX_LISTED {
        result.files_total = result.files_total.or(u64::try_from(files).ok());
    }
    left_out.add(gone, before.saturating_sub(after));
}

/// Leaves out what was displayed: it is too much even without its longest texts.
fn leave_displays_out(result: &mut RunResult, left_out: &mut NotKept, _excess: usize) {
    let display = take(&mut result.display);
    if !display.is_empty() {
        left_out.add(display.len(), length_of(&display));
    }
}

/// Shortens prompts. Each request is there, and can be answered.
fn shorten_prompts(result: &mut RunResult, left_out: &mut NotKept, _excess: usize) {
    let prompts = result.requests.iter_mut().filter_map(|request| request.prompt.as_mut());
    for prompt in prompts.filter(|prompt| prompt.len() > MAX_PROMPT) {
        let length = prompt.len();
        prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT));
        let gone = length.saturating_sub(prompt.len());
        prompt.push_str(&format!(" [... {gone} bytes were not kept]"));
        left_out.add(1, gone);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::*;
    use crate::run::result::answered::Answered;
    use crate::runs::active::StopReason;
    use wardian_formats::protocol::methods::asking::{AskedKind, AskedRequest};
    use wardian_formats::protocol::methods::cells::DisplayedObject;
    use wardian_vocabulary::ids::RunId;

    fn shown(forms: &[(&str, usize)]) -> DisplayedObject {
        let form = |(kind, length): &(&str, usize)| {
            ((*kind).to_owned(), DisplayedForm::Text("x".repeat(*length)))
        };
        DisplayedObject(forms.iter().map(form).collect())
    }

    fn result(display: Vec<DisplayedObject>) -> RunResult {
        let stopped = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
        RunResult { logs_preview: "hello\n".to_owned(), display, ..stopped }
    }

    fn kept(result: &RunResult) -> Value {
        let text = kept_text(result, NotKept::default(), 0).unwrap();
        assert!(text.len() <= MAX_RESULT + length_of_asked(result));
        serde_json::from_str(&text).unwrap()
    }

    fn request(id: &str, prompt: Option<String>, arguments: usize) -> AskedRequest {
        let arguments = format!("{{\"a\":\"{}\"}}", "z".repeat(arguments));
        AskedRequest {
            id: id.to_owned(),
            kind: AskedKind::Tool,
            name: Some("t".to_owned()),
            arguments: RawValue::from_string(arguments).ok(),
            prompt,
            hidden: false,
        }
    }

    #[test]
    fn a_short_result_is_kept_as_it_is() {
        let short = result(vec![shown(&[("text/html", 60_000)]); 4]);
        let text = serde_json::to_string(&short).unwrap();
        assert_eq!(kept_text(&short, NotKept::default(), 0), Some(text));
    }

    #[test]
    fn the_longest_texts_are_left_out_and_named() {
        let (small, large) = ([("text/html", 30_000)], [("text/html", 60_000)]);
        let titled = [("text/html", 65_000), (PLAIN, 5), ("image/svg+xml", 64_000)];
        let display = [
            [shown(&small), shown(&titled)],
            [shown(&large), shown(&large)],
            [shown(&large), shown(&small)],
        ];
        let kept = kept(&result(display.concat()));
        let display = kept["display"].as_array().unwrap();
        let kinds =
            |at: usize| display[at].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!((kinds(0), kinds(1)), (vec!["text/html".to_owned()], vec![PLAIN.to_owned()]));
        let sentence = display[1][PLAIN]["text"].as_str().unwrap();
        assert!(
            sentence.starts_with("xxxxx\n[text/html of 65000 bytes was not kept: "),
            "{sentence}"
        );
        assert!(sentence.contains("\n[image/svg+xml of 64000 bytes was"), "{sentence}");
        assert!((2..6).all(|at| kinds(at) == ["text/html"]), "the others have room");
        assert_eq!(kept["logs_preview"], "hello\n");
        assert_eq!(kept["left_out"], json!({"items": 2, "bytes": 129_000}));
        let left_out: NotKept = serde_json::from_value(kept["left_out"].clone()).unwrap();
        let said = left_out.sentence();
        assert!(said.starts_with("2 items of 129000 bytes were not kept"), "{said}");
    }

    #[test]
    fn requests_are_never_left_out() {
        let arguments = [200_000, 200_000, 200_000];
        let requests = |prompt: Option<String>| {
            arguments.iter().map(|length| request("c3-r1", prompt.clone(), *length)).collect()
        };
        let display = vec![shown(&[("text/html", 60_000)]); 7];
        let asks = RunResult { requests: requests(None), ..result(display) };
        let kept_one = kept(&asks);
        assert_eq!(kept_one["requests"], serde_json::to_value(&asks.requests).unwrap());
        assert_eq!(kept_one["left_out"]["items"], 3, "as without them");
        // Signs that take six bytes in JSON.
        let prompt = "\u{1}".repeat(16 << 10);
        let many = (0..64).map(|_| request("c3-r1", Some(prompt.clone()), 1)).collect();
        let asks = RunResult { requests: many, ..result(Vec::new()) };
        let kept = kept(&asks);
        assert_eq!(kept["requests"].as_array().unwrap().len(), 64);
        assert!(kept["requests"][0]["prompt"].as_str().unwrap().ends_with("bytes were not kept]"));
        assert_eq!(kept["left_out"]["items"], 64);
    }

    #[test]
    fn lists_and_many_small_texts_are_left_out_at_last() {
        let small = vec![shown(&[("text/html", 500), ("text/a", 500), ("text/b", 500)]); 256];
        let kept_one = kept(&result(small));
        assert_eq!(
            (&kept_one["display"], &kept_one["left_out"]["items"]),
            (&Value::Null, &json!(256))
        );
        // A result that lacked something lacks that still, and one without any room is none.
        let mut before = NotKept::default();
        before.add(3, 100);
        let text = kept_text(&result(Vec::new()), before, 0).unwrap();
        let kept: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(kept["left_out"], json!({"items": 3, "bytes": 100}));
        assert_eq!(kept_text(&result(Vec::new()), before, MAX_RESULT), None);
        assert_eq!(kept_text(&result(Vec::new()), before, usize::MAX), None);
    }
}
