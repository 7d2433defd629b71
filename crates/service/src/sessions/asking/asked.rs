//! What cells ask of their callers: the tools that a call declares, the requests of a cell that waits, and
//! the answers to them.

use std::collections::BTreeSet;
use std::mem::take;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::error::ServiceError;
use crate::run::result::output::in_one_line;
use crate::sessions::asking::called_tools::KnownTools;
use crate::sessions::asking::server_call::{CUT_OFF, ServerCall, ServerReply, ensure_answers};
use crate::sessions::reproducible::journal::CellJournal;
use crate::sessions::turns::seen_requests::SeenRequests;
use wardian_formats::job::session::asking::{CallerRequest, CallerRequests, JsonText};
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedKind, AskedRequest};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::provenance::DocumentRound;
use wardian_sessions::{SessionsError, StoredSession, WaitingCell};
use wardian_stores::records::{RecordedToolCall, ToolCallEnd};
use wardian_vocabulary::ids::{Digest, SessionId};

/// What the program gets of a call that was approved when there was no server any more that it could go to.
const GONE: &str = "the tool is not offered any more";

/// What a cell has asked, as the row of a cell that waits keeps it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AskedCell {
    /// The tools that it may call.
    pub(in crate::sessions) tools: KnownTools,
    pub(super) requests: Vec<AskedItem>,
    /// What has decided it so far, if its session is reproducible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) journal: Option<Box<CellJournal>>,
    /// What it has asked so far.
    #[serde(default, skip_serializing_if = "SeenRequests::is_empty")]
    pub(crate) seen: SeenRequests,
}

/// Answers to what a cell has asked.
#[derive(Debug, Default)]
pub(crate) struct GivenAnswers {
    pub(crate) answers: Vec<AnswerParam>,
    /// True if they have to be answers to all of its requests.
    pub(crate) are_all: bool,
    /// True for an interrupt in their place.
    is_interrupt: bool,
    /// What the tools of the operator's servers have answered.
    pub(super) replies: Vec<ServerReply>,
    /// The calls of tools that have ended with them, once they are checked.
    pub(crate) ended: Vec<RecordedToolCall>,
    /// Those of them that are noted already, since the gateway has made them itself.
    pub(crate) noted: Vec<RecordedToolCall>,
    /// What the guest is told, and the numbers of the requests that it is told of: for one that could not go on at
    /// once.
    told: Option<(Vec<u32>, JsonText)>,
    /// The recorded round in their place, of a cell that is repeated.
    recorded: Option<Box<DocumentRound>>,
}

impl GivenAnswers {
    /// Answers to all requests of a cell.
    pub(crate) fn all(answers: Vec<AnswerParam>) -> Self {
        Self { answers, are_all: true, ..Self::default() }
    }

    /// Answers to some of them.
    pub(crate) fn some(answers: Vec<AnswerParam>) -> Self {
        Self { answers, ..Self::default() }
    }

    /// Answers of tools of the operator's servers.
    pub(crate) fn of_servers(replies: Vec<ServerReply>) -> Self {
        Self { replies, ..Self::default() }
    }

    /// The answers of a recorded round.
    pub(crate) fn recorded(round: DocumentRound) -> Self {
        Self { recorded: Some(Box::new(round)), ..Self::default() }
    }

    /// True if tools of servers were called for them.
    pub(crate) const fn has_called(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Refuses to go on with replies of servers to what the cell has not asked: it has gone on in another call.
    ///
    /// # Errors
    ///
    /// [`SessionsError::AnsweredElsewhere`].
    pub(crate) fn ensure_used(&self, session: &SessionId) -> Result<(), SessionsError> {
        if self.replies.is_empty() {
            return Ok(());
        }
        Err(SessionsError::AnsweredElsewhere { session: session.clone() })
    }

    /// An interrupt in the place of answers.
    pub(crate) fn interrupt() -> Self {
        Self { is_interrupt: true, ..Self::default() }
    }
}

/// One request of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct AskedItem {
    pub(super) number: u32,
    pub(super) kind: AskedKind,
    /// The name of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// What identifies its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Digest>,
    /// Why its caller does not have it: the program gets that with the answers to the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<String>,
    /// The arguments of a call that its caller has to approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proposed: Option<JsonText>,
    /// Who has approved the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approved_by: Option<String>,
}

impl AskedCell {
    /// What a cell has asked that may call these tools.
    ///
    /// # Errors
    ///
    /// Those of [`KnownTools::fault_of`].
    pub(crate) fn of(requests: &CallerRequests, tools: &KnownTools) -> Result<Self, String> {
        let item = |request: &CallerRequest| -> Result<AskedItem, String> {
            let tool = request.tool.as_ref();
            let fault = tool.map(|call| tools.fault_of(call)).transpose()?.flatten();
            let arguments = tool.map(|call| Digest::of(call.arguments.as_str().as_bytes()));
            let approvable =
                tool.filter(|call| fault.is_none() && tools.needs_approval(&call.name));
            let proposed = approvable.map(|call| call.arguments.clone());
            let kind = if proposed.is_some() { AskedKind::Approval } else { kind_of(request) };
            let (number, tool) = (request.number, tool.map(|call| call.name.clone()));
            let approved_by = None;
            Ok(AskedItem { number, kind, tool, arguments, fault, proposed, approved_by })
        };
        let requests: Result<Vec<AskedItem>, String> = requests.all.iter().map(item).collect();
        let (journal, seen) = (None, SeenRequests::default());
        Ok(Self { tools: tools.clone(), requests: requests?, journal, seen })
    }

    /// What a cell has asked that waits, as its row keeps it.
    ///
    /// # Errors
    ///
    /// Another version of the server has written it: the cell waits for nothing that can be answered.
    pub(crate) fn of_row(
        session: &StoredSession,
        waiting: &WaitingCell,
    ) -> Result<Self, ServiceError> {
        serde_json::from_str(&waiting.asked).map_err(|_other_version| {
            SessionsError::NotWaiting { session: session.id.clone() }.into()
        })
    }

    /// Bytes that it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        let texts = self.requests.iter().map(AskedItem::text_bytes).fold(0, usize::saturating_add);
        let items = size_of_val(self.requests.as_slice());
        let journal = self.journal.as_ref().map_or(0, |journal| journal.bytes());
        let all = [self.tools.bytes(), items, texts, journal, self.seen.bytes()];
        all.into_iter().fold(0, usize::saturating_add)
    }

    /// The requests of the cell of this number that its caller answers, as the caller sees them, and those that the
    /// gateway answers itself.
    pub(crate) fn divided(
        &self,
        cell: u32,
        requests: CallerRequests,
    ) -> (Vec<AskedRequest>, Vec<ServerCall>) {
        let refused =
            |number| self.requests.iter().any(|item| item.number == number && item.fault.is_some());
        let open = requests.all.into_iter().filter(|request| !refused(request.number));
        let (mut for_caller, mut for_servers) = (Vec::new(), Vec::new());
        for CallerRequest { number, tool, input } in open {
            let listed = tool.as_ref().and_then(|call| self.tools.listed(&call.name));
            match (tool, listed) {
                (Some(call), Some(listed)) if !self.tools.needs_approval(&call.name) => {
                    let id = id_of(cell, number);
                    let approved_by = None;
                    for_servers.push(ServerCall { number, id, listed, call, approved_by });
                }
                (tool, listed) => {
                    let mut request = shown(cell, CallerRequest { number, tool, input });
                    if listed.is_some() {
                        request.kind = AskedKind::Approval;
                        // Whoever approves it has to see what it is.
                        request.arguments = request.arguments.take().map(visible);
                    }
                    for_caller.push(request);
                }
            }
        }
        (for_caller, for_servers)
    }

    /// True if the gateway answers this request itself.
    pub(super) fn is_for_server(&self, item: &AskedItem) -> bool {
        let is_decided = item.kind != AskedKind::Approval;
        is_decided && item.tool.as_deref().is_some_and(|tool| self.tools.listed(tool).is_some())
    }

    /// What the guest of the cell of this number of a session is told: these answers, or an interrupt in their place.
    ///
    /// # Errors
    ///
    /// Those of [`Self::answered`]. Or the cell has gone on meanwhile, and asks for something else.
    pub(crate) fn told(
        &self,
        (session, cell): (&SessionId, u32),
        given: &mut GivenAnswers,
    ) -> Result<JsonText, ServiceError> {
        let numbers = || self.requests.iter().map(|item| item.number);
        if given.is_interrupt {
            return self.interrupted();
        }
        if let Some(round) = &given.recorded {
            return self.repeated(round);
        }
        if let Some((of, text)) = &given.told {
            let is_same = numbers().eq(of.iter().copied());
            let elsewhere = || SessionsError::AnsweredElsewhere { session: session.clone() };
            return if is_same { Ok(text.clone()) } else { Err(elsewhere().into()) };
        }
        let text = self.answered(cell, given)?;
        given.told = Some((numbers().collect(), text.clone()));
        Ok(text)
    }

    /// The answers for the guest, one to each request of the cell of this number, or to some of them.
    ///
    /// # Errors
    ///
    /// Those of [`Self::matched`].
    pub(super) fn answered(
        &self,
        cell: u32,
        given: &mut GivenAnswers,
    ) -> Result<JsonText, ServiceError> {
        let matched = self.matched(cell, &given.answers, given.are_all)?;
        let mut for_guest = Vec::with_capacity(self.requests.len());
        for (item, answer) in matched.into_iter().zip(take(&mut given.answers)) {
            let AnswerParam { id, output, error } = answer;
            let has_failed = error.is_some();
            let (number, output) = (item.number, output.map(JsonText::new));
            let answer = if item.kind == AskedKind::Approval {
                // Nobody was left who could have made the call.
                GuestAnswer { number, output: None, error: Some(GONE.to_owned()) }
            } else {
                self.checked(item.tool.as_deref(), GuestAnswer { number, output, error })
            };
            given.ended.extend(item.ended(id, &answer, has_failed));
            for_guest.push(answer);
        }
        for_guest.append(&mut self.answered_here(cell, given));
        let text = to_raw_value(&for_guest).map_err(ServiceError::Unserialisable)?;
        Ok(JsonText::new(text))
    }

    /// The requests of the cell of this number that these are answers to.
    ///
    /// # Errors
    ///
    /// An answer to something else, two answers to one request, an answer that is both output and error, no line
    /// of text or no decision, or a request without an answer if all have to have one.
    pub(super) fn matched(
        &self,
        cell: u32,
        answers: &[AnswerParam],
        are_all: bool,
    ) -> Result<Vec<&AskedItem>, ParamsError> {
        let is_of_caller = |item: &&AskedItem| item.fault.is_none() && !self.is_for_server(item);
        let of_caller = self.requests.iter().filter(is_of_caller);
        let mut open: Vec<(String, &AskedItem)> =
            of_caller.map(|item| (id_of(cell, item.number), item)).collect();
        let mut matched = Vec::with_capacity(answers.len());
        let mut seen = BTreeSet::new();
        for (index, answer) in answers.iter().enumerate() {
            let place = format!("answers[{index}].id");
            let Some(at) = open.iter().position(|(known, ..)| *known == answer.id) else {
                let found = shortened(&answer.id);
                if seen.contains(answer.id.as_str()) {
                    return Err(ParamsError::Repeated { parameter: place, item: found });
                }
                let expected = match open.first() {
                    Some((known, ..)) => {
                        format!("the id of a request that waits, such as `{known}`")
                    }
                    None => "left out: all requests have an answer".to_owned(),
                };
                return Err(ParamsError::wrong(&place, expected, found));
            };
            let (_, item) = open.swap_remove(at);
            seen.insert(answer.id.as_str());
            ensure_answers(item.kind, index, answer)?;
            matched.push(item);
        }
        open.sort_unstable_by_key(|(_, item)| item.number);
        if let Some((missing, ..)) = open.first().filter(|_| are_all) {
            let expected = format!("an answer to each request; that to `{missing}` is missing");
            let found = format!("{} answers", matched.len());
            return Err(ParamsError::wrong("answers", expected, found));
        }
        Ok(matched)
    }

    /// The answers that are not the caller's: to calls that do not fit their schemas, and to those of tools of the
    /// operator's servers. Where all have to have one, a call that was cut off is answered with an error, since it
    /// may have been carried out.
    fn answered_here(&self, cell: u32, given: &mut GivenAnswers) -> Vec<GuestAnswer> {
        let mut for_guest = Vec::new();
        for item in &self.requests {
            let AskedItem { number, fault, .. } = item.clone();
            let id = id_of(cell, number);
            if fault.is_some() {
                let answer = GuestAnswer { number, output: None, error: fault };
                given.ended.extend(item.ended(id, &answer, false));
                for_guest.push(answer);
            } else if self.is_for_server(item) {
                let at = given.replies.iter().position(|reply| reply.number == number);
                if let Some(at) = at {
                    let ServerReply { output, error, recorded, .. } = given.replies.swap_remove(at);
                    for_guest.push(GuestAnswer { number, output, error });
                    given.noted.push(recorded);
                } else if given.are_all {
                    let error = Some(CUT_OFF.to_owned());
                    let answer = GuestAnswer { number, output: None, error };
                    given.noted.extend(item.ended(id, &answer, true));
                    for_guest.push(answer);
                }
            }
        }
        for_guest
    }

    /// The answer, or an error in the place of an output that does not fit the schema of its tool.
    fn checked(&self, tool: Option<&str>, answer: GuestAnswer) -> GuestAnswer {
        if answer.error.is_some() {
            return answer;
        }
        match tool.and_then(|tool| self.tools.fault_of_output(tool, answer.output.as_ref())) {
            None => answer,
            error => GuestAnswer { number: answer.number, output: None, error },
        }
    }

    /// An interrupt in the place of the answers: the guest raises it once.
    ///
    /// # Errors
    ///
    /// It cannot be written as JSON.
    pub(crate) fn interrupted(&self) -> Result<JsonText, ServiceError> {
        let interrupts = self
            .requests
            .iter()
            .map(|item| GuestInterrupt { number: item.number, interrupt: true });
        let interrupts: Vec<GuestInterrupt> = interrupts.collect();
        let text = to_raw_value(&interrupts).map_err(ServiceError::Unserialisable)?;
        Ok(JsonText::new(text))
    }
}

impl AskedItem {
    /// Bytes of its texts.
    fn text_bytes(&self) -> usize {
        let texts = [self.tool.as_deref(), self.fault.as_deref(), self.proposed()];
        texts.into_iter().flatten().map(str::len).fold(0, usize::saturating_add)
    }

    fn proposed(&self) -> Option<&str> {
        self.proposed.as_ref().map(JsonText::as_str)
    }

    /// The end of a call of a tool with this answer, which may be the error of its caller.
    fn ended(
        &self,
        id: String,
        answer: &GuestAnswer,
        has_failed: bool,
    ) -> Option<RecordedToolCall> {
        let end = match (&answer.error, has_failed) {
            (None, _) => ToolCallEnd::Answered,
            (Some(_), true) => ToolCallEnd::Failed,
            (Some(_), false) => ToolCallEnd::Refused,
        };
        let null = JsonText::null();
        let output = answer.output.as_ref().unwrap_or(&null).as_str();
        let result = Digest::of(answer.error.as_deref().unwrap_or(output).as_bytes());
        let (tool, arguments) = (self.tool.clone()?, self.arguments?);
        let approved_by = self.approved_by.clone();
        Some(RecordedToolCall { id, tool, arguments, result, end, approved_by, run_id: None })
    }
}

/// An answer as the guest gets it.
#[derive(Serialize)]
struct GuestAnswer {
    number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<JsonText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The interrupt of a request, as the guest gets it.
#[derive(Serialize)]
struct GuestInterrupt {
    number: u32,
    interrupt: bool,
}

/// A request of the cell of this number, as its caller sees it.
pub(crate) fn shown(cell: u32, request: CallerRequest) -> AskedRequest {
    let (id, kind) = (id_of(cell, request.number), kind_of(&request));
    let (name, arguments) = request.tool.map(|tool| (tool.name, one_line(tool.arguments))).unzip();
    let (prompt, hidden) = request.input.map(|line| (line.prompt, line.hidden)).unzip();
    let (arguments, hidden) = (arguments.flatten(), hidden.unwrap_or(false));
    AskedRequest { id, kind, name, arguments, prompt, hidden }
}

/// Arguments without line breaks, which could end an event of the answer.
fn one_line(arguments: JsonText) -> Option<Box<RawValue>> {
    let text = in_one_line(String::from(Box::<str>::from(arguments.into_raw())))?;
    RawValue::from_string(text).ok()
}

/// The same JSON, with escapes in the place of characters that are not seen, or that change how others are seen.
fn visible(arguments: Box<RawValue>) -> Box<RawValue> {
    let is_hidden = |letter: char| {
        matches!(letter, '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
    };
    if !arguments.get().contains(is_hidden) {
        return arguments;
    }
    let mut text = String::with_capacity(arguments.get().len());
    for letter in arguments.get().chars() {
        if is_hidden(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            text.push(letter);
        }
    }
    // Only texts have such characters, so it is JSON still.
    RawValue::from_string(text).unwrap_or(arguments)
}

/// One sentence that says what a cell waits for.
pub(crate) fn summary_of(requests: &[AskedRequest]) -> String {
    let named = requests.iter().filter_map(|request| request.name.as_deref());
    let names: BTreeSet<&str> = named.collect();
    let approvals = requests.iter().filter(|request| request.kind == AskedKind::Approval).count();
    let few: Vec<&str> = names.iter().copied().take(3).collect();
    let more = if names.len() > few.len() { ", ..." } else { "" };
    match (requests.len(), few.is_empty()) {
        (1, false) if approvals == 1 => format!("Waits for the approval of {}.", few.join(", ")),
        (count, false) if approvals == count => {
            format!("Waits for {count} approvals, of {}{more}.", few.join(", "))
        }
        // Nothing of it is for the caller.
        (0, _) => "Waits for its tools.".to_owned(),
        (1, true) => "Waits for a line of text.".to_owned(),
        (count, true) => format!("Waits for {count} lines of text."),
        (1, false) => format!("Waits for an answer of {}.", few.join(", ")),
        (count, false) => format!("Waits for {count} answers, of {}{more}.", few.join(", ")),
    }
}

/// The id of a request.
pub(super) fn id_of(cell: u32, number: u32) -> String {
    format!("c{cell}-r{number}")
}

const fn kind_of(request: &CallerRequest) -> AskedKind {
    if request.tool.is_some() { AskedKind::Tool } else { AskedKind::Input }
}

/// An id as sent, for a message.
fn shortened(id: &str) -> String {
    let short: String = id.chars().take(40).collect();
    format!("\"{}\"", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sessions::asking::called_tools::CalledTools;
    use crate::sessions::asking::server_call::BegunCall;
    use wardian_formats::job::session::asking::MAX_ROUND;
    use wardian_formats::protocol::methods::asking::{MAX_ANSWERS, ToolDeclaration};
    use wardian_tools::{OfferedTool, ToolAnswer};

    fn tools(names: &[&str]) -> KnownTools {
        let schema = json!({"properties": {"a": {"type": "integer"}}});
        let declared = names.iter().map(|name| {
            json!({"name": name, "input_schema": schema,
            "output_schema": {"type": ["null", "integer"]}})
        });
        let declared = serde_json::to_string(&declared.collect::<Vec<_>>()).unwrap();
        let declared: Vec<ToolDeclaration> = serde_json::from_str(&declared).unwrap();
        CalledTools::of(&declared).unwrap().known
    }

    fn requests() -> CallerRequests {
        let text = br#"[{"number":4,"tool":{"name":"f","arguments":{"a":1}}},
            {"number":6,"input":{"prompt":"Name?","hidden":true}}]"#;
        CallerRequests::read(text).unwrap()
    }

    fn asked() -> AskedCell {
        AskedCell::of(&requests(), &tools(&["f"])).unwrap()
    }

    fn answered(answers: &Value) -> Result<String, String> {
        let answers: Vec<AnswerParam> = serde_json::from_str(&answers.to_string()).unwrap();
        let session = SessionId::of_random(&[1; 16]);
        match asked().told((&session, 3), &mut GivenAnswers::all(answers)) {
            Ok(text) => Ok(text.as_str().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn an_approval_shows_characters_that_are_not_seen() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let hidden = visible(raw("{\"a\":\"x\u{202e}gnp\u{e0041}é\"}"));
        assert_eq!(hidden.get(), r#"{"a":"x\u202egnp\udb40\udc41é"}"#);
        assert_eq!(visible(raw(r#"{"a":"é"}"#)).get(), r#"{"a":"é"}"#);
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let text = serde_json::to_string(&asked()).unwrap();
        let digest = Digest::of(br#"{"a":1}"#);
        let call = format!(r#"{{"number":4,"kind":"tool","tool":"f","arguments":"{digest}"}}"#);
        let expected = format!(r#","requests":[{call},{{"number":6,"kind":"input"}}]}}"#);
        let begins = text.starts_with(r#"{"tools":{"f":{"input":{"#);
        assert!(begins && text.ends_with(&expected), "{text}");
        assert_eq!(serde_json::from_str::<AskedCell>(&text).unwrap(), asked());
        assert!((100..2_000).contains(&asked().bytes()), "{}", asked().bytes());
        let undeclared = AskedCell::of(&requests(), &KnownTools::default()).unwrap_err();
        assert!(undeclared.contains("`f`"), "{undeclared}");
    }

    #[test]
    fn an_interrupt_stands_in_the_place_of_all_answers() {
        let expected = r#"[{"number":4,"interrupt":true},{"number":6,"interrupt":true}]"#;
        assert_eq!(asked().interrupted().unwrap().as_str(), expected);
        let session = SessionId::of_random(&[1; 16]);
        let told = asked().told((&session, 3), &mut GivenAnswers::interrupt()).unwrap();
        assert_eq!(told.as_str(), expected);
    }

    #[test]
    fn answers_that_were_told_once_are_for_no_other_requests() {
        let session = SessionId::of_random(&[1; 16]);
        let answers = json!([{"id": "c3-r4", "output": 1}, {"id": "c3-r6", "output": "x"}]);
        let answers: Vec<AnswerParam> = serde_json::from_str(&answers.to_string()).unwrap();
        let mut given = GivenAnswers::all(answers);
        let told = asked().told((&session, 3), &mut given).unwrap();
        assert_eq!(asked().told((&session, 3), &mut given).unwrap(), told, "it had not gone on");
        let mut later = asked();
        later.requests.pop();
        let error = later.told((&session, 3), &mut given).unwrap_err();
        assert!(error.to_string().contains("another call"), "{error}");
    }

    #[test]
    fn callers_see_ids_kinds_and_what_is_asked() {
        let shown = asked().divided(3, requests()).0;
        assert_eq!(summary_of(&shown), "Waits for 2 answers, of f.");
        let expected = json!([
            {"id": "c3-r4", "kind": "tool", "name": "f", "arguments": {"a": 1}},
            {"id": "c3-r6", "kind": "input", "prompt": "Name?", "hidden": true},
        ]);
        assert_eq!(serde_json::to_value(&shown).unwrap(), expected);
        assert_eq!(summary_of(&shown[1..]), "Waits for a line of text.");
        assert_eq!(summary_of(&[]), "Waits for its tools.");
    }

    #[test]
    fn calls_that_do_not_fit_are_not_shown_and_answered_with_the_others() {
        let text = br#"[{"number":4,"tool":{"name":"f","arguments":{"a":"x"}}},
            {"number":6,"tool":{"name":"f","arguments":{"a":1}}}]"#;
        let requests = || CallerRequests::read(text).unwrap();
        let asked = AskedCell::of(&requests(), &tools(&["f"])).unwrap();
        let shown = asked.divided(3, requests()).0;
        assert_eq!(shown.iter().map(|request| request.id.as_str()).collect::<Vec<_>>(), ["c3-r6"]);
        let answer = |output: &str| {
            let answers = format!(r#"[{{"id":"c3-r6","output":{output}}}]"#);
            let answers: Vec<AnswerParam> = serde_json::from_str(&answers).unwrap();
            let mut given = GivenAnswers::all(answers);
            let text = asked.answered(3, &mut given).unwrap().as_str().to_owned();
            let ends: Vec<_> = given.ended.iter().map(|call| (call.id.clone(), call.end)).collect();
            (text, ends)
        };
        let fault = r#"{"number":4,"error":"`arguments.a` must be an integer"}"#;
        let (text, ends) = answer("7");
        assert_eq!(text, format!(r#"[{{"number":6,"output":7}},{fault}]"#));
        let refused = ("c3-r4".to_owned(), ToolCallEnd::Refused);
        assert_eq!(ends, [("c3-r6".to_owned(), ToolCallEnd::Answered), refused]);
        let (text, ends) = answer("\"7\"");
        assert!(text.contains("must be null or an integer"), "{text}");
        assert!(ends.iter().all(|(_, end)| *end == ToolCallEnd::Refused), "{ends:?}");
        let refused: Vec<AnswerParam> = serde_json::from_str(r#"[{"id":"c3-r4"}]"#).unwrap();
        let mut refused = GivenAnswers::all(refused);
        assert!(asked.answered(3, &mut refused).is_err(), "its caller has not seen it");
    }

    /// A cell that has called a tool of a server, one of them with wrong arguments, and one of its caller.
    fn asked_of_server() -> (AskedCell, Vec<AskedRequest>, Vec<ServerCall>) {
        let text = br#"[{"number":1,"tool":{"name":"s.find","arguments":{"a":1}}},
            {"number":2,"tool":{"name":"f","arguments":{"a":1}}},
            {"number":3,"tool":{"name":"s.find","arguments":{"a":"x"}}}]"#;
        let requests = || CallerRequests::read(text).unwrap();
        let schema = json!({"properties": {"a": {"type": "integer"}}}).to_string();
        let offered = OfferedTool {
            name: "s.find".to_owned(),
            description: String::new(),
            input_schema: RawValue::from_string(schema).unwrap(),
            output_schema: None,
            needs_approval: false,
            digest: Digest::of(b"find"),
        };
        let declared: Vec<ToolDeclaration> = serde_json::from_str(r#"[{"name":"f"}]"#).unwrap();
        let tools = CalledTools::with_offered(&declared, vec![offered], None).unwrap().known;
        let asked = AskedCell::of(&requests(), &tools).unwrap();
        let (for_caller, for_servers) = asked.divided(3, requests());
        (asked, for_caller, for_servers)
    }

    #[test]
    fn calls_of_servers_are_not_the_callers_to_answer() {
        let (asked, for_caller, for_servers) = asked_of_server();
        let ids: Vec<_> = for_caller.iter().map(|request| request.id.as_str()).collect();
        assert_eq!((ids.as_slice(), for_servers.len()), (&["c3-r2"][..], 1));
        let call = &for_servers[0];
        assert_eq!((call.id.as_str(), call.listed), ("c3-r1", Digest::of(b"find")));
        let given = |text: &str| serde_json::from_str::<Vec<AnswerParam>>(text).unwrap();
        let forged = given(r#"[{"id":"c3-r1","output":1},{"id":"c3-r2"}]"#);
        assert!(asked.answered(3, &mut GivenAnswers::all(forged)).is_err());
        let value: JsonText = serde_json::from_str("[7]").unwrap();
        let answer = ToolAnswer { value: value.into_raw(), is_error: false };
        let reply = ServerReply::of(&BegunCall::of(call), Ok(answer));
        let mut replies = GivenAnswers::of_servers(vec![reply]);
        let text = asked.answered(3, &mut replies).unwrap();
        let fault = r#"{"number":3,"error":"`arguments.a` must be an integer"}"#;
        assert_eq!(text.as_str(), format!(r#"[{{"number":1,"output":[7]}},{fault}]"#));
        let ends = |calls: &[RecordedToolCall]| {
            calls.iter().map(|call| (call.id.clone(), call.end)).collect::<Vec<_>>()
        };
        assert_eq!(ends(&replies.noted), [("c3-r1".to_owned(), ToolCallEnd::Answered)]);
        assert_eq!(ends(&replies.ended), [("c3-r3".to_owned(), ToolCallEnd::Refused)]);
        // The call in which it was made has ended before its answer.
        let mut late = GivenAnswers::all(given(r#"[{"id":"c3-r2","output":1}]"#));
        let text = asked.answered(3, &mut late).unwrap();
        assert!(text.as_str().contains(r#"{"number":1,"error":"the call was cut off"#), "{text:?}");
        assert_eq!(ends(&late.noted), [("c3-r1".to_owned(), ToolCallEnd::Failed)]);
        assert_eq!(late.ended.len(), 2);
    }

    #[test]
    fn a_call_has_place_for_all_answers() {
        assert_eq!(MAX_ANSWERS, MAX_ROUND);
    }

    #[test]
    fn some_requests_can_be_answered_before_the_others() {
        let answers = serde_json::from_str(r#"[{"id": "c3-r6", "output": "Ada"}]"#).unwrap();
        let mut some = GivenAnswers::some(answers);
        let text = asked().answered(3, &mut some).unwrap();
        assert!(some.ended.is_empty(), "a line of text is no call");
        assert_eq!(text.as_str(), r#"[{"number":6,"output":"Ada"}]"#);
    }

    #[test]
    fn each_request_is_answered_once_in_any_order() {
        let answers = json!([{"id": "c3-r6", "output": "Ada"}, {"id": "c3-r4", "error": "no"}]);
        let expected = r#"[{"number":6,"output":"Ada"},{"number":4,"error":"no"}]"#;
        assert_eq!(answered(&answers), Ok(expected.to_owned()));
        let nothing = json!([{"id": "c3-r4", "output": null}, {"id": "c3-r6", "error": "no"}]);
        assert_eq!(
            answered(&nothing),
            Ok(r#"[{"number":4},{"number":6,"error":"no"}]"#.to_owned())
        );
        let (first, line) = (json!({"id": "c3-r4"}), json!({"id": "c3-r6", "output": ""}));
        for (answers, parameter, words) in [
            (json!([]), "answers", "`c3-r4` is missing"),
            (json!([first]), "answers", "`c3-r6` is missing"),
            (json!([first, first]), "answers[1].id", "repeats"),
            (json!([first, line, line]), "answers[2].id", "repeats"),
            (json!([{"id": "c2-r4"}]), "answers[0].id", "such as `c3-r4`"),
            (json!([first, line, {"id": "c3-r9"}]), "answers[2].id", "all requests have an answer"),
            (json!([{"id": "c3-r4", "output": 1, "error": ""}]), "answers[0]", "both"),
            (json!([{"id": "c3-r6", "output": 1}]), "answers[0].output", "a string"),
        ] {
            let message = answered(&answers).unwrap_err();
            assert!(message.contains(parameter) && message.contains(words), "{message}");
        }
    }
}
