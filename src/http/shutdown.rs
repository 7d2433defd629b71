//! The signals that stop the server, and the stages of stopping.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// The stages of stopping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The server does not stop.
    #[default]
    Serve,
    /// No new connections; requests in progress may finish.
    Drain,
    /// Everything ends now.
    Abort,
}

/// Listens for SIGTERM and Ctrl-C: the first signal drains the server, the second aborts it.
///
/// # Errors
///
/// The operating system refuses the signal handlers.
pub fn stop_on_signals() -> io::Result<watch::Receiver<Stage>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (stage, watched) = watch::channel(Stage::Serve);
    tokio::spawn(async move {
        for next in [Stage::Drain, Stage::Abort] {
            let (name, _) = tokio::select! {
                received = terminate.recv() => ("SIGTERM", received),
                received = interrupt.recv() => ("Ctrl-C", received),
            };
            info!(
                "{name}: {}",
                if next == Stage::Drain { "shutting down" } else { "stopping now" }
            );
            stage.send_replace(next);
        }
    });
    Ok(watched)
}
