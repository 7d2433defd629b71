//! What becomes of a run that came out of the queue of a fleet.

use crate::error::ServiceError;
use crate::run::background::aftermath::StepsEnd;
use crate::run::result::answered::Answered;
use crate::runs::active::StopReason;
use wardian_dispatch::DispatchError;
use wardian_vocabulary::error::ErrorKind;

/// What becomes of a run that came out of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlacedEnd {
    /// Its record is written, if it is still this server's.
    Record,
    /// It waits again, for this server or another one.
    GiveBack {
        /// True if it is left to others for a while.
        is_impossible_here: bool,
    },
    /// Nothing: it is not this server's any more.
    Forget,
}

impl PlacedEnd {
    /// What becomes of a run whose steps have ended like this.
    pub(crate) fn of(
        has_begun: bool,
        end: StepsEnd,
        answered: &Result<Answered, ServiceError>,
    ) -> Self {
        match (answered, end) {
            (_, StepsEnd::Stopped(StopReason::Interrupted)) if !has_begun => {
                Self::GiveBack { is_impossible_here: false }
            }
            (_, StepsEnd::Stopped(_)) | (Ok(_), _) => Self::Record,
            (Err(error), _) => Self::of_error(has_begun, error),
        }
    }

    /// What becomes of a run that has failed with an error.
    pub(crate) fn of_error(has_begun: bool, error: &ServiceError) -> Self {
        if has_begun {
            return Self::Record;
        }
        match error {
            ServiceError::Dispatch(DispatchError::Withdrawn) => Self::Forget,
            ServiceError::Dispatch(DispatchError::TooMuchMemory | DispatchError::TooLarge(_))
            | ServiceError::Secrets { .. }
            | ServiceError::Registry(_)
            | ServiceError::Packages(_) => Self::GiveBack { is_impossible_here: true },
            ServiceError::Dispatch(_) | ServiceError::Stopping => {
                Self::GiveBack { is_impossible_here: false }
            }
            error => match error.kind() {
                ErrorKind::Overloaded | ErrorKind::RateLimited | ErrorKind::Internal => {
                    Self::GiveBack { is_impossible_here: true }
                }
                // It would be refused anywhere.
                _ => Self::Record,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::error::FleetError;
    use wardian_formats::protocol::params_error::ParamsError;
    use wardian_vocabulary::budget::BudgetExhausted;

    #[test]
    fn what_has_begun_is_recorded_and_what_may_go_elsewhere_is_given_back() {
        let (here, elsewhere) = (
            PlacedEnd::GiveBack { is_impossible_here: false },
            PlacedEnd::GiveBack { is_impossible_here: true },
        );
        let wrong = ParamsError::wrong("args", "a value", "another one");
        let rows: [(ServiceError, PlacedEnd); 7] = [
            (DispatchError::Withdrawn.into(), PlacedEnd::Forget),
            (DispatchError::NoWorker.into(), here),
            (DispatchError::TooMuchMemory.into(), elsewhere),
            (ServiceError::Stopping, here),
            (BudgetExhausted.into(), elsewhere),
            (FleetError::OtherHere { what: "skills" }.into(), elsewhere),
            (wrong.into(), PlacedEnd::Record),
        ];
        for (error, expected) in rows {
            assert_eq!(PlacedEnd::of_error(false, &error), expected, "{error:?}");
            assert_eq!(PlacedEnd::of_error(true, &error), PlacedEnd::Record, "{error:?}");
            let failed = Err(error);
            let stopped = |reason| StepsEnd::Stopped(reason);
            assert_eq!(PlacedEnd::of(false, stopped(StopReason::Interrupted), &failed), here);
            assert_eq!(
                PlacedEnd::of(false, stopped(StopReason::Cancelled), &failed),
                PlacedEnd::Record
            );
            assert_eq!(PlacedEnd::of(true, StepsEnd::Failed, &failed), PlacedEnd::Record);
        }
    }
}
