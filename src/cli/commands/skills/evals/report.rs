//! What came out: rates with the skill and without it, as text and in the form of `benchmark.json`.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::commands::skills::evals::agent::Solved;
use crate::cli::commands::skills::evals::assertions::Grade;
use crate::cli::commands::skills::evals::cases::case_file::{Case, Configuration};
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
    /// Why the run is no result, if it is none: the endpoint failed, or no assertion could be graded.
    no_result: Option<String>,
    /// Why some statements could not be graded.
    not_graded: Option<String>,
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
        let not_graded = graded.problem.filter(|_| solved.cut_off.is_none());
        notes.extend(not_graded.as_ref().map(|problem| format!("not graded: {problem}")));
        let nothing_graded = graded.grades.iter().all(|grade| grade.passed.is_none());
        let no_result = solved
            .cut_off
            .clone()
            .or_else(|| not_graded.clone().filter(|_| nothing_graded))
            .map(|reason| shown(&reason));
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
            no_result,
            not_graded,
            notes,
            is_broken,
            seconds: solved.time.as_secs_f64(),
            tokens: solved.tokens,
            calls: solved.calls(),
        }
    }

    fn passed(&self) -> usize {
        self.grades.iter().filter(|grade| grade.passed == Some(true)).count()
    }

    /// The assertions that were graded.
    fn graded(&self) -> usize {
        self.grades.iter().filter(|grade| grade.passed.is_some()).count()
    }

    fn rate(&self) -> f64 {
        ratio(self.passed(), self.graded())
    }

    /// Which run it is, as reports name it.
    fn label(&self) -> String {
        format!("{}, run {}", self.configuration.name().replace('_', " "), self.number)
    }

    /// What is missing of its result.
    fn lack(&self) -> Option<String> {
        let run = format!("case {}, {}", self.case, self.label());
        if let Some(reason) = &self.no_result {
            return Some(format!("{run}: no result, so it is in no rate: {reason}"));
        }
        let count = self.grades.len() - self.graded();
        let reason = self.not_graded.as_ref().filter(|_| count > 0)?;
        let statements = if count == 1 { "statement was" } else { "statements were" };
        Some(format!("{run}: {count} {statements} not graded: {reason}"))
    }

    /// One line for people.
    pub(super) fn line(&self) -> String {
        let result = match self.no_result {
            Some(_) => "no result".to_owned(),
            None => format!("{} of {} passed", self.passed(), self.graded()),
        };
        let (label, seconds, tokens) = (self.label(), self.seconds, self.tokens);
        let mut line = format!("{label}: {result}, {seconds:.1} s, {tokens} tokens");
        for said in &self.notes {
            write!(line, "; {}", shown(said)).ok();
        }
        line
    }

    /// The file `grading.json`.
    pub(super) fn grading(&self) -> Value {
        let (passed, all) = (self.passed(), self.graded());
        let mut summary = json!({
            "passed": passed, "failed": all - passed, "total": all, "pass_rate": rounded(self.rate())});
        if let Some((members, lack)) = summary.as_object_mut().zip(self.lack()) {
            members.insert("not_graded".to_owned(), json!(self.grades.len() - all));
            members.insert("lack".to_owned(), json!(lack));
        }
        json!({"expectations": self.grades, "summary": summary})
    }

    /// The file `timing.json`.
    pub(super) fn timing(&self) -> Value {
        let seconds = rounded(self.seconds);
        json!({"total_tokens": self.tokens, "total_duration_seconds": seconds,
            "duration_ms": (self.seconds * 1000.0).round()})
    }

    /// Names a run without a result.
    fn failure(&self) -> Value {
        json!({
            "eval_id": id_of(&self.case),
            "configuration": self.configuration.name(),
            "run_number": self.number,
            "reason": self.no_result,
        })
    }

    fn entry(&self) -> Value {
        let (passed, all) = (self.passed(), self.graded());
        json!({
            "eval_id": id_of(&self.case),
            "eval_name": self.case,
            "configuration": self.configuration.name(),
            "run_number": self.number,
            "result": {
                "pass_rate": rounded(self.rate()), "passed": passed, "failed": all - passed, "total": all,
                "time_seconds": rounded(self.seconds), "tokens": self.tokens,
                "tool_calls": self.calls.0, "errors": self.calls.1, "not_graded": self.grades.len() - all,
            },
            "expectations": self.grades,
            "notes": self.notes,
        })
    }
}

impl EvalReport {
    /// The runs with a result.
    fn of(&self, configuration: Configuration) -> impl Iterator<Item = &EvalRun> {
        let runs = self.runs.iter().filter(|run| run.no_result.is_none());
        runs.filter(move |run| run.configuration == configuration)
    }

    /// The mean share of assertions that pass in the runs of a case, or of all; `None` without a result.
    fn rate(&self, configuration: Configuration, case: Option<&str>) -> Option<f64> {
        let runs = self.of(configuration).filter(|run| case.is_none_or(|case| run.case == case));
        Some(spread(runs.map(EvalRun::rate))?.mean)
    }

    fn failed(&self) -> impl Iterator<Item = &EvalRun> {
        self.runs.iter().filter(|run| run.no_result.is_some())
    }

    /// The exit code: runs that were broken off, and a share that was missed, are failures.
    pub(super) fn exit(&self, minimum: Option<f64>) -> Exit {
        if let Some(minimum) = minimum {
            let wanted = minimum * 100.0;
            match self.rate(Configuration::With, None) {
                Some(rate) if rate >= minimum => {}
                Some(rate) => note(&format!(
                    "{:.0} % passed with the skill, less than {wanted:.0} %",
                    rate * 100.0
                )),
                None => note(&format!(
                    "no run with the skill has a result, so {wanted:.0} % cannot be shown"
                )),
            }
            if self.rate(Configuration::With, None).is_none_or(|rate| rate < minimum) {
                return Exit::GuestFailed;
            }
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
            means.push([rates, times, tokens].map(|spread| spread.map(|spread| spread.mean)));
            let failed = self.failed().filter(|run| run.configuration == configuration).count();
            let spreads = json!({"pass_rate": rates, "time_seconds": times, "tokens": tokens,
                "runs_without_result": failed});
            summary.insert(configuration.name().to_owned(), spreads);
        }
        if let [with, without] = means.as_slice() {
            let [rate, time, tokens] = [0, 1, 2].map(|at| {
                let mean = |side: &[Option<f64>; 3]| side.get(at).copied().flatten();
                mean(with).zip(mean(without)).map(|(with, without)| with - without)
            });
            let delta = json!({
                "pass_rate": rate.map(|rate| format!("{rate:+.2}")),
                "time_seconds": time.map(|time| format!("{time:+.1}")),
                "tokens": tokens.map(|tokens| format!("{tokens:+.0}")),
            });
            summary.insert("delta".to_owned(), delta);
        }
        let ids: Vec<Value> = self.cases.iter().map(|case| id_of(&case.id)).collect();
        let results = self.runs.iter().filter(|run| run.no_result.is_none());
        json!({
            "metadata": {
                "skill_name": self.skill, "skill_path": self.folder, "executor_model": self.model,
                "analyzer_model": self.grader, "evals_run": ids, "runs_per_configuration": self.runs_of_case,
            },
            "runs": results.map(EvalRun::entry).collect::<Value>(),
            "runs_without_result": self.failed().map(EvalRun::failure).collect::<Value>(),
            "run_summary": summary,
            "notes": self.notes(),
        })
    }

    /// What is missing of the results, assertions that the skill makes true or false, and those that it does not
    /// change.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.runs.iter().filter_map(EvalRun::lack).collect();
        for case in &self.cases {
            let lacks = |side: &Configuration| self.rate(*side, Some(&case.id)).is_none();
            let sides: Vec<&str> = Configuration::BOTH
                .iter()
                .filter(|side| lacks(side))
                .map(|side| if *side == Configuration::With { "with" } else { "without" })
                .collect();
            if !sides.is_empty() {
                let sides = sides.join(" or ");
                let id = &case.id;
                notes.push(format!("case {id}: there is no result {sides} the skill to compare"));
                continue;
            }
            for (at, assertion) in case.assertions.iter().enumerate() {
                let share = |configuration| {
                    let runs = self.of(configuration).filter(|run| run.case == case.id);
                    let held: Vec<bool> =
                        runs.filter_map(|run| run.grades.get(at)?.passed).collect();
                    let count = held.iter().filter(|held| **held).count();
                    (!held.is_empty()).then(|| ratio(count, held.len()))
                };
                let Some((with, without)) =
                    share(Configuration::With).zip(share(Configuration::Without))
                else {
                    continue;
                };
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
        let percent = |rate: Option<f64>| {
            rate.map_or_else(|| "none".to_owned(), |rate| format!("{:.0} %", rate * 100.0))
        };
        for case in &self.cases {
            let [with, without] =
                Configuration::BOTH.map(|configuration| self.rate(configuration, Some(&case.id)));
            let points = with.zip(without);
            let points = points.map(|(with, without)| format!("{:+.0}", (with - without) * 100.0));
            let points = points.unwrap_or_else(|| "none".to_owned());
            rows.push(vec![case.id.clone(), percent(with), percent(without), points]);
        }
        print_table(&["CASE", "WITH", "WITHOUT", "POINTS"], rows);
        print_line("");
        for note in self.notes() {
            print_line(&shown(&note));
        }
        let [with, without] = Configuration::BOTH.map(|configuration| {
            let runs = || self.of(configuration);
            let time = spread(runs().map(|run| run.seconds))?.mean;
            let tokens = spread(runs().map(|run| decimal(run.tokens)))?.mean;
            Some((self.rate(configuration, None), time, tokens))
        });
        for (name, side) in [("with", with), ("without", without)] {
            let Some((rate, time, tokens)) = side else {
                print_line(&format!("{name} the skill: no results"));
                continue;
            };
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

/// The spread of values; `None` without one.
fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let values: Vec<f64> = values.collect();
    let count = decimal(u64::try_from(values.len()).unwrap_or(u64::MAX));
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let stddev = if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
    let (min, max) = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(*v), most.max(*v)));
    let (mean, stddev) = (rounded(mean), rounded(stddev));
    Some(Spread { mean, stddev, min: rounded(min), max: rounded(max) })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cli::commands::skills::evals::cases::case_file::{Assertion, CaseCheck};

    #[test]
    fn the_spread_is_that_of_a_sample() {
        let spread = spread([1.0, 0.5, 0.0].into_iter());
        assert_eq!(spread, Some(Spread { mean: 0.5, stddev: 0.5, min: 0.0, max: 1.0 }));
        assert_eq!(super::spread([0.25].into_iter()).unwrap().stddev, 0.0);
        assert_eq!(super::spread([].into_iter()), None);
    }

    fn case() -> Case {
        let statement = |text: &str| Assertion { text: text.to_owned(), check: CaseCheck::Model };
        Case {
            id: "1".to_owned(),
            prompt: "Do.".to_owned(),
            expected_output: None,
            assertions: vec![statement("It is done"), statement("It is right")],
            files: Vec::new(),
        }
    }

    /// A run of which two assertions were graded as said.
    fn run(
        configuration: Configuration,
        passed: [Option<bool>; 2],
        cut_off: Option<&str>,
    ) -> EvalRun {
        let case = case();
        let solved = Solved {
            answer: String::new(),
            problem: cut_off.map(str::to_owned),
            refused: None,
            cut_off: cut_off.map(str::to_owned),
            steps: Vec::new(),
            tokens: 1,
            is_uncounted: false,
            time: Duration::from_secs(1),
        };
        let grade = |(assertion, passed): (&Assertion, Option<bool>)| Grade {
            passed,
            ..Grade::missing(assertion, "")
        };
        let grades: Vec<Grade> = case.assertions.iter().zip(passed).map(grade).collect();
        let problem = grades.iter().any(|grade| grade.passed.is_none()).then(|| "busy".to_owned());
        let graded = Graded { grades, problem, files: Vec::new(), left_out: Vec::new() };
        EvalRun::new(&case, configuration, 1, &solved, graded)
    }

    fn report(runs: Vec<EvalRun>) -> EvalReport {
        EvalReport {
            skill: "a".to_owned(),
            folder: "a".to_owned(),
            model: "m".to_owned(),
            grader: "m".to_owned(),
            cases: vec![case()],
            runs_of_case: 1,
            runs,
        }
    }

    #[test]
    fn runs_and_statements_without_a_grade_are_in_no_rate() {
        let whole = || run(Configuration::With, [Some(true), Some(false)], None);
        let part = run(Configuration::Without, [Some(true), None], None);
        assert_eq!(
            part.line(),
            "without skill, run 1: 1 of 1 passed, 1.0 s, 1 tokens; not graded: busy"
        );
        let found = report(vec![whole(), part]);
        assert_eq!(found.rate(Configuration::Without, None), Some(1.0));
        assert_eq!(found.exit(None), Exit::GuestFailed);
        let lack = "case 1, without skill, run 1: 1 statement was not graded: busy";
        assert_eq!(found.notes()[0], lack);
        // The second assertion has one side alone.
        assert_eq!(found.notes().len(), 2, "{:?}", found.notes());
        assert_eq!(found.benchmark()["runs"][1]["result"]["not_graded"], 1);

        let cut_off = run(Configuration::Without, [Some(true), None], Some("status 503"));
        let nothing = run(Configuration::Without, [None, None], None);
        assert!(
            cut_off.line().starts_with("without skill, run 1: no result, "),
            "{}",
            cut_off.line()
        );
        let found = report(vec![whole(), cut_off, nothing]);
        assert_eq!(found.rate(Configuration::Without, None), None);
        let wanted = [
            "case 1, without skill, run 1: no result, so it is in no rate: status 503",
            "case 1, without skill, run 1: no result, so it is in no rate: busy",
            "case 1: there is no result without the skill to compare",
        ];
        assert_eq!(found.notes(), wanted);
        let benchmark = found.benchmark();
        assert_eq!(benchmark["runs"].as_array().unwrap().len(), 1);
        assert_eq!(benchmark["runs_without_result"][0]["reason"], "status 503");
        let summary = &benchmark["run_summary"];
        assert_eq!(summary["without_skill"]["runs_without_result"], 2);
        assert_eq!(summary["without_skill"]["pass_rate"], Value::Null);
        assert_eq!(summary["delta"]["pass_rate"], Value::Null);
        assert_eq!(summary["with_skill"]["pass_rate"]["mean"], 0.5);
    }

    #[test]
    fn ids_stay_numbers() {
        assert_eq!((id_of("7"), id_of("a7")), (json!(7), json!("a7")));
    }
}
