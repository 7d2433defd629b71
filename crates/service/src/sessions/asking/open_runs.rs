//! Calls whose caller hears at once what their program asks, and answers while they go on.
//!
//! A call does not wait longer than its cell: whoever interrupts or ends the cell, or lets it go on, tells it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::timeout;

use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::sessions::asking::cell_call::CellCalls;
use crate::sessions::asking::decision::Decider;
use crate::sessions::asking::open_run::{GivenAnswer, OpenRun, RunAnswersView, Signal};
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedRequest};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{RunId, SessionId, TenantId};

/// The runs of a server whose callers answer while they go on.
#[derive(Debug, Default)]
pub(crate) struct OpenRuns {
    runs: Mutex<HashMap<RunId, Arc<OpenRun>>>,
    /// Those that wait for answers, by the sessions of their cells.
    waiting: Mutex<HashMap<SessionId, Vec<Arc<OpenRun>>>>,
    /// The calls in which cells are running.
    calls: Arc<CellCalls>,
}

/// The end of a wait for answers.
#[derive(Debug)]
pub(crate) enum AnswersAwaited {
    /// Answers.
    Answers(Vec<GivenAnswer>),
    /// The session of the cell was interrupted.
    Interrupt,
    /// The cell has ended, or goes on in another call.
    Over,
    /// The program has asked something else under a number that its caller knows.
    Other,
    /// Nobody has answered for so long.
    Late,
}

/// An open run, as long as its call goes on.
#[derive(Debug)]
pub(crate) struct OpenedRun {
    runs: Arc<OpenRuns>,
    run: Arc<OpenRun>,
}

impl OpenRuns {
    /// Lets the caller of a call that begins answer it, if it hears requests.
    pub(crate) fn open(
        self: &Arc<Self>,
        tenant: &TenantId,
        listener: Option<&LogListener>,
    ) -> Option<OpenedRun> {
        let listener = listener.filter(|listener| listener.hears_requests())?.clone();
        let id = RunId::generate();
        let run = Arc::new(OpenRun::new(tenant.clone(), id.clone(), listener));
        self.runs.lock().insert(id, Arc::clone(&run));
        Some(OpenedRun { runs: Arc::clone(self), run })
    }

    /// Takes answers to requests of a run, all of them or none.
    ///
    /// # Errors
    ///
    /// The tenant has no such run in progress that takes answers. Or an answer is none to a request that was
    /// told, is both output and error, is not a line of text where one is asked for, differs from the one that was
    /// given before, or approves a call that its caller may not approve.
    pub(crate) fn answer(
        &self,
        tenant: &TenantId,
        run: &str,
        answers: Vec<AnswerParam>,
        (memory, decider): (&CallMemory, &Arc<Decider>),
    ) -> Result<RunAnswersView, ServiceError> {
        let id = RunId::parse(run).ok();
        let found = id.and_then(|id| self.runs.lock().get(&id).cloned());
        let found = found.filter(|found| found.is_of(tenant));
        let found = found.ok_or_else(|| ServiceError::NotAsking { id: run.to_owned() })?;
        found.take(answers, (memory, decider))
    }

    /// Tells the caller of a run the requests that it does not know yet, and waits until it has answered some
    /// of them all, the cell is interrupted, or it does not wait any more.
    pub(crate) async fn answers_to(
        &self,
        session: &SessionId,
        run: &Arc<OpenRun>,
        requests: &[AskedRequest],
        longest: Duration,
    ) -> AnswersAwaited {
        // Before the caller hears of it: what it does then finds the call.
        let place = WaitingPlace::of(self, session, run);
        if !run.tell(requests) {
            place.end();
            return AnswersAwaited::Other;
        }
        let given = timeout(longest, run.given_to(requests)).await;
        match (place.end(), given) {
            (Some(Signal::Interrupt), _) => AnswersAwaited::Interrupt,
            (Some(Signal::Over), _) => AnswersAwaited::Over,
            (None, Err(_late)) => AnswersAwaited::Late,
            (None, Ok(given)) => AnswersAwaited::Answers(given),
        }
    }

    /// Waits until the cell of this session is interrupted, or does not wait any more, while the gateway itself calls
    /// tools for it. `None` cannot happen: the wait has no other end.
    pub(crate) async fn signal_to(&self, session: &SessionId, tenant: &TenantId) -> Option<Signal> {
        let run = Arc::new(OpenRun::silent(tenant.clone(), RunId::generate()));
        let place = WaitingPlace::of(self, session, &run);
        run.signalled().await;
        place.end()
    }

    /// Interrupts the calls that wait for answers to a cell of this session. Returns false if there are none.
    pub(crate) fn interrupt(&self, session: &SessionId) -> bool {
        self.signal(session, Signal::Interrupt)
    }

    /// The calls in which cells are running.
    pub(crate) const fn calls(&self) -> &Arc<CellCalls> {
        &self.calls
    }

    /// Tells the calls that wait for answers to a cell of this session that the cell does not wait for them
    /// any more.
    pub(crate) fn note_over(&self, session: &SessionId) {
        self.signal(session, Signal::Over);
    }

    fn signal(&self, session: &SessionId, signal: Signal) -> bool {
        let waiting = self.waiting.lock();
        let Some(runs) = waiting.get(session) else { return false };
        runs.iter().for_each(|run| run.signal(signal));
        true
    }
}

/// The place of a run among those that wait for answers.
struct WaitingPlace<'a> {
    runs: &'a OpenRuns,
    session: &'a SessionId,
    run: &'a Arc<OpenRun>,
}

impl<'a> WaitingPlace<'a> {
    fn of(runs: &'a OpenRuns, session: &'a SessionId, run: &'a Arc<OpenRun>) -> Self {
        run.take_signal();
        // Another call may wait for answers to the same cell.
        runs.waiting.lock().entry(session.clone()).or_default().push(Arc::clone(run));
        Self { runs, session, run }
    }

    /// Ends the wait, and returns why, if others have ended it.
    fn end(self) -> Option<Signal> {
        let run = Arc::clone(self.run);
        drop(self);
        run.take_signal()
    }
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        let mut waiting = self.runs.waiting.lock();
        if let Some(runs) = waiting.get_mut(self.session) {
            runs.retain(|run| !Arc::ptr_eq(run, self.run));
            if runs.is_empty() {
                waiting.remove(self.session);
            }
        }
    }
}

impl OpenedRun {
    pub(crate) fn run(&self) -> Arc<OpenRun> {
        Arc::clone(&self.run)
    }
}

impl Drop for OpenedRun {
    fn drop(&mut self) {
        self.runs.runs.lock().remove(self.run.id());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::caller::Caller;
    use crate::run::execute::log_stream::{Heard, LogStream, log_stream};
    use crate::sessions::asking::called_tools::CalledTools;
    use wardian_formats::job::session::asking::{CallerRequests, MAX_ROUND};
    use wardian_formats::protocol::methods::asking::{AskedKind, ToolDeclaration};
    use wardian_stores::records::ToolCallEnd;
    use wardian_telemetry::traces::TraceScope;
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

    fn local() -> Arc<Decider> {
        Decider::of(&Caller::local("test"))
    }

    fn session() -> SessionId {
        SessionId::of_random(&[1; 16])
    }

    async fn is_late(runs: &OpenRuns, run: &Arc<OpenRun>, requests: &[AskedRequest]) -> bool {
        let soon = Duration::from_millis(5);
        matches!(runs.answers_to(&session(), run, requests, soon).await, AnswersAwaited::Late)
    }

    async fn answers_of(
        runs: &OpenRuns,
        run: &Arc<OpenRun>,
        requests: &[AskedRequest],
    ) -> Vec<AnswerParam> {
        match runs.answers_to(&session(), run, requests, Duration::from_secs(9)).await {
            AnswersAwaited::Answers(given) => given.into_iter().map(|one| one.answer).collect(),
            other => panic!("{other:?}"),
        }
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
        assert_eq!(
            (run.id_of_first_part(), run.id_of_first_part()),
            (Some(run.id().clone()), None)
        );
        let id = run.id().to_string();
        let requests = [asked("c1-r1", AskedKind::Tool), asked("c1-r2", AskedKind::Tool)];
        let give = |given: Value| {
            runs.answer(&TenantId::local(), &id, answers(&given), (&memory, &local()))
        };
        let early = give(json!([{"id": "c1-r1", "output": 1}]));
        assert!(early.is_err(), "nothing is asked yet");
        assert!(is_late(&runs, &run, &requests).await);
        assert_eq!(
            told(&mut logs).await,
            json!({"run_id": id, "id": "c1-r1", "kind": "tool", "name": "f", "arguments": {"a": 1}})
        );
        assert_eq!(told(&mut logs).await["id"], "c1-r2");
        let taken = give(json!([{"id": "c1-r2", "output": 2}])).unwrap();
        assert_eq!((taken.accepted, taken.repeated), (vec!["c1-r2".to_owned()], vec![]));
        let given = answers_of(&runs, &run, &requests).await;
        assert_eq!(given.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["c1-r2"]);
        let again = give(json!([{"id": "c1-r2", "output": 2}])).unwrap();
        assert_eq!((again.accepted, again.repeated), (vec![], vec!["c1-r2".to_owned()]));
        assert!(is_late(&runs, &run, &requests[..1]).await, "it changes nothing");
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
        run.begin_part(1, &CalledTools::of(&declared).unwrap().known, &TraceScope::default());
        for wrong in ["{}", "[1]", &request(2).replace("\"f\"", "\"g\"")] {
            run.announce(wrong);
        }
        run.announce(&request(3));
        run.announce(&request(3));
        assert_eq!(told(&mut logs).await["id"], "c1-r3");
        let given = answers(&json!([{"id": "c1-r3", "output": 1}]));
        runs.answer(&TenantId::local(), run.id().as_str(), given, (&memory, &local())).unwrap();
        let requests = [asked("c1-r3", AskedKind::Tool), asked("c1-r4", AskedKind::Tool)];
        let given = answers_of(&runs, &run, &requests).await;
        assert_eq!(given.len(), 1);
        assert_eq!(told(&mut logs).await["id"], "c1-r4", "told once, and nothing else");
        for number in 5..600 {
            run.announce(&request(number));
        }
        drop((run, opened));
        let mut count = 0;
        while logs.heard().await.is_some() {
            count += 1;
        }
        assert_eq!(count, MAX_ROUND - 1, "those that are open are few");
    }

    fn requests(numbers: &[u32]) -> CallerRequests {
        let tool = |number| json!({"number": number, "tool": {"name": "f", "arguments": {"a": 1}}});
        let all: Vec<Value> = numbers.iter().map(tool).collect();
        CallerRequests::read(Value::from(all).to_string().as_bytes()).unwrap()
    }

    /// A run in a part of a cell that may call `f`, whose output is a number.
    fn in_a_part() -> (Arc<OpenRuns>, OpenedRun, LogStream) {
        let (runs, opened, logs) = opened();
        let declared = json!([{"name": "f", "output_schema": {"type": "integer"}}]).to_string();
        let declared: Vec<ToolDeclaration> = serde_json::from_str(&declared).unwrap();
        let known = CalledTools::of(&declared).unwrap().known;
        opened.run().begin_part(1, &known, &TraceScope::default());
        (runs, opened, logs)
    }

    #[tokio::test]
    async fn an_answer_that_comes_soon_reaches_the_program_within_its_turn() {
        let (runs, opened, mut logs) = in_a_part();
        let (run, memory) = (opened.run(), CallMemory::unlimited());
        let id = run.id().to_string();
        let give = |given: Value| {
            runs.answer(&TenantId::local(), &id, answers(&given), (&memory, &local())).unwrap();
        };
        let soon = run.answers_soon(requests(&[1, 2]));
        let (found, ()) = tokio::join!(soon, async {
            assert_eq!(told(&mut logs).await["id"], "c1-r1");
            assert_eq!(told(&mut logs).await["id"], "c1-r2");
            give(json!([{"id": "c1-r2", "output": 7}]));
        });
        let (text, charged) = found.unwrap();
        assert_eq!((text.as_str(), charged.len()), (r#"[{"number":2,"output":7}]"#, 1));
        // One that has come before is there at once, and one that does not fit is an error.
        give(json!([{"id": "c1-r1", "output": "x"}]));
        let (text, _) = run.answers_soon(requests(&[1])).await.unwrap();
        assert!(text.as_str().contains("something else than it declares"), "{text:?}");
        let ended: Vec<_> = run.ended().into_iter().map(|call| (call.id, call.end)).collect();
        let [two, one] = ["c1-r2", "c1-r1"].map(str::to_owned);
        assert_eq!(ended, [(two, ToolCallEnd::Answered), (one, ToolCallEnd::Refused)]);
        assert_eq!((run.take_ended().len(), run.ended().len()), (2, 0));
    }

    #[tokio::test]
    async fn a_caller_that_is_slow_or_not_alone_is_not_waited_for_in_a_turn() {
        let (runs, opened, mut logs) = in_a_part();
        let (run, memory) = (opened.run(), CallMemory::unlimited());
        let id = run.id().to_string();
        let give = |given: Value| {
            runs.answer(&TenantId::local(), &id, answers(&given), (&memory, &local())).unwrap();
        };
        let mut other = requests(&[1]);
        "g".clone_into(&mut other.all[0].tool.as_mut().unwrap().name);
        assert!(run.answers_soon(other).await.is_none(), "it was not declared");
        assert!(run.answers_soon(requests(&[1])).await.is_none());
        assert_eq!(told(&mut logs).await["id"], "c1-r1");
        tokio::time::sleep(Duration::from_millis(30)).await;
        give(json!([{"id": "c1-r1", "output": 1}]));
        assert!(run.answers_soon(requests(&[1])).await.is_none(), "it was slow");
        let given = answers_of(&runs, &run, &[asked("c1-r1", AskedKind::Tool)]).await;
        assert_eq!(given.len(), 1, "the answer is there for the next part");
        // It is fast again.
        let shown = [asked("c1-r2", AskedKind::Tool)];
        let (given, ()) = tokio::join!(answers_of(&runs, &run, &shown), async {
            told(&mut logs).await;
            give(json!([{"id": "c1-r2", "output": 2}]));
        });
        assert_eq!(given.len(), 1);
        let (found, ()) = tokio::join!(run.answers_soon(requests(&[3])), async {
            told(&mut logs).await;
            give(json!([{"id": "c1-r3", "output": 3}]));
        });
        assert!(found.is_some());
    }

    #[tokio::test]
    async fn answered_once_an_answer_is_for_what_was_told_and_for_nothing_else() {
        let (runs, opened, mut logs) = in_a_part();
        let (run, memory) = (opened.run(), CallMemory::unlimited());
        let id = run.id().to_string();
        run.announce(
            &json!({"number": 1, "tool": {"name": "f", "arguments": {"a": 1}}}).to_string(),
        );
        run.announce(
            &json!({"number": 2, "tool": {"name": "f", "arguments": {"a": 1}}}).to_string(),
        );
        told(&mut logs).await;
        let given = answers(&json!([{"id": "c1-r1", "output": true}]));
        runs.answer(&TenantId::local(), &id, given, (&memory, &local())).unwrap();
        // It is kept for the round that has its request.
        assert!(is_late(&runs, &run, &[asked("c1-r2", AskedKind::Tool)]).await);
        // The program has put something else in the place of what was told.
        let other = [asked("c1-r1", AskedKind::Approval)];
        let awaited = runs.answers_to(&session(), &run, &other, Duration::from_secs(9)).await;
        assert!(matches!(awaited, AnswersAwaited::Other), "{awaited:?}");
        assert!(run.answers_soon(requests(&[1])).await.is_some(), "the answer to the right one");
    }

    #[tokio::test]
    async fn wrong_answers_change_nothing() {
        let (runs, opened, _logs) = opened();
        let (run, memory) = (opened.run(), CallMemory::unlimited());
        let requests = [asked("c1-r1", AskedKind::Tool), asked("c1-r2", AskedKind::Input)];
        assert!(is_late(&runs, &run, &requests).await);
        let (id, good) = (run.id().to_string(), json!({"id": "c1-r1", "output": 1}));
        let give = |tenant: &TenantId, given: &Value| {
            runs.answer(tenant, &id, answers(given), (&memory, &local()))
                .map_err(|error| error.to_string())
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
        assert!(is_late(&runs, &run, &requests).await);
        let twice = give(&TenantId::local(), &json!([good, good])).unwrap();
        assert_eq!((twice.accepted.len(), twice.repeated.len()), (1, 1));
    }

    #[tokio::test]
    async fn the_gateway_hears_of_interrupts_while_it_calls_tools() {
        let (runs, tenant, session) = (OpenRuns::default(), TenantId::local(), session());
        for (signal, interrupts) in [(Signal::Interrupt, true), (Signal::Over, false)] {
            let wait = runs.signal_to(&session, &tenant);
            let (heard, ()) = tokio::join!(wait, async {
                if interrupts {
                    assert!(runs.interrupt(&session));
                } else {
                    runs.note_over(&session);
                }
            });
            assert_eq!(heard, Some(signal));
        }
        let wait = runs.signal_to(&session, &tenant);
        assert!(timeout(Duration::from_millis(5), wait).await.is_err());
        assert!(!runs.interrupt(&session), "it waits no more");
    }

    #[tokio::test]
    async fn a_call_does_not_wait_longer_than_its_cell() {
        let (runs, opened, mut logs) = opened();
        let (run, other) = (opened.run(), SessionId::of_random(&[2; 16]));
        let requests = [asked("c1-r1", AskedKind::Tool)];
        let end = |signal: fn(&OpenRuns)| {
            let (runs, run, requests) = (&runs, &run, &requests);
            async move {
                let session = session();
                let wait = runs.answers_to(&session, run, requests, Duration::from_secs(9));
                let (awaited, ()) = tokio::join!(wait, async { signal(runs) });
                awaited
            }
        };
        assert!(!runs.interrupt(&session()), "nothing waits yet");
        runs.note_over(&session());
        let interrupted = end(|runs| assert!(runs.interrupt(&session()))).await;
        assert!(matches!(interrupted, AnswersAwaited::Interrupt), "{interrupted:?}");
        let over = end(|runs| runs.note_over(&session())).await;
        assert!(matches!(over, AnswersAwaited::Over), "{over:?}");
        assert_eq!(told(&mut logs).await["id"], "c1-r1");
        assert!(!runs.interrupt(&session()), "it waits no more");
        // Nothing of that is left for the next wait, and others do not hear of it.
        let session = session();
        let wait = runs.answers_to(&session, &run, &requests, Duration::from_millis(5));
        let (late, ()) = tokio::join!(wait, async { runs.note_over(&other) });
        assert!(matches!(late, AnswersAwaited::Late), "{late:?}");
        let wait = runs.answers_to(&session, &run, &requests, Duration::from_secs(9));
        assert!(timeout(Duration::from_millis(5), wait).await.is_err());
        assert!(runs.waiting.lock().is_empty());
    }
}
