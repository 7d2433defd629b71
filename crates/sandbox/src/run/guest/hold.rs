//! A cell that waits for its caller in the middle of a call: its turn ends, and its guest is held with its
//! native stack until the next turn brings the answers. A caller that hears along is asked before, and may answer
//! within moments: then the turn does not end.
//!
//! For everybody else these are two turns: each has its own time, fuel, log and limit on host calls, and
//! none of it passes in between, nor does the guest's monotonic clock.

use std::time::Instant;

use crate::host_call::host_calls::HostAnswer;
use crate::host_call::replies;
use crate::run::capture::Capture;
use crate::run::deadline::{Deadline, Stopped};
use crate::run::guest::state::{Guest, TurnPart, TurnState};
use crate::run::meter::FuelMeter;
use crate::run::stopwatch::Stopwatch;
use crate::run::timer::run_timer::RunTimer;
use wardian_formats::job::Turn;
use wardian_formats::job::host::NO_ANSWERS;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::outcome::{Conversions, LeftFiles, RunOutcome, RunUsage};
use wardian_formats::job::session::asking::CallerRequests;
use wardian_formats::job::session::cell::{CellOutcome, INTERRUPT_GRACE};
use wardian_vocabulary::units::ByteCount;

/// Asks the caller of a guest, which hears along, and returns its answers. Without them the guest is to end its turn.
/// No time passes meanwhile: neither of the turn, nor on the guest's monotonic clock. With answers the turn has its
/// whole time again.
pub(super) fn ask(guest: &mut Guest, requests: &[u8]) -> HostAnswer {
    let nothing = || HostAnswer::Bytes(replies::done(NO_ANSWERS));
    let Guest { lasting, turn: Some(state) } = guest else { return HostAnswer::Fault };
    let (RunTimer::Live(watch), None, Some(part)) = (&state.timer, &state.meter, &mut state.part)
    else {
        return nothing();
    };
    let clocks = &mut lasting.process.clock_and_random;
    let standing = clocks.parked();
    watch.stand();
    let asked = Instant::now();
    let answers = state.account.ask_caller(requests);
    let now = Instant::now();
    let waited = now.saturating_duration_since(asked);
    part.watch.leave_out(waited);
    let due = match &answers {
        Ok(Some(_)) => now + part.limits.wall_time,
        _ => state.io.deadline.instant() + waited,
    };
    state.io.deadline = state.io.deadline.moved_to(due);
    watch.go_on_until(due);
    // An interruption that came meanwhile is told before the guest goes on.
    watch.look();
    if !clocks.go_on_from(&standing) {
        return HostAnswer::Stopped(Stopped::Cancelled);
    }
    match answers {
        Ok(Some(answers)) => HostAnswer::Bytes(replies::done(&answers)),
        Ok(None) => nothing(),
        Err(refusal) => HostAnswer::Bytes(replies::refused(&refusal)),
    }
}

/// Ends the turn of a guest that asks this of its caller, and returns the answer of its next turn.
pub(super) fn hold(guest: &mut Guest, requests: CallerRequests) -> HostAnswer {
    let Guest { lasting, turn: Some(state) } = guest else { return HostAnswer::Fault };
    let Some(watch) = state.timer.watch() else {
        return HostAnswer::Bytes(replies::refused(&Refusal {
            error_type: "PolicyDenied".to_owned(),
            message: "this interpreter cannot wait for its caller".to_owned(),
        }));
    };
    watch.stand();
    let clocks = &mut lasting.process.clock_and_random;
    if let Some(meter) = &state.meter {
        clocks.note_fuel(meter.left());
    }
    let standing = clocks.parked();
    let memory_peak = ByteCount::from(lasting.ceiling.peak());
    let interrupted = watch.has_noticed();
    let outcome = outcome_of(state, (requests, interrupted), memory_peak);
    let turn = state.account.hold(outcome);
    let began = Stopwatch::start();
    let Some(turn) = turn else { return HostAnswer::Stopped(Stopped::Cancelled) };
    let answers = turn.cell.as_ref().and_then(|cell| cell.answers.as_ref());
    let (Some(answers), true) = (answers, clocks.go_on_from(&standing)) else {
        return HostAnswer::Stopped(Stopped::Cancelled);
    };
    let answer = replies::done(answers.as_str().as_bytes());
    if !begin(state, &turn, began) {
        return HostAnswer::Stopped(Stopped::Cancelled);
    }
    if let Some(budget) = turn.limits.fuel {
        clocks.refuel(FuelMeter::bounded(budget));
    }
    HostAnswer::Bytes(answer)
}

/// The outcome of the part of a cell that ends, which leaves the state of a turn that has not begun.
fn outcome_of(
    state: &mut TurnState,
    (requests, interrupted): (CallerRequests, bool),
    memory_peak: ByteCount,
) -> RunOutcome {
    let nothing = Capture::new(ByteCount::default());
    let logs = std::mem::replace(&mut state.io.capture, nothing).into_logs();
    let cell = state.account.take_cell().unwrap_or_default();
    let cell = CellOutcome { requests, interrupted, is_held: true, ..cell };
    let part = state.part.as_ref();
    let usage = RunUsage {
        wall_time: part.map(|part| part.watch.wall_time()).unwrap_or_default(),
        cpu_time: part.map(|part| part.watch.cpu_time()),
        fuel: state.meter.as_ref().map(FuelMeter::used),
        memory_peak,
        host_calls: state.account.calls(),
        last_reset: None,
        resumed: None,
    };
    RunOutcome {
        end: Ok(()),
        logs,
        // Files are looked at when the cell has ended.
        files: LeftFiles::default(),
        conversions: Conversions::default(),
        blob_names: state.account.take_names(),
        usage,
        profile: None,
        cell: Some(Box::new(cell)),
    }
}

/// Begins the next part. Returns false for a turn that does not fit the guest.
fn begin(state: &mut TurnState, turn: &Turn, watch: Stopwatch) -> bool {
    let limits = turn.limits;
    let has_fuel = match (&mut state.meter, limits.fuel) {
        (None, None) => true,
        (Some(meter), Some(budget)) => meter.restart(budget).is_ok(),
        (Some(_), None) | (None, Some(_)) => false,
    };
    if !has_fuel {
        return false;
    }
    let mut capture = Capture::new(limits.logs);
    if let Some(listener) = state.account.listener().filter(|_| turn.stream_logs) {
        capture.tell(listener);
    }
    state.io.capture = capture;
    let mut deadline = Deadline::at(watch.started() + limits.wall_time);
    // A reproducible guest is stopped at once: where an interrupt arrives depends on the machine.
    if let RunTimer::Live(_) = &state.timer {
        deadline = deadline.with_grace(INTERRUPT_GRACE);
    }
    if let Some(watch) = state.timer.watch() {
        watch.go_on(&deadline);
    }
    state.io.deadline = deadline;
    state.part = Some(TurnPart { limits, watch });
    true
}
