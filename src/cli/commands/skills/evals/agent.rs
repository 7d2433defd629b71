//! A run: the model solves a task with tools, until it answers without a call or a bound ends it.

use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use crate::cli::commands::skills::evals::args::EvalArgs;
use crate::cli::commands::skills::evals::cases::case_file::Case;
use crate::cli::commands::skills::evals::conversation::{
    MAX_ANSWER_TOKENS, ModelMessage, Question, ToolCall, ToolResult,
};
use crate::cli::commands::skills::evals::endpoint::{Endpoint, NoAnswer};
use crate::cli::commands::skills::evals::server::{CaseSession, offered_tools};
use crate::cli::failed::Failed;

/// Most calls of tools that one answer may ask for.
const MAX_CALLS: usize = 32;

/// The bounds of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct EvalBounds {
    turns: u32,
    tokens: u64,
    time: Duration,
}

/// What became of a run.
#[derive(Debug)]
pub(super) struct Solved {
    /// The last text of the model.
    pub(super) answer: String,
    /// Why it has no end of its own, if it has none.
    pub(super) problem: Option<String>,
    /// Why the endpoint has not given a single answer, if it has not.
    pub(super) refused: Option<String>,
    /// Why there is no result: the endpoint refused in the middle, or never answered.
    pub(super) cut_off: Option<String>,
    pub(super) steps: Vec<EvalStep>,
    /// Tokens that were read and written.
    pub(super) tokens: u64,
    /// Some answers had no count of tokens.
    pub(super) is_uncounted: bool,
    pub(super) time: Duration,
}

/// A step of a run, for its transcript.
#[derive(Debug, Serialize)]
pub(super) struct EvalStep {
    pub(super) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<CalledTool>,
}

/// A call of a tool, for the transcript.
#[derive(Debug, Serialize)]
pub(super) struct CalledTool {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) result: String,
    pub(super) is_error: bool,
}

impl EvalBounds {
    pub(super) const fn of(args: &EvalArgs) -> Self {
        Self {
            turns: args.max_turns,
            tokens: args.max_tokens,
            time: Duration::from_secs(args.timeout),
        }
    }

    /// The most tokens that an answer may have when `used` are used and the question has about `expected`. An error is why
    /// none is asked for.
    fn answer_after(&self, used: u64, expected: u64) -> Result<u32, String> {
        let room = self.tokens.saturating_sub(used).saturating_sub(expected);
        match u32::try_from(room).unwrap_or(u32::MAX).min(MAX_ANSWER_TOKENS) {
            0 => Err(format!(
                "the run has used {used} of its {} tokens, and another answer needs more than the rest",
                self.tokens
            )),
            most => Ok(most),
        }
    }
}

impl Solved {
    /// Calls of tools, and how many of them failed.
    pub(super) fn calls(&self) -> (usize, usize) {
        let calls = || self.steps.iter().flat_map(|step| &step.calls);
        (calls().count(), calls().filter(|call| call.is_error).count())
    }
}

/// Lets the model solve the task of a case.
pub(super) fn solve(
    endpoint: &Endpoint,
    session: &CaseSession<'_>,
    case: &Case,
    bounds: &EvalBounds,
) -> Result<Solved, Failed> {
    let began = Instant::now();
    let mut solved = Solved {
        answer: String::new(),
        problem: None,
        refused: None,
        cut_off: None,
        steps: Vec::new(),
        tokens: 0,
        is_uncounted: false,
        time: Duration::ZERO,
    };
    solved.problem = converse(endpoint, session, case, bounds, &mut solved)?;
    solved.time = began.elapsed();
    Ok(solved)
}

/// Asks and calls in turn. Returns why the run was ended, if it was.
fn converse(
    endpoint: &Endpoint,
    session: &CaseSession<'_>,
    case: &Case,
    bounds: &EvalBounds,
    solved: &mut Solved,
) -> Result<Option<String>, Failed> {
    let deadline = Instant::now() + bounds.time;
    let (system, tools) = (session.system(), offered_tools());
    let mut conversation = vec![ModelMessage::User(task(case))];
    // What the next question has: at first the text of the first one, then what the endpoint has counted, and new results.
    let mut expected = tokens_of(system.len().saturating_add(task(case).len()));
    for _ in 0..bounds.turns {
        let max_answer = match bounds.answer_after(solved.tokens, expected) {
            Ok(most) => most,
            Err(reason) => return Ok(Some(reason)),
        };
        let (model, messages) = (endpoint.model(), &conversation);
        let question = Question { model, system: &system, messages, tools: &tools, max_answer };
        let answer = match endpoint.ask(&question, deadline) {
            Ok(answer) => answer,
            Err(NoAnswer::TooLate) => {
                let reason = out_of_time(bounds);
                solved.cut_off = solved.steps.is_empty().then(|| reason.clone());
                return Ok(Some(reason));
            }
            Err(NoAnswer::Refused(reason)) => {
                solved.refused = solved.steps.is_empty().then(|| reason.clone());
                solved.cut_off = Some(reason.clone());
                return Ok(Some(reason));
            }
        };
        solved.is_uncounted |= answer.tokens.is_none();
        solved.tokens = solved.tokens.saturating_add(answer.tokens.unwrap_or_default());
        solved.answer.clone_from(&answer.text);
        let mut step = EvalStep { text: answer.text, calls: Vec::new() };
        if answer.calls.is_empty() {
            solved.steps.push(step);
            return Ok(answer.is_cut.then(|| "the last answer was cut at its limit".to_owned()));
        }
        expected = answer.tokens.unwrap_or(expected);
        let mut results = Vec::new();
        for (number, call) in answer.calls.into_iter().enumerate() {
            let (text, is_error) = match number < MAX_CALLS {
                true => call_tool(session, &call, deadline)?,
                false => (format!("only {MAX_CALLS} calls are made at once"), true),
            };
            step.calls.push(CalledTool {
                tool: call.name,
                arguments: call.arguments.unwrap_or_else(|wrong| Value::String(wrong.text)),
                result: text.clone(),
                is_error,
            });
            expected = expected.saturating_add(tokens_of(text.len()));
            results.push(ToolResult { id: call.id, text, is_error });
        }
        solved.steps.push(step);
        conversation.push(ModelMessage::Model(answer.raw));
        conversation.push(ModelMessage::Results(results));
        if Instant::now() >= deadline {
            return Ok(Some(out_of_time(bounds)));
        }
    }
    Ok(Some(format!("the model has not finished after {} answers", bounds.turns)))
}

fn call_tool(
    session: &CaseSession<'_>,
    call: &ToolCall,
    deadline: Instant,
) -> Result<(String, bool), Failed> {
    match &call.arguments {
        Ok(arguments) => session.call(&call.name, arguments.clone(), deadline),
        Err(wrong) => Ok((format!("the arguments are not JSON: {}", wrong.fault), true)),
    }
}

/// Tokens that a text has at least about: models have some four letters in one.
fn tokens_of(bytes: usize) -> u64 {
    u64::try_from(bytes / 4).unwrap_or(u64::MAX)
}

fn out_of_time(bounds: &EvalBounds) -> String {
    format!("the run has used its {} s", bounds.time.as_secs())
}

/// The task, and the files that it is about.
fn task(case: &Case) -> String {
    if case.files.is_empty() {
        return case.prompt.clone();
    }
    let files: Vec<&str> = case.files.iter().map(|file| file.path.as_str()).collect();
    format!("{}\n\nFiles in the working folder: {}", case.prompt, files.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_gets_no_more_than_the_run_has_left() {
        let bounds = EvalBounds { turns: 1, tokens: 10_000, time: Duration::ZERO };
        assert_eq!(bounds.answer_after(0, 100), Ok(MAX_ANSWER_TOKENS));
        assert_eq!(bounds.answer_after(4_000, 5_000), Ok(1_000));
        for (used, expected) in [(10_000, 0), (4_000, 6_000), (20_000, 1), (0, u64::MAX)] {
            let reason = bounds.answer_after(used, expected).unwrap_err();
            assert!(reason.contains("of its 10000 tokens"), "{reason}");
        }
    }
}
