//! The command line program: its commands, their output, and their exit codes.
//!
//! Commands use the same service as the server, so a program ends in the same way in both.

mod args;
mod commands;
mod examples;
mod exit_code;
mod failed;
mod key_args;
mod prepare;
mod program_args;
mod run_args;
mod server_option;
mod terminal;
mod test_args;
mod top_args;
mod verify_args;

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::assembly::{PoolProcess, check_settings};
use crate::cli::args::{Cli, Command, EngineCommand, SecretsCommand};
use crate::cli::commands::run::local_program;
use crate::cli::commands::serve::listen;
use crate::cli::commands::serve::reload::ConfigSource;
use crate::cli::commands::skills::args::SkillsCommand;
use crate::cli::commands::skills::execute::execute_skills;
use crate::cli::commands::skills::new_skill;
use crate::cli::commands::{
    blobs, conformance, doctor, engine, fleet, kernel, keys, licenses, man, mcp, migrate, repl,
    runs, secrets, sessions, show_config, test, tools, top, verify,
};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::Installer;
use crate::cli::terminal::{logging, output};
use wardian_config::{self as config, Config, Surroundings};

/// Executes the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let exit = match Cli::read(config::command_line()) {
        Ok(cli) => execute(cli).unwrap_or_else(|failed| {
            output::note(&format!("error: {failed}"));
            failed.exit
        }),
        Err(message) => explain(&message),
    };
    if let Some(fault) = output::stdout_fault() {
        output::note(&format!("error: could not write to standard output: {fault}"));
        return Exit::OurFault.into();
    }
    exit.into()
}

/// Prints help, the version, or an error about the arguments.
fn explain(message: &clap::Error) -> Exit {
    if message.use_stderr() {
        message.print().ok();
        return Exit::WrongUsage;
    }
    if let Err(fault) = message.print().or_else(output::unless_gone) {
        output::note_stdout_fault(fault);
    }
    Exit::Done
}

fn execute(cli: Cli) -> Result<Exit, Failed> {
    match &cli.command {
        Command::Worker { setup, template } => {
            let process = if *template { PoolProcess::Template } else { PoolProcess::Worker };
            crate::assembly::work(setup, process)?;
            return Ok(Exit::Done);
        }
        Command::Completions { shell } => return Ok(man::completions(Cli::command(), *shell)),
        Command::Man { out } => return man::man(Cli::command(), out.as_deref()),
        Command::Licenses { sbom } => return Ok(licenses::licenses(*sbom)),
        Command::Skills(SkillsCommand::New { name, instruction, parent }) => {
            return new_skill::new_skill(name, *instruction, parent);
        }
        _ => {}
    }
    let flags = cli.settings.flags(flags_of(&cli.command));
    let surroundings = Surroundings::of_this_process();
    let installer = Installer::new(&flags, surroundings.secrets.variables());
    let config = Config::load(&surroundings, flags.clone())?;
    match &cli.command {
        Command::Serve(_) => logging::start_for_a_server(&config),
        Command::Doctor(_)
        | Command::Run(_)
        | Command::Exec(_)
        | Command::Test(_)
        | Command::Verify(_)
        | Command::Skills(SkillsCommand::List { .. }) => {
            logging::start_for_a_report_on_skills(&config);
        }
        _ => logging::start_for_a_command(&config),
    }
    logging::warn_of_ignored_variables(&config);
    with_config(cli.command, config, &installer, ConfigSource { surroundings, flags })
}

/// Returns the options of a command that are settings.
fn flags_of(command: &Command) -> Vec<(String, String)> {
    let flags = match command {
        Command::Serve(args) => vec![
            ("listen", args.listen.clone()),
            ("admin_listen", args.admin_listen.clone()),
            ("workers.count", args.workers.clone()),
            ("workers.paranoid", args.paranoid.then(|| "true".to_owned())),
            ("workers.require_lockdown", args.require_lockdown.clone()),
            ("mcp.skills_as_tools", args.skills_as_tools()),
        ],
        Command::Mcp(args) => vec![("mcp.skills_as_tools", args.skills_as_tools())],
        Command::Engine(EngineCommand::Install { from: Some(path), .. }) => {
            vec![("engine.source", Some(path.to_string_lossy().into_owned()))]
        }
        _ => return Vec::new(),
    };
    flags.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text?))).collect()
}

/// Executes a command that needs the configuration.
fn with_config(
    command: Command,
    config: Config,
    installer: &Installer,
    source: ConfigSource,
) -> Result<Exit, Failed> {
    match command {
        Command::Serve(args) => listen::serve(&config, installer, source, &args),
        Command::Run(args) => local_program::run_code(config, installer, args),
        Command::Exec(args) => local_program::execute_skill(config, installer, args),
        Command::Test(args) => test::test(config, installer, &args),
        Command::Verify(args) => verify::verify(&config, &args).map_err(Failed::harmless),
        Command::Bundle(args) => verify::bundle(&config, &args).map_err(Failed::harmless),
        Command::Skills(command) => execute_skills(command, config, &source.surroundings),
        Command::Blobs(command) => blobs::blobs(&config, &command, source.surroundings.api_key()),
        Command::Migrate(args) => migrate::migrate(&config, &source, &args),
        Command::Fleet(command) => fleet::fleet(&config, &command),
        Command::Runs(command) => runs::runs(&config, &command, source.surroundings.api_key()),
        Command::Repl(args) => repl::repl(&config, &args, source.surroundings.api_key()),
        Command::Sessions(command) => {
            sessions::sessions(&config, &command, source.surroundings.api_key())
        }
        Command::Kernel(command) => kernel::kernel(&config, &command),
        Command::Keys(command) => keys::keys(&config, &command),
        Command::Secrets(SecretsCommand::List { tenant, json }) => {
            secrets::list(&config, tenant.as_deref(), json)
        }
        Command::Tools(command) => tools::tools(&config, command),
        Command::Engine(command) => engine::engine(&config, &command),
        Command::Top(args) => top::top(&config, &args),
        Command::Conformance(args) => {
            conformance::conformance(&config, &args, source.surroundings.api_key())
        }
        Command::Mcp(args) => mcp::mcp(config, installer, &args, &source.surroundings),
        Command::Doctor(args) => doctor::doctor(config, args.json),
        Command::Config { explain, json } => {
            let exit = if json {
                show_config::as_json(&config)
            } else {
                show_config::as_toml(&config, explain)
            };
            check_settings(&config)?;
            Ok(exit)
        }
        // These were executed without the configuration.
        Command::Worker { .. }
        | Command::Completions { .. }
        | Command::Man { .. }
        | Command::Licenses { .. } => Ok(Exit::Done),
    }
}
