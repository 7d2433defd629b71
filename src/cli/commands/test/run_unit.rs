//! Runs one unit: a case of a skill, the tests of a file, or a notebook.

use crate::assembly::Runtime;
use crate::cli::commands::test::notebook::run_notebook::run_notebook;
use crate::cli::commands::test::plan::{TestSession, Unit};
use crate::cli::commands::test::python_file::run_file;
use crate::cli::commands::test::report::outcomes::UnitReport;
use crate::cli::commands::test::skill_case::run_skill_case;
use crate::cli::failed::Failed;
use wardian_vocabulary::units::ByteCount;

/// Runs the unit of this number.
pub(crate) async fn run_unit(
    runtime: &Runtime,
    session: &TestSession,
    number: usize,
) -> Result<UnitReport, Failed> {
    let plan = &session.plan;
    // No unit sees what another one stores, or has less room because of it.
    let unit = plan.units.get(number);
    let bytecode = match unit {
        Some(Unit::File(file)) if file.may_use_pytest => session.bytecode.find(runtime).await,
        _ => None,
    };
    let room = match unit {
        Some(Unit::Notebook(tests)) => tests.files.size(),
        _ => bytecode.as_ref().map_or(ByteCount::bytes(0), |packed| packed.size()),
    };
    let place = runtime.with_own_blobs(room)?;
    match unit {
        Some(Unit::Case { skill, case }) => match plan.skills.get(*skill) {
            Some(skill) => run_skill_case(&place, skill, *case, session).await,
            None => Err(Failed::because("a skill was lost")),
        },
        Some(Unit::File(file)) => {
            let skill = file.skill.and_then(|number| plan.skills.get(number));
            let mount = skill.map(|skill| format!("{}@{}", skill.name, skill.version));
            let bytecode = bytecode.as_deref();
            Box::pin(run_file(&place, file, mount, bytecode, session)).await
        }
        Some(Unit::Notebook(tests)) => {
            let skill = tests.skill.and_then(|number| plan.skills.get(number));
            let mount = skill.map(|skill| format!("{}@{}", skill.name, skill.version));
            Box::pin(run_notebook(&place, tests, mount, session)).await
        }
        None => Err(Failed::because("a test was lost")),
    }
}
