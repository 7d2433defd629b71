//! The options of `run` and `exec`.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::Args;

use wardian_formats::job::profile::ProfileOrder;
use wardian_formats::protocol::tools::{MAX_EPOCH, MAX_SEED};
use wardian_vocabulary::ids::WorkspacePath;

/// A file to store for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedFile {
    /// The argument that gets the id of its blob.
    pub(crate) name: Option<String>,
    pub(crate) path: PathBuf,
}

/// A file that a program finds in its working folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedFile {
    pub(crate) file: PathBuf,
    /// Its path there. Without one it has its own name.
    pub(crate) path: Option<WorkspacePath>,
}

/// Options of every run.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Arguments as a JSON object, or `@FILE` to read them from a file.
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) args: Option<String>,
    /// Store a file for the run, and set the argument NAME, if given, to its blob id; can be given
    /// several times.
    #[arg(long, value_name = "[NAME=]FILE", value_parser = named_file)]
    pub(crate) blob: Vec<NamedFile>,
    /// Let the program open a file by its name, such as `open("sales.csv")`, or at PATH below its
    /// working folder, such as `--file sales.csv=data/in.csv`; can be given several times.
    #[arg(long = "file", value_name = "FILE[=PATH]", value_parser = placed_file)]
    pub(crate) files: Vec<PlacedFile>,
    /// Stop the program after this many milliseconds.
    #[arg(long, value_name = "MS")]
    pub(crate) timeout_ms: Option<u64>,
    /// Memory limit in bytes.
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory_bytes: Option<u64>,
    /// Stop the program after this many WebAssembly instructions.
    #[arg(long, value_name = "COUNT")]
    pub(crate) fuel: Option<u64>,
    /// Fail if the program returns a value that JSON cannot represent, instead of converting it.
    #[arg(long)]
    pub(crate) strict_output: bool,
    /// Make the run reproducible: each repetition gives the same result and uses the same fuel.
    #[arg(long)]
    pub(crate) reproducible: bool,
    /// Seed of all randomness in a reproducible run [default: 0].
    #[arg(long, value_name = "NUMBER", requires = "reproducible")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MAX_SEED))]
    pub(crate) seed: Option<u64>,
    /// Time of day at the start of a reproducible run, in seconds since 1970 [default:
    /// `SOURCE_DATE_EPOCH`, or the first of January 2026].
    #[arg(long, value_name = "SECONDS", requires = "reproducible")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=MAX_EPOCH))]
    pub(crate) epoch: Option<u64>,
    /// Use only skills that match this lock file [FILE default: skills.lock].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "skills.lock")]
    pub(crate) locked: Option<PathBuf>,
    /// Write the document of the reproducible run to this file, for `wardian verify`.
    #[arg(long, value_name = "FILE", requires = "reproducible")]
    pub(crate) record: Option<PathBuf>,
    /// Let the run use the network access that it is granted, and store the responses next to the
    /// document, for `wardian verify`.
    #[arg(long, requires = "record")]
    pub(crate) record_network: bool,
    /// Sign the document with this private key (PEM, PKCS #8, Ed25519).
    #[arg(long, value_name = "FILE", requires = "record")]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) profile: ProfileOptions,
    /// Write the files that the program leaves and the blobs that it stores to this folder, under
    /// their names. Existing files are not replaced.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Print the protocol's result as JSON instead of the program's output and value.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of a profile.
#[derive(Debug, Args)]
pub(crate) struct ProfileOptions {
    /// Profile the fuel that each Python function uses, and print a table to stderr. With a FILE
    /// named `*.folded`, `*.speedscope.json` or `*.json` write it for other tools. Can be given
    /// several times.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "-")]
    pub(crate) fuel_profile: Vec<PathBuf>,
    /// Fuel between two samples of the profile [default: 100003].
    #[arg(long, value_name = "COUNT", requires = "fuel_profile")]
    #[arg(value_parser = clap::value_parser!(u64).range(INTERVALS))]
    pub(crate) fuel_profile_interval: Option<u64>,
}

const INTERVALS: RangeInclusive<u64> = ProfileOrder::MIN_INTERVAL.0..=ProfileOrder::MAX_INTERVAL.0;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A Python file, or `-` for standard input.
    #[arg(required_unless_present = "code", conflicts_with = "code")]
    pub(crate) file: Option<PathBuf>,
    /// Run this code instead of a file.
    #[arg(short, long, value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Function to call with the arguments [default: main, if the program defines it].
    #[arg(long, value_name = "NAME")]
    pub(crate) entrypoint: Option<String>,
    /// Let the program import a skill; can be given several times.
    #[arg(long, value_name = "SKILL")]
    pub(crate) mount_skill: Vec<String>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Name of the skill, optionally with its version [default: the latest].
    #[arg(value_name = "SKILL[@VERSION]")]
    pub(crate) skill: String,
    /// Run this Python script of the skill instead of its entrypoint, such as `scripts/fill_form.py`.
    #[arg(long, value_name = "PATH")]
    pub(crate) script: Option<String>,
    /// Words for the script, behind `--`: `-- in.pdf out.pdf`, or `-- --help`.
    #[arg(last = true, value_name = "ARGV", requires = "script")]
    pub(crate) argv: Vec<String>,
    /// Text for the standard input of the script, or `@FILE` to read it from a file, `@-` from this
    /// command's own.
    #[arg(long, value_name = "TEXT|@FILE", requires = "script")]
    pub(crate) stdin: Option<String>,
    /// Set an environment variable that the skill declares; can be given several times.
    #[arg(long, value_name = "NAME=VALUE", requires = "script", value_parser = variable)]
    pub(crate) env: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// Splits `NAME=VALUE` at the first `=`.
fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must have the form NAME=VALUE".to_owned()),
    }
}

/// Splits `FILE=PATH` at the last `=`. A file whose own name has an `=` is that file.
fn placed_file(text: &str) -> Result<PlacedFile, String> {
    let whole = || Ok(PlacedFile { file: text.into(), path: None });
    let Some((file, path)) = text.rsplit_once('=') else { return whole() };
    if Path::new(text).try_exists().unwrap_or(false) {
        return whole();
    }
    if file.is_empty() {
        return Err("must have the form FILE or FILE=PATH".to_owned());
    }
    let path = WorkspacePath::parse(path).map_err(|fault| fault.to_string())?;
    Ok(PlacedFile { file: file.into(), path: Some(path) })
}

/// Splits `NAME=FILE`. The part before `=` belongs to the path if it contains a `/`.
fn named_file(text: &str) -> Result<NamedFile, String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !name.contains('/') => (Some(name), path),
        _ => (None, text),
    };
    if path.is_empty() || name == Some("") {
        return Err("must have the form FILE or NAME=FILE".to_owned());
    }
    Ok(NamedFile { name: name.map(str::to_owned), path: path.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a=b.csv").to_str().unwrap().to_owned();
        std::fs::write(&odd, "x").unwrap();
        let again = format!("{odd}=data/x.csv");
        for (text, file, path) in [
            ("x.csv", "x.csv", None),
            ("in/x.csv=data/y.csv", "in/x.csv", Some("data/y.csv")),
            (odd.as_str(), odd.as_str(), None),
            (again.as_str(), odd.as_str(), Some("data/x.csv")),
        ] {
            let path = path.map(|path| WorkspacePath::parse(path).unwrap());
            assert_eq!(placed_file(text), Ok(PlacedFile { file: file.into(), path }));
        }
        for wrong in ["=", "=x", "x.csv=", "x.csv=/y", "x.csv=../y"] {
            assert!(placed_file(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_variable_has_a_name() {
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(variable("A="), Ok(("A".to_owned(), String::new())));
        for wrong in ["", "A", "=b"] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_blob_may_have_a_name() {
        for (text, name, path) in [
            ("x.csv", None, "x.csv"),
            ("a=x.csv", Some("a"), "x.csv"),
            ("a b=x=y.csv", Some("a b"), "x=y.csv"),
            ("./a=b.csv", None, "./a=b.csv"),
            ("a=./b=c", Some("a"), "./b=c"),
        ] {
            let expected = NamedFile { name: name.map(str::to_owned), path: path.into() };
            assert_eq!(named_file(text), Ok(expected));
        }
        for wrong in ["", "=", "a=", "=x"] {
            assert!(named_file(wrong).is_err(), "{wrong}");
        }
    }
}
