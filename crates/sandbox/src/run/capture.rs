//! Keeps the output of a guest up to a limit. A write never fails.
//!
//! INVARIANT(bounded-logs): the kept output takes no more memory than a small multiple of the
//! limit, even if the guest alternates between streams.

use std::fmt;
use std::time::{Duration, Instant};

use wardian_formats::job::host::OutputListener;
use wardian_formats::job::outcome::{LogChunk, Logs, ProgressReport, Stream};
use wardian_vocabulary::units::ByteCount;

/// The cost of each change of stream, in bytes of the limit: a separate piece of output takes
/// memory besides its text. Otherwise a guest that writes single bytes to stdout and stderr in
/// turns would turn a mebibyte of output into fifty mebibytes of bookkeeping.
const SWITCH_COST: usize = 64;

/// The level of a line of the guest's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GuestLogLevel {
    /// For the author of the code.
    Debug,
    /// Progress.
    Info,
    /// Something unexpected that the run survived.
    Warning,
    /// Something failed.
    Error,
}

impl GuestLogLevel {
    /// The level that the guest's byte stands for; anything unknown counts as an error.
    #[must_use]
    pub(crate) const fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Debug,
            1 => Self::Info,
            2 => Self::Warning,
            _ => Self::Error,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Consecutive bytes of one stream.
#[derive(Debug, Clone, Copy)]
struct Piece {
    stream: Stream,
    len: usize,
}

/// Longest text that a listener gets at once, in bytes.
const MAX_TOLD: usize = 16 << 10;

/// The number of pieces that a listener gets without delay. Later it gets pieces of [`ENOUGH`]
/// bytes, or the pending text [`PAUSE`] after the last piece, so that it does not slow printing
/// down.
const BURST: u32 = 1_000;
const ENOUGH: usize = 4 << 10;
const PAUSE: Duration = Duration::from_millis(50);

/// Sends the kept output to a listener.
struct Telling {
    listener: OutputListener,
    begun: [Begun; 3],
    /// Text that was not sent yet, all of one stream.
    stream: Stream,
    pending: String,
    told: u32,
    last: Instant,
    /// The progress reports that were delivered, and the time of the last one.
    reports: u32,
    reported: Option<Instant>,
    /// The newest report, if it was not told.
    untold: Option<ProgressReport>,
}

impl Telling {
    /// Tells a report, unless the last one is so recent that nobody could have read it.
    fn report(&mut self, report: &ProgressReport) {
        let is_last = report.total.is_some_and(|total| report.done >= total);
        let pause = if is_last { PAUSE / 10 } else { PAUSE };
        let is_soon = self.reported.is_some_and(|reported| reported.elapsed() < pause);
        if is_soon {
            self.untold = Some(report.clone());
        } else {
            self.tell_report(report);
        }
    }

    fn tell_report(&mut self, report: &ProgressReport) {
        self.untold = None;
        if self.reports >= ProgressReport::MOST {
            return;
        }
        let Ok(text) = serde_json::to_string(report) else { return };
        self.reports = self.reports.saturating_add(1);
        self.reported = Some(Instant::now());
        // What was printed before comes before.
        self.tell();
        (self.listener)(LogChunk { stream: Stream::Progress, text });
    }

    fn hear(&mut self, stream: Stream, bytes: &[u8]) {
        if stream != self.stream {
            self.tell();
            self.stream = stream;
        }
        if let Some(begun) = self.begun.get_mut(slot(stream)) {
            begun.decode(bytes, &mut self.pending);
        }
        if self.told < BURST || self.pending.len() >= ENOUGH || self.last.elapsed() >= PAUSE {
            self.tell();
        }
    }

    /// Tells what was held back, and of output beyond the limit how much is lost, and the ends.
    fn finish(&mut self, logs: &Logs) {
        self.tell();
        if logs.dropped > 0 {
            (self.listener)(LogChunk { stream: Stream::Stderr, text: logs.lost_line() });
            logs.ends.iter().for_each(|end| (self.listener)(end.clone()));
        }
        if let Some(report) = self.untold.take() {
            self.tell_report(&report);
        }
    }

    fn tell(&mut self) {
        let mut rest = self.pending.as_str();
        while !rest.is_empty() {
            let (piece, later) =
                rest.split_at_checked(rest.floor_char_boundary(MAX_TOLD)).unwrap_or((rest, ""));
            (self.listener)(LogChunk { stream: self.stream, text: piece.to_owned() });
            self.told = self.told.saturating_add(1);
            rest = later;
        }
        self.pending.clear();
        self.last = Instant::now();
    }
}

/// The guest's output so far.
pub struct Capture {
    /// The bytes of all pieces, one after the other.
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// The rest of the limit.
    left: usize,
    dropped: u64,
    /// The last bytes beyond the limit, of the standard output and the error stream.
    ends: [Vec<u8>; 2],
    telling: Option<Telling>,
}

impl Capture {
    /// An empty capture that keeps `limit` bytes.
    #[must_use]
    pub fn new(limit: ByteCount) -> Self {
        Self {
            bytes: Vec::new(),
            pieces: Vec::new(),
            left: limit.as_usize(),
            dropped: 0,
            ends: [Vec::new(), Vec::new()],
            telling: None,
        }
    }

    /// Sends the kept output to `listener` from now on.
    pub(crate) fn tell(&mut self, listener: OutputListener) {
        self.telling = Some(Telling {
            listener,
            begun: [Begun::default(); 3],
            stream: Stream::Stdout,
            pending: String::new(),
            told: 0,
            last: Instant::now(),
            reports: 0,
            reported: None,
            untold: None,
        });
    }

    /// Takes output of one stream: keeps what fits and counts the rest.
    pub(crate) fn write(&mut self, stream: Stream, output: &[u8]) {
        if output.is_empty() {
            return;
        }
        let continues = self.pieces.last().is_some_and(|piece| piece.stream == stream);
        let room = if continues { self.left } else { self.left.saturating_sub(SWITCH_COST) };
        let kept = output.get(..room.min(output.len())).unwrap_or_default();
        let dropped = output.len().saturating_sub(kept.len());
        self.dropped = self.dropped.saturating_add(u64::try_from(dropped).unwrap_or(u64::MAX));
        if dropped > 0 {
            // Later output must not look as if it followed the kept part.
            self.left = 0;
            if let Some(end) = self.ends.get_mut(slot(stream)) {
                keep_end(end, output.get(kept.len()..).unwrap_or_default());
            }
        } else {
            self.left = room.saturating_sub(kept.len());
        }
        if kept.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(kept);
        match self.pieces.last_mut() {
            Some(piece) if continues => piece.len = piece.len.saturating_add(kept.len()),
            _ => self.pieces.push(Piece { stream, len: kept.len() }),
        }
        if let Some(telling) = &mut self.telling {
            telling.hear(stream, kept);
        }
    }

    /// Tells the listener how far the program is, if there is one.
    pub(crate) fn progress(&mut self, report: &ProgressReport) {
        if let Some(telling) = &mut self.telling {
            telling.report(report);
        }
    }

    /// True if somebody hears what the program does while it goes on.
    pub(crate) const fn is_heard(&self) -> bool {
        self.telling.is_some()
    }

    /// Tells the listener what the program asks of its caller, if there is one.
    pub(crate) fn request(&mut self, text: &str) {
        if let Some(telling) = &mut self.telling {
            // What was printed before comes before.
            telling.tell();
            (telling.listener)(LogChunk { stream: Stream::Request, text: text.to_owned() });
        }
    }

    /// Takes one line of the guest's log. Line breaks within it are indented, so that a line that
    /// starts with a level is always the start of a message.
    pub(crate) fn log(&mut self, level: GuestLogLevel, message: &str) {
        let mut text = format!("[{}] ", level.name());
        for (number, line) in message.lines().enumerate() {
            if number > 0 {
                text.push_str("\n    ");
            }
            text.push_str(line);
        }
        text.push('\n');
        self.write(Stream::Log, text.as_bytes());
    }

    /// Everything that was kept, as text, in the order in which it was written. The listener gets
    /// what was held back.
    ///
    /// Bytes that are not UTF-8 become U+FFFD. A character that was written in parts, even with
    /// output of another stream in between, is kept at the position of its last part.
    #[must_use]
    pub fn into_logs(mut self) -> Logs {
        let mut chunks: Vec<LogChunk> = Vec::with_capacity(self.pieces.len());
        let mut begun = [Begun::default(); 3];
        let mut dropped = self.dropped;
        let mut rest = self.bytes.as_slice();
        for piece in &self.pieces {
            let (bytes, later) = rest.split_at_checked(piece.len).unwrap_or((rest, &[]));
            rest = later;
            let mut text = String::with_capacity(bytes.len().saturating_add(4));
            if let Some(begun) = begun.get_mut(slot(piece.stream)) {
                begun.decode(bytes, &mut text);
            }
            push(&mut chunks, piece.stream, &text);
        }
        for stream in [Stream::Stdout, Stream::Stderr, Stream::Log] {
            let Some(begun) = begun.get(slot(stream)) else { continue };
            if dropped > 0 {
                // The limit cut the character, not the guest.
                dropped = dropped.saturating_add(u64::try_from(begun.len).unwrap_or(u64::MAX));
            } else if begun.len > 0 {
                push(&mut chunks, stream, "\u{fffd}");
            }
        }
        let ends = [Stream::Stdout, Stream::Stderr].into_iter().zip(&self.ends);
        let ends = ends.map(|(stream, bytes)| LogChunk { stream, text: end_text(bytes) });
        let ends = ends.filter(|end| !end.text.is_empty()).collect();
        let logs = Logs { chunks, dropped, ends };
        if let Some(telling) = &mut self.telling {
            telling.finish(&logs);
        }
        logs
    }
}

/// Prints sizes only: the output belongs to a tenant.
impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("kept", &self.bytes.len())
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}

/// Adds output to the last bytes of a stream, of which some more than [`Logs::MAX_END`] are kept.
fn keep_end(end: &mut Vec<u8>, output: &[u8]) {
    let last = output.get(output.len().saturating_sub(Logs::MAX_END)..).unwrap_or(output);
    if end.len().saturating_add(last.len()) > Logs::MAX_END.saturating_mul(2) {
        end.drain(..end.len().saturating_sub(Logs::MAX_END));
    }
    end.extend_from_slice(last);
}

/// The last bytes of a stream as text, from the beginning of a character on.
fn end_text(bytes: &[u8]) -> String {
    let last = bytes.get(bytes.len().saturating_sub(Logs::MAX_END)..).unwrap_or(bytes);
    let begin = last.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    let text = String::from_utf8_lossy(last.get(begin..).unwrap_or_default());
    // The replacement of a byte is longer than it.
    text.get(text.ceil_char_boundary(text.len().saturating_sub(Logs::MAX_END))..)
        .unwrap_or_default()
        .to_owned()
}

/// Adds text, to the last chunk if that is of the same stream.
fn push(chunks: &mut Vec<LogChunk>, stream: Stream, text: &str) {
    match chunks.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.stream == stream => last.text.push_str(text),
        _ => chunks.push(LogChunk { stream, text: text.to_owned() }),
    }
}

const fn slot(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
        Stream::Log => 2,
        // They are not kept.
        Stream::Progress | Stream::Request => 3,
    }
}

/// The first bytes of a character whose other bytes have not been written yet.
#[derive(Debug, Clone, Copy, Default)]
struct Begun {
    bytes: [u8; 4],
    len: usize,
}

impl Begun {
    /// Decodes the begun character together with `bytes`, and keeps an incomplete one at their end.
    fn decode(&mut self, bytes: &[u8], text: &mut String) {
        let mut rest = bytes;
        // Complete the character byte by byte, until it is whole or cannot become whole.
        while self.len > 0 {
            let Some((&next, later)) = rest.split_first() else { return };
            let mut longer = *self;
            longer.push(next);
            match std::str::from_utf8(longer.as_slice()) {
                Ok(character) => {
                    text.push_str(character);
                    self.len = 0;
                    rest = later;
                }
                Err(error) if error.error_len().is_none() => {
                    *self = longer;
                    rest = later;
                }
                Err(_) => {
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.len = 0;
                }
            }
        }
        let mut chunks = rest.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            let is_begun = chunks.peek().is_none()
                && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            if is_begun {
                invalid.iter().for_each(|&byte| self.push(byte));
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len = self.len.saturating_add(1);
        }
    }

    fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(stream: Stream, text: &str) -> LogChunk {
        LogChunk { stream, text: text.to_owned() }
    }

    fn captured(limit: u64, writes: &[(Stream, &[u8])]) -> Logs {
        let mut capture = Capture::new(ByteCount::bytes(limit));
        for (stream, output) in writes {
            capture.write(*stream, output);
        }
        capture.into_logs()
    }

    #[test]
    fn output_is_kept_in_order_and_joined_by_stream() {
        let logs = captured(
            1000,
            &[
                (Stream::Stdout, b"a"),
                (Stream::Stdout, b"b\n"),
                (Stream::Stderr, b"c"),
                (Stream::Stdout, b""),
                (Stream::Stderr, b"d"),
                (Stream::Stdout, b"e"),
            ],
        );
        let expected = [
            chunk(Stream::Stdout, "ab\n"),
            chunk(Stream::Stderr, "cd"),
            chunk(Stream::Stdout, "e"),
        ];
        assert_eq!(logs, Logs { chunks: expected.to_vec(), ..Logs::default() });
    }

    #[test]
    fn output_beyond_the_limit_is_counted_and_dropped() {
        let logs = captured(64 + 4, &[(Stream::Stdout, b"abcdef"), (Stream::Stderr, b"xyz")]);
        let ends = vec![chunk(Stream::Stdout, "ef"), chunk(Stream::Stderr, "xyz")];
        assert_eq!(logs, Logs { chunks: vec![chunk(Stream::Stdout, "abcd")], dropped: 5, ends });
        let nothing = captured(0, &[(Stream::Stdout, b"abc")]);
        let ends = vec![chunk(Stream::Stdout, "abc")];
        assert_eq!(nothing, Logs { chunks: vec![], dropped: 3, ends });
    }

    #[test]
    fn nothing_follows_a_gap() {
        let writes: [(Stream, &[u8]); 2] = [(Stream::Stdout, &[b'x'; 100]), (Stream::Stdout, b"y")];
        assert_eq!(captured(64 + 99, &writes).chunks, [chunk(Stream::Stdout, &"x".repeat(99))]);
    }

    #[test]
    fn characters_written_in_parts_are_whole() {
        let snowman = "☃".as_bytes();
        let logs = captured(
            1000,
            &[
                (Stream::Stdout, &snowman[..1]),
                (Stream::Stderr, "é".as_bytes()),
                (Stream::Stdout, &snowman[1..2]),
                (Stream::Stdout, &snowman[2..]),
                (Stream::Stdout, b"\xff\xe2\x98!\xf0\x9f"),
            ],
        );
        let expected =
            [chunk(Stream::Stderr, "é"), chunk(Stream::Stdout, "☃\u{fffd}\u{fffd}!\u{fffd}")];
        assert_eq!(logs.chunks, expected);
    }

    #[test]
    fn a_character_cut_by_the_limit_is_dropped() {
        let logs = captured(64 + 3, &[(Stream::Stdout, "ab☃".as_bytes())]);
        let chunks = vec![chunk(Stream::Stdout, "ab")];
        assert_eq!(logs, Logs { chunks, dropped: 3, ends: Vec::new() });
    }

    #[test]
    fn the_end_of_each_stream_is_kept() {
        let mut capture = Capture::new(ByteCount::bytes(100));
        for number in 0..100_000 {
            capture.write(Stream::Stdout, format!("{number} \u{2603}\n").as_bytes());
        }
        capture.write(Stream::Stdout, &[0xE2; Logs::MAX_END / 2]);
        capture.write(Stream::Stderr, b"Traceback\nValueError: x\n");
        capture.log(GuestLogLevel::Info, "not kept");
        assert!(capture.ends.iter().all(|end| end.capacity() <= 4 * Logs::MAX_END));
        let Logs { chunks, ends, .. } = capture.into_logs();
        let kept: usize = chunks.iter().map(|chunk| chunk.text.len()).sum();
        assert!(kept <= 100, "{kept}");
        assert_eq!(ends[1], chunk(Stream::Stderr, "Traceback\nValueError: x\n"));
        assert_eq!((ends.len(), ends[0].stream), (2, Stream::Stdout));
        assert!(ends[0].text.len() <= Logs::MAX_END && ends[0].text.ends_with('\u{fffd}'));
        let mut capture = Capture::new(ByteCount::bytes(0));
        capture.write(Stream::Stdout, "\u{2603}".repeat(Logs::MAX_END).as_bytes());
        let end = &capture.into_logs().ends[0].text;
        assert!(end.chars().all(|letter| letter == '\u{2603}') && end.len() > Logs::MAX_END - 4);
    }

    #[test]
    fn log_lines_cannot_be_forged() {
        let mut capture = Capture::new(ByteCount::kibibytes(1));
        capture.log(GuestLogLevel::from_byte(1), "hello\n[error] not me");
        capture.log(GuestLogLevel::from_byte(99), "");
        let expected = "[info] hello\n    [error] not me\n[error] \n";
        assert_eq!(capture.into_logs().chunks, [chunk(Stream::Log, expected)]);
    }

    #[test]
    fn bounded_logs_whatever_the_pattern() {
        let mut capture = Capture::new(ByteCount::mebibytes(1));
        for _ in 0..1_000_000 {
            capture.write(Stream::Stdout, b"a");
            capture.write(Stream::Stderr, b"b");
        }
        assert!(capture.bytes.capacity() <= 2 << 20);
        assert!(capture.pieces.len() <= (1 << 20) / SWITCH_COST);
        let logs = capture.into_logs();
        let kept: u64 = logs.chunks.iter().map(|chunk| chunk.text.len() as u64).sum();
        assert_eq!(kept + logs.dropped, 2_000_000);
    }

    /// The chunks that a listener gets for these pieces of output.
    fn told(limit: u64, pieces: &[(Stream, &[u8])]) -> (Vec<LogChunk>, Logs) {
        let told = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let mut capture = Capture::new(ByteCount::bytes(limit));
        let telling = std::rc::Rc::clone(&told);
        capture.tell(Box::new(move |chunk| telling.borrow_mut().push(chunk)));
        for (stream, bytes) in pieces {
            capture.write(*stream, bytes);
        }
        let logs = capture.into_logs();
        (told.take(), logs)
    }

    #[test]
    fn a_listener_gets_kept_output_at_once_and_of_what_was_dropped_the_end() {
        let (out, err) = (Stream::Stdout, Stream::Stderr);
        let snow = "\u{2603}".as_bytes();
        let pieces = [(out, &b"a\n"[..]), (err, b"b"), (out, &snow[..1]), (out, &snow[1..])];
        let (told, logs) = told(1 << 10, &pieces);
        assert_eq!(told, [chunk(out, "a\n"), chunk(err, "b"), chunk(out, "\u{2603}")]);
        assert_eq!(logs.chunks, told, "the end has the same");
        let (told, logs) = self::told(64 + 3, &[(out, b"abc"), (out, b"def")]);
        let lost = "\n[0 bytes of both streams together are beyond the limit of logs, and lost]\n";
        let expected = vec![chunk(out, "abc"), chunk(err, lost), chunk(out, "def")];
        assert_eq!((told, logs.dropped), (expected, 3));
        let long = vec![b'x'; 40_000];
        let (told, logs) = self::told(64, &[(out, &long), (err, &long), (out, b"end")]);
        let size: usize = told.iter().map(|chunk| chunk.text.len()).sum();
        assert!(size <= Logs::MAX_TOLD_END && told[1].text.ends_with("end"), "{size}");
        assert_eq!(logs.lost(), 80_003 - 2 * Logs::MAX_END as u64);
    }

    #[test]
    fn a_listener_is_not_flooded() {
        let (told, logs) = told(1 << 20, &vec![(Stream::Stdout, &b"x"[..]); 200_000]);
        let text: String = told.iter().map(|chunk| chunk.text.as_str()).collect();
        assert!(told.len() < 3_000, "{} pieces", told.len());
        assert!(logs.chunks[0].text.starts_with(&text) && text.len() == 200_000, "{}", text.len());
        let mut capture = Capture::new(ByteCount::kibibytes(1));
        let reports = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let telling = std::rc::Rc::clone(&reports);
        capture.tell(Box::new(move |chunk| telling.borrow_mut().push(chunk)));
        for done in 0..100_000 {
            let report = ProgressReport::checked(f64::from(done), None, "").unwrap();
            capture.progress(&report);
        }
        assert!(capture.into_logs().chunks.is_empty(), "progress is no log");
        let reports = reports.take();
        assert!((2..50).contains(&reports.len()), "{} reports", reports.len());
        let last = ProgressReport::read(&reports.last().unwrap().text).unwrap();
        assert!((last.done - 99_999.0).abs() < f64::EPSILON, "the last one is told: {last:?}");
        let long = "\u{e9}".repeat(MAX_TOLD);
        let (told, _) = self::told(1 << 20, &[(Stream::Stdout, long.as_bytes())]);
        assert!(told.len() >= 2 && told.iter().all(|chunk| chunk.text.len() <= MAX_TOLD));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn parts_decode_as_the_whole_does(
            bytes in prop::collection::vec(
                prop_oneof![any::<u8>(), prop::sample::select("aé☃𝄞".as_bytes().to_vec())], 0..60),
            cuts in prop::collection::vec(0_usize..60, 0..20),
        ) {
            let mut capture = Capture::new(ByteCount::kibibytes(64));
            let (mut cuts, mut start) = (cuts, 0);
            cuts.sort_unstable();
            for cut in cuts.into_iter().chain([bytes.len()]) {
                let cut = cut.min(bytes.len());
                capture.write(Stream::Stdout, &bytes[start..cut]);
                capture.write(Stream::Stderr, b"!");
                start = cut;
            }
            let logs = capture.into_logs();
            let text: String = logs.chunks.iter()
                .filter(|chunk| chunk.stream == Stream::Stdout)
                .map(|chunk| chunk.text.as_str())
                .collect();
            prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
        }
    }
}
