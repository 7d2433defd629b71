//! Ctrl-C while a cell runs: the server interrupts the cell.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde::Deserialize;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::commands::blobs::Remote;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::note;

/// Whether a cell runs, and whether Ctrl-C was pressed.
#[derive(Debug, Default)]
struct InterruptState {
    has_cell: AtomicBool,
    is_interrupted: AtomicBool,
}

/// The answer of a server to an interrupt.
#[derive(Deserialize)]
struct Interrupted {
    /// False if no cell was running any more.
    interrupted: bool,
}

/// Receives the signals of Ctrl-C from now on. They do not end the process any more.
#[derive(Debug, Clone)]
pub(super) struct Interrupts {
    state: Arc<InterruptState>,
}

impl Interrupts {
    /// Interrupts the cell of the session at `path` of the server, if one is running, and calls
    /// `idle` otherwise.
    pub(super) fn of(
        server: Arc<Remote>,
        path: &str,
        idle: impl Fn() + Send + 'static,
    ) -> Result<Self, Failed> {
        let unheard = |fault: io::Error| Failed::at("listen for signals", &fault);
        let runtime =
            runtime::Builder::new_current_thread().enable_all().build().map_err(unheard)?;
        let mut pressed = {
            let _entered = runtime.enter();
            signal(SignalKind::interrupt()).map_err(unheard)?
        };
        let state = Arc::new(InterruptState::default());
        let (shared, place) = (Arc::clone(&state), format!("{path}/interrupt"));
        let listen = async move {
            while pressed.recv().await.is_some() {
                shared.is_interrupted.store(true, Ordering::SeqCst);
                if shared.has_cell.load(Ordering::SeqCst) {
                    interrupt(&server, &place);
                } else {
                    idle();
                }
            }
        };
        thread::Builder::new()
            .name("interrupts".to_owned())
            .spawn(move || runtime.block_on(listen))
            .map_err(|fault| Failed::at("start a thread", &fault))?;
        Ok(Self { state })
    }

    /// Does something during which Ctrl-C interrupts the cell.
    pub(super) fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        self.state.has_cell.store(true, Ordering::SeqCst);
        let ended = run();
        self.state.has_cell.store(false, Ordering::SeqCst);
        ended
    }

    /// True if Ctrl-C was pressed since this was asked last.
    pub(super) fn take(&self) -> bool {
        self.state.is_interrupted.swap(false, Ordering::SeqCst)
    }
}

fn interrupt(server: &Remote, place: &str) {
    match server.post::<Interrupted>(place) {
        Ok(Interrupted { interrupted: true }) => {}
        // The cell has ended in the meantime, or has not begun.
        Ok(Interrupted { interrupted: false }) => note("(no cell is running on the server)"),
        Err(failed) => note(&format!("the cell was not interrupted: {failed}")),
    }
}
