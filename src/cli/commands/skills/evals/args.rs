//! The options of `wardian skills eval`, and its examples.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The interfaces of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Api {
    /// Chat completions, as OpenAI, vLLM, llama.cpp, Ollama and many others have them.
    Openai,
    /// Messages, as Anthropic has them.
    Anthropic,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Folder of the skill, with `evals/evals.json`.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Model that solves the cases.
    #[arg(long, value_name = "NAME", required_unless_present = "list")]
    pub(crate) model: Option<String>,
    /// Base URL of the model's interface, such as `http://localhost:11434/v1`.
    #[arg(long, value_name = "URL", required_unless_present = "list")]
    pub(crate) endpoint: Option<String>,
    /// The interface that the endpoint has.
    #[arg(long, value_enum, default_value = "openai")]
    pub(crate) api: Api,
    /// Environment variable with the key of the endpoint [default: no key].
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_env: Option<String>,
    /// Model that grades what cannot be computed [default: that of `--model`].
    #[arg(long, value_name = "NAME")]
    pub(crate) grader_model: Option<String>,
    /// Runs of each case, with the skill and without it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Only the case with this id; can be given several times.
    #[arg(long, value_name = "ID")]
    pub(crate) case: Vec<String>,
    /// Most answers of the model in a run.
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) max_turns: u32,
    /// Most tokens of a run, read and written.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(crate) max_tokens: u64,
    /// Longest time of a run, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Fail unless this share of the assertions passes with the skill, from 0 to 1.
    #[arg(long, value_name = "RATE", value_parser = share)]
    pub(crate) min_pass: Option<f64>,
    /// New or empty folder for files, grades, transcripts and `benchmark.json`.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// List the cases, and call nobody.
    #[arg(long)]
    pub(crate) list: bool,
    /// Print the report as JSON, in the form of `benchmark.json`.
    #[arg(long)]
    pub(crate) json: bool,
}

impl EvalArgs {
    /// The model; empty only for a list.
    pub(crate) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or_default()
    }
}

fn share(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_not| format!("`{text}` is not a number"))?;
    (0.0..=1.0)
        .contains(&rate)
        .then_some(rate)
        .ok_or_else(|| "it is a share from 0 to 1".to_owned())
}

pub(crate) const EVAL: &str = "\
Examples:
  wardian skills eval my-skill --list
  wardian skills eval my-skill --endpoint http://localhost:11434/v1 --model qwen3
  wardian skills eval my-skill --endpoint https://api.openai.com/v1 --model gpt-5 --key-env OPENAI_API_KEY --runs 3
  wardian skills eval my-skill --api anthropic --endpoint https://api.anthropic.com --model claude-sonnet-5 \\
      --key-env ANTHROPIC_API_KEY --out results --min-pass 0.8

The cases are in `evals/evals.json` of the skill. Nobody is called but the endpoint, and only with the model that you
name; what is sent is shown first. The tools of the model run in the sandbox of this machine.

Exit codes: 0 done, 1 a run failed or the share of `--min-pass` was missed, 2 wrong usage or cases that are malformed,
3 an error of Wardian or of the machine.";
