//! Archives of plain files in the format of `tar`, in one form only: names in order, no times, no
//! owners, no links.
//!
//! The reader makes the header of each entry again from its name and its size, and compares all of
//! its bytes. So nothing in a header has to be understood or refused by itself. Names that are too
//! long for a header have a header of the kind `x` before it, as POSIX says.
//!
//! INVARIANT(one-archive): an archive that is read has exactly the bytes that writing its entries
//! gives.

use std::io::{self, Read, Write};

use crate::provenance::fault::ProvenanceError;
use crate::skill::path::check_spelling;

/// Bytes of a header, of which all lengths are multiples.
const BLOCK: usize = 512;

/// Largest entry: eleven octal digits.
const MAX_SIZE: u64 = (1 << 33) - 1;

/// Longest name, in bytes: of a file in a folder of a skill.
const MAX_NAME: usize = 1_400;

/// The name of an entry whose own name is in the header before it.
const LONG: &str = "long";

/// Bytes copied at a time.
const CHUNK: usize = 64 << 10;

/// The name and the size of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TarEntry {
    /// Its name: a relative path without `..`.
    pub name: String,
    /// Length of its content.
    pub size: u64,
}

/// Writes an archive.
#[derive(Debug)]
pub struct TarWriter<W> {
    sink: W,
    last: String,
}

impl<W: Write> TarWriter<W> {
    /// An empty archive.
    pub const fn new(sink: W) -> Self {
        Self { sink, last: String::new() }
    }

    /// Adds an entry with exactly `size` bytes of `content`. Names must come in order.
    ///
    /// # Errors
    ///
    /// The name or the size does not fit, the content is shorter or longer, or the sink fails.
    pub fn add(
        &mut self,
        name: &str,
        size: u64,
        content: &mut dyn Read,
    ) -> Result<(), ProvenanceError> {
        ensure_name(name, &self.last)?;
        name.clone_into(&mut self.last);
        self.sink.write_all(&headers(name, size)?).map_err(write_failed)?;
        copy(content, &mut self.sink, size, name)?;
        let mut more = [0];
        if content.read(&mut more).map_err(read_failed)? > 0 {
            return Err(malformed(name, "has grown"));
        }
        self.sink.write_all(&vec![0; padding(size)]).map_err(write_failed)
    }

    /// Ends the archive.
    ///
    /// # Errors
    ///
    /// The sink fails.
    pub fn finish(mut self) -> Result<W, ProvenanceError> {
        self.sink.write_all(&[0; BLOCK * 2]).map_err(write_failed)?;
        self.sink.flush().map_err(write_failed)?;
        Ok(self.sink)
    }
}

/// Reads an archive.
#[derive(Debug)]
pub struct TarReader<R> {
    source: R,
    last: String,
}

impl<R: Read> TarReader<R> {
    /// The archive that `source` yields.
    pub const fn new(source: R) -> Self {
        Self { source, last: String::new() }
    }

    /// The next entry; none at the end. The content of the last one must have been read.
    ///
    /// # Errors
    ///
    /// The archive ends early, has another form, or has bytes after its end.
    pub fn next_entry(&mut self) -> Result<Option<TarEntry>, ProvenanceError> {
        let mut head = self.block()?.to_vec();
        if head.iter().all(|byte| *byte == 0) {
            return self.end().map(|()| None);
        }
        let name = match kind_of(&head) {
            b'x' => {
                let size = octal(field(&head, 124, 11)).filter(|size| *size <= 2_048);
                let size = size.ok_or_else(|| form("a header is too long"))?;
                let blocks = usize::try_from(size).unwrap_or_default().div_ceil(BLOCK);
                for _ in 0..blocks.saturating_add(1) {
                    head.extend_from_slice(&self.block()?);
                }
                let texts = field(&head, BLOCK, usize::try_from(size).unwrap_or_default());
                let name = texts.splitn(2, |byte| *byte == b'=').nth(1).unwrap_or_default();
                name.strip_suffix(b"\n").unwrap_or(name).to_vec()
            }
            _ => name_in(&head),
        };
        let name = String::from_utf8(name).ok().ok_or_else(|| form("a name is not UTF-8"))?;
        let own = head.len().saturating_sub(BLOCK);
        let own = head.get(own..).unwrap_or_default();
        match kind_of(own) {
            b'0' => {}
            b'1' | b'2' => return Err(malformed(&name, "is a link")),
            b'5' => return Err(malformed(&name, "is a folder")),
            _ => return Err(malformed(&name, "is not a regular file")),
        }
        ensure_name(&name, &self.last)?;
        let size = octal(field(own, 124, 11)).ok_or_else(|| malformed(&name, "has no size"))?;
        if headers(&name, size)? != head {
            return Err(malformed(&name, "has a header of another form"));
        }
        self.last.clone_from(&name);
        Ok(Some(TarEntry { name, size }))
    }

    /// Reads the content of the last entry.
    ///
    /// # Errors
    ///
    /// The archive ends early, or the sink fails.
    pub fn read_content(
        &mut self,
        entry: &TarEntry,
        sink: &mut dyn Write,
    ) -> Result<(), ProvenanceError> {
        copy(&mut self.source, sink, entry.size, &entry.name)?;
        let mut rest = [0; BLOCK];
        let rest = rest.get_mut(..padding(entry.size)).unwrap_or_default();
        self.source.read_exact(rest).map_err(ended_early)?;
        if rest.iter().any(|byte| *byte != 0) {
            return Err(malformed(&entry.name, "has bytes after its end"));
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ProvenanceError> {
        if self.block()?.iter().any(|byte| *byte != 0) {
            return Err(form("it has a second end"));
        }
        let mut more = [0];
        match self.source.read(&mut more).map_err(read_failed)? {
            0 => Ok(()),
            _ => Err(form("it has bytes after its end")),
        }
    }

    fn block(&mut self) -> Result<[u8; BLOCK], ProvenanceError> {
        let mut block = [0; BLOCK];
        self.source.read_exact(&mut block).map_err(ended_early)?;
        Ok(block)
    }
}

fn ensure_name(name: &str, last: &str) -> Result<(), ProvenanceError> {
    if name.len() > MAX_NAME {
        return Err(form("a name is too long"));
    }
    check_spelling(name).map_err(|problem| malformed(name, problem))?;
    if name == last {
        return Err(malformed(name, "appears twice"));
    }
    if name < last {
        return Err(malformed(name, "is out of order: names must be sorted"));
    }
    Ok(())
}

/// All bytes before the content of an entry.
fn headers(name: &str, size: u64) -> Result<Vec<u8>, ProvenanceError> {
    if size > MAX_SIZE {
        return Err(malformed(name, "is larger than 8 GiB"));
    }
    if let Some((folder, file)) = split(name) {
        return Ok(header(folder, file, size, b'0'));
    }
    // The length counts its own digits.
    let text = |length: usize| format!("{length} path={name}\n");
    let length = (0..4).fold(0, |length, _| text(length).len());
    let text = text(length);
    let size_of_text = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let mut bytes = header("", "pax", size_of_text, b'x');
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes.extend(header("", LONG, size, b'0'));
    Ok(bytes)
}

/// The two parts of a name that fit into a header.
fn split(name: &str) -> Option<(&str, &str)> {
    const NAME: usize = 100;
    const PREFIX: usize = 155;
    if name.len() <= NAME {
        return Some(("", name));
    }
    let mut places = name.match_indices('/').map(|(at, _)| at);
    let at = places.find(|at| name.len().saturating_sub(at.saturating_add(1)) <= NAME)?;
    let (folder, file) = (name.get(..at)?, name.get(at.saturating_add(1)..)?);
    (folder.len() <= PREFIX && !file.is_empty()).then_some((folder, file))
}

fn header(folder: &str, file: &str, size: u64, kind: u8) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK);
    let mut put = |text: &[u8], width: usize| {
        bytes.extend_from_slice(text);
        bytes.resize(bytes.len().saturating_add(width.saturating_sub(text.len())), 0);
    };
    put(file.as_bytes(), 100);
    put(b"0000644", 8);
    put(b"0000000", 8);
    put(b"0000000", 8);
    put(format!("{size:011o}").as_bytes(), 12);
    put(b"00000000000", 12);
    put(b"        ", 8);
    put(&[kind], 1);
    put(b"", 100);
    put(b"ustar\x0000", 8);
    put(b"", 64);
    put(b"0000000", 8);
    put(b"0000000", 8);
    put(folder.as_bytes(), 155);
    put(b"", 12);
    let sum: u32 = bytes.iter().map(|byte| u32::from(*byte)).sum();
    bytes.splice(148..156, format!("{sum:06o}\0 ").into_bytes());
    bytes
}

fn kind_of(head: &[u8]) -> u8 {
    head.get(156).copied().unwrap_or_default()
}

fn field(head: &[u8], at: usize, width: usize) -> &[u8] {
    head.get(at..at.saturating_add(width)).unwrap_or_default()
}

/// The name in a header.
fn name_in(head: &[u8]) -> Vec<u8> {
    let text = |at, width| {
        let field = field(head, at, width);
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        field.get(..end).unwrap_or_default()
    };
    match text(345, 155) {
        b"" => text(0, 100).to_vec(),
        folder => [folder, b"/", text(0, 100)].concat(),
    }
}

fn octal(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    u64::from_str_radix(digits, 8).ok()
}

/// The zeros behind a content.
fn padding(size: u64) -> usize {
    let block = u64::try_from(BLOCK).unwrap_or(1);
    usize::try_from(size.next_multiple_of(block).saturating_sub(size)).unwrap_or_default()
}

fn copy(
    source: &mut dyn Read,
    sink: &mut dyn Write,
    size: u64,
    name: &str,
) -> Result<(), ProvenanceError> {
    let (mut left, mut chunk) = (size, vec![0; CHUNK]);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let room = chunk.get_mut(..most).unwrap_or_default();
        let count = match source.read(room) {
            Ok(0) => return Err(malformed(name, "is shorter than its size")),
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(read_failed)?,
        };
        let read = room.get(..count).unwrap_or_default();
        sink.write_all(read).map_err(write_failed)?;
        left = left.saturating_sub(u64::try_from(count).unwrap_or(left));
    }
    Ok(())
}

fn form(problem: &str) -> ProvenanceError {
    ProvenanceError::Bundle(problem.to_owned())
}

fn malformed(name: &str, problem: &str) -> ProvenanceError {
    let name: String = name.chars().take(120).collect();
    ProvenanceError::Bundle(format!("`{}` {problem}", name.escape_debug()))
}

fn read_failed(cause: io::Error) -> ProvenanceError {
    ProvenanceError::File { what: "read the bundle", cause }
}

fn write_failed(cause: io::Error) -> ProvenanceError {
    ProvenanceError::File { what: "write the bundle", cause }
}

fn ended_early(cause: io::Error) -> ProvenanceError {
    match cause.kind() {
        io::ErrorKind::UnexpectedEof => form("it ends early"),
        _ => read_failed(cause),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::skill::path::MAX_PATH;
    use wardian_vocabulary::ids::{MAX_SKILL_NAME, MAX_VERSION};

    fn write(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut writer = TarWriter::new(Vec::new());
        for (name, content) in entries {
            let size = u64::try_from(content.len()).unwrap();
            writer.add(name, size, &mut content.as_slice()).unwrap();
        }
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
        let (mut reader, mut found) = (TarReader::new(bytes), Vec::new());
        while let Some(entry) = reader.next_entry().map_err(|fault| fault.to_string())? {
            let mut content = Vec::new();
            reader.read_content(&entry, &mut content).map_err(|fault| fault.to_string())?;
            found.push((entry.name, content));
        }
        Ok(found)
    }

    fn sample() -> Vec<(String, Vec<u8>)> {
        let long = format!("b/{}", "é".repeat(300));
        let deep = format!("b/{}/{}", "x".repeat(120), "y".repeat(90));
        let mut entries = vec![
            (format!("b/a=b={}", "=".repeat(300)), b"2".to_vec()),
            ("a".to_owned(), b"1".to_vec()),
            (deep, vec![7; 512]),
            (long, vec![9; 513]),
            ("c".to_owned(), Vec::new()),
        ];
        entries.sort();
        entries
    }

    #[test]
    fn an_archive_reads_back_and_other_programs_know_it() {
        let bytes = write(&sample());
        assert_eq!(read(&bytes).unwrap(), sample());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.tar");
        std::fs::write(&file, &bytes).unwrap();
        // The system may have no `tar`.
        if let Ok(told) = std::process::Command::new("tar").arg("-tf").arg(&file).output() {
            let told = String::from_utf8_lossy(&told.stdout).into_owned();
            assert_eq!(told.lines().count(), sample().len(), "{told}");
        }
    }

    #[test]
    fn one_archive_for_each_list_of_entries() {
        let bytes = write(&sample());
        // Any change of a byte gives another list, or none.
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(read(&changed), Ok(sample()), "byte {at}");
        }
        for end in (0..bytes.len()).step_by(100) {
            let refused = read(&bytes[..end]).unwrap_err();
            assert!(refused.contains("ends early") || refused.contains("shorter"), "{refused}");
        }
        let more = [&bytes[..], b"x"].concat();
        assert!(read(&more).unwrap_err().contains("bytes after its end"));
        assert!(read(&[]).unwrap_err().contains("ends early"));
    }

    /// The archive of one entry with a header of the test's choice.
    fn with_header(head: Vec<u8>) -> Vec<u8> {
        [head, vec![0; BLOCK * 2]].concat()
    }

    #[test]
    fn tricks_with_paths_and_links_are_refused() {
        for name in ["/etc/passwd", "../x", "a/../b", "a//b", "a\\b", "a\n", "./a", ""] {
            let refused = read(&with_header(header("", name, 0, b'0')));
            assert!(refused.is_err(), "{name}");
            assert!(TarWriter::new(Vec::new()).add(name, 0, &mut io::empty()).is_err());
        }
        for (kind, told) in
            [(b'1', "a link"), (b'2', "a link"), (b'5', "a folder"), (b'3', "not a regular file")]
        {
            let refused = read(&with_header(header("", "a", 0, kind))).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        let twice = [header("", "a", 0, b'0'), header("", "a", 0, b'0')].concat();
        assert!(read(&with_header(twice)).unwrap_err().contains("appears twice"));
        let unordered = [header("", "b", 0, b'0'), header("", "a", 0, b'0')].concat();
        assert!(read(&with_header(unordered)).unwrap_err().contains("out of order"));
        // A bomb: the size is claimed, and the content is not there.
        let bomb = header("", "a", MAX_SIZE, b'0');
        assert!(read(&with_header(bomb)).unwrap_err().contains("shorter than its size"));
        let mut changed = header("", "a", 0, b'0');
        changed[100] = b'4';
        assert!(read(&with_header(changed)).unwrap_err().contains("another form"));
    }

    #[test]
    fn the_longest_path_of_the_longest_name_of_a_skill_fits() {
        let (name, version) = ("n".repeat(MAX_SKILL_NAME), "1".repeat(MAX_VERSION));
        let path = ["p".repeat(200), "q".repeat(MAX_PATH - 201)].join("/");
        let entries = vec![(format!("skills/{name}@{version}/{path}"), b"x".to_vec())];
        assert_eq!(read(&write(&entries)).unwrap(), entries);
        let mut writer = TarWriter::new(Vec::new());
        assert!(writer.add(&"x".repeat(MAX_NAME + 1), 0, &mut io::empty()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
            prop_assert!(read(&bytes).is_err());
        }

        #[test]
        fn changed_archives_are_refused_or_read_as_what_they_are(
            at in 0_usize..3_000, byte in any::<u8>()
        ) {
            let mut bytes = write(&sample());
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(entries) = read(&bytes) {
                prop_assert_eq!(write(&entries), bytes);
            }
        }

        #[test]
        fn names_of_all_lengths_read_back(parts in prop::collection::vec("[a-zé]{1,120}", 1..8)) {
            let entries = vec![(parts.join("/"), b"x".to_vec())];
            prop_assert_eq!(read(&write(&entries)).unwrap(), entries);
        }
    }
}
