//! JSON-RPC responses: one for each call.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::protocol::error_codes::WireError;
use crate::protocol::request_id::RequestId;

/// The answer to one call. `R` is the type of the method's result.
#[derive(Debug)]
pub struct Response<R> {
    /// The id of the call.
    pub id: RequestId,
    /// The result, or the error.
    pub outcome: Result<R, ErrorBody>,
}

impl<R: Serialize> Serialize for Response<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut response = serializer.serialize_struct("Response", 3)?;
        response.serialize_field("jsonrpc", "2.0")?;
        response.serialize_field("id", &self.id)?;
        match &self.outcome {
            Ok(result) => response.serialize_field("result", result)?,
            Err(error) => response.serialize_field("error", error)?,
        }
        response.end()
    }
}

/// The `error` member of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorBody {
    /// JSON-RPC error code.
    pub code: i32,
    /// One sentence for people and models.
    pub message: String,
    /// Details that programs branch on.
    pub data: ErrorDetail,
}

/// The `error.data` member of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorDetail {
    /// Stable label of the kind of error.
    pub kind: &'static str,
    /// The parameter that caused the error, if a parameter did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// Names the request in the server's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The delay after which a retry can succeed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ErrorBody {
    /// An error of this kind with this message.
    #[must_use]
    pub fn new(wire: WireError, message: impl Into<String>) -> Self {
        let data = ErrorDetail {
            kind: wire.label,
            parameter: None,
            request_id: None,
            retry_after_ms: None,
        };
        Self { code: wire.code, message: message.into(), data }
    }

    /// Adds the parameter that caused the error.
    #[must_use]
    pub fn with_parameter(mut self, parameter: impl Into<String>) -> Self {
        self.data.parameter = Some(parameter.into());
        self
    }

    /// Adds the id that names the request in the server's log.
    #[must_use]
    pub fn with_request_id(mut self, request_id: impl Into<String>) -> Self {
        self.data.request_id = Some(request_id.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use wardian_vocabulary::error::ErrorKind;

    #[test]
    fn a_response_has_a_result_or_an_error() {
        let done = Response { id: RequestId::Integer(7), outcome: Ok(json!({"content": "x"})) };
        assert_eq!(
            serde_json::to_string(&done).unwrap(),
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":"x"}}"#
        );
        let mut error = ErrorBody::new(WireError::of(ErrorKind::RateLimited), "too many calls")
            .with_request_id("req-1");
        error.data.retry_after_ms = Some(500);
        let failed = Response::<()> { id: RequestId::Null, outcome: Err(error) };
        assert_eq!(
            serde_json::to_string(&failed).unwrap(),
            concat!(
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":1003,"message":"too many calls","#,
                r#""data":{"kind":"rate_limited","request_id":"req-1","retry_after_ms":500}}}"#
            )
        );
    }
}
