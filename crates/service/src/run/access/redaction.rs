//! Covers values of secrets in what a run leaves behind: its outcome, what it prints, what it
//! stores.

use std::sync::Arc;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::execute::log_stream::LogListener;
use wardian_dispatch::FinishedRun;
use wardian_formats::job::outcome::{LogChunk, Logs, RunFailure, Stream};
use wardian_stores::secrets::mask::Masks;
use wardian_stores::secrets::mask::stream::MaskStream;
use wardian_vocabulary::ids::BlobName;

/// Logs up to this size, in bytes, are redacted on the event loop: it takes less time than a switch
/// of threads.
const SMALL_LOGS: usize = 64 << 10;

/// Covers values in the outcome of a run that has secrets.
pub(crate) async fn covered(
    caller: &Caller,
    masks: Option<Arc<Masks>>,
    mut finished: FinishedRun,
) -> Result<FinishedRun, ServiceError> {
    let Some(masks) = masks else { return Ok(finished) };
    let size: usize = finished.outcome.logs.chunks.iter().map(|chunk| chunk.text.len()).sum();
    let cover = move || {
        cover_outcome(&masks, &mut finished);
        finished
    };
    match size <= SMALL_LOGS {
        true => Ok(cover()),
        false => caller.memory.on_thread(cover).await.map_err(ServiceError::Interrupted),
    }
}

/// Covers values in the logs, the failure and the names of files of a run.
fn cover_outcome(masks: &Masks, finished: &mut FinishedRun) {
    let outcome = &mut finished.outcome;
    cover_logs(masks, &mut outcome.logs);
    // They may begin in the middle of a value, which nobody recognises then.
    outcome.logs.ends.clear();
    // Names of functions are the program's, too. A profile that cannot be read is not shown.
    let covered = outcome.profile.take().map(|text| text.with_names(|name| masks.cover_text(name)));
    outcome.profile = covered.and_then(Result::ok);
    for file in &mut outcome.files.listed {
        masks.cover_text(&mut file.path);
        if let Some(problem) = &mut file.problem {
            masks.cover_text(problem);
        }
    }
    for (_, name) in &mut outcome.blob_names {
        let mut text = name.to_string();
        masks.cover_text(&mut text);
        // The replacement of a value has no letter that a name may not have.
        if let Ok(covered) = BlobName::parse(&text) {
            *name = covered;
        }
    }
    match &mut outcome.end {
        Err(RunFailure::Exception { class, message, traceback }) => {
            masks.cover_text(class);
            masks.cover_text(message);
            traceback.iter_mut().for_each(|text| masks.cover_text(text));
        }
        Err(RunFailure::MemoryLimit { traceback: Some(text), .. }) => masks.cover_text(text),
        Err(RunFailure::SandboxCrash { reason }) => masks.cover_text(reason),
        _ => {}
    }
}

/// Covers values in each stream, wherever it was cut, and in all of them as they are shown.
fn cover_logs(masks: &Masks, logs: &mut Logs) {
    let streams = [Stream::Stdout, Stream::Stderr, Stream::Log].map(Some);
    for wanted in streams.into_iter().chain([None]) {
        let is_wanted = |stream: Stream| wanted.is_none_or(|wanted| wanted == stream);
        let chunks = logs.chunks.iter_mut().filter(|chunk| is_wanted(chunk.stream));
        let mut texts: Vec<&mut String> = chunks.map(|chunk| &mut chunk.text).collect();
        let mut whole: Vec<u8> = texts.iter().flat_map(|text| text.bytes()).collect();
        if !masks.cover(&mut whole) {
            continue;
        }
        let mut rest = whole.as_slice();
        for text in &mut texts {
            let Some((piece, more)) = rest.split_at_checked(text.len()) else { break };
            **text = String::from_utf8_lossy(piece).into_owned();
            rest = more;
        }
    }
}

/// Forwards what a program prints while it runs, with values redacted.
#[derive(Debug)]
pub(crate) struct MaskedListener {
    listener: LogListener,
    streams: Option<[MaskStream; 3]>,
    masks: Option<Arc<Masks>>,
}

impl MaskedListener {
    pub(crate) fn new(listener: LogListener, masks: Option<&Arc<Masks>>) -> Self {
        let stream = |masks: &Arc<Masks>| MaskStream::new(Arc::clone(masks));
        let streams = masks.map(|masks| [(); 3].map(|()| stream(masks)));
        Self { listener, streams, masks: masks.cloned() }
    }

    pub(crate) fn hear(&mut self, mut printed: LogChunk) {
        let stream =
            self.streams.as_mut().and_then(|streams| streams.get_mut(slot(printed.stream)));
        if let Some(stream) = stream {
            let text = stream.push(printed.text.as_bytes());
            printed.text = String::from_utf8_lossy(&text).into_owned();
        }
        if let (Stream::Progress, Some(masks)) = (printed.stream, &self.masks) {
            masks.cover_text(&mut printed.text);
        }
        if !printed.text.is_empty() {
            self.listener.tell(printed);
        }
    }
}

const fn slot(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
        Stream::Log => 2,
        // Each report and each request is a whole.
        Stream::Progress | Stream::Request => 3,
    }
}

/// True for blobs of text, by their MIME types. Values are redacted only in these: in others they
/// are packed, or redaction would damage what is not a value.
pub(crate) fn is_text(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let texts = ["json", "xml", "yaml", "x-yaml", "toml", "csv", "sql", "javascript", "x-ndjson"];
    let texts = [&texts[..], &["jsonl", "x-sh", "x-www-form-urlencoded", "ld+json"]].concat();
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || kind.strip_prefix("application/").is_some_and(|name| texts.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::execute::log_stream::log_stream;
    use wardian_vocabulary::units::ByteCount;

    fn logs(chunks: &[(Stream, &str)]) -> Logs {
        let chunk = |(stream, text): &(Stream, &str)| LogChunk {
            stream: *stream,
            text: (*text).to_owned(),
        };
        Logs { chunks: chunks.iter().map(chunk).collect(), ..Logs::default() }
    }

    fn texts(logs: &Logs) -> Vec<&str> {
        logs.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
    }

    #[test]
    fn values_are_covered_across_pieces_and_between_streams() {
        let masks = Masks::hiding(["hunter2-hunter2"]).unwrap();
        let mut split = logs(&[
            (Stream::Stdout, "é hunter2-"),
            (Stream::Stderr, "other\n"),
            (Stream::Stdout, "hunter2 é"),
        ]);
        cover_logs(&masks, &mut split);
        assert_eq!(texts(&split), ["é ********", "other\n", "******* é"]);
        let mut mixed = logs(&[(Stream::Stdout, "hunter2"), (Stream::Stderr, "-hunter2")]);
        cover_logs(&masks, &mut mixed);
        assert_eq!(texts(&mixed), ["*******", "********"]);
    }

    #[tokio::test]
    async fn what_is_heard_while_it_is_printed_shows_no_value() {
        let (listener, mut heard) = log_stream(ByteCount::mebibytes(1));
        let masks = Arc::new(Masks::hiding(["hunter2"]).unwrap());
        let mut masked = MaskedListener::new(listener, Some(&masks));
        for (stream, text) in [
            (Stream::Stdout, "a hun"),
            (Stream::Stderr, "b\n"),
            (Stream::Progress, "{\"done\":1.0,\"message\":\"hunter2\"}"),
            (Stream::Stdout, "ter2 c\n"),
        ] {
            masked.hear(LogChunk { stream, text: text.to_owned() });
        }
        drop(masked);
        let mut texts = Vec::new();
        while let Some(chunk) = heard.next().await {
            texts.push(chunk.text);
        }
        let report = "{\"done\":1.0,\"message\":\"*******\"}";
        assert_eq!(texts, ["a ", "b\n", report, "******* c\n"]);
    }

    #[test]
    fn texts_are_known_by_their_types() {
        for kind in ["text/csv", "application/json", "application/vnd.x+json; charset=utf-8"] {
            assert!(is_text(kind), "{kind}");
        }
        for kind in ["image/png", "application/octet-stream", "application/zip"] {
            assert!(!is_text(kind), "{kind}");
        }
    }
}
