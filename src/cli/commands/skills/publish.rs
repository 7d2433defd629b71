//! `wardian skills publish` and `unpublish`: skills of a tenant on a running server.

use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::cli::commands::blobs::{Remote, put_file, remote_of};
use crate::cli::commands::skills::packages::args::PublishArgs;
use crate::cli::commands::skills::packages::{ensure_no_secrets, signatures_at, signed_with};
use crate::cli::commands::verify::private_key;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::server_option::ServerOption;
use crate::cli::terminal::output::{note, print_error, print_json, print_line, shown};
use wardian_formats::provenance::skill_signature::SIGNATURES_FILE;
use wardian_skills::registry::check_folder;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_skills::registry::publishing::pack;
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// The kind of a blob with a package.
const KIND: &str = "application/vnd.wardian.skill";

/// The answer of a server.
#[derive(Debug, Serialize, Deserialize)]
struct Published {
    name: String,
    version: String,
    digest: String,
    is_new: bool,
    is_visible: bool,
    warnings: Vec<String>,
}

fn server(at: &ServerOption, api_key: Option<&str>) -> Result<Remote, Failed> {
    remote_of(at, api_key)?.ok_or_else(|| {
        Failed::usage(
            "name where the skill goes: a registry (`oci://HOST/NAME`), an object store (`s3://BUCKET/PREFIX`), a \
             folder of packages, or a running server with `--server`. On this machine, put its folder into one of \
             `skills.roots`",
        )
    })
}

/// Checks a skill's folder, and publishes it.
pub(crate) fn publish(args: &PublishArgs, api_key: Option<&str>) -> Result<Exit, Failed> {
    let (folder, as_json) = (args.folder.as_path(), args.json);
    let server = server(&args.at, api_key)?;
    let whole = std::path::absolute(folder).map_err(|e| Failed::named(folder.display(), &e))?;
    let check = check_folder(&whole).map_err(|e| Failed::named(folder.display(), &e))?;
    let errors = check.diagnostics.iter().filter(|one| one.is_error()).count();
    let Some(skill) = check.snapshot.as_ref().filter(|_| errors == 0) else {
        check.reports().iter().for_each(|report| print_error(&format!("{report:?}\n")));
        note(&format!("{}: nothing was sent", folder.display()));
        return Ok(Exit::GuestFailed);
    };
    ensure_no_secrets(skill, &args.allow)?;
    let signatures = signatures_for(skill, &whole, args.sign.as_deref())?;
    let mut package = NamedTempFile::new().map_err(|e| Failed::at("create a package", &e))?;
    let files = skill.files().iter().map(|file| {
        let content = skill.read_file(&file.path).map_err(|e| Failed::at("read the skill", &e))?;
        Ok((file.path.as_str(), content))
    });
    let mut files = files.collect::<Result<Vec<_>, Failed>>()?;
    files.extend(signatures.as_ref().map(|text| (SIGNATURES_FILE, text.as_slice())));
    pack(&files, &mut package)
        .and_then(|()| package.flush())
        .map_err(|fault| Failed::at("create a package", &fault))?;
    let blob = put_file(&server, package.path(), KIND)?;
    let path = format!("/v1/skills/{}/{}?blob={blob}", skill.name(), skill.version());
    let done: Published = server.put_at(&path).map_err(refused)?;
    if as_json {
        print_json(&done);
        return Ok(Exit::Done);
    }
    done.warnings.iter().for_each(|warning| note(&shown(&format!("warning: {warning}"))));
    let state = match (done.is_new, done.is_visible) {
        (true, true) => "was published",
        (true, false) => "was published, and is available within seconds",
        (false, true) => "was already published, with the same content",
        (false, false) => {
            "was already published, with the same content, and is not served yet; the server's log says why if it stays so"
        }
    };
    print_line(&shown(&format!("`{}@{}#{}` {state}", done.name, done.version, done.digest)));
    Ok(Exit::Done)
}

/// A server that refuses a skill that was named well. The usage was not wrong.
fn refused(failed: Failed) -> Failed {
    match failed.exit {
        Exit::WrongUsage => Failed::refused(failed.to_string()),
        _ => failed,
    }
}

/// The signatures that go with a skill. Nothing is written into its folder: those in its folder, and one of the key that the user names.
fn signatures_for(
    skill: &Snapshot,
    folder: &Path,
    key: Option<&Path>,
) -> Result<Option<Vec<u8>>, Failed> {
    if let Some(key) = key {
        let signatures = signed_with(skill, folder, &private_key(key)?)?;
        return Ok(Some(signatures.text()?.into_bytes()));
    }
    let signatures = signatures_at(&folder.join(SIGNATURES_FILE))?;
    Ok(signatures.map(|signatures| signatures.text()).transpose()?.map(String::into_bytes))
}

/// Removes a version that was published.
pub(crate) fn unpublish(
    skill: &str,
    at: &ServerOption,
    api_key: Option<&str>,
) -> Result<Exit, Failed> {
    let server = server(at, api_key)?;
    let (name, version) = skill.split_once('@').ok_or_else(|| {
        Failed::usage(format!("`{}` must be a name, `@` and a version", shown(skill)))
    })?;
    let (name, version) = (SkillName::parse(name)?, SkillVersion::parse(version)?);
    server.delete_at(&format!("/v1/skills/{name}/{version}")).map_err(refused)?;
    print_line(&format!("`{name}@{version}` was removed"));
    Ok(Exit::Done)
}
