//! `wardian repl`: a Python prompt whose cells run in a session of a server.

mod answers;
pub(crate) mod args;
mod block;
mod call;
mod events;
mod input;
mod interrupts;
mod shown;
mod source;
mod terminal;

use std::sync::Arc;

use serde::Serialize;

use crate::cli::commands::blobs::Remote;
use crate::cli::commands::repl::answers::answers_of;
use crate::cli::commands::repl::args::ReplArgs;
use crate::cli::commands::repl::call::{CellCall, EndedCall, LineAnswer, run_cell};
use crate::cli::commands::repl::input::PromptInput;
use crate::cli::commands::repl::interrupts::Interrupts;
use crate::cli::commands::repl::shown::ShownOutput;
use crate::cli::commands::repl::source::PromptSource;
use crate::cli::commands::sessions::{ListedSession, path};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, shown};
use wardian_config::Config;
use wardian_vocabulary::ids::SessionId;

/// The file with the history of prompts, in the data folder.
const HISTORY: &str = "repl-history";

/// The label of sessions that this command makes.
const LABEL: &str = "wardian repl";

/// Kinds of refusals after which no cell of the session can run.
const OVER: [&str; 2] = ["session_not_found", "session_expired"];

/// Reads blocks and executes each as a cell, until the input ends.
pub(crate) fn repl(
    config: &Config,
    args: &ReplArgs,
    api_key: Option<&str>,
) -> Result<Exit, Failed> {
    let server = Arc::new(args.at.remote(config, api_key)?);
    let session = session_of(&server, args).map_err(|failed| args.at.with_hint(failed))?;
    let mut source = PromptSource::open(&config.data_dir.join(HISTORY))?;
    let interrupts = Interrupts::of(Arc::clone(&server), &path(&session.id), source.waker())?;
    let is_kept = args.keep || args.session.is_some();
    if source.is_terminal() {
        let end = if is_kept { "leaves" } else { "closes" };
        note(&format!(
            "Session {}. Ctrl-C interrupts a cell, Ctrl-D {end} the session.",
            session.id
        ));
    }
    let mut prompt = Prompt { server: &server, session: &session.id, interrupts };
    let ended = prompt.execute_all(&mut source);
    let is_over = matches!(ended, Ok(End::Closed | End::Lost(_)));
    if is_kept && !is_over {
        note(&format!(
            "session {id} is kept: `wardian repl --session {id}` continues it",
            id = session.id
        ));
    } else if !is_over {
        let closed = server.delete_at(&path(&session.id));
        // The first failure is the one that matters.
        if ended.is_ok() {
            closed?;
        }
    }
    match ended? {
        End::Input { is_last_completed: true } | End::Closed => Ok(Exit::Done),
        End::Input { is_last_completed: false } if source.is_terminal() => Ok(Exit::Done),
        End::Input { is_last_completed: false } => Ok(Exit::GuestFailed),
        End::Interrupted => Ok(Exit::Interrupted),
        End::Lost(message) => Err(Failed::refused(message)),
    }
}

/// The parameters of a new session.
#[derive(Serialize)]
struct NewSession {
    label: &'static str,
}

/// The session that the options name, or a new one.
fn session_of(server: &Remote, args: &ReplArgs) -> Result<ListedSession, Failed> {
    match &args.session {
        Some(id) => server.find_json(&path(&SessionId::parse(id)?)),
        None => server.post_json("/v1/sessions", &NewSession { label: LABEL }),
    }
}

/// Why the cells ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The input did. `is_last_completed` is true if the last cell completed, or if there was none.
    Input { is_last_completed: bool },
    /// The session was closed by a cell.
    Closed,
    /// Ctrl-C, without a terminal.
    Interrupted,
    /// The session does not exist any more, for this reason. The last block was not executed.
    Lost(String),
}

/// Where blocks are executed.
struct Prompt<'a> {
    server: &'a Remote,
    session: &'a SessionId,
    interrupts: Interrupts,
}

impl Prompt<'_> {
    fn execute_all(&mut self, source: &mut PromptSource) -> Result<End, Failed> {
        let mut is_last_completed = true;
        loop {
            let block = match source.next()? {
                PromptInput::Block(block) => block,
                PromptInput::Interrupted if source.is_terminal() => {
                    note("KeyboardInterrupt");
                    continue;
                }
                PromptInput::Interrupted => return Ok(End::Interrupted),
                PromptInput::End => return Ok(End::Input { is_last_completed }),
            };
            match self.execute(&block, source)? {
                Executed::Completed => is_last_completed = true,
                Executed::Failed => is_last_completed = false,
                Executed::Closed => return Ok(End::Closed),
                Executed::Lost(message) => return Ok(End::Lost(message)),
            }
            if self.interrupts.take() && !source.is_terminal() {
                return Ok(End::Interrupted);
            }
        }
    }

    /// Executes a block, and shows its output and its result. What it asks for is read from `source`.
    fn execute(&self, block: &str, source: &mut PromptSource) -> Result<Executed, Failed> {
        let mut answers: Option<Vec<LineAnswer>> = None;
        let mut is_abandoned = false;
        let result = loop {
            let cell = match &answers {
                _ if is_abandoned => CellCall::Abandon,
                Some(answers) => CellCall::Answer(answers),
                None => CellCall::Run(block),
            };
            let mut output = ShownOutput::default();
            let ended = self.interrupts.during(|| {
                run_cell(self.server, self.session, cell, &mut |piece| output.show(&piece))
            })?;
            let result = match ended {
                EndedCall::Executed(result) => result,
                EndedCall::Refused { kind, message } => {
                    let message = shown(&message);
                    if OVER.contains(&kind.as_str()) {
                        return Ok(Executed::Lost(message));
                    }
                    note(&format!("the cell was not executed: {message}"));
                    return Ok(Executed::Failed);
                }
            };
            output.finish(&result);
            if result.requests.is_empty() {
                break result;
            }
            match answers_of(&result.requests, source)? {
                Some(typed) => answers = Some(typed),
                None => is_abandoned = true,
            }
        };
        let is_closed = result.session.as_ref().is_some_and(|session| session.state == "closed");
        Ok(match (is_closed, result.is_completed()) {
            (true, _) => Executed::Closed,
            (false, true) => Executed::Completed,
            (false, false) => Executed::Failed,
        })
    }
}

/// What became of a block.
enum Executed {
    Completed,
    Failed,
    /// The cell was the last one of the session.
    Closed,
    /// It was not executed, because the session does not exist any more.
    Lost(String),
}
