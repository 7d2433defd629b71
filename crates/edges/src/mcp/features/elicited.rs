//! Cells of sessions that wait for lines of text: the client asks its user, and repeats the call with the
//! answers.
//!
//! The protocol knows no tools of clients, so a cell that waits for some of those has an ordinary result, and
//! so has one that asks for something that is not to be shown: forms are not for secrets.

use rmcp::RoleServer;
use rmcp::model::{
    InputRequest, InputRequests, InputRequiredResult, InputResponses, ProtocolVersion,
};
use rmcp::service::RequestContext;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::mcp::wire::exchange::{LayFault, McpExchange};
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedKind, AskedRequest};
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_formats::protocol::{MethodCall, MethodResult};

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
    let is_line = |request: &AskedRequest| request.kind == AskedKind::Input && !request.hidden;
    let Some(session) = session.filter(|_| run.requests.iter().all(is_line) && can_ask(context))
    else {
        return Ok(None);
    };
    let mut requests = InputRequests::new();
    for request in &run.requests {
        let prompt = request.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty());
        let message = exchange.text(prompt.unwrap_or(USUAL_PROMPT))?;
        let form = json!({
            "type": "object",
            "properties": {"line": {"type": "string", "title": "Answer"}},
            "required": ["line"],
        });
        let params = json!({"mode": "form", "message": message, "requestedSchema": form});
        let asked = json!({"method": "elicitation/create", "params": params});
        let asked = serde_json::from_value::<InputRequest>(asked).map_err(LayFault::Unwritable)?;
        requests.insert(request.id.clone(), asked);
    }
    Ok(Some(InputRequiredResult::new(Some(requests), Some(session.id.to_string()))))
}

/// True if the client knows requests for input, and can ask its user with a form.
fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    let is_new = version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let known = context.client_capabilities().and_then(|known| known.elicitation);
    // A client that names neither kind knows forms.
    is_new && known.is_some_and(|known| known.form.is_some() || known.url.is_none())
}

/// The call that goes on with a session, in the place of the repeated one that has begun it.
pub(crate) fn answered(call: MethodCall, session: String, responses: InputResponses) -> MethodCall {
    match call {
        MethodCall::RunCode(params) => {
            let answers = responses.into_iter().map(answer_of).collect();
            MethodCall::RunCode(params.answering(session, answers))
        }
        other => other,
    }
}

/// What a user has answered.
fn answer_of((id, response): (String, Value)) -> AnswerParam {
    let is_accepted = response.get("action").and_then(Value::as_str) == Some("accept");
    let line = response.get("content").and_then(|content| content.get("line"));
    let line = line.and_then(Value::as_str).filter(|_| is_accepted);
    match line.and_then(|line| to_raw_value(line).ok()) {
        Some(output) => AnswerParam { id, output: Some(output), error: None },
        None => {
            AnswerParam { id, output: None, error: Some("the user has not answered".to_owned()) }
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
        assert_eq!(outputs, [Some("\"Ada \\\"A\\\"\""), None, None]);
        assert!(answers[0].error.is_none() && answers[1].error.is_some());
    }
}
