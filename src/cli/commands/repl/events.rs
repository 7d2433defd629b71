//! The events of a call, as a server sends them while the program runs.

use std::io::{self, BufRead, Read as _};

/// Maximum length of one line of an event, and of the data of one, in bytes. The largest is the result.
const MAX_EVENT: usize = 64 << 20;

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerEvent {
    pub(super) name: String,
    pub(super) data: String,
}

/// Finds the events in an answer.
pub(super) struct EventReader<R> {
    input: R,
}

impl<R: BufRead> EventReader<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input }
    }

    /// The next event; `None` at the end of the answer.
    pub(super) fn next(&mut self) -> io::Result<Option<ServerEvent>> {
        let (mut name, mut data) = (String::new(), None::<String>);
        while let Some(line) = self.line()? {
            if line.is_empty() {
                if let Some(data) = data.take() {
                    return Ok(Some(ServerEvent { name, data }));
                }
                name.clear();
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut name),
                "data" => {
                    let data = data.get_or_insert_default();
                    if !data.is_empty() {
                        data.push('\n');
                    }
                    data.push_str(value);
                    if data.len() > MAX_EVENT {
                        return Err(too_long());
                    }
                }
                // A comment shows that the server is there.
                _ => {}
            }
        }
        // An event whose end did not come is none.
        Ok(None)
    }

    /// The next line, without its end.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let limit = u64::try_from(MAX_EVENT).unwrap_or(u64::MAX);
        if self.input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.pop_if(|last| *last == b'\n').is_none() && line.len() >= MAX_EVENT {
            return Err(too_long());
        }
        line.pop_if(|last| *last == b'\r');
        String::from_utf8(line)
            .map(Some)
            .map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an event is too long")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<(String, String)> {
        let mut reader = EventReader::new(text.as_bytes());
        std::iter::from_fn(|| reader.next().unwrap())
            .map(|event| (event.name, event.data))
            .collect()
    }

    #[test]
    fn events_are_found_among_comments() {
        let text = ": the program runs\n\nevent: output\ndata: {\"a\": 1}\n\nevent: none\n\n\
                    data: x\r\ndata:y\r\n\r\nevent: cut\ndata: z\n";
        let expected = [("output", "{\"a\": 1}"), ("", "x\ny")];
        let expected = expected.map(|(name, data)| (name.to_owned(), data.to_owned()));
        assert_eq!(events(text), expected);
    }

    #[test]
    fn other_bytes_are_an_error() {
        let mut reader = EventReader::new(&b"data: \xff\n\n"[..]);
        assert_eq!(reader.next().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
