//! `wardian bundle`: packs a document and all contents that it names into one file.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Cursor, Read};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use crate::assembly::{layers_of, open_registry};
use crate::cli::commands::verify::document_file::{network_file, read_document};
use crate::cli::commands::verify::document_text::ReadDocument;
use crate::cli::commands::verify::found_files::FoundFiles;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;
use crate::cli::verify_args::BundleArgs;
use wardian_config::Config;
use wardian_formats::provenance::RunInputs;
use wardian_formats::provenance::bundle::{
    DOCUMENT_NAME, blob_name, is_in_program, layer_name, layers, long_texts, skill_folder,
    text_name,
};
use wardian_formats::provenance::tar::TarWriter;
use wardian_skills::registry::folders::snapshot::Snapshot;

/// The content of a file of a bundle.
enum Content {
    Bytes(Vec<u8>),
    Path(PathBuf),
    Open(Arc<File>, u64),
}

/// Reads an open file from its beginning, whoever else reads it.
struct FromStart<'f>(&'f File, u64);

impl Read for FromStart<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read_at(into, self.1)?;
        self.1 = self.1.saturating_add(u64::try_from(count).unwrap_or_default());
        Ok(count)
    }
}

/// Executes the command. Equal documents give equal bundles.
pub(crate) fn bundle(config: &Config, args: &BundleArgs) -> Result<Exit, Failed> {
    let (read, unpacked) = read_document(&args.file, None)?;
    if unpacked.is_some() {
        return Err(Failed::usage(format!("{}: is already a bundle", args.file.display())));
    }
    ensure_no_input(args, &read.document.inputs)?;
    let mut files = FoundFiles::below(&args.blobs)?;
    files.extend(FoundFiles::beside(&args.file));
    files.add(&network_file(&args.file));
    let contents = contents(config, read, &files)?;
    let written = write(&args.output, &contents)?;
    note(&format!("{written} files in {}", args.output.display()));
    Ok(Exit::Done)
}

/// Refuses an output file that is the document, or a content that the document names.
fn ensure_no_input(args: &BundleArgs, inputs: &RunInputs) -> Result<(), Failed> {
    let refused = |why: &str| Err(Failed::usage(format!("{}: {why}", args.output.display())));
    // A link would be replaced, so it is refused like all that is not a regular file.
    let Ok(there) = fs::symlink_metadata(&args.output) else { return Ok(()) };
    if !there.is_file() {
        return refused("exists and is not a regular file");
    }
    let document =
        fs::metadata(&args.file).map_err(|fault| Failed::named(args.file.display(), &fault))?;
    let output = FoundFiles::one(&args.output);
    let is_input = (there.dev(), there.ino()) == (document.dev(), document.ino())
        || inputs.contents().any(|blob| output.of_blob(blob).is_ok())
        || long_texts(inputs).iter().any(|(what, text)| output.text(what, text).is_ok());
    if is_input { refused("is one of the files to pack: choose another output") } else { Ok(()) }
}

fn contents(
    config: &Config,
    read: ReadDocument,
    files: &FoundFiles,
) -> Result<BTreeMap<String, Content>, Failed> {
    let inputs = &read.document.inputs;
    let mut contents = BTreeMap::new();
    for blob in inputs.contents() {
        let path = files.of_blob(blob)?.to_owned();
        contents.insert(blob_name(blob.id.letters()), Content::Path(path));
    }
    for (what, text) in long_texts(inputs) {
        let content = Content::Bytes(files.text(what, text)?.into_bytes());
        contents.insert(text_name(text), content);
    }
    let snapshots = skills(config, inputs)?;
    for (folder, snapshot) in &snapshots {
        for file in snapshot.files() {
            let content = Content::Bytes(snapshot.read_file(&file.path)?.to_vec());
            contents.insert(format!("{folder}/{}", file.path), content);
        }
    }
    let snapshots: Vec<_> = snapshots.into_iter().map(|(_, snapshot)| snapshot).collect();
    let found = layers_of(config, &snapshots)?;
    for digest in layers(inputs) {
        let (key, layer) =
            found.iter().find(|(_, layer)| layer.digest == digest).ok_or_else(|| {
                Failed::usage(format!(
                    "the layer of packages {digest} is not on this machine: `wardian skills deps \
                sync` may fetch it"
                ))
            })?;
        let content = Content::Open(Arc::clone(&layer.file), layer.length.as_u64());
        contents.insert(layer_name(&key.to_string()), content);
    }
    contents.insert(DOCUMENT_NAME.to_owned(), Content::Bytes(read.text));
    Ok(contents)
}

/// The skills of a document, each with its folder.
fn skills(config: &Config, inputs: &RunInputs) -> Result<Vec<(String, Arc<Snapshot>)>, Failed> {
    let index = open_registry(config)?.current();
    let skills = inputs.skills.iter().filter(|skill| !is_in_program(&skill.name));
    let found = skills.map(|skill| {
        let snapshot = index
            .find(&skill.name, Some(&skill.version))
            .map_err(|missing| Failed::usage(missing.to_string()))?;
        if snapshot.digest() == skill.digest {
            return Ok((skill_folder(skill), Arc::clone(snapshot)));
        }
        Err(Failed::usage(format!(
            "{} of `{}` differs here: the document has {}, and this machine has {}",
            skill.version,
            skill.name,
            skill.digest,
            snapshot.digest()
        )))
    });
    found.collect()
}

/// Writes a bundle next to its place, and moves it there once it is whole. Returns the number of
/// its files.
fn write(path: &Path, contents: &BTreeMap<String, Content>) -> Result<usize, Failed> {
    let named = |fault: io::Error| Failed::named(path.display(), &fault);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let place = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(named)?;
    let mode = fs::metadata(path).map_or(0o644, |there| there.permissions().mode() & 0o777);
    let mut archive = TarWriter::new(BufWriter::new(place.as_file()));
    for (name, content) in contents {
        let opened;
        let (size, mut source): (u64, Box<dyn Read>) = match content {
            Content::Bytes(bytes) => {
                (u64::try_from(bytes.len()).unwrap_or(u64::MAX), Box::new(Cursor::new(bytes)))
            }
            Content::Path(path) => {
                let named = |fault: io::Error| Failed::named(path.display(), &fault);
                opened = File::open(path).map_err(named)?;
                (opened.metadata().map_err(named)?.len(), Box::new(&opened))
            }
            Content::Open(file, length) => (*length, Box::new(FromStart(file, 0))),
        };
        archive.add(name, size, &mut source)?;
    }
    let file = archive.finish()?.into_inner().map_err(|fault| named(fault.into_error()))?;
    file.set_permissions(Permissions::from_mode(mode)).map_err(named)?;
    file.sync_all().map_err(named)?;
    place.persist(path).map_err(|fault| named(fault.error))?;
    Ok(contents.len())
}
