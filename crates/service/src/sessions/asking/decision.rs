//! What a caller decides about a call that needs its approval.

use std::collections::BTreeMap;
use std::mem::take;
use std::net::IpAddr;
use std::sync::Arc;

use crate::authorisation::ensure_among;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::asking::asked::{AskedCell, AskedItem, id_of};
use crate::sessions::asking::called_tools::KnownTools;
use crate::sessions::asking::server_call::{Decision, ServerCall};
use crate::sessions::turns::seen_requests::SeenRequests;
use wardian_formats::job::session::asking::{CallerRequests, JsonText, ToolRequest};
use wardian_formats::protocol::members::Sort;
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedKind};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::tenants::{Right, Rights};
use wardian_vocabulary::ids::Digest;

/// What the program gets of a call that its caller has not approved.
const NOT_APPROVED: &str = "the call was not approved";

/// Who has approved a call where callers need no credentials.
const ANONYMOUS: &str = "anonymous";

/// Who has given an answer, and may have decided with it.
#[derive(Debug)]
pub(crate) struct Decider {
    /// The name of its credential.
    pub(crate) key: Option<String>,
    /// The address of its client.
    pub(crate) address: Option<IpAddr>,
    /// Names its request in the server's log.
    pub(crate) request_id: String,
    rights: Rights,
}

/// Who has given the answers to a cell.
#[derive(Debug)]
pub(crate) struct Deciders {
    /// The caller of the call that goes on.
    own: Arc<Decider>,
    /// Those that have given single answers to it, by the ids of the requests.
    others: BTreeMap<String, Arc<Decider>>,
}

impl Decider {
    /// This caller.
    pub(crate) fn of(caller: &Caller) -> Arc<Self> {
        let Caller { credential, address, request_id, rights, .. } = caller;
        let key = credential.as_ref().map(|credential| credential.name().to_owned());
        let (address, request_id, rights) = (*address, request_id.clone(), *rights);
        Arc::new(Self { key, address, request_id, rights })
    }

    /// Its name in records.
    fn name(&self) -> &str {
        self.key.as_deref().unwrap_or(ANONYMOUS)
    }

    /// Refuses a decision that lets a call be made, by whom may not approve it. Anybody may say no.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Forbidden`].
    pub(super) fn ensure_may_give(&self, answer: &AnswerParam) -> Result<(), ServiceError> {
        match decision_of(answer) {
            Some(Decision::Yes | Decision::Changed(_)) => ensure_among(self.rights, Right::Approve),
            Some(Decision::No) | None => Ok(()),
        }
    }
}

impl Deciders {
    /// All answers are those of this caller, but for those to requests that others have answered.
    pub(crate) fn of(caller: &Caller, others: BTreeMap<String, Arc<Decider>>) -> Self {
        Self { own: Decider::of(caller), others }
    }

    fn by(&self, id: &str) -> &Arc<Decider> {
        self.others.get(id).unwrap_or(&self.own)
    }
}

/// The decision that an answer is; `None` for an error, and for anything else.
fn decision_of(AnswerParam { output, error, .. }: &AnswerParam) -> Option<Decision> {
    Decision::of(output.as_deref()).filter(|_| error.is_none())
}

/// Refuses an approval with changed arguments that do not fit the tool.
///
/// # Errors
///
/// What is wrong with them.
pub(super) fn ensure_changed_fits(
    name: &str,
    index: usize,
    answer: &AnswerParam,
    known: &KnownTools,
) -> Result<(), ParamsError> {
    let Some(Decision::Changed(arguments)) = decision_of(answer) else { return Ok(()) };
    let place = format!("answers[{index}].output.arguments");
    if Sort::of(&arguments) != Sort::Object {
        return Err(ParamsError::wrong(&place, "an object", "other JSON"));
    }
    let call = ToolRequest { name: name.to_owned(), arguments: JsonText::new(arguments) };
    match known.fault_of(&call).unwrap_or_else(Some) {
        None => Ok(()),
        Some(fault) => Err(ParamsError::wrong(&place, "arguments that fit the tool", fault)),
    }
}

/// The cell of this number, after its caller has decided about some of its calls.
#[derive(Debug)]
pub(crate) struct DecidedCell {
    pub(crate) cell: u32,
    pub(crate) asked: AskedCell,
    /// The calls that were approved.
    pub(crate) approved: Vec<ServerCall>,
    /// What was decided about each of them, for the audit log.
    pub(crate) noted: Vec<DecidedCall>,
}

/// A call about which was decided.
#[derive(Debug)]
pub(crate) struct DecidedCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The digest of the arguments with which it is made, or was not to be made.
    pub(crate) arguments: Digest,
    pub(crate) word: &'static str,
    pub(crate) by: Arc<Decider>,
}

impl AskedCell {
    /// What a cell has asked that may call these tools, and has asked that before.
    ///
    /// # Errors
    ///
    /// Those of [`Self::of`] and of [`SeenRequests::asking`].
    pub(crate) fn after(
        seen: SeenRequests,
        requests: &CallerRequests,
        tools: &KnownTools,
    ) -> Result<Self, String> {
        let seen = seen.asking(requests)?;
        Ok(Self { seen, ..Self::of(requests, tools)? })
    }

    /// True if its caller alone answers all of it, and decides nothing of what others do.
    pub(super) fn is_for_caller(&self) -> bool {
        let is_of_caller = |item: &AskedItem| {
            item.fault.is_none() && item.kind != AskedKind::Approval && !self.is_for_server(item)
        };
        self.requests.iter().all(is_of_caller)
    }

    /// Takes the decisions out of these answers to the cell of this number. Its other requests stay as they are,
    /// and so do the answers to them, which are checked as well. `None` if there are no decisions among them.
    ///
    /// # Errors
    ///
    /// Those of [`Self::matched`], changed arguments do not fit the schema of the tool, or somebody approves who may
    /// not.
    pub(crate) fn decided(
        &self,
        cell: u32,
        (answers, are_all): (&mut Vec<AnswerParam>, bool),
        deciders: &Deciders,
    ) -> Result<Option<DecidedCell>, ServiceError> {
        if self.requests.iter().all(|item| item.kind != AskedKind::Approval) {
            return Ok(None);
        }
        let matched = self.matched(cell, answers, are_all)?;
        let numbers: Vec<(u32, AskedKind)> =
            matched.iter().map(|item| (item.number, item.kind)).collect();
        let (tools, journal) = (self.tools.clone(), self.journal.clone());
        let (requests, seen) = (self.requests.clone(), self.seen.clone());
        let asked = Self { tools, requests, journal, seen };
        let mut decided = DecidedCell { cell, asked, approved: Vec::new(), noted: Vec::new() };
        for (index, (answer, (number, kind))) in answers.iter().zip(&numbers).enumerate() {
            if *kind == AskedKind::Approval {
                decided.decide(index, *number, answer, deciders)?;
            }
        }
        let all = take(answers).into_iter().zip(numbers);
        let others = all.filter(|(_, (_, kind))| *kind != AskedKind::Approval);
        *answers = others.map(|(answer, _)| answer).collect();
        Ok((!decided.noted.is_empty()).then_some(decided))
    }
}

impl DecidedCell {
    /// Decides about the call of this number, as this answer says.
    fn decide(
        &mut self,
        index: usize,
        number: u32,
        answer: &AnswerParam,
        deciders: &Deciders,
    ) -> Result<(), ServiceError> {
        let (id, known) = (id_of(self.cell, number), &self.asked.tools);
        let item = self.asked.requests.iter_mut().find(|item| item.number == number);
        let Some(item) = item else { return Ok(()) };
        let (Some(name), Some(proposed)) = (item.tool.clone(), item.proposed.take()) else {
            return Ok(());
        };
        let by = deciders.by(&id);
        by.ensure_may_give(answer)?;
        item.kind = AskedKind::Tool;
        let (word, arguments) = match decision_of(answer).unwrap_or(Decision::No) {
            Decision::No => {
                let reason = answer.error.as_deref().filter(|reason| !reason.is_empty());
                let fault = reason.map(|reason| format!("{NOT_APPROVED}: {reason}"));
                item.fault = Some(fault.unwrap_or_else(|| NOT_APPROVED.to_owned()));
                ("refused", proposed)
            }
            Decision::Yes => ("approved", proposed),
            Decision::Changed(arguments) => ("changed", JsonText::new(arguments)),
        };
        let digest = Digest::of(arguments.as_str().as_bytes());
        item.arguments = Some(digest);
        self.noted.push(DecidedCall {
            id: id.clone(),
            tool: name.clone(),
            arguments: digest,
            word,
            by: Arc::clone(by),
        });
        if item.fault.is_some() {
            return Ok(());
        }
        ensure_changed_fits(&name, index, answer, known)?;
        let listed = known.listed(&name);
        let call = ToolRequest { name, arguments };
        if let Some(listed) = listed {
            item.approved_by = Some(by.name().to_owned());
            let approved_by = item.approved_by.clone();
            self.approved.push(ServerCall { number, id, listed, call, approved_by });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;
    use crate::sessions::asking::called_tools::CalledTools;
    use wardian_tools::OfferedTool;

    fn asked() -> AskedCell {
        let schema = json!({"properties": {"a": {"type": "integer"}}}).to_string();
        let offered = ["s.wipe", "s.find"].map(|name| OfferedTool {
            name: name.to_owned(),
            description: String::new(),
            input_schema: RawValue::from_string(schema.clone()).unwrap(),
            output_schema: None,
            needs_approval: name == "s.wipe",
            digest: Digest::of(name.as_bytes()),
        });
        let tools = CalledTools::with_offered(&[], offered.into(), None).unwrap().known;
        let text = br#"[{"number":1,"tool":{"name":"s.wipe","arguments":{"a":1}}},
            {"number":2,"input":{"prompt":"","hidden":false}},
            {"number":3,"tool":{"name":"s.find","arguments":{"a":1}}},
            {"number":4,"tool":{"name":"s.wipe","arguments":{"a":"x"}}},
            {"number":5,"tool":{"name":"s.wipe","arguments":{"a":5}}}]"#;
        let asked = AskedCell::of(&CallerRequests::read(text).unwrap(), &tools).unwrap();
        let (for_caller, for_servers) = asked.divided(3, CallerRequests::read(text).unwrap());
        let ids: Vec<_> = for_caller.iter().map(|one| (one.id.as_str(), one.kind)).collect();
        let approval = AskedKind::Approval;
        let expected = [("c3-r1", approval), ("c3-r2", AskedKind::Input), ("c3-r5", approval)];
        assert_eq!((ids.as_slice(), for_servers.len()), (&expected[..], 1));
        // As a row keeps it.
        serde_json::from_str(&serde_json::to_string(&asked).unwrap()).unwrap()
    }

    /// Answers of somebody with these rights; that to `c3-r1` is Bob's.
    fn by(key: &str, rights: Rights) -> Deciders {
        let decider = |key: &str, rights| {
            let Decider { address, request_id, .. } = &*Decider::of(&Caller::local("test"));
            let (address, request_id) = (*address, request_id.clone());
            Arc::new(Decider { key: Some(key.to_owned()), address, request_id, rights })
        };
        let bob = decider("bob", Rights::ALL);
        Deciders { own: decider(key, rights), others: BTreeMap::from([("c3-r1".to_owned(), bob)]) }
    }

    fn decided(answers: &serde_json::Value) -> Result<(DecidedCell, Vec<AnswerParam>), String> {
        let mut answers: Vec<AnswerParam> = serde_json::from_str(&answers.to_string()).unwrap();
        let decided = asked().decided(3, (&mut answers, true), &by("ada", Rights::USUAL));
        let decided = decided.map_err(|error| error.to_string())?;
        Ok((decided.unwrap(), answers))
    }

    #[test]
    fn decisions_are_taken_out_of_the_answers() {
        let line = json!({"id": "c3-r2", "output": "x"});
        let (cell, rest) = decided(&json!([
            {"id": "c3-r5", "output": {"arguments": {"a": 7}}}, line, {"id": "c3-r1", "output": false},
        ]))
        .unwrap();
        assert_eq!(rest.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(), ["c3-r2"]);
        let [call] = cell.approved.as_slice() else { panic!("{cell:?}") };
        assert_eq!((call.id.as_str(), call.call.arguments.as_str()), ("c3-r5", r#"{"a":7}"#));
        assert_eq!(call.approved_by.as_deref(), Some("ada"));
        let words: Vec<_> = cell.noted.iter().map(|one| (one.id.as_str(), one.word)).collect();
        assert_eq!(words, [("c3-r5", "changed"), ("c3-r1", "refused")]);
        // They are the caller's no more, and there is nothing left to decide.
        let mut rest = rest;
        assert!(
            cell.asked.decided(3, (&mut rest, true), &by("eve", Rights::USUAL)).unwrap().is_none()
        );
        // One that is cut off then was approved nevertheless.
        let row = serde_json::to_string(&cell.asked).unwrap();
        let kept: AskedCell = serde_json::from_str(&row).unwrap();
        let item = kept.requests.iter().find(|item| item.number == 5).unwrap();
        assert_eq!(item.approved_by.as_deref(), Some("ada"));
        let again = serde_json::from_str::<AnswerParam>(r#"{"id": "c3-r5", "output": true}"#);
        assert!(cell.asked.matched(3, &[again.unwrap()], false).is_err());
    }

    #[test]
    fn only_who_may_approve_lets_a_call_be_made() {
        let decide = |one: &serde_json::Value, five: &serde_json::Value, rights| {
            let answers = json!([
                {"id": "c3-r1", "output": one}, {"id": "c3-r2", "output": ""}, {"id": "c3-r5", "output": five},
            ]);
            let mut answers: Vec<AnswerParam> = serde_json::from_str(&answers.to_string()).unwrap();
            asked().decided(3, (&mut answers, true), &by("eve", rights))
        };
        let (yes, no, rights) = (json!(true), json!(false), Rights::NONE.with(Right::Code));
        for approved in [&yes, &json!({"arguments": {"a": 1}})] {
            let refused = decide(&yes, approved, rights).unwrap_err().to_string();
            assert_eq!(refused, "the caller lacks the scope `approve`");
            assert!(decide(&no, approved, rights.with(Right::Approve)).is_ok());
        }
        let decided = decide(&yes, &no, rights).unwrap().unwrap();
        let [call] = decided.approved.as_slice() else { panic!("{decided:?}") };
        assert_eq!((call.id.as_str(), call.approved_by.as_deref()), ("c3-r1", Some("bob")));
        let noted = |one: &DecidedCall| (one.word, one.by.key.clone().unwrap());
        let noted: Vec<_> = decided.noted.iter().map(noted).collect();
        assert_eq!(noted, [("approved", "bob".to_owned()), ("refused", "eve".to_owned())]);
    }

    #[test]
    fn wrong_decisions_change_nothing() {
        let line = json!({"id": "c3-r2", "output": "x"});
        let yes = json!({"id": "c3-r1", "output": true});
        for (answer, words) in [
            (json!({"id": "c3-r5"}), "for an approval"),
            (json!({"id": "c3-r5", "output": "yes"}), "for an approval"),
            (json!({"id": "c3-r5", "output": {"arguments": {}, "more": 1}}), "for an approval"),
            (json!({"id": "c3-r5", "output": {"arguments": {"a": "x"}}}), "must be an integer"),
            (json!({"id": "c3-r5", "output": {"arguments": [1]}}), "an object"),
            (json!({"id": "c3-r4", "output": true}), "the id of a request that waits"),
            (json!({"id": "c3-r3", "output": 1}), "the id of a request that waits"),
        ] {
            let error = decided(&json!([yes, line, answer])).unwrap_err();
            assert!(error.contains("answers[2]") && error.contains(words), "{error}");
        }
        assert!(decided(&json!([yes, line])).unwrap_err().contains("`c3-r5` is missing"));
    }
}
