//! Files with documents: alone, signed, or in a bundle.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use zeroize::Zeroizing;

use crate::cli::commands::verify::document_text::{ReadDocument, parse};
use crate::cli::commands::verify::unpacked::{UnpackedBundle, is_archive, unpack};
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use wardian_formats::provenance::{
    MAX_SIGNED_DOCUMENT, PrivateKey, ProvenanceError, PublicKey, RunDocument, SignedDocument,
};
use wardian_vocabulary::files::private_file::folder_of;
use wardian_vocabulary::ids::Digest;

/// Longest file with a key that is read, in bytes.
const MAX_KEY: u64 = 16 << 10;

/// Reads the document of a file, and the contents of a bundle. With a key it must be signed.
pub(super) fn read_document(
    path: &Path,
    key: Option<&PublicKey>,
) -> Result<(ReadDocument, Option<UnpackedBundle>), Failed> {
    let named = |fault: ProvenanceError| Failed::named(path.display(), &fault);
    let file = File::open(path).map_err(|fault| Failed::named(path.display(), &fault))?;
    if is_archive(path, &file)? {
        let (read, unpacked) = unpack(file, key).map_err(named)?;
        return Ok((read, Some(unpacked)));
    }
    let mut text = Vec::new();
    file.take(MAX_SIGNED_DOCUMENT.as_u64().saturating_add(1))
        .read_to_end(&mut text)
        .map_err(|fault| Failed::named(path.display(), &fault))?;
    Ok((parse(text, key).map_err(named)?, None))
}

/// The file of the network record that belongs to the document in `path`.
pub(crate) fn network_file(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".network");
    name.into()
}

/// Refuses a path at which the document could not be written, or that is one of these inputs.
pub(crate) fn ensure_writable(path: &Path, inputs: &[&Path]) -> Result<(), Failed> {
    let named = |why: &str| Failed::usage(format!("`--record {}`: {why}", path.display()));
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    if let Some(document) = identity(path)
        && let Some(input) = inputs.iter().find(|input| identity(input) == Some(document))
    {
        let why = format!("it would replace `{}`, which the run reads", input.display());
        return Err(named(&why));
    }
    let (place, how) = match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(named("it is a folder")),
        Ok(_) => (path, Access::WRITE_OK),
        Err(_) => (folder_of(path), Access::WRITE_OK | Access::EXEC_OK),
    };
    access(place, how).map_err(|fault| named(&std::io::Error::from(fault).to_string()))
}

/// Reads the key that signs.
pub(crate) fn private_key(path: &Path) -> Result<PrivateKey, Failed> {
    PrivateKey::read(&pem(path)?).map_err(|fault| Failed::named(path.display(), &fault))
}

/// Reads the key that verifies.
pub(super) fn public_key(path: &Path) -> Result<PublicKey, Failed> {
    PublicKey::read(&pem(path)?).map_err(|fault| Failed::named(path.display(), &fault))
}

fn pem(path: &Path) -> Result<Zeroizing<String>, Failed> {
    let mut text = Zeroizing::new(String::new());
    let file = File::open(path).map_err(|fault| Failed::named(path.display(), &fault))?;
    file.take(MAX_KEY)
        .read_to_string(&mut text)
        .map_err(|fault| Failed::named(path.display(), &fault))?;
    Ok(text)
}

/// Writes the document of a run into a file, signed if there is a key.
pub(crate) fn write_document(
    path: &Path,
    document: &RunDocument,
    key: Option<&PrivateKey>,
) -> Result<(), Failed> {
    let text = document.text()?;
    let digest = Digest::of(text.as_bytes());
    let (text, how) = match key {
        None => (text, "recorded"),
        Some(key) => (SignedDocument::sign(document, key)?.text()?, "recorded and signed"),
    };
    fs::write(path, &text).map_err(|fault| Failed::named(path.display(), &fault))?;
    note(&format!("{how} as {} (SHA-256 {digest})", path.display()));
    Ok(())
}
