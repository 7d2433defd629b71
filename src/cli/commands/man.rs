//! `wardian man` and `wardian completions`, made from the commands and the texts of `--help`.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{print_bytes, print_line};

/// Prints the page of the program itself, or writes those of all commands into `folder`, which is
/// created if it does not exist.
pub(crate) fn man(program: Command, folder: Option<&Path>) -> Result<Exit, Failed> {
    let pages = pages(program).map_err(|fault| Failed::at("create the manual pages", &fault))?;
    let Some(folder) = folder else {
        if let Some((_, page)) = pages.first() {
            print_bytes(page);
        }
        return Ok(Exit::Done);
    };
    fs::create_dir_all(folder).map_err(|fault| Failed::named(folder.display(), &fault))?;
    for (name, page) in pages {
        let path = folder.join(name);
        fs::write(&path, page).map_err(|fault| Failed::named(path.display(), &fault))?;
        print_line(&path.display().to_string());
    }
    Ok(Exit::Done)
}

/// Prints the script that completes commands in a shell.
pub(crate) fn completions(mut program: Command, shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "wardian", &mut script);
    print_bytes(&script);
    Exit::Done
}

/// The pages with the names of their files, that of the program first.
fn pages(program: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    let mut pending = vec![program];
    while let Some(command) = pending.pop() {
        pending.extend(command.get_subcommands().filter(|next| !next.is_hide_set()).cloned());
        pages.push(page(command)?);
    }
    Ok(pages)
}

/// One page. It differs from what the library renders by itself in the examples, whose lines stay
/// lines.
fn page(command: Command) -> io::Result<(String, Vec<u8>)> {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_commands = command.get_subcommands().any(|next| !next.is_hide_set());
    let source = format!("wardian {}", env!("CARGO_PKG_VERSION"));
    // A date without any letter would be left out, and the others would take its place.
    let man = Man::new(command).date(" ").source(source).manual("Wardian");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::default();
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.strip_prefix("Examples:\n").unwrap_or(&examples).lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.to_writer(&mut page)?;
    Ok((man.get_filename(), page))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Cli;

    /// The names of all commands that help shows, joined with `-`.
    fn names(command: &Command, before: &str) -> Vec<String> {
        let name = format!("{before}{}", command.get_name());
        let shown = command.get_subcommands().filter(|next| !next.is_hide_set());
        let below = shown.flat_map(|next| names(next, &format!("{name}-")));
        std::iter::once(name.clone()).chain(below).collect()
    }

    #[test]
    fn every_command_has_a_page_and_hidden_ones_have_none() {
        let pages = pages(Cli::command()).unwrap();
        assert_eq!(pages.first().map(|(name, _)| name.as_str()), Some("wardian.1"));
        let mut found: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        let mut wanted: Vec<String> =
            names(&Cli::command(), "").iter().map(|name| format!("{name}.1")).collect();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted);
        assert!(found.contains(&"wardian-skills-deps-lock.1"), "{found:?}");
        assert!(!found.contains(&"wardian-worker.1"), "{found:?}");
    }

    #[test]
    fn a_page_has_its_parts_and_the_lines_of_its_examples() {
        let pages = pages(Cli::command()).unwrap();
        for (name, page) in &pages {
            let page = String::from_utf8_lossy(page);
            for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES\n.nf\n"] {
                assert!(page.contains(part), "{name} has no {part:?}");
            }
        }
        let (_, first) = pages.first().unwrap();
        let title =
            format!(".TH wardian 1 \" \" \"wardian {}\" Wardian\n", env!("CARGO_PKG_VERSION"));
        assert!(String::from_utf8_lossy(first).contains(&title));
        let (_, serve) = pages.iter().find(|(name, _)| name == "wardian-serve.1").unwrap();
        let serve = String::from_utf8_lossy(serve);
        assert!(serve.contains("\\-\\-require\\-lockdown"), "{serve}");
    }
}
