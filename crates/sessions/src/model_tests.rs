//! Any order of cells, roll-backs, forks, restorations, closings and restarts, against a model of the
//! states.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::testing::{Place, acme, end, facts};
use crate::{CellEnd, ForkParts, SessionSync, Sessions, SessionsError};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{CheckpointId, SessionId};

#[derive(Debug, Clone)]
enum Step {
    Run { session: usize, is_whole: bool },
    RollBack { session: usize },
    Fork { session: usize, checkpoint: usize, count: usize },
    Restore { session: usize, checkpoint: usize },
    Forget { session: usize, checkpoint: usize },
    Close { session: usize },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let (session, checkpoint) = (0_usize..20, 0_usize..20);
    prop_oneof![
        12 => (session.clone(), prop::bool::weighted(0.2))
            .prop_map(|(session, is_whole)| Step::Run { session, is_whole }),
        2 => session.clone().prop_map(|session| Step::RollBack { session }),
        3 => (session.clone(), checkpoint.clone(), 1_usize..3).prop_map(
            |(session, checkpoint, count)| Step::Fork { session, checkpoint, count }
        ),
        2 => (session.clone(), checkpoint.clone())
            .prop_map(|(session, checkpoint)| Step::Restore { session, checkpoint }),
        2 => (session.clone(), checkpoint)
            .prop_map(|(session, checkpoint)| Step::Forget { session, checkpoint }),
        1 => session.prop_map(|session| Step::Close { session }),
        1 => Just(Step::Restart),
    ]
}

/// A state: the packs that lead to it, each of which is different.
type State = Vec<Vec<u8>>;

#[derive(Default)]
struct Model {
    sessions: BTreeMap<SessionId, Known>,
    /// States that were continued without reseeding.
    continued: BTreeSet<State>,
    packs: u64,
}

#[derive(Default, Clone)]
struct Known {
    head: State,
    checkpoints: Vec<(CheckpointId, State)>,
}

impl Model {
    fn session(&self, number: usize) -> Option<SessionId> {
        let place = number.checked_rem(self.sessions.len())?;
        self.sessions.keys().nth(place).cloned()
    }

    fn checkpoint(&self, session: &SessionId, number: usize) -> Option<(CheckpointId, State)> {
        let made = &self.sessions[session].checkpoints;
        made.get(number.checked_rem(made.len())?).cloned()
    }

    /// Begins a cell, and ends it with a state or without.
    async fn cell(&mut self, sessions: &Sessions, session: &SessionId, kept: Option<bool>) {
        let turn = sessions.turn(session).await.unwrap();
        let known = self.sessions.get_mut(session).unwrap();
        let packs: State = turn
            .packs(&CallMemory::unlimited())
            .await
            .unwrap()
            .into_iter()
            .map(|pack| pack.bytes)
            .collect();
        assert_eq!(packs, known.head);
        if !turn.must_reseed() && !packs.is_empty() {
            assert!(self.continued.insert(packs), "continued twice without reseeding");
        }
        let Some(is_whole) = kept else {
            return turn.roll_back(CellEnd::default()).await.unwrap();
        };
        self.packs += 1;
        let bytes = self.packs.to_be_bytes().to_vec();
        let is_whole = is_whole || known.head.len() >= 32;
        let description = facts(turn.head().filter(|_| !is_whole), &bytes);
        let checkpoint = turn.commit(description, bytes.clone(), end()).await.unwrap();
        if is_whole {
            known.head.clear();
        }
        known.head.push(bytes);
        known.checkpoints.push((checkpoint, known.head.clone()));
    }

    async fn fork(&mut self, sessions: &Sessions, session: &SessionId, at: usize, count: usize) {
        let Some((checkpoint, state)) = self.checkpoint(session, at) else { return };
        match sessions.fork(&acme(), session, Some(&checkpoint), count, &ForkParts::default()).await
        {
            Ok(forks) => {
                for fork in forks.into_iter().filter_map(Result::ok) {
                    let checkpoints = vec![(checkpoint.clone(), state.clone())];
                    self.sessions.insert(fork, Known { head: state.clone(), checkpoints });
                }
            }
            Err(error) => assert!(is_thinned_out(&error), "{error}"),
        }
    }

    async fn step(&mut self, sessions: &Sessions, step: Step) {
        let (Step::Run { session, .. }
        | Step::RollBack { session }
        | Step::Fork { session, .. }
        | Step::Restore { session, .. }
        | Step::Forget { session, .. }
        | Step::Close { session }) = step
        else {
            return;
        };
        let Some(session) = self.session(session) else { return };
        match step {
            Step::Run { is_whole, .. } => self.cell(sessions, &session, Some(is_whole)).await,
            Step::Fork { checkpoint, count, .. } => {
                self.fork(sessions, &session, checkpoint, count).await;
            }
            Step::Restore { checkpoint, .. } => {
                let Some((id, state)) = self.checkpoint(&session, checkpoint) else { return };
                match sessions.restore(&acme(), &session, &id).await {
                    Ok(()) => self.sessions.get_mut(&session).unwrap().head = state,
                    Err(error) => assert!(is_thinned_out(&error), "{error}"),
                }
            }
            Step::Forget { checkpoint, .. } => {
                let Some((id, state)) = self.checkpoint(&session, checkpoint) else { return };
                let known = self.sessions.get_mut(&session).unwrap();
                match sessions.forget_checkpoint(&acme(), &session, &id).await {
                    Ok(()) => known.checkpoints.retain(|(other, _)| *other != id),
                    Err(SessionsError::IsCurrent { .. }) => assert_eq!(known.head, state),
                    Err(error) => assert!(is_thinned_out(&error), "{error}"),
                }
            }
            Step::Close { .. } => {
                sessions.close(&acme(), &session).await.unwrap();
                self.sessions.remove(&session);
            }
            _ => self.cell(sessions, &session, None).await,
        }
    }
}

const fn is_thinned_out(error: &SessionsError) -> bool {
    matches!(error, SessionsError::NoCheckpoint { .. })
}

async fn live(steps: Vec<Step>, sync: SessionSync) {
    let mut place = Place::new();
    (place.config.max_sessions, place.config.sync) = (10, sync);
    let mut sessions = place.open().await;
    let mut model = Model::default();
    for _ in 0..2 {
        model.sessions.insert(sessions.new_session().await, Known::default());
    }
    for step in steps {
        if matches!(step, Step::Restart) {
            drop(sessions);
            sessions = place.open().await;
        } else {
            model.step(&sessions, step).await;
        }
    }
    // Every checkpoint that is left leads to its state, and no other file is there.
    let mut needed = BTreeSet::new();
    for (session, known) in &model.sessions {
        for made in sessions.checkpoints(&acme(), session, 0, 1_000).await.unwrap() {
            let (_, state) = known.checkpoints.iter().find(|(id, _)| *id == made.id).unwrap();
            sessions.restore(&acme(), session, &made.id).await.unwrap();
            assert_eq!(sessions.state(session).await.unwrap(), *state);
            needed.extend(state.iter().cloned());
        }
    }
    sessions.0.sync_changes().await.unwrap();
    assert_eq!(place.files().len(), needed.len());
    for session in model.sessions.keys() {
        sessions.close(&acme(), session).await.unwrap();
    }
    sessions.0.sync_changes().await.unwrap();
    assert!(place.files().is_empty());
    assert_eq!(sessions.usage(&acme()).await.unwrap().bytes, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_order_of_calls_keeps_every_state(
        steps in proptest::collection::vec(step(), 1..60),
        sync in prop_oneof![Just(SessionSync::Second), Just(SessionSync::Always)],
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.unwrap().block_on(live(steps, sync));
    }
}
