//! The options of the commands about skills and their packages.

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::examples;
use crate::cli::server_option::ServerOption;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills.
    #[command(after_help = examples::LIST)]
    List {
        /// Only those of a namespace.
        #[arg(long)]
        namespace: Option<String>,
        /// List the skills that this tenant sees.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Print the result of the protocol.
        #[arg(long)]
        json: bool,
    },
    /// Describe a skill, or print one of its files.
    #[command(after_help = examples::SHOW)]
    Show {
        /// Name of the skill, and its version if it is not to be the latest.
        #[arg(value_name = "SKILL[@VERSION]")]
        skill: String,
        /// Print this file of the skill instead.
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Look among the skills that this tenant sees.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Print the result of the protocol.
        #[arg(long, conflicts_with = "file")]
        json: bool,
    },
    /// Check skills for mistakes.
    #[command(after_help = examples::CHECK)]
    Check {
        /// The skills' folders.
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Print the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the versions and digests of the skills into `skills.lock`, for `--locked`.
    #[command(after_help = examples::LOCK_SKILLS)]
    Lock {
        /// The file to write.
        #[arg(long, value_name = "FILE", default_value = "skills.lock")]
        file: PathBuf,
        /// Print the lock as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Publish a skill on a running server, for the tenant of the key.
    #[command(after_help = examples::PUBLISH)]
    Publish {
        /// The skill's folder.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Print the answer of the server as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Remove a version that was published on a running server.
    #[command(after_help = examples::UNPUBLISH)]
    Unpublish {
        /// Name and version of the skill.
        #[arg(value_name = "SKILL@VERSION")]
        skill: String,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Lock the packages that skills need, and fetch them.
    #[command(subcommand, after_help = examples::DEPS)]
    Deps(DepsCommand),
    /// Write the skeleton of a skill that works.
    #[command(after_help = examples::NEW)]
    New {
        /// Name of the skill, such as `acme.sales.report`.
        name: String,
        /// Only a text for models to read, without code.
        #[arg(long)]
        instruction: bool,
        /// Folder to create the skill's folder in; it is created if it does not exist.
        #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
        parent: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum DepsCommand {
    /// Choose the versions of the packages in `code/requirements.txt` and write `code/pylock.toml`.
    #[command(after_help = examples::DEPS_LOCK)]
    Lock {
        /// The skill's folder.
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Take wheels from this folder only, without network.
        #[arg(long, value_name = "WHEELS")]
        from: Option<PathBuf>,
        /// Print what was locked as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Fetch the locked packages, so that the skills can run.
    #[command(after_help = examples::DEPS_SYNC)]
    Sync {
        /// The skills' folders [default: all skills that a server would serve].
        #[arg(value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Take wheels from this folder only, without network.
        #[arg(long, value_name = "WHEELS")]
        from: Option<PathBuf>,
        /// Print the outcome for each skill as JSON.
        #[arg(long)]
        json: bool,
    },
}
