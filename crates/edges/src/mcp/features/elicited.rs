//! Cells of sessions that wait for lines of text, or for approvals of calls: the client asks its user, and
//! repeats the call with the answers.
//!
//! The protocol knows no tools of clients, so a cell that waits for some of those has an ordinary result, and
//! so has one that asks for something that is not to be shown: forms are not for secrets.

use std::borrow::Cow;

use rmcp::RoleServer;
use rmcp::model::{
    InputRequest, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::mcp::wire::exchange::{LayFault, McpExchange};
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedKind, AskedRequest};
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_formats::protocol::{MethodCall, MethodResult};

/// Most characters of the arguments of a call that a message shows.
const MAX_ARGUMENTS: usize = 2_000;

/// The field of a form for a line of text.
const LINE: &str = "line";

/// The field of a form for an approval.
const APPROVE: &str = "approve";

/// The prompt of a program that gives none.
const USUAL_PROMPT: &str = "The program asks for a line of text.";

/// The request for input that a result stands for, if its client can ask its user.
///
/// What the client has to return with the answers is the session. That is no secret and grants nothing: the
/// session is its caller's, or the call is refused.
pub(crate) fn asked(
    exchange: &McpExchange,
    result: &MethodResult,
    context: &RequestContext<RoleServer>,
) -> Result<Option<InputRequiredResult>, LayFault> {
    let MethodResult::Run(run) = result else { return Ok(None) };
    let session = run.session.as_ref().filter(|_| run.status == RunStatus::Waiting);
    let has_form = |request: &AskedRequest| match request.kind {
        AskedKind::Input => !request.hidden,
        AskedKind::Approval => true,
        AskedKind::Tool => false,
    };
    let Some(session) = session.filter(|_| run.requests.iter().all(has_form) && can_ask(context))
    else {
        return Ok(None);
    };
    let mut requests = InputRequests::new();
    for request in &run.requests {
        let (message, form) = form_of(request);
        let message = exchange.text(&message)?;
        let params = json!({"mode": "form", "message": message, "requestedSchema": form});
        let asked = json!({"method": "elicitation/create", "params": params});
        let asked = serde_json::from_value::<InputRequest>(asked).map_err(LayFault::Unwritable)?;
        requests.insert(request.id.clone(), asked);
    }
    Ok(Some(InputRequiredResult::new(Some(requests), Some(session.id.to_string()))))
}

/// The message and the form for a request.
fn form_of(request: &AskedRequest) -> (Cow<'_, str>, Value) {
    let (message, member, field) = if request.kind == AskedKind::Approval {
        (question_of(request).into(), APPROVE, json!({"type": "boolean", "title": "Approve"}))
    } else {
        let prompt = request.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty());
        let field = json!({"type": "string", "title": "Answer"});
        (prompt.unwrap_or(USUAL_PROMPT).into(), LINE, field)
    };
    (message, json!({"type": "object", "properties": {member: field}, "required": [member]}))
}

/// The question whether a call may be made.
fn question_of(AskedRequest { name, arguments, .. }: &AskedRequest) -> String {
    let arguments = arguments.as_deref().map_or("{}", RawValue::get);
    let cut: String = arguments.chars().take(MAX_ARGUMENTS).collect();
    let more = match arguments.chars().count().saturating_sub(MAX_ARGUMENTS) {
        0 => String::new(),
        more => {
            format!("... and {more} more characters that are not shown: do not approve them unseen")
        }
    };
    let name = name.as_deref().unwrap_or_default();
    format!("The program wants to call {name}({cut}{more}). Approve the call?")
}

/// True if the client knows requests for input, and can ask its user with a form.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    let is_new = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let known = context.client_capabilities().and_then(|known| known.elicitation);
    // A client that names neither kind knows forms.
    is_new && known.is_some_and(|known| known.form.is_some() || known.url.is_none())
}

/// The call that goes on with a session, in the place of the repeated one that has begun it.
pub(crate) fn answered(call: MethodCall, session: String, responses: InputResponses) -> MethodCall {
    let answers = responses.into_iter().map(answer_of);
    match call {
        MethodCall::RunCode(params) => {
            MethodCall::RunCode(params.answering(session, answers.collect()))
        }
        MethodCall::ExecuteSkill(params) => {
            MethodCall::RunCode(params.answering(session, answers.collect()))
        }
        other => other,
    }
}

/// What a user has answered.
fn answer_of((id, response): (String, Value)) -> AnswerParam {
    let action = response.get("action").and_then(Value::as_str);
    let is_accepted = action == Some("accept");
    let content = response.get("content").filter(|_| is_accepted);
    let given = content.and_then(|content| content.get(LINE).or_else(|| content.get(APPROVE)));
    // Nothing else can be an answer: an object would change the arguments of a call.
    let given = given.filter(|given| given.is_string() || given.is_boolean());
    match given.and_then(|given| to_raw_value(given).ok()) {
        Some(output) => AnswerParam { id, output: Some(output), error: None },
        None => {
            let declined = action == Some("decline");
            let error =
                if declined { "the user has declined" } else { "the user has not answered" };
            AnswerParam { id, output: None, error: Some(error.to_owned()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::protocol::methods::cells::SessionParam;

    #[test]
    fn a_repeated_call_goes_on_with_the_session() {
        let arguments = json!({
            "language": "python",
            "code": "input()",
            "mount_skills": ["a.b"],
            "timeout_ms": 7,
            "session": {"id": "new", "keep": false, "wait_ms": 5},
        });
        let arguments = to_raw_value(&arguments).unwrap();
        let call = MethodCall::parse("run_code", Some(&arguments)).unwrap();
        let responses = InputResponses::from([
            ("c1-r1".to_owned(), json!({"action": "accept", "content": {"line": "Ada \"A\""}})),
            ("c1-r2".to_owned(), json!({"action": "decline", "content": {"line": "x"}})),
            ("c1-r3".to_owned(), json!([])),
            ("c1-r4".to_owned(), json!({"action": "accept", "content": {"approve": true}})),
            ("c1-r5".to_owned(), json!({"action": "accept", "content": {"approve": false}})),
            ("c1-r6".to_owned(), json!({"action": "cancel", "content": {"approve": true}})),
            (
                "c1-r7".to_owned(),
                json!({"action": "accept", "content": {"approve": {"arguments": {}}}}),
            ),
        ]);
        let MethodCall::RunCode(params) = answered(call, "ses_x".to_owned(), responses) else {
            panic!("it is another method");
        };
        assert!(params.code.is_empty() && params.mount_skills.is_empty());
        assert_eq!(params.limits().timeout_ms, Some(7));
        let Some(SessionParam::Order(order)) = params.session else { panic!("it has no session") };
        assert_eq!(
            (order.id.as_deref(), order.keep, order.wait_ms),
            (Some("ses_x"), Some(false), None)
        );
        let answers = params.answers.unwrap();
        let outputs: Vec<_> = answers
            .iter()
            .map(|answer| answer.output.as_ref().map(|output| output.get()))
            .collect();
        let (yes, no) = (Some("true"), Some("false"));
        let ada = Some("\"Ada \\\"A\\\"\"");
        assert_eq!(outputs, [ada, None, None, yes, no, None, None]);
        assert!(answers[0].error.is_none() && answers[1].error.is_some());
    }

    #[test]
    fn a_skill_goes_on_as_code_of_its_session() {
        let arguments = json!({"name": "a.b", "args": {"x": 1}, "timeout_ms": 7, "label": "L"});
        let arguments = to_raw_value(&arguments).unwrap();
        let call = MethodCall::parse("execute_skill", Some(&arguments)).unwrap();
        let MethodCall::RunCode(params) = answered(call, "ses_x".to_owned(), InputResponses::new())
        else {
            panic!("it would be executed again");
        };
        assert!(params.code.is_empty() && params.args.is_none());
        assert_eq!((params.limits().timeout_ms, params.label.as_deref()), (Some(7), Some("L")));
        assert!(params.answers.unwrap().is_empty());
    }

    #[test]
    fn an_approval_is_a_form_with_one_choice() {
        let request = |arguments: String| AskedRequest {
            id: "c1-r1".to_owned(),
            kind: AskedKind::Approval,
            name: Some("a.b".to_owned()),
            arguments: Some(RawValue::from_string(arguments).unwrap()),
            prompt: None,
            hidden: false,
        };
        let short = request(r#"{"id":7}"#.to_owned());
        let (message, form) = form_of(&short);
        assert_eq!(message, r#"The program wants to call a.b({"id":7}). Approve the call?"#);
        assert_eq!(form["properties"]["approve"]["type"], "boolean");
        assert_eq!(form["required"], json!(["approve"]));
        let long = request(format!(r#"{{"id":"{}"}}"#, "é".repeat(3_000)));
        let (message, _) = form_of(&long);
        assert!(message.chars().count() < 2_200, "{message}");
        assert!(message.contains("... and 1009 more characters"), "{message}");
    }
}
