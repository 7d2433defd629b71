//! What the threads of a process do, as the kernel tells it.
//!
//! The kernel is asked and not the worker, because a worker that was taken over would tell what it
//! likes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The times of all threads of a process so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// The time on a processor.
    ran: Duration,
    /// The time of waiting for a processor while it was busy with others.
    waited: Duration,
}

impl Activity {
    /// The activity of a process, of which the kernel tells in `/proc/PID/task/TID/schedstat`.
    ///
    /// # Errors
    ///
    /// The process has ended, or the system does not show it.
    pub(crate) fn of(process: u32) -> io::Result<Self> {
        let threads = Path::new("/proc").join(process.to_string()).join("task");
        let mut sum = Self::default();
        for thread in fs::read_dir(threads)? {
            match fs::read_to_string(thread?.path().join("schedstat")) {
                Ok(text) => sum.add(parse(&text).ok_or(io::ErrorKind::InvalidData)?),
                // The thread has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sum)
    }

    fn add(&mut self, Self { ran, waited }: Self) {
        self.ran = self.ran.saturating_add(ran);
        self.waited = self.waited.saturating_add(waited);
    }

    /// The time on a processor since `before`.
    pub(crate) fn ran_since(&self, before: &Self) -> Duration {
        self.ran.saturating_sub(before.ran)
    }

    /// True if the process waited for the `time` between `before` and now: it wanted a processor for
    /// a fifth of it at most.
    pub(crate) fn has_waited_since(&self, before: &Self, time: Duration) -> bool {
        let waited = self.waited.saturating_sub(before.waited);
        self.ran_since(before).saturating_add(waited) <= time / 5
    }
}

/// The nanoseconds on a processor, and those of waiting for one.
fn parse(text: &str) -> Option<Activity> {
    let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (ran, waited) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(Activity { ran: Duration::from_nanos(ran), waited: Duration::from_nanos(waited) })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::Instant;

    use super::*;

    const PERIOD: Duration = Duration::from_millis(50);

    struct Program(Child);

    impl Program {
        fn start(script: &str) -> Self {
            let mut command = Command::new("sh");
            Self(command.args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
        }

        /// True if it waits for a twentieth of a second.
        fn waits(&self) -> bool {
            let (before, began) = (Activity::of(self.0.id()).unwrap(), Instant::now());
            thread::park_timeout(PERIOD);
            Activity::of(self.0.id()).unwrap().has_waited_since(&before, began.elapsed())
        }

        /// True if it soon waits, or soon does not.
        fn soon_waits(&self, expected: bool) -> bool {
            let deadline = Instant::now() + Duration::from_secs(20);
            while Instant::now() < deadline {
                if self.waits() == expected {
                    return true;
                }
            }
            false
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            self.0.kill().ok();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_process_that_sleeps_waits_and_one_that_computes_does_not() {
        assert!(Program::start("exec sleep 100").soon_waits(true));
        let busy = Program::start("while :; do :; done");
        assert!(busy.soon_waits(false));
        assert!((0..5).all(|_| !busy.waits()), "also if it has no processor");
        Activity::of(u32::MAX).unwrap_err();
    }

    #[test]
    fn the_numbers_of_the_kernel_are_read() {
        let [ran, waited] = [40, 2].map(Duration::from_nanos);
        assert_eq!(parse("40 2 7\n"), Some(Activity { ran, waited }));
        for broken in ["", "1", "1 x 2", "-1 2 3"] {
            assert_eq!(parse(broken), None);
        }
    }
}
