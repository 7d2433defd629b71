//! A connection on which each message is a line: requests, and one task that reads the answers.
//!
//! A line that is too long fails the request that it answers and is skipped. The connection ends if a server
//! sends too much that nobody asked for, or takes no bytes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::fault::Fault;
use crate::mcp::asked::ChangeMark;
use crate::mcp::message::{self, Message};

/// Bytes that a server may send between two answers, besides the longest line: notifications, for example.
const MAX_UNASKED: usize = 4 << 20;

/// How long a server may take to accept the answer to a request of its own.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);

type Answered = Result<Box<RawValue>, Fault>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// The connection. Dropping it ends its task, and closes both directions.
pub(crate) struct LineConnection {
    shared: Arc<Shared>,
    next: AtomicU64,
    reader: AbortHandle,
}

impl std::fmt::Debug for LineConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineConnection").finish_non_exhaustive()
    }
}

struct Shared {
    output: tokio::sync::Mutex<Option<Output>>,
    waiting: Mutex<Waiting>,
    change: Arc<ChangeMark>,
    longest: usize,
}

#[derive(Default)]
struct Waiting {
    requests: BTreeMap<u64, oneshot::Sender<Answered>>,
    is_closed: bool,
}

impl Drop for LineConnection {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// A request that waits; it is forgotten when this is dropped.
struct Place<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let forgotten = self.shared.waiting.lock().requests.remove(&self.id);
        drop(forgotten);
    }
}

impl LineConnection {
    /// Speaks with what is at the other end. A line has at most `longest` bytes.
    pub(crate) fn open(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        longest: usize,
        change: Arc<ChangeMark>,
    ) -> Self {
        let output: Output = Box::new(output);
        let shared = Arc::new(Shared {
            output: tokio::sync::Mutex::new(Some(output)),
            waiting: Mutex::default(),
            change,
            longest,
        });
        let reading = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            reading.read(BufReader::new(input)).await;
            reading.close();
            // The other end learns of it too.
            drop(reading.output.lock().await.take());
        });
        Self { shared, next: AtomicU64::new(1), reader: task.abort_handle() }
    }

    /// True if no request can be answered any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.shared.waiting.lock().is_closed
    }

    /// Sends a request and waits for its answer. After its deadline, the server is told to give up.
    pub(crate) async fn ask(&self, method: &str, params: &RawValue, deadline: Instant) -> Answered {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let line = message::request(id, method, params)?;
        let (answer, answered) = oneshot::channel();
        {
            let mut waiting = self.shared.waiting.lock();
            if waiting.is_closed {
                return Err(ended());
            }
            waiting.requests.insert(id, answer);
        }
        let _place = Place { shared: &self.shared, id };
        let sent = timeout_at(deadline, self.shared.write(&line)).await;
        sent.unwrap_or(Err(Fault::Late))?;
        match timeout_at(deadline, answered).await {
            Ok(answer) => answer.unwrap_or_else(|_closed| Err(ended())),
            Err(_elapsed) => {
                self.give_up(id).await;
                Err(Fault::Late)
            }
        }
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, params: &RawValue) -> Result<(), Fault> {
        self.shared.write(&message::notification(method, params)?).await
    }

    async fn give_up(&self, id: u64) {
        let params = RawValue::from_string(format!(r#"{{"requestId":{id}}}"#));
        if let Ok(params) = params {
            let told = self.notify("notifications/cancelled", &params);
            // A server that takes no bytes is not waited for: its next request is too late as well.
            drop(timeout(REPLY_TIMEOUT, told).await);
        }
    }
}

impl Shared {
    /// Writes a line. The output is taken out meanwhile: if this is dropped in the middle of a line, nothing is
    /// written behind it any more.
    async fn write(&self, line: &str) -> Result<(), Fault> {
        let mut place = self.output.lock().await;
        let Some(mut output) = place.take() else {
            drop(place);
            self.close();
            return Err(ended());
        };
        let bytes = [line.as_bytes(), b"\n"].concat();
        let written = output.write_all(&bytes).await;
        let written = match written {
            Ok(()) => output.flush().await,
            Err(error) => Err(error),
        };
        if written.is_err() {
            drop(place);
            self.close();
            return Err(ended());
        }
        *place = Some(output);
        Ok(())
    }

    /// Fails all requests that wait.
    fn close(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_closed = true;
        let requests = std::mem::take(&mut waiting.requests);
        drop(waiting);
        // Dropping a sender tells its receiver.
        drop(requests);
    }

    /// Reads lines until the end of the input, or until there is too much that nobody asked for.
    async fn read(&self, mut input: BufReader<impl AsyncRead + Unpin>) {
        let most = MAX_UNASKED.saturating_add(self.longest);
        let (mut line, mut skipped, mut unasked) = (Vec::new(), false, 0_usize);
        loop {
            let Ok(piece) = input.fill_buf().await else { return };
            if piece.is_empty() {
                return;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let used = part.len().saturating_add(usize::from(end.is_some()));
            unasked = unasked.saturating_add(used);
            // The beginning of a line that is too long is kept: it says what the line answers.
            let room = self.longest.saturating_sub(line.len());
            skipped |= part.len() > room;
            line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
            input.consume(used);
            if unasked > most {
                return;
            }
            if end.is_none() {
                continue;
            }
            let is_answer = match std::mem::take(&mut skipped) {
                true => self.fail_long(&line),
                false => self.take(&line).await,
            };
            if is_answer {
                unasked = 0;
            }
            line.clear();
        }
    }

    /// Takes a message. True if a request waited for it.
    async fn take(&self, line: &[u8]) -> bool {
        if line.trim_ascii().is_empty() {
            return false;
        }
        let message = match message::read(line) {
            Ok(message) => message,
            Err(fault) => return self.fail_broken(line, fault),
        };
        match message {
            Message::Answer { id: Some(id), outcome } => {
                let outcome = outcome.map(ToOwned::to_owned).map_err(Fault::from);
                self.answer(id, outcome)
            }
            Message::ListChanged => {
                self.change.set();
                false
            }
            Message::Request { id, method } => {
                let reply = message::answer_to(id, &method);
                drop(timeout(REPLY_TIMEOUT, self.write(&reply)).await);
                false
            }
            Message::Answer { id: None, .. } | Message::Other => false,
        }
    }

    /// Fails the request that a line answers of which only the beginning is there. If it does not say which one,
    /// each request that waits could be meant, and fails.
    fn fail_long(&self, line: &[u8]) -> bool {
        if let Some(id) = id_at_start(line) {
            return self.answer(id, Err(Fault::TooLarge));
        }
        let waiting = std::mem::take(&mut self.waiting.lock().requests);
        let is_awaited = !waiting.is_empty();
        for answer in waiting.into_values() {
            drop(answer.send(Err(Fault::TooLarge)));
        }
        is_awaited
    }

    /// Fails the request that a line answers which is no message: with `NaN` in it, for example. Other such lines
    /// may be meant for people.
    fn fail_broken(&self, line: &[u8], fault: Fault) -> bool {
        let is_object = line.trim_ascii_start().starts_with(b"{");
        let id = is_object.then(|| id_at_start(line)).flatten();
        id.is_some_and(|id| self.answer(id, Err(fault)))
    }

    /// Answers a request. False if none of this id waits: a late answer, or an id that was made up.
    fn answer(&self, id: u64, outcome: Answered) -> bool {
        let waiting = self.waiting.lock().requests.remove(&id);
        // A receiver that has gone away needs no answer.
        waiting.is_some_and(|answer| answer.send(outcome).is_ok())
    }
}

fn ended() -> Fault {
    Fault::broken("its server has ended the connection")
}

/// The id of an answer whose beginning this is, if it stands before the result, as servers write it.
fn id_at_start(line: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"\"id\":";
    let result = line.windows(8).position(|part| part == b"\"result\"");
    let head = line.get(..result.unwrap_or(line.len()).min(200))?;
    let at = head.windows(KEY.len()).position(|part| part == KEY)?;
    let rest = head.get(at.checked_add(KEY.len())?..)?.trim_ascii_start();
    let digits: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_digit).collect();
    std::str::from_utf8(&digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use tokio::io::{DuplexStream, duplex, split};

    use super::*;

    const LONGEST: usize = 1_000;

    /// A connection, and the end of its server.
    fn connection() -> (LineConnection, DuplexStream, Arc<ChangeMark>) {
        let (ours, theirs) = duplex(64 << 10);
        let (input, output) = split(ours);
        let change = Arc::<ChangeMark>::default();
        let connection = LineConnection::open(input, output, LONGEST, Arc::clone(&change));
        (connection, theirs, change)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(20)
    }

    fn none() -> Box<RawValue> {
        RawValue::from_string("{}".to_owned()).unwrap()
    }

    async fn answers(
        lines: &str,
    ) -> (Vec<Answered>, LineConnection, DuplexStream, Arc<ChangeMark>) {
        let (connection, mut server, change) = connection();
        server.write_all(lines.as_bytes()).await.unwrap();
        // Both requests are sent before the answers can be read, because there is one thread.
        let params = none();
        let (one, other) = tokio::join!(
            connection.ask("a", &params, soon()),
            connection.ask("b", &params, soon())
        );
        (vec![one, other], connection, server, change)
    }

    fn text(answered: &Answered) -> Option<&str> {
        answered.as_ref().ok().map(|result| result.get())
    }

    #[tokio::test]
    async fn answers_may_come_in_any_order_among_other_lines() {
        let lines = "starting...\n\n{\"id\":9,\"result\":0}\n\
            {\"method\":\"notifications/tools/list_changed\"}\n{\"id\":\"x\",\"method\":\"ping\"}\n\
            {\"id\":2,\"result\":\"b\"}\n{\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}\n";
        let (answered, connection, server, change) = answers(lines).await;
        assert_eq!(text(&answered[1]), Some("\"b\""));
        assert!(
            matches!(&answered[0], Err(Fault::Refused { code: -1, message }) if message == "no")
        );
        assert!(change.take() && !change.take() && !connection.is_closed());
        drop(server);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_costs_its_own_call() {
        let long =
            format!("{{\"jsonrpc\":\"2.0\",\"id\": 1,\"result\":\"{}\"}}\n", "x".repeat(5_000));
        let (answered, connection, ..) =
            answers(&format!("{long}{{\"id\":2,\"result\":1}}\n")).await;
        assert!(matches!(answered[0], Err(Fault::TooLarge)), "{:?}", answered[0]);
        assert_eq!(text(&answered[1]), Some("1"));
        assert!(!connection.is_closed());
    }

    #[tokio::test]
    async fn an_answer_that_is_no_json_fails_its_own_call() {
        for broken in [
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":1"#,
        ] {
            let lines = format!("id: 1\n{broken}\n{{\"id\":2,\"result\":1}}\n");
            let (answered, connection, ..) = answers(&lines).await;
            assert!(matches!(answered[0], Err(Fault::Broken(_))), "{broken}: {:?}", answered[0]);
            assert_eq!(text(&answered[1]), Some("1"));
            assert!(!connection.is_closed());
        }
    }

    #[tokio::test]
    async fn an_end_fails_all_that_wait() {
        let (connection, server, _) = connection();
        let params = none();
        let asking = connection.ask("a", &params, soon());
        let ending = async { drop(server) };
        let (answered, ()) = tokio::join!(asking, ending);
        assert!(matches!(answered, Err(Fault::Broken(_))), "{answered:?}");
        assert!(connection.ask("b", &params, soon()).await.is_err() && connection.is_closed());
    }

    #[tokio::test]
    async fn a_request_without_an_answer_is_given_up() {
        let (connection, server, _) = connection();
        let deadline = Instant::now() + Duration::from_millis(20);
        let params = none();
        assert!(matches!(connection.ask("a", &params, deadline).await, Err(Fault::Late)));
        let mut lines = BufReader::new(server).lines();
        assert!(lines.next_line().await.unwrap().unwrap().contains("\"method\":\"a\""));
        let given_up = lines.next_line().await.unwrap().unwrap();
        assert!(given_up.contains("notifications/cancelled"), "{given_up}");
        assert!(connection.shared.waiting.lock().requests.is_empty());
    }

    #[tokio::test]
    async fn a_server_that_never_stops_loses_its_connection() {
        let (connection, mut server, _) = connection();
        let piece = vec![b'x'; 64 << 10];
        while server.write_all(&piece).await.is_ok() {
            if connection.is_closed() {
                break;
            }
        }
        assert!(connection.is_closed() || connection.ask("a", &none(), soon()).await.is_err());
    }

    #[test]
    fn the_id_of_a_long_answer_is_before_its_result() {
        for (line, id) in [
            (&b"{\"jsonrpc\":\"2.0\",\"id\":12,\"result\":"[..], Some(12)),
            (b"{\"id\" :1".as_slice(), None),
            (b"{\"result\":{\"id\":3}}".as_slice(), None),
            (b"{\"id\":\"3\"".as_slice(), None),
            (b"".as_slice(), None),
        ] {
            assert_eq!(id_at_start(line), id);
        }
    }
}
