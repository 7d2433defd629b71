//! Progress as a moving line on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;

use crate::progress::report::TimeLeft;
use crate::progress::{Progress, Step, StepEnd, StepReport, ended};

/// Interval between two redraws of the line.
const TICK: Duration = Duration::from_millis(120);

/// Redraws one line on the terminal, and leaves one line for each finished step.
#[derive(Debug)]
pub struct Terminal {
    target: fn() -> ProgressDrawTarget,
    bar: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    /// Draws on standard error.
    #[must_use]
    pub const fn stderr() -> Self {
        Self { target: ProgressDrawTarget::stderr, bar: Mutex::new(None) }
    }
}

impl Progress for Terminal {
    fn begin(&self, report: &StepReport) {
        let bar = ProgressBar::with_draw_target(report.total, (self.target)());
        let template = match report.total {
            Some(_) if report.step.counts_bytes() => {
                "{spinner} {msg} {wide_bar} {binary_bytes}/{binary_total_bytes}"
            }
            Some(_) => "{spinner} {msg} {wide_bar} {percent} %{prefix}",
            None => "{spinner} {msg} {elapsed}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(report.step.doing());
        bar.enable_steady_tick(TICK);
        if let Some(previous) = self.bar.lock().replace(bar) {
            previous.finish_and_clear();
        }
    }

    fn advance(&self, report: &StepReport) {
        let bar = self.bar.lock();
        let Some(bar) = bar.as_ref() else { return };
        if report.is_elsewhere {
            bar.set_message(report.to_string());
            return;
        }
        bar.set_position(report.done);
        if let Some(left) = report.remaining() {
            bar.set_prefix(format!(", {} left", TimeLeft(left)));
        }
    }

    fn end(&self, step: Step, ending: StepEnd) {
        let Some(bar) = self.bar.lock().take() else { return };
        match ending {
            StepEnd::Done(took) => {
                if let Ok(style) = ProgressStyle::with_template("{msg}") {
                    bar.set_style(style);
                }
                bar.finish_with_message(ended(step, took));
            }
            StepEnd::Failed => bar.finish_and_clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::instrumentation::Variant;
    use crate::progress::Running;

    #[test]
    fn every_step_can_be_drawn() {
        let terminal = Terminal { target: ProgressDrawTarget::hidden, bar: Mutex::new(None) };
        let message = || terminal.bar.lock().as_ref().map(ProgressBar::message).unwrap();
        for step in [Step::Wait, Step::Fetch, Step::Compile(Variant::Timed), Step::WarmUp] {
            for total in [None, Some(5 << 20)] {
                let running = Running::begin(&terminal, step, total);
                running.advance(2 << 20);
                assert_eq!(message(), step.doing());
                let elsewhere = StepReport::new(Step::Fetch, None, 0, Duration::ZERO);
                running.relay(elsewhere);
                assert!(message().ends_with("is fetching the engine"), "{}", message());
                running.finish();
                assert!(terminal.bar.lock().is_none());
            }
        }
    }
}
