//! `wardian blobs put` and `wardian blobs get`.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::cli::commands::blobs::hashed::HashedContent;
use crate::cli::commands::blobs::local::{
    UseOfStore, copy_blob, kind_of, name_of, open, open_blob, store_file, store_stream, with_name,
};
use crate::cli::commands::blobs::proposed_name::proposed_name;
use crate::cli::commands::blobs::remote::{Announced, Remote};
use crate::cli::commands::blobs::transfer_progress::TransferProgress;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{deliver, note, print_json, print_line};
use wardian_config::Config;
use wardian_formats::protocol::methods::blobs::CreateBlobResult;
use wardian_stores::blobs::content::blob_id::BlobHasher;
use wardian_stores::blobs::content::file_name::file_name_of;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// Bytes copied at a time.
const CHUNK: usize = 256 << 10;

/// Attempts to continue after a connection broke, without a byte having arrived in between.
const ATTEMPTS: u32 = 3;

/// The description of a blob that the command line gives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Described<'a> {
    /// MIME type; without it the name decides.
    pub(super) kind: Option<&'a str>,
    /// The blob's name; without it that of the file.
    pub(super) name: Option<&'a BlobName>,
}

/// Stores a file, or standard input for `-`, and prints its id.
pub(super) fn put(
    config: &Config,
    remote: Option<&Remote>,
    file: &Path,
    described: Described<'_>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let is_stdin = file == Path::new("-");
    let of_file = || name_of(file).filter(|_| !is_stdin);
    let name = described.name.cloned().or_else(of_file);
    let named = name.as_ref().map_or(file, |name| Path::new(name.as_str()));
    let kind = kind_of(named, described.kind)?;
    let (blob_id, size_bytes) = if let Some(remote) = remote {
        put_remote(remote, file, (&kind, name.as_ref()), is_stdin)?
    } else {
        let store = Arc::new(open(config, UseOfStore::Changes)?);
        let blob = if is_stdin {
            let mut content = io::stdin().lock();
            store_stream(&store, file, &kind, &mut content)?
        } else {
            store_file(&store, file, Some(kind.as_str()))?
        };
        let blob = with_name(&store, blob, name.clone())?;
        (blob.id, blob.size.as_u64())
    };
    if as_json {
        print_json(&CreateBlobResult { blob_id, size_bytes, name });
    } else {
        print_line(blob_id.as_str());
    }
    Ok(Exit::Done)
}

/// Stores a file on a server.
pub(crate) fn put_file(remote: &Remote, path: &Path, kind: &str) -> Result<BlobId, Failed> {
    let kind = BlobKind::parse(kind).map_err(|fault| Failed::at("store the file", &fault))?;
    put_remote(remote, path, (&kind, None), false).map(|(id, _)| id)
}

fn put_remote(
    remote: &Remote,
    path: &Path,
    (kind, name): (&BlobKind, Option<&BlobName>),
    is_stdin: bool,
) -> Result<(BlobId, u64), Failed> {
    let unreadable = |fault: io::Error| Failed::named(path.display(), &fault);
    let (content, size, digest): (Box<dyn Read>, _, _) = if is_stdin {
        (Box::new(io::stdin().lock()), None, None)
    } else {
        let mut file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let size = Some(metadata.len()).filter(|size| metadata.is_file() && *size > 0);
        // The server compares: this command cannot, because a tenant's ids are keyed.
        let digest = match size.filter(|_| remote.has_key()) {
            Some(_) => Some(digest_of(&mut file).map_err(unreadable)?),
            None => None,
        };
        (Box::new(file), size, digest)
    };
    let count = Rc::new(Cell::new(0));
    let counted = Counted { content, count: Rc::clone(&count) };
    let progress = TransferProgress::begin("storing", size);
    let mut hashed = HashedContent::new(counted, kind, progress);
    let announced = Announced { size, digest, name };
    let stored = remote.put(kind.as_str(), announced, &mut hashed, &|| count.get() == 0)?;
    // With a key the content of a stream is compared by its size alone: its digest is known only
    // when all of it was sent.
    let is_same = remote.has_key() || hashed.finish() == stored.blob_id;
    if !is_same || stored.size_bytes != count.get() {
        return Err(Failed::because("the server stored different bytes than were sent"));
    }
    Ok((stored.blob_id, stored.size_bytes))
}

/// The SHA-256 of a file, which is read from its beginning again afterwards.
fn digest_of(file: &mut File) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; CHUNK];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => hasher.update(piece.get(..count).unwrap_or_default()),
        }
    }
    file.rewind()?;
    Ok(hasher.finalize().into())
}

/// Content whose bytes are counted.
struct Counted {
    content: Box<dyn Read>,
    count: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.content.read(buffer)?;
        self.count.set(self.count.get().saturating_add(ByteCount::from(count).as_u64()));
        Ok(count)
    }
}

/// Prints a blob or writes it to a file.
pub(super) fn fetch(
    config: &Config,
    remote: Option<&Remote>,
    id: &str,
    to: Option<&Path>,
) -> Result<Exit, Failed> {
    let id = BlobId::parse(id)?;
    let folder = to.and_then(folder_named);
    let mut named = to.map(Path::to_owned);
    let size = match remote {
        Some(remote) => {
            // A missing blob must not truncate an existing file.
            let answer = remote.open(&id, 0)?;
            if let Some(folder) = folder {
                ensure_folder(folder)?;
                named = Some(folder.join(name_in(&answer, &id)));
            }
            let mut output = Output::to(named.as_deref())?;
            let size = fetch_remote(remote, &id, answer, &mut output)?;
            output.finish()?;
            size
        }
        None => {
            let store = open(config, UseOfStore::Reads)?;
            let blob = open_blob(&store, &id)?;
            let mut progress = TransferProgress::begin("reading", Some(blob.blob.size.as_u64()));
            if let Some(folder) = folder {
                let usual = || file_name_of(&id, blob.blob.kind.as_str());
                let name = blob.blob.name.as_ref().map_or_else(usual, ToString::to_string);
                ensure_folder(folder)?;
                named = Some(folder.join(name));
            }
            let mut output = Output::to(named.as_deref())?;
            let size = copy_blob(blob, |piece| {
                progress.advance(piece.len());
                output.write(piece)
            })?;
            output.finish()?;
            size.as_u64()
        }
    };
    if let Some(path) = named {
        print_line(&format!("{}: {}", path.display(), ByteCount::bytes(size)));
    }
    Ok(Exit::Done)
}

/// Prints the content of an answer, or writes it to a file, which is replaced once the content is complete.
/// Returns its length.
pub(crate) fn write_answer(
    answer: ureq::http::Response<ureq::Body>,
    to: Option<&Path>,
) -> Result<u64, Failed> {
    let size = header(&answer, "content-length").and_then(|size| size.parse::<u64>().ok());
    let size = size.ok_or_else(|| {
        Failed::because("the server did not send the length of the content".to_owned())
    })?;
    let mut output = Output::to(to)?;
    let mut progress = TransferProgress::begin("reading", Some(size));
    let (mut body, mut piece, mut done) = (body_of(answer), vec![0; CHUNK], 0_u64);
    while done < size {
        let count = match body.read(&mut piece) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            read => read,
        };
        let count = count.map_err(|fault| Failed::at("read the content to its end", &fault))?;
        let read = piece.get(..count).unwrap_or_default();
        output.write(read).map_err(|fault| Failed::at("write the content", &fault))?;
        progress.advance(count);
        done = done.saturating_add(ByteCount::from(count).as_u64());
    }
    output.finish()?;
    Ok(done)
}

/// The folder that a path names: one that is there, or, because the path ends with a slash, one that
/// is to be made. `None` for the path of a file.
fn folder_named(path: &Path) -> Option<&Path> {
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir();
    is_folder.then_some(path)
}

/// Makes a folder if it does not exist.
fn ensure_folder(folder: &Path) -> Result<(), Failed> {
    if fs::metadata(folder.components().as_path()).is_ok_and(|found| !found.is_dir()) {
        return Err(Failed::usage(format!(
            "{}: a path that ends with a slash must be a folder, and this is not one",
            folder.display()
        )));
    }
    fs::create_dir_all(folder).map_err(|fault| Failed::named(folder.display(), &fault))
}

/// Copies a blob of a server, and continues where a connection broke. The bytes are compared with
/// the id at the end, unless the id is that of a tenant, which is keyed.
fn fetch_remote(
    remote: &Remote,
    id: &BlobId,
    answer: Answer,
    output: &mut Output,
) -> Result<u64, Failed> {
    let kind = header(&answer, "content-type").and_then(|kind| BlobKind::parse(&kind).ok());
    let size = header(&answer, "content-length").and_then(|size| size.parse::<u64>().ok());
    let (Some(kind), Some(size)) = (kind, size) else {
        return Err(Failed::because("the server did not send the kind and length of the blob"));
    };
    let mut progress = TransferProgress::begin("reading", Some(size));
    let mut hasher = BlobHasher::new(&kind);
    let mut piece = vec![0; CHUNK];
    let (mut done, mut failures) = (0_u64, 0_u32);
    let mut body = body_of(answer);
    while done < size {
        let fault = match body.read(&mut piece) {
            Ok(count) if count > 0 => {
                let read = piece.get(..count).unwrap_or_default();
                hasher.update(read);
                output.write(read).map_err(|e| Failed::at("write the blob", &e))?;
                progress.advance(count);
                done = done.saturating_add(ByteCount::from(count).as_u64());
                failures = 0;
                continue;
            }
            Ok(_) => io::ErrorKind::UnexpectedEof.into(),
            Err(fault) => fault,
        };
        failures = failures.saturating_add(1);
        if failures > ATTEMPTS {
            return Err(Failed::at("read the blob to its end", &fault));
        }
        note(&format!("the connection was lost ({fault}); resuming at byte {done}"));
        body = body_of(remote.open(id, done)?);
    }
    if hasher.finish() != *id && !remote.has_key() {
        return Err(Failed::because("the server sent bytes that are not those of the blob"));
    }
    Ok(done)
}

type Answer = ureq::http::Response<ureq::Body>;

/// The name that a server proposes for a blob, or one that is made of its id.
fn name_in(answer: &Answer, id: &BlobId) -> String {
    let proposed = header(answer, "content-disposition").and_then(|value| proposed_name(&value));
    let kind = || header(answer, "content-type").unwrap_or_default();
    proposed.map_or_else(|| file_name_of(id, &kind()), |name| name.to_string())
}

fn header(answer: &Answer, name: &str) -> Option<String> {
    answer.headers().get(name)?.to_str().ok().map(str::to_owned)
}

fn body_of(answer: Answer) -> impl Read {
    answer.into_body().into_with_config().limit(u64::MAX).reader()
}

/// The place that a blob is written to.
enum Output {
    Stdout,
    /// Complete content replaces the file of this path; incomplete content does not.
    Draft(NamedTempFile, PathBuf),
    /// A device, a pipe, or the file that a link leads to.
    Direct(File),
}

impl Output {
    fn to(path: Option<&Path>) -> Result<Self, Failed> {
        let Some(path) = path else { return Ok(Self::Stdout) };
        let named = |fault: io::Error| Failed::named(path.display(), &fault);
        if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
            return File::create(path).map(Self::Direct).map_err(named);
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let draft = tempfile::Builder::new().prefix(".wardian-").permissions(mode()).to_owned();
        let draft = draft.tempfile_in(folder.unwrap_or(Path::new(".")));
        Ok(Self::Draft(draft.map_err(named)?, path.to_owned()))
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => deliver(piece),
            Self::Draft(file, _) => file.write_all(piece),
            Self::Direct(file) => file.write_all(piece),
        }
    }

    fn finish(self) -> Result<(), Failed> {
        let Self::Draft(mut file, path) = self else { return Ok(()) };
        file.flush().and_then(|()| file.rewind()).map_err(|e| Failed::at("write the blob", &e))?;
        let kept = file.persist(&path).map_err(|fault| fault.error);
        kept.map(drop).map_err(|e| Failed::named(path.display(), &e))
    }
}

/// The rights of a new file, which the process's mask restricts.
fn mode() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
