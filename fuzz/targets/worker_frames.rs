//! What a worker that was taken over can send to the gateway: frames on its socket.
//!
//! The first byte says how to read the rest: as the raw stream, or as one message that is framed
//! soundly, so that the fuzzer need not guess lengths. Beyond "no panic": a message that is taken
//! says the same when it is sent on, payloads are as large as announced, and no outcome passes
//! that is beyond the run's limits.

#![no_main]

#[path = "shared/stream.rs"]
mod stream;

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use wardian_dispatch::check_outcome;
use wardian_formats::job::frame;
use wardian_formats::job::{SetupLimits, TurnLimits};
use wardian_formats::job::message::{FromWorker, INLINE_MAX, Payload};
use wardian_formats::job::outcome::{MAX_CLASS, MAX_MESSAGE, MAX_TRACEBACK, RunOutcome};
use wardian_vocabulary::units::ByteCount;

const LIMITS: TurnLimits =
    TurnLimits { logs: ByteCount::bytes(64), host_calls: 4, ..TurnLimits::DEFAULT };

const MEMORY: ByteCount = SetupLimits::DEFAULT.memory;

const ELAPSED: Duration = Duration::from_millis(5);

fuzz_target!(|bytes: &[u8]| {
    for (message, payload) in stream::received::<FromWorker>(bytes) {
        match &payload {
            Payload::None => {}
            Payload::Inline(inline) => assert!((1..=INLINE_MAX).contains(&inline.len())),
            Payload::Shared(..) => panic!("a descriptor out of nowhere"),
        }
        stream::assert_reads_back(&message);
        if let FromWorker::Done { outcome, .. } = message {
            if let Ok(outcome) = check_outcome(*outcome, MEMORY, &LIMITS, (ELAPSED, Some(ELAPSED))) {
                check(&outcome);
            }
        }
    }
});

fn check(outcome: &RunOutcome) {
    let log: usize = outcome.logs.chunks.iter().map(|chunk| chunk.text.len()).sum();
    assert!(log <= 3 * LIMITS.logs.as_usize());
    assert!(outcome.logs.chunks.len() <= LIMITS.logs.as_usize() + 4);
    assert!(outcome.cell.as_ref().is_none_or(|cell| cell.is_bounded()));
    assert!(outcome.usage.wall_time <= ELAPSED);
    assert!(outcome.usage.memory_peak <= MEMORY);
    assert!(outcome.usage.host_calls <= LIMITS.host_calls);
    if let Err(failure) = &outcome.end {
        assert!((1..=MAX_CLASS).contains(&failure.error_type().len()));
        assert!(failure.to_string().len() <= MAX_MESSAGE);
        assert!(failure.traceback().is_none_or(|text| text.len() <= MAX_TRACEBACK));
    }
    frame::encode(outcome, &[], false).expect("an outcome that passed can be sent on");
}
