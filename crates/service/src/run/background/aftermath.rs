//! What a run in the background leaves in the database, beside its record, once it is over.
//!
//! It was noted there before it waited for a worker, with the key of its call. What came of it decides
//! whether the note and the key stay.

use crate::run::background::detach_policy::Awaits;
use crate::runs::active::{Reached, StopReason};

/// How the steps of a run came to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepsEnd {
    /// With an answer, whatever the program did.
    Answered,
    /// The run was stopped.
    Stopped(StopReason),
    /// The pool refused it or gave it up, so nothing was executed, whatever came before.
    NotBegun,
    /// Another step failed.
    Failed,
}

/// One thing to do about a run in the background that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aftermath {
    /// Its call was told that it goes on, so it is recorded whatever its end.
    Record,
    /// It was noted and not admitted: nobody knows it.
    ForgetRun,
    /// Nothing was executed and its call was not told of it, so the same call may come again.
    ForgetKey,
}

impl Aftermath {
    /// What is to be done, in this order, about a run that came as far as `reached`, whose call waits
    /// for `awaits`.
    pub(crate) fn of(reached: Reached, end: StepsEnd, awaits: Awaits) -> Vec<Self> {
        let is_refused = matches!(end, StepsEnd::NotBegun | StepsEnd::Failed);
        let was_executed = reached == Reached::Worker && end != StepsEnd::NotBegun;
        let mut all = Vec::new();
        if reached >= Reached::Queue {
            all.push(Self::Record);
        } else if is_refused {
            all.push(Self::ForgetRun);
        }
        let is_unanswered = is_refused || end == StepsEnd::Stopped(StopReason::Interrupted);
        if awaits == Awaits::End && is_unanswered && !was_executed {
            all.push(Self::ForgetKey);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How far a run came, how it ended, what is to be done if its call waits for the admission, and what
    /// if it waits for the end.
    type Row = (Reached, StepsEnd, &'static [Aftermath], &'static [Aftermath]);

    /// Each place at which a run can end, with each way to end there.
    #[test]
    fn what_is_executed_keeps_its_key_and_what_is_known_has_a_record() {
        use Aftermath::{ForgetKey, ForgetRun, Record};
        use StepsEnd::{Answered, Failed, NotBegun, Stopped};
        let (cancelled, interrupted) =
            (Stopped(StopReason::Cancelled), Stopped(StopReason::Interrupted));
        let rows: [Row; 15] = [
            (Reached::Preparation, Answered, &[], &[]),
            (Reached::Preparation, cancelled, &[], &[]),
            (Reached::Preparation, interrupted, &[], &[ForgetKey]),
            (Reached::Preparation, NotBegun, &[ForgetRun], &[ForgetRun, ForgetKey]),
            (Reached::Preparation, Failed, &[ForgetRun], &[ForgetRun, ForgetKey]),
            (Reached::Queue, Answered, &[Record], &[Record]),
            (Reached::Queue, cancelled, &[Record], &[Record]),
            (Reached::Queue, interrupted, &[Record], &[Record, ForgetKey]),
            (Reached::Queue, NotBegun, &[Record], &[Record, ForgetKey]),
            (Reached::Queue, Failed, &[Record], &[Record, ForgetKey]),
            (Reached::Worker, Answered, &[Record], &[Record]),
            (Reached::Worker, cancelled, &[Record], &[Record]),
            (Reached::Worker, interrupted, &[Record], &[Record]),
            // The worker broke before the run began, and no other one was found.
            (Reached::Worker, NotBegun, &[Record], &[Record, ForgetKey]),
            (Reached::Worker, Failed, &[Record], &[Record]),
        ];
        for (reached, end, background, awaited) in rows {
            let case = format!("{reached:?}, {end:?}");
            assert_eq!(Aftermath::of(reached, end, Awaits::Admission), background, "{case}");
            assert_eq!(Aftermath::of(reached, end, Awaits::End), awaited, "{case}");
        }
    }
}
