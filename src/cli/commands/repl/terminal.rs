//! A terminal: lines that can be edited, and their history.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Context, Editor, Helper};

use crate::cli::commands::repl::block::SourceBlock;
use crate::cli::commands::repl::input::{PromptInput, TypedLine};
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_line};
use wardian_vocabulary::files::private_file::{create_folder, folder_of};

/// Blocks that the history keeps.
const MAX_HISTORY: usize = 1_000;

/// Spaces of one level of indentation.
const INDENT: usize = 4;

/// Words that end the session like Ctrl-D.
const LEAVING: [&str; 4] = ["exit", "exit()", "quit", "quit()"];

/// A prompt that reads blocks line by line.
pub(super) struct PromptTerminal {
    editor: Editor<Indenter, DefaultHistory>,
    history: PathBuf,
    keeps_history: bool,
}

impl PromptTerminal {
    /// Opens the terminal of the process, with the history of earlier sessions.
    pub(super) fn open(history: &Path) -> Result<Self, Failed> {
        let config = rustyline::Config::builder()
            .max_history_size(MAX_HISTORY)
            .map_err(unusable)?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(unusable)?;
        editor.set_helper(Some(Indenter::default()));
        // The first session has none, and one that cannot be read is not worth more than a note.
        let is_there = history.try_exists().unwrap_or(false);
        let keeps_history = match is_there.then(|| editor.load_history(history)) {
            Some(Err(fault)) => {
                note(&format!("warning: {}: {fault}", history.display()));
                false
            }
            Some(Ok(())) => true,
            None => create_folder(folder_of(history)).is_ok(),
        };
        Ok(Self { editor, history: history.to_owned(), keeps_history })
    }

    /// Reads the next block.
    pub(super) fn next(&mut self) -> Result<PromptInput, Failed> {
        let mut block = SourceBlock::default();
        let mut prompt = ">>> ";
        loop {
            match self.editor.readline(prompt) {
                Ok(line) => {
                    if prompt == ">>> " && LEAVING.contains(&line.trim()) {
                        return Ok(PromptInput::End);
                    }
                    block.push(&line);
                    if block.needs_more() {
                        prompt = "... ";
                        continue;
                    }
                    if block.is_empty() {
                        block.take();
                        prompt = ">>> ";
                        continue;
                    }
                    let text = block.take();
                    self.remember(&text);
                    return Ok(PromptInput::Block(text));
                }
                // The block so far is dropped, as Python does.
                Err(ReadlineError::Interrupted) => return Ok(PromptInput::Interrupted),
                Err(ReadlineError::Eof) => return Ok(PromptInput::End),
                Err(ReadlineError::Signal(_)) => {}
                Err(fault) => return Err(unusable(fault)),
            }
        }
    }

    /// Reads a line for a cell that asks for it. It is no part of the history.
    pub(super) fn line(&mut self, prompt: &str, is_hidden: bool) -> Result<TypedLine, Failed> {
        // Only the last line of a prompt is drawn again while the line is edited.
        let (above, prompt) = prompt.rsplit_once('\n').unwrap_or(("", prompt));
        if !above.is_empty() {
            print_line(above);
        }
        self.editor.set_helper(Some(Indenter { is_hidden }));
        let typed = loop {
            match self.editor.readline(prompt) {
                Ok(line) => break Ok(TypedLine::Line(line)),
                Err(ReadlineError::Interrupted) => break Ok(TypedLine::Interrupted),
                Err(ReadlineError::Eof) => break Ok(TypedLine::End),
                Err(ReadlineError::Signal(_)) => {}
                Err(fault) => break Err(unusable(fault)),
            }
        };
        self.editor.set_helper(Some(Indenter::default()));
        typed
    }

    /// Adds a block to the history, at once: the process may be killed. The file is the user's alone.
    fn remember(&mut self, block: &str) {
        let is_new = self.editor.add_history_entry(block).unwrap_or(false);
        if !is_new || !self.keeps_history {
            return;
        }
        if let Err(fault) = self.editor.append_history(&self.history) {
            self.keeps_history = false;
            note(&format!("warning: {}: {fault}", self.history.display()));
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn unusable(fault: ReadlineError) -> Failed {
    Failed::at("read the terminal", &fault)
}

/// Lets the tabulator indent, and hides what is typed if it has to be.
#[derive(Default)]
struct Indenter {
    is_hidden: bool,
}

impl Completer for Indenter {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok((position, indentation(line.get(..position).unwrap_or_default())))
    }
}

/// The spaces up to the next level, if there is nothing but spaces in the line before the cursor.
fn indentation(before: &str) -> Vec<String> {
    let line = before.rsplit('\n').next().unwrap_or_default();
    if !line.trim().is_empty() {
        return Vec::new();
    }
    vec![" ".repeat(INDENT.saturating_sub(line.len() % INDENT))]
}

impl Hinter for Indenter {
    type Hint = String;
}

impl Highlighter for Indenter {
    fn highlight<'l>(&self, line: &'l str, _position: usize) -> Cow<'l, str> {
        if self.is_hidden {
            Cow::Owned("*".repeat(line.chars().count()))
        } else {
            Cow::Borrowed(line)
        }
    }

    fn highlight_char(&self, _line: &str, _position: usize, _kind: CmdKind) -> bool {
        self.is_hidden
    }
}

impl Validator for Indenter {}
impl Helper for Indenter {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tabulator_leads_to_the_next_level() {
        for (before, spaces) in [("", 4), ("  ", 2), ("    ", 4), ("if x:\n ", 3)] {
            assert_eq!(indentation(before), [" ".repeat(spaces)], "{before:?}");
        }
        assert_eq!(indentation("x"), Vec::<String>::new());
        assert_eq!(indentation("x\ny "), Vec::<String>::new());
    }
}
