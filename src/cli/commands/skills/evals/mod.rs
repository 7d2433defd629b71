//! `wardian skills eval`: does a skill help a model? Its cases are solved by a model of the user's choice
//! with the skill and without it, and the results are graded and compared.
//!
//! INVARIANT(nobody-is-called): no request leaves this machine unless the user names an endpoint and a model.
//! INVARIANT(without-the-key): the key goes to the endpoint and nowhere else: not into reports, messages or sandboxes.

mod agent;
mod anthropic;
pub(crate) mod args;
mod assertions;
mod cases;
mod conversation;
mod endpoint;
mod grader;
mod openai;
mod out_folder;
mod report;
mod server;
mod work;

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::task::spawn_blocking;

use crate::cli::commands::own_server::OwnServer;
use crate::cli::commands::skills::evals::agent::EvalBounds;
use crate::cli::commands::skills::evals::args::EvalArgs;
use crate::cli::commands::skills::evals::cases::case_file::{CaseFile, Configuration};
use crate::cli::commands::skills::evals::cases::patterns::{CasePatterns, PatternsLook};
use crate::cli::commands::skills::evals::endpoint::Endpoint;
use crate::cli::commands::skills::evals::out_folder::OutFolder;
use crate::cli::commands::skills::evals::server::SkillCopy;
use crate::cli::commands::skills::evals::work::EvalWork;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::block_on_until_interrupted;
use crate::cli::terminal::output::{note, print_json, shown};
use wardian_config::Config;

/// Runs the cases of a skill.
pub(crate) fn evaluate(config: &Config, args: &EvalArgs) -> Result<Exit, Failed> {
    let file = CaseFile::read(&args.folder).map_err(Failed::harmless)?;
    let cases = file.chosen(&args.case)?;
    let patterns = CasePatterns::of(&args.folder, &cases);
    if args.list {
        match patterns.look(config)? {
            PatternsLook::Good => {}
            PatternsLook::Skipped(why) => {
                note(&format!("the regular expressions were not checked: {}", shown(&why)));
            }
            PatternsLook::Interrupted => return Ok(Exit::Interrupted),
        }
        if args.json {
            print_json(&cases);
        } else {
            report::print_cases(&cases);
        }
        return Ok(Exit::Done);
    }
    let endpoint = Endpoint::open(args)?;
    let out = args.out.as_deref().map(OutFolder::create).transpose()?;
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let copy = SkillCopy::create(&args.folder, folder.path())?;
    if let Some(named) = file.skill_name.as_ref().filter(|named| **named != copy.name) {
        note(&format!("{}: it is about `{}`", cases::case_file::PATH, shown(named)));
    }
    announce(args, &endpoint, &copy.name, cases.len());
    let work = EvalWork {
        skill: copy.name.clone(),
        folder: args.folder.display().to_string(),
        endpoint,
        cases,
        patterns,
        bounds: EvalBounds::of(args),
        runs: args.runs,
        grader: args.grader_model.clone().unwrap_or_else(|| args.model().to_owned()),
    };
    let (as_json, minimum) = (args.json, args.min_pass);
    block_on_until_interrupted(Box::pin(async {
        let hidden: Vec<&str> = args.key_env.as_deref().into_iter().collect();
        let start = |name| {
            let (data, skills) = (folder.path().join(name), copy.root.join(name));
            (data, skills, &hidden)
        };
        let mut servers = Vec::new();
        for configuration in Configuration::BOTH {
            let (data, skills, hidden) = start(configuration.name());
            make_folder(&data)?;
            servers.push(OwnServer::start(config, &data, &skills, hidden).await?);
        }
        let urls: Vec<String> = servers.iter().map(|server| server.url().to_owned()).collect();
        let work = Arc::new(work);
        let ended = spawn_blocking(move || work.run(&urls, out.as_ref())).await;
        let report = ended.map_err(|fault| Failed::at("evaluate the skill", &fault))??;
        if as_json {
            print_json(&report.benchmark());
        } else {
            report.print();
        }
        Ok(report.exit(minimum))
    }))
}

fn make_folder(folder: &Path) -> Result<(), Failed> {
    std::fs::create_dir(folder).map_err(|fault| Failed::at("create a temporary folder", &fault))
}

/// Says what is sent, and where, before anything is.
fn announce(args: &EvalArgs, endpoint: &Endpoint, skill: &str, cases: usize) {
    let calls = cases.saturating_mul(2).saturating_mul(usize::try_from(args.runs).unwrap_or(1));
    let runs = if calls == 1 { "run" } else { "runs" };
    note(&format!(
        "{calls} {runs} with {} at {}: it gets the prompts of the cases, what the model reads of the skill `{skill}`, \
         what its tools return, and the answers and the texts of files to grade",
        shown(args.model()),
        shown(endpoint.address()),
    ));
}
