//! The journal of a reproducible cell: what has decided it so far, and what its parts have left.
//!
//! A cell that waits for answers has several parts. The journal goes from one to the next with what the cell has
//! asked, and becomes a part of the record. One that gets too long is given up, and its cell has no record.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::run::prepare::limits::UNLIMITED;
use crate::run::record::document::DocumentedRun;
use crate::run::result::answered::Answered;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_formats::provenance::session::document::bounded;
use wardian_formats::provenance::{
    CellInputs, DisplayDigest, DocumentRequest, DocumentRound, DocumentText, DocumentTools,
    LogDigest, MAX_ROUNDS, PartEnding,
};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::{ByteCount, Fuel};

/// Most bytes of answers, logs and declarations in a journal.
const MAX_JOURNAL: usize = 2 << 20;

/// Bytes of a round and of a part beside their texts.
const ROUND: usize = 512;

/// What has decided a cell so far, and what its parts have left.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CellJournal {
    /// What decided it when it began, with its tools and the answers since then.
    inputs: CellInputs,
    parts: Vec<PartEnding>,
    /// The run that it is, if that has a document.
    run: Option<Box<DocumentedRun>>,
    /// The digest of the tools that the program was told of last. It is known whatever becomes of the rest: what a
    /// program is told once more changes its state.
    declared: Option<Digest>,
    /// Bytes of its texts.
    bytes: usize,
    /// True if it was given up.
    is_lost: bool,
}

/// Prints no content: it is the program's and its caller's.
impl fmt::Debug for CellJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CellJournal").field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}

impl CellJournal {
    /// The journal of a cell that begins with these inputs, and whose program is told of these tools.
    pub(crate) fn begun(
        inputs: CellInputs,
        declared: Option<&JsonText>,
        run: Option<Box<DocumentedRun>>,
    ) -> Self {
        let (parts, told) = (Vec::new(), declared.map(|text| Digest::of(text.as_str().as_bytes())));
        let mut journal = Self { inputs, parts, run, declared: told, bytes: 0, is_lost: false };
        if let Some(declared) = declared {
            let declared = Some(DocumentText::of(declared.as_str()));
            let is_whole = declared.as_ref().is_some_and(|text| text.text.is_some());
            journal.inputs.tools = Some(DocumentTools { declared, rounds: Vec::new() });
            journal.charge(declared_bytes(&journal.inputs));
            if !is_whole {
                journal.give_up();
            }
        }
        journal
    }

    /// What decided the cell when it began. Its later parts have the same.
    pub(crate) const fn inputs(&self) -> &CellInputs {
        &self.inputs
    }

    /// The limits of a later part, which are those of the first one but for its time.
    pub(crate) fn limits_of_part(&self, limits: RunLimits) -> RunLimits {
        RunLimits {
            fuel: Some(self.inputs.fuel.map_or(UNLIMITED, Fuel)),
            logs: ByteCount::bytes(self.inputs.logs_bytes),
            host_calls: self.inputs.host_calls,
            host_bytes: ByteCount::bytes(self.inputs.host_bytes),
            ..limits
        }
    }

    /// True if the program was told of these tools last.
    pub(crate) fn is_declared(&self, declared: &JsonText) -> bool {
        self.declared == Some(Digest::of(declared.as_str().as_bytes()))
    }

    /// The same for a cell of which nobody will see a record.
    pub(crate) fn unrecorded(mut self) -> Self {
        self.give_up();
        self
    }

    /// Notes a part that has ended with these requests, in the state of this digest.
    pub(crate) fn note_part(
        &mut self,
        Answered { result, logs, unrepeatable, .. }: &Answered,
        requests: &CallerRequests,
        state_digest: Option<Digest>,
    ) {
        if self.is_lost {
            return;
        }
        let log = LogDigest::of(&logs.chunks, logs.dropped, "");
        let (Ok(log), Ok(display)) = (log, DisplayDigest::of(&result.display)) else {
            return self.give_up();
        };
        let part = PartEnding {
            log_sha256: log.sha256,
            display_sha256: display.sha256,
            output_blobs: result.output_blobs.clone(),
            fuel: bounded(result.fuel.unwrap_or_default()),
            memory_bytes: result.memory_peak_bytes,
            state_digest,
        };
        if let Some(run) = &mut self.run {
            run.note_part(result, logs);
        }
        let texts = logs.chunks.iter().filter(|_| self.run.is_some()).map(|chunk| chunk.text.len());
        let logged = texts.fold(0, usize::saturating_add);
        self.parts.push(part);
        let tools = self.inputs.tools.get_or_insert_default();
        let known = tools.rounds.iter().flat_map(|round| &round.asked);
        let known: BTreeSet<u32> = known.map(|request| request.number).collect();
        let new = requests.all.iter().filter(|request| !known.contains(&request.number));
        let asked: Vec<DocumentRequest> = new
            .map(|request| {
                let tool = request.tool.as_ref();
                let line = request.input.as_ref().map_or("", |line| line.prompt.as_str());
                let content = tool.map_or(line, |call| call.arguments.as_str());
                let (number, tool) = (request.number, tool.map(|call| call.name.clone()));
                DocumentRequest { number, tool, content_sha256: Digest::of(content.as_bytes()) }
            })
            .collect();
        let bytes = asked.len().saturating_mul(ROUND).saturating_add(ROUND).saturating_add(logged);
        tools.rounds.push(DocumentRound { asked, ..DocumentRound::default() });
        let is_long = tools.rounds.len() > MAX_ROUNDS;
        self.charge(bytes);
        if is_long || unrepeatable.is_some() {
            self.give_up();
        }
    }

    /// What the cell has asked in its present round.
    pub(crate) fn asked(&self) -> &[DocumentRequest] {
        let round = self.inputs.tools.as_ref().and_then(|tools| tools.rounds.last());
        round.map_or(&[], |round| round.asked.as_slice())
    }

    /// The journal of the cell after it was told of these answers.
    pub(crate) fn answered(mut self, told: &JsonText) -> Self {
        self.charge(told.as_str().len());
        let tools = self.inputs.tools.as_mut().filter(|_| !self.is_lost);
        let round = tools.and_then(|tools| tools.rounds.last_mut());
        if round.is_some_and(|round| !is_noted(round, told.as_str())) {
            self.give_up();
        }
        self
    }

    /// Notes the tools that the program is told of with the answers of its present round.
    pub(crate) fn note_declared(&mut self, declared: &JsonText) {
        self.declared = Some(Digest::of(declared.as_str().as_bytes()));
        self.charge(declared.as_str().len());
        let tools = self.inputs.tools.as_mut().filter(|_| !self.is_lost);
        if let Some(round) = tools.and_then(|tools| tools.rounds.last_mut()) {
            let declared = DocumentText::of(declared.as_str());
            let is_whole = declared.text.is_some();
            round.declared = Some(declared);
            if !is_whole {
                self.give_up();
            }
        }
    }

    /// Inputs and earlier parts of a cell that has ended; `None` if they are not whole.
    pub(crate) fn ended(self) -> Option<(CellInputs, Vec<PartEnding>)> {
        (!self.is_lost).then_some((self.inputs, self.parts))
    }

    /// The run that has ended, with its tools and its earlier parts, if it has a document.
    pub(crate) fn run(&mut self) -> Option<Box<DocumentedRun>> {
        let mut run = self.run.take().filter(|_| !self.is_lost)?;
        run.inputs.tools.clone_from(&self.inputs.tools);
        run.parts.clone_from(&self.parts);
        Some(run)
    }

    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let parts = self.parts.len().saturating_mul(ROUND);
        let run = self.run.as_ref().map_or(0, |run| run.bytes());
        size_of::<Self>().saturating_add(self.bytes).saturating_add(parts).saturating_add(run)
    }

    fn charge(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_JOURNAL {
            self.give_up();
        }
    }

    /// From now on only what the later parts need is kept.
    fn give_up(&mut self) {
        (self.is_lost, self.bytes, self.run, self.inputs.tools) = (true, 0, None, None);
        self.parts.clear();
    }
}

/// Notes answers in a round. Returns false if the document of the cell cannot have them.
fn is_noted(round: &mut DocumentRound, told: &str) -> bool {
    let is_read = round.note_answers(told).is_ok();
    let mut texts = round.answers.iter().flat_map(|one| [&one.output, &one.error]);
    is_read && texts.all(|text| text.as_ref().is_none_or(|one| one.text.is_some()))
}

fn declared_bytes(inputs: &CellInputs) -> usize {
    let declared = inputs.tools.as_ref().and_then(|tools| tools.declared.as_ref());
    declared.and_then(|declared| declared.text.as_ref()).map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::active::StopReason;
    use wardian_formats::job::KeepFiles;
    use wardian_vocabulary::ids::RunId;

    fn inputs() -> CellInputs {
        CellInputs {
            seed: 3,
            reseeds: false,
            keep_files: KeepFiles::All,
            strict_output: false,
            shows_value: false,
            fuel: None,
            logs_bytes: 1,
            host_calls: 2,
            host_bytes: 3,
            tools: None,
        }
    }

    fn part() -> Answered {
        let stopped = Answered::stopped(RunId::generate(), StopReason::Cancelled);
        Answered { unrepeatable: None, ..stopped }
    }

    fn requests(numbers: &[u32]) -> CallerRequests {
        let one = |number: &u32| {
            format!(r#"{{"number":{number},"tool":{{"name":"f","arguments":{{"a":1}}}}}}"#)
        };
        let all: Vec<String> = numbers.iter().map(one).collect();
        CallerRequests::read(format!("[{}]", all.join(",")).as_bytes()).unwrap()
    }

    fn told(text: &str) -> JsonText {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn rounds_have_what_was_asked_anew_and_its_answers() {
        let declared = told(r#"[{"name":"f"}]"#);
        let mut journal = CellJournal::begun(inputs(), Some(&declared), None);
        assert!(journal.is_declared(&declared) && !journal.is_declared(&told("[]")));
        journal.note_part(&part(), &requests(&[1, 2]), None);
        assert_eq!(journal.asked().len(), 2);
        assert_eq!(journal.asked()[0].content_sha256, Digest::of(br#"{"a":1}"#));
        let mut journal = journal.answered(&told(r#"[{"number":2,"output":7}]"#));
        journal.note_declared(&told("[]"));
        assert!(journal.is_declared(&told("[]")));
        assert!(journal.clone().unrecorded().is_declared(&told("[]")), "whatever is kept of it");
        journal.note_part(&part(), &requests(&[1, 3]), Some(Digest::of(b"state")));
        let text = serde_json::to_string(&journal).unwrap();
        assert_eq!(serde_json::from_str::<CellJournal>(&text).unwrap(), journal);
        let (inputs, parts) = journal.ended().unwrap();
        let rounds = inputs.tools.unwrap().rounds;
        let numbers: Vec<Vec<u32>> = rounds
            .iter()
            .map(|round| round.asked.iter().map(|request| request.number).collect())
            .collect();
        assert_eq!((numbers, parts.len()), (vec![vec![1, 2], vec![3]], 2));
        assert_eq!(rounds[0].told().unwrap(), r#"[{"number":2,"output":7}]"#);
    }

    #[test]
    fn a_journal_that_gets_too_long_or_does_not_repeat_is_given_up() {
        let begun = || {
            let mut journal = CellJournal::begun(inputs(), None, None);
            journal.note_part(&part(), &requests(&[1]), None);
            journal
        };
        assert!(begun().ended().is_some());
        let long = told(&format!(r#"["{}"]"#, "x".repeat(1_100_000)));
        assert!(CellJournal::begun(inputs(), Some(&long), None).ended().is_none());
        for length in [1_100_000, 2_100_000] {
            let text = format!(r#"[{{"number":1,"output":"{}"}}]"#, "x".repeat(length));
            let journal = begun().answered(&told(&text));
            assert!(journal.bytes() < 10_000, "{}", journal.bytes());
            assert_eq!(journal.limits_of_part(RunLimits::DEFAULT).host_calls, 2);
            assert!(journal.ended().is_none());
        }
        let mut unstored = begun();
        let unrepeatable = Some(wardian_formats::provenance::Unrepeatable::Storage);
        unstored.note_part(&Answered { unrepeatable, ..part() }, &requests(&[2]), None);
        assert!(unstored.ended().is_none());
    }
}
