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
    /// The time of waiting for a processor while it was busy with others. A wait is added when it
    /// ends.
    waited: Duration,
    /// True if a thread has a processor or waits for one at this moment.
    is_runnable: bool,
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
            let thread = thread?.path();
            let read = |name| fs::read_to_string(thread.join(name));
            match read("schedstat").and_then(|times| Ok((times, read("stat")?))) {
                Ok((times, state)) => {
                    sum.add(parse(&times, &state).ok_or(io::ErrorKind::InvalidData)?);
                }
                // The thread has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sum)
    }

    fn add(&mut self, Self { ran, waited, is_runnable }: Self) {
        self.ran = self.ran.saturating_add(ran);
        self.waited = self.waited.saturating_add(waited);
        self.is_runnable |= is_runnable;
    }

    /// The time on a processor since `before`.
    pub(crate) fn ran_since(&self, before: &Self) -> Duration {
        self.ran.saturating_sub(before.ran)
    }

    /// True if the process waited for the `time` between `before` and now: it wanted a processor for
    /// a fifth of it at most, and does not want one now.
    pub(crate) fn has_waited_since(&self, before: &Self, time: Duration) -> bool {
        let waited = self.waited.saturating_sub(before.waited);
        !self.is_runnable && self.ran_since(before).saturating_add(waited) <= time / 5
    }
}

/// Reads `schedstat`, which begins with the nanoseconds on a processor and those of waiting for one,
/// and `stat`, in which the state follows the name. A name may have any characters.
fn parse(times: &str, stat: &str) -> Option<Activity> {
    let mut fields = times.split_ascii_whitespace().map(str::parse::<u64>);
    let (ran, waited) = (fields.next()?.ok()?, fields.next()?.ok()?);
    let (_, state) = stat.rsplit_once(") ")?;
    let (ran, waited) = (Duration::from_nanos(ran), Duration::from_nanos(waited));
    Some(Activity { ran, waited, is_runnable: state.starts_with('R') })
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
        let (sleeps, runs) = ("7 (a) R (b)) S 1 7", "7 (sh) R 1 7");
        for (stat, is_runnable) in [(sleeps, false), (runs, true)] {
            let expected = Activity { ran, waited, is_runnable };
            assert_eq!(parse("40 2 7\n", stat), Some(expected));
        }
        for broken in ["", "1", "1 x 2", "-1 2 3"] {
            assert_eq!(parse(broken, runs), None);
        }
        assert_eq!(parse("40 2 7\n", "7 sh R"), None);
    }

    #[test]
    fn a_process_that_has_waited_for_a_processor_until_now_does_not_wait() {
        let before = Activity::default();
        let now = Activity { is_runnable: true, ..before };
        assert!(before.has_waited_since(&before, PERIOD));
        assert!(!now.has_waited_since(&before, PERIOD), "the kernel has not added the wait yet");
    }
}
