//! `wardian skills verify`: which trusted key has signed which skill.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use crate::assembly::{self, is_bundled};
use crate::cli::commands::skills::packages::args::VerifySkillsArgs;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_table, shown};
use wardian_config::Config;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_skills::registry::index::Index;
use wardian_vocabulary::ids::{SkillName, TenantId};

/// A skill, and who has signed it.
#[derive(Debug, Serialize)]
struct VerifiedSkill {
    name: String,
    version: String,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<String>,
    /// `dsse` or `cosign`.
    #[serde(skip_serializing_if = "Option::is_none")]
    form: Option<String>,
    /// Why no trusted key vouches for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// Executes the command.
pub(crate) fn verify_skills(config: &Config, args: &VerifySkillsArgs) -> Result<Exit, Failed> {
    let tenant = args.tenant.as_deref().map_or_else(|| Ok(TenantId::local()), TenantId::parse);
    let tenant = tenant.map_err(|invalid| Failed::usage(invalid.to_string()))?;
    let names = args.names.iter().map(|name| SkillName::parse(name));
    let names = names.collect::<Result<BTreeSet<_>, _>>()?;
    // Those that are not served for want of a signature are listed, too.
    let mut all = config.clone();
    all.skills.require_signatures = false;
    let view = assembly::open_registry(&all)?.seen_by(&tenant);
    let mut found = Vec::new();
    for index in [view.own(), Some(view.shared())].into_iter().flatten() {
        let is_hidden = |name: &SkillName| {
            view.own().is_some_and(|own| !std::ptr::eq(own, index) && own.has(name))
        };
        let skills = index.snapshots().filter(|one| is_own(index, one) && !is_hidden(one.name()));
        found.extend(skills.filter(|one| names.is_empty() || names.contains(one.name())));
    }
    found.sort_by(|one, other| (one.name(), other.version()).cmp(&(other.name(), one.version())));
    let rejected =
        view.shared().rejected().iter().chain(view.own().into_iter().flat_map(Index::rejected));
    let broken: Vec<String> = rejected
        .map(|one| one.folder.clone())
        .filter(|folder| names.is_empty() || names.iter().any(|name| is_folder_of(folder, name)))
        .collect();
    let is_known = |name: &SkillName| {
        found.iter().any(|one| one.name() == name)
            || broken.iter().any(|folder| is_folder_of(folder, name))
    };
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(Failed::usage(format!("no skill is called `{name}`")));
    }
    let verified: Vec<VerifiedSkill> = found.into_iter().map(verified).collect();
    let is_good = broken.is_empty() && verified.iter().all(|one| one.fault.is_none());
    if args.json {
        let is_required = config.skills.require_signatures;
        print_json(&json!({ "skills": verified, "is_required": is_required, "invalid": broken }));
    } else {
        let rows = verified.into_iter().map(|one| {
            let by = one.signer.or(one.fault.map(|fault| format!("no: it {fault}")));
            vec![one.name, one.version, shown(&by.unwrap_or_default())]
        });
        print_table(&["name", "version", "signed by"], rows.collect());
    }
    for folder in broken {
        note(&format!("not valid: {}; see `wardian skills check`", shown(&folder)));
    }
    Ok(if is_good { Exit::Done } else { Exit::GuestFailed })
}

/// True for a folder that has the name of a skill. Of one that is not valid, nothing else is known.
fn is_folder_of(folder: &str, name: &SkillName) -> bool {
    folder.split('@').next() == Some(name.as_str())
}

/// True for a skill that is not part of the program.
fn is_own(index: &Index, skill: &Arc<Snapshot>) -> bool {
    !is_bundled(skill.name().as_str()) || index.replaced().contains(skill.name())
}

fn verified(skill: &Arc<Snapshot>) -> VerifiedSkill {
    let signature = skill.signature();
    VerifiedSkill {
        name: skill.name().to_string(),
        version: skill.version().to_string(),
        digest: skill.digest().to_string(),
        signer: signature.ok().map(|signer| signer.key.clone()),
        form: signature.ok().map(|signer| signer.form.clone()),
        fault: signature.err().map(ToString::to_string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_valid_is_known_by_its_name() {
        let name = SkillName::parse("acme.report").unwrap();
        for (folder, expected) in [
            ("acme.report", true),
            ("acme.report@1.0.0", true),
            ("acme.reports", false),
            ("", false),
        ] {
            assert_eq!(is_folder_of(folder, &name), expected, "{folder}");
        }
    }
}
