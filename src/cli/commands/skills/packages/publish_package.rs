//! `wardian skills publish FOLDER TARGET`: a package in a registry, an object store or a folder of packages.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use crate::cli::commands::skills::packages::args::PublishArgs;
use crate::cli::commands::skills::packages::folder_signatures::signatures_at;
use crate::cli::commands::skills::packages::left_out::left_out;
use crate::cli::commands::skills::packages::secret_files::ensure_no_secrets;
use crate::cli::commands::skills::sources::args::ReachArgs;
use crate::cli::commands::skills::sources::{Reach, SourceOrder, ensure_installable, of_source};
use crate::cli::commands::verify::private_key;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_error, print_json, print_line, shown};
use wardian_config::Config;
use wardian_formats::provenance::skill_signature::{SIGNATURES_FILE, SkillEnvelope, SkillKey};
use wardian_formats::skill::diagnostic::Diagnostic;
use wardian_skills::registry::check_folder;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_sources::{Publication, SkillPackage, SkillSource, SourceKind};

/// What was published, or would be.
#[derive(Debug, Serialize)]
struct PublishedPackage {
    name: String,
    version: String,
    /// The digest of the skill's files, as servers compute it.
    digest: String,
    /// SHA-256 of the package.
    package: String,
    size_bytes: usize,
    /// The place of the package; nothing if it was not published.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    is_new: bool,
    /// Signatures that lay in the folder and went along.
    folder_signatures: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    is_signature_new: bool,
    /// The version to which the tag led before, if it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
    left_out: Vec<String>,
    warnings: Vec<String>,
}

/// Executes the command.
pub(crate) fn publish_package(
    config: &Config,
    args: &PublishArgs,
    target: &str,
    token: Option<&str>,
) -> Result<Exit, Failed> {
    let target = target_of(target)?;
    let key = args.sign.as_deref().map(private_key).transpose()?;
    let Some(skill) = checked(&args.folder)? else { return Ok(Exit::GuestFailed) };
    ensure_no_secrets(&skill, &args.allow)?;
    let files: Vec<(&str, &[u8])> = skill.contents().collect();
    let mut package = SkillPackage::pack(skill.claim(), &files)?;
    ensure_installable(&package)?;
    if let Some(key) = &key {
        package.sign(key)?;
    }
    let of_folder = envelopes_of(&args.folder, &package)?;
    let folder_signatures = of_folder.len();
    let done = match args.dry_run {
        true => None,
        false => Some(send_all(config, args, (&target, token), &mut package, of_folder)?),
    };
    let shown = PublishedPackage {
        name: skill.name().to_string(),
        version: skill.version().to_string(),
        digest: skill.digest().to_string(),
        package: package.digest().to_string(),
        size_bytes: package.bytes.len(),
        is_new: done.as_ref().is_some_and(|done| done.is_new),
        is_signature_new: done.as_ref().is_some_and(|done| done.is_signature_new),
        moved_from: done.as_ref().and_then(|done| Some(done.moved_from.as_ref()?.to_string())),
        place: done.map(|done| done.place),
        signer: key.map(|key| SkillKey::Ed25519(key.public()).label()),
        folder_signatures,
        left_out: left_out(&args.folder)?,
        warnings: skill.warnings().iter().map(ToString::to_string).collect(),
    };
    tell(&shown, args.json);
    Ok(Exit::Done)
}

fn tell(done: &PublishedPackage, as_json: bool) {
    done.warnings.iter().for_each(|warning| note(&shown(&format!("warning: {warning}"))));
    if !done.left_out.is_empty() {
        note(&shown(&format!("left out: {}", done.left_out.join(", "))));
    }
    if let Some(before) = &done.moved_from {
        note(&format!("the tag was moved: it led to {before}, and leads to {} now", done.version));
    }
    if as_json {
        return print_json(done);
    }
    let skill = format!("`{}@{}#{}`", done.name, done.version, done.digest);
    let signed = match (&done.signer, done.folder_signatures) {
        (Some(key), 0) => format!(", signed by {key}"),
        (Some(key), _) => format!(", signed by {key} and in its folder"),
        (None, 0) => String::new(),
        (None, _) => ", signed in its folder".to_owned(),
    };
    let Some(place) = &done.place else {
        let (package, size) = (&done.package, done.size_bytes);
        print_line(&format!("{skill} would be published: {size} bytes, sha256:{package}{signed}"));
        return;
    };
    let state = match (done.is_new, done.is_signature_new) {
        (true, _) => format!("was published{signed}"),
        (false, true) => {
            format!("was already published, and is now{}", signed.trim_start_matches(','))
        }
        (false, false) => "was already published, with the same content".to_owned(),
    };
    print_line(&shown(&format!("{skill} {state}: {place}")));
}

/// The skill in a folder; `None` if it has errors, which are printed.
pub(super) fn checked(folder: &Path) -> Result<Option<Arc<Snapshot>>, Failed> {
    let whole = std::path::absolute(folder).map_err(|e| Failed::named(folder.display(), &e))?;
    let check = check_folder(&whole).map_err(|e| Failed::named(folder.display(), &e))?;
    let has_errors = check.diagnostics.iter().any(Diagnostic::is_error);
    let skill = check.snapshot.as_ref().filter(|_| !has_errors).map(Arc::clone);
    if skill.is_none() {
        check.reports().iter().for_each(|report| print_error(&format!("{report:?}\n")));
        note(&format!("{}: nothing was done", folder.display()));
    }
    Ok(skill)
}

/// Where a package goes: in a registry, an object store, or a folder. A path needs no `./`.
fn target_of(text: &str) -> Result<SkillSource, Failed> {
    if ["oci://", "s3://"].iter().any(|scheme| text.starts_with(scheme)) {
        return SkillSource::parse(text).map_err(of_source);
    }
    if text.is_empty() || text.contains("://") {
        return Err(Failed::usage(format!(
            "`{}` is no place to publish to: name a registry (`oci://HOST/NAME`), an object store with the interface of S3 \
             (`s3://BUCKET/PREFIX`), or a folder",
            shown(text)
        )));
    }
    let folder = std::path::absolute(text).map_err(|fault| Failed::named(text, &fault))?;
    let kind = SourceKind::Folder(folder);
    Ok(SkillSource { kind, reference: None, path: String::new(), credentials: None })
}

/// The signatures that lie in a skill's folder and are for this package. Others are named.
fn envelopes_of(folder: &Path, package: &SkillPackage) -> Result<Vec<SkillEnvelope>, Failed> {
    let found = signatures_at(&folder.join(SIGNATURES_FILE))?.unwrap_or_default();
    let mut envelopes = package.envelopes_among(found.envelopes());
    let all = found.envelopes().len().saturating_add(found.others());
    let others = all.saturating_sub(envelopes.len());
    if others > 0 {
        note(&format!(
            "{others} of the signatures in `{SIGNATURES_FILE}` were left out: they are not for this package"
        ));
    }
    envelopes.retain(|one| package.envelope.as_ref() != Some(one));
    Ok(envelopes)
}

/// Publishes a package, and then each of some more signatures of it.
fn send_all(
    config: &Config,
    args: &PublishArgs,
    (target, token): (&SkillSource, Option<&str>),
    package: &mut SkillPackage,
    more: Vec<SkillEnvelope>,
) -> Result<Publication, Failed> {
    let mut done = send(config, args, target, token, package)?;
    for envelope in more {
        package.envelope = Some(envelope);
        let again = send(config, args, target, token, package)?;
        done.is_signature_new |= again.is_signature_new;
    }
    Ok(done)
}

fn send(
    config: &Config,
    args: &PublishArgs,
    target: &SkillSource,
    token: Option<&str>,
    package: &SkillPackage,
) -> Result<Publication, Failed> {
    let reach = ReachArgs {
        dir: None,
        token_file: args.token_file.clone(),
        allow_private: args.allow_private,
        npm_registry: None,
    };
    let mut reach = Reach::open(config, &reach, token)?;
    let order = SourceOrder { source: target.clone(), pinned: String::new(), registry: None };
    reach.bind_token(&[&order])?;
    reach.publish(target, package)
}
