//! What a cell has asked so far, so that nothing else can be asked under the same number.
//!
//! The numbers are the program's own. Whoever approves or answers a request by its number must not decide about
//! another one that the program has put in its place.
//!
//! INVARIANT(one-number-one-request): a request that was asked before is the same, and one that was answered does not
//! come again. A cell that breaks this is rolled back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use wardian_formats::job::session::asking::{CallerRequest, CallerRequests, JsonText};
use wardian_vocabulary::ids::Digest;

/// Why a cell is rolled back that breaks the rule.
pub(crate) const TWO_THINGS: &str = "the program has asked two things under one number";

/// The requests of one cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenRequests {
    /// What identifies those that have no answer, by their numbers.
    open: BTreeMap<u32, Digest>,
    /// The numbers of those that were answered, as ranges that ascend: the first and the last of each.
    answered: Vec<(u32, u32)>,
}

/// The number of an answer to a program, as far as it is read here.
#[derive(Deserialize)]
struct AnswerNumber {
    number: u32,
    #[serde(default)]
    interrupt: bool,
}

impl SeenRequests {
    /// The same, after the cell has asked this.
    ///
    /// # Errors
    ///
    /// One of them was asked before as something else, or was answered.
    pub(crate) fn asking(mut self, requests: &CallerRequests) -> Result<Self, String> {
        for request in &requests.all {
            let (number, digest) = (request.number, digest_of(request));
            let was_answered =
                self.answered.iter().any(|(first, last)| (*first..=*last).contains(&number));
            if was_answered
                || self.open.insert(number, digest).is_some_and(|before| before != digest)
            {
                return Err(TWO_THINGS.to_owned());
            }
        }
        Ok(self)
    }

    /// The same, after its program was told these answers. An interrupt is none.
    pub(crate) fn answered(&self, answers: &JsonText) -> Self {
        let told: Vec<AnswerNumber> = serde_json::from_str(answers.as_str()).unwrap_or_default();
        let mut later = self.clone();
        for AnswerNumber { number, interrupt } in told {
            if !interrupt && later.open.remove(&number).is_some() {
                later.answered.push((number, number));
            }
        }
        later.answered = joined(later.answered);
        later
    }

    /// True if nothing was asked.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.answered.is_empty()
    }

    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let open = self.open.len().saturating_mul(size_of::<(u32, Digest)>());
        open.saturating_add(size_of_val(self.answered.as_slice()))
    }
}

/// The same ranges, those that touch as one.
fn joined(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// What identifies a request, beside its number.
fn digest_of(CallerRequest { tool, input, .. }: &CallerRequest) -> Digest {
    let mut pieces = Digest::in_pieces();
    if let Some(tool) = tool {
        for part in ["tool", &tool.name, "\0", tool.arguments.as_str()] {
            pieces.add(part.as_bytes());
        }
    }
    if let Some(line) = input {
        pieces.add(if line.hidden { b"hidden\0" } else { b"line\0" });
        pieces.add(line.prompt.as_bytes());
    }
    pieces.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn requests(all: &[(u32, &str)]) -> CallerRequests {
        let request = |(number, name): &(u32, &str)| json!({"number": number, "tool": {"name": name, "arguments": {"a": 1}}});
        let text = serde_json::Value::from(all.iter().map(request).collect::<Vec<_>>()).to_string();
        CallerRequests::read(text.as_bytes()).unwrap()
    }

    fn told(numbers: &serde_json::Value) -> JsonText {
        serde_json::from_str(&numbers.to_string()).unwrap()
    }

    #[test]
    fn one_number_one_request_whatever_becomes_of_the_others() {
        let seen = SeenRequests::default().asking(&requests(&[(1, "f"), (2, "g")])).unwrap();
        let seen: SeenRequests =
            serde_json::from_str(&serde_json::to_string(&seen).unwrap()).unwrap();
        let seen = seen.answered(&told(&json!([{"number": 2, "output": [{"number": 1}]}])));
        assert!(seen.clone().asking(&requests(&[(1, "f"), (3, "g")])).is_ok());
        for wrong in [[(1, "wipe"), (3, "g")], [(1, "f"), (2, "g")], [(2, "f"), (3, "g")]] {
            assert!(seen.clone().asking(&requests(&wrong)).is_err(), "{wrong:?}");
        }
        // One that was interrupted has no answer, and comes again as it was.
        let interrupted = seen.answered(&told(&json!([{"number": 1, "interrupt": true}])));
        assert!(interrupted.clone().asking(&requests(&[(1, "f")])).is_ok());
        assert!(interrupted.asking(&requests(&[(1, "wipe")])).is_err());
    }

    #[test]
    fn answers_one_after_another_take_no_room() {
        let mut seen = SeenRequests::default();
        for number in (1..=2_000).rev() {
            seen = seen.asking(&requests(&[(number, "f")])).unwrap();
            seen = seen.answered(&told(&json!([{"number": number}])));
        }
        assert_eq!((seen.answered.as_slice(), seen.open.len()), (&[(1, 2_000)][..], 0));
    }
}
