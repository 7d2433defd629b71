//! What came out: rates with the skill and without it, as text and in the form of `benchmark.json`.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::commands::skills::evals::agent::Solved;
use crate::cli::commands::skills::evals::assertions::Grade;
use crate::cli::commands::skills::evals::case_file::{Case, Configuration};
use crate::cli::commands::skills::evals::grader::Graded;
use crate::cli::commands::skills::evals::server::WorkFile;
use crate::cli::exit_code::Exit;
use crate::cli::terminal::output::{note, print_line, print_table, shown};

/// Most characters of a prompt in a list.
const MAX_PROMPT: usize = 60;

/// One run of a case.
#[derive(Debug)]
pub(super) struct EvalRun {
    pub(super) case: String,
    pub(super) configuration: Configuration,
    pub(super) number: u32,
    pub(super) grades: Vec<Grade>,
    pub(super) files: Vec<WorkFile>,
    /// Why the endpoint has not given a single answer, if it has not.
    pub(super) refused: Option<String>,
    /// What went wrong, apart from assertions that do not hold.
    pub(super) notes: Vec<String>,
    /// The run or its grading was ended by the endpoint or a bound.
    is_broken: bool,
    seconds: f64,
    tokens: u64,
    /// Calls of tools, and how many of them failed.
    calls: (usize, usize),
}

/// All runs of a skill.
#[derive(Debug)]
pub(super) struct EvalReport {
    pub(super) skill: String,
    /// The folder, as the user has named it.
    pub(super) folder: String,
    pub(super) model: String,
    pub(super) grader: String,
    pub(super) cases: Vec<Case>,
    /// Runs of each case in each configuration.
    pub(super) runs_of_case: u32,
    pub(super) runs: Vec<EvalRun>,
}

/// The spread of a value over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Spread {
    mean: f64,
    stddev: f64,
    min: f64,
    max: f64,
}

impl EvalRun {
    pub(super) fn new(
        case: &Case,
        configuration: Configuration,
        number: u32,
        solved: &Solved,
        graded: Graded,
    ) -> Self {
        let mut notes = Vec::new();
        notes.extend(solved.problem.clone());
        notes.extend(
            graded
                .problem
                .filter(|_| solved.refused.is_none())
                .map(|problem| format!("not graded: {problem}")),
        );
        let is_broken = !notes.is_empty();
        if solved.is_uncounted {
            notes.push("the endpoint does not count all tokens".to_owned());
        }
        if !graded.left_out.is_empty() {
            notes.push(format!("files that are too large: {}", graded.left_out.join(", ")));
        }
        Self {
            case: case.id.clone(),
            configuration,
            number,
            grades: graded.grades,
            files: graded.files,
            refused: solved.refused.clone(),
            notes,
            is_broken,
            seconds: solved.time.as_secs_f64(),
            tokens: solved.tokens,
            calls: solved.calls(),
        }
    }

    fn passed(&self) -> usize {
        self.grades.iter().filter(|grade| grade.passed).count()
    }

    fn rate(&self) -> f64 {
        ratio(self.passed(), self.grades.len())
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let (passed, all) = (self.passed(), self.grades.len());
        let mut line = format!(
            "{}, run {}: {passed} of {all} passed, {:.1} s, {} tokens",
            self.configuration.name().replace('_', " "),
            self.number,
            self.seconds,
            self.tokens
        );
        for said in &self.notes {
            write!(line, "; {}", shown(said)).ok();
        }
        line
    }

    /// The file `grading.json`.
    pub(super) fn grading(&self) -> Value {
        let (passed, all) = (self.passed(), self.grades.len());
        json!({"expectations": self.grades, "summary": {
            "passed": passed, "failed": all - passed, "total": all, "pass_rate": rounded(self.rate())}})
    }

    /// The file `timing.json`.
    pub(super) fn timing(&self) -> Value {
        let seconds = rounded(self.seconds);
        json!({"total_tokens": self.tokens, "total_duration_seconds": seconds,
            "duration_ms": (self.seconds * 1000.0).round()})
    }

    fn entry(&self) -> Value {
        let (passed, all) = (self.passed(), self.grades.len());
        json!({
            "eval_id": id_of(&self.case),
            "eval_name": self.case,
            "configuration": self.configuration.name(),
            "run_number": self.number,
            "result": {
                "pass_rate": rounded(self.rate()), "passed": passed, "failed": all - passed, "total": all,
                "time_seconds": rounded(self.seconds), "tokens": self.tokens,
                "tool_calls": self.calls.0, "errors": self.calls.1,
            },
            "expectations": self.grades,
            "notes": self.notes,
        })
    }
}

impl EvalReport {
    fn of(&self, configuration: Configuration) -> impl Iterator<Item = &EvalRun> {
        self.runs.iter().filter(move |run| run.configuration == configuration)
    }

    /// The mean share of assertions that pass in the runs of a case, or of all.
    fn rate(&self, configuration: Configuration, case: Option<&str>) -> f64 {
        let runs = self.of(configuration).filter(|run| case.is_none_or(|case| run.case == case));
        spread(runs.map(EvalRun::rate)).mean
    }

    /// The exit code: runs that were broken off, and a share that was missed, are failures.
    pub(super) fn exit(&self, minimum: Option<f64>) -> Exit {
        let rate = self.rate(Configuration::With, None);
        if let Some(minimum) = minimum.filter(|minimum| rate < *minimum) {
            note(&format!(
                "{:.0} % passed with the skill, less than {:.0} %",
                rate * 100.0,
                minimum * 100.0
            ));
            return Exit::GuestFailed;
        }
        match self.runs.iter().any(|run| run.is_broken) {
            true => Exit::GuestFailed,
            false => Exit::Done,
        }
    }

    /// The report as JSON, in the form of the skill for creating skills.
    pub(super) fn benchmark(&self) -> Value {
        let mut summary = Map::new();
        let mut means = Vec::new();
        for configuration in Configuration::BOTH {
            let runs = || self.of(configuration);
            let (rates, times) = (runs().map(EvalRun::rate), runs().map(|run| run.seconds));
            let rates = spread(rates);
            let times = spread(times);
            let tokens = spread(runs().map(|run| decimal(run.tokens)));
            means.push([rates.mean, times.mean, tokens.mean]);
            let spreads = json!({"pass_rate": rates, "time_seconds": times, "tokens": tokens});
            summary.insert(configuration.name().to_owned(), spreads);
        }
        if let [with, without] = means.as_slice() {
            let [rate, time, tokens] = [0, 1, 2].map(|at| {
                with.get(at).zip(without.get(at)).map_or(0.0, |(with, without)| with - without)
            });
            let delta = json!({"pass_rate": format!("{rate:+.2}"), "time_seconds": format!("{time:+.1}"),
                "tokens": format!("{tokens:+.0}")});
            summary.insert("delta".to_owned(), delta);
        }
        let ids: Vec<Value> = self.cases.iter().map(|case| id_of(&case.id)).collect();
        json!({
            "metadata": {
                "skill_name": self.skill, "skill_path": self.folder, "executor_model": self.model,
                "analyzer_model": self.grader, "evals_run": ids, "runs_per_configuration": self.runs_of_case,
            },
            "runs": self.runs.iter().map(EvalRun::entry).collect::<Value>(),
            "run_summary": summary,
            "notes": self.notes(),
        })
    }

    /// Assertions that the skill makes true or false, and those that it does not change.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for case in &self.cases {
            for (at, assertion) in case.assertions.iter().enumerate() {
                let share = |configuration| {
                    let runs = self.of(configuration).filter(|run| run.case == case.id);
                    let held: Vec<bool> =
                        runs.filter_map(|run| Some(run.grades.get(at)?.passed)).collect();
                    ratio(held.iter().filter(|held| **held).count(), held.len())
                };
                let (with, without) = (share(Configuration::With), share(Configuration::Without));
                let said = match (with, without) {
                    (with, without) if with > without => "passes more often with the skill",
                    (with, without) if with < without => "passes less often with the skill",
                    (with, _) if with >= 1.0 => {
                        "always passes with and without the skill: it says nothing about it"
                    }
                    (with, _) if with <= 0.0 => "never passes",
                    _ => continue,
                };
                notes.push(format!("case {}: `{}` {said}", case.id, assertion.text));
            }
        }
        notes
    }

    /// Prints the report for people.
    pub(super) fn print(&self) {
        let mut rows = Vec::new();
        let percent = |rate: f64| format!("{:.0} %", rate * 100.0);
        for case in &self.cases {
            let [with, without] =
                Configuration::BOTH.map(|configuration| self.rate(configuration, Some(&case.id)));
            let points = format!("{:+.0}", (with - without) * 100.0);
            rows.push(vec![case.id.clone(), percent(with), percent(without), points]);
        }
        print_table(&["CASE", "WITH", "WITHOUT", "POINTS"], rows);
        print_line("");
        for note in self.notes() {
            print_line(&shown(&note));
        }
        let [with, without] = Configuration::BOTH.map(|configuration| {
            let runs = || self.of(configuration);
            let time = spread(runs().map(|run| run.seconds)).mean;
            let tokens = spread(runs().map(|run| decimal(run.tokens))).mean;
            (self.rate(configuration, None), time, tokens)
        });
        for (name, (rate, time, tokens)) in [("with", with), ("without", without)] {
            print_line(&format!(
                "{name} the skill: {} passed, {time:.1} s and {tokens:.0} tokens a run",
                percent(rate)
            ));
        }
    }
}

/// Lists cases.
pub(super) fn print_cases(cases: &[Case]) {
    let row = |case: &Case| {
        let mut prompt: String = case.prompt.chars().take(MAX_PROMPT).collect();
        if prompt.len() < case.prompt.len() {
            prompt.push('…');
        }
        vec![
            case.id.clone(),
            case.assertions.len().to_string(),
            case.files.len().to_string(),
            shown(&prompt),
        ]
    };
    print_table(&["CASE", "ASSERTIONS", "FILES", "PROMPT"], cases.iter().map(row).collect());
}

/// An id as the file has it: a number where it is one.
fn id_of(id: &str) -> Value {
    id.parse::<u64>().map_or_else(|_| json!(id), |number| json!(number))
}

fn ratio(part: usize, whole: usize) -> f64 {
    let number = |count: usize| decimal(u64::try_from(count).unwrap_or(u64::MAX));
    if whole == 0 { 0.0 } else { number(part) / number(whole) }
}

#[expect(clippy::cast_precision_loss, reason = "counts of reports are shown with few digits")]
const fn decimal(count: u64) -> f64 {
    count as f64
}

fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

fn spread(values: impl Iterator<Item = f64>) -> Spread {
    let values: Vec<f64> = values.collect();
    let count = decimal(u64::try_from(values.len()).unwrap_or(u64::MAX));
    if values.is_empty() {
        return Spread { mean: 0.0, stddev: 0.0, min: 0.0, max: 0.0 };
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let stddev = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    let (min, max) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(*v), most.max(*v)));
    Spread { mean: rounded(mean), stddev: rounded(stddev), min: rounded(min), max: rounded(max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_a_sample() {
        let spread = spread([1.0, 0.5, 0.0].into_iter());
        assert_eq!(spread, Spread { mean: 0.5, stddev: 0.5, min: 0.0, max: 1.0 });
        assert_eq!(super::spread([0.25].into_iter()).stddev, 0.0);
        assert_eq!(super::spread([].into_iter()).mean, 0.0);
    }

    #[test]
    fn ids_stay_numbers() {
        assert_eq!((id_of("7"), id_of("a7")), (json!(7), json!("a7")));
    }
}
