//! Stops the server: the signals, and the steps.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// The steps of stopping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not at all.
    #[default]
    Serve,
    /// No new requests; those in progress may finish.
    Drain,
    /// Everything ends now.
    Abort,
}

/// Stops at the first SIGTERM or Ctrl-C, and at once at the second.
///
/// # Errors
///
/// The operating system does not let us listen for signals.
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
