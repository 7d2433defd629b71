//! The options of `wardian skills publish`, `sign` and `verify`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::server_option::ServerOption;

#[derive(Debug, Args)]
pub(crate) struct PublishArgs {
    /// Skill folder.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Where the package goes: `oci://HOST/NAME[:TAG]`, `s3://BUCKET/PREFIX`, or a folder of packages. Without it, the
    /// skill goes to the server of `--server`.
    #[arg(value_name = "TARGET", conflicts_with = "server")]
    pub(crate) target: Option<String>,
    /// Sign the skill with this key (PEM, Ed25519).
    #[arg(long, value_name = "FILE")]
    pub(crate) sign: Option<PathBuf>,
    /// Publish this file although it looks like a secret; can be given several times.
    #[arg(long, value_name = "PATH")]
    pub(crate) allow: Vec<String>,
    /// Check and pack, and publish nothing.
    #[arg(long, requires = "target")]
    pub(crate) dry_run: bool,
    /// File with the token for the registry. Otherwise it is in the environment variable `WARDIAN_SOURCE_TOKEN`.
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) token_file: Option<PathBuf>,
    /// Let the registry or the object store have a private address.
    #[arg(long, requires = "target")]
    pub(crate) allow_private: bool,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) at: ServerOption,
}

#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// Skill folder.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
    /// Private key (PEM, Ed25519).
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifySkillsArgs {
    /// Names of skills [default: all].
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Verify the skills that are visible to this tenant.
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Print the outcome as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) const PUBLISH: &str = "\
Examples:
  wardian skills publish acme.sales.report ./packages --sign key.pem
  wardian skills publish acme.sales.report oci://ghcr.io/acme/report --token-file ~/.registry-token
  wardian skills publish acme.sales.report oci://ghcr.io/acme/report --dry-run
  wardian skills publish acme.sales.report s3://acme-skills/packages --sign key.pem
  wardian skills publish acme.sales.report --server https://skills.example --key-file ~/.wardian-key

A package has the same bytes on every machine. A version never changes: publishing the same content again does
nothing, and different content needs a new version. Hidden files are left out and named; a file that looks like a
secret is refused unless `--allow` names it.

An object store is that of AWS_ENDPOINT_URL, or of AWS in AWS_REGION. Its credentials are AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY (with AWS_SESSION_TOKEN), or AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE. It must create objects
conditionally (`If-None-Match: *`).

On a server, the key needs the scopes `publish` and `blobs`, and only the key's tenant sees the skill.

Exit codes: 0 done, 1 the skill is refused, 2 wrong usage, or the target cannot be used.";

pub(crate) const SIGN: &str = "\
Examples:
  openssl genpkey -algorithm ed25519 -out key.pem
  wardian skills sign acme.sales.report --key key.pem

The signature is written into the folder, as `.signatures.json`. It covers the name, the version and all files that
are served. `wardian skills publish --sign` signs a package instead.

Exit codes: 0 done, 1 the skill is not valid, 2 wrong usage or a key that cannot be used.";

pub(crate) const VERIFY: &str = "\
Examples:
  wardian skills verify
  wardian skills verify acme.sales.report --json
  wardian --set 'skills.trusted_keys=acme.*=cosign.pub' skills verify

The keys are those of `skills.trusted_keys`. Bundled skills are part of the program, and not listed.

Exit codes: 0 a trusted key has signed each, 1 some are not signed by one or not valid, 2 wrong usage or an unknown
skill.";
