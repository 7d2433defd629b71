//! The options of `wardian skills add`, `remove`, `outdated` and `update`, and their examples.

use std::path::PathBuf;

use clap::Args;

/// How sources are reached, and where skills are installed.
#[derive(Debug, Args)]
pub(crate) struct ReachArgs {
    /// Folder of the skills; `skills.lock` is written beside it [default: the first of `skills.roots`].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
    /// File with the token for a private source. Otherwise it is in the environment variable
    /// `WARDIAN_SOURCE_TOKEN`.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Let the host that the source names have a private address.
    #[arg(long)]
    pub(crate) allow_private: bool,
    /// Registry of packages of npm [default: `https://registry.npmjs.org`].
    #[arg(long, value_name = "URL")]
    pub(crate) npm_registry: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// `owner/repo[/path][@ref]` on GitHub, an `https://` URL of a repository or an archive,
    /// `npm:NAME[@VERSION]`, `oci://HOST/NAME[:TAG]`, `s3://BUCKET/PREFIX`, or a path.
    #[arg(value_name = "SOURCE", required_unless_present = "from_lock")]
    #[arg(conflicts_with = "from_lock")]
    pub(crate) source: Option<String>,
    /// Install what this lock lists: a `skills.lock` at its revisions, or a `skills-lock.json`.
    #[arg(long, value_name = "FILE")]
    pub(crate) from_lock: Option<PathBuf>,
    /// List the skills of the source, and install nothing.
    #[arg(long, conflicts_with_all = ["all", "skill", "yes"])]
    pub(crate) list: bool,
    /// Install all skills of the source.
    #[arg(long, conflicts_with = "skill")]
    pub(crate) all: bool,
    /// Install this skill of the source; can be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Vec<String>,
    /// Only this folder of the source.
    #[arg(long, value_name = "FOLDER", conflicts_with = "from_lock")]
    pub(crate) path: Option<String>,
    /// Grant requests to this server to skills that have no `skill.toml`; can be given several times.
    #[arg(long, value_name = "URL")]
    pub(crate) grant_network: Vec<String>,
    /// Grant this secret to skills that have no `skill.toml`; can be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) grant_secret: Vec<String>,
    /// Replace skills that were changed here, or that come from elsewhere.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Names of installed skills [default: all that were added].
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Replace skills that were changed here.
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OutdatedArgs {
    /// Names of installed skills [default: all that were added].
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Names of installed skills.
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Folder of the skills [default: the first of `skills.roots`].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
    /// Remove skills that were changed here.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const ADD: &str = "\
Examples:
  wardian skills add anthropics/skills --list
  wardian skills add anthropics/skills --skill pdf --skill docx
  wardian skills add acme/tools/skills/report@v1.2 --yes
  wardian skills add https://git.example/team/skills.git#main --all
  wardian skills add npm:@acme/skills@^1.2 --all
  wardian skills add oci://ghcr.io/acme/report:1.0
  wardian skills add s3://acme-skills/packages --skill acme.sales.report
  wardian skills add ./skills.zip --dir my-skills
  wardian skills add --from-lock skills-lock.json --yes

What the skills want, and what changes, is shown before anything is installed. Nothing of a source is executed.
`skills.lock` beside the folder pins the source, its revision and the digest of each skill.

An object store is that of AWS_ENDPOINT_URL, or of AWS in AWS_REGION, with the credentials of the variables `AWS_…`,
which `wardian skills publish --help` lists; without them, requests are not signed.

Exit codes: 0 done, 1 a skill cannot be installed, or nobody agreed, 2 wrong usage or an unknown source,
3 an error of Wardian or of the machine.";

pub(crate) const REMOVE: &str = "\
Examples:
  wardian skills remove pdf docx
  wardian skills remove report --dir my-skills --force

A skill whose files were changed here stays, and they are named, unless `--force` is given.

Exit codes: 0 done, 1 a skill was changed here, 2 wrong usage or an unknown skill.";

pub(crate) const OUTDATED: &str = "\
Examples:
  wardian skills outdated
  wardian skills outdated pdf --json

Exit codes: 0 all are as at their source, 1 some are not, 2 wrong usage or an unknown skill or source.";

pub(crate) const UPDATE: &str = "\
Examples:
  wardian skills update
  wardian skills update pdf --yes

The source is asked for what was asked for at first: the same branch, tag or range of versions. What changes is shown
before anything is installed.

Exit codes: 0 done, 1 a skill cannot be installed, or nobody agreed, 2 wrong usage or an unknown skill or source,
3 an error of Wardian or of the machine.";
