//! `wardian verify`: executes a recorded run or session again and compares, or compares two documents.
//! `wardian bundle`: packs a document with all that it names.

mod document_file;
mod document_text;
mod found_files;
mod pack;
mod repetition;
mod session;
mod unpacked;
mod verdict;

pub(crate) use crate::cli::commands::verify::document_file::{
    ensure_writable, network_file, private_key, write_document,
};
pub(crate) use crate::cli::commands::verify::pack::bundle;

use std::path::Path;

use crate::cli::commands::verify::document_file::{public_key, read_document};
use crate::cli::commands::verify::document_text::SignatureState;
use crate::cli::commands::verify::found_files::FoundFiles;
use crate::cli::commands::verify::repetition::{Repetition, repeated};
use crate::cli::commands::verify::session::{session_in, verify_session};
use crate::cli::commands::verify::verdict::RunVerdict;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on_until_interrupted;
use crate::cli::terminal::output::{note, shown};
use crate::cli::verify_args::VerifyArgs;
use wardian_config::Config;
use wardian_formats::provenance::RunDocument;
use wardian_vocabulary::ids::Digest;

/// Executes the command.
pub(crate) fn verify(config: &Config, args: &VerifyArgs) -> Result<Exit, Failed> {
    if let Some(text) = session_in(&args.file)? {
        return verify_session(config, args, &text);
    }
    let key = args.key.as_deref().map(public_key).transpose()?;
    let (read, unpacked) = read_document(&args.file, key.as_ref())?;
    note_signature(&args.file, read.signature);
    let recorded = read.document;
    let digest = Digest::of(recorded.text()?.as_bytes());
    if let Some(against) = &args.against {
        let (other, _) = read_document(against, key.as_ref())?;
        note_signature(against, other.signature);
        let other = other.document;
        let mut differences = recorded.inputs.differences(&other.inputs)?;
        differences.extend(recorded.ending.differences(&other.ending));
        return Ok(RunVerdict::of(digest, differences).print(args.json, ["first", "second"]));
    }
    let folders = match &unpacked {
        None => args.blobs.clone(),
        Some(unpacked) => ["blobs", "texts"].map(|name| unpacked.folder(name)).to_vec(),
    };
    let mut files = FoundFiles::below(&folders)?;
    if unpacked.is_none() {
        files.extend(FoundFiles::beside(&args.file));
        files.add(&network_file(&args.file));
    }
    block_on_until_interrupted(Box::pin(async {
        let repeated = repeated(config, &recorded, &files, unpacked.as_ref());
        // A request that was not recorded explains what follows from it.
        let Repetition { document: now, requests: mut differences } = Box::pin(repeated).await?;
        if let Some(now) = now {
            note_other_programs(&recorded, &now);
            differences.extend(recorded.ending.differences(&now.ending));
        }
        Ok(RunVerdict::of(digest, differences).print(args.json, ["recorded", "now"]))
    }))
}

/// Tells whether the signature of a document was verified.
fn note_signature(file: &Path, signature: SignatureState) {
    let told = match signature {
        SignatureState::None => return,
        SignatureState::Verified => "the signature is valid",
        SignatureState::Unverified => {
            "the signature was not verified: give the public key with `--key`"
        }
    };
    note(&format!("{}: {told}", file.display()));
}

/// Tells that other versions executed the two runs, which may explain a difference.
fn note_other_programs(recorded: &RunDocument, now: &RunDocument) {
    let (one, other) = (&recorded.made_by, &now.made_by);
    if one != other {
        note(&format!(
            "the document was made by Wardian {} with wasmtime {}; this is Wardian {} with wasmtime \
             {}",
            shown(&one.wardian),
            shown(&one.wasmtime),
            other.wardian,
            other.wasmtime
        ));
    }
}
