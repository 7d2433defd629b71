//! A server of HTTP whose answers a test writes, one that speaks the protocol, and catalogues of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::config::{
    CredentialTemplate, ToolLimits, ToolServerConfig, ToolSource, ToolsConfig, parse_server_url,
};
use crate::{Catalogue, RunTools, ToolAnswer, ToolCallOrder, ToolError, ToolGrants};
use wardian_egress::Egress;
use wardian_egress::config::EgressConfig;
use wardian_egress::world::resolver::{Lookup, Resolver};
use wardian_stores::secrets::{Secrets, SecretsConfig};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;

/// The secret that tests have, and its value.
pub(super) const SECRET: &str = "TOOL_TOKEN";
pub(super) const VALUE: &str = "hunter2-and-more";

pub(super) const HOST: &str = "tools.example.com";

/// All names are on loopback.
#[derive(Debug)]
pub(super) struct Loopback;

impl Resolver for Loopback {
    fn lookup<'a>(&'a self, _: &'a TenantId, _: &'a str) -> Lookup<'a> {
        Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) })
    }
}

/// What a server sends.
pub(super) enum Sent {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing, for ever.
    Nothing,
    /// These bytes, and then the others again and again.
    Endless(Vec<u8>, Vec<u8>),
}

type Respond = dyn Fn(&str, &Value) -> Sent + Send + Sync;

/// The server. It answers one request on each connection.
pub(super) struct HttpStub {
    pub(super) port: u16,
    /// Heads and bodies of all requests.
    pub(super) requests: Arc<Mutex<Vec<(String, Value)>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for HttpStub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpStub {
    pub(super) async fn start(
        respond: impl Fn(&str, &Value) -> Sent + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<(String, Value)>>>::default();
        let (kept, respond) =
            (Arc::clone(&requests), Arc::<Respond>::from(Box::new(respond) as Box<Respond>));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&respond)));
            }
        });
        Self { port, requests, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{HOST}:{}/mcp", self.port)
    }

    /// Bodies of requests of this method of the protocol.
    pub(super) fn asked(&self, method: &str) -> Vec<Value> {
        let requests = self.requests.lock();
        let bodies = requests.iter().map(|(_, body)| body.clone());
        bodies.filter(|body| body["method"] == method).collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
    respond: Arc<Respond>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1);
    let length = length.map_or("0", |rest| rest.split("\r\n").next().unwrap());
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    requests.lock().push((head.clone(), body.clone()));
    match respond(&head, &body) {
        Sent::Bytes(bytes) => drop(stream.write_all(&bytes).await),
        Sent::Nothing => std::future::pending().await,
        Sent::Endless(bytes, others) => {
            if stream.write_all(&bytes).await.is_ok() {
                while stream.write_all(&others).await.is_ok() {}
            }
        }
    }
    drop(stream.shutdown().await);
}

pub(super) fn response(status: &str, headers: &str, body: &str) -> Sent {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    Sent::Bytes(format!("{head}{body}").into_bytes())
}

pub(super) fn in_json(body: &Value) -> Sent {
    response("200 OK", "content-type: application/json\r\n", &body.to_string())
}

pub(super) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

pub(super) fn in_events(messages: &[Value]) -> Sent {
    let events: String =
        messages.iter().map(|one| format!("event: message\ndata: {one}\n\n")).collect();
    Sent::Bytes(format!("{EVENTS}{events}").into_bytes())
}

/// A result of a tool.
pub(super) fn text_result(id: &Value, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
}

/// A tool as a server lists it.
pub(super) fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Does.", "inputSchema": {"type": "object"}})
}

/// Speaks the protocol; `list` gives the tools, and `call` answers calls: their id, and the request.
pub(super) async fn mcp(
    list: impl Fn() -> Value + Send + Sync + 'static,
    call: impl Fn(&Value, &Value) -> Sent + Send + Sync + 'static,
) -> HttpStub {
    HttpStub::start(move |head, body| {
        if head.starts_with("get ") {
            return response("405 No", "", "");
        }
        let id = &body["id"];
        match body["method"].as_str().unwrap() {
            "initialize" => {
                let result = json!({"protocolVersion": "2025-06-18", "capabilities": {}});
                let body = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
                let headers = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
                response("200 OK", headers, &body)
            }
            "tools/list" => {
                in_json(&json!({"jsonrpc": "2.0", "id": id, "result": {"tools": list()}}))
            }
            "tools/call" => call(id, body),
            _ => response("202 Accepted", "", ""),
        }
    })
    .await
}

/// The source of a server behind a URL, with the secret in a header.
pub(super) fn web(url: &str) -> ToolSource {
    let template = CredentialTemplate::parse("Bearer ${TOOL_TOKEN}").unwrap();
    let headers = vec![("authorization".to_owned(), template)];
    ToolSource::Web { url: parse_server_url(url).unwrap(), headers }
}

/// A server with bounds that a test can wait for.
pub(super) fn quick(source: ToolSource) -> ToolServerConfig {
    let timeout = Duration::from_secs(20);
    let limits = ToolLimits { timeout, ..ToolLimits::default() };
    ToolServerConfig { limits, ..ToolServerConfig::new(source) }
}

/// A catalogue of one server, `s`.
pub(super) fn catalogue(config: ToolServerConfig) -> Catalogue {
    let private_ranges = vec!["127.0.0.0/8".parse().unwrap()];
    let egress = EgressConfig { private_ranges, ..EgressConfig::default() };
    let egress = Egress::new(egress, Arc::new(Loopback)).unwrap();
    let folder = tempfile::tempdir().unwrap().keep();
    std::fs::write(folder.join(SECRET), VALUE).unwrap();
    let folders = vec![folder];
    let secrets = SecretsConfig { folders, shares_with_tenants: true, ..SecretsConfig::default() };
    let servers = [("s".to_owned(), config)].into();
    Catalogue::new(ToolsConfig { servers }, &egress, &Arc::new(Secrets::new(&secrets)))
}

/// A run that is granted everything.
pub(super) fn run(catalogue: &Catalogue) -> RunTools {
    catalogue.open(TenantId::local(), ToolGrants::Operator)
}

pub(super) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

pub(super) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

/// Calls a tool without an approval.
pub(super) async fn call(
    tools: &RunTools,
    tool: &str,
    arguments: &Value,
) -> Result<ToolAnswer, ToolError> {
    let arguments = raw(arguments);
    let order = ToolCallOrder {
        tool,
        arguments: &arguments,
        listed: None,
        approval: None,
        deadline: soon(),
    };
    tools.call(order, &CallMemory::unlimited()).await
}

/// The text that a tool answered with.
pub(super) fn text_of(answer: &Result<ToolAnswer, ToolError>) -> String {
    match answer {
        Ok(answer) => answer.value.get().to_owned(),
        Err(error) => panic!("{error}"),
    }
}
