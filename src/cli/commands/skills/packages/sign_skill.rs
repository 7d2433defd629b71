//! `wardian skills sign`: a signature in the folder of a skill.

use std::path::Path;

use serde_json::json;

use crate::cli::commands::skills::packages::args::SignArgs;
use crate::cli::commands::skills::packages::folder_signatures::signatures_at;
use crate::cli::commands::skills::packages::publish_package::checked;
use crate::cli::commands::skills::sources::ensure_version_in_files;
use crate::cli::commands::verify::private_key;
use crate::cli::commands::whole_file::write_whole;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, shown};
use wardian_formats::provenance::PrivateKey;
use wardian_formats::provenance::skill_signature::{SIGNATURES_FILE, SkillKey, SkillSignatures};
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_sources::SkillPackage;

/// Executes the command.
pub(crate) fn sign_skill(args: &SignArgs) -> Result<Exit, Failed> {
    let key = private_key(&args.key)?;
    let Some(skill) = checked(&args.folder)? else { return Ok(Exit::GuestFailed) };
    let files: Vec<(&str, &[u8])> = skill.contents().collect();
    ensure_version_in_files(&SkillPackage::pack(skill.claim(), &files)?)?;
    let signatures = signed_with(&skill, &args.folder, &key)?;
    write_whole(&args.folder.join(SIGNATURES_FILE), signatures.text()?.as_bytes())?;
    let (claim, signer) = (skill.claim(), SkillKey::Ed25519(key.public()).label());
    if args.json {
        print_json(&json!({
            "name": claim.name, "version": claim.version, "digest": claim.digest, "signer": signer,
        }));
    } else {
        print_line(&format!("`{claim}#{}` was signed by {signer}", claim.digest));
    }
    Ok(Exit::Done)
}

/// The signatures in a skill's folder that are still for its files, and one of this key.
pub(crate) fn signed_with(
    skill: &Snapshot,
    folder: &Path,
    key: &PrivateKey,
) -> Result<SkillSignatures, Failed> {
    let claim = skill.claim();
    let files: Vec<(&str, &[u8])> = skill.contents().collect();
    let mut package = SkillPackage::pack(claim.clone(), &files)?;
    package.sign(key)?;
    let path = folder.join(SIGNATURES_FILE);
    let mut signatures = signatures_at(&path)?.unwrap_or_default();
    let dropped = signatures.keep_for(&claim);
    if dropped > 0 {
        note(&format!("{dropped} signatures of other files or versions were removed"));
    }
    if !package.envelope.is_none_or(|envelope| signatures.add(envelope)) {
        return Err(Failed::refused(format!(
            "{} has as many signatures as it may have: remove the file, and sign again",
            shown(&path.display().to_string())
        )));
    }
    Ok(signatures)
}
