//! What the result of a script has in place of a value: its exit code, and both of its streams apart.
//!
//! A stream that is too long for a result is shown with its beginning and its end, and is stored as a blob.

use std::sync::Arc;

use tracing::debug;

use crate::caller::Caller;
use crate::run::result::output::{head, one_line, tail};
use wardian_formats::job::outcome::{Logs, RunFailure, RunOutcome, Stream};
use wardian_formats::protocol::methods::execution::RunError;
use wardian_stores::blobs::BlobStore;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// Longest part of a stream that a result shows, in bytes.
pub(super) const MAX_STREAM: usize = 16 << 10;

/// Bytes reserved for the line that counts the omitted bytes.
const OMISSION_LINE: usize = 192;

/// The class of the exception with which a script ends that has another exit code than 0.
const EXIT: &str = "SystemExit";

/// What precedes the exit code in the message of such an exception.
const CODE: &str = "exit code ";

/// What a script leaves beside its files.
#[derive(Debug, Default)]
pub(super) struct ScriptStreams {
    pub(super) exit_code: Option<u8>,
    pub(super) stdout: Option<String>,
    pub(super) stderr: Option<String>,
    /// The blobs of streams that were cut, with their names.
    stored: Vec<(BlobId, BlobName)>,
    /// The last line of the error stream.
    last_line: String,
}

/// Signals by which a process ends, by their names and numbers on Linux.
const SIGNALS: [(&str, u8); 12] = [
    ("SIGHUP", 1),
    ("SIGINT", 2),
    ("SIGQUIT", 3),
    ("SIGILL", 4),
    ("SIGABRT", 6),
    ("SIGFPE", 8),
    ("SIGKILL", 9),
    ("SIGUSR1", 10),
    ("SIGSEGV", 11),
    ("SIGPIPE", 13),
    ("SIGALRM", 14),
    ("SIGTERM", 15),
];

/// What shells add to the number of the signal by which a process has ended.
const BY_SIGNAL: u8 = 128;

impl ScriptStreams {
    /// Those of a script with this outcome; none of another program.
    pub(super) async fn of(
        blobs: &Arc<dyn BlobStore>,
        caller: &Caller,
        (is_script, outcome): (bool, &RunOutcome),
    ) -> Self {
        if !is_script {
            return Self::default();
        }
        let exit_code = exit_code(&outcome.end);
        let mut streams = Self { exit_code, ..Self::default() };
        let [stdout, stderr] =
            [Stream::Stdout, Stream::Stderr].map(|one| whole_with_end(&outcome.logs, one));
        let lost = outcome.logs.lost_line();
        let said = stderr.strip_suffix(lost.as_str()).unwrap_or(&stderr);
        let last = said.trim_end().lines().next_back().unwrap_or_default();
        streams.last_line = one_line(last);
        let dropped = outcome.logs.dropped;
        for (text, name) in [(stdout, "stdout.txt"), (stderr, "stderr.txt")] {
            let shown = streams.shown(blobs, caller, (text, name, dropped)).await;
            let stream =
                if name == "stdout.txt" { &mut streams.stdout } else { &mut streams.stderr };
            *stream = Some(shown);
        }
        streams
    }

    /// The end of the program. A script that ends its process with exit code 0 has completed.
    pub(super) fn ended(&self, end: Result<(), RunFailure>) -> Result<(), RunFailure> {
        if self.exit_code == Some(0) { Ok(()) } else { end }
    }

    /// Lists the blobs of streams, and their names.
    pub(super) fn name_stored(
        &mut self,
        written: &mut Vec<BlobId>,
        names: &mut Vec<(BlobId, BlobName)>,
    ) {
        self.stored.iter().for_each(|(id, _)| add_new(written, id));
        names.append(&mut self.stored);
    }

    /// The summary, the output, its blob, and the error of a script in its own words: the last line that it
    /// has written, and no frames, which its error stream has.
    pub(super) fn explained<T, B>(
        &self,
        (summary, output, blob, error): (String, T, B, Option<RunError>),
    ) -> (String, T, B, Option<RunError>) {
        let (Some(mut error), Some(_)) = (error.clone(), self.exit_code) else {
            return (summary, output, blob, error);
        };
        error.traceback = None;
        if error.error_type != EXIT || self.last_line.is_empty() {
            return (summary, output, blob, Some(error));
        }
        error.message = format!("{}: {}", error.message, self.last_line);
        (one_line(&error.message), output, blob, Some(error))
    }

    /// The part of a stream that a result shows. Stores the stream if that is not all of it.
    async fn shown(
        &mut self,
        blobs: &Arc<dyn BlobStore>,
        caller: &Caller,
        (text, name, dropped): (String, &str, u64),
    ) -> String {
        if text.len() <= MAX_STREAM {
            return text;
        }
        let half = MAX_STREAM.saturating_sub(OMISSION_LINE) / 2;
        let (first, last) = (head(&text, half).to_owned(), tail(&text, half).to_owned());
        let cut = text.len().saturating_sub(first.len()).saturating_sub(last.len());
        let stored = store(blobs, caller, text).await;
        let place = match (&stored, dropped) {
            (Some(id), 0) => format!("; {name} has all of them: {id}"),
            (Some(id), _) => format!("; {name} has more of them, up to the limit of logs: {id}"),
            (None, _) => String::new(),
        };
        self.stored.extend(stored.zip(BlobName::parse(name).ok()));
        format!("{first}\n[{cut} bytes left out{place}]\n{last}")
    }
}

/// Adds a blob, unless it is listed already.
pub(super) fn add_new(listed: &mut Vec<BlobId>, blob: &BlobId) {
    if !listed.contains(blob) {
        listed.push(blob.clone());
    }
}

/// Stores a stream. It is cut and not lost where that is impossible, and the run does not fail for it.
async fn store(blobs: &Arc<dyn BlobStore>, caller: &Caller, text: String) -> Option<BlobId> {
    caller.memory.reserve(ByteCount::from(text.len())).ok()?;
    let (blobs, tenant) = (Arc::clone(blobs), caller.tenant.clone());
    let kind = BlobKind::parse("text/plain").ok()?;
    let storing = async move { blobs.put(&tenant, &kind, text.into_bytes()).await };
    match caller.memory.on_task(storing).await.ok()? {
        Ok(blob) => Some(blob.id),
        Err(error) => {
            debug!("a stream of a script was not stored: {}", CauseChain(&error));
            None
        }
    }
}

/// The whole text of one stream, as far as it was kept.
fn whole(logs: &Logs, stream: Stream) -> String {
    logs.chunks.iter().filter(|chunk| chunk.stream == stream).map(|chunk| &*chunk.text).collect()
}

/// One stream as far as it was kept, with a line about what was lost, and its end behind that. Both
/// streams have one limit, and whichever came later has lost most.
fn whole_with_end(logs: &Logs, stream: Stream) -> String {
    let mut text = whole(logs, stream);
    if logs.dropped > 0 {
        text.push_str(&logs.lost_line());
        let ends = logs.ends.iter().filter(|end| end.stream == stream);
        ends.for_each(|end| text.push_str(&end.text));
    }
    text
}

/// The exit code of a script that ended so; none if it was stopped. It comes from the guest, as all that
/// the script says.
fn exit_code(end: &Result<(), RunFailure>) -> Option<u8> {
    match end {
        Ok(()) => Some(0),
        Err(RunFailure::Exception { class, message, .. }) if class == EXIT => {
            let Some((_, code)) = message.split_once(CODE) else {
                let signal = SIGNALS.iter().find(|(name, _)| message.ends_with(name));
                return signal.map(|(_, number)| BY_SIGNAL.saturating_add(*number));
            };
            let digits = code.split(|c: char| !c.is_ascii_digit()).next()?;
            // As a shell shows it.
            digits.parse::<u32>().ok().and_then(|code| u8::try_from(code & 0xFF).ok())
        }
        Err(RunFailure::Exception { class, .. }) if class == "KeyboardInterrupt" => {
            Some(BY_SIGNAL.saturating_add(2))
        }
        Err(RunFailure::Exception { .. }) => Some(1),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raised(class: &str, message: &str) -> Result<(), RunFailure> {
        let (class, message) = (class.to_owned(), message.to_owned());
        Err(RunFailure::Exception { class, message, traceback: None })
    }

    #[test]
    fn exit_codes_are_those_of_a_process() {
        for (end, expected) in [
            (Ok(()), Some(0)),
            (raised("SystemExit", "`scripts/a.py` ended with exit code 2"), Some(2)),
            (raised("SystemExit", "the program ended its process with exit code 300"), Some(44)),
            (raised("SystemExit", "the program ended itself with SIGTERM"), Some(143)),
            (raised("KeyboardInterrupt", ""), Some(130)),
            (raised("SystemExit", "exit code x"), None),
            (raised("ValueError", "exit code 9"), Some(1)),
            (Err(RunFailure::Cancelled), None),
            (Err(RunFailure::StackOverflow), None),
        ] {
            assert_eq!(exit_code(&end), expected, "{end:?}");
        }
    }

    #[test]
    fn a_stream_beyond_the_limit_has_its_end() {
        use wardian_formats::job::outcome::LogChunk;

        let chunk = |stream, text: &str| LogChunk { stream, text: text.to_owned() };
        let mut logs = Logs {
            chunks: vec![chunk(Stream::Stdout, "begin")],
            dropped: 1_000,
            ends: vec![chunk(Stream::Stderr, "ValueError: x\n")],
        };
        let line =
            "\n[986 bytes of both streams together are beyond the limit of logs, and lost]\n";
        assert_eq!(whole_with_end(&logs, Stream::Stdout), format!("begin{line}"));
        assert_eq!(whole_with_end(&logs, Stream::Stderr), format!("{line}ValueError: x\n"));
        (logs.dropped, logs.ends) = (0, Vec::new());
        assert_eq!(whole_with_end(&logs, Stream::Stdout), "begin");
        // What is shown of a long stream has the line and what follows it.
        assert!(Logs::MAX_END + line.len() + OMISSION_LINE < MAX_STREAM / 2);
    }

    #[test]
    fn a_process_that_ends_itself_with_0_has_completed() {
        let ended = |exit_code| {
            let streams = ScriptStreams { exit_code, ..ScriptStreams::default() };
            streams.ended(raised("SystemExit", "the program ended its process with exit code 0"))
        };
        assert_eq!(ended(Some(0)), Ok(()));
        assert!(ended(Some(1)).is_err() && ended(None).is_err());
    }

    #[test]
    fn an_error_has_the_last_line_of_the_script() {
        let error = |class: &str| RunError {
            error_type: class.to_owned(),
            message: "ended with exit code 2".to_owned(),
            traceback: Some("frames".to_owned()),
        };
        let streams = ScriptStreams {
            exit_code: Some(2),
            last_line: "a.py: error: no file".to_owned(),
            ..ScriptStreams::default()
        };
        let explained = |streams: &ScriptStreams, class| {
            let (summary, _, _, error) =
                streams.explained(("s".to_owned(), (), (), Some(error(class))));
            (summary, error.unwrap())
        };
        let (summary, exit) = explained(&streams, "SystemExit");
        assert_eq!(exit.message, "ended with exit code 2: a.py: error: no file");
        assert_eq!((summary.as_str(), exit.traceback), (exit.message.as_str(), None));
        let (summary, other) = explained(&streams, "ValueError");
        assert_eq!((other.message.as_str(), summary.as_str()), ("ended with exit code 2", "s"));
        let (_, timeout) = explained(&ScriptStreams::default(), "Timeout");
        assert!(timeout.traceback.is_some());
    }
}
