//! `wardian sessions files`, `get` and `put`.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek as _};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cli::commands::blobs::{Remote, write_answer};
use crate::cli::commands::sessions::views::path;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, print_table, shown};
use crate::cli::terminal::readable::{age, readable};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{CheckpointId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// The working folder of a session, as programs see it.
const WORKSPACE: &str = "/workspace/";

/// Where a file is written, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct FilePlace<'a> {
    /// Its path; without it the name of the file.
    pub(super) path: Option<&'a str>,
    /// The checkpoint that the session must be at.
    pub(super) if_checkpoint: Option<&'a str>,
}

/// A page of the files of a session.
#[derive(Debug, Deserialize)]
struct FilePage {
    files: Vec<FileView>,
    next_cursor: Option<String>,
    unlisted: u64,
}

/// All files of a folder of a session.
#[derive(Debug, Default, Serialize)]
struct AllFiles {
    files: Vec<FileView>,
    /// Those whose paths are too long to be listed.
    unlisted: u64,
}

/// A file of a session.
#[derive(Debug, Serialize, Deserialize)]
struct FileView {
    path: String,
    kind: String,
    size_bytes: u64,
    modified_ms: u64,
}

/// A file that was written.
#[derive(Debug, Serialize, Deserialize)]
struct WrittenFile {
    path: String,
    size_bytes: u64,
    replaced: bool,
    session: ChangedSession,
}

/// The session after a change.
#[derive(Debug, Serialize, Deserialize)]
struct ChangedSession {
    id: SessionId,
    cell: u64,
    checkpoint: Option<CheckpointId>,
    state: String,
}

/// Lists the files of a session, or of one of its folders.
pub(super) fn list_files(
    server: &Remote,
    id: &SessionId,
    folder: Option<&str>,
    as_json: bool,
) -> Result<(), Failed> {
    let folder = folder.map(|folder| within(folder).trim_end_matches('/'));
    let folder = folder.filter(|folder| !folder.is_empty());
    let folder = folder.map(|folder| format!("&folder={}", escaped(folder))).unwrap_or_default();
    let (mut all, mut after) = (AllFiles::default(), String::new());
    loop {
        let at = format!("{}/files?limit=1000{folder}{after}", path(id));
        let page: FilePage = server.find_json(&at)?;
        all.files.extend(page.files);
        all.unlisted = all.unlisted.saturating_add(page.unlisted);
        let Some(next) = page.next_cursor else { break };
        after = format!("&cursor={}", escaped(&next));
    }
    if as_json {
        print_json(&all);
        return Ok(());
    }
    if all.files.is_empty() {
        print_line("there are no files");
    } else {
        let now = Clock::System.now();
        let rows = all.files.iter().map(|file| file.row(now)).collect();
        print_table(&["path", "size", "modified"], rows);
    }
    if all.unlisted > 0 {
        note(&format!("{} others have paths that are too long to be listed", all.unlisted));
    }
    Ok(())
}

impl FileView {
    fn row(&self, now: Duration) -> Vec<String> {
        let (sign, size) = match self.kind.as_str() {
            "folder" => ("/", "-".to_owned()),
            "link" => ("@", "-".to_owned()),
            _ => ("", readable(ByteCount::bytes(self.size_bytes))),
        };
        let since = now.saturating_sub(Duration::from_millis(self.modified_ms));
        vec![format!("{}{sign}", shown(&self.path)), size, age(since)]
    }
}

/// Prints a file of a session, or writes it to a file.
pub(super) fn get_file(
    server: &Remote,
    id: &SessionId,
    name: &str,
    output: Option<&Path>,
) -> Result<(), Failed> {
    let answer = server.open_content(&place_of(id, within(name)))?;
    let size = write_answer(answer, output)?;
    if let Some(output) = output {
        print_line(&format!("{}: {}", output.display(), ByteCount::bytes(size)));
    }
    Ok(())
}

/// Writes a file to a session.
pub(super) fn put_file(
    server: &Remote,
    id: &SessionId,
    file: &Path,
    place: FilePlace<'_>,
    as_json: bool,
) -> Result<(), Failed> {
    let is_stdin = file == Path::new("-");
    let own = file.file_name().and_then(|name| name.to_str()).filter(|_| !is_stdin);
    let name = place.path.map(within).or(own).ok_or_else(|| {
        Failed::usage("the file has no name that the session can use: give its path there")
    })?;
    let named = |fault: io::Error| Failed::named(file.display(), &fault);
    let mut content = if is_stdin { spooled() } else { File::open(file) }.map_err(named)?;
    if !content.metadata().map_err(named)?.is_file() {
        return Err(Failed::usage(format!("{} is not a regular file", file.display())));
    }
    let size = content.seek(io::SeekFrom::End(0)).map_err(named)?;
    content.rewind().map_err(named)?;
    let condition = place.if_checkpoint.map(|at| format!("?if_checkpoint={}", escaped(at)));
    let at = format!("{}{}", place_of(id, name), condition.unwrap_or_default());
    let count = Rc::new(Cell::new(0));
    // A file that grows meanwhile is sent as it was.
    let mut counted = Counted { content: content.take(size), count: Rc::clone(&count) };
    let written: WrittenFile = server.put_content(&at, size, &mut counted, &|| count.get() == 0)?;
    if as_json {
        print_json(&written);
        return Ok(());
    }
    let checkpoint = written.session.checkpoint.as_ref().map_or("-", CheckpointId::as_str);
    let done = if written.replaced { "replaced" } else { "written" };
    let size = ByteCount::bytes(written.size_bytes);
    let name = shown(&written.path);
    print_line(&format!("{name}: {size} {done}; session `{id}` is at checkpoint `{checkpoint}`"));
    Ok(())
}

/// Content that is counted while it is read.
struct Counted<R> {
    content: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.count.set(self.count.get().saturating_add(ByteCount::from(count).as_u64()));
        Ok(count)
    }
}

/// Standard input as a file: its length has to be known before it is sent.
fn spooled() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    Ok(file)
}

/// A path as programs write it, below the working folder.
fn within(path: &str) -> &str {
    path.strip_prefix(WORKSPACE).unwrap_or(path)
}

/// The path of a file on a server.
fn place_of(id: &SessionId, name: &str) -> String {
    let names: Vec<String> = name.split('/').map(escaped).collect();
    format!("{}/files/{}", path(id), names.join("/"))
}

/// A text as a part of a URL.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_server() {
        let id = SessionId::of_random(&[1; 16]);
        let place = place_of(&id, within("/workspace/a b/é?"));
        assert_eq!(place, format!("/v1/sessions/{id}/files/%61%20%62/%C3%A9%3F"));
        assert_eq!(within("workspace/a"), "workspace/a");
    }

    #[test]
    fn a_file_is_a_row() {
        let now = Duration::from_secs(1_790_000_000);
        let file = |kind: &str| FileView {
            path: "a\n".to_owned(),
            kind: kind.to_owned(),
            size_bytes: 2_048,
            modified_ms: 1_789_999_998_000,
        };
        assert_eq!(file("file").row(now), [r"a\n", "2.0 KiB", "2 s ago"]);
        assert_eq!(file("folder").row(now)[..2], [r"a\n/", "-"]);
        assert_eq!(file("link").row(now)[..2], [r"a\n@", "-"]);
    }
}
