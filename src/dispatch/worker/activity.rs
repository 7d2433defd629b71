//! What the threads of a process do, as the kernel tells it.
//!
//! The kernel is asked and not the worker, because a worker that was taken over would tell what it
//! likes.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The time for which the threads of a process have wanted a processor: the time that they had on
/// one, and the time that they waited for one while it was busy with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity(Duration);

impl Activity {
    /// The activity of a process, of which the kernel tells in `/proc/PID/task/TID/schedstat`.
    ///
    /// # Errors
    ///
    /// The process has ended, or the system does not show it.
    pub(crate) fn of(process: u32) -> io::Result<Self> {
        let threads = Path::new("/proc").join(process.to_string()).join("task");
        let mut wanted = Duration::ZERO;
        for thread in fs::read_dir(threads)? {
            match fs::read_to_string(thread?.path().join("schedstat")) {
                Ok(text) => wanted += parse(&text).ok_or(io::ErrorKind::InvalidData)?,
                // The thread has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self(wanted))
    }

    /// True if the process waited for the `time` between `before` and now: it wanted a processor for
    /// a fifth of it at most.
    pub(crate) fn has_waited_since(&self, before: &Self, time: Duration) -> bool {
        self.0.saturating_sub(before.0) <= time / 5
    }
}

/// The nanoseconds on a processor, and those of waiting for one.
fn parse(text: &str) -> Option<Duration> {
    let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
    let (ran, waited) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(Duration::from_nanos(ran.saturating_add(waited)))
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
        assert_eq!(parse("40 2 7\n"), Some(Duration::from_nanos(42)));
        for broken in ["", "1", "1 x 2", "-1 2 3"] {
            assert_eq!(parse(broken), None);
        }
    }
}
