//! The conversation with a server of git over HTTP: what it has, and what is wanted of it.

use std::io::{self, BufRead, BufReader, Read};

use gix_hash::{Kind as HashKind, ObjectId};
use gix_packetline::PacketLineRef;
use gix_packetline::blocking_io::StreamingPeekableIter;

use crate::error::{SourceError, shown};
use crate::network::WebRequest;
use crate::web::{Web, WebResponse};
use crate::web_url::WebUrl;

/// Most lines of an answer that are kept: references and capabilities.
const MAX_LINES: usize = 200_000;

const SERVICE: &str = "git-upload-pack";
const AGENT: &str = concat!("agent=wardian/", env!("CARGO_PKG_VERSION"));

/// A reference of a repository.
#[derive(Debug)]
pub(super) struct Advertised {
    pub(super) name: String,
    pub(super) id: ObjectId,
    /// What an annotated tag points to.
    pub(super) peeled: Option<ObjectId>,
}

/// What is wanted.
#[derive(Debug)]
pub(super) struct FetchOrder<'o> {
    pub(super) wanted: &'o [ObjectId],
    /// Commits and folders alone.
    pub(super) without_contents: bool,
    /// A commit without those before it; else the wanted objects themselves.
    pub(super) is_commit: bool,
}

/// A server, and what it can do.
#[derive(Debug)]
pub(super) struct GitConversation<'w> {
    web: &'w Web,
    named: &'w WebUrl,
    /// The URL of the repository, after redirects.
    base: String,
    authorization: Option<String>,
    is_version_2: bool,
    capabilities: Vec<String>,
    /// Of the protocol before version 2, which sends them at once.
    references: Vec<Advertised>,
    hash: HashKind,
}

impl<'w> GitConversation<'w> {
    pub(super) fn open(
        web: &'w Web,
        url: &'w WebUrl,
        authorization: Option<String>,
    ) -> Result<Self, SourceError> {
        let tail = format!("/info/refs?service={SERVICE}");
        let mut request = WebRequest::get(url.clone());
        request.url.path = format!("{}{tail}", url.plain_path().trim_end_matches('/'));
        request.headers.push(("git-protocol".to_owned(), "version=2".to_owned()));
        request.authorization.clone_from(&authorization);
        let response = web.send(request, url)?.expect_ok()?;
        let answered = response.url().to_string();
        let base = answered.strip_suffix(&tail).unwrap_or_default().to_owned();
        let wanted = format!("application/x-{SERVICE}-advertisement");
        if response.content_type() != wanted || base.is_empty() {
            return Err(SourceError::Server {
                url: url.named(),
                problem: "is no repository of git that is served by its smart protocol".to_owned(),
            });
        }
        let mut conversation = Self {
            web,
            named: url,
            base,
            authorization,
            is_version_2: false,
            capabilities: Vec::new(),
            references: Vec::new(),
            hash: HashKind::Sha1,
        };
        conversation.greet(response)?;
        Ok(conversation)
    }

    /// The place, for messages.
    pub(super) fn named(&self) -> String {
        self.named.named()
    }

    pub(super) const fn hash(&self) -> HashKind {
        self.hash
    }

    #[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
    fn damaged(&self, problem: impl ToString) -> SourceError {
        SourceError::Server { url: self.named(), problem: shown(&problem.to_string()) }
    }

    /// Reads what the server says of itself.
    fn greet(&mut self, response: WebResponse<'_>) -> Result<(), SourceError> {
        let mut reader = BufReader::new(response);
        let mut lines = lines_of(&mut reader).map_err(|fault| self.damaged(fault))?;
        if lines.first().is_some_and(|line| line.starts_with(b"# service=")) {
            // Then the answer itself follows.
            lines = lines_of(&mut reader).map_err(|fault| self.damaged(fault))?;
        }
        let first = lines.first().map_or(&b""[..], Vec::as_slice);
        self.is_version_2 = trimmed(first) == b"version 2";
        if self.is_version_2 {
            let text = |line: &Vec<u8>| String::from_utf8_lossy(trimmed(line)).into_owned();
            self.capabilities = lines.iter().skip(1).map(text).collect();
        } else {
            let at = first.iter().position(|byte| *byte == 0).unwrap_or(first.len());
            let words = first.get(at..).unwrap_or_default();
            let words = String::from_utf8_lossy(words);
            let words = words.trim_matches(['\0', '\n', ' ']).split(' ');
            self.capabilities = words.map(str::to_owned).collect();
            if let Some(line) = lines.first_mut() {
                line.truncate(at);
            }
        }
        let format = self.capabilities.iter().find_map(|one| one.strip_prefix("object-format="));
        self.hash = match format {
            None | Some("sha1") => HashKind::Sha1,
            Some("sha256") => HashKind::Sha256,
            Some(_) => return Err(self.damaged("has objects of an unknown format")),
        };
        if !self.is_version_2 {
            self.references = self.older_references(&lines)?;
        }
        Ok(())
    }

    fn older_references(&self, lines: &[Vec<u8>]) -> Result<Vec<Advertised>, SourceError> {
        let mut found: Vec<Advertised> = Vec::new();
        for line in lines {
            let text = String::from_utf8_lossy(trimmed(line)).into_owned();
            let Some((id, name)) = text.split_once(' ') else { continue };
            let id = ObjectId::from_hex(id.as_bytes()).map_err(|fault| self.damaged(fault))?;
            match name.strip_suffix("^{}") {
                Some(tag) => {
                    if let Some(tag) = found.iter_mut().rev().find(|one| one.name == tag) {
                        tag.peeled = Some(id);
                    }
                }
                None => found.push(Advertised { name: name.to_owned(), id, peeled: None }),
            }
        }
        Ok(found)
    }

    /// True if the server can send folders without the contents of files, and those by their hashes later.
    pub(super) fn can_leave_out_contents(&self) -> bool {
        let fetch = self.capabilities.iter().find_map(|one| one.strip_prefix("fetch="));
        self.is_version_2
            && fetch.is_some_and(|words| words.split(' ').any(|word| word == "filter"))
    }

    /// The references of these names, if there are such.
    pub(super) fn references(&mut self, names: &[String]) -> Result<Vec<Advertised>, SourceError> {
        if !self.is_version_2 {
            return Ok(std::mem::take(&mut self.references));
        }
        let mut body = Vec::new();
        line(&mut body, "command=ls-refs\n");
        self.head_of_command(&mut body);
        line(&mut body, "peel\n");
        for name in names {
            line(&mut body, &format!("ref-prefix {name}\n"));
        }
        body.extend_from_slice(b"0000");
        let mut reader = BufReader::new(self.post(body)?);
        let lines = lines_of(&mut reader).map_err(|fault| self.damaged(fault))?;
        let mut found = Vec::new();
        for line in lines {
            let text = String::from_utf8_lossy(trimmed(&line)).into_owned();
            let mut words = text.split(' ');
            let (id, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let id = ObjectId::from_hex(id.as_bytes()).map_err(|fault| self.damaged(fault))?;
            let peeled = words.find_map(|word| word.strip_prefix("peeled:"));
            let peeled = peeled.and_then(|hex| ObjectId::from_hex(hex.as_bytes()).ok());
            found.push(Advertised { name: name.to_owned(), id, peeled });
        }
        Ok(found)
    }

    fn head_of_command(&self, body: &mut Vec<u8>) {
        line(body, AGENT);
        if self.capabilities.iter().any(|one| one.starts_with("object-format=")) {
            line(body, &format!("object-format={}", self.hash));
        }
        body.extend_from_slice(b"0001");
    }

    /// Asks for objects. What is returned reads the pack.
    pub(super) fn fetch(&self, order: &FetchOrder<'_>) -> Result<impl BufRead, SourceError> {
        let body = if self.is_version_2 { self.order(order) } else { self.older_order(order)? };
        let reader = BufReader::new(self.post(body)?);
        let mut pack = Pack { reader, rest: Vec::new(), at: 0, is_over: false };
        pack.find(self.is_version_2).map_err(|fault| self.damaged(fault))?;
        Ok(pack)
    }

    fn order(&self, order: &FetchOrder<'_>) -> Vec<u8> {
        let mut body = Vec::new();
        line(&mut body, "command=fetch\n");
        self.head_of_command(&mut body);
        line(&mut body, "no-progress\n");
        line(&mut body, "ofs-delta\n");
        for id in order.wanted {
            line(&mut body, &format!("want {id}\n"));
        }
        let fetch = self.capabilities.iter().find_map(|one| one.strip_prefix("fetch="));
        let can_be_shallow =
            fetch.is_some_and(|words| words.split(' ').any(|word| word == "shallow"));
        if order.is_commit && can_be_shallow {
            line(&mut body, "deepen 1\n");
        }
        if order.without_contents {
            line(&mut body, "filter blob:none\n");
        }
        line(&mut body, "done\n");
        body.extend_from_slice(b"0000");
        body
    }

    fn older_order(&self, order: &FetchOrder<'_>) -> Result<Vec<u8>, SourceError> {
        let can = |word: &str| self.capabilities.iter().any(|one| one == word);
        if !can("side-band-64k") {
            return Err(self.damaged("speaks too old a protocol of git"));
        }
        let mut words = format!("side-band-64k no-progress {AGENT}");
        if can("ofs-delta") {
            words.push_str(" ofs-delta");
        }
        let mut body = Vec::new();
        for (count, id) in order.wanted.iter().enumerate() {
            let words = if count == 0 { format!(" {words}") } else { String::new() };
            line(&mut body, &format!("want {id}{words}\n"));
        }
        if can("shallow") {
            line(&mut body, "deepen 1\n");
        }
        body.extend_from_slice(b"0000");
        line(&mut body, "done\n");
        Ok(body)
    }

    fn post(&self, body: Vec<u8>) -> Result<WebResponse<'w>, SourceError> {
        let (url, _) = WebUrl::parse(&format!("{}/{SERVICE}", self.base))?;
        let mut headers = vec![
            ("content-type".to_owned(), format!("application/x-{SERVICE}-request")),
            ("accept".to_owned(), format!("application/x-{SERVICE}-result")),
        ];
        if self.is_version_2 {
            headers.push(("git-protocol".to_owned(), "version=2".to_owned()));
        }
        let request = WebRequest {
            method: "POST",
            headers,
            authorization: self.authorization.clone(),
            body,
            ..WebRequest::get(url)
        };
        let response = self.web.send(request, self.named)?.expect_ok()?;
        if response.content_type() != format!("application/x-{SERVICE}-result") {
            return Err(self.damaged("answers with something else than git does"));
        }
        Ok(response)
    }
}

/// Writes a line of the protocol.
fn line(body: &mut Vec<u8>, text: &str) {
    let length = text.len().saturating_add(4);
    body.extend_from_slice(format!("{length:04x}{text}").as_bytes());
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// One line; `Ok(None)` for a mark that ends a part.
fn next_line(reader: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut lines = StreamingPeekableIter::new(reader, &[], false);
    let Some(read) = lines.read_line() else { return Ok(None) };
    let found = read?.map_err(|fault| io::Error::other(fault.to_string()))?;
    let PacketLineRef::Data(data) = found else { return Ok(None) };
    if let Some(told) = data.strip_prefix(b"ERR ") {
        let told = String::from_utf8_lossy(trimmed(told)).into_owned();
        return Err(io::Error::other(format!("the server says: {}", shown(&told))));
    }
    Ok(Some(data.to_vec()))
}

/// All lines up to the next mark.
fn lines_of(reader: &mut impl Read) -> io::Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    while let Some(line) = next_line(reader)? {
        if lines.len() >= MAX_LINES {
            return Err(io::Error::other("the server sends too many lines"));
        }
        lines.push(line);
    }
    Ok(lines)
}

/// A pack as it comes in lines of one of three bands.
struct Pack<R> {
    reader: R,
    rest: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl<R: Read> Pack<R> {
    /// Reads up to the beginning of the pack.
    fn find(&mut self, is_version_2: bool) -> io::Result<()> {
        for _line in 0..MAX_LINES {
            let line = next_line(&mut self.reader)?;
            match line.as_deref().map(trimmed) {
                Some(b"packfile") if is_version_2 => return Ok(()),
                Some(b"NAK") if !is_version_2 => return Ok(()),
                // Shallow commits, and the marks between parts.
                _ => {}
            }
        }
        Err(io::Error::other("the server sends no pack"))
    }
}

impl<R: Read> Read for Pack<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), available.get(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read> BufRead for Pack<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.at >= self.rest.len() && !self.is_over {
            let Some(line) = next_line(&mut self.reader)? else {
                self.is_over = true;
                break;
            };
            match line.split_first() {
                Some((1, _)) => {
                    self.rest = line;
                    self.at = 1;
                }
                Some((2, _)) => {}
                Some((3, told)) => {
                    let told = String::from_utf8_lossy(trimmed(told)).into_owned();
                    return Err(io::Error::other(format!("the server says: {}", shown(&told))));
                }
                _ => return Err(io::Error::other("a line is of an unknown band")),
            }
        }
        Ok(self.rest.get(self.at..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.at = self.at.saturating_add(amount).min(self.rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(all: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for one in all {
            if one.is_empty() {
                bytes.extend_from_slice(b"0000");
            } else {
                bytes.extend_from_slice(format!("{:04x}", one.len() + 4).as_bytes());
                bytes.extend_from_slice(one);
            }
        }
        bytes
    }

    fn read(bytes: &[u8], is_version_2: bool) -> io::Result<Vec<u8>> {
        let mut pack = Pack { reader: bytes, rest: Vec::new(), at: 0, is_over: false };
        pack.find(is_version_2)?;
        let mut whole = Vec::new();
        pack.read_to_end(&mut whole)?;
        Ok(whole)
    }

    #[test]
    fn packs_come_in_bands() {
        let sent = lines(&[
            b"shallow-info\n",
            b"shallow 00\n",
            b"packfile\n",
            b"\x01PA",
            b"\x02told",
            b"\x01CK",
            b"",
        ]);
        assert_eq!(read(&sent, true).unwrap(), b"PACK");
        let sent = lines(&[b"shallow 00\n", b"", b"NAK\n", b"\x01PACK", b""]);
        assert_eq!(read(&sent, false).unwrap(), b"PACK");
        let told = read(&lines(&[b"packfile\n", b"\x03no \x1b[2J"]), true).unwrap_err().to_string();
        assert!(told.contains("the server says: no \\u{1b}"), "{told}");
        assert!(read(&lines(&[b"ERR gone"]), true).unwrap_err().to_string().contains("gone"));
        assert!(read(&lines(&[b"packfile\n", b"\x07x"]), true).is_err());
        assert!(read(b"00", true).is_err() && read(b"zzzz", true).is_err());
    }
}
