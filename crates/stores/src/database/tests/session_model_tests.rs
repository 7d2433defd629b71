//! Any order of statements on sessions has the same answers in all databases: the test double is the
//! model.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::database::tests::sessions::{commit, digest, new_cell, new_session, session_id, stores};
use crate::database::tests::tenant;
use crate::sessions::*;
use wardian_vocabulary::ids::CheckpointId;

/// A statement on few tenants and sessions, so that they meet. Sessions and checkpoints are those that
/// were made so far, by number.
#[derive(Debug, Clone)]
enum Step {
    Create { tenant: u8, most: u64 },
    Fork { tenant: u8, session: u8, checkpoint: usize, forks: u8, room: (u64, bool) },
    Begin { tenant: u8, session: u8, expected: Option<usize>, is_tight: bool },
    Commit { session: u8, is_delta: bool, is_stale: bool, is_tight: bool },
    Park { session: u8, is_delta: bool, is_tight: bool },
    Answer { tenant: u8, session: u8, is_stale: bool },
    Suspend { session: u8 },
    RollBack { session: u8 },
    RollBackAll,
    Name { session: u8, checkpoint: usize, has_name: bool },
    Forget { session: u8, checkpoint: usize },
    Restore { session: u8, checkpoint: usize },
    Close { tenant: u8, session: u8 },
    Expire { session: u8 },
    ForgetExpired { ago: u64 },
    Lose { pack: usize },
    Settle { pack: usize },
    BeginLife { boot: u8, sync: SessionSync },
    EndLife,
    Pass { milliseconds: u64 },
    List { tenant: u8, behind: Option<(u64, u8)>, limit: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let (tenant, session, checkpoint) = (0_u8..2, 0_u8..60, 0_usize..40);
    let few = 1_u64..6;
    prop_oneof![
        3 => (tenant.clone(), few.clone())
            .prop_map(|(tenant, most)| Step::Create { tenant, most }),
        2 => (tenant.clone(), session.clone(), checkpoint.clone(),
              1_u8..3, (few.clone(), prop::bool::weighted(0.3))).prop_map(
            |(tenant, session, checkpoint, forks, room)| {
                Step::Fork { tenant, session, checkpoint, forks, room }
            }
        ),
        9 => (tenant.clone(), session.clone(), prop::option::weighted(0.2, checkpoint.clone()),
              prop::bool::weighted(0.1)).prop_map(|(tenant, session, expected, is_tight)| {
            Step::Begin { tenant, session, expected, is_tight }
        }),
        12 => (session.clone(), prop::bool::weighted(0.8), prop::bool::weighted(0.1),
              prop::bool::weighted(0.1)).prop_map(|(session, is_delta, is_stale, is_tight)| {
            Step::Commit { session, is_delta, is_stale, is_tight }
        }),
        5 => (session.clone(), prop::bool::weighted(0.8), prop::bool::weighted(0.1)).prop_map(
            |(session, is_delta, is_tight)| Step::Park { session, is_delta, is_tight }
        ),
        5 => (tenant.clone(), session.clone(), prop::bool::weighted(0.1)).prop_map(
            |(tenant, session, is_stale)| Step::Answer { tenant, session, is_stale }
        ),
        2 => session.clone().prop_map(|session| Step::Suspend { session }),
        2 => session.clone().prop_map(|session| Step::RollBack { session }),
        1 => Just(Step::RollBackAll),
        1 => (session.clone(), checkpoint.clone(), any::<bool>()).prop_map(
            |(session, checkpoint, has_name)| Step::Name { session, checkpoint, has_name }
        ),
        2 => (session.clone(), checkpoint.clone())
            .prop_map(|(session, checkpoint)| Step::Forget { session, checkpoint }),
        2 => (session.clone(), checkpoint)
            .prop_map(|(session, checkpoint)| Step::Restore { session, checkpoint }),
        1 => (tenant.clone(), session.clone())
            .prop_map(|(tenant, session)| Step::Close { tenant, session }),
        1 => session.clone().prop_map(|session| Step::Expire { session }),
        1 => (0_u64..3_000).prop_map(|ago| Step::ForgetExpired { ago }),
        3 => (0_usize..40).prop_map(|pack| Step::Lose { pack }),
        1 => (0_usize..40).prop_map(|pack| Step::Settle { pack }),
        2 => (0_u8..3, prop_oneof![Just(SessionSync::Second), Just(SessionSync::Always)])
            .prop_map(|(boot, sync)| Step::BeginLife { boot, sync }),
        1 => Just(Step::EndLife),
        1 => (0_u64..400).prop_map(|milliseconds| Step::Pass { milliseconds }),
        1 => (tenant, prop::option::of((0_u64..3_000, session)), 0_u64..4)
            .prop_map(|(tenant, behind, limit)| Step::List { tenant, behind, limit }),
    ]
}

/// What the steps know besides the databases.
#[derive(Default)]
struct Known {
    now_ms: u64,
    /// The number of the next session.
    next: u8,
    /// The last cell of each session that has begun.
    begun: BTreeMap<u8, BegunCell>,
    /// All checkpoints that were made.
    made: Vec<CheckpointId>,
    /// All packs that were made.
    packs: Vec<PackId>,
}

impl Known {
    fn session(&self, number: u8) -> u8 {
        number.checked_rem(self.next).unwrap_or(0)
    }

    /// The end of a part of a cell, in a state that no other part has.
    fn parked(&self, session: u8, cell: &BegunCell, is_delta: bool) -> CellCommit {
        let commit = commit(session, cell, is_delta, self.now_ms);
        let made = digest(&format!("part {}", self.packs.len()));
        let description = PackDescription { digest: made, ..commit.description };
        CellCommit { checkpoint: CheckpointId::new(cell.number, &made), description, ..commit }
    }

    /// The next forks. Some have a setup and the cells of their own.
    fn forks(&self, forks: u8) -> Vec<NewFork> {
        let key =
            |origin: u8| WrappedKey { origin: session_id(origin), wrapped: format!("{origin}") };
        let fork = |id: u8| NewFork {
            id: session_id(id),
            own: ForkParts {
                setup: id.is_multiple_of(3).then(|| format!("{{\"fork\": {id}}}")),
                has_cells: id.is_multiple_of(2),
            },
            // As many as a fork of forks may need.
            keys: (0..self.next).chain([id]).map(key).collect(),
        };
        (self.next..self.next + forks).map(fork).collect()
    }

    fn pack(&self, number: usize) -> PackId {
        let none = || PackId { origin: session_id(0), checkpoint: self.checkpoint(number) };
        let place = number.checked_rem(self.packs.len());
        place.map_or_else(none, |place| self.packs[place].clone())
    }

    fn asked(&self) -> String {
        format!("request {}", self.packs.len())
    }

    fn checkpoint(&self, number: usize) -> CheckpointId {
        let none = || CheckpointId::new(1, &digest("none"));
        let place = number.checked_rem(self.made.len());
        place.map_or_else(none, |place| self.made[place].clone())
    }
}

fn owner(number: u8) -> &'static str {
    ["t0", "t1"][usize::from(number)]
}

fn sorted(mut packs: Vec<PackId>) -> Vec<PackId> {
    packs.sort();
    packs
}

const ROOMY: u64 = 1 << 30;

/// Executes a step. The answer is a text that does not depend on orders that no statement promises.
async fn answer(store: &dyn SessionStore, known: &Known, step: &Step) -> String {
    let now = known.now_ms;
    match step.clone() {
        Step::Create { tenant, most } => {
            let new = new_session(owner(tenant), known.next, now);
            format!("{:?}", store.create(&new, most).await.ok())
        }
        Step::Fork { tenant: of, session, checkpoint, forks, room: (most, is_tight) } => {
            let (session, new) = (known.session(session), known.forks(forks));
            let (from, at) = (session_id(session), known.checkpoint(checkpoint));
            let room = ForkRoom { sessions: most, bytes: if is_tight { 3_000 } else { ROOMY } };
            let forked = store.fork(&tenant(owner(of)), (&from, &at), &new, now, room).await;
            format!("{:?}", forked.unwrap())
        }
        Step::Commit { session, is_delta, is_stale, is_tight } => {
            let session = known.session(session);
            let Some(cell) = known.begun.get(&session) else { return String::new() };
            let mut end = commit(session, cell, is_delta, now);
            if is_stale {
                end.head = None;
            }
            let room = if is_tight { 3_000 } else { ROOMY };
            match store.commit_cell(&end, room).await {
                Ok(Committed::Done(gone)) => format!("{:?}", sorted(gone)),
                other => format!("{:?}", other.ok()),
            }
        }
        Step::Park { session, is_delta, is_tight } => {
            let session = known.session(session);
            let Some(cell) = known.begun.get(&session) else { return String::new() };
            let room = if is_tight { 3_000 } else { ROOMY };
            let (wait, asked) = (known.parked(session, cell, is_delta), known.asked());
            match store.park_cell(&wait, &asked, room).await {
                Ok(Committed::Done(gone)) => format!("{:?}", sorted(gone)),
                other => format!("{:?}", other.ok()),
            }
        }
        Step::RollBack { session } => {
            let session = known.session(session);
            let number = known.begun.get(&session).map_or(1, |cell| cell.number);
            let end = CellEnd { result: Some("time is up".to_owned()), fuel: None };
            let rolled_back = store.roll_back_cell(&session_id(session), number, &end).await;
            format!("{:?}", rolled_back.unwrap().map(sorted))
        }
        Step::Suspend { session } => {
            let session = known.session(session);
            let number = known.begun.get(&session).map_or(1, |cell| cell.number);
            format!("{:?}", store.suspend_cell(&session_id(session), number).await.unwrap())
        }
        Step::RollBackAll => format!("{:?}", store.roll_back_running().await.unwrap()),
        other => answer_of_rest(store, known, other).await,
    }
}

async fn answer_of_rest(store: &dyn SessionStore, known: &Known, step: Step) -> String {
    let now = known.now_ms;
    match step {
        Step::Name { session, checkpoint, has_name } => {
            let (session, at) = (session_id(known.session(session)), known.checkpoint(checkpoint));
            let name = has_name.then_some("name");
            format!("{:?}", store.name_checkpoint(&session, &at, name).await.unwrap())
        }
        Step::Forget { session, checkpoint } => {
            let (session, at) = (session_id(known.session(session)), known.checkpoint(checkpoint));
            match store.forget_checkpoint(&session, &at).await.unwrap() {
                Forgotten::Done(gone) => format!("{:?}", sorted(gone)),
                other => format!("{other:?}"),
            }
        }
        Step::Restore { session, checkpoint } => {
            let (session, at) = (session_id(known.session(session)), known.checkpoint(checkpoint));
            format!("{:?}", store.restore(&session, &at, now).await.unwrap())
        }
        Step::Close { tenant: of, session } => {
            let (of, session) = (tenant(owner(of)), session_id(known.session(session)));
            let gone = store.remove(&of, &session, Removal::Closed).await.unwrap();
            format!("{:?}", gone.map(sorted))
        }
        Step::Expire { session } => {
            let due = store.due(now, 9).await.unwrap();
            let mut gone = Vec::new();
            for (tenant, id) in
                due.iter().filter(|(_, id)| *id != session_id(known.session(session)))
            {
                let removed = store.remove(tenant, id, Removal::Expired { now_ms: now }).await;
                gone.push(removed.unwrap().map(sorted));
            }
            format!("{due:?} {gone:?} {:?}", store.images().await.unwrap())
        }
        Step::ForgetExpired { ago } => {
            format!("{:?}", store.forget_expired(now.saturating_sub(ago)).await.unwrap())
        }
        Step::List { tenant: of, behind, limit } => {
            let behind =
                behind.map(|(created_ms, id)| SessionPlace { created_ms, id: session_id(id) });
            let listed = store.list(&tenant(owner(of)), behind.as_ref(), now, limit).await;
            format!("{:?}", listed.unwrap())
        }
        other => answer_of_losses(store, known, other).await,
    }
}

async fn answer_of_losses(store: &dyn SessionStore, known: &Known, step: Step) -> String {
    match step {
        Step::Lose { pack } => {
            // Packs are found to be lost at the start of a server, when no cell runs.
            let rolled_back = store.roll_back_running().await.unwrap();
            let lost = store.lose_pack(&known.pack(pack)).await.unwrap();
            format!("{rolled_back:?} {lost:?}")
        }
        Step::Settle { pack } => {
            let packs = [known.pack(pack)];
            format!("{:?}", store.settle_packs(&packs).await.unwrap())
        }
        Step::BeginLife { boot, sync } => {
            let boot = (boot > 0).then(|| format!("boot {boot}"));
            format!("{:?}", store.begin_life(&ServerLife { boot, sync }).await.unwrap())
        }
        Step::EndLife => format!("{:?}", store.end_life().await.unwrap()),
        _ => String::new(),
    }
}

/// Everything that can be seen, once all steps are done.
async fn all_that_is_seen(store: &dyn SessionStore, known: &Known) -> String {
    let mut seen = Vec::new();
    for of in [0, 1].map(|of| tenant(owner(of))) {
        seen.push(format!("{:?}", store.usage(&of, known.now_ms).await.unwrap()));
        for id in (0..known.next).map(session_id) {
            seen.push(format!("{:?}", store.find(&of, &id).await.unwrap()));
        }
    }
    let all: Vec<_> = (0..known.next).map(session_id).collect();
    seen.push(format!("{:?}", store.parked_bytes(&all).await.unwrap()));
    seen.push(format!("{:?}", store.totals(known.now_ms).await.unwrap()));
    for id in all {
        let parked = store.parked_bytes(std::slice::from_ref(&id)).await.unwrap();
        seen.push(format!("{parked:?}"));
        seen.push(format!("{:?}", store.keys(&id).await.unwrap()));
        seen.push(format!("{:?}", store.cells(&id, 1, 5).await.unwrap()));
        seen.push(format!("{:?}", store.waiting_cell(&id).await.unwrap()));
        let made = store.checkpoints(&id, 1, 500).await.unwrap();
        for one in made {
            assert_eq!(store.checkpoint(&id, &one.id).await.unwrap(), Some(one.clone()));
            seen.push(format!("{one:?} {:?}", store.chain(&id, &one.id).await.unwrap()));
        }
    }
    for pack in &known.packs {
        let chain = store.chain(&pack.origin, &pack.checkpoint).await.unwrap();
        seen.push(format!("{chain:?}"));
    }
    let mut unsettled = store.unsettled_packs().await.unwrap();
    unsettled.sort_by_key(|(_, pack)| pack.id.clone());
    seen.push(format!("{unsettled:?}"));
    if !known.packs.is_empty() {
        seen.push(format!("{:?}", sorted(store.known_packs(&known.packs).await.unwrap())));
    }
    seen.join("\n")
}

/// Begins a cell in both, or lets one go on.
async fn begin(stores: [&dyn SessionStore; 2], known: &Known, step: &Step) -> Option<BegunCell> {
    let (found, model) = match step.clone() {
        Step::Begin { tenant, session, expected, is_tight } => {
            let mut cell = new_cell(owner(tenant), known.session(session), known.now_ms);
            cell.if_checkpoint = expected.map(|number| known.checkpoint(number));
            let room = if is_tight { 2_000 } else { ROOMY };
            let [found, model] = stores.map(|store| store.begin_cell(&cell, room));
            (found.await.unwrap(), model.await.unwrap())
        }
        Step::Answer { tenant: of, session, is_stale } => {
            let session = session_id(known.session(session));
            let [found, model] = stores.map(|store| store.waiting_cell(&session));
            let (found, model) = (found.await.unwrap(), model.await.unwrap());
            assert_eq!(found, model);
            let none = WaitingCell { number: 1, asked: String::new(), result: None };
            let cell = found.filter(|_| !is_stale).unwrap_or(none);
            let now_ms = known.now_ms;
            let answered = AnsweredCell { tenant: tenant(owner(of)), session, cell, now_ms };
            let [found, model] = stores.map(|store| store.resume_cell(&answered));
            (found.await.unwrap(), model.await.unwrap())
        }
        _ => return None,
    };
    assert_eq!(found, model);
    match found {
        Begun::Cell(cell) => Some(*cell),
        _ => None,
    }
}

async fn compare(steps: &[Step]) {
    let [(_, sqlite, _folder), (_, model, _)] = stores().await;
    let mut known = Known::default();
    for (at, step) in steps.iter().enumerate() {
        let begun = begin([&*sqlite, &*model], &known, step).await;
        let expected = answer(&*model, &known, step).await;
        let found = answer(&*sqlite, &known, step).await;
        assert_eq!(found, expected, "step {at}: {step:?}");
        match *step {
            Step::Create { .. } => known.next += 1,
            Step::Fork { forks, .. } => known.next += forks,
            Step::Begin { session, .. } | Step::Answer { session, .. } => {
                known.begun.extend(begun.map(|cell| (known.session(session), cell)));
            }
            Step::Commit { session, is_delta, .. } if found.starts_with('[') => {
                let session = known.session(session);
                let cell = &known.begun[&session];
                let made = commit(session, cell, is_delta, 0).checkpoint;
                known.packs.push(PackId { origin: session_id(session), checkpoint: made.clone() });
                known.made.push(made);
            }
            Step::Park { session, is_delta, .. } if found.starts_with('[') => {
                let session = known.session(session);
                let cell = &known.begun[&session];
                let checkpoint = known.parked(session, cell, is_delta).checkpoint;
                known.packs.push(PackId { origin: session_id(session), checkpoint });
            }
            Step::Pass { milliseconds } => known.now_ms += milliseconds,
            _ => {}
        }
    }
    let expected = all_that_is_seen(&*model, &known).await;
    assert_eq!(all_that_is_seen(&*sqlite, &known).await, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_of_statements_on_sessions_has_the_same_answers_in_all_databases(
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(compare(&steps));
    }
}
