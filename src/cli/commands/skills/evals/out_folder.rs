//! The folder of `--out`: files, grades and transcripts of runs, laid out as the Agent Skills guide has them.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::commands::skills::evals::agent::Solved;
use crate::cli::commands::skills::evals::report::EvalRun;
use crate::cli::commands::skills::evals::server::CaseSession;
use crate::cli::failed::Failed;

/// A folder that was new or empty.
#[derive(Debug)]
pub(super) struct OutFolder(PathBuf);

/// The file `transcript.json`.
#[derive(Serialize)]
struct Transcript<'a> {
    system: String,
    answer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'a str>,
    steps: &'a [crate::cli::commands::skills::evals::agent::EvalStep],
}

impl OutFolder {
    /// Makes the folder, unless it has something in it.
    pub(super) fn create(folder: &Path) -> Result<Self, Failed> {
        let named = |fault: &std::io::Error| Failed::named(folder.display(), fault);
        fs::create_dir_all(folder).map_err(|fault| named(&fault))?;
        if fs::read_dir(folder).map_err(|fault| named(&fault))?.next().is_some() {
            let folder = folder.display();
            return Err(Failed::usage(format!(
                "{folder} is not empty: name a new folder with `--out`"
            )));
        }
        Ok(Self(folder.to_owned()))
    }

    /// Writes what is known of a run.
    pub(super) fn write_run(
        &self,
        run: &EvalRun,
        solved: &Solved,
        session: &CaseSession<'_>,
    ) -> Result<(), Failed> {
        let (case, configuration) = (&run.case, run.configuration.name());
        let place = format!("eval-{case}/{configuration}/run-{}", run.number);
        self.write_json(&format!("{place}/grading.json"), &run.grading())?;
        self.write_json(&format!("{place}/timing.json"), &run.timing())?;
        let (system, ended) = (session.system(), solved.problem.as_deref());
        let transcript = Transcript { system, answer: &solved.answer, ended, steps: &solved.steps };
        self.write_json(&format!("{place}/transcript.json"), &transcript)?;
        fs::create_dir_all(self.0.join(&place).join("outputs"))
            .map_err(|fault| Failed::named(self.0.display(), &fault))?;
        for file in &run.files {
            self.write(&format!("{place}/outputs/{}", file.path), &file.content)?;
        }
        Ok(())
    }

    /// Writes a value as JSON.
    pub(super) fn write_json(&self, path: &str, value: &impl Serialize) -> Result<(), Failed> {
        let text = serde_json::to_vec_pretty(value);
        self.write(path, &text.map_err(|fault| Failed::at("write the report", &fault))?)
    }

    /// Writes a file. The server has checked paths: they are relative, and lead nowhere else.
    fn write(&self, path: &str, content: &[u8]) -> Result<(), Failed> {
        let file = self.0.join(path);
        let named = |fault: &std::io::Error| Failed::named(file.display(), fault);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(|fault| named(&fault))?;
        }
        fs::write(&file, content).map_err(|fault| named(&fault))
    }
}
