//! The signals that stop the server, and the stages of stopping.

use std::io::{self, Read};
use std::thread;

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

/// Whether EOF on standard input stops the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputEnd {
    /// EOF is ignored.
    Ignored,
    /// EOF stops the server: the program that started it has exited.
    Stops,
}

/// Listens for SIGTERM and Ctrl-C: the first signal drains the server, the second aborts it.
///
/// # Errors
///
/// The operating system refuses the signal handlers, or a thread.
pub fn stop_on_signals(input: InputEnd) -> io::Result<watch::Receiver<Stage>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (stage, watched) = watch::channel(Stage::Serve);
    if input == InputEnd::Stops {
        let stage = stage.clone();
        // The thread waits for as long as the process lives.
        thread::Builder::new().name("input".to_owned()).spawn(move || {
            wait_for_end(io::stdin().lock());
            info!("end of standard input: stopping now");
            stage.send_replace(Stage::Abort);
        })?;
    }
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
            // A server that stops at once does not go back to draining.
            stage.send_modify(|stage| *stage = next.max(*stage));
        }
    });
    Ok(watched)
}

/// Reads until nothing more can come.
fn wait_for_end(mut input: impl Read) {
    let mut chunk = [0; 256];
    loop {
        match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is interrupted once, has a line, and ends.
    struct Input(Vec<io::Result<&'static [u8]>>);

    impl Read for Input {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some(next) = self.0.pop() else { return Ok(0) };
            let bytes = next?;
            into[..bytes.len()].copy_from_slice(bytes);
            Ok(bytes.len())
        }
    }

    #[test]
    fn lines_and_interruptions_are_no_end_of_the_input() {
        let mut input =
            Input(vec![Ok(b"more"), Err(io::ErrorKind::Interrupted.into()), Ok(b"a\n")]);
        wait_for_end(&mut input);
        assert!(input.0.is_empty());
    }
}
