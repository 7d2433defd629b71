//! Translates the end of a guest into the failure that its caller sees.

use std::ops::Range;
use std::time::Duration;

use serde::Deserialize;
use wasmtime::Trap;

use crate::preview1::Exited;
use crate::run::deadline::Stopped;
use wardian_engine::code::metering::transform::COUNTERS;
use wardian_engine::code::polls::POLL_PAGE;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::outcome::{MAX_MESSAGE, MAX_TRACEBACK, RunFailure, is_class_name};

/// The mark at the end of a cut text.
const MARK: &str = " [cut]";

/// The runner's report when Python code raised. Text of a possibly hostile guest.
#[derive(Debug, Deserialize)]
pub struct Raised {
    #[serde(rename = "type")]
    class: String,
    message: String,
    traceback: Option<String>,
}

impl Raised {
    /// The failure, with every text bounded. A class that is not a name becomes `Exception`.
    #[must_use]
    pub fn into_failure(self, limits: &RunLimits, refused_memory: bool) -> RunFailure {
        if self.class == "MemoryError" && refused_memory {
            let traceback = self.traceback.map(|text| cut(text, MAX_TRACEBACK));
            return RunFailure::MemoryLimit { limit: limits.memory, traceback };
        }
        RunFailure::Exception {
            class: if is_class_name(&self.class) { self.class } else { "Exception".to_owned() },
            message: cut(self.message, MAX_MESSAGE),
            traceback: self.traceback.map(|text| cut(text, MAX_TRACEBACK)),
        }
    }
}

/// The class of the exception with which an interrupted program ends.
const INTERRUPT: &str = "KeyboardInterrupt";

/// The failure of a cell that has ended with this one, if the host had `interrupted` it for a reason. A
/// program may raise the same exception by itself. Code that calls the program back, such as a validator's,
/// may make another exception of it: a cell at its time limit has the traceback of that one.
pub(crate) fn after_interruption(
    failure: RunFailure,
    interrupted: Option<Stopped>,
    limit: Duration,
) -> RunFailure {
    match (failure, interrupted) {
        (RunFailure::Exception { traceback, .. }, Some(Stopped::Deadline)) => {
            RunFailure::Timeout { limit, traceback }
        }
        (RunFailure::Exception { class, message, traceback }, Some(Stopped::Interrupted))
            if class == INTERRUPT && message.is_empty() =>
        {
            let message = "the cell was interrupted".to_owned();
            RunFailure::Exception { class, message, traceback }
        }
        (failure, _) => failure,
    }
}

/// The reason why a call into the guest ended, if it did not return by itself.
pub(crate) fn failure_of(
    error: &wasmtime::Error,
    limits: &RunLimits,
    refused_memory: bool,
) -> RunFailure {
    if let Some(Exited { code }) = error.downcast_ref::<Exited>() {
        return RunFailure::Exception {
            class: "SystemExit".to_owned(),
            message: signal_of(*code).map_or_else(
                || format!("the program ended its process with exit code {code}"),
                |signal| format!("the program ended itself with {signal}"),
            ),
            traceback: None,
        };
    }
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return match stopped {
            Stopped::Deadline => RunFailure::Timeout { limit: limits.wall_time, traceback: None },
            Stopped::Interrupted => RunFailure::Exception {
                class: INTERRUPT.to_owned(),
                message: "the cell did not end within a second after it was interrupted".to_owned(),
                traceback: None,
            },
            Stopped::Cancelled => RunFailure::Cancelled,
        };
    }
    let trap = error.downcast_ref::<Trap>();
    match (trap, limits.fuel) {
        (Some(Trap::OutOfFuel), Some(limit)) => RunFailure::FuelExhausted { limit },
        (Some(Trap::StackOverflow), _) => RunFailure::StackOverflow,
        (Some(Trap::MemoryOutOfBounds), _) => match fault_address(error) {
            Some(address) if BELOW_STACK.contains(&address) => RunFailure::StackOverflow,
            _ => crash("the interpreter accessed memory out of bounds"),
        },
        _ if refused_memory => RunFailure::MemoryLimit { limit: limits.memory, traceback: None },
        (Some(Trap::UnreachableCodeReached), _) => crash("the interpreter aborted"),
        (Some(_), _) => crash("the interpreter crashed"),
        (None, _) => crash("the sandbox failed"),
    }
}

/// Exit codes from here on are numbers of signals; as `_SIGNALLED` in `wasm/guest/_wardian/signals.py`.
const SIGNALLED: u32 = 0x5753_4700;

/// The name of the signal with which a program has ended itself.
fn signal_of(code: u32) -> Option<String> {
    let number = code.checked_sub(SIGNALLED).filter(|number| (1..=64).contains(number))?;
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        19 => "SIGSTOP",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        other => return Some(format!("signal {other}")),
    };
    Some(name.to_owned())
}

/// The addresses that C code writes to when its C stack overflows.
///
/// The stack is at the beginning of memory and grows down, so an overflow wraps to the end of the
/// 32-bit address space, or beyond that end by the offset of the access. Functions that reserve
/// room on this stack without touching it go further below zero until one writes; the native stack
/// ends before they have reserved 128 MiB. No memory reaches this range: the largest memory that an
/// operator can configure ends before it.
const BELOW_STACK: Range<u64> = (1 << 32) - (128 << 20)..(1 << 32) + (1 << 20);

/// The addresses of the counter in its memory.
const COUNTER: Range<u64> = 0..8 * COUNTERS as u64;

/// True if the guest was stopped by closed [control pages](crate::memory::ControlPages), or
/// by an epoch.
pub(crate) fn is_stop(error: &wasmtime::Error) -> bool {
    let page = u64::from(POLL_PAGE.start)..u64::from(POLL_PAGE.end);
    // Nothing else can fault there: the beginning of the guest's own memory is accessible.
    let is_control = |address| COUNTER.contains(&address) || page.contains(&address);
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => true,
        Some(Trap::MemoryOutOfBounds) => fault_address(error).is_some_and(is_control),
        _ => false,
    }
}

/// The address in the guest's memory whose access has trapped, if that is known.
///
/// wasmtime adds it to the error as a context of a private type, so it has to be read from the
/// text. The version of wasmtime is pinned, and a test reads the addresses of real faults.
fn fault_address(error: &wasmtime::Error) -> Option<u64> {
    error.chain().find_map(|cause| {
        let text = cause.to_string();
        let address = text.strip_prefix("memory fault at wasm address 0x")?;
        u64::from_str_radix(address.split(' ').next()?, 16).ok()
    })
}

/// A crash with this reason.
pub fn crash(reason: &str) -> RunFailure {
    RunFailure::SandboxCrash { reason: reason.to_owned() }
}

/// A text of at most `limit` bytes. A longer text is cut between characters and gets a mark.
fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let most = limit.saturating_sub(MARK.len());
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}

#[cfg(test)]
mod tests {
    use wasmtime::{Error, Instance, Module, Store};

    use super::*;
    use wardian_engine::code::compile;
    use wardian_engine::code::instrumentation::Variant;
    use wardian_vocabulary::units::Fuel;

    const LIMITS: RunLimits = RunLimits { fuel: Some(Fuel(9)), ..RunLimits::DEFAULT };

    fn raised(class: &str) -> Raised {
        Raised { class: class.to_owned(), message: "m".repeat(20_000), traceback: None }
    }

    #[test]
    fn every_stop_has_its_type() {
        let cases = [
            (Error::new(Exited { code: 3 }), "SystemExit"),
            (Error::new(Exited { code: SIGNALLED + 15 }), "SystemExit"),
            (Error::new(Stopped::Deadline), "Timeout"),
            (Error::new(Stopped::Cancelled), "Cancelled"),
            (Error::new(Stopped::Interrupted), "KeyboardInterrupt"),
            (Error::new(Trap::OutOfFuel), "FuelExhausted"),
            (Error::new(Trap::StackOverflow), "StackOverflow"),
            (Error::new(Trap::MemoryOutOfBounds), "SandboxCrash"),
            (Error::new(Trap::UnreachableCodeReached), "SandboxCrash"),
            (Error::new(Trap::IndirectCallToNull), "SandboxCrash"),
            (Error::msg("host"), "SandboxCrash"),
        ];
        for (error, expected) in cases {
            assert_eq!(failure_of(&error, &LIMITS, false).error_type(), expected, "{error:?}");
        }
    }

    #[test]
    fn an_interrupted_cell_ends_as_what_has_interrupted_it() {
        let limit = Duration::from_secs(3);
        let raised = |class: &str, message: &str| RunFailure::Exception {
            class: class.to_owned(),
            message: message.to_owned(),
            traceback: Some("t".to_owned()),
        };
        let own = raised(INTERRUPT, "");
        let late = after_interruption(own.clone(), Some(Stopped::Deadline), limit);
        assert_eq!(late, RunFailure::Timeout { limit, traceback: Some("t".to_owned()) });
        let asked = after_interruption(own.clone(), Some(Stopped::Interrupted), limit);
        assert_eq!(asked, raised(INTERRUPT, "the cell was interrupted"));
        assert_eq!(after_interruption(own.clone(), None, limit), own, "it has raised it itself");
        let other = raised("ValueError", "");
        let asked = after_interruption(other.clone(), Some(Stopped::Interrupted), limit);
        assert_eq!(asked, other);
        let late = after_interruption(other, Some(Stopped::Deadline), limit);
        assert_eq!(late, RunFailure::Timeout { limit, traceback: Some("t".to_owned()) });
    }

    /// Loads and stores at any address, with and without an offset.
    const ACCESS: &str = r#"(module
        (memory (export "memory") 1)
        (func (export "load") (param i32) (drop (i32.load (local.get 0))))
        (func (export "store") (param i32) (i32.store (local.get 0) (i32.const 1)))
        (func (export "frame") (param i32)
            (i32.store offset=4096 (local.get 0) (i32.const 1)))
        (func (export "far") (param i32)
            (i32.store offset=2147483648 (local.get 0) (i32.const 1))))"#;

    #[test]
    fn faults_are_told_apart_by_their_address() {
        let engine = compile::start(Variant::Timed).unwrap();
        let module = Module::new(&engine, wat::parse_str(ACCESS).unwrap()).unwrap();
        let cases: [(&str, u32, Option<u64>, &str, bool); 13] = [
            ("store", 0u32.wrapping_sub(16), Some(0xffff_fff0), "StackOverflow", false),
            ("store", 0u32.wrapping_sub(4), Some(0xffff_fffc), "StackOverflow", false),
            ("load", 0u32.wrapping_sub(70_000), Some(0xfffe_ee90), "StackOverflow", false),
            ("frame", 0u32.wrapping_sub(16), Some(0x1_0000_0ff0), "StackOverflow", false),
            ("store", 0xffff_0000, Some(0xffff_0000), "StackOverflow", true),
            ("load", 0xffff_0ffc, Some(0xffff_0ffc), "StackOverflow", true),
            ("store", 0xffff_1000, Some(0xffff_1000), "StackOverflow", false),
            ("store", 0x1_0000, Some(0x1_0000), "SandboxCrash", false),
            ("load", 0x4141_4141, Some(0x4141_4141), "SandboxCrash", false),
            ("store", 0xdead_beef, Some(0xdead_beef), "SandboxCrash", false),
            ("store", 0xffe0_0000, Some(0xffe0_0000), "StackOverflow", false),
            ("store", 0xf7ff_fff0, Some(0xf7ff_fff0), "SandboxCrash", false),
            ("far", 0xf000_0000, None, "SandboxCrash", false),
        ];
        for (export, address, expected, error_type, polls) in cases {
            let mut store = Store::new(&engine, ());
            let instance = Instance::new(&mut store, &module, &[]).unwrap();
            let access = instance.get_typed_func::<u32, ()>(&mut store, export).unwrap();
            let error = access.call(&mut store, address).unwrap_err();
            assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::MemoryOutOfBounds));
            if expected.is_some() {
                assert_eq!(fault_address(&error), expected, "{export} {address:#x}");
            }
            let failure = failure_of(&error, &LIMITS, true);
            assert_eq!(failure.error_type(), error_type, "{export} {address:#x}");
            assert_eq!(is_stop(&error), polls, "{export} {address:#x}");
        }
    }

    #[test]
    fn an_abort_after_a_refused_growth_is_the_memory_limit() {
        let abort = Error::new(Trap::UnreachableCodeReached);
        assert_eq!(failure_of(&abort, &LIMITS, true).error_type(), "MemoryLimit");
        assert_eq!(raised("MemoryError").into_failure(&LIMITS, true).error_type(), "MemoryLimit");
        let own = raised("MemoryError").into_failure(&LIMITS, false);
        assert_eq!(own.error_type(), "MemoryError");
    }

    #[test]
    fn hostile_texts_are_bounded() {
        for class in ["", "a b", "<script>", &"x".repeat(200)] {
            assert_eq!(raised(class).into_failure(&LIMITS, false).error_type(), "Exception");
        }
        let failure = raised("ValueError").into_failure(&LIMITS, false);
        assert_eq!(failure.to_string().len(), MAX_MESSAGE);
        assert_eq!(cut("é".repeat(10), 9), "é [cut]");
        assert_eq!(cut("é".repeat(10), 20), "é".repeat(10));
    }
}
