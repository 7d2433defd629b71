//! Calls of tools while they are made: each of them is noted, however it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::caller::Caller;
use crate::sessions::asking::open_run::OpenRun;
use crate::sessions::asking::server_call::{BegunCall, ServerCall, ServerReply};
use crate::sessions::observed::SessionObserver;
use wardian_stores::records::RecordedToolCall;
use wardian_vocabulary::ids::SessionId;

/// The calls of a cell that are being made. Each is noted when it has ended, and those that are cut off when this is
/// dropped.
#[derive(Debug)]
pub(crate) struct BegunCalls<'a> {
    observer: SessionObserver,
    place: (&'a Caller, &'a SessionId),
    open: BTreeMap<u32, BegunCall>,
}

impl<'a> BegunCalls<'a> {
    /// These calls begin.
    pub(crate) fn of(
        observer: SessionObserver,
        place: (&'a Caller, &'a SessionId),
        calls: &[ServerCall],
    ) -> Self {
        let open = calls.iter().map(|call| (call.number, BegunCall::of(call))).collect();
        Self { observer, place, open }
    }

    /// A call has ended with this answer.
    pub(crate) fn end(&mut self, reply: &ServerReply) {
        if self.open.remove(&reply.number).is_some() {
            self.note(&reply.recorded);
        }
    }

    /// All that have not ended are cut off. Returns their answers.
    pub(crate) fn cut_off(&mut self) -> Vec<ServerReply> {
        let open = std::mem::take(&mut self.open);
        let replies: Vec<ServerReply> = open.values().map(BegunCall::cut_off).collect();
        for reply in &replies {
            self.note(&reply.recorded);
        }
        replies
    }

    fn note(&self, recorded: &RecordedToolCall) {
        let (caller, session) = self.place;
        self.observer.note_call(caller, session, recorded);
    }
}

impl Drop for BegunCalls<'_> {
    fn drop(&mut self) {
        self.cut_off();
    }
}

/// The calls of the caller's tools that end within a turn. Dropped, they are noted.
#[derive(Debug)]
pub(crate) struct EndedInTurn<'a> {
    observer: SessionObserver,
    place: (&'a Caller, &'a SessionId),
    open: Option<Arc<OpenRun>>,
}

impl<'a> EndedInTurn<'a> {
    /// Those of the turn that begins, if its caller hears it.
    pub(crate) const fn of(
        observer: SessionObserver,
        place: (&'a Caller, &'a SessionId),
        open: Option<Arc<OpenRun>>,
    ) -> Self {
        Self { observer, place, open }
    }
}

impl Drop for EndedInTurn<'_> {
    fn drop(&mut self) {
        let (caller, session) = self.place;
        for call in self.open.iter().flat_map(|open| open.take_ended()) {
            self.observer.note_call(caller, session, &call);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::session::asking::{JsonText, ToolRequest};
    use wardian_stores::audit::AuditLog;
    use wardian_telemetry::Metrics;
    use wardian_tools::ToolAnswer;
    use wardian_vocabulary::ids::Digest;

    fn call(number: u32) -> ServerCall {
        let arguments: JsonText = serde_json::from_str("{}").unwrap();
        let call = ToolRequest { name: "s.find".to_owned(), arguments };
        let (id, listed) = (format!("c1-r{number}"), Digest::of(b"find"));
        ServerCall { number, id, listed, call, approved_by: None }
    }

    #[test]
    fn calls_that_are_cut_off_are_noted_once() {
        let metrics = Metrics::new();
        let observer = SessionObserver::new(AuditLog::default(), Arc::clone(&metrics));
        let (caller, session) = (Caller::local("test"), SessionId::of_random(&[1; 16]));
        let calls = [call(1), call(2), call(3)];
        let mut begun = BegunCalls::of(observer, (&caller, &session), &calls);
        let value: JsonText = serde_json::from_str("null").unwrap();
        let answer = ToolAnswer { value: value.into_raw(), is_error: false };
        let reply = ServerReply::of(&BegunCall::of(&calls[1]), Ok(answer));
        begun.end(&reply);
        begun.end(&reply);
        let count = |end: &str| {
            let text = metrics.text().unwrap();
            let line = format!("wardian_tool_calls_total{{result=\"{end}\"}} ");
            let line = text.lines().find_map(|one| one.strip_prefix(&line)).unwrap();
            line.to_owned()
        };
        assert_eq!((count("answered"), count("failed")), ("1".to_owned(), "0".to_owned()));
        let replies = begun.cut_off();
        assert_eq!(replies.iter().map(|reply| reply.number).collect::<Vec<_>>(), [1, 3]);
        drop(begun);
        assert_eq!((count("answered"), count("failed")), ("1".to_owned(), "2".to_owned()));
        drop(BegunCalls::of(SessionObserver::default(), (&caller, &session), &calls));
    }
}
