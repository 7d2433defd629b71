//! The sandbox of an embedding program: a thread that runs one guest after another.

use std::fmt;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::engine::Engine;
use crate::error::EmbeddedError;
use crate::guest_thread::{guest_thread, refused};
use crate::image::Image;
use crate::order::{check_limits, setup, turn};
use crate::outcome::Outcome;
use crate::stored::{StoredContents, StoringHost};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::{Setup, Turn};
use wardian_sandbox::{ImageSpec, SandboxConfig, SandboxError};

/// Runs Python programs, one after another, each in a fresh interpreter.
///
/// A program sees its own files, clocks and randomness, and nothing of this process, of its files, its
/// network, its environment, or of programs before it. **That is one wall**: see the
/// [crate's documentation](crate).
///
/// Programs run on a thread of the sandbox's own. For programs side by side, make several sandboxes:
/// each costs about 4 MB, and its memory while a program runs.
pub struct Sandbox {
    limits: RunLimits,
    /// `None` only while dropping.
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// A run, and the place for its outcome.
struct Order {
    turn: Turn,
    answer: mpsc::SyncSender<Result<Outcome, SandboxError>>,
}

impl Sandbox {
    /// A sandbox whose programs begin as `image` and have `limits`.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError::Limit`] or [`EmbeddedError::NotMetered`] for limits that no run can have,
    /// [`EmbeddedError::Sandbox`] if the engine's code or the image cannot be loaded, and
    /// [`EmbeddedError::System`] if there are no more threads.
    pub fn new(engine: &Engine, image: &Image, limits: RunLimits) -> Result<Self, EmbeddedError> {
        let content = image.content();
        check_limits(&limits, content.length(), engine.is_metered())?;
        let config = SandboxConfig::default();
        let mut sandbox = wardian_sandbox::Sandbox::new(engine.library()?, config);
        for code in engine.code()? {
            sandbox.add_code(code)?;
        }
        let duplicate = |cause| EmbeddedError::System { what: "duplicate a descriptor", cause };
        let memory = content.memory().try_clone_to_owned().map_err(duplicate)?;
        let descriptors = image.descriptors()?;
        sandbox.attach_image(content.key(), ImageSpec { memory, descriptors })?;
        sandbox.start()?;
        let (orders, received) = mpsc::channel();
        let setup = setup(content.digest(), &limits);
        let serve = move || serve(sandbox, &Arc::new(setup), received);
        let thread = guest_thread().spawn(serve).map_err(refused)?;
        Ok(Self { limits, orders: Some(orders), thread: Some(thread) })
    }

    /// Runs `code` to its end, or to a limit.
    ///
    /// With `args`, a JSON object, its function `main` is called with them. Without, as `{}`, the code
    /// runs as on a command line; its value is that of `main`, if it has one, or of its last expression.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError::Arguments`] if `args` is not an object; [`EmbeddedError::Sandbox`] and later
    /// [`EmbeddedError::Broken`] if the sandbox itself failed. A program that raises, or is stopped,
    /// is an [`Outcome`].
    pub fn run(&mut self, code: &str, args: &Value) -> Result<Outcome, EmbeddedError> {
        let turn = turn(code, args, &self.limits)?;
        let (answer, outcome) = mpsc::sync_channel(1);
        let orders = self.orders.as_ref().ok_or(EmbeddedError::Broken)?;
        orders.send(Order { turn, answer }).map_err(|_order| EmbeddedError::Broken)?;
        Ok(outcome.recv().map_err(|_gone| EmbeddedError::Broken)??)
    }
}

/// Runs programs until the sandbox is dropped or breaks. Memory is reset after the answer.
fn serve(mut sandbox: wardian_sandbox::Sandbox, setup: &Arc<Setup>, orders: mpsc::Receiver<Order>) {
    for Order { turn, answer } in orders {
        let stored = StoredContents::default();
        let ended = sandbox.run(Arc::clone(setup), &turn, Box::new(StoringHost::new(&stored)));
        let (outcome, guest) = match ended {
            Ok((guest, end)) => (Ok(Outcome::of(end, &stored)), Some(guest)),
            Err(fault) => (Err(fault), None),
        };
        // The caller waits for it, unless its thread has panicked.
        answer.send(outcome).ok();
        // After a fault, and after a reset that failed, no further guest may run.
        let Some(guest) = guest else { return };
        if sandbox.close(guest).is_err() {
            return;
        }
    }
}

/// Waits until the memory of the last program is reset.
impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A panic of it was reported to the run that it has ended.
            thread.join().ok();
        }
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_broken_sandbox_says_so() {
        let (orders, _) = mpsc::channel();
        let limits = RunLimits::DEFAULT;
        let mut sandbox = Sandbox { limits, orders: Some(orders), thread: None };
        let refused = sandbox.run("1", &json!({})).unwrap_err();
        assert!(matches!(refused, EmbeddedError::Broken), "{refused}");
    }
}
