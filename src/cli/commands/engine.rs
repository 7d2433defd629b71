//! `wardian engine`: the interpreter in its cache.

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::assembly::{self, MeteredCode};
use crate::cli::args::EngineCommand;
use crate::cli::commands::images::images;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::progress;
use crate::cli::terminal::output::{note, print_json, print_line, print_table};
use crate::cli::terminal::readable::{first_digits, readable};
use crate::config::Config;
use crate::engine::cache::entry::Finding;
use crate::engine::report::{CleanUp, EngineReport};

pub(crate) fn engine(config: &Config, command: &EngineCommand) -> Result<Exit, Failed> {
    match command {
        EngineCommand::Install { metered, images, end_with_parent, .. } => {
            if *end_with_parent {
                set_parent_process_death_signal(Some(Signal::KILL))
                    .map_err(|fault| Failed::at("tie the installation to its parent", &fault))?;
            }
            let metered = if *metered { MeteredCode::Wanted } else { MeteredCode::IfThere };
            assembly::install_engine(config, metered, images, progress().as_ref())?;
            note("the engine is ready");
            Ok(Exit::Done)
        }
        EngineCommand::Info { json } => {
            let report = assembly::open_engine(config)?.report()?;
            if *json {
                print_json(&report);
            } else {
                describe(&report);
            }
            Ok(Exit::Done)
        }
        EngineCommand::Images { json } => images(config, *json),
        EngineCommand::Verify { json } => verify(config, *json),
        EngineCommand::Clean { all, json } => {
            let what = if *all { CleanUp::Everything } else { CleanUp::Unused };
            let removed = assembly::open_engine(config)?.clean(what)?;
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

fn describe(report: &EngineReport) {
    let python = report.contents.as_ref().map_or("not installed", |found| found.python.as_str());
    print_line(&format!("engine     {} {}", report.package, report.version));
    print_line(&format!("sha256     {}", report.sha256));
    print_line(&format!("python     {python}"));
    print_line(&format!("wasmtime   {}", report.wasmtime));
    print_line(&format!("cache      {}", report.cache_folder.display()));
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
    if report.files.is_empty() {
        note(
            "nothing is in the cache yet: `wardian engine install` fetches and compiles the engine",
        );
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
        note("nothing is in the cache: `wardian engine install` fills it");
        return Ok(exit);
    }
    print_table(&["finding", "what", "file"], rows);
    if files.iter().any(|file| file.finding == Finding::Damaged) {
        note(
            "remove the damaged files with `wardian engine clean --all`, then `wardian engine install`",
        );
    } else if !is_good {
        note("`wardian engine install` makes the missing files");
    }
    Ok(exit)
}
