//! A client of the protocol that returns whole answers.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::HeaderMap;

use crate::support::eventually;

/// The longest call of all tests, and more.
const PATIENCE: Duration = Duration::from_secs(120);

/// Largest answer: a whole batch of blobs.
const MAX_ANSWER: u64 = 64 << 20;

/// Calls the methods of one server.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    agent: ureq::Agent,
    url: String,
    /// Sent as a bearer token.
    key: Option<String>,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body, which must be JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|fault| panic!("no JSON ({fault}): {self:?}"))
    }

    /// The header of this name, or an empty text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// The message of the JSON-RPC error that the body must be.
    pub(crate) fn message(&self) -> String {
        let body = self.json();
        RpcError::of(&body).unwrap_or_else(|| panic!("no error: {body}")).message
    }

    /// Code, kind and id of the JSON-RPC error that the body must be.
    pub(crate) fn error(&self) -> (i64, String, Value) {
        let body = self.json();
        let error = RpcError::of(&body).unwrap_or_else(|| panic!("no error: {body}"));
        (error.code, error.kind, body["id"].clone())
    }
}

/// The error of a JSON-RPC response.
#[derive(Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl fmt::Debug for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.code, self.data, self.message)
    }
}

impl RpcError {
    /// The error of a response, if it is one.
    pub(crate) fn of(response: &Value) -> Option<Self> {
        let error = response.get("error")?;
        assert!(response.get("result").is_none(), "result and error at once: {response}");
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{error}")).to_owned();
        Some(Self {
            code: error["code"].as_i64().unwrap(),
            kind: text(&error["data"]["kind"]),
            message: text(&error["message"]),
            data: error["data"].clone(),
        })
    }
}

impl Client {
    pub(crate) fn new(url: String) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .build();
        Self { agent: config.into(), url, key: None }
    }

    /// The same client with a key.
    pub(crate) fn with_key(self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self }
    }

    /// The key of this client, if it has one.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    fn authorized<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.key {
            Some(key) => request.header("Authorization", format!("Bearer {key}")),
            None => request,
        }
    }

    /// Calls a method, and checks that the answer belongs to the call.
    pub(crate) fn call(&self, method: &str, params: Value) -> Result<Value, RpcError> {
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        let mut response = self.post(request.to_string()).json();
        assert_eq!(response["jsonrpc"], "2.0", "{response}");
        assert_eq!(response["id"], method, "{response}");
        RpcError::of(&response).map_or_else(|| Ok(response["result"].take()), Err)
    }

    /// Calls a method that must refuse; returns code and kind of the error.
    pub(crate) fn refusal(&self, method: &str, params: Value) -> RpcError {
        let shown = format!("{method} {params:.300}");
        match self.call(method, params) {
            Err(error) => error,
            Ok(result) => panic!("{shown} was not refused: {result}"),
        }
    }

    /// Runs code without anything else; returns the result.
    pub(crate) fn run(&self, code: &str) -> Value {
        self.run_with(code, json!({}))
    }

    /// Runs code with further parameters.
    ///
    /// A server with a cold cache answers reproducible runs that their image is being made, or their
    /// batteries fetched, which takes minutes on a busy machine: asks again then.
    pub(crate) fn run_with(&self, code: &str, mut params: Value) -> Value {
        let call = params.as_object_mut().unwrap();
        call.insert("language".to_owned(), "python".into());
        call.insert("code".to_owned(), code.into());
        eventually(Duration::from_secs(300), || match self.call("run_code", params.clone()) {
            Err(refusal)
                if refusal.kind == "overloaded"
                    && refusal.message.contains("reproducible runs") =>
            {
                None
            }
            answer => Some(answer.unwrap()),
        })
    }

    /// Executes a skill.
    pub(crate) fn execute(&self, name: &str, args: Value) -> Value {
        self.call("execute_skill", json!({"name": name, "args": args})).unwrap()
    }

    /// Stores a text; returns its id.
    pub(crate) fn create_text(&self, content: &str, kind: &str) -> String {
        let params = json!({"content": content, "kind": kind, "encoding": "utf-8"});
        let created = self.call("create_blob", params).unwrap();
        created["blob_id"].as_str().unwrap().to_owned()
    }

    /// Stores bytes; returns their id.
    pub(crate) fn create_bytes(&self, content: &[u8], kind: &str) -> String {
        let content = data_encoding::BASE64.encode(content);
        let params = json!({"content": content, "kind": kind, "encoding": "base64"});
        let created = self.call("create_blob", params).unwrap();
        created["blob_id"].as_str().unwrap().to_owned()
    }

    /// All bytes of a blob, which must not be longer than what `read_blob` gives at once.
    pub(crate) fn read_bytes(&self, id: &str) -> Vec<u8> {
        let read = self.call("read_blob", json!({"blob_id": id, "mode": "full"})).unwrap();
        assert_eq!(read["truncated"], false, "{id} is too long");
        let content = read["content"].as_str().unwrap();
        match read["encoding"].as_str().unwrap() {
            "utf-8" => content.as_bytes().to_vec(),
            "base64" => data_encoding::BASE64.decode(content.as_bytes()).unwrap(),
            other => panic!("an encoding called {other}"),
        }
    }

    /// Sends a body to `/rpc` as it is.
    pub(crate) fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        self.try_post(body).unwrap()
    }

    /// Sends a body to `/rpc` to a server that may hang up before it has read all of it.
    pub(crate) fn try_post(&self, body: impl AsRef<[u8]>) -> Result<Answer, ureq::Error> {
        let request = self.authorized(self.agent.post(format!("{}/rpc", self.url)));
        let sent = request.header("Content-Type", "application/json").send(body.as_ref());
        sent.map(answer)
    }

    /// Sends a request without a body to a path.
    pub(crate) fn post_to(&self, path: &str) -> Answer {
        let request = self.authorized(self.agent.post(format!("{}{path}", self.url)));
        answer(request.send_empty().unwrap())
    }

    /// Sends JSON to a path.
    pub(crate) fn post_json(&self, path: &str, body: &Value) -> Answer {
        let request = self.authorized(self.agent.post(format!("{}{path}", self.url)));
        let sent = request.header("Content-Type", "application/json").send(body.to_string());
        answer(sent.unwrap())
    }

    /// Puts nothing at a path.
    pub(crate) fn put(&self, path: &str) -> Answer {
        let request = self.authorized(self.agent.put(format!("{}{path}", self.url)));
        answer(request.send_empty().unwrap())
    }

    /// Removes what a path names.
    pub(crate) fn delete(&self, path: &str) -> Answer {
        answer(self.authorized(self.agent.delete(format!("{}{path}", self.url))).call().unwrap())
    }

    /// Asks for a path.
    pub(crate) fn get(&self, path: &str) -> Answer {
        answer(self.authorized(self.agent.get(format!("{}{path}", self.url))).call().unwrap())
    }
}

fn answer(response: ureq::http::Response<ureq::Body>) -> Answer {
    let (parts, mut body) = response.into_parts();
    let body = body.with_config().limit(MAX_ANSWER).read_to_vec().unwrap();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

/// The output of a run that must have completed.
pub(crate) fn output(result: &Value) -> &Value {
    assert_eq!(result["status"], "completed", "{result:#}");
    assert_eq!(result.get("error"), None, "{result:#}");
    &result["output"]
}

/// Type and message of the error of a run that must have failed.
pub(crate) fn failed(result: &Value) -> (&str, &str) {
    assert_eq!(result["status"], "failed", "{result:#}");
    assert_eq!(result["output"], Value::Null, "{result:#}");
    let error = &result["error"];
    (error["type"].as_str().unwrap(), error["message"].as_str().unwrap())
}
