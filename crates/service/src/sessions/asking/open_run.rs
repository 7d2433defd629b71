//! A call whose caller hears at once what its program asks, and answers while it goes on.
//!
//! A request is told as soon as the program has made it, or when it can only go on with answers. Answers reach the
//! program once it waits. For a moment it waits within its turn, on its worker: an answer that comes then costs neither
//! a state nor a part of the cell. A caller that has needed longer is not waited for so.
//!
//! INVARIANT(answered-once): a request is told once and answered once. The same answer may come again, and
//! changes nothing; another one is refused.

use std::collections::{BTreeMap, VecDeque};
use std::mem::take;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use crate::sessions::asking::asked::{self, AskedCell, GivenAnswers};
use crate::sessions::asking::called_tools::KnownTools;
use crate::sessions::asking::decision::{Decider, ensure_changed_fits};
use crate::sessions::asking::server_call::ensure_answers;
use wardian_formats::job::session::asking::{CallerRequest, CallerRequests, JsonText, MAX_ROUND};
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedKind, AskedRequest};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::records::RecordedToolCall;
use wardian_telemetry::traces::{AttributeValue, SpanName, TraceScope};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{Digest, RunId, TenantId};

/// Answered requests of a run that are remembered, so that an answer can be repeated.
const MAX_ANSWERED: usize = 1_024;

/// How long a program waits for answers within its turn. A worker does nothing else meanwhile, and to save the program
/// takes some milliseconds.
const SOON: Duration = Duration::from_millis(25);

/// How long a turn may have taken in which a program still waits so.
const LONGEST_TURN: Duration = Duration::from_secs(10);

/// Most calls of tools that end within one turn: its record names all of them.
const MAX_ENDED: usize = 256;

/// Names the span of a wait for the caller's tools.
const SPAN: SpanName = SpanName::of("tool");

/// The run of a call that goes on.
#[derive(Debug)]
pub(crate) struct OpenRun {
    tenant: TenantId,
    id: RunId,
    /// True once its first part has the id.
    is_begun: AtomicBool,
    /// Hears the requests; `None` if nobody does.
    listener: Option<LogListener>,
    /// The part of its cell that is running.
    part: Mutex<Option<CellPart>>,
    state: Mutex<OpenState>,
    /// Wakes the call when an answer has come.
    answered: Notify,
}

/// A part of a cell, which is a turn of its guest.
#[derive(Debug, Clone)]
struct CellPart {
    /// The number of the cell.
    number: u32,
    /// The tools that the program may call.
    tools: KnownTools,
    trace: TraceScope,
    began: Instant,
}

#[derive(Debug, Default)]
struct OpenState {
    requests: BTreeMap<String, RequestState>,
    /// The ids of those that are answered, the oldest first.
    answered: VecDeque<String>,
    /// Answers that the program does not have yet.
    given: Vec<GivenAnswer>,
    /// Why the call waits no longer for others.
    signal: Option<Signal>,
    /// When the last request was told.
    told: Option<Instant>,
    /// True if the caller has needed longer for its last answers than a program waits within its turn.
    is_slow: bool,
    /// The calls of tools that have ended within the present turn.
    ended: Vec<RecordedToolCall>,
}

/// Why a call does not wait for answers any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The session of its cell was interrupted.
    Interrupt,
    /// Its cell has ended, or goes on in another call.
    Over,
}

/// How far a request is.
#[derive(Debug)]
enum RequestState {
    Open {
        kind: AskedKind,
        /// The name of the tool that it calls, if it does.
        name: Option<String>,
        /// What identifies what was told.
        told: Digest,
    },
    Answered {
        /// What identifies the answer.
        answer: Digest,
        /// What identifies what was told.
        told: Digest,
    },
}

/// An answer, the memory that it is charged to until the program has it, and who has given it.
#[derive(Debug)]
pub(crate) struct GivenAnswer {
    pub(crate) answer: AnswerParam,
    pub(crate) memory: CallMemory,
    pub(crate) decider: Arc<Decider>,
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

impl OpenRun {
    /// A run of this tenant, whose caller hears its requests.
    pub(crate) fn new(tenant: TenantId, id: RunId, listener: LogListener) -> Self {
        Self { listener: Some(listener), ..Self::silent(tenant, id) }
    }

    /// A run whose requests nobody hears, and that waits for signals alone.
    pub(crate) fn silent(tenant: TenantId, id: RunId) -> Self {
        let (is_begun, part, state) = (AtomicBool::default(), Mutex::default(), Mutex::default());
        Self { tenant, id, is_begun, listener: None, part, state, answered: Notify::new() }
    }

    pub(crate) fn is_of(&self, tenant: &TenantId) -> bool {
        self.tenant == *tenant
    }

    pub(crate) const fn id(&self) -> &RunId {
        &self.id
    }

    /// Lets the wait for answers end for this reason, unless there is another one already.
    pub(crate) fn signal(&self, signal: Signal) {
        self.state.lock().signal.get_or_insert(signal);
        self.answered.notify_one();
    }

    /// Returns the reason why the wait has ended, and forgets it.
    pub(crate) fn take_signal(&self) -> Option<Signal> {
        self.state.lock().signal.take()
    }

    /// The id of the run, for its first part alone: the others are runs of their own.
    pub(crate) fn id_of_first_part(&self) -> Option<RunId> {
        (!self.is_begun.swap(true, Ordering::AcqRel)).then(|| self.id.clone())
    }

    /// A part of this cell begins, whose program may call these tools.
    pub(crate) fn begin_part(&self, number: u32, tools: &KnownTools, trace: &TraceScope) {
        let (tools, trace, began) = (tools.clone(), trace.clone(), Instant::now());
        *self.part.lock() = Some(CellPart { number, tools, trace, began });
    }

    /// The calls of tools that have ended within the present turn so far.
    pub(crate) fn ended(&self) -> Vec<RecordedToolCall> {
        self.state.lock().ended.clone()
    }

    /// The same, which are forgotten.
    pub(crate) fn take_ended(&self) -> Vec<RecordedToolCall> {
        take(&mut self.state.lock().ended)
    }

    /// Tells the caller what its program asks, which can only go on with answers, and waits a moment for some. Returns
    /// them with the memory that they are charged to. `None` if none come so soon, or the program asks for what its
    /// caller alone does not decide: the turn has to end with the requests then.
    ///
    /// Cancellation: no answer is lost.
    pub(crate) async fn answers_soon(
        &self,
        requests: CallerRequests,
    ) -> Option<(JsonText, Vec<CallMemory>)> {
        let CellPart { number, tools, trace, began } = self.part.lock().clone()?;
        let (is_slow, ended) = {
            let state = self.state.lock();
            (state.is_slow, state.ended.len())
        };
        if is_slow || began.elapsed() > LONGEST_TURN || ended >= MAX_ENDED {
            return None;
        }
        let asked = AskedCell::of(&requests, &tools).ok().filter(AskedCell::is_for_caller)?;
        let shown = requests.all.into_iter().map(|request| asked::shown(number, request));
        let shown: Vec<AskedRequest> = shown.collect();
        let waits = Instant::now();
        if !self.tell(&shown) {
            return None;
        }
        let given = timeout(SOON, self.given_to(&shown)).await.unwrap_or_default();
        if given.is_empty() {
            return None;
        }
        let kind = ("wardian.tool.kind", AttributeValue::from("caller"));
        trace.record(SPAN, (waits, Instant::now()), &[kind]);
        let (answers, charged) = given.into_iter().map(|one| (one.answer, one.memory)).unzip();
        let mut given = GivenAnswers::some(answers);
        let text = asked.answered(number, &mut given).ok()?;
        self.state.lock().ended.append(&mut given.ended);
        Some((text, charged))
    }

    /// Tells the caller what its program asks while it goes on: text that may come from a hostile guest. What
    /// the caller does not get, or what there is no room for, is left to the end of the turn.
    pub(crate) fn announce(&self, text: &str) {
        let Some(request) = CallerRequest::read(text) else { return };
        let shown = match &*self.part.lock() {
            Some(CellPart { number, tools, .. }) => {
                let called = request.tool.as_ref();
                if called.is_some_and(|call| tools.listed(&call.name).is_some()) {
                    // The gateway answers it.
                    return;
                }
                let fault = called.map(|call| tools.fault_of(call));
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

    /// Waits until the caller has answered some of these requests, or the call is told not to wait.
    pub(crate) async fn given_to(&self, requests: &[AskedRequest]) -> Vec<GivenAnswer> {
        loop {
            let changed = self.answered.notified();
            let given = self.take_given(requests);
            if !given.is_empty() || self.state.lock().signal.is_some() {
                return given;
            }
            changed.await;
        }
    }

    /// Waits until the call is told not to wait.
    pub(crate) async fn signalled(&self) {
        loop {
            let changed = self.answered.notified();
            if self.state.lock().signal.is_some() {
                return;
            }
            changed.await;
        }
    }

    /// Tells the caller the requests that it does not know yet. Returns false if it knows one as something else: an
    /// answer to that would be taken for one to this.
    pub(crate) fn tell(&self, requests: &[AskedRequest]) -> bool {
        let Some(listener) = &self.listener else { return true };
        for request in requests {
            let digest = digest_of_request(request);
            let known = self.state.lock().requests.get(&request.id).map(RequestState::told);
            match known {
                Some(told) if told != digest => return false,
                Some(_same) => continue,
                None => {}
            }
            let told = ToldRequest { run_id: &self.id, request };
            let Ok(text) = serde_json::to_string(&told) else { continue };
            let (kind, name) = (request.kind, request.name.clone());
            let open = RequestState::Open { kind, name, told: digest };
            // Before the caller hears of it: the answer may come at once.
            let mut state = self.state.lock();
            state.requests.insert(request.id.clone(), open);
            state.told = Some(Instant::now());
            drop(state);
            listener.ask(text.into());
        }
        true
    }

    /// Takes the answers to these requests. Those to others stay: the program may wait for them later, in another loop
    /// or beyond the bounds of this round.
    fn take_given(&self, requests: &[AskedRequest]) -> Vec<GivenAnswer> {
        let is_asked = |given: &GivenAnswer| requests.iter().any(|one| one.id == given.answer.id);
        let mut state = self.state.lock();
        let (asked, others) = take(&mut state.given).into_iter().partition(is_asked);
        state.given = others;
        asked
    }

    /// Takes answers, all of them or none.
    pub(crate) fn take(
        &self,
        answers: Vec<AnswerParam>,
        (memory, decider): (&CallMemory, &Arc<Decider>),
    ) -> Result<RunAnswersView, ServiceError> {
        let tools = self.part.lock().as_ref().map(|part| part.tools.clone()).unwrap_or_default();
        let mut state = self.state.lock();
        let mut new: BTreeMap<String, Digest> = BTreeMap::new();
        let mut view =
            RunAnswersView { run_id: self.id.clone(), accepted: Vec::new(), repeated: Vec::new() };
        let mut given = Vec::with_capacity(answers.len());
        for (index, answer) in answers.into_iter().enumerate() {
            let digest = digest_of(&answer);
            let known = new.get(&answer.id).copied();
            let fitting = || state.fitting((index, &answer), &tools, decider);
            let known = known.map_or_else(fitting, |one| Ok(Some(one)))?;
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
                    let (memory, decider) = (memory.clone(), Arc::clone(decider));
                    given.push(GivenAnswer { answer, memory, decider });
                }
            }
        }
        for (id, answer) in new {
            let Some(told) = state.requests.get(&id).map(RequestState::told) else { continue };
            state.requests.insert(id.clone(), RequestState::Answered { answer, told });
            state.answered.push_back(id);
        }
        if !given.is_empty() {
            state.is_slow = state.told.is_some_and(|told| told.elapsed() > SOON);
        }
        state.given.append(&mut given);
        while state.answered.len() > MAX_ANSWERED {
            if let Some(oldest) = state.answered.pop_front() {
                state.requests.remove(&oldest);
                state.given.retain(|given| given.answer.id != oldest);
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
        (index, answer): (usize, &AnswerParam),
        tools: &KnownTools,
        decider: &Decider,
    ) -> Result<Option<Digest>, ServiceError> {
        let id = &answer.id;
        let (kind, name) = match self.requests.get(id) {
            Some(RequestState::Answered { answer, .. }) => return Ok(Some(*answer)),
            Some(RequestState::Open { kind, name, .. }) => (*kind, name.as_deref()),
            None => {
                let expected = "the id of a request of this run";
                let found: String = id.chars().take(40).collect();
                let found = format!("\"{}\"", found.escape_debug());
                let place = format!("answers[{index}].id");
                return Err(ParamsError::wrong(&place, expected, found).into());
            }
        };
        ensure_answers(kind, index, answer)?;
        if let (AskedKind::Approval, Some(name)) = (kind, name) {
            decider.ensure_may_give(answer)?;
            ensure_changed_fits(name, index, answer, tools)?;
        }
        Ok(None)
    }
}

impl RequestState {
    /// What identifies what was told.
    const fn told(&self) -> Digest {
        match self {
            Self::Open { told, .. } | Self::Answered { told, .. } => *told,
        }
    }
}

/// A request as the caller hears of it.
#[derive(Serialize)]
struct ToldRequest<'a> {
    run_id: &'a RunId,
    #[serde(flatten)]
    request: &'a AskedRequest,
}

/// What identifies a request, beside its id.
fn digest_of_request(request: &AskedRequest) -> Digest {
    let AskedRequest { id: _, kind, name, arguments, prompt, hidden } = request;
    let kind: &[u8] = match kind {
        AskedKind::Tool => b"tool",
        AskedKind::Input => b"input",
        AskedKind::Approval => b"approval",
    };
    let arguments = arguments.as_deref().map_or("", |arguments| arguments.get());
    let mut pieces = Digest::in_pieces();
    pieces.add(kind);
    for text in
        [name.as_deref().unwrap_or_default(), arguments, prompt.as_deref().unwrap_or_default()]
    {
        pieces.add(b"\0");
        pieces.add(text.as_bytes());
    }
    pieces.add(if *hidden { b"h" } else { b"-" });
    pieces.finish()
}

fn digest_of(AnswerParam { output, error, .. }: &AnswerParam) -> Digest {
    let mut pieces = Digest::in_pieces();
    let text = output.as_deref().map_or("null", |output| output.get());
    pieces.add(if error.is_some() { b"e" } else { b"o" });
    pieces.add(error.as_deref().unwrap_or(text).as_bytes());
    pieces.finish()
}
