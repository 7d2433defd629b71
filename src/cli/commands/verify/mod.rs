//! `wardian verify`: executes a recorded run again and compares, or compares two records.

mod found_files;
mod record_file;
mod repetition;
mod verdict;

pub(crate) use crate::cli::commands::verify::record_file::write_record;

use crate::cli::commands::verify::found_files::FoundFiles;
use crate::cli::commands::verify::record_file::read_record;
use crate::cli::commands::verify::repetition::repeated;
use crate::cli::commands::verify::verdict::RunVerdict;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{Installer, block_on_until_interrupted};
use crate::cli::terminal::output::{note, shown};
use crate::cli::verify_args::VerifyArgs;
use crate::config::Config;
use crate::ids::Digest;
use crate::provenance::RunDocument;

/// Executes the command.
pub(crate) fn verify(
    config: &Config,
    installer: &Installer,
    args: &VerifyArgs,
) -> Result<Exit, Failed> {
    let recorded = read_record(&args.file)?;
    let digest = Digest::of(recorded.text()?.as_bytes());
    if let Some(against) = &args.against {
        let other = read_record(against)?;
        let mut differences = recorded.inputs.differences(&other.inputs)?;
        differences.extend(recorded.ending.differences(&other.ending));
        return Ok(RunVerdict::of(digest, differences).print(args.json, ["first", "second"]));
    }
    let files = FoundFiles::below(&args.blobs)?;
    block_on_until_interrupted(Box::pin(async {
        let now = repeated(config, installer, &recorded, &files).await?;
        note_other_programs(&recorded, &now);
        let differences = recorded.ending.differences(&now.ending);
        Ok(RunVerdict::of(digest, differences).print(args.json, ["recorded", "now"]))
    }))
}

/// Tells that other versions executed the two runs, which may explain a difference.
fn note_other_programs(recorded: &RunDocument, now: &RunDocument) {
    let (one, other) = (&recorded.made_by, &now.made_by);
    if one != other {
        note(&format!(
            "the record was made by Wardian {} with wasmtime {}; this is Wardian {} with wasmtime {}",
            shown(&one.wardian),
            shown(&one.wasmtime),
            other.wardian,
            other.wasmtime
        ));
    }
}
