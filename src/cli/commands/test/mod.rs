//! `wardian test`: runs the tests of skills and of Python files.
//!
//! Every file and every case has its own run, reproducible unless the machine refuses something,
//! and all workers take part.

mod cache;
mod finish;
mod ingredients;
mod kept;
mod notebook;
mod packed_files;
mod plan;
mod project;
mod pytest_bytecode;
mod python_file;
pub(crate) mod report;
mod run_unit;
mod skill_case;
mod update;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::assembly::{MeteredCode, Runtime, install_engine};
use crate::cli::commands::run::epoch::epoch;
use crate::cli::commands::skill_cases::run_case::CaseOptions;
use crate::cli::commands::skills::skills_lock::SkillsLock;
use crate::cli::commands::test::finish::{ensure_folder_of_report, finish, nothing_found};
use crate::cli::commands::test::kept::KeptResults;
use crate::cli::commands::test::plan::{Plan, TestSession};
use crate::cli::commands::test::pytest_bytecode::{MAKING_MS, PytestBytecode};
use crate::cli::commands::test::report::outcomes::UnitReport;
use crate::cli::commands::test::report::printer::Shown;
use crate::cli::commands::test::run_unit::run_unit;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{
    Installer, block_on_until_interrupted, on_its_own, progress, start_once,
};
use crate::cli::test_args::TestArgs;
use wardian_config::Config;
use wardian_formats::protocol::methods::execution::ReproducibleParam;
use wardian_images::PackageSet;
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// Runs the tests below some paths.
pub(crate) fn test(config: Config, installer: &Installer, args: &TestArgs) -> Result<Exit, Failed> {
    ensure_folder_of_report(args.junit.as_deref())?;
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let copies = folder.path().join("skills");
    std::fs::create_dir(&copies)
        .map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let plan = Plan::of(args, &copies)?;
    if let Some(lock) = SkillsLock::read_named(args.locked.as_ref())? {
        for skill in &plan.skills {
            let (name, version) =
                (SkillName::parse(&skill.name)?, SkillVersion::parse(&skill.version)?);
            lock.check_one(&name, &version, skill.digest)?;
        }
    }
    if plan.units.is_empty() {
        return nothing_found(args);
    }
    let epoch = epoch(args.epoch)?;
    let options = CaseOptions {
        reproducible: Some(ReproducibleParam::Inputs { seed: args.seed, epoch, cache: false }),
        timeout_ms: Some(args.timeout.saturating_mul(1_000)),
    };
    let workers = config.workers.count.max(1);
    let mut config = on_its_own(config, &folder);
    config.workers.count = workers.min(plan.units.len());
    // The skills are tested as they are here, whatever a server finds elsewhere.
    config.skills.roots = vec![copies];
    // The copies have no signatures, and what is tested is often not signed yet. Whether it is served is not the question.
    config.skills.require_signatures = false;
    let longest = Duration::from_secs(args.timeout).max(Duration::from_millis(MAKING_MS));
    config.limits.max.wall_time = config.limits.max.wall_time.max(longest);
    let session = Arc::new(TestSession {
        plan,
        options,
        bytecode: PytestBytecode::default(),
        list: args.list,
        update: args.update,
        verify: args.verify_cache.unwrap_or(0),
    });
    let metered = MeteredCode::Wanted;
    block_on_until_interrupted(Box::pin(async {
        installer.ensure_engine(&config, metered).await?;
        install_engine(&config, metered, &[PackageSet::REPRODUCIBLE], progress().as_ref())?;
        let runtime = start_once(&config, metered).await?;
        let runtime = Arc::new(runtime);
        let kept = if args.no_cache || args.list {
            None
        } else {
            Some(KeptResults::of(&config, &runtime, &session)?)
        };
        let shared = Arc::new((session, kept));
        let ended = run_all(&runtime, &shared, config.workers.count, args).await;
        if let Some(kept) = &shared.1 {
            kept.tidy();
        }
        runtime.shut_down(Duration::ZERO).await;
        finish(&ended?, &shared.0.plan.without_tests, args)
    }))
}

/// Runs all units, as many at one time as there are workers. Their results are printed in the order of
/// the plan.
async fn run_all(
    runtime: &Arc<Runtime>,
    shared: &Arc<(Arc<TestSession>, Option<KeptResults>)>,
    workers: usize,
    args: &TestArgs,
) -> Result<Vec<UnitReport>, Failed> {
    let count = shared.0.plan.units.len();
    let printer = Shown::begin(count, args.json || args.list);
    let (free, mut running) = (Arc::new(Semaphore::new(workers)), JoinSet::new());
    for number in 0..count {
        let (runtime, shared, free) = (Arc::clone(runtime), Arc::clone(shared), Arc::clone(&free));
        running.spawn(async move {
            let _turn = free.acquire_owned().await;
            let (session, kept) = &*shared;
            let report = match kept {
                Some(kept) => kept.run(&runtime, session, number).await,
                None => run_unit(&runtime, session, number).await,
            };
            (number, report)
        });
    }
    let (mut waiting, mut reports) = (BTreeMap::new(), Vec::with_capacity(count));
    while let Some(ended) = running.join_next().await {
        let (number, report) = ended.map_err(|fault| Failed::at("run a test", &fault))?;
        let report = report?;
        printer.advance(&report);
        waiting.insert(number, report);
        while let Some(next) = waiting.remove(&reports.len()) {
            printer.print(&next);
            reports.push(next);
        }
    }
    Ok(reports)
}
