//! Progress as lines for logs and pipes.

use std::io::Write;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::progress::{Progress, Step, StepEnd, StepReport, ended};

/// The shortest time between two lines of one step.
const SHORTEST: Duration = Duration::from_secs(3);

/// The longest time between two lines of a step in progress.
const LONGEST: Duration = Duration::from_secs(15);

/// The difference in per cent that is worth a line.
const WORTH_A_LINE: u8 = 10;

/// Writes a line when a step begins, some while it is in progress, and one when it ends.
#[derive(Debug)]
pub struct Lines<W>(Mutex<Written<W>>);

#[derive(Debug)]
struct Written<W> {
    out: W,
    last: Instant,
    percent: u8,
}

impl<W: Write + Send> Lines<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self(Mutex::new(Written { out, last: Instant::now(), percent: 0 }))
    }

    /// The writer.
    pub fn into_inner(self) -> W {
        self.0.into_inner().out
    }
}

impl<W: Write> Written<W> {
    fn line(&mut self, line: &str, percent: u8) {
        (self.last, self.percent) = (Instant::now(), percent);
        // The reader may have gone away; the work continues.
        drop(writeln!(self.out, "{line}"));
    }
}

impl<W: Write + Send> Progress for Lines<W> {
    fn begin(&self, report: &StepReport) {
        let once = if matches!(report.step, Step::Compile(_)) { " (once)" } else { "" };
        self.0.lock().line(&format!("{}{once} ...", report.step.doing()), 0);
    }

    fn advance(&self, report: &StepReport) {
        let mut written = self.0.lock();
        let Some(percent) = report.percent() else { return };
        let further = percent.abs_diff(written.percent);
        let is_due = match written.last.elapsed() {
            passed if passed >= LONGEST => further > 0,
            passed if passed >= SHORTEST => further >= WORTH_A_LINE,
            _ => false,
        };
        if is_due {
            written.line(&report.to_string(), percent);
        }
    }

    fn end(&self, step: Step, ending: StepEnd) {
        if let StepEnd::Done(took) = ending {
            self.0.lock().line(&ended(step, took), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::instrumentation::Variant;
    use crate::progress::Running;

    const COMPILE: Step = Step::Compile(Variant::Timed);

    #[test]
    fn lines_name_each_step_and_its_duration() {
        let lines = Lines::new(Vec::new());
        lines.begin(&StepReport::new(Step::Separate, None, 0, Duration::ZERO));
        lines.end(Step::Separate, StepEnd::Done(Duration::ZERO));
        let running = Running::begin(&lines, Step::Unpack, Some(5));
        running.advance(3);
        drop(running);
        lines.begin(&StepReport::new(COMPILE, Some(9), 0, Duration::ZERO));
        lines.end(Step::Compile(Variant::Metered), StepEnd::Done(Duration::from_millis(104_300)));
        lines.end(COMPILE, StepEnd::Done(Duration::from_millis(9_850)));
        let text = String::from_utf8(lines.into_inner()).unwrap();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "taking the engine's code and data apart ...",
                "took the engine's code and data apart in 0.1 s",
                "unpacking the engine ...",
                "compiling the engine (once) ...",
                "compiled the engine with metering in 104 s",
                "compiled the engine in 9.9 s",
            ]
        );
    }

    #[test]
    fn a_long_step_says_how_far_it_is() {
        let lines = Lines::new(Vec::new());
        let long_ago = |ago: u64| {
            let then = Instant::now().checked_sub(Duration::from_secs(ago)).unwrap();
            lines.0.lock().last = then;
        };
        let at = |done| StepReport::new(COMPILE, Some(100), done, Duration::from_secs(10));
        lines.begin(&at(0));
        // Too soon; too little; enough; little after a long time; nothing new.
        for (done, ago) in [(50, 0), (5, 4), (10, 4), (12, 20), (12, 40)] {
            long_ago(ago);
            lines.advance(&at(done));
        }
        let text = String::from_utf8(lines.into_inner()).unwrap();
        assert_eq!(
            text.lines().skip(1).collect::<Vec<_>>(),
            [
                "compiling the engine: 10 %, about 2 minutes left",
                "compiling the engine: 12 %, about 75 s left"
            ]
        );
    }
}
