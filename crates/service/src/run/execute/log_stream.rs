//! What a program prints, on its way to a caller that reads along.
//!
//! A caller may read slowly. So only a bounded part waits for it, and what is printed beyond is left
//! out and counted: the program never waits, and the result has its log all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use wardian_formats::job::outcome::LogChunk;
use wardian_vocabulary::units::ByteCount;

/// Memory of a chunk besides its text, rounded up.
const PER_CHUNK: usize = 64;

/// Receives what a program prints while it runs.
#[derive(Debug, Clone)]
pub struct LogListener {
    sender: UnboundedSender<Heard>,
    room: Arc<Room>,
    hears_requests: bool,
}

/// Something that a caller hears of its run before the end.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// The program has printed something.
    Printed(LogChunk),
    /// It asks its caller for something: an object as JSON text without line breaks.
    Asked(Box<str>),
}

/// What a listener received, in its order.
#[derive(Debug)]
pub struct LogStream {
    receiver: UnboundedReceiver<Heard>,
    room: Arc<Room>,
}

#[derive(Debug)]
struct Room {
    most: usize,
    waiting: AtomicUsize,
    left_out: AtomicU64,
}

/// A listener, and the stream that it feeds. At most `most` bytes wait in between.
#[must_use]
pub fn log_stream(most: ByteCount) -> (LogListener, LogStream) {
    let (sender, receiver) = unbounded_channel();
    let (waiting, left_out) = (AtomicUsize::new(0), AtomicU64::new(0));
    let room = Arc::new(Room { most: most.as_usize(), waiting, left_out });
    let listener = LogListener { sender, room: Arc::clone(&room), hears_requests: false };
    (listener, LogStream { receiver, room })
}

impl LogListener {
    /// The same for a caller that also hears what the program asks, and answers while the call goes on.
    #[must_use]
    pub fn answering(self) -> Self {
        Self { hears_requests: true, ..self }
    }

    /// True if the caller answers what it hears.
    pub(crate) const fn hears_requests(&self) -> bool {
        self.hears_requests
    }

    /// Tells the caller what the program asks. Nothing of that is left out: the program waits for it, and
    /// its requests have bounds of their own.
    pub(crate) fn ask(&self, request: Box<str>) {
        let size = request.len().saturating_add(PER_CHUNK);
        self.room.waiting.fetch_add(size, Ordering::AcqRel);
        self.sender.send(Heard::Asked(request)).ok();
    }

    /// Hands a chunk on, or leaves it out if too much waits.
    pub fn tell(&self, chunk: LogChunk) {
        let size = chunk.text.len().saturating_add(PER_CHUNK);
        // Only this side adds, so nothing is added in between.
        let waiting = self.room.waiting.load(Ordering::Acquire);
        if waiting.saturating_add(size) > self.room.most {
            let bytes = u64::try_from(chunk.text.len()).unwrap_or(u64::MAX);
            self.room.left_out.fetch_add(bytes, Ordering::AcqRel);
            return;
        }
        self.room.waiting.fetch_add(size, Ordering::AcqRel);
        // The reader may have gone away; its call is cancelled then.
        self.sender.send(Heard::Printed(chunk)).ok();
    }
}

impl LogStream {
    /// The next chunk of output; `None` once the run has ended and all chunks were taken.
    pub async fn next(&mut self) -> Option<LogChunk> {
        loop {
            match self.heard().await? {
                Heard::Printed(chunk) => return Some(chunk),
                Heard::Asked(_) => {}
            }
        }
    }

    /// What the caller hears next; `None` once the run has ended and everything was taken.
    pub async fn heard(&mut self) -> Option<Heard> {
        let heard = self.receiver.recv().await;
        self.taken(heard)
    }

    /// As [`Self::heard`], for code that is polled.
    pub fn poll_heard(&mut self, cx: &mut Context<'_>) -> Poll<Option<Heard>> {
        self.receiver.poll_recv(cx).map(|heard| self.taken(heard))
    }

    /// Returns the number of bytes that were left out since the last call.
    #[must_use]
    pub fn take_left_out(&self) -> u64 {
        self.room.left_out.swap(0, Ordering::AcqRel)
    }

    fn taken(&self, heard: Option<Heard>) -> Option<Heard> {
        if let Some(heard) = &heard {
            let text: &str = match heard {
                Heard::Printed(chunk) => &chunk.text,
                Heard::Asked(request) => request,
            };
            let size = text.len().saturating_add(PER_CHUNK);
            self.room.waiting.fetch_sub(size, Ordering::AcqRel);
        }
        heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::outcome::Stream;

    #[tokio::test]
    async fn a_slow_reader_misses_what_does_not_fit() {
        let (listener, mut stream) = log_stream(ByteCount::bytes(200));
        let tell = |text: &str| {
            listener.tell(LogChunk { stream: Stream::Stdout, text: text.to_owned() });
        };
        tell(&"a".repeat(130));
        tell("b");
        tell("");
        assert_eq!(stream.next().await.map(|chunk| chunk.text.len()), Some(130));
        assert_eq!((stream.take_left_out(), stream.take_left_out()), (1, 0));
        tell("c");
        assert_eq!(stream.next().await.map(|chunk| chunk.text), Some("c".to_owned()));
        assert_eq!(stream.room.waiting.load(Ordering::Acquire), 0);
        drop(listener);
        assert_eq!(stream.next().await, None);
    }

    #[tokio::test]
    async fn requests_are_never_left_out() {
        let (listener, mut stream) = log_stream(ByteCount::bytes(100));
        assert!(!listener.hears_requests());
        let listener = listener.answering();
        assert!(listener.hears_requests());
        for number in 0..3 {
            listener.ask(format!("{{\"number\":{number}}}").into());
        }
        listener.tell(LogChunk { stream: Stream::Stdout, text: "left out".to_owned() });
        let expected = Heard::Asked("{\"number\":0}".into());
        assert_eq!(stream.heard().await, Some(expected));
        assert_eq!(stream.take_left_out(), 8);
        drop(listener);
        assert_eq!(stream.next().await, None, "output alone");
    }
}
