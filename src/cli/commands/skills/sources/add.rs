//! `wardian skills add`: skills of a source, or those that a lock lists.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Serialize;
use serde_json::json;

use crate::assembly::open_trust;
use crate::cli::commands::skills::skills_lock::{LockedOrigin, LockedSkill, entries_in};
use crate::cli::commands::skills::sources::args::AddArgs;
use crate::cli::commands::skills::sources::candidate::{Grants, SkillCandidate, name_of, stage};
use crate::cli::commands::skills::sources::candidate_signature::Signed;
use crate::cli::commands::skills::sources::place::InstallPlace;
use crate::cli::commands::skills::sources::plan::{
    Item, SkillStep, agree, carry_out, compare, show, tell_notes,
};
use crate::cli::commands::skills::sources::reach::{
    Reach, Revision, SourceOrder, of_source, order_of,
};
use crate::cli::commands::skills::sources::wants::Wants;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, print_table, shown};
use wardian_config::Config;
use wardian_skills::registry::SkillTrust;
use wardian_sources::foreign_lock::{self, MAX_LOCK};
use wardian_sources::{FoundSkill, SkillSource, SourceKind};
use wardian_vocabulary::ids::{Digest, SkillName};

/// Names that a message lists.
const MAX_NAMES: usize = 30;

/// A skill that is not installed, and why.
#[derive(Debug, Serialize)]
struct LeftOut {
    name: String,
    why: String,
}

/// A skill that is wanted of an order.
#[derive(Debug)]
struct Wanted {
    order: SourceOrder,
    /// Its name, or all of the order's.
    name: Option<String>,
    /// Its folder, where a lock has it.
    folder: Option<String>,
    /// The digest that it must have.
    digest: Option<Digest>,
    grants: Grants,
}

/// Executes the command.
pub(crate) fn add(config: &Config, args: &AddArgs, token: Option<&str>) -> Result<Exit, Failed> {
    let mut reach = Reach::open(config, &args.reach, token)?;
    let mut left_out = Vec::new();
    let wanted = match (&args.source, &args.from_lock) {
        (Some(source), _) => of_source_text(source, args, &mut reach)?,
        (None, Some(lock)) => {
            let wanted = of_lock(lock, args, &mut left_out)?;
            reach.bind_token(&wanted.iter().map(|one| &one.order).collect::<Vec<_>>())?;
            wanted
        }
        (None, None) => return Err(Failed::usage("name a source")),
    };
    if args.list {
        return list(&mut reach, &wanted, left_out, args.json);
    }
    let trust = open_trust(config)?;
    let mut place = InstallPlace::open(config, args.reach.dir.as_deref())?;
    let staging = place.staging()?;
    let mut items = Vec::new();
    for one in &wanted {
        gather(one, &mut reach, (staging.path(), &trust), &mut |staged| {
            match staged {
                Ok(candidate) => {
                    place.ensure_free(candidate.name())?;
                    items.push(compare(&place, candidate, args.force)?);
                }
                Err(refused) => left_out.push(refused),
            }
            Ok(())
        })?;
    }
    let notes = told(&left_out, &reach, &wanted);
    finish(&mut place, items, &left_out, &notes, args)
}

fn finish(
    place: &mut InstallPlace,
    items: Vec<Item>,
    left_out: &[LeftOut],
    notes: &[String],
    args: &AddArgs,
) -> Result<Exit, Failed> {
    show(&items, args.json, args.yes);
    tell_notes(&items);
    let changes = items.iter().filter(|item| item.shown.step != SkillStep::Nothing).count();
    if changes > 0 {
        let dir = shown(&place.dir.display().to_string());
        let noun = if changes == 1 { "this skill" } else { "these skills" };
        agree(&format!("Install {noun} into {dir}?"), args.yes)?;
    }
    let done = carry_out(place, items)?;
    let exit = if left_out.is_empty() { Exit::Done } else { Exit::GuestFailed };
    if args.json {
        print_json(&json!({
            "skills": done, "left_out": left_out, "notes": notes, "dir": place.dir,
            "lock": place.lock_path(),
        }));
    } else if changes > 0 {
        let lock = shown(&place.lock_path().display().to_string());
        let noun = if changes == 1 { "skill" } else { "skills" };
        print_line(&format!("{changes} {noun} installed, pinned in {lock}"));
    }
    Ok(exit)
}

/// Tells what is not installed, and what a source left out. Returns the latter.
fn told(left_out: &[LeftOut], reach: &Reach, wanted: &[Wanted]) -> Vec<String> {
    for LeftOut { name, why } in left_out {
        note(&format!("not installed: `{}`: {}", shown(name), shown(why)));
    }
    let mut known: Vec<String> = Vec::new();
    for one in wanted {
        for line in reach.notes(&one.order) {
            if !known.contains(&line) {
                note(&format!("note: {}", shown(&line)));
                known.push(line);
            }
        }
    }
    known
}

/// Refuses `owner/repo` where a folder of this name is here: whoever means the folder would get the skills of a
/// stranger.
fn ensure_unambiguous(text: &str, source: &SkillSource) -> Result<(), Failed> {
    let is_short = matches!(source.kind, SourceKind::Git(_)) && !text.contains(':');
    if is_short && Path::new(text.trim()).is_dir() {
        let text = shown(text.trim());
        return Err(Failed::usage(format!(
            "`{text}` is a folder here and a repository of GitHub: write `./{text}` or `github:{text}`"
        )));
    }
    Ok(())
}

/// What the user wants of the source that he typed.
fn of_source_text(text: &str, args: &AddArgs, reach: &mut Reach) -> Result<Vec<Wanted>, Failed> {
    let mut source = SkillSource::parse(text).map_err(of_source)?;
    ensure_unambiguous(text, &source)?;
    if let Some(path) = &args.path {
        source = source.below(path).map_err(of_source)?;
    }
    let order = SourceOrder { source: absolute(source)?, pinned: String::new(), registry: None };
    reach.bind_token(&[&order])?;
    let grants = Grants { network: args.grant_network.clone(), secrets: args.grant_secret.clone() };
    let wanted = |name: Option<String>| Wanted {
        order: order.clone(),
        name,
        folder: None,
        digest: None,
        grants: grants.clone(),
    };
    if args.list || args.all {
        return Ok(vec![wanted(None)]);
    }
    if !args.skill.is_empty() {
        return Ok(args.skill.iter().map(|name| wanted(Some(name.clone()))).collect());
    }
    let at = reach.fetch(&order)?;
    let skills = reach.fetched(at)?.skills().map_err(of_source)?;
    match skills.len() {
        0 => Err(Failed::usage(no_skills(&order))),
        1 => Ok(vec![wanted(None)]),
        count => Err(Failed::usage(format!(
            "the source has {count} skills: choose with `--skill NAME`, or take them with `--all`; \
             they are {}",
            names_of(&skills)
        ))),
    }
}

fn no_skills(order: &SourceOrder) -> String {
    format!("there is no SKILL.md and no skill.toml in {}", order.source)
}

fn names_of(skills: &[FoundSkill<'_>]) -> String {
    let names = skills.iter().take(MAX_NAMES).map(|skill| format!("`{}`", shown(&name_of(skill))));
    let more = if skills.len() > MAX_NAMES { ", …" } else { "" };
    format!("{}{more}", names.collect::<Vec<_>>().join(", "))
}

/// Makes a path of this machine absolute, so that `update` finds it from anywhere.
fn absolute(mut source: SkillSource) -> Result<SkillSource, Failed> {
    if let SourceKind::File(path) | SourceKind::Folder(path) = &mut source.kind {
        let whole = std::path::absolute(&*path);
        *path = whole.map_err(|fault| Failed::named(path.display(), &fault))?;
    }
    Ok(source)
}

/// What a lock lists.
fn of_lock(
    path: &Path,
    args: &AddArgs,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<Wanted>, Failed> {
    let text = read_lock(path)?;
    let is_wanted = |name: &str| args.skill.is_empty() || args.skill.iter().any(|one| one == name);
    let mut found = Vec::new();
    if text.trim_start().starts_with('{') {
        for listed in foreign_lock::read(&text).map_err(of_source)? {
            let why = match listed.source {
                _ if !is_wanted(&listed.name) => continue,
                Ok(source) => {
                    let order = SourceOrder {
                        source: absolute(source)?,
                        pinned: String::new(),
                        registry: None,
                    };
                    let (name, grants) = (Some(listed.name), Grants::default());
                    found.push(Wanted { order, name, folder: None, digest: None, grants });
                    continue;
                }
                Err(why) => why.to_string(),
            };
            left_out.push(LeftOut { name: listed.name, why });
        }
    } else {
        let entries = entries_in(&text)
            .map_err(|wrong| Failed::usage(format!("{}: {wrong}", path.display())))?;
        found = of_entries(&entries, &is_wanted, left_out)?;
    }
    let missing = args.skill.iter().find(|name| {
        let is_it = |one: &Wanted| one.name.as_ref() == Some(*name);
        !found.iter().any(is_it) && !left_out.iter().any(|one| one.name == **name)
    });
    match missing {
        Some(name) => {
            Err(Failed::usage(format!("{} does not list `{}`", path.display(), shown(name))))
        }
        None => Ok(found),
    }
}

fn of_entries(
    entries: &BTreeMap<SkillName, LockedSkill>,
    is_wanted: &dyn Fn(&str) -> bool,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<Wanted>, Failed> {
    let mut found = Vec::new();
    for entry in entries.values().filter(|entry| is_wanted(entry.name.as_str())) {
        let name = entry.name.to_string();
        let Some(origin) = &entry.origin else {
            left_out.push(LeftOut { name, why: "the lock has no source of it".to_owned() });
            continue;
        };
        let LockedOrigin { granted_network, granted_secrets, folder, .. } = origin.clone();
        found.push(Wanted {
            order: order_of(origin, entries, Revision::Locked)?,
            name: Some(name),
            folder: Some(folder),
            digest: Some(entry.digest),
            grants: Grants { network: granted_network, secrets: granted_secrets },
        });
    }
    Ok(found)
}

fn read_lock(path: &Path) -> Result<String, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let most = u64::try_from(MAX_LOCK).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = String::new();
    let file = File::open(path).map_err(|fault| named(&fault))?;
    file.take(most).read_to_string(&mut text).map_err(|fault| named(&fault))?;
    Ok(text)
}

/// The skills of a source that are wanted.
fn chosen_of<'s, 't>(skills: &'s [FoundSkill<'t>], wanted: &Wanted) -> Vec<&'s FoundSkill<'t>> {
    let Some(name) = &wanted.name else { return skills.iter().collect() };
    let is_named = |skill: &FoundSkill<'_>| {
        name_of(skill) == *name || skill.folder.rsplit('/').next() == Some(name.as_str())
    };
    let is_there = |skill: &FoundSkill<'_>| wanted.folder.as_ref() == Some(&skill.folder);
    // A source can have one name in several folders; a lock says which.
    let there = skills.iter().filter(|skill| is_there(skill) && is_named(skill));
    let there: Vec<&FoundSkill<'_>> = there.collect();
    if there.is_empty() {
        return skills.iter().filter(|skill| is_named(skill)).collect();
    }
    there
}

/// A skill that is staged, or left out.
type Staged = Result<SkillCandidate, LeftOut>;

/// Stages the skills that are wanted of an order.
fn gather(
    wanted: &Wanted,
    reach: &mut Reach,
    (staging, trust): (&Path, &SkillTrust),
    take: &mut dyn FnMut(Staged) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let at = reach.fetch(&wanted.order)?;
    let fetched = reach.fetched(at)?;
    let skills = fetched.skills().map_err(of_source)?;
    let chosen = chosen_of(&skills, wanted);
    if chosen.is_empty() {
        let Some(name) = &wanted.name else { return Err(Failed::usage(no_skills(&wanted.order))) };
        return Err(Failed::usage(format!(
            "the source has no skill `{}`; it has {}",
            shown(name),
            names_of(&skills)
        )));
    }
    for skill in chosen {
        let origin = reach.origin(&wanted.order, fetched, &skill.folder);
        let name = name_of(skill);
        let signed = Signed { trust, package: fetched.package(&skill.folder) };
        let staged = match stage(skill, staging, origin, &wanted.grants, signed)? {
            Err(why) => Err(LeftOut { name, why }),
            Ok(staged)
                if wanted.digest.is_some_and(|digest| digest != staged.snapshot.digest()) =>
            {
                let why = "its digest is not that of the lock".to_owned();
                Err(LeftOut { name, why })
            }
            Ok(staged) => Ok(staged),
        };
        take(staged)?;
    }
    Ok(())
}

/// One skill of a list.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    version: String,
    description: String,
    folder: String,
    wants: Wants,
}

/// Prints what skills a source has.
fn list(
    reach: &mut Reach,
    wanted: &[Wanted],
    mut left_out: Vec<LeftOut>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let staging = tempfile::tempdir().map_err(|fault| Failed::at("make a folder", &fault))?;
    let mut listed = Vec::new();
    for one in wanted {
        gather(one, reach, (staging.path(), &SkillTrust::default()), &mut |staged| {
            match staged {
                Ok(one) => listed.push(Listed {
                    name: one.name().to_string(),
                    version: one.snapshot.version().to_string(),
                    description: one.snapshot.manifest().description.clone(),
                    wants: Wants::of(&one.snapshot),
                    folder: one.origin.folder,
                }),
                Err(refused) => left_out.push(refused),
            }
            Ok(())
        })?;
    }
    if as_json {
        print_json(&json!({ "skills": listed, "left_out": left_out }));
    } else {
        let rows = listed.into_iter().map(|one| {
            vec![one.name, one.version, one.folder, one.description.chars().take(100).collect()]
        });
        print_table(&["name", "version", "folder", "description"], rows.collect());
    }
    for LeftOut { name, why } in &left_out {
        note(&format!("cannot be installed: `{}`: {}", shown(name), shown(why)));
    }
    Ok(Exit::Done)
}
