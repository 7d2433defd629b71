//! `wardian skills outdated` and `update`: installed skills, and what their sources have now.

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::assembly::open_trust;
use crate::cli::commands::skills::skills_lock::LockedOrigin;
use crate::cli::commands::skills::sources::args::{OutdatedArgs, ReachArgs, UpdateArgs};
use crate::cli::commands::skills::sources::candidate::{Grants, SkillCandidate, name_of, stage};
use crate::cli::commands::skills::sources::candidate_signature::Signed;
use crate::cli::commands::skills::sources::place::InstallPlace;
use crate::cli::commands::skills::sources::plan::{
    Item, SkillStep, agree, carry_out, compare, show, tell_notes,
};
use crate::cli::commands::skills::sources::reach::{
    Reach, Revision, SourceOrder, of_source, order_of,
};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, print_table, shown};
use wardian_config::Config;
use wardian_skills::registry::SkillTrust;
use wardian_vocabulary::ids::SkillName;

/// A skill whose source has nothing to install.
#[derive(Debug, Serialize)]
struct Failure {
    name: String,
    why: String,
}

/// What sources have of installed skills.
struct Looked {
    place: InstallPlace,
    items: Vec<Item>,
    failures: Vec<Failure>,
    /// Holds what the items stand for.
    _staging: tempfile::TempDir,
}

/// Asks the sources of installed skills.
fn look(
    config: &Config,
    reach: &ReachArgs,
    names: &[String],
    token: Option<&str>,
    is_forced: bool,
) -> Result<Looked, Failed> {
    let trust = open_trust(config)?;
    let place = InstallPlace::open(config, reach.dir.as_deref())?;
    let mut reach = Reach::open(config, reach, token)?;
    let staging = place.staging()?;
    let (mut items, mut failures) = (Vec::new(), Vec::new());
    let names = place.added(names)?;
    let origins = names.iter().filter_map(|name| place.entries.get(name)?.origin.as_ref());
    let orders =
        origins.filter_map(|origin| order_of(origin, &place.entries, Revision::Current).ok());
    let orders: Vec<SourceOrder> = orders.collect();
    reach.bind_token(&orders.iter().collect::<Vec<_>>())?;
    for name in names {
        let origin = place.entries.get(&name).and_then(|entry| entry.origin.clone());
        let Some(origin) = origin else { continue };
        match look_at(&place, &mut reach, (staging.path(), &trust), (&name, &origin), is_forced) {
            Ok(item) => items.push(item),
            Err(why) => failures.push(Failure { name: name.to_string(), why: why.to_string() }),
        }
    }
    Ok(Looked { place, items, failures, _staging: staging })
}

fn look_at(
    place: &InstallPlace,
    reach: &mut Reach,
    (staging, trust): (&Path, &SkillTrust),
    (name, origin): (&SkillName, &LockedOrigin),
    is_forced: bool,
) -> Result<Item, Failed> {
    let order = order_of(origin, &place.entries, Revision::Current)?;
    let at = reach.fetch(&order)?;
    let fetched = reach.fetched(at)?;
    let skills = fetched.skills().map_err(of_source)?;
    let same = skills.iter().find(|skill| skill.folder == origin.folder);
    let same = same.or_else(|| skills.iter().find(|skill| name_of(skill) == name.as_str()));
    let Some(skill) = same.filter(|skill| name_of(skill) == name.as_str()) else {
        return Err(Failed::refused("the source does not have it any more"));
    };
    let now = reach.origin(&order, fetched, &skill.folder);
    let grants =
        Grants { network: origin.granted_network.clone(), secrets: origin.granted_secrets.clone() };
    let signed = Signed { trust, package: fetched.package(&skill.folder) };
    match stage(skill, staging, now, &grants, signed)? {
        Ok(candidate) => {
            if !is_forced {
                check_newer(place, &candidate)?;
            }
            compare(place, candidate, is_forced)
        }
        Err(why) => Err(Failed::refused(why)),
    }
}

/// Refuses an older version: a source that was taken back, or a tag that somebody has moved.
fn check_newer(place: &InstallPlace, candidate: &SkillCandidate) -> Result<(), Failed> {
    let installed = place.entries.get(candidate.name()).map(|entry| &entry.version);
    let found = candidate.snapshot.version();
    match installed.filter(|installed| found < *installed) {
        Some(installed) => Err(Failed::refused(format!(
            "the source has {found}, which is older than {installed}: `--force` installs it"
        ))),
        None => Ok(()),
    }
}

/// Executes `outdated`.
pub(crate) fn outdated(
    config: &Config,
    args: &OutdatedArgs,
    token: Option<&str>,
) -> Result<Exit, Failed> {
    let looked = look(config, &args.reach, &args.names, token, true)?;
    let is_old = |item: &&Item| item.shown.step != SkillStep::Nothing;
    let old: Vec<&Item> = looked.items.iter().filter(is_old).collect();
    if args.json {
        let shown: Vec<_> = old.iter().map(|item| &item.shown).collect();
        print_json(&json!({ "outdated": shown, "failed": looked.failures }));
    } else if !old.is_empty() {
        let rows = old.iter().map(|Item { candidate, shown, .. }| {
            let locked = looked.place.entries.get(candidate.name());
            let version = locked.map(|entry| entry.version.to_string()).unwrap_or_default();
            let before = locked.and_then(|entry| entry.origin.as_ref());
            let before = before.map(|origin| short(&origin.revision)).unwrap_or_default();
            vec![
                shown.name.clone(),
                version,
                shown.version.clone(),
                format!("{before} -> {}", short(&shown.revision)),
                shown.source.clone(),
            ]
        });
        print_table(&["name", "installed", "available", "revision", "source"], rows.collect());
    } else if looked.failures.is_empty() {
        note("all skills are as at their sources");
    }
    tell(&looked.failures);
    let is_fine = old.is_empty() && looked.failures.is_empty();
    Ok(if is_fine { Exit::Done } else { Exit::GuestFailed })
}

/// A revision short enough for a table.
fn short(revision: &str) -> String {
    revision.chars().take(19).collect()
}

fn tell(failures: &[Failure]) {
    for Failure { name, why } in failures {
        note(&format!("`{name}`: {}", shown(why)));
    }
}

/// Executes `update`.
pub(crate) fn update(
    config: &Config,
    args: &UpdateArgs,
    token: Option<&str>,
) -> Result<Exit, Failed> {
    let Looked { mut place, items, failures, _staging } =
        look(config, &args.reach, &args.names, token, args.force)?;
    tell(&failures);
    let items: Vec<Item> =
        items.into_iter().filter(|item| item.shown.step != SkillStep::Nothing).collect();
    show(&items, args.json, args.yes);
    tell_notes(&items);
    let count = items.len();
    if count > 0 {
        let noun = if count == 1 { "this skill" } else { "these skills" };
        agree(&format!("Update {noun}?"), args.yes)?;
    }
    let done = carry_out(&mut place, items)?;
    if args.json {
        print_json(&json!({ "updated": done, "failed": failures, "lock": place.lock_path() }));
    } else if count > 0 {
        print_line(&format!("{count} updated"));
    } else if failures.is_empty() {
        print_line("all skills are as at their sources");
    }
    Ok(if failures.is_empty() { Exit::Done } else { Exit::GuestFailed })
}
