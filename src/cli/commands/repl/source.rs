//! Where blocks come from: a person at a terminal, or a file or a pipe.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use crate::cli::commands::repl::block::PipedBlocks;
use crate::cli::commands::repl::input::{PromptInput, TypedLine};
use crate::cli::commands::repl::terminal::PromptTerminal;
use crate::cli::failed::Failed;

/// The source of blocks.
pub(super) enum PromptSource {
    Terminal(Box<PromptTerminal>),
    Pipe(PipedInput),
}

impl PromptSource {
    /// The standard input. A terminal keeps its history in the file `history`.
    pub(super) fn open(history: &Path) -> Result<Self, Failed> {
        if io::stdin().is_terminal() && io::stdout().is_terminal() {
            return Ok(Self::Terminal(Box::new(PromptTerminal::open(history)?)));
        }
        PipedInput::open().map(Self::Pipe)
    }

    pub(super) const fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    /// A function that ends the wait for the next block.
    pub(super) fn waker(&self) -> Box<dyn Fn() + Send> {
        match self {
            // A terminal reads Ctrl-C as a key.
            Self::Terminal(_) => Box::new(|| {}),
            Self::Pipe(pipe) => {
                let sender = pipe.sender.clone();
                // If there is no room for it, the reader is not waiting.
                Box::new(move || {
                    sender.try_send(Piped::Interrupted).ok();
                })
            }
        }
    }

    /// The next block.
    pub(super) fn next(&mut self) -> Result<PromptInput, Failed> {
        match self {
            Self::Terminal(terminal) => terminal.next(),
            Self::Pipe(pipe) => pipe.next(),
        }
    }

    /// A line for a cell that asks for it. Of a file or a pipe it is the next one behind the block.
    pub(super) fn line(&mut self, prompt: &str, is_hidden: bool) -> Result<TypedLine, Failed> {
        match self {
            Self::Terminal(terminal) => terminal.line(prompt, is_hidden),
            Self::Pipe(pipe) => pipe.line(),
        }
    }
}

/// Lines that are read ahead while a cell runs.
const LINES_AHEAD: usize = 64;

/// A file or a pipe.
pub(super) struct PipedInput {
    blocks: PipedBlocks,
    lines: Receiver<Piped>,
    sender: SyncSender<Piped>,
    has_ended: bool,
}

/// What the thread that reads has found, or an interrupt.
#[derive(Debug)]
enum Piped {
    Line(String),
    End,
    Broken(io::Error),
    Interrupted,
}

impl PipedInput {
    /// Starts to read the standard input, on a thread that may outlive everything else.
    fn open() -> Result<Self, Failed> {
        let (sender, lines) = mpsc::sync_channel(LINES_AHEAD);
        let found = sender.clone();
        let read = move || {
            for line in io::stdin().lock().lines() {
                let is_last = line.is_err();
                let line = line.map_or_else(Piped::Broken, Piped::Line);
                if found.send(line).is_err() || is_last {
                    return;
                }
            }
            // Nobody waits for it if the process ends.
            found.send(Piped::End).ok();
        };
        thread::Builder::new()
            .name("standard-input".to_owned())
            .spawn(read)
            .map_err(|fault| Failed::at("start a thread", &fault))?;
        Ok(Self { blocks: PipedBlocks::default(), lines, sender, has_ended: false })
    }

    fn line(&mut self) -> Result<TypedLine, Failed> {
        if self.has_ended {
            return Ok(TypedLine::End);
        }
        match self.lines.recv() {
            Ok(Piped::Line(line)) => Ok(TypedLine::Line(line)),
            Ok(Piped::Interrupted) => Ok(TypedLine::Interrupted),
            Ok(Piped::Broken(fault)) => Err(Failed::named("standard input", &fault)),
            Ok(Piped::End) | Err(_) => {
                self.has_ended = true;
                self.blocks.finish();
                Ok(TypedLine::End)
            }
        }
    }

    fn next(&mut self) -> Result<PromptInput, Failed> {
        loop {
            if let Some(block) = self.blocks.next() {
                return Ok(PromptInput::Block(block));
            }
            if self.has_ended {
                return Ok(PromptInput::End);
            }
            match self.lines.recv() {
                Ok(Piped::Line(line)) => self.blocks.push(&line),
                Ok(Piped::Interrupted) => return Ok(PromptInput::Interrupted),
                Ok(Piped::Broken(fault)) => {
                    return Err(Failed::named("standard input", &fault));
                }
                // There is always a sender: this one.
                Ok(Piped::End) | Err(_) => {
                    self.has_ended = true;
                    self.blocks.finish();
                }
            }
        }
    }
}
