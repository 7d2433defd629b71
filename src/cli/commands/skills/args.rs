//! The options of the commands about skills and their packages.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use crate::cli::commands::skills::evals::args::{EVAL, EvalArgs};
use crate::cli::commands::skills::packages::args::{
    PUBLISH, PublishArgs, SIGN, SignArgs, VERIFY, VerifySkillsArgs,
};
use crate::cli::commands::skills::sources::args::{
    ADD, AddArgs, OUTDATED, OutdatedArgs, REMOVE, RemoveArgs, UPDATE, UpdateArgs,
};
use crate::cli::examples;
use crate::cli::server_option::ServerOption;

/// The level of findings from which on `skills check` fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeniedLevel {
    /// Fail if there is a danger.
    Danger,
    /// Fail if there is a danger or a warning.
    Warning,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills.
    #[command(after_help = examples::LIST)]
    List {
        /// Only skills of this namespace.
        #[arg(long)]
        namespace: Option<String>,
        /// List the skills that are visible to this tenant.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Print the protocol's result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Describe a skill, or print one of its files.
    #[command(after_help = examples::SHOW)]
    Show {
        /// Name of the skill, optionally with its version [default: the latest].
        #[arg(value_name = "SKILL[@VERSION]")]
        skill: String,
        /// Print this file of the skill instead.
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Search the skills that are visible to this tenant.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Print the protocol's result as JSON.
        #[arg(long, conflicts_with = "file")]
        json: bool,
    },
    /// Install skills from a repository, a package, an archive, a registry, an object store or a folder.
    #[command(after_help = ADD)]
    Add(Box<AddArgs>),
    /// Remove skills that `wardian skills add` has installed.
    #[command(after_help = REMOVE)]
    Remove(RemoveArgs),
    /// Show which installed skills have changed at their source.
    #[command(after_help = OUTDATED)]
    Outdated(OutdatedArgs),
    /// Install what has changed at the source of installed skills.
    #[command(after_help = UPDATE)]
    Update(UpdateArgs),
    /// Check skills for mistakes.
    #[command(after_help = examples::CHECK)]
    Check {
        /// Skill folders.
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Fail also if the scan of their content finds something of this level or worse.
        #[arg(long, value_name = "LEVEL")]
        deny: Option<DeniedLevel>,
        /// Print the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Let a model of yours solve the cases of a skill with it and without it, and compare.
    #[command(after_help = EVAL)]
    Eval(Box<EvalArgs>),
    /// Write the versions and digests of the skills to `skills.lock`, for `--locked`.
    #[command(after_help = examples::LOCK_SKILLS)]
    Lock {
        /// File to write.
        #[arg(long, value_name = "FILE", default_value = "skills.lock")]
        file: PathBuf,
        /// Print the lock as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Publish a skill in a registry, an object store or a folder of packages, or on a running server.
    #[command(after_help = PUBLISH)]
    Publish(Box<PublishArgs>),
    /// Sign a skill in its folder.
    #[command(after_help = SIGN)]
    Sign(SignArgs),
    /// Show which trusted keys have signed the skills.
    #[command(after_help = VERIFY)]
    Verify(VerifySkillsArgs),
    /// Remove a published version from a running server.
    #[command(after_help = examples::UNPUBLISH)]
    Unpublish {
        /// Name and version of the skill.
        #[arg(value_name = "SKILL@VERSION")]
        skill: String,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Lock and download the packages that skills need.
    #[command(subcommand, after_help = examples::DEPS)]
    Deps(DepsCommand),
    /// Create a skeleton of a working skill.
    #[command(after_help = examples::NEW)]
    New {
        /// Name of the skill, such as `acme.sales.report`.
        name: String,
        /// Create an instruction skill: a text for models, without code.
        #[arg(long)]
        instruction: bool,
        /// Parent of the skill's folder; it is created if it does not exist.
        #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
        parent: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum DepsCommand {
    /// Resolve the packages in `code/requirements.txt` and write `code/pylock.toml`.
    #[command(after_help = examples::DEPS_LOCK)]
    Lock {
        /// Skill folder.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Use only wheels from this folder, without a network.
        #[arg(long, value_name = "WHEELS")]
        from: Option<PathBuf>,
        /// Print the locked packages as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Download the locked packages.
    #[command(after_help = examples::DEPS_SYNC)]
    Sync {
        /// Skill folders [default: all skills that a server would serve].
        #[arg(value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Use only wheels from this folder, without a network.
        #[arg(long, value_name = "WHEELS")]
        from: Option<PathBuf>,
        /// Print the outcome for each skill as JSON.
        #[arg(long)]
        json: bool,
    },
}
