//! `wardian skills deps`: locks the packages that skills need, and fetches them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use tempfile::TempDir;

use crate::assembly::{self, MeteredCode, Runtime};
use crate::cli::commands::skills::args::DepsCommand;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{block_on, on_its_own, start_once};
use crate::cli::terminal::output::{note, print_json, print_line, shown};
use wardian_config::Config;
use wardian_engine::code::instrumentation::Variant;
use wardian_service::Caller;
use wardian_skills::packages::fetch::{FetchError, lock_wheels, sync_wheels};
use wardian_skills::packages::guest::PackageVersion;
use wardian_skills::packages::layer::LayerKey;
use wardian_skills::packages::lock::{Lock, MAX_LOCK};
use wardian_skills::packages::requirements::MAX_REQUIREMENTS;
use wardian_skills::packages::resolve::{WheelSource, resolve};
use wardian_skills::packages::resolve_error::ResolveError;
use wardian_skills::packages::wheel::WheelName;
use wardian_skills::packages::{
    GuestPlatform, LOCK_FILE, LayerStore, REQUIREMENTS_FILE, SkillLists, SkillNeeds, batteries,
};
use wardian_skills::registry::check_folder;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::files::regular_file::open_regular;

/// The result of locking, for programs.
#[derive(Serialize)]
struct Locked {
    lock: PathBuf,
    packages: Vec<Named>,
    /// Packages that the engine contains.
    engine: Vec<Named>,
    /// Batteries that are used as they are, because nobody can lock them.
    batteries: Vec<Named>,
    /// Names the layer; `None` if the engine has everything.
    layer: Option<String>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    version: String,
}

/// The result of syncing one skill, for programs.
#[derive(Serialize)]
struct Synced {
    skill: String,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Serialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Its packages were fetched now.
    Fetched,
    /// Its packages were there.
    Present,
    /// It needs none beyond those of every run.
    Nothing,
    /// It cannot have its packages.
    Failed,
}

/// A skill, by its files.
struct Listed {
    name: String,
    lists: SkillLists,
}

pub(crate) fn deps(config: &Config, command: &DepsCommand) -> Result<Exit, Failed> {
    match command {
        DepsCommand::Lock { folder, from, json } => lock(config, folder, from.as_deref(), *json),
        DepsCommand::Sync { folders, from, json } => sync(config, folders, from.as_deref(), *json),
    }
}

/// The platform of guests, which the installed engine tells.
fn guest(config: &Config) -> Result<GuestPlatform, Failed> {
    let found = assembly::guest_of(config)?;
    found.ok_or_else(|| {
        Failed::because(
            "the engine is not installed, so its packages are unknown: `wardian engine install` \
             installs it",
        )
    })
}

fn source(from: Option<&Path>) -> Result<WheelSource<'_>, Failed> {
    match from {
        None => Ok(WheelSource::Registry),
        Some(folder) if folder.is_dir() => Ok(WheelSource::Folder(folder)),
        Some(other) => Err(Failed::usage(format!("{}: is not a folder", other.display()))),
    }
}

fn lock(
    config: &Config,
    folder: &Path,
    from: Option<&Path>,
    as_json: bool,
) -> Result<Exit, Failed> {
    // pip works in a separate folder.
    let from = from.map(std::path::absolute).transpose();
    let from = from.map_err(|fault| Failed::at("find the folder of `--from`", &fault))?;
    let place = source(from.as_deref())?;
    let lists = lists_of(folder)?;
    if lists.is_empty() {
        let message = format!(
            "{}: has no {REQUIREMENTS_FILE}, and no script that lists its packages",
            folder.display()
        );
        return Err(Failed::usage(message));
    }
    let requirements = lists.requirements().map_err(|error| Failed::usage(error.to_string()))?;
    let guest = guest(config)?;
    let batteries = batteries::lock().map_err(|error| Failed::ours(&error))?;
    let batteries = batteries::unlockable(&requirements, &guest, &batteries);
    let python = &config.engine.python;
    note("choosing versions with pip");
    let chosen = resolve(&requirements, &guest.with_packages(&batteries), python, place)
        .map_err(|error| unresolved(&error, &batteries))?;
    let (batteries, engine) =
        chosen.engine.into_iter().partition::<Vec<_>, _>(|one| batteries.contains(one));
    chosen.notes.iter().for_each(|line| note(&format!("note: {line}")));
    let (packages, layer) = if chosen.wheels.is_empty() {
        (Vec::new(), None)
    } else {
        note(&format!("fetching {}", counted(chosen.wheels.len(), "wheel")));
        let (packages, draft) =
            lock_wheels(&chosen.wheels, &guest, python, place, &quiet).map_err(unfetched)?;
        (packages, Some(draft))
    };
    // Those that the list names are looked for by the list.
    let is_listed =
        |one: &PackageVersion| requirements.that_apply(guest.markers()).any(|r| r.name == one.name);
    let lock = Lock {
        packages,
        python: guest.python_version().to_owned(),
        requirements: requirements.digest(),
        engine,
        batteries: batteries.iter().filter(|one| !is_listed(one)).cloned().collect(),
    };
    let path = folder.join(lists.lock_file());
    write_lock(&path, &lock.to_text())?;
    // The wheels are here, so a sync need not fetch them again.
    if let Some((key, draft)) = lock.layer().zip(layer) {
        assembly::layer_store(config).keep(key, &draft).map_err(|error| Failed::ours(&error))?;
        compile(config, &[key]);
    }
    report_lock(&path, &lock, &batteries, as_json);
    Ok(Exit::Done)
}

fn report_lock(path: &Path, lock: &Lock, batteries: &[PackageVersion], as_json: bool) {
    let named = |name: &dyn ToString, version: &dyn ToString| Named {
        name: name.to_string(),
        version: version.to_string(),
    };
    let packages: Vec<Named> =
        lock.packages.iter().map(|one| named(&one.wheel.package, &one.wheel.version)).collect();
    let engine: Vec<Named> = lock.engine.iter().map(|one| named(&one.name, &one.version)).collect();
    let batteries: Vec<Named> =
        batteries.iter().map(|one| named(&one.name, &one.version)).collect();
    if as_json {
        let layer = lock.layer().map(|key| key.to_string());
        print_json(&Locked { lock: path.to_owned(), packages, engine, batteries, layer });
        return;
    }
    let count = counted(packages.len(), "package");
    print_line(&format!("{}: locked {count}", path.display()));
    for Named { name, version } in &packages {
        print_line(&format!("  {name} {version}"));
    }
    for Named { name, version } in &engine {
        print_line(&format!("  {name} {version} (of the engine)"));
    }
    for Named { name, version } in &batteries {
        print_line(&format!("  {name} {version} (a battery)"));
    }
}

/// Replaces the lock at once, so that a server never reads half of it.
fn write_lock(path: &Path, text: &str) -> Result<(), Failed> {
    let unfinished = path.with_file_name(".pylock.toml.unfinished");
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, path));
    written.map_err(|fault| Failed::named(path.display(), &fault))
}

fn sync(
    config: &Config,
    folders: &[PathBuf],
    from: Option<&Path>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let place = source(from)?;
    let skills = if folders.is_empty() { served(config)? } else { listed(folders)? };
    let guest = guest(config)?;
    let batteries = batteries::lock().map_err(|error| Failed::ours(&error))?;
    let store = assembly::layer_store(config);
    let (mut results, mut fetched) = (Vec::new(), Vec::new());
    let mut exit = Exit::Done;
    for skill in skills {
        let needs = skill.lists.needs(&guest, &batteries);
        let mut result =
            Synced { skill: skill.name, state: State::Nothing, layer: None, problem: None };
        match needs {
            SkillNeeds::Nothing | SkillNeeds::Batteries => {}
            SkillNeeds::Unknown(problem) => {
                (result.state, result.problem) = (State::Failed, Some(problem.to_string()));
                exit = worse(exit, Exit::GuestFailed);
            }
            SkillNeeds::Layer { key, .. } => {
                result.layer = Some(key.to_string());
                let lock = Lock::parse(skill.lists.lock().unwrap_or_default());
                let lock = lock.map_err(|error| Failed::ours(&error))?;
                match ensure(config, &store, key, &lock, &guest, place) {
                    Ok(State::Fetched) => {
                        result.state = State::Fetched;
                        fetched.push(key);
                    }
                    Ok(state) => result.state = state,
                    Err(failed) => {
                        exit = worse(exit, failed.exit);
                        (result.state, result.problem) = (State::Failed, Some(failed.to_string()));
                    }
                }
            }
        }
        if !as_json && (result.state != State::Nothing || !folders.is_empty()) {
            report_sync(&result);
        }
        results.push(result);
    }
    compile(config, &fetched);
    if as_json {
        print_json(&results);
    } else if results.is_empty() {
        note("there are no skills");
    } else if folders.is_empty() {
        let without = results.iter().filter(|one| one.state == State::Nothing).count();
        let needs = if without == 1 { "needs" } else { "need" };
        let skills = counted(without, "skill");
        print_line(&format!("{skills} {needs} no packages beyond those of every run"));
    }
    Ok(exit)
}

/// The exit code of two outcomes: a failure of the machine counts more than one of a skill.
fn worse(one: Exit, other: Exit) -> Exit {
    if one == Exit::OurFault || other == Exit::Done { one } else { other }
}

fn report_sync(result: &Synced) {
    let says = match (result.state, &result.problem) {
        (State::Failed, Some(problem)) => problem.as_str(),
        (State::Fetched, _) => "its packages were fetched",
        (State::Present, _) => "its packages are installed",
        (State::Nothing | State::Failed, _) => "needs no packages beyond those of every run",
    };
    let lines: Vec<String> = says.lines().map(shown).collect();
    print_line(&format!("{}: {}", result.skill, lines.join("\n  ")));
}

/// Makes the layer of a lock unless it exists.
fn ensure(
    config: &Config,
    store: &LayerStore,
    key: LayerKey,
    lock: &Lock,
    guest: &GuestPlatform,
    place: WheelSource<'_>,
) -> Result<State, Failed> {
    let found = store.open(key).map_err(|error| Failed::ours(&error))?;
    if found.is_some() {
        return Ok(State::Present);
    }
    note(&format!("fetching {}", counted(lock.packages.len(), "wheel")));
    let draft = sync_wheels(&lock.packages, guest, &config.engine.python, place, &quiet);
    store.keep(key, &draft.map_err(unfetched)?).map_err(|error| Failed::ours(&error))?;
    Ok(State::Fetched)
}

/// Compiles new layers, as far as the engine is ready. A server would do it at their first use.
fn compile(config: &Config, keys: &[LayerKey]) {
    let is_ready = assembly::open_engine(config).and_then(|one| Ok(one.is_ready(Variant::Timed)?));
    if keys.is_empty() || !is_ready.unwrap_or(false) {
        return;
    }
    let compiled = on_a_runtime(config, async |runtime: &Runtime| {
        for key in keys {
            runtime.service.compile_layer(&Caller::local("deps"), *key).await?;
        }
        Ok(())
    });
    if let Err(failed) = compiled {
        note(&format!(
            "the packages were not compiled, which makes their first use slower: {failed}"
        ));
    }
}

/// Does something on a runtime with workers and without skills.
pub(crate) fn on_a_runtime(
    config: &Config,
    work: impl AsyncFnOnce(&Runtime) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let count = config.workers.count;
    let mut config = on_its_own(config.clone(), &folder);
    config.workers.count = count;
    config.skills.roots = Vec::new();
    block_on(Box::pin(async {
        let metered = MeteredCode::IfThere;
        let runtime = start_once(&config, metered).await?;
        let ended = work(&runtime).await;
        runtime.shut_down(Duration::ZERO).await;
        ended.map(|()| Exit::Done)
    }))?;
    Ok(())
}

/// The skills that a server with this configuration would serve, those of tenants included.
fn served(config: &Config) -> Result<Vec<Listed>, Failed> {
    let all = assembly::open_registry(config)?.all();
    let skills = all.iter().map(|snapshot| Listed {
        name: format!("{}@{}", snapshot.name(), snapshot.version()),
        lists: SkillLists::of(snapshot.contents()),
    });
    Ok(skills.collect())
}

/// The skills in folders.
fn listed(folders: &[PathBuf]) -> Result<Vec<Listed>, Failed> {
    let one = |folder: &PathBuf| {
        Ok(Listed { name: folder.display().to_string(), lists: lists_of(folder)? })
    };
    folders.iter().map(one).collect()
}

/// The lists of packages in a folder. Only one that has no list of its entrypoint has to be a skill without
/// errors: its scripts are searched for lists.
fn lists_of(folder: &Path) -> Result<SkillLists, Failed> {
    if !folder.is_dir() {
        return Err(Failed::usage(format!("{}: is not a folder", folder.display())));
    }
    let named = [(REQUIREMENTS_FILE, MAX_REQUIREMENTS), (LOCK_FILE, MAX_LOCK)];
    let mut files = Vec::new();
    for (path, limit) in named {
        files.extend(read(&folder.join(path), limit)?.map(|content| (path, content)));
    }
    let own = SkillLists::of(files.iter().map(|(path, content)| (*path, content.as_slice())));
    if !own.is_empty() {
        return Ok(own);
    }
    let check = check_folder(folder).map_err(|e| Failed::named(folder.display(), &e))?;
    if let Some(snapshot) = &check.snapshot {
        return Ok(SkillLists::of(snapshot.contents()));
    }
    let mut files = Vec::new();
    for (path, limit) in [("requirements.txt", MAX_REQUIREMENTS), ("pylock.toml", MAX_LOCK)] {
        files.extend(read(&folder.join(path), limit)?.map(|content| (path, content)));
    }
    Ok(SkillLists::of(files.iter().map(|(path, content)| (*path, content.as_slice()))))
}

/// Reads a file of the user, one byte beyond the limit at most; `None` if there is none.
fn read(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, Failed> {
    // A pipe in the folder of a skill would be waited for.
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(Failed::named(path.display(), &fault)),
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes).map_err(|f| Failed::named(path.display(), &f))?;
    Ok(Some(bytes))
}

fn quiet(_wheel: &WheelName) {}

/// What the user required is not available, or the machine failed.
/// The failure of a choice that had to keep to these batteries.
fn unresolved(error: &ResolveError, batteries: &[PackageVersion]) -> Failed {
    if !error.is_about_packages() {
        return Failed::ours(error);
    }
    let said = CauseChain(error).to_string();
    let fixed = match error {
        ResolveError::EngineConflict { packages, .. } => {
            let mut names = packages.split(", ");
            names.find_map(|name| batteries.iter().find(|one| one.to_string() == name))
        }
        _ => None,
    };
    Failed::refused(match fixed {
        Some(PackageVersion { name, version }) => format!(
            "{said}\n`{name}` is a battery, which stays at {version}, because guests cannot have all \
             that it requires. Choose a version of the package that fits it, or list `{name}` in the \
             version that you need, if all that this one requires is pure Python"
        ),
        None => said,
    })
}

fn unfetched(error: FetchError) -> Failed {
    match error {
        FetchError::Python(_) | FetchError::File(_) | FetchError::Registry(_) => {
            Failed::ours(&error)
        }
        other => Failed::refused(CauseChain(&other).to_string()),
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
