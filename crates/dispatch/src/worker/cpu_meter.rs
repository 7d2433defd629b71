//! The processor time that a worker spends on one run.
//!
//! The kernel is asked and not the worker, because a worker that was taken over would tell what it
//! likes.

use std::time::{Duration, Instant};

use crate::worker::activity::Activity;

/// Measures the processor time of a worker's process from a moment on.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    process: u32,
    before: Option<Activity>,
    started: Instant,
}

impl CpuMeter {
    /// Starts to measure.
    pub(crate) fn start(process: u32) -> Self {
        Self { process, before: Activity::of(process).ok(), started: Instant::now() }
    }

    /// The processor time since the start.
    ///
    /// If the kernel does not tell, since the process has ended or the system hides it, this is the
    /// whole time: a guest has one thread, so it cannot have used more. A program gains nothing by
    /// breaking its worker.
    pub(crate) fn read(&self) -> Duration {
        let now = Activity::of(self.process).ok();
        let ran = self.before.zip(now).map(|(before, now)| now.ran_since(&before));
        ran.unwrap_or_else(|| self.started.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(20);

    #[test]
    fn a_process_that_sleeps_costs_nothing_and_one_that_computes_does() {
        let start = |script| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap()
        };
        let mut sleeps = start("read line");
        let mut computes = start("while :; do :; done");
        let [quiet, busy] = [&sleeps, &computes].map(|child| CpuMeter::start(child.id()));
        while busy.read() < 5 * MOMENT {
            thread::park_timeout(MOMENT);
        }
        assert!(quiet.read() < busy.read());
        computes.kill().unwrap();
        sleeps.kill().unwrap();
        computes.wait().unwrap();
        sleeps.wait().unwrap();
        assert!(busy.read() >= 5 * MOMENT, "a lost process has used the whole time");
        assert_eq!(CpuMeter::start(u32::MAX).before, None);
    }
}
