//! Calls whose caller hears at once what their program asks, and answers while they go on.
//!
//! A request is told as soon as the program has made it, or with the end of the turn in which it waits. Answers
//! reach the program once it waits.
//!
//! INVARIANT(answered-once): a request is told once and answered once. The same answer may come again, and
//! changes nothing; another one is refused.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::sessions::asking::asked;
use crate::sessions::asking::called_tools::KnownTools;
use wardian_formats::job::session::asking::{CallerRequest, MAX_ROUND};
use wardian_formats::protocol::members::Sort;
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedKind, AskedRequest};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{Digest, RunId, TenantId};

/// Answered requests of a run that are remembered, so that an answer can be repeated.
const MAX_ANSWERED: usize = 1_024;

/// The runs of a server whose callers answer while they go on.
#[derive(Debug, Default)]
pub(crate) struct OpenRuns(Mutex<HashMap<RunId, Arc<OpenRun>>>);

/// The run of a call that goes on.
#[derive(Debug)]
pub(crate) struct OpenRun {
    tenant: TenantId,
    id: RunId,
    /// True once its first part has the id.
    is_begun: AtomicBool,
    listener: LogListener,
    /// The number of its cell, and the tools that the program may call.
    cell: Mutex<Option<(u32, KnownTools)>>,
    state: Mutex<OpenState>,
    /// Wakes the call when an answer has come.
    answered: Notify,
}

#[derive(Debug, Default)]
struct OpenState {
    requests: BTreeMap<String, RequestState>,
    /// The ids of those that are answered, the oldest first.
    answered: VecDeque<String>,
    /// Answers that the program does not have yet.
    given: Vec<GivenAnswer>,
}

/// How far a request is.
#[derive(Debug)]
enum RequestState {
    Open(AskedKind),
    /// Its answer has this digest.
    Answered(Digest),
}

/// An answer, and the memory that it is charged to until the program has it.
#[derive(Debug)]
struct GivenAnswer {
    answer: AnswerParam,
    memory: CallMemory,
}

/// An open run, as long as its call goes on.
#[derive(Debug)]
pub(crate) struct OpenedRun {
    runs: Arc<OpenRuns>,
    run: Arc<OpenRun>,
}

/// What became of answers to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunAnswersView {
    /// The run.
    pub run_id: RunId,
    /// The requests that are answered now.
    pub accepted: Vec<String>,
    /// Those that had this answer before.
    pub repeated: Vec<String>,
}

impl OpenRuns {
    /// Lets the caller of a call that begins answer it, if it hears requests.
    pub(crate) fn open(
        self: &Arc<Self>,
        tenant: &TenantId,
        listener: Option<&LogListener>,
    ) -> Option<OpenedRun> {
        let listener = listener.filter(|listener| listener.hears_requests())?.clone();
        let (tenant, id) = (tenant.clone(), RunId::generate());
        let (is_begun, cell, state) = (AtomicBool::default(), Mutex::default(), Mutex::default());
        let answered = Notify::new();
        let run = OpenRun { tenant, id: id.clone(), is_begun, listener, cell, state, answered };
        let run = Arc::new(run);
        self.0.lock().insert(id, Arc::clone(&run));
        Some(OpenedRun { runs: Arc::clone(self), run })
    }

    /// Takes answers to requests of a run, all of them or none.
    ///
    /// # Errors
    ///
    /// The tenant has no such run in progress that takes answers. Or an answer is none to a request that was
    /// told, is both output and error, is no line of text, or differs from the one that was given before.
    pub(crate) fn answer(
        &self,
        tenant: &TenantId,
        run: &str,
        answers: Vec<AnswerParam>,
        memory: &CallMemory,
    ) -> Result<RunAnswersView, ServiceError> {
        let id = RunId::parse(run).ok();
        let found = id.and_then(|id| self.0.lock().get(&id).cloned());
        let found = found.filter(|found| found.tenant == *tenant);
        let found = found.ok_or_else(|| ServiceError::NotAsking { id: run.to_owned() })?;
        found.take(answers, memory)
    }
}

impl OpenedRun {
    pub(crate) fn run(&self) -> Arc<OpenRun> {
        Arc::clone(&self.run)
    }
}

impl Drop for OpenedRun {
    fn drop(&mut self) {
        self.runs.0.lock().remove(&self.run.id);
    }
}

impl OpenRun {
    /// The id of the run, for its first part alone: the others are runs of their own.
    pub(crate) fn id_of_first_part(&self) -> Option<RunId> {
        (!self.is_begun.swap(true, Ordering::AcqRel)).then(|| self.id.clone())
    }

    /// A part of this cell begins, whose program may call these tools.
    pub(crate) fn begin_part(&self, number: u32, tools: &KnownTools) {
        *self.cell.lock() = Some((number, tools.clone()));
    }

    /// Tells the caller what its program asks while it goes on: text that may come from a hostile guest. What
    /// the caller does not get, or what there is no room for, is left to the end of the turn.
    pub(crate) fn announce(&self, text: &str) {
        let Some(request) = CallerRequest::read(text) else { return };
        let shown = match &*self.cell.lock() {
            Some((number, tools)) => {
                let fault = request.tool.as_ref().map(|call| tools.fault_of(call));
                if !matches!(fault, None | Some(Ok(None))) {
                    return;
                }
                asked::shown(*number, request)
            }
            None => return,
        };
        let state = self.state.lock();
        if state.requests.len().saturating_sub(state.answered.len()) < MAX_ROUND {
            drop(state);
            self.tell(&[shown]);
        }
    }

    /// Tells the caller the requests that it does not know yet, and waits until it has answered some of
    /// them all. Returns the answers, with the memory that they are charged to. `None` if nobody answers
    /// for so long.
    pub(crate) async fn answers_to(
        &self,
        requests: &[AskedRequest],
        longest: Duration,
    ) -> Option<(Vec<AnswerParam>, Vec<CallMemory>)> {
        self.tell(requests);
        let waiting = async {
            loop {
                let changed = self.answered.notified();
                let given = self.take_given(requests);
                if !given.is_empty() {
                    return given;
                }
                changed.await;
            }
        };
        let given = timeout(longest, waiting).await.ok()?;
        Some(given.into_iter().map(|given| (given.answer, given.memory)).unzip())
    }

    fn tell(&self, requests: &[AskedRequest]) {
        for request in requests {
            let known = self.state.lock().requests.contains_key(&request.id);
            let told = ToldRequest { run_id: &self.id, request };
            if known {
                continue;
            }
            let Ok(text) = serde_json::to_string(&told) else { continue };
            let open = RequestState::Open(request.kind);
            // Before the caller hears of it: the answer may come at once.
            self.state.lock().requests.insert(request.id.clone(), open);
            self.listener.ask(text.into());
        }
    }

    /// Takes the answers to these requests. Those to others are forgotten: the program does not wait for
    /// them any more.
    fn take_given(&self, requests: &[AskedRequest]) -> Vec<GivenAnswer> {
        let given = std::mem::take(&mut self.state.lock().given);
        let is_asked = |given: &GivenAnswer| requests.iter().any(|one| one.id == given.answer.id);
        given.into_iter().filter(is_asked).collect()
    }

    fn take(
        &self,
        answers: Vec<AnswerParam>,
        memory: &CallMemory,
    ) -> Result<RunAnswersView, ServiceError> {
        let mut state = self.state.lock();
        let mut new: BTreeMap<String, Digest> = BTreeMap::new();
        let mut view =
            RunAnswersView { run_id: self.id.clone(), accepted: Vec::new(), repeated: Vec::new() };
        let mut given = Vec::with_capacity(answers.len());
        for (index, answer) in answers.into_iter().enumerate() {
            let digest = digest_of(&answer);
            let known = new.get(&answer.id).copied();
            let known = known.map_or_else(|| state.fitting(index, &answer), |one| Ok(Some(one)))?;
            match known {
                Some(before) if before == digest => view.repeated.push(answer.id),
                Some(_other) => {
                    let expected = "the answer that this request has: it is answered once";
                    let place = format!("answers[{index}]");
                    return Err(ParamsError::wrong(&place, expected, "another answer").into());
                }
                None => {
                    new.insert(answer.id.clone(), digest);
                    view.accepted.push(answer.id.clone());
                    given.push(GivenAnswer { answer, memory: memory.clone() });
                }
            }
        }
        for (id, digest) in new {
            state.requests.insert(id.clone(), RequestState::Answered(digest));
            state.answered.push_back(id);
        }
        state.given.append(&mut given);
        while state.answered.len() > MAX_ANSWERED {
            if let Some(oldest) = state.answered.pop_front() {
                state.requests.remove(&oldest);
            }
        }
        drop(state);
        self.answered.notify_one();
        Ok(view)
    }
}

impl OpenState {
    /// The digest of the answer that a request has. `None` if it is open and this is an answer to it.
    fn fitting(
        &self,
        index: usize,
        AnswerParam { id, output, error }: &AnswerParam,
    ) -> Result<Option<Digest>, ParamsError> {
        let place = |member: &str| format!("answers[{index}]{member}");
        let kind = match self.requests.get(id) {
            Some(RequestState::Answered(digest)) => return Ok(Some(*digest)),
            Some(RequestState::Open(kind)) => *kind,
            None => {
                let expected = "the id of a request of this run";
                let found: String = id.chars().take(40).collect();
                let found = format!("\"{}\"", found.escape_debug());
                return Err(ParamsError::wrong(&place(".id"), expected, found));
            }
        };
        if output.is_some() && error.is_some() {
            return Err(ParamsError::wrong(&place(""), "an `output` or an `error`", "both"));
        }
        let is_text = output.as_deref().is_none_or(|output| Sort::of(output) == Sort::Text);
        if kind == AskedKind::Input && !is_text {
            let expected = "a string: the request is for a line of text";
            return Err(ParamsError::wrong(&place(".output"), expected, "other JSON"));
        }
        Ok(None)
    }
}

/// A request as the caller hears of it.
#[derive(Serialize)]
struct ToldRequest<'a> {
    run_id: &'a RunId,
    #[serde(flatten)]
    request: &'a AskedRequest,
}

fn digest_of(AnswerParam { output, error, .. }: &AnswerParam) -> Digest {
    let mut pieces = Digest::in_pieces();
    let text = output.as_deref().map_or("null", |output| output.get());
    pieces.add(if error.is_some() { b"e" } else { b"o" });
    pieces.add(error.as_deref().unwrap_or(text).as_bytes());
    pieces.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::run::execute::log_stream::{Heard, LogStream, log_stream};
    use crate::sessions::asking::called_tools::CalledTools;
    use wardian_formats::protocol::methods::asking::ToolDeclaration;
    use wardian_vocabulary::units::ByteCount;

    fn asked(id: &str, kind: AskedKind) -> AskedRequest {
        let arguments = serde_json::value::RawValue::from_string("{\"a\":1}".to_owned()).ok();
        let (name, prompt) = (Some("f".to_owned()), None);
        AskedRequest { id: id.to_owned(), kind, name, arguments, prompt, hidden: false }
    }

    fn answers(answers: &Value) -> Vec<AnswerParam> {
        serde_json::from_str(&answers.to_string()).unwrap()
    }

    fn opened() -> (Arc<OpenRuns>, OpenedRun, LogStream) {
        let (listener, logs) = log_stream(ByteCount::kibibytes(1));
        let runs = Arc::new(OpenRuns::default());
        assert!(runs.open(&TenantId::local(), Some(&listener)).is_none(), "it hears no requests");
        let opened = runs.open(&TenantId::local(), Some(&listener.answering())).unwrap();
        (runs, opened, logs)
    }

    async fn told(logs: &mut LogStream) -> Value {
        match logs.heard().await {
            Some(Heard::Asked(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn answered_once_each_request_is_told_once_and_answered_once() {
        let (runs, opened, mut logs) = opened();
        let (run, memory) = (opened.run(), CallMemory::unlimited());
        assert_eq!((run.id_of_first_part(), run.id_of_first_part()), (Some(run.id.clone()), None));
        let id = run.id.to_string();
        let requests = [asked("c1-r1", AskedKind::Tool), asked("c1-r2", AskedKind::Tool)];
        let give = |given: Value| runs.answer(&TenantId::local(), &id, answers(&given), &memory);
        let early = give(json!([{"id": "c1-r1", "output": 1}]));
        assert!(early.is_err(), "nothing is asked yet");
        let soon = Duration::from_millis(10);
        assert!(run.answers_to(&requests, soon).await.is_none());
        assert_eq!(
            told(&mut logs).await,
            json!({"run_id": id, "id": "c1-r1", "kind": "tool", "name": "f", "arguments": {"a": 1}})
        );
        assert_eq!(told(&mut logs).await["id"], "c1-r2");
        let taken = give(json!([{"id": "c1-r2", "output": 2}])).unwrap();
        assert_eq!((taken.accepted, taken.repeated), (vec!["c1-r2".to_owned()], vec![]));
        let (given, _charged) = run.answers_to(&requests, soon).await.unwrap();
        assert_eq!(given.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["c1-r2"]);
        let again = give(json!([{"id": "c1-r2", "output": 2}])).unwrap();
        assert_eq!((again.accepted, again.repeated), (vec![], vec!["c1-r2".to_owned()]));
        assert!(run.answers_to(&requests[..1], soon).await.is_none(), "it changes nothing");
        let other = give(json!([{"id": "c1-r2", "output": 3}])).unwrap_err().to_string();
        assert!(other.contains("`answers[0]`") && other.contains("answered once"), "{other}");
        drop(opened);
        assert!(give(json!([{"id": "c1-r1"}])).is_err(), "the call has ended");
    }

    #[tokio::test]
    async fn a_request_can_be_told_and_answered_before_the_program_waits() {
        let (runs, opened, mut logs) = opened();
        let (run, memory) = (opened.run(), CallMemory::unlimited());
        let request = |number| {
            json!({"number": number, "tool": {"name": "f", "arguments": {"a": 1}}}).to_string()
        };
        run.announce(&request(1));
        let declared: Vec<ToolDeclaration> = serde_json::from_str(r#"[{"name": "f"}]"#).unwrap();
        run.begin_part(1, &CalledTools::of(&declared).unwrap().known);
        for wrong in ["{}", "[1]", &request(2).replace("\"f\"", "\"g\"")] {
            run.announce(wrong);
        }
        run.announce(&request(3));
        run.announce(&request(3));
        assert_eq!(told(&mut logs).await["id"], "c1-r3");
        let given = answers(&json!([{"id": "c1-r3", "output": 1}]));
        runs.answer(&TenantId::local(), run.id.as_str(), given, &memory).unwrap();
        let requests = [asked("c1-r3", AskedKind::Tool), asked("c1-r4", AskedKind::Tool)];
        let (given, _charged) = run.answers_to(&requests, Duration::from_secs(9)).await.unwrap();
        assert_eq!(given.len(), 1);
        assert_eq!(told(&mut logs).await["id"], "c1-r4", "told once, and nothing else");
        for number in 5..600 {
            run.announce(&request(number));
        }
        assert_eq!(run.state.lock().requests.len(), MAX_ROUND + 1, "those that are open are few");
    }

    #[tokio::test]
    async fn wrong_answers_change_nothing() {
        let (runs, opened, _logs) = opened();
        let (run, memory) = (opened.run(), CallMemory::unlimited());
        let requests = [asked("c1-r1", AskedKind::Tool), asked("c1-r2", AskedKind::Input)];
        let soon = Duration::from_millis(1);
        assert!(run.answers_to(&requests, soon).await.is_none());
        let (id, good) = (run.id.to_string(), json!({"id": "c1-r1", "output": 1}));
        let give = |tenant: &TenantId, given: &Value| {
            runs.answer(tenant, &id, answers(given), &memory).map_err(|error| error.to_string())
        };
        for (wrong, words) in [
            (json!({"id": "c1-r3"}), "answers[1].id"),
            (json!({"id": "c1-r2", "output": 1}), "a string"),
            (json!({"id": "c1-r2", "output": "a", "error": "b"}), "both"),
            (json!({"id": "c1-r1", "output": 2}), "answered once"),
        ] {
            let refused = give(&TenantId::local(), &json!([good, wrong])).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        let foreign = TenantId::parse("other").unwrap();
        assert!(give(&foreign, &json!([good])).unwrap_err().contains(&id));
        assert!(run.answers_to(&requests, soon).await.is_none());
        let twice = give(&TenantId::local(), &json!([good, good])).unwrap();
        assert_eq!((twice.accepted.len(), twice.repeated.len()), (1, 1));
    }
}
