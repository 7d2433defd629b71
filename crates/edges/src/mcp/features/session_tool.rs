//! The tool `session`: what models do with sessions between their calls of `run_code`.
//!
//! It is one tool with an `action`, because each tool takes room in the context of a model. It performs
//! what `/v1/sessions` performs.

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::mcp::features::results::{plain_answer, refusal};
use crate::mcp::features::tools::SESSION_TOOL;
use crate::mcp::state::McpState;
use crate::mcp::wire::exchange::{LayFault, McpExchange};
use wardian_formats::protocol::check::check;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_service::{ForkOrder, ServiceError, SessionCalls};

/// Largest arguments, in bytes: more than any that are right.
const MAX_ARGUMENTS: usize = 8 << 10;

/// Sessions of one list. A tenant usually has at most 64.
const PAGE: u64 = 100;

/// The parameters of a call.
#[derive(Debug, Deserialize)]
struct SessionToolParams {
    action: SessionAction,
    id: Option<String>,
    checkpoint: Option<String>,
    count: Option<u64>,
    cursor: Option<String>,
}

/// What becomes of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SessionAction {
    List,
    Show,
    Fork,
    Restore,
    Interrupt,
    Close,
}

impl SessionAction {
    /// The parameters that it takes.
    const fn takes(self) -> &'static [&'static str] {
        match self {
            Self::List => &["cursor"],
            Self::Show | Self::Interrupt | Self::Close => &["id"],
            Self::Fork => &["id", "checkpoint", "count"],
            Self::Restore => &["id", "checkpoint"],
        }
    }
}

impl SessionToolParams {
    /// Checks the arguments of a call.
    fn parse(arguments: Option<&RawValue>) -> Result<Self, ParamsError> {
        if let Some(size) =
            arguments.map(|text| text.get().len()).filter(|size| *size > MAX_ARGUMENTS)
        {
            let expected = format!("at most {MAX_ARGUMENTS} bytes");
            return Err(ParamsError::wrong("arguments", expected, format!("{size} bytes")));
        }
        let params: Self = check(&SESSION_TOOL, arguments)?.read(&SESSION_TOOL)?;
        for (name, is_set) in [
            ("id", params.id.is_some()),
            ("checkpoint", params.checkpoint.is_some()),
            ("count", params.count.is_some()),
            ("cursor", params.cursor.is_some()),
        ] {
            if is_set && !params.action.takes().contains(&name) {
                return Err(ParamsError::wrong(name, "omitted with this `action`", "a value"));
            }
        }
        Ok(params)
    }

    /// The session. All actions but `list` need one.
    fn session(&self) -> Result<&str, ServiceError> {
        let expected = "the id of a session, as `action`: \"list\" returns it";
        Ok(required("id", expected, self.id.as_deref())?)
    }
}

fn required<'a>(
    parameter: &str,
    expected: &str,
    value: Option<&'a str>,
) -> Result<&'a str, ParamsError> {
    value.ok_or_else(|| {
        let (parameter, expected) = (parameter.to_owned(), expected.to_owned());
        ParamsError::Missing { parameter, expected }
    })
}

/// Answers a call of the tool.
pub(crate) async fn call(
    state: &McpState,
    exchange: &McpExchange,
    arguments: Option<&RawValue>,
) -> CallToolResult {
    let Some(methods) = state.edge.readiness.methods() else {
        return refusal(state.edge.unready());
    };
    let done = perform(methods, exchange, arguments).await;
    done.unwrap_or_else(|fault| {
        refusal(match fault {
            NoResult::Refused(error) => state.edge.failed(&exchange.caller, &error),
            NoResult::Unanswered(fault) => fault.into_failure(&exchange.caller),
        })
    })
}

/// Why a call has no result.
enum NoResult {
    Refused(ServiceError),
    Unanswered(LayFault),
}

impl From<ServiceError> for NoResult {
    fn from(error: ServiceError) -> Self {
        Self::Refused(error)
    }
}

impl From<LayFault> for NoResult {
    fn from(fault: LayFault) -> Self {
        Self::Unanswered(fault)
    }
}

async fn perform(
    methods: &impl SessionCalls,
    exchange: &McpExchange,
    arguments: Option<&RawValue>,
) -> Result<CallToolResult, NoResult> {
    let (room, caller) = (methods.sessions(), &exchange.caller);
    let params = SessionToolParams::parse(arguments).map_err(ServiceError::from)?;
    Ok(match params.action {
        SessionAction::List => {
            let page = room.list(caller, params.cursor.as_deref(), PAGE).await?;
            plain_answer(exchange, &page)?
        }
        SessionAction::Show => {
            plain_answer(exchange, &room.show(caller, params.session()?).await?)?
        }
        SessionAction::Fork => {
            let (checkpoint, count) = (params.checkpoint.clone(), params.count);
            let order = ForkOrder { checkpoint, count, seed: None };
            plain_answer(exchange, &room.fork(caller, params.session()?, &order).await?)?
        }
        SessionAction::Restore => {
            let id = params.session()?;
            let expected = "a checkpoint of the session, as `action`: \"show\" lists them";
            let checkpoint = required("checkpoint", expected, params.checkpoint.as_deref());
            let checkpoint = checkpoint.map_err(ServiceError::from)?;
            plain_answer(exchange, &room.restore(caller, id, checkpoint).await?)?
        }
        SessionAction::Interrupt => {
            let done = methods.interrupt_session(caller, params.session()?).await;
            plain_answer(exchange, &done?)?
        }
        SessionAction::Close => {
            room.close(caller, params.session()?).await?;
            plain_answer(exchange, &json!({"closed": true}))?
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn parsed(arguments: &Value) -> Result<SessionToolParams, ParamsError> {
        let text = RawValue::from_string(arguments.to_string()).unwrap();
        SessionToolParams::parse(Some(&text))
    }

    #[test]
    fn each_action_takes_its_own_parameters_and_no_others() {
        let all = json!({"id": "ses_a", "checkpoint": "c1-a", "count": 2, "cursor": "1-ses_a"});
        for action in ["list", "show", "fork", "restore", "interrupt", "close"] {
            let taken = parsed(&json!({"action": action})).unwrap().action.takes();
            for (name, value) in all.as_object().unwrap() {
                let refused = parsed(&json!({"action": action, name: value})).err();
                let refused = refused.map(|error| error.parameter().to_owned());
                let expected = (!taken.contains(&name.as_str())).then(|| name.clone());
                assert_eq!(refused, expected, "{action}");
            }
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (arguments, parameter) in [
            (json!({}), "action"),
            (json!({"action": "delete"}), "action"),
            (json!({"action": "fork", "id": "ses_a", "count": 17}), "count"),
            (json!({"action": "show", "id": 7}), "id"),
            (json!({"action": "show", "name": "x"}), "name"),
            (json!({"action": "show", "id": "x".repeat(MAX_ARGUMENTS)}), "arguments"),
        ] {
            assert_eq!(parsed(&arguments).unwrap_err().parameter(), parameter, "{arguments}");
        }
        let nothing = SessionToolParams::parse(None).unwrap_err();
        assert_eq!(nothing.parameter(), "action");
        let without = parsed(&json!({"action": "show", "id": null})).unwrap();
        assert!(without.session().unwrap_err().to_string().contains("`id` is missing"));
    }
}
