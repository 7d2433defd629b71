//! Tells a client that asked for it how far a run is: what the program reports, and what it prints.

use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::time::{MissedTickBehavior, interval};

use wardian_service::{LogChunk, LogStream, PreparationStep, ProgressReport, Stream};
use wardian_vocabulary::units::ByteCount;

/// Maximum number of bytes of output that wait to be told.
pub(crate) const WAITING: ByteCount = ByteCount::kibibytes(64);

/// The shortest time between two notifications. What comes in between is left out but for the last.
const PAUSE: Duration = Duration::from_millis(25);

/// Longest line of output in a notification, in bytes.
const MAX_LINE: usize = 512;

/// Returns the progress of a line that is printed after `told`: each notification must be further
/// than the last, and lines must not run ahead of what the program reports. Clients show the number,
/// so it has few digits.
fn after(told: f64) -> f64 {
    const COARSE: f64 = 1_000.0;
    const FINE: f64 = 1_000_000.0;
    let next = ((told * COARSE + 1e-6).floor() + 1.0) / COARSE;
    // The next whole number is the program's to report.
    if next < told.floor() + 1.0 { next } else { ((told * FINE).round() + 1.0) / FINE }
}

/// The progress of a preparation that is over: it is reported in per cent.
const PREPARED: f64 = 100.0;

/// The shortest time between two notifications of a preparation.
const PREPARATION_PAUSE: Duration = Duration::from_secs(1);

/// Tells a client that asked for it how far the preparation of the engine is, before its run.
pub(crate) struct PreparationTold<'a> {
    peer: &'a Peer<RoleServer>,
    token: Option<ProgressToken>,
    last: Option<(f64, Instant)>,
}

impl<'a> PreparationTold<'a> {
    pub(crate) const fn new(peer: &'a Peer<RoleServer>, token: Option<ProgressToken>) -> Self {
        Self { peer, token, last: None }
    }

    pub(crate) async fn tell(&mut self, step: PreparationStep) {
        let Some(token) = &self.token else { return };
        if self.last.is_some_and(|(_, at)| at.elapsed() < PREPARATION_PAUSE) {
            return;
        }
        // Each notification must be further than the last, and a new step begins at nothing.
        let further = self.last.map_or(0.0, |(told, _)| after(told));
        let progress = step.percent.map_or(0.0, f64::from).max(further);
        self.last = Some((progress, Instant::now()));
        let mut next = ProgressNotificationParam::new(token.clone(), progress);
        next.total = Some(PREPARED);
        next.message = Some(step.text);
        // The client may have gone away; its call is cancelled then.
        self.peer.notify_progress(next).await.ok();
    }

    /// The progress at which the run begins: beyond everything that was reported.
    pub(crate) fn end(self) -> f64 {
        self.last.map_or(0.0, |_| PREPARED)
    }
}

/// The progress that was reported to the client.
#[derive(Debug)]
struct ReportedProgress {
    token: ProgressToken,
    /// The progress at which the run began.
    begun: f64,
    furthest: Option<f64>,
    next: Option<ProgressNotificationParam>,
}

/// Tells a client how far a run is, until the program prints nothing more.
pub(crate) async fn tell(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    begun: f64,
    mut logs: LogStream,
) {
    let mut told = ReportedProgress { token, begun, furthest: None, next: None };
    let mut clock = interval(PAUSE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            _ = clock.tick(), if told.next.is_some() => told.send(peer).await,
            chunk = logs.next() => match chunk {
                Some(chunk) => told.note(&chunk),
                None => break,
            },
        }
    }
    told.send(peer).await;
}

impl ReportedProgress {
    fn note(&mut self, chunk: &LogChunk) {
        let further = match chunk.stream {
            Stream::Progress => match ProgressReport::read(&chunk.text) {
                Some(report) if self.furthest.is_none_or(|told| report.done > told) => report,
                _ => return,
            },
            Stream::Request => return,
            Stream::Stdout | Stream::Stderr | Stream::Log => {
                let line = chunk.text.lines().rev().find(|line| !line.trim().is_empty());
                let Some(line) = line else { return };
                let end = line.floor_char_boundary(MAX_LINE);
                let line = line.get(..end).unwrap_or_default();
                let done = self.furthest.map_or(0.0, after);
                // Nothing is further than a number that is too large to grow.
                if self.furthest.is_some_and(|told| done <= told) {
                    return;
                }
                let message = line.replace(char::is_control, " ");
                let total = self.next.as_ref().and_then(|next| next.total);
                let total = total.map(|total| total - self.begun);
                ProgressReport { done, total, message }
            }
        };
        let ProgressReport { done, total, message } = further;
        self.furthest = Some(done);
        let mut next = ProgressNotificationParam::new(self.token.clone(), self.begun + done);
        next.total = total.map(|total| self.begun + total);
        next.message = (!message.is_empty()).then_some(message);
        self.next = Some(next);
    }

    async fn send(&mut self, peer: &Peer<RoleServer>) {
        if let Some(next) = self.next.take() {
            // The client may have gone away; its call is cancelled then.
            peer.notify_progress(next).await.ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    fn told() -> ReportedProgress {
        let token = ProgressToken(NumberOrString::Number(1));
        ReportedProgress { token, begun: 0.0, furthest: None, next: None }
    }

    fn chunk(stream: Stream, text: &str) -> LogChunk {
        LogChunk { stream, text: text.to_owned() }
    }

    #[test]
    fn each_notification_is_further_than_the_last() {
        let mut told = told();
        let mut last = -1.0;
        for (stream, text) in [
            (Stream::Stdout, "loading\n"),
            (Stream::Progress, "{\"done\": 1, \"total\": 3}"),
            (Stream::Stderr, "still\nloading\n"),
            (Stream::Progress, "{\"done\": 2, \"total\": 3, \"message\": \"two\"}"),
            (Stream::Log, "x"),
        ] {
            told.note(&chunk(stream, text));
            let next = told.next.take().unwrap();
            assert!(next.progress > last, "{next:?}");
            last = next.progress;
        }
        for (stream, text) in [
            (Stream::Progress, "{\"done\": 1}"),
            (Stream::Progress, "{\"done\": -1}"),
            (Stream::Progress, "no JSON"),
            (Stream::Stdout, " \n"),
        ] {
            told.note(&chunk(stream, text));
            assert!(told.next.is_none(), "{text}");
        }
    }

    #[test]
    fn numbers_of_lines_have_few_digits_and_stay_below_the_next_report() {
        let mut told = told();
        told.note(&chunk(Stream::Progress, "{\"done\": 1, \"total\": 3}"));
        let mut last = 1.0;
        for line in 0..1_500 {
            told.note(&chunk(Stream::Stdout, "x\n"));
            let progress = told.next.take().unwrap().progress;
            assert!(progress > last && progress < 2.0, "{line}: {progress} after {last}");
            assert!(progress.to_string().len() <= 8, "{line}: {progress}");
            last = progress;
        }
        told.note(&chunk(Stream::Progress, "{\"done\": 2, \"total\": 3}"));
        assert_eq!(told.next.take().unwrap().progress, 2.0);
    }

    #[test]
    fn a_line_is_short_and_has_no_control_characters() {
        let mut told = told();
        told.note(&chunk(Stream::Stdout, &format!("\u{1b}[2J{}", "é".repeat(600))));
        let message = told.next.unwrap().message.unwrap();
        assert!(message.len() <= MAX_LINE && message.starts_with(" [2J"), "{message}");
    }
}
