//! The answer to a run as a stream of events, for a client that accepts `text/event-stream`: what
//! the program prints and asks, how far it is, and at last the response.
//!
//! The run has a separate task, so a client that reads slowly does not slow it down. Dropping the
//! body, as a connection does when its client leaves, cancels the run.

use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::body::{Body as HttpBody, Frame};
use serde::Serialize;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout_at};
use tracing::error;

use crate::http::edge::Edge;
use crate::net::answer::Answer;
use crate::net::respond::{Failure, empty};
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::request_id::RequestId;
use wardian_formats::protocol::response::{self, ErrorBody};
use wardian_service::{Heard, LogChunk, LogStream, ProgressReport, Stream};
use wardian_vocabulary::budget::{CallMemory, Charge, MemoryBudget};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::units::ByteCount;

/// The media type of the answer.
const EVENT_STREAM: &str = "text/event-stream";

/// Maximum number of bytes of output that wait for a client.
pub(crate) const WAITING: ByteCount = ByteCount::kibibytes(64);

/// The time after which the answer begins even if nothing was printed. A call that is refused
/// before has its error as the answer, with its status.
const FIRST_EVENT: Duration = Duration::from_secs(1);

/// The interval of comments in the stream, which keep proxies from closing it.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The end of a run.
pub(crate) type RunEnd = Result<MethodResult, Failure>;

/// A run whose output a client reads along.
pub(crate) struct ListenedRun {
    /// What the request, and the output that waits, are charged to.
    pub memory: CallMemory,
    pub id: RequestId,
    pub request_id: String,
    pub task: JoinHandle<RunEnd>,
    pub logs: LogStream,
}

/// True if the client accepts events.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    headers.get_all(header::ACCEPT).iter().any(|value| {
        let ranges = value.to_str().unwrap_or_default().split(',');
        let mut kinds = ranges.map(|range| range.split(';').map(str::trim));
        kinds.any(|mut range| {
            range.next().is_some_and(|kind| kind.eq_ignore_ascii_case(EVENT_STREAM))
                && !range
                    .any(|parameter| ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains(&parameter))
        })
    })
}

/// Answers with the events of a run. If the run is refused at once, the answer is its error.
pub(crate) async fn answer<M: Send + Sync + 'static>(
    edge: &Arc<Edge<M>>,
    run: ListenedRun,
) -> Response {
    let ListenedRun { memory, id, request_id, task, mut logs } = run;
    let mut task = AbortOnDrop(task);
    let begins = Instant::now() + FIRST_EVENT;
    let first = timeout_at(begins, logs.heard()).await.ok().flatten();
    let end = match first {
        Some(_) => None,
        // Nothing is printed any more, or nothing was printed for a while.
        None => timeout_at(begins, &mut task.0).await.ok(),
    };
    let end = end.map(|ended| end_of(ended, &request_id));
    let end = match end {
        Some(Err(failure)) => return failure.into_response(id, &request_id),
        other => other,
    };
    let mut answer = empty(StatusCode::OK, &request_id);
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    // nginx would collect the events otherwise.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    let mut keep_alive = interval(KEEP_ALIVE);
    keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    keep_alive.reset();
    let budget = Arc::clone(&edge.budget);
    let first = first.and_then(|heard| event_of(&heard));
    let state = State::Running { task, end: end.map(Box::new) };
    let id = Some(id);
    let body =
        RunEvents { logs, first, state, id, request_id, budget, keep_alive, _memory: memory };
    *answer.body_mut() = Body::new(body);
    answer
}

/// The end of the task of a run.
fn end_of(ended: Result<RunEnd, JoinError>, request_id: &str) -> RunEnd {
    ended.unwrap_or_else(|fault| {
        error!(request.id = request_id, "the task of a run broke: {fault}");
        Err(Failure::of_kind(ErrorKind::Internal, "internal error"))
    })
}

/// A task that is cancelled when nobody waits for it.
struct AbortOnDrop(JoinHandle<RunEnd>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of the answer.
struct RunEvents {
    logs: LogStream,
    /// The event that the answer begins with.
    first: Option<Bytes>,
    state: State,
    id: Option<RequestId>,
    request_id: String,
    /// What the response is charged to.
    budget: Arc<MemoryBudget>,
    keep_alive: Interval,
    _memory: CallMemory,
}

enum State {
    Running {
        task: AbortOnDrop,
        end: Option<Box<RunEnd>>,
    },
    /// The parts of the last event, the next one at the end.
    Ending(Vec<Bytes>),
}

impl RunEvents {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        while let State::Running { task, end } = &mut self.state {
            match self.logs.poll_heard(cx) {
                Poll::Ready(Some(heard)) => match event_of(&heard) {
                    Some(event) => {
                        self.keep_alive.reset();
                        return Poll::Ready(Some(event));
                    }
                    None => continue,
                },
                // The run has told everything, or has not told anything new.
                Poll::Ready(None) | Poll::Pending => {}
            }
            if end.is_none() {
                if let Poll::Ready(ended) = Pin::new(&mut task.0).poll(cx) {
                    *end = Some(Box::new(end_of(ended, &self.request_id)));
                    // It may have printed since the last look.
                    continue;
                }
                ready!(self.keep_alive.poll_tick(cx));
                return Poll::Ready(Some(Bytes::from_static(b": the program runs\n\n")));
            }
            let (Some(end), Some(id)) = (end.take(), self.id.take()) else { break };
            self.state = State::Ending(self.last_event(id, *end));
        }
        match &mut self.state {
            State::Ending(parts) => Poll::Ready(parts.pop()),
            State::Running { .. } => Poll::Ready(None),
        }
    }

    /// The parts of the event with the response, the first one at the end.
    fn last_event(&self, id: RequestId, end: RunEnd) -> Vec<Bytes> {
        let mut answer = Answer::charged_to(Charge::none(&self.budget));
        let response = response::Response { id, outcome: end.map_err(|failure| *failure.body) };
        if answer.write_json(&response).is_err() {
            let message = "the result does not fit into memory, or cannot be written; the call was \
                           executed";
            let body: ErrorBody = *Failure::of_kind(ErrorKind::Overloaded, message).body;
            let response = response::Response::<()> { id: response.id, outcome: Err(body) };
            if answer.write_json(&response).is_err() {
                error!(request.id = self.request_id, "a response cannot be written as JSON");
                return Vec::new();
            }
        }
        let mut parts = vec![Bytes::from_static(b"\n\n"), answer.into_bytes()];
        parts.push(Bytes::from_static(b"event: response\ndata: "));
        let left_out = self.logs.take_left_out();
        if left_out > 0 {
            parts.extend(event("left_out", &LeftOut { bytes: left_out }));
        }
        parts
    }
}

impl HttpBody for RunEvents {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.poll_event(cx).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Output that did not reach the client, because it read too slowly.
#[derive(Serialize)]
struct LeftOut {
    bytes: u64,
}

/// Output of the program.
#[derive(Serialize)]
struct Printed<'a> {
    stream: &'static str,
    text: &'a str,
}

fn event_of(heard: &Heard) -> Option<Bytes> {
    match heard {
        Heard::Printed(chunk) => output_of(chunk),
        Heard::Asked(request) => Some(event_with("request", request)),
    }
}

fn output_of(chunk: &LogChunk) -> Option<Bytes> {
    let stream = match chunk.stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Log => "log",
        // The service tells these itself, once it has checked them.
        Stream::Request => return None,
        Stream::Progress => {
            return ProgressReport::read(&chunk.text).and_then(|report| event("progress", &report));
        }
    };
    event("output", &Printed { stream, text: &chunk.text })
}

/// An event whose data is JSON, which has no line breaks.
fn event(name: &str, data: &impl Serialize) -> Option<Bytes> {
    Some(event_with(name, &serde_json::to_string(data).ok()?))
}

/// An event whose data is this text, which has no line breaks.
fn event_with(name: &str, data: &str) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_sent_to_clients_that_accept_them() {
        for (accept, expected) in [
            ("text/event-stream", true),
            ("application/json, Text/Event-Stream;q=0.9", true),
            ("application/json", false),
            ("*/*", false),
            ("text/event-stream;q=0", false),
            ("text/event-streams", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepts_events(&headers), expected, "{accept}");
        }
        assert!(!accepts_events(&HeaderMap::new()));
    }

    #[test]
    fn nothing_that_is_printed_ends_an_event() {
        let text = "a\n\nevent: response\ndata: {}\r\n\n\u{2028}".to_owned();
        let printed = Heard::Printed(LogChunk { stream: Stream::Stdout, text });
        let event = event_of(&printed).unwrap();
        let lines: Vec<_> = event.split(|byte| b"\r\n".contains(byte)).collect();
        assert_eq!(lines.iter().filter(|line| !line.is_empty()).count(), 2, "{event:?}");
        let chunk = |text: &str| {
            Heard::Printed(LogChunk { stream: Stream::Progress, text: text.to_owned() })
        };
        assert_eq!(event_of(&chunk("{\"done\": -1}")), None);
        assert_eq!(event_of(&chunk("{}")), None);
        let event = event_of(&chunk("{\"done\": 1, \"message\": \"a\\nb\"}")).unwrap();
        assert_eq!(event, "event: progress\ndata: {\"done\":1.0,\"message\":\"a b\"}\n\n");
        let event = event_of(&Heard::Asked("{\"id\":\"c1-r1\"}".into())).unwrap();
        assert_eq!(event, "event: request\ndata: {\"id\":\"c1-r1\"}\n\n");
    }
}
