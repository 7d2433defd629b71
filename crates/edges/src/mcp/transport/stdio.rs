//! The standard input and output: one message on each line.
//!
//! A separate thread reads, since a read cannot be given up. The one client is the user who started
//! the program.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread;

use axum::body::Bytes;
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions as _, ServerJsonRpcMessage};
use rmcp::service::serve_server;
use rmcp::transport::Transport;
use serde::Serialize;
use tokio::sync::mpsc::{Receiver, channel};
use tracing::{debug, error};

use crate::mcp::server::McpServer;
use crate::mcp::state::McpState;
use crate::mcp::transport::lines::{Line, LineFault, next_line};
use crate::mcp::wire::envelope::{
    CutMessage, IncomingRequest, MessageError, MessageSort, RefusedMessage, cut, memory_of,
};
use crate::mcp::wire::exchange::{McpExchange, ToolOrder};
use crate::mcp::wire::splice::Splicer;
use crate::net::body::CALL_FACTOR;
use crate::net::calls::CallCount;
use crate::net::respond::Failure;
use wardian_formats::protocol::request_id::RequestId;
use wardian_formats::protocol::response::{self, ErrorBody};
use wardian_service::Caller;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::ErrorKind;

/// Lines that wait between the thread and the messages.
const WAITING: usize = 1;

/// Most requests that are answered at one time.
const MOST: usize = 64;

/// Where answers are written.
type Output = Arc<Mutex<dyn Write + Send>>;

/// The messages on the standard input and output.
struct Stdio {
    state: Arc<McpState>,
    lines: Receiver<Result<Line, LineFault>>,
    output: Output,
    /// The requests that are being answered, by their ids as JSON.
    requests: HashMap<String, Arc<McpExchange>>,
}

/// Serves the messages of `input` until its end.
///
/// # Errors
///
/// The thread that reads cannot be started.
pub(crate) async fn serve<I: BufRead + Send + 'static>(
    state: Arc<McpState>,
    mut input: I,
    output: impl Write + Send + 'static,
) -> std::io::Result<()> {
    let (sender, lines) = channel(WAITING);
    let budget = Arc::clone(&state.edge.budget);
    let largest = state.edge.bodies.largest();
    let reading = thread::Builder::new().name("mcp-input".to_owned());
    reading.spawn(move || {
        loop {
            let line = match next_line(&mut input, &budget, largest) {
                Ok(Some(line)) => Ok(line),
                Ok(None) => return,
                Err(fault) => Err(fault),
            };
            let is_last = matches!(line, Err(LineFault::Broken(_)));
            if sender.blocking_send(line).is_err() || is_last {
                return;
            }
        }
    })?;
    let server = McpServer::new(Arc::clone(&state));
    let output: Output = Arc::new(Mutex::new(output));
    let transport = Stdio { state, lines, output, requests: HashMap::new() };
    match Box::pin(serve_server(server, transport)).await {
        Ok(running) => {
            if let Err(fault) = running.waiting().await {
                error!("message handling was interrupted: {fault}");
            }
        }
        // The input has ended before the first request.
        Err(fault) => debug!("no client has initialized a session: {fault}"),
    }
    Ok(())
}

impl Transport<RoleServer> for Stdio {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        let id = match &message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let exchange = id.and_then(|id| self.requests.remove(&text_of(id)));
        let output = Arc::clone(&self.output);
        async move {
            write(&output, &message, exchange.as_deref());
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = match self.lines.recv().await? {
                Ok(line) => self.message(line),
                Err(fault) => {
                    let failure = Failure::of_kind(ErrorKind::TooLarge, fault.to_string());
                    Err((RequestId::Null, failure.body))
                }
            };
            match message {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err((id, body)) => self.refuse(id, *body),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        self.lines.close();
        std::future::ready(Ok(())).await
    }
}

impl Stdio {
    /// Reads a line; `None` if it is not a message that needs to be handled.
    fn message(
        &mut self,
        line: Line,
    ) -> Result<Option<ClientJsonRpcMessage>, (RequestId, Box<ErrorBody>)> {
        let CutMessage { rest, sort } = cut(&line.bytes)
            .map_err(|RefusedMessage { id, error }| (id, Box::new(error.body())))?;
        let (id, request) = match sort {
            MessageSort::Request(id, request) => (id, request),
            MessageSort::Cancellation(id) => {
                // The library answers it no more.
                self.requests.remove(&text_of(&id));
                return Ok(serde_json::from_slice(&rest).ok());
            }
            MessageSort::Notification => return Ok(serde_json::from_slice(&rest).ok()),
            MessageSort::Response => return Ok(None),
        };
        let size = line.bytes.len();
        let memory = CallMemory::holding(line.charge);
        drop(line.bytes);
        memory.shrink_to(size.saturating_mul(CALL_FACTOR));
        let refused = |body: ErrorBody| (id.clone(), Box::new(body));
        let exchange = self.begin(&id, request, &memory, rest.len()).map_err(refused)?;
        let unreadable = |_fault| {
            let error = MessageError::WrongMember { member: "params", expected: "of its form" };
            refused(error.body())
        };
        let mut message: ClientJsonRpcMessage =
            serde_json::from_slice(&rest).map_err(unreadable)?;
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(Arc::clone(&exchange));
        }
        self.requests.insert(text_of(&id), exchange);
        Ok(Some(message))
    }

    /// Begins to answer a request.
    fn begin(
        &self,
        id: &RequestId,
        request: IncomingRequest,
        memory: &CallMemory,
        rest: usize,
    ) -> Result<Arc<McpExchange>, ErrorBody> {
        let edge = &self.state.edge;
        let overloaded = |message: String| *Failure::overloaded(&message).body;
        if self.requests.contains_key(&text_of(id)) {
            let error = MessageError::WrongMember { member: "id", expected: "a new one" };
            return Err(error.body());
        }
        if self.requests.len() >= MOST {
            return Err(overloaded(format!("{MOST} requests are being answered")));
        }
        let caller = Caller::known_by(edge.next_request_id(), memory.of_call());
        if let Some(methods) = edge.readiness.methods() {
            let admitted = edge.admit(methods, &caller, CallCount::Due);
            admitted.map_err(|failure| *failure.body)?;
        }
        let room = caller.memory.reserve(memory_of(rest));
        room.map_err(|full| overloaded(full.to_string()))?;
        let order = match request {
            IncomingRequest::Call { tool, arguments } => Some(ToolOrder { tool, arguments }),
            IncomingRequest::Initialize | IncomingRequest::Other => None,
        };
        let exchange = McpExchange::new(caller, &edge.budget, order);
        exchange.map_err(|fault| overloaded(fault.to_string()))
    }

    fn refuse(&self, id: RequestId, body: ErrorBody) {
        let answer = response::Response::<()> { id, outcome: Err(body) };
        write(&self.output, &answer, None);
    }
}

/// Writes a message, with its contents laid in.
fn write(output: &Output, message: &impl Serialize, exchange: Option<&McpExchange>) {
    // What came from a guest stands in no message, only in its contents.
    let text = match serde_json::to_vec(message) {
        Ok(text) => text,
        Err(fault) => return error!("an answer cannot be written as JSON: {fault}"),
    };
    let mut output = output.lock();
    let mut has_failed = false;
    // A message is one line, whatever is laid in: breaks between the tokens of JSON become spaces.
    let mut out = |bytes: Bytes| {
        let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        has_failed |= lines.next().is_some_and(|line| output.write_all(line).is_err());
        has_failed |= lines.any(|line| write!(output, " ").and(output.write_all(line)).is_err());
    };
    match exchange {
        Some(exchange) => {
            let mut splicer = Splicer::new(Arc::clone(&exchange.splices));
            splicer.feed(text.into(), &mut out);
            splicer.finish(&mut out);
        }
        None => out(text.into()),
    }
    // The client has gone away; the end of the input follows.
    if has_failed || output.write_all(b"\n").is_err() || output.flush().is_err() {
        debug!("an answer was not read");
    }
}

/// An id as JSON: `1` and `"1"` are two.
fn text_of(id: &impl Serialize) -> String {
    serde_json::to_string(id).unwrap_or_default()
}
