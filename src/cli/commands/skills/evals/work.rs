//! What is evaluated: each case as often as wanted, with the skill and without it.

use crate::cli::commands::skills::evals::agent::{EvalBounds, solve};
use crate::cli::commands::skills::evals::assertions::python_text;
use crate::cli::commands::skills::evals::cases::case_file::{Case, Configuration};
use crate::cli::commands::skills::evals::cases::patterns::{CasePatterns, PROGRAM};
use crate::cli::commands::skills::evals::endpoint::Endpoint;
use crate::cli::commands::skills::evals::grader::grade;
use crate::cli::commands::skills::evals::out_folder::OutFolder;
use crate::cli::commands::skills::evals::report::{EvalReport, EvalRun};
use crate::cli::commands::skills::evals::server::EvalServer;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, shown};

/// What is evaluated, and how.
pub(super) struct EvalWork {
    pub(super) skill: String,
    pub(super) folder: String,
    pub(super) endpoint: Endpoint,
    pub(super) cases: Vec<Case>,
    pub(super) patterns: CasePatterns,
    pub(super) bounds: EvalBounds,
    pub(super) runs: u32,
    pub(super) grader: String,
}

impl EvalWork {
    /// Runs all cases on the servers with and without the skill.
    pub(super) fn run(
        &self,
        urls: &[String],
        out: Option<&OutFolder>,
    ) -> Result<EvalReport, Failed> {
        let mut servers = Vec::new();
        for (configuration, url) in Configuration::BOTH.into_iter().zip(urls) {
            let skill = (configuration == Configuration::With).then_some(self.skill.as_str());
            servers.push((configuration, EvalServer::open(url, skill)?));
        }
        self.check_patterns(&servers)?;
        let numbered = |case| (1..=self.runs).map(move |number| (case, number));
        let each = self.cases.iter().flat_map(numbered);
        let each = each.flat_map(|of_case| servers.iter().map(move |server| (of_case, server)));
        let mut runs = Vec::new();
        for ((case, number), (configuration, server)) in each {
            let run = self.run_case(case, number, *configuration, server, out)?;
            // A key or a name that is wrong is wrong in all runs.
            if let Some(reason) = run.refused.as_ref().filter(|_| runs.is_empty()) {
                return Err(Failed::refused(shown(reason)));
            }
            note(&format!("case {}: {}", shown(&case.id), run.line()));
            runs.push(run);
        }
        let report = EvalReport {
            skill: self.skill.clone(),
            folder: self.folder.clone(),
            model: self.endpoint.model().to_owned(),
            grader: self.grader.clone(),
            cases: self.cases.clone(),
            runs_of_case: self.runs,
            runs,
        };
        if let Some(out) = out {
            out.write_json("benchmark.json", &report.benchmark())?;
        }
        Ok(report)
    }

    fn run_case(
        &self,
        case: &Case,
        number: u32,
        configuration: Configuration,
        server: &EvalServer,
        out: Option<&OutFolder>,
    ) -> Result<EvalRun, Failed> {
        let session = server.session(case)?;
        let solved = solve(&self.endpoint, &session, case, &self.bounds)?;
        let graded = grade(&self.endpoint, &self.grader, &session, case, &solved)?;
        let run = EvalRun::new(case, configuration, number, &solved, graded);
        if let Some(out) = out {
            out.write_run(&run, &solved, &session)?;
        }
        session.close();
        Ok(run)
    }

    /// Refuses regular expressions that are none, before the endpoint is called.
    fn check_patterns(&self, servers: &[(Configuration, EvalServer)]) -> Result<(), Failed> {
        let (Some((_, server)), Some(case)) = (servers.first(), self.cases.first()) else {
            return Ok(());
        };
        if self.patterns.is_empty() {
            return Ok(());
        }
        let session = server.session(case)?;
        let texts: Vec<String> = self.patterns.texts().into_iter().map(python_text).collect();
        let code = format!("{PROGRAM}\nmain({{'patterns': [{}]}})", texts.join(", "));
        let output = session.compute(&code)?.map_err(|raised| {
            Failed::because(format!("could not compile the regular expressions: {raised}"))
        });
        session.close();
        self.patterns.ensure_compiled(output?)
    }
}
