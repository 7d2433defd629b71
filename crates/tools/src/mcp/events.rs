//! Reads a stream of server-sent events piece by piece.

use crate::fault::Fault;

/// Reads events. What it holds is one event at most.
#[derive(Debug)]
pub(crate) struct EventStreamReader {
    most: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    is_after_return: bool,
}

impl EventStreamReader {
    /// Reads events of at most `most` bytes.
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, line: Vec::new(), data: Vec::new(), has_data: false, is_after_return: false }
    }

    /// Takes the next bytes, and returns the data of the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut events = Vec::new();
        for byte in bytes {
            let is_second = self.is_after_return && *byte == b'\n';
            self.is_after_return = *byte == b'\r';
            if is_second {
                continue;
            }
            if matches!(byte, b'\n' | b'\r') {
                events.extend(self.end_line());
                continue;
            }
            if self.line.len().saturating_add(self.data.len()) >= self.most {
                return Err(Fault::TooLarge);
            }
            self.line.push(*byte);
        }
        Ok(events)
    }

    /// Ends a line; an empty one ends an event.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let is_event = std::mem::take(&mut self.has_data);
            let data = std::mem::take(&mut self.data);
            return is_event.then_some(data);
        }
        let data = line.strip_prefix(b"data").unwrap_or_default();
        let value = data.strip_prefix(b":")?;
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = ": hello\r\nevent: message\r\nid: 1\r\ndata: {\"a\":\r\ndata:  1}\r\n\r\n\
        retry: 5\n\ndata:x\n\nid: 9\rdata: y\r\rdata: unfinished";

    #[test]
    fn events_are_their_lines_of_data() {
        let events = EventStreamReader::new(100).feed(STREAM.as_bytes()).unwrap();
        assert_eq!(events, [&b"{\"a\":\n 1}"[..], b"x", b"y"]);
    }

    #[test]
    fn an_endless_event_is_cut_off() {
        let mut reader = EventStreamReader::new(10);
        assert!(reader.feed(b"data: 12\ndata: 3\n\n").is_ok());
        assert!(matches!(reader.feed(b"data: 12345678"), Err(Fault::TooLarge)));
        let mut lines = EventStreamReader::new(10);
        assert!(matches!(lines.feed("data: 1\n".repeat(9).as_bytes()), Err(Fault::TooLarge)));
    }

    proptest! {
        #[test]
        fn borders_between_pieces_change_nothing(cuts in prop::collection::vec(0..STREAM.len(), 0..6)) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut reader = EventStreamReader::new(100);
            let (mut events, mut from) = (Vec::new(), 0);
            for to in cuts.into_iter().chain([STREAM.len()]) {
                events.extend(reader.feed(&STREAM.as_bytes()[from..to]).unwrap());
                from = to;
            }
            prop_assert_eq!(events, EventStreamReader::new(100).feed(STREAM.as_bytes()).unwrap());
        }
    }
}
