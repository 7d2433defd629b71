//! What the clocks and the randomness of a reproducible session follow from.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use wardian_formats::job::{FuelRules, Reproducible};
use wardian_formats::protocol::methods::execution::{DEFAULT_EPOCH, ReproducibleParam};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::protocol::tools::{MAX_EPOCH, MAX_SEED};
use wardian_vocabulary::ids::CheckpointId;

/// Whether, and from what, a session is to be reproducible, as a caller sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected true, false, or an object with `seed` and `epoch`")]
pub enum SessionSeedParam {
    /// From the defaults, or not at all.
    Flag(bool),
    /// From these.
    Inputs(SessionSeedInputs),
}

/// What a session follows from, as a caller sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionSeedInputs {
    /// Decides all randomness.
    pub seed: u64,
    /// The time of day at the start, in seconds since the Unix epoch.
    pub epoch: u64,
}

impl Default for SessionSeedInputs {
    fn default() -> Self {
        Self { seed: 0, epoch: DEFAULT_EPOCH }
    }
}

/// What the clocks and the randomness of a session follow from, as its row keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionSeed {
    /// Decides all randomness.
    pub(crate) seed: u64,
    /// The time of day at the start, in seconds since the Unix epoch.
    pub(crate) epoch: u64,
    /// What uses fuel besides instructions.
    fuel_rules: FuelRules,
    /// The checkpoint at which it began as a fork with a seed of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    forked_at: Option<CheckpointId>,
}

impl SessionSeed {
    /// What a new session follows from; `None` if it is not to be reproducible.
    ///
    /// # Errors
    ///
    /// A number is out of its bounds.
    pub(crate) fn of_order(asked: Option<SessionSeedParam>) -> Result<Option<Self>, ParamsError> {
        let SessionSeedInputs { seed, epoch } = match asked {
            None | Some(SessionSeedParam::Flag(false)) => return Ok(None),
            Some(SessionSeedParam::Flag(true)) => SessionSeedInputs::default(),
            Some(SessionSeedParam::Inputs(inputs)) => inputs,
        };
        for (name, value, most) in
            [("reproducible.seed", seed, MAX_SEED), ("reproducible.epoch", epoch, MAX_EPOCH)]
        {
            if value > most {
                let expected = format!("a number up to {most}");
                return Err(ParamsError::wrong(name, expected, value.to_string()));
            }
        }
        Ok(Some(Self { seed, epoch, fuel_rules: FuelRules::PRESENT, forked_at: None }))
    }

    /// The same for the first call of a session.
    ///
    /// # Errors
    ///
    /// It asks for the kept result of another run. A number is out of its bounds.
    pub(crate) fn of_call(asked: Option<ReproducibleParam>) -> Result<Option<Self>, ParamsError> {
        Self::of_order(match asked {
            None => None,
            Some(ReproducibleParam::Flag(flag)) => Some(SessionSeedParam::Flag(flag)),
            Some(ReproducibleParam::Inputs { cache: true, .. }) => {
                let expected = "left out in a call with `session`: each cell is executed";
                return Err(ParamsError::wrong("reproducible.cache", expected, "true"));
            }
            Some(ReproducibleParam::Inputs { seed, epoch, cache: false }) => {
                Some(SessionSeedParam::Inputs(SessionSeedInputs { seed, epoch }))
            }
        })
    }

    /// The same for the session of a run that is repeated.
    pub(crate) const fn of_run(run: Reproducible) -> Self {
        let (seed, epoch, fuel_rules) = (run.seed, run.epoch.as_secs(), run.fuel_rules);
        Self { seed, epoch, fuel_rules, forked_at: None }
    }

    /// The same for a fork at this checkpoint, whose randomness is another one from there on.
    ///
    /// # Errors
    ///
    /// The seed is out of its bounds.
    pub(crate) fn of_fork(&self, seed: u64, at: CheckpointId) -> Result<Self, ParamsError> {
        if seed > MAX_SEED {
            let expected = format!("a number up to {MAX_SEED}");
            return Err(ParamsError::wrong("seed", expected, seed.to_string()));
        }
        Ok(Self { seed, forked_at: Some(at), ..self.clone() })
    }

    /// The same as the order of a guest has it.
    pub(crate) const fn as_order(&self) -> Reproducible {
        let Self { seed, epoch, fuel_rules, .. } = self;
        Reproducible { seed: *seed, epoch: Duration::from_secs(*epoch), fuel_rules: *fuel_rules }
    }

    /// True if a cell that begins at this checkpoint draws other random numbers than the cells before. All
    /// other cells go on with the same ones, however often a state is continued.
    pub(crate) fn must_reseed(&self, head: Option<&CheckpointId>) -> bool {
        self.forked_at.is_some() && self.forked_at.as_ref() == head
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_vocabulary::ids::Digest;

    fn of_text(text: &str) -> Option<SessionSeed> {
        SessionSeed::of_order(Some(serde_json::from_str(text).unwrap())).unwrap()
    }

    #[test]
    fn a_session_is_reproducible_if_its_caller_says_so() {
        assert_eq!(of_text("false"), None);
        assert_eq!(SessionSeed::of_call(None), Ok(None));
        assert_eq!(of_text("true"), of_text("{}"));
        let seeded = of_text(r#"{"seed": 7}"#).unwrap();
        assert_eq!((seeded.seed, seeded.epoch), (7, DEFAULT_EPOCH));
        let text = serde_json::to_string(&seeded).unwrap();
        assert_eq!(serde_json::from_str::<SessionSeed>(&text).unwrap(), seeded);
        for wrong in [r#"{"seed": 9007199254740992}"#, r#"{"epoch": 9000000001}"#] {
            let asked = Some(serde_json::from_str(wrong).unwrap());
            assert!(SessionSeed::of_order(asked).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<SessionSeedParam>(r#"{"cache": true}"#).is_err());
        let cached = ReproducibleParam::Inputs { seed: 0, epoch: 0, cache: true };
        assert!(SessionSeed::of_call(Some(cached)).is_err());
    }

    #[test]
    fn only_the_first_cell_of_a_fork_with_its_own_seed_is_reseeded() {
        let [at, later] = [1, 2].map(|cell| CheckpointId::new(cell, &Digest::of(b"state")));
        let whole = of_text("true").unwrap();
        assert!(!whole.must_reseed(None) && !whole.must_reseed(Some(&at)));
        let fork = whole.of_fork(5, at.clone()).unwrap();
        assert!(fork.must_reseed(Some(&at)));
        assert!(!fork.must_reseed(Some(&later)) && !fork.must_reseed(None));
        assert_eq!((fork.seed, fork.epoch), (5, whole.epoch));
        assert!(whole.of_fork(MAX_SEED + 1, at).is_err());
    }
}
