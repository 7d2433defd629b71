//! What the threads of a process do, as the kernel tells it.
//!
//! The kernel is asked and not the worker, because a worker that was taken over would tell what it
//! likes.

use std::fs;
use std::io;
use std::path::Path;

/// The time that a process has had on processors, and whether it wants one now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Processor time in the kernel's units, which are hundredths of a second.
    ticks: u64,
    /// True if one of its threads runs, or would if a processor were free.
    is_runnable: bool,
}

impl Activity {
    /// The activity of a process.
    ///
    /// # Errors
    ///
    /// The process has ended, or the system does not show it.
    pub(crate) fn of(process: u32) -> io::Result<Self> {
        let folder = Path::new("/proc").join(process.to_string());
        let (_, ticks) = read(&folder)?;
        let mut is_runnable = false;
        for thread in fs::read_dir(folder.join("task"))? {
            match read(&thread?.path()) {
                Ok((state, _)) => is_runnable |= matches!(state, b'R' | b'D'),
                // The thread has ended meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { ticks, is_runnable })
    }

    /// True if the process waited between `before` and now: it took one unit of time at most, and
    /// none of its threads wants a processor.
    pub(crate) const fn has_waited_since(&self, before: &Self) -> bool {
        !self.is_runnable && self.ticks.saturating_sub(before.ticks) <= 1
    }
}

/// The state and the processor time of a process or a thread: see `proc_pid_stat(5)`.
fn read(folder: &Path) -> io::Result<(u8, u64)> {
    let text = fs::read(folder.join("stat"))?;
    parse(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn parse(text: &[u8]) -> Option<(u8, u64)> {
    // The name is in parentheses, and can have more of them.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(text.get(end..)?.get(1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let mut times = fields.skip(10).map(str::parse::<u64>);
    let (user, system) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((state, user.saturating_add(system)))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    struct Program(Child);

    impl Program {
        fn start(script: &str) -> Self {
            let mut command = Command::new("sh");
            Self(command.args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
        }

        /// True if it is soon seen to wait, or not to wait, over a twentieth of a second.
        fn is_soon_seen(&self, waiting: bool) -> bool {
            let deadline = Instant::now() + Duration::from_secs(20);
            while Instant::now() < deadline {
                let before = Activity::of(self.0.id()).unwrap();
                thread::park_timeout(Duration::from_millis(50));
                if Activity::of(self.0.id()).unwrap().has_waited_since(&before) == waiting {
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
        assert!(Program::start("exec sleep 100").is_soon_seen(true));
        let busy = Program::start("while :; do :; done");
        assert!(busy.is_soon_seen(false));
        for _ in 0..5 {
            let before = Activity::of(busy.0.id()).unwrap();
            thread::park_timeout(Duration::from_millis(50));
            let now = Activity::of(busy.0.id()).unwrap();
            assert!(!now.has_waited_since(&before), "{before:?} {now:?}");
        }
        Activity::of(u32::MAX).unwrap_err();
    }

    #[test]
    fn any_name_of_a_process_is_read_over() {
        let line = b"7 (a) R (b) S 1 2 3 4 5 6 7 8 9 10 40 2 0 0 20 0";
        assert_eq!(parse(line), Some((b'S', 42)));
        for broken in
            [&b""[..], b"7 (a", b"7 (a)", b"7 (a) S 1 2", b"7 (a) S 1 2 3 4 5 6 7 8 9 10 x 1"]
        {
            assert_eq!(parse(broken), None);
        }
    }
}
