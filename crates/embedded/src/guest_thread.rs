//! Threads with room for a guest's stack.

use std::thread;

use crate::error::EmbeddedError;
use wardian_sandbox::GUEST_STACK;

/// The name of threads that run guests, for debuggers.
const NAME: &str = "wardian-guest";

/// A thread on which guests can run. Its stack is address space; only touched pages take memory.
pub(crate) fn guest_thread() -> thread::Builder {
    thread::Builder::new().name(NAME.to_owned()).stack_size(GUEST_STACK)
}

/// Executes `work` on a thread with room for a guest's stack, and waits for it.
pub(crate) fn on_guest_thread<T: Send>(
    work: impl FnOnce() -> T + Send,
) -> Result<T, EmbeddedError> {
    thread::scope(|scope| {
        let thread = guest_thread().spawn_scoped(scope, work).map_err(refused)?;
        thread.join().map_err(|_panic| EmbeddedError::Broken)
    })
}

/// The error of a thread that could not be started.
pub(crate) fn refused(cause: std::io::Error) -> EmbeddedError {
    EmbeddedError::System { what: "start a thread", cause }
}
