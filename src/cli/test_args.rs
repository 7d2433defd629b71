//! The options of `wardian test`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::FalseyValueParser;

use wardian_formats::protocol::tools::{MAX_EPOCH, MAX_SEED};

#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Folders with tests, skill folders, Python files, and notebooks (.ipynb).
    #[arg(value_name = "PATHS", default_value = ".")]
    pub(crate) paths: Vec<PathBuf>,
    /// Run only tests whose name contains this text, ignoring case.
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) keyword: Option<String>,
    /// Test the notebooks in folders, too: execute their cells and compare the outputs.
    #[arg(long)]
    pub(crate) notebooks: bool,
    /// List the tests without running them.
    #[arg(long, conflicts_with_all = ["update", "junit"])]
    pub(crate) list: bool,
    /// Timeout for each file, case or cell of a notebook, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Replace the expected outputs of cases and notebooks that differ by their actual outputs.
    #[arg(long)]
    pub(crate) update: bool,
    /// Folder whose files tests can read and import [default: the nearest one with a skill.toml,
    /// pyproject.toml, pytest.ini, setup.cfg, setup.py, tox.ini or .git].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    /// Write an XML report for continuous integration.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Print the results as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write GitHub Actions annotations to standard error [default: the variable `GITHUB_ACTIONS`].
    #[arg(long, env = "GITHUB_ACTIONS", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(crate) annotations: bool,
    /// Seed of all randomness in the tests.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    pub(crate) seed: u64,
    /// Time of day at the start of each run, in seconds since 1970 [default: `SOURCE_DATE_EPOCH`, or
    /// the first of January 2026].
    #[arg(long, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MAX_EPOCH))]
    pub(crate) epoch: Option<u64>,
    /// Use only skills that match this lock file [FILE default: skills.lock].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "skills.lock")]
    pub(crate) locked: Option<PathBuf>,
    /// Execute all tests without using or storing cached results.
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Repeat this percentage of the tests with cached results, and compare.
    #[arg(long, value_name = "N%", value_parser = percentage, conflicts_with = "no_cache")]
    pub(crate) verify_cache: Option<u8>,
}

/// Reads a percentage, with or without its sign.
fn percentage(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<u8>();
    match number {
        Ok(number) if number <= 100 => Ok(number),
        _ => Err("must be a percentage from 0 to 100, such as `10%`".to_owned()),
    }
}
