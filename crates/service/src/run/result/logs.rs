//! `logs_preview`: the beginning and the end of a program's output and logs.

use crate::run::result::output::{head, tail};
use wardian_formats::job::outcome::{LogChunk, Logs};
use wardian_formats::protocol::methods::execution::MAX_LOGS_PREVIEW;

/// Bytes reserved for the line that counts the omitted bytes.
const OMISSION_LINE: usize = 64;

/// Returns the part of the logs that a result shows, and true if it is not all of them.
pub(crate) fn preview(logs: &Logs) -> (String, bool) {
    let total: usize = logs.chunks.iter().map(|chunk| chunk.text.len()).sum();
    if total <= MAX_LOGS_PREVIEW && logs.dropped == 0 {
        return (logs.chunks.iter().map(|chunk| chunk.text.as_str()).collect(), false);
    }
    let half = MAX_LOGS_PREVIEW.saturating_sub(OMISSION_LINE) / 2;
    let first = edge(logs.chunks.iter(), half, |text, room| head(text, room));
    if logs.dropped > 0 && !logs.ends.is_empty() {
        return (with_ends(logs, (total, half), &first.concat()), true);
    }
    let mut last = edge(logs.chunks.iter().rev(), half, |text, room| tail(text, room));
    last.reverse();
    let (first, last) = (first.concat(), last.concat());
    let shown = first.len().saturating_add(last.len());
    let kept = u64::try_from(total.saturating_sub(shown)).unwrap_or(u64::MAX);
    let cut = kept.saturating_add(logs.dropped);
    if total <= shown {
        // The two halves overlap or touch, so the kept logs are shown whole.
        let all: String = logs.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        return (format!("{all}\n[{cut} bytes left out]\n"), true);
    }
    (format!("{first}\n[{cut} bytes left out]\n{last}"), true)
}

/// The preview of logs that were full: the end is that of the output, which was not kept in between.
fn with_ends(logs: &Logs, (total, half): (usize, usize), first: &str) -> String {
    let room = half / logs.ends.len().max(1);
    let last: String = logs.ends.iter().map(|end| tail(&end.text, room)).collect();
    let shown = first.len().saturating_add(last.len());
    let all = u64::try_from(total).unwrap_or(u64::MAX).saturating_add(logs.dropped);
    let cut = all.saturating_sub(u64::try_from(shown).unwrap_or(u64::MAX));
    format!("{first}\n[{cut} bytes left out]\n{last}")
}

/// Takes pieces from one end of the logs, at most `room` bytes together.
fn edge<'a>(
    chunks: impl Iterator<Item = &'a LogChunk>,
    mut room: usize,
    cut: impl Fn(&'a str, usize) -> &'a str,
) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    for chunk in chunks {
        let piece = cut(&chunk.text, room);
        room = room.saturating_sub(piece.len());
        pieces.push(piece);
        if piece.len() < chunk.text.len() {
            break;
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::outcome::Stream;

    fn logs(texts: &[&str], dropped: u64) -> Logs {
        let chunk = |text: &&str| LogChunk { stream: Stream::Stdout, text: (*text).to_owned() };
        Logs { chunks: texts.iter().map(chunk).collect(), dropped, ends: Vec::new() }
    }

    #[test]
    fn short_logs_are_shown_whole() {
        assert_eq!(preview(&logs(&["one\n", "two\n"], 0)), ("one\ntwo\n".to_owned(), false));
        assert_eq!(preview(&Logs::default()), (String::new(), false));
    }

    #[test]
    fn long_logs_show_their_beginning_and_their_end() {
        let middle = "é".repeat(5_000);
        let (text, is_cut) = preview(&logs(&["start\n", &middle, "\nend\n"], 7));
        assert!(is_cut && text.len() <= MAX_LOGS_PREVIEW, "{}", text.len());
        assert!(text.starts_with("start\n") && text.ends_with("\nend\n"), "{text}");
        assert!(text.contains("bytes left out]"), "{text}");
    }

    #[test]
    fn what_was_dropped_is_counted() {
        let (text, is_cut) = preview(&logs(&["abc"], 1_000));
        assert_eq!((text.as_str(), is_cut), ("abc\n[1000 bytes left out]\n", true));
        let end = |stream, text: &str| LogChunk { stream, text: text.to_owned() };
        let ends = vec![end(Stream::Stdout, "THE END\n"), end(Stream::Stderr, &"e".repeat(7_000))];
        let (text, is_cut) = preview(&Logs { ends, ..logs(&["abc"], 10_000) });
        assert!(is_cut && text.len() <= MAX_LOGS_PREVIEW, "{}", text.len());
        assert!(text.starts_with("abc\n[") && text.contains("left out]\nTHE END\nee"), "{text}");
    }
}
