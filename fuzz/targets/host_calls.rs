//! The frames of a guest's host calls: a script of frames, each two bytes of
//! length (little endian) and so many bytes.
//!
//! Beyond "no panic": the host is never asked more often, or with more bytes, than the run's
//! limits allow; logs and displays stay within theirs; every answer is one that the guest's runner
//! knows; and what the guest says of its own failure is cut to its bounds.

#![no_main]

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest};
use wardian_formats::job::session::asking::CallerRequests;
use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::limits::{RunLimits, SetupLimits, TurnLimits};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::outcome::{MAX_CLASS, MAX_MESSAGE, MAX_TRACEBACK};
use wardian_sandbox::clock_and_random::{ClockAndRandom, ClockAndRandomMode};
use wardian_sandbox::host_call::account::{HostCallAccount, ProgramReport};
use wardian_sandbox::host_call::host_calls::{HostAnswer, HostCalls};
use wardian_sandbox::run::capture::Capture;
use wardian_sandbox::run::deadline::Deadline;
use wardian_sandbox::vfs::{At, FileSystem, OpenHow};
use wardian_vocabulary::units::ByteCount;

const LIMITS: TurnLimits = TurnLimits {
    logs: ByteCount::bytes(200),
    host_calls: 6,
    host_bytes: ByteCount::bytes(300),
    ..TurnLimits::DEFAULT
};

/// What the host was asked.
#[derive(Clone, Default)]
struct Asked {
    calls: Rc<Cell<u32>>,
    bytes: Rc<Cell<usize>>,
}

impl Host for Asked {
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        self.calls.set(self.calls.get() + 1);
        self.bytes.set(self.bytes.get() + content.len());
        if kind.is_empty() {
            let message = "a blob needs a kind".to_owned();
            return Err(Refusal { error_type: "ValueError".to_owned(), message });
        }
        Ok(BlobId::of_digest(&Digest::of(content)))
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

fuzz_target!(|script: &[u8]| {
    let asked = Asked::default();
    let account = HostCallAccount::new(Box::new(asked.clone()), b"{\"job\":1}", &LIMITS);
    let order = CellOrder { is_heard: true, ..CellOrder::new(1, false) };
    let mut account = account.for_cell(Some(&order));
    let mut capture = Capture::new(LIMITS.logs);
    let mut files = FileSystem::for_run(&SetupLimits::DEFAULT, &[], 1).unwrap();
    let file = files.open(At { folder: 4, path: "x" }, OpenHow::REPLACE, 1).unwrap();
    files.write(file, &[b'x'; 100], 1).unwrap();

    // Far away: a target must not depend on the time.
    let deadline = Deadline::after(Duration::from_secs(3600));
    let mut clocks = ClockAndRandom::new(ClockAndRandomMode::Live, Clock::System);
    let mut rest = script;
    while let Some((frame, later)) = next(rest) {
        rest = later;
        let (account, capture) = (&mut account, &mut capture);
        let (files, deadline) = (&mut files, &deadline);
        let mut calls = HostCalls::of(account, files, capture, deadline, &mut clocks);
        match calls.answer(frame) {
            HostAnswer::Bytes(bytes) => check_answer(frame[0], &bytes),
            HostAnswer::Shared(bytes) => assert_eq!(&*bytes, b"\0{\"job\":1}"),
            HostAnswer::Fault => {}
            HostAnswer::Asked(requests) => {
                assert!(CallerRequests::read(&requests).is_some());
                asked.calls.set(asked.calls.get() + 1);
                asked.bytes.set(asked.bytes.get() + requests.len());
            }
            HostAnswer::Held(_) => panic!("the host holds no guests"),
            HostAnswer::Stopped(stopped) => panic!("an hour is over: {stopped}"),
            HostAnswer::OutOfFuel => panic!("fuel is not counted"),
        }
    }
    assert!(asked.calls.get() <= LIMITS.host_calls);

    let logs = capture.into_logs();
    let kept: usize = logs.chunks.iter().map(|chunk| chunk.text.len()).sum();
    // One byte that is no text becomes three.
    assert!(kept <= 3 * LIMITS.logs.as_usize());
    let cell = account.take_cell().expect("the turn is a cell");
    assert!(cell.is_bounded() && !cell.reseeded);
    let returned = check_report(account.take_report().0);
    assert!(asked.bytes.get() + returned <= LIMITS.host_bytes.as_usize());
});

fn next(script: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = script.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    Some(rest.split_at(length))
}

/// Granted, with what belongs to the operation; or refused, with the type and message of an
/// exception.
fn check_answer(operation: u8, bytes: &[u8]) {
    match bytes.split_first() {
        Some((0, body)) => match operation {
            // A report: a byte says that files are open for writing.
            0x02 | 0x03 | 0x0b => assert!(matches!(body, [] | [1])),
            0x04 | 0x0a | 0x0c => assert!(body.is_empty()),
            0x05 | 0x06 => {
                let body: serde_json::Value = serde_json::from_slice(body).unwrap();
                assert!(BlobId::parse(body["id"].as_str().unwrap()).is_ok());
            }
            // An error number comes first.
            0x07 => assert!(body.len() >= 2),
            0x08 | 0x09 | 0x0d => {}
            // The number of what a cell displays. Its requests to the caller are a report.
            0x0e => assert!(matches!(body, [] | [1]) || body.len() == 4),
            _ => panic!("an answer to nothing: {bytes:?}"),
        },
        Some((1, body)) => {
            let body: serde_json::Value = serde_json::from_slice(body).unwrap();
            assert!(body["type"].is_string() && body["message"].is_string());
            assert!(bytes.len() < 500, "an endless refusal");
        }
        _ => panic!("an answer that nobody understands: {bytes:?}"),
    }
}

/// The length of the returned value, if the program returned one.
fn check_report(report: Option<ProgramReport>) -> usize {
    match report {
        Some(ProgramReport::Returned(value, _)) => return value.len(),
        Some(ProgramReport::Raised(raised)) => {
            let failure = raised.into_failure(&RunLimits::DEFAULT, false);
            assert!((1..=MAX_CLASS).contains(&failure.error_type().len()));
            assert!(failure.to_string().len() <= MAX_MESSAGE);
            assert!(failure.traceback().is_none_or(|text| text.len() <= MAX_TRACEBACK));
        }
        Some(ProgramReport::Waits | ProgramReport::Unreadable) | None => {}
    }
    0
}
