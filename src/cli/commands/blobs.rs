//! `wardian blobs`: stores and reads blobs while no server uses the store.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::assembly;
use crate::blobs::OpenBlob;
use crate::blobs::content::kind::BlobKind;
use crate::blobs::{BlobError, BlobStore, LocalBlobStore, StoredBlob};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{deliver, print_json, print_line};
use crate::config::Config;
use crate::error::ErrorKind;
use crate::ids::BlobId;
use crate::protocol::methods::blobs::CreateBlobResult;
use crate::service::sole_tenant;
use crate::units::ByteCount;

/// Bytes copied at a time.
const CHUNK: usize = 256 << 10;

/// Extensions of file names and their usual MIME types.
const KINDS: [(&str, &str); 20] = [
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("py", "text/x-python"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xml", "application/xml"),
    ("json", "application/json"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("svg", "image/svg+xml"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("zip", "application/zip"),
];

/// Stores a file and prints its id.
pub(crate) fn put(
    config: &Config,
    file: &Path,
    kind: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let store = open(config)?;
    let blob = store_file(&store, file, kind, config.blobs.max_size)?;
    if as_json {
        let size_bytes = blob.size.as_u64();
        print_json(&CreateBlobResult { blob_id: blob.id, size_bytes });
    } else {
        print_line(blob.id.as_str());
    }
    Ok(Exit::Done)
}

/// Prints a blob or writes it to a file.
pub(crate) fn fetch(config: &Config, id: &str, to: Option<&Path>) -> Result<Exit, Failed> {
    let id = BlobId::parse(id)?;
    let store = open(config)?;
    // A missing blob must not truncate an existing file.
    let blob = open_blob(&store, &id)?;
    match to {
        Some(path) => {
            let mut file = File::create(path).map_err(|e| Failed::named(path.display(), &e))?;
            let copied = copy_blob(blob, |piece| io::Write::write_all(&mut file, piece))?;
            print_line(&format!("{}: {copied}", path.display()));
        }
        None => {
            copy_blob(blob, deliver)?;
        }
    }
    Ok(Exit::Done)
}

fn open(config: &Config) -> Result<LocalBlobStore, Failed> {
    assembly::open_blobs(config).map_err(|error| match error {
        assembly::AssemblyError::Blobs(BlobError::InUse) => Failed::usage(
            "a server is using the blob store: call its `create_blob` and `read_blob`, or stop it",
        ),
        other => other.into(),
    })
}

/// Stores a file. Without `kind`, the file's name determines the kind. A blob may have `limit`.
pub(crate) fn store_file(
    store: &dyn BlobStore,
    path: &Path,
    kind: Option<&str>,
    limit: ByteCount,
) -> Result<StoredBlob, Failed> {
    let unreadable = |fault: io::Error| Failed::named(path.display(), &fault);
    let kind = BlobKind::parse(kind.unwrap_or_else(|| kind_of(path)))
        .map_err(|error| Failed::usage(error.to_string()))?;
    let mut file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?;
    let stored = if size.is_file() && size.len() > 0 {
        store.put_from(&sole_tenant(), &kind, ByteCount::bytes(size.len()), &mut file)
    } else {
        // Pipes, devices and files of `/proc` do not report their length, and some never end.
        let mut content = Vec::new();
        let most = limit.as_u64().saturating_add(1);
        file.take(most).read_to_end(&mut content).map_err(unreadable)?;
        if ByteCount::from(content.len()) > limit {
            let path = path.display();
            return Err(Failed::usage(format!("{path}: a blob may hold {limit}, this has more")));
        }
        store.put(&sole_tenant(), &kind, &content)
    };
    stored.map_err(|error| match error.kind() {
        ErrorKind::TooLarge | ErrorKind::QuotaExceeded => Failed::named(path.display(), &error),
        _ => error.into(),
    })
}

fn open_blob(store: &dyn BlobStore, id: &BlobId) -> Result<OpenBlob<File>, Failed> {
    store.open_content(&sole_tenant(), id).map_err(|error| match error.kind() {
        ErrorKind::BlobNotFound => Failed::usage(error.to_string()),
        _ => error.into(),
    })
}

/// Copies a blob piece by piece. Returns its length.
fn copy_blob(
    opened: OpenBlob<File>,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<ByteCount, Failed> {
    let size = opened.blob.size;
    let mut content = opened.file.take(size.as_u64());
    let mut piece = vec![0; CHUNK];
    loop {
        let count = content.read(&mut piece).map_err(|e| Failed::at("read the blob", &e))?;
        let Some(read) = piece.get(..count).filter(|read| !read.is_empty()) else {
            return Ok(size);
        };
        write(read).map_err(|e| Failed::at("write the blob", &e))?;
    }
}

/// Reads a whole blob.
pub(crate) fn read_blob(store: &dyn BlobStore, id: &BlobId) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    copy_blob(open_blob(store, id)?, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Reads a whole blob of text.
pub(crate) fn read_text_blob(store: &dyn BlobStore, id: &BlobId) -> Result<String, Failed> {
    let bytes = read_blob(store, id)?;
    String::from_utf8(bytes).map_err(|fault| Failed::at("read the blob", &fault))
}

/// Writes blobs as files into a folder. The names are the first letters of the id and the extension
/// of the kind.
pub(crate) fn save_all(
    store: &dyn BlobStore,
    ids: &[BlobId],
    folder: &Path,
) -> Result<Vec<(BlobId, String)>, Failed> {
    fs::create_dir_all(folder).map_err(|e| Failed::named(folder.display(), &e))?;
    let mut saved = Vec::new();
    for id in ids {
        let kind = store.stat(&sole_tenant(), id)?.kind;
        let letters: String = id.letters().chars().take(12).collect();
        let path = folder.join(format!("{letters}.{}", ending_of(kind.as_str())));
        let mut file = File::create(&path).map_err(|e| Failed::named(path.display(), &e))?;
        let blob = open_blob(store, id)?;
        copy_blob(blob, |piece| io::Write::write_all(&mut file, piece))?;
        saved.push((id.clone(), path.display().to_string()));
    }
    Ok(saved)
}

/// The kind that a file's name suggests.
fn kind_of(path: &Path) -> &'static str {
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let known = KINDS.iter().find(|(known, _)| *known == ending);
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

/// The usual ending of files of a kind.
fn ending_of(kind: &str) -> &'static str {
    let essence = kind.split(';').next().unwrap_or_default().trim();
    KINDS.iter().find(|(_, known)| *known == essence).map_or("bin", |(ending, _)| ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Flags, Surroundings};

    fn config_in(folder: &Path, settings: &[(&str, &str)]) -> Config {
        let surroundings = Surroundings {
            data_dir: Some(folder.join("data")),
            cache_dir: Some(folder.join("cache")),
            ..Surroundings::default()
        };
        let settings = settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        Config::load(&surroundings, Flags { settings: settings.collect(), ..Flags::default() })
            .unwrap()
    }

    fn stored(config: &Config, path: &Path) -> Result<BlobId, Failed> {
        Ok(store_file(&open(config)?, path, None, config.blobs.max_size)?.id)
    }

    #[test]
    fn a_stored_file_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let config = config_in(folder.path(), &[]);
        let (from, to) = (folder.path().join("from.csv"), folder.path().join("to"));
        for content in [&[][..], b"a,b\n", &[7; CHUNK + 1]] {
            fs::write(&from, content).unwrap();
            let id = stored(&config, &from).unwrap();
            assert_eq!(fetch(&config, id.as_str(), Some(&to)), Ok(Exit::Done));
            assert_eq!(fs::read(&to).unwrap(), content);
        }
    }

    #[test]
    fn a_missing_blob_does_not_truncate_an_existing_file() {
        let folder = tempfile::tempdir().unwrap();
        let config = config_in(folder.path(), &[]);
        let file = folder.path().join("precious.txt");
        fs::write(&file, "precious").unwrap();
        let id = stored(&config, &file).unwrap();
        fs::remove_dir_all(folder.path().join("data")).unwrap();
        let failed = fetch(&config, id.as_str(), Some(&file)).unwrap_err();
        assert_eq!(failed.exit, Exit::WrongUsage);
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    }

    #[test]
    fn what_never_ends_is_refused_and_what_tells_no_length_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let config = config_in(folder.path(), &[("blobs.max_size", "1 KiB")]);
        let failed = stored(&config, Path::new("/dev/zero")).unwrap_err();
        assert_eq!(failed.exit, Exit::WrongUsage);
        assert_eq!(failed.to_string(), "/dev/zero: a blob may hold 1 KiB, this has more");
        let id = stored(&config, Path::new("/proc/sys/kernel/ostype")).unwrap();
        let copy = folder.path().join("copy");
        assert_eq!(fetch(&config, id.as_str(), Some(&copy)), Ok(Exit::Done));
        assert_eq!(fs::read_to_string(copy).unwrap(), "Linux\n");
    }

    #[test]
    fn every_known_kind_is_one_that_the_store_takes() {
        for (ending, kind) in KINDS {
            assert!(BlobKind::parse(kind).is_ok(), "{kind}");
            assert_eq!(kind_of(Path::new(&format!("A.{}", ending.to_uppercase()))), kind);
        }
        assert_eq!(kind_of(Path::new("README")), "application/octet-stream");
        assert_eq!(ending_of("text/csv; charset=utf-8"), "csv");
        assert_eq!(ending_of("x/y"), "bin");
    }
}
