//! What a program asked while it ran, and the answers with which it went on.
//!
//! A program that waits, for tools or for a line of text, runs in parts. Which answers come together decides what
//! it does, so they are noted in rounds: what was asked at the end of a part, and the answers with which the next
//! one began.
//!
//! INVARIANT(told-as-recorded): a repetition tells its program the same bytes that the run was told.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::job::session::asking::MAX_ROUND;
use crate::provenance::fault::ProvenanceError;
use crate::provenance::text::DocumentText;
use wardian_vocabulary::ids::{BlobId, Digest, is_tool_name};

/// Maximum number of rounds of one program.
pub const MAX_ROUNDS: usize = 10_000;

/// The tools of a program, and what it asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentTools {
    /// The JSON text of the declarations of its tools, as the program was told of them at its beginning.
    pub declared: Option<DocumentText>,
    /// The rounds, in order.
    pub rounds: Vec<DocumentRound>,
}

/// A wait of a program: what it asked, and what it was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentRound {
    /// What it asked that it had not asked in an earlier round.
    pub asked: Vec<DocumentRequest>,
    /// The answers with which it went on, in the order in which it got them.
    pub answers: Vec<DocumentAnswer>,
    /// The declarations of its tools from then on, if they became others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<DocumentText>,
}

/// A call of a tool, or the wish for a line of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentRequest {
    /// Its number among all requests of the program.
    pub number: u32,
    /// The name of the tool; none for a line of text.
    pub tool: Option<String>,
    /// SHA-256 of the JSON text of the arguments, or of the prompt.
    pub content_sha256: Digest,
}

/// An answer: an output, an error, an interrupt, or nothing, which is `None` in the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentAnswer {
    /// The number of the request.
    pub number: u32,
    /// The JSON text of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<DocumentText>,
    /// The error in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DocumentText>,
    /// True if the program was interrupted where it waited for the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
}

/// What a part of a program left that ended because the program waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartEnding {
    /// SHA-256 of the canonical JSON of its log.
    pub log_sha256: Digest,
    /// SHA-256 of the JSON of what it displayed.
    pub display_sha256: Digest,
    /// The blobs that it stored, in order.
    pub output_blobs: Vec<BlobId>,
    /// Executed instructions.
    pub fuel: u64,
    /// Size of the memory.
    pub memory_bytes: u64,
    /// The digest of all of memory, and of the files of the workspace; none where the program waited in the middle
    /// of a call.
    pub state_digest: Option<Digest>,
}

/// An answer as the program gets it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToldAnswer<'a> {
    number: u32,
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    output: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    error: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interrupt: bool,
}

/// Reads a value that is there, `null` too.
fn present<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(reader).map(Some)
}

impl DocumentRound {
    /// Notes the answers in this JSON text, which the program gets.
    ///
    /// # Errors
    ///
    /// It is something else.
    pub fn note_answers(&mut self, told: &str) -> serde_json::Result<()> {
        let told: Vec<ToldAnswer<'_>> = serde_json::from_str(told)?;
        let noted = told.into_iter().map(|answer| DocumentAnswer {
            number: answer.number,
            output: answer.output.map(|output| DocumentText::of(output.get())),
            error: answer.error.map(|error| DocumentText::of(&error)),
            interrupt: answer.interrupt,
        });
        self.answers = noted.collect();
        Ok(())
    }

    /// The answers as JSON text, as the program gets them.
    ///
    /// # Errors
    ///
    /// An output is no JSON, or the text of an answer is not there.
    pub fn told(&self) -> Result<String, ProvenanceError> {
        let mut told = Vec::with_capacity(self.answers.len());
        for DocumentAnswer { number, output, error, interrupt } in &self.answers {
            let (number, interrupt) = (*number, *interrupt);
            let output = output.as_ref().map(json_of).transpose()?;
            let error = error.as_ref().map(text_of).transpose()?.map(Cow::Borrowed);
            told.push(ToldAnswer { number, output, error, interrupt });
        }
        serde_json::to_string(&told).map_err(ProvenanceError::Unserialisable)
    }

    /// What a repetition asked in the place of this round, if it was something else: in a sentence.
    #[must_use]
    pub fn difference(&self, asked: &[DocumentRequest]) -> Option<String> {
        let longest = self.asked.len().max(asked.len());
        let at = (0..longest).find(|at| self.asked.get(*at) != asked.get(*at))?;
        Some(match (self.asked.get(at), asked.get(at)) {
            (Some(recorded), Some(now))
                if recorded.number == now.number && recorded.tool == now.tool =>
            {
                let what = if now.tool.is_some() { "other arguments" } else { "another prompt" };
                format!("{} has {what} than the recorded one", now.named())
            }
            (Some(recorded), Some(now)) => format!(
                "{} was not recorded; at this point the record has {}",
                now.named(),
                recorded.named()
            ),
            (None, Some(now)) => format!("{} was not recorded", now.named()),
            (Some(recorded), None) => recorded.missing(),
            (None, None) => return None,
        })
    }
}

impl DocumentRequest {
    /// Says what it is.
    #[must_use]
    pub fn named(&self) -> String {
        match &self.tool {
            Some(tool) => format!("request {} (`{tool}`)", self.number),
            None => format!("request {} (a line of text)", self.number),
        }
    }

    /// The difference of a repetition that did not ask it.
    #[must_use]
    pub fn missing(&self) -> String {
        format!("{} was recorded, and not made", self.named())
    }
}

impl DocumentTools {
    /// Checks what no run leaves.
    pub(crate) fn check(&self) -> Result<(), ProvenanceError> {
        self.declared.as_ref().map_or(Ok(()), check_declared)?;
        ensure(self.rounds.len() <= MAX_ROUNDS, "it has too many rounds")?;
        let (mut known, mut open) = (BTreeSet::new(), BTreeSet::new());
        for DocumentRound { asked, answers, declared } in &self.rounds {
            declared.as_ref().map_or(Ok(()), check_declared)?;
            ensure(asked.len() <= MAX_ROUND && answers.len() <= MAX_ROUND, "a round is too long")?;
            for request in asked {
                let is_named = request.tool.as_deref().is_none_or(is_tool_name);
                ensure(is_named, "a request names a tool that no program can call")?;
                let is_new = known.insert(request.number) && open.insert(request.number);
                ensure(is_new, "two requests have one number")?;
            }
            for answer in answers {
                ensure(open.remove(&answer.number), "an answer has no request")?;
                answer.check()?;
            }
        }
        Ok(())
    }
}

impl DocumentAnswer {
    fn check(&self) -> Result<(), ProvenanceError> {
        let Self { output, error, interrupt, .. } = self;
        let parts = [output.is_some(), error.is_some(), *interrupt];
        let is_one = parts.into_iter().filter(|is_there| *is_there).count() <= 1;
        ensure(is_one, "an answer is several things at once")?;
        for text in [output, error].into_iter().flatten() {
            text.check("answers")?;
        }
        error.as_ref().map(text_of).transpose()?;
        output.as_ref().map(json_of).transpose().map(drop)
    }
}

fn ensure(holds: bool, problem: &str) -> Result<(), ProvenanceError> {
    if holds { Ok(()) } else { Err(ProvenanceError::Malformed(problem.to_owned())) }
}

/// The declarations of tools must be there as a list.
fn check_declared(declared: &DocumentText) -> Result<(), ProvenanceError> {
    declared.check("declared")?;
    let is_list = json_of(declared)?.get().starts_with('[');
    ensure(is_list, "the declarations of its tools are not a list")
}

/// The text of an answer. Longer ones than a document holds are never recorded.
fn text_of(text: &DocumentText) -> Result<&str, ProvenanceError> {
    let missing = || ProvenanceError::Malformed("the text of an answer is missing".to_owned());
    text.text.as_deref().ok_or_else(missing)
}

/// The JSON text of an answer.
fn json_of(text: &DocumentText) -> Result<&RawValue, ProvenanceError> {
    let malformed = |_| ProvenanceError::Malformed("the text of an answer is no JSON".to_owned());
    let whole = text_of(text)?;
    let value: &RawValue = serde_json::from_str(whole).map_err(malformed)?;
    ensure(value.get().len() == whole.len(), "the text of an answer has blanks around it")?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u32, tool: Option<&str>, content: &str) -> DocumentRequest {
        let tool = tool.map(str::to_owned);
        DocumentRequest { number, tool, content_sha256: Digest::of(content.as_bytes()) }
    }

    fn round(asked: Vec<DocumentRequest>, told: &str) -> DocumentRound {
        let mut round = DocumentRound { asked, ..DocumentRound::default() };
        round.note_answers(told).unwrap();
        round
    }

    #[test]
    fn a_repetition_is_told_as_recorded_byte_for_byte() {
        for told in [
            "[]",
            r#"[{"number":4}]"#,
            r#"[{"number":4,"output":null},{"number":2,"output":{"b": 1.50, "a":"\u00e9"}}]"#,
            r#"[{"number":1,"error":"no \"paper\"\n\\"},{"number":7,"interrupt":true}]"#,
        ] {
            let round = round(Vec::new(), told);
            assert_eq!(round.told().unwrap(), told);
            let text = serde_json::to_string(&round).unwrap();
            assert_eq!(serde_json::from_str::<DocumentRound>(&text).unwrap(), round);
        }
        let mut round = DocumentRound::default();
        assert!(round.note_answers("{}").is_err());
    }

    #[test]
    fn a_repetition_that_asks_something_else_has_a_named_difference() {
        let recorded = round(vec![request(3, Some("crm.find"), "{}"), request(4, None, "?")], "[]");
        let difference = |asked: &[DocumentRequest]| recorded.difference(asked);
        assert_eq!(difference(&recorded.asked.clone()), None);
        let first = || request(3, Some("crm.find"), "{}");
        for (asked, words) in [
            (
                vec![request(3, Some("crm.find"), "{\"a\":1}"), request(4, None, "?")],
                "other arguments",
            ),
            (vec![first(), request(4, None, "!")], "another prompt"),
            (vec![request(3, Some("crm.wipe"), "{}")], "(`crm.wipe`) was not recorded"),
            (vec![first()], "was recorded, and not made"),
            (vec![first(), request(4, None, "?"), request(5, Some("x"), "{}")], "request 5"),
        ] {
            let sentence = difference(&asked).unwrap();
            assert!(sentence.contains(words), "{sentence}");
        }
    }

    #[test]
    fn what_no_run_leaves_is_refused() {
        let tools = |rounds: Vec<DocumentRound>| DocumentTools { declared: None, rounds };
        let asked = || vec![request(1, Some("f"), "{}")];
        let told = r#"[{"number":1,"output":7}]"#;
        assert!(tools(vec![round(asked(), told)]).check().is_ok());
        let refused = |tools: &DocumentTools| tools.check().unwrap_err().to_string();
        assert!(refused(&tools(vec![round(Vec::new(), told)])).contains("no request"));
        let twice = tools(vec![round(asked(), told), round(asked(), "[]")]);
        assert!(refused(&twice).contains("one number"));
        let again = tools(vec![round(asked(), told), round(Vec::new(), told)]);
        assert!(refused(&again).contains("no request"));
        let mut changed = round(asked(), told);
        changed.answers[0].output.as_mut().unwrap().text = Some("8".to_owned());
        assert!(refused(&tools(vec![changed])).contains("digest"));
        let mut text = round(asked(), told);
        text.answers[0].output = Some(DocumentText::of("7 8"));
        assert!(refused(&tools(vec![text])).contains("no JSON"));
        let unnamed = round(vec![request(1, Some("a b"), "{}")], "[]");
        assert!(refused(&tools(vec![unnamed])).contains("names a tool"));
        let declared = Some(DocumentText::of("{}"));
        assert!(refused(&DocumentTools { declared, rounds: Vec::new() }).contains("not a list"));
    }
}
