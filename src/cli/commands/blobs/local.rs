//! Blobs of the store on this machine, without a server between.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use crate::assembly;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_config::Config;
use wardian_service::sole_tenant;
use wardian_stores::blobs::OpenBlob;
use wardian_stores::blobs::content::file_name::kind_of_file;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_stores::blobs::{BlobError, LocalBlobStore, NewBlob, StoredBlob};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// Bytes copied at a time.
const CHUNK: usize = 256 << 10;

/// Opens the store. If a server uses it, `use_of_it` decides.
pub(super) fn open(config: &Config, use_of_it: UseOfStore) -> Result<LocalBlobStore, Failed> {
    if let Some(place) = &config.blobs.store {
        let folder = config.blobs.folder.display();
        note(&format!(
            "note: these are the blobs of commands on this machine, in `{folder}`; a server keeps its own in \
             `{place}` (`blobs.store`): name it with `--server`"
        ));
    }
    match assembly::open_blobs(config) {
        Err(assembly::AssemblyError::Blobs(BlobError::InUse)) => match use_of_it {
            UseOfStore::Reads => Ok(assembly::open_blobs_beside(config)),
            UseOfStore::Changes => Err(Failed::usage(
                "a server is using the blob store: give its address with `--server`, such as \
                 `--server http://127.0.0.1:8080`, or stop it",
            )),
        },
        opened => Ok(opened?),
    }
}

/// What a command does with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UseOfStore {
    Reads,
    Changes,
}

/// Stores a file under its name. Without `kind`, the file's name determines the kind.
pub(crate) fn store_file(
    store: &Arc<LocalBlobStore>,
    path: &Path,
    kind: Option<&str>,
) -> Result<StoredBlob, Failed> {
    let stored = store_content(store, path, kind)?;
    with_name(store, stored, name_of(path))
}

/// The name of a file, if a blob can have it.
pub(super) fn name_of(path: &Path) -> Option<BlobName> {
    path.file_name().and_then(|name| BlobName::parse(name.to_str()?).ok())
}

/// Gives a blob a name, if there is one.
pub(super) fn with_name(
    store: &LocalBlobStore,
    stored: StoredBlob,
    name: Option<BlobName>,
) -> Result<StoredBlob, Failed> {
    let Some(name) = name else { return Ok(stored) };
    store.set_names(&sole_tenant(), &[(stored.id.clone(), name.clone())])?;
    Ok(StoredBlob { name: Some(name), ..stored })
}

fn store_content(
    store: &Arc<LocalBlobStore>,
    path: &Path,
    kind: Option<&str>,
) -> Result<StoredBlob, Failed> {
    let unreadable = |fault: io::Error| Failed::named(path.display(), &fault);
    let kind = kind_of(path, kind)?;
    let mut file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?;
    let stored = if size.is_file() && size.len() > 0 {
        store.put_from(&sole_tenant(), &kind, ByteCount::bytes(size.len()), &mut file)
    } else {
        return store_stream(store, path, &kind, &mut file);
    };
    stored.map_err(|error| match error.kind() {
        ErrorKind::TooLarge | ErrorKind::QuotaExceeded => Failed::named(path.display(), &error),
        _ => error.into(),
    })
}

/// Stores what a pipe, a device or a file of `/proc` yields: they do not report their length, and
/// some never end.
pub(super) fn store_stream(
    store: &Arc<LocalBlobStore>,
    path: &Path,
    kind: &BlobKind,
    content: &mut dyn Read,
) -> Result<StoredBlob, Failed> {
    let refused = |error: BlobError| match error.kind() {
        ErrorKind::TooLarge | ErrorKind::QuotaExceeded => Failed::named(path.display(), &error),
        _ => error.into(),
    };
    let new = NewBlob { kind: kind.clone(), announced: None, digest: None };
    let mut writer = store.begin(&sole_tenant(), &new).map_err(refused)?;
    let mut piece = vec![0; CHUNK];
    loop {
        let count = content.read(&mut piece).map_err(|e| Failed::named(path.display(), &e))?;
        match piece.get(..count).filter(|read| !read.is_empty()) {
            Some(read) => writer.append(read).map_err(refused)?,
            None => return Ok(writer.finish().map_err(refused)?.blob),
        }
    }
}

/// The kind that a command names, or that the file's name suggests.
pub(super) fn kind_of(path: &Path, named: Option<&str>) -> Result<BlobKind, Failed> {
    let name = path.to_string_lossy();
    let kind = named.unwrap_or_else(|| kind_of_file(&name));
    BlobKind::parse(kind).map_err(|error| Failed::usage(error.to_string()))
}

pub(crate) fn open_blob(store: &LocalBlobStore, id: &BlobId) -> Result<OpenBlob<File>, Failed> {
    store.open_content(&sole_tenant(), id).map_err(|error| match error.kind() {
        ErrorKind::BlobNotFound => Failed::usage(error.to_string()),
        _ => error.into(),
    })
}

/// Copies a blob piece by piece. Returns its length.
pub(crate) fn copy_blob(
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
pub(crate) fn read_blob(store: &LocalBlobStore, id: &BlobId) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    copy_blob(open_blob(store, id)?, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Reads a whole blob of text.
pub(crate) fn read_text_blob(store: &LocalBlobStore, id: &BlobId) -> Result<String, Failed> {
    let bytes = read_blob(store, id)?;
    String::from_utf8(bytes).map_err(|fault| Failed::at("read the blob", &fault))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use wardian_config::{Flags, Surroundings};

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
        let store = Arc::new(open(config, UseOfStore::Changes)?);
        Ok(store_file(&store, path, None)?.id)
    }

    fn content(config: &Config, id: &BlobId) -> Vec<u8> {
        read_blob(&open(config, UseOfStore::Reads).unwrap(), id).unwrap()
    }

    #[test]
    fn a_stored_file_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let config = config_in(folder.path(), &[]);
        let from = folder.path().join("from.csv");
        for bytes in [&[][..], b"a,b\n", &[7; CHUNK + 1]] {
            fs::write(&from, bytes).unwrap();
            let id = stored(&config, &from).unwrap();
            assert_eq!(content(&config, &id), bytes);
        }
    }

    #[test]
    fn what_never_ends_is_refused_and_what_tells_no_length_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let config = config_in(folder.path(), &[("blobs.max_size", "1 KiB")]);
        let failed = stored(&config, Path::new("/dev/zero")).unwrap_err();
        assert_eq!(failed.exit, crate::cli::exit_code::Exit::WrongUsage);
        assert!(
            failed.to_string().starts_with("/dev/zero: a blob may have at most 1 KiB"),
            "{failed}"
        );
        let id = stored(&config, Path::new("/proc/sys/kernel/ostype")).unwrap();
        assert_eq!(content(&config, &id), b"Linux\n");
    }

    #[test]
    fn beside_a_server_the_store_is_read_only() {
        let folder = tempfile::tempdir().unwrap();
        let config = config_in(folder.path(), &[]);
        let file = folder.path().join("file");
        fs::write(&file, "content").unwrap();
        let id = stored(&config, &file).unwrap();
        let _server = open(&config, UseOfStore::Changes).unwrap();
        assert_eq!(content(&config, &id), b"content");
        assert!(open(&config, UseOfStore::Changes).unwrap_err().to_string().contains("--server"));
    }
}
