//! `wardian engine`: the interpreter in its cache.

use std::io;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
};
use serde::Serialize;

use crate::assembly::{self, BatteriesReport, MeteredCode};
use crate::cli::args::{BuildArgs, EngineCommand};
use crate::cli::commands::engine::build::locked;
use crate::cli::commands::images::images;
use crate::cli::commands::skills::deps::on_a_runtime;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{InstallMessage, progress};
use crate::cli::terminal::output::{note, print_json, print_line, print_table, shown};
use crate::cli::terminal::readable::{first_digits, readable};
use wardian_config::Config;
use wardian_engine::cache::entry::Finding;
use wardian_engine::progress::{Progress, Reports, Step, StepEnd, StepReport};
use wardian_engine::report::{CleanUp, EngineReport, NativeReport};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::units::ByteCount;

pub(crate) fn engine(config: &Config, command: &EngineCommand) -> Result<Exit, Failed> {
    match command {
        EngineCommand::Install { metered, images, end_with_parent, finish, report, .. } => {
            let metered = if *metered { MeteredCode::Wanted } else { MeteredCode::IfThere };
            let shown = shown_progress(*end_with_parent, *finish, *report)?;
            let failed = |error| {
                let failed = Failed::from(error);
                if *report {
                    InstallMessage::Failed { failed: failed.to_string() }.send();
                }
                failed
            };
            assembly::install_engine(config, metered, images, shown.as_ref()).map_err(failed)?;
            // A server that asks for code or an image does not wait for packages.
            if end_with_parent.is_none() || (metered == MeteredCode::IfThere && images.is_empty()) {
                if *report {
                    let report = StepReport::new(Step::Packages, None, 0, Duration::ZERO);
                    InstallMessage::Step(report).send();
                }
                install_batteries(config);
            }
            if metered == MeteredCode::IfThere || end_with_parent.is_none() {
                assembly::install_images_with_batteries(config, images, shown.as_ref())
                    .map_err(failed)?;
            }
            note("the engine is ready");
            Ok(Exit::Done)
        }
        EngineCommand::Build(args) => build(config, args),
        EngineCommand::Info { json } => {
            let report = assembly::open_engine(config)?.report()?;
            let batteries = assembly::batteries(config)?;
            if *json {
                print_json(&Info { report: &report, batteries: &batteries });
            } else {
                describe(&report, &batteries);
            }
            Ok(Exit::Done)
        }
        EngineCommand::Images { json } => images(config, *json),
        EngineCommand::Verify { json } => verify(config, *json),
        EngineCommand::Clean { all, json } => {
            let what = if *all { CleanUp::Everything } else { CleanUp::Unused };
            let mut removed = assembly::open_engine(config)?.clean(what)?;
            let layers = assembly::clean_layers(config, what)?;
            let freed = removed.freed_bytes.as_u64().saturating_add(layers.as_u64());
            removed.freed_bytes = ByteCount::bytes(freed);
            if *json {
                print_json(&removed);
                return Ok(Exit::Done);
            }
            for folder in &removed.folders {
                print_line(&folder.display().to_string());
            }
            note(&format!("freed {}", readable(removed.freed_bytes)));
            Ok(Exit::Done)
        }
    }
}

/// Locks native modules, and compiles the engine with them.
fn build(config: &Config, args: &BuildArgs) -> Result<Exit, Failed> {
    let shown = progress();
    let (config, lock) = locked(config, args, shown.as_ref())?;
    describe_natives(&assembly::open_engine(&config)?.report()?.native);
    let chosen = format!("the setting `engine.native = \"{}\"` chooses it", lock.display());
    if args.only_lock {
        note(&format!("the lock is written; {chosen}, and the first start compiles the engine"));
        return Ok(Exit::Done);
    }
    let metered = if args.metered { MeteredCode::Wanted } else { MeteredCode::IfThere };
    assembly::install_engine(&config, metered, &[], shown.as_ref())?;
    install_batteries(&config);
    note(&format!("the engine is ready; {chosen}"));
    Ok(Exit::Done)
}

/// Where an installation shows its progress, and for how long it continues.
fn shown_progress(
    parent: Option<i32>,
    finishes: bool,
    reports: bool,
) -> Result<Box<dyn Progress>, Failed> {
    let shown = progress();
    let shown: Box<dyn Progress> =
        if reports { Box::new((shown, Reports::new(io::stdout()))) } else { shown };
    match parent {
        Some(parent) if finishes => Ok(Box::new((shown, TiedWhileWaiting { parent }))),
        Some(parent) => tie_to_parent(parent).map(|()| shown),
        None => Ok(shown),
    }
}

/// Ends this process with its parent while it waits for the work of another process, and not while it
/// does the work itself: that is finished for the next start.
struct TiedWhileWaiting {
    parent: i32,
}

impl Progress for TiedWhileWaiting {
    fn begin(&self, report: &StepReport) {
        if report.step == Step::Wait && tie_to_parent(self.parent).is_err() {
            // As the kernel would have done.
            kill_process(getpid(), Signal::KILL).ok();
        }
    }

    fn advance(&self, _report: &StepReport) {}

    fn end(&self, step: Step, _ending: StepEnd) {
        if step == Step::Wait {
            // An error means that the process ends with its parent, as others do.
            set_parent_process_death_signal(None).ok();
        }
    }
}

/// Makes the kernel kill this process when its parent ends. A parent that has ended before this
/// call sends no signal any more, so its id is compared afterwards.
fn tie_to_parent(parent: i32) -> Result<(), Failed> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|fault| Failed::at("tie the installation to its parent", &fault))?;
    if Pid::as_raw(getppid()) == parent {
        return Ok(());
    }
    Err(Failed::because("the process that started this installation has exited"))
}

/// Fetches and compiles the batteries. Without them the engine works as well.
fn install_batteries(config: &Config) {
    if let Ok(batteries) = assembly::batteries(config)
        && !batteries.is_there
    {
        note(&format!("fetching the batteries, {} packages ...", batteries.packages.len()));
    }
    match assembly::install_batteries(config, assembly::wheel_source(config), &|_| ()) {
        Ok(true) => note("the batteries were fetched"),
        Ok(false) => {}
        Err(error) => {
            let why = CauseChain(&error).to_string();
            note(&format!("runs have no batteries (docs/packages.md): {}", shown(&why)));
            return;
        }
    }
    if assembly::batteries_are_compiled(config).unwrap_or(true) {
        return;
    }
    note("compiling the batteries");
    let compiled =
        on_a_runtime(config, async |runtime| Ok(runtime.service.compile_batteries().await?));
    if let Err(failed) = compiled {
        note(&format!("the batteries were not compiled, so their imports are slower: {failed}"));
    }
}

/// The engine and the batteries, for programs.
#[derive(Serialize)]
struct Info<'a> {
    #[serde(flatten)]
    report: &'a EngineReport,
    batteries: &'a BatteriesReport,
}

fn describe(report: &EngineReport, batteries: &BatteriesReport) {
    let python = report.contents.as_ref().map_or("not installed", |found| found.python.as_str());
    print_line(&format!("engine     {} {}", report.package, report.version));
    print_line(&format!("sha256     {}", report.sha256));
    print_line(&format!("python     {python}"));
    print_line(&format!("wasmtime   {}", report.wasmtime));
    describe_natives(&report.native);
    print_line(&format!("stopped by {}", report.interruption.as_str()));
    print_line(&format!("cache      {}", report.cache_folder.display()));
    print_line(&format!("cpu        {}", report.cpu));
    for variant in &report.variants {
        let state = if variant.is_ready { "ready" } else { "not compiled" };
        print_line(&format!("{:<10} {state}", format!("{:?}", variant.variant).to_lowercase()));
    }
    if let Some(contents) = &report.contents {
        let packages = contents.packages.iter();
        let packages: Vec<_> =
            packages.map(|one| format!("{} {}", one.name, one.version)).collect();
        print_line(&format!("packages   {}", packages.join(", ")));
    }
    let packages: Vec<String> =
        batteries.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let state = if batteries.is_there { "" } else { "not fetched: " };
    print_line(&format!("batteries  {state}{}", packages.join(", ")));
    if report.files.is_empty() {
        note("the cache is empty: `wardian engine install` fetches and compiles the engine");
        return;
    }
    print_line("");
    let rows = report.files.iter().map(|file| {
        let used = if file.is_used { "yes" } else { "no" };
        let path = file.path.strip_prefix(&report.cache_folder).unwrap_or(&file.path);
        vec![
            file.what.clone(),
            readable(file.size_bytes),
            used.to_owned(),
            first_digits(&file.sha256),
            path.display().to_string(),
        ]
    });
    print_table(&["what", "size", "used", "sha256", "file"], rows.collect());
}

/// The native modules and the digest of the engine's module with them.
fn describe_natives(native: &NativeReport) {
    print_line(&format!("native     {}", packages_of(native)));
    if let Some(lock) = &native.lock {
        print_line(&format!("lock       {}", shown(&lock.display().to_string())));
    }
    print_line(&format!("module     {}", native.module));
}

/// The packages of native modules with their versions.
pub(super) fn packages_of(native: &NativeReport) -> String {
    let modules = native.modules.iter();
    let mut packages: Vec<String> =
        modules.map(|module| format!("{} {}", module.package, module.version)).collect();
    packages.dedup();
    if packages.is_empty() { "none".to_owned() } else { packages.join(", ") }
}

fn verify(config: &Config, as_json: bool) -> Result<Exit, Failed> {
    let files = assembly::open_engine(config)?.verify(progress().as_ref())?;
    // An empty cache has no damaged file, and no engine either.
    let is_good = !files.is_empty() && files.iter().all(|file| file.finding == Finding::Good);
    let exit = if is_good { Exit::Done } else { Exit::OurFault };
    if as_json {
        print_json(&files);
        return Ok(exit);
    }
    let rows = files.iter().map(|file| {
        let finding = match file.finding {
            Finding::Good => "good",
            Finding::Damaged => "DAMAGED",
            Finding::Missing => "MISSING",
        };
        let what = file.what.clone().unwrap_or_else(|| "unknown".to_owned());
        vec![finding.to_owned(), what, file.path.display().to_string()]
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        note("the cache is empty: `wardian engine install` fills it");
        return Ok(exit);
    }
    print_table(&["finding", "what", "file"], rows);
    if files.iter().any(|file| file.finding == Finding::Damaged) {
        note(
            "remove the damaged files with `wardian engine clean --all`, then `wardian engine install`",
        );
    } else if !is_good {
        note("`wardian engine install` creates the missing files");
    }
    Ok(exit)
}
