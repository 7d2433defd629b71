//! Sessions, their cells, checkpoints and packs.

use std::collections::BTreeSet;
use std::sync::Arc;

use tempfile::TempDir;

use crate::database::open_sessions;
use crate::database::tests::memory_sessions::MemorySessions;
use crate::database::tests::tenant;
use crate::sessions::*;
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

const NOW: u64 = 1_790_000_000_000;
const IDLE: u64 = 1_000;
const MAX_AGE: u64 = 5_000;
const ROOM: u64 = 1 << 40;

/// An empty database of each kind.
pub(super) async fn stores() -> [(&'static str, Arc<dyn SessionStore>, Option<TempDir>); 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let sqlite = open_sessions(&path, SessionSync::Second).await.unwrap();
    let memory = Arc::new(MemorySessions::default());
    [("SQLite", sqlite, Some(folder)), ("the test double", memory, None)]
}

pub(super) fn session_id(number: u8) -> SessionId {
    SessionId::of_random(&[number; 16])
}

pub(super) fn digest(content: &str) -> Digest {
    Digest::of(content.as_bytes())
}

pub(super) fn new_session(owner: &str, number: u8, now_ms: u64) -> NewSession {
    NewSession {
        tenant: tenant(owner),
        id: session_id(number),
        label: Some(format!("session {number}")),
        image: digest("image"),
        setup: "{}".to_owned(),
        created_ms: now_ms,
        idle_ms: IDLE,
        max_age_ms: MAX_AGE,
        key: format!("key {number}"),
    }
}

pub(super) fn new_cell(owner: &str, number: u8, now_ms: u64) -> NewCell {
    NewCell {
        tenant: tenant(owner),
        session: session_id(number),
        source: Some("x = 1".to_owned()),
        if_checkpoint: None,
        is_settled: number.is_multiple_of(2),
        now_ms,
    }
}

/// The end of a cell that has begun: with a delta, or with a whole pack.
pub(super) fn commit(session: u8, cell: &BegunCell, is_delta: bool, now_ms: u64) -> CellCommit {
    let made = digest(&format!("{session} {}", cell.number));
    let base = cell.state().filter(|_| is_delta);
    CellCommit {
        session: session_id(session),
        number: cell.number,
        head: cell.head.as_ref().map(|head| head.id.clone()),
        checkpoint: CheckpointId::new(cell.number, &made),
        description: PackDescription {
            sequence: base.map_or(0, |base| base.description.sequence + 1),
            base: base.map(|base| base.description.digest),
            digest: made,
            size: ByteCount::bytes(10),
        },
        base: base.map(|base| base.id.clone()),
        stored_bytes: 1_000,
        is_settled: cell.number.is_multiple_of(2),
        end: CellEnd { result: Some("done".to_owned()), fuel: Some(7) },
        must_reseed: false,
        now_ms,
    }
}

async fn begin(store: &dyn SessionStore, cell: &NewCell) -> BegunCell {
    match store.begin_cell(cell, ROOM).await.unwrap() {
        Begun::Cell(cell) => *cell,
        other => panic!("{other:?}"),
    }
}

/// A cell of tenant `acme`, from its beginning to its checkpoint. Returns the packs that are gone.
async fn run(store: &dyn SessionStore, session: u8, is_delta: bool) -> (CheckpointId, Vec<PackId>) {
    let cell = begin(store, &new_cell("acme", session, NOW)).await;
    let end = commit(session, &cell, is_delta, NOW);
    match store.commit_cell(&end, ROOM).await.unwrap() {
        Committed::Done(gone) => (end.checkpoint, gone),
        other => panic!("{other:?}"),
    }
}

async fn kept(store: &dyn SessionStore, session: u8) -> Vec<u32> {
    let kept = store.checkpoints(&session_id(session), 0, 1_000).await.unwrap();
    kept.iter().map(|one| one.id.cell()).collect()
}

/// The cells after which these packs were made, in order.
fn numbers(packs: &[PackId]) -> Vec<u32> {
    let mut numbers: Vec<u32> = packs.iter().map(|pack| pack.checkpoint.cell()).collect();
    numbers.sort_unstable();
    numbers
}

/// Room for so many sessions, and for all cells.
const fn room(sessions: u64) -> ForkRoom {
    ForkRoom { sessions, bytes: ROOM }
}

fn fork_of(origin: u8, id: u8) -> NewFork {
    let key = |origin| WrappedKey {
        origin: session_id(origin),
        wrapped: format!("key {origin} for {id}"),
    };
    NewFork { id: session_id(id), own: ForkParts::default(), keys: vec![key(origin), key(id)] }
}

#[tokio::test]
async fn sessions_are_read_as_they_were_made_and_only_by_their_owner() {
    for (name, store, _folder) in stores().await {
        let (acme, beta) = (tenant("acme"), tenant("beta"));
        assert!(store.create(&new_session("acme", 1, NOW), 2).await.unwrap(), "{name}");
        let found = store.find(&acme, &session_id(1)).await.unwrap().unwrap();
        let expected = StoredSession {
            id: session_id(1),
            label: Some("session 1".to_owned()),
            image: digest("image"),
            setup: "{}".to_owned(),
            state: SessionState::Open,
            created_ms: NOW,
            used_ms: NOW,
            expires_ms: NOW + IDLE,
            cells: 0,
            head: None,
            forked_from: None,
        };
        assert_eq!(found, expected, "{name}");
        let (checkpoint, _) = run(&*store, 1, false).await;
        let from = (&session_id(1), &checkpoint);
        assert_eq!(store.find(&beta, &session_id(1)).await.unwrap(), None, "{name}");
        let cell = new_cell("beta", 1, NOW);
        assert_eq!(store.begin_cell(&cell, ROOM).await.unwrap(), Begun::NotFound, "{name}");
        let forked = store.fork(&beta, from, &[fork_of(1, 2)], NOW, room(9)).await.unwrap();
        assert_eq!(forked, Forked::NoSession, "{name}");
        let removed = store.remove(&beta, &session_id(1), Removal::Closed).await.unwrap();
        assert_eq!(removed, None, "{name}");
        assert_eq!(store.list(&beta, None, NOW, 9).await.unwrap(), [], "{name}");
        let usage = SessionUsage { sessions: 1, bytes: 2 + 9 + 256 + 5 + 4 + 1_000 };
        assert_eq!(store.usage(&acme, NOW).await.unwrap(), usage, "{name}");
        assert_eq!(store.usage(&beta, NOW).await.unwrap(), SessionUsage::default(), "{name}");
    }
}

#[tokio::test]
async fn a_tenant_has_so_many_sessions_and_lists_them_in_pages() {
    for (name, store, _folder) in stores().await {
        let acme = tenant("acme");
        for number in 0..5 {
            let made_ms = NOW + u64::from(number / 2);
            assert!(store.create(&new_session("acme", number, made_ms), 5).await.unwrap());
        }
        assert!(!store.create(&new_session("acme", 5, NOW + 2), 5).await.unwrap(), "{name}");
        assert!(store.create(&new_session("beta", 6, NOW), 5).await.unwrap(), "{name}");
        let (mut listed, mut behind) = (Vec::new(), None);
        loop {
            let page = store.list(&acme, behind.as_ref(), NOW, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            behind = Some(SessionPlace { created_ms: last.created_ms, id: last.id.clone() });
            listed.extend(page.into_iter().map(|one| one.id));
        }
        assert_eq!(listed, [4, 3, 2, 1, 0].map(session_id), "{name}");
        // The first two are over.
        let late = NOW + IDLE;
        assert_eq!(store.list(&acme, None, late, 9).await.unwrap().len(), 3, "{name}");
        assert!(store.create(&new_session("acme", 7, late), 4).await.unwrap(), "{name}");
        assert!(!store.create(&new_session("acme", 8, late), 4).await.unwrap(), "{name}");
    }
}

#[tokio::test]
async fn continued_once_is_told_of_every_state() {
    for (name, store, _folder) in stores().await {
        let (acme, one) = (tenant("acme"), session_id(1));
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        let cell = new_cell("acme", 1, NOW);
        let first = begin(&*store, &cell).await;
        assert!(!first.must_reseed && first.head.is_none(), "{name}");
        assert_eq!(store.roll_back_cell(&one, 1, &CellEnd::default()).await.unwrap(), Some(vec![]));
        let again = store.roll_back_cell(&one, 1, &CellEnd::default()).await.unwrap();
        assert_eq!(again, None, "{name}");
        assert!(!begin(&*store, &cell).await.must_reseed, "each guest is new: {name}");
        // It was given up.
        let third = begin(&*store, &cell).await;
        let end = commit(1, &third, false, NOW);
        assert!(matches!(store.commit_cell(&end, ROOM).await.unwrap(), Committed::Done(_)));
        assert_eq!(store.commit_cell(&end, ROOM).await.unwrap(), Committed::Gone, "{name}");
        let states: Vec<CellState> =
            store.cells(&one, 0, 9).await.unwrap().iter().map(|cell| cell.state).collect();
        let expected = [CellState::RolledBack, CellState::RolledBack, CellState::Kept];
        assert_eq!(states, expected, "{name}");
        // A fork is told, and its origin is not, whichever goes on first.
        let from = (&one, &end.checkpoint);
        let forked = store.fork(&acme, from, &[fork_of(1, 2), fork_of(1, 3)], NOW, room(9)).await;
        assert_eq!(forked.unwrap(), Forked::Done(2), "{name}");
        assert!(begin(&*store, &new_cell("acme", 2, NOW)).await.must_reseed, "{name}");
        assert!(!begin(&*store, &cell).await.must_reseed, "{name}");
        assert!(begin(&*store, &new_cell("acme", 3, NOW)).await.must_reseed, "{name}");
        let again = begin(&*store, &cell).await;
        assert!(again.must_reseed, "the cell before was given up: {name}");
        store.commit_cell(&commit(1, &again, true, NOW), ROOM).await.unwrap();
        assert!(store.restore(&one, &end.checkpoint, NOW).await.unwrap(), "{name}");
        let restored = begin(&*store, &cell).await;
        assert_eq!((restored.number, restored.must_reseed), (6, true), "{name}");
        assert_eq!(restored.head.unwrap().id, end.checkpoint, "{name}");
        assert_eq!(store.roll_back_running().await.unwrap(), 3, "{name}");
        let told = begin(&*store, &cell).await;
        assert!(told.must_reseed, "{name}");
        // A change of files reseeds nothing.
        let change = CellCommit { must_reseed: told.must_reseed, ..commit(1, &told, true, NOW) };
        store.commit_cell(&change, ROOM).await.unwrap();
        let next = begin(&*store, &cell).await;
        assert!(next.must_reseed, "{name}");
        store.commit_cell(&commit(1, &next, true, NOW), ROOM).await.unwrap();
        assert!(!begin(&*store, &cell).await.must_reseed, "{name}");
    }
}

#[tokio::test]
async fn checkpoints_are_thinned_out_and_needed_packs_stay() {
    for (name, store, _folder) in stores().await {
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        let one = session_id(1);
        let mut made = vec![run(&*store, 1, false).await.0];
        // Whole packs at 1, 16 and 31.
        for cell in 2..=40_u32 {
            let (checkpoint, gone) = run(&*store, 1, cell % 15 != 1).await;
            made.push(checkpoint);
            match cell {
                2 => {
                    let named = store.name_checkpoint(&one, &made[1], Some("two")).await;
                    assert_eq!(named.unwrap(), CheckpointNaming::Done);
                }
                // The head is an old one.
                20 => assert!(store.restore(&one, &made[12], NOW).await.unwrap()),
                21 => assert!(kept(&*store, 1).await.contains(&20)),
                // They continue 13, and nothing continues them.
                23 => assert_eq!(numbers(&gone), [14, 15], "{name}"),
                _ => assert_eq!(gone, [], "a chain needs it: {name} {cell}"),
            }
        }
        let expected = [2, 10, 20, 30, 33, 34, 35, 36, 37, 38, 39, 40];
        assert_eq!(kept(&*store, 1).await, expected, "{name}");
        let last = store.chain(&one, &made[39]).await.unwrap();
        let chain: Vec<u32> = last.iter().map(|pack| pack.id.checkpoint.cell()).collect();
        assert_eq!(chain, (31..=40).collect::<Vec<_>>(), "{name}");
        assert_eq!(store.checkpoint(&one, &made[0]).await.unwrap(), None, "{name}");
        // 21 continues 13, so 16 to 20 are needed by 20, and by nothing else.
        let forget = async |at: usize| store.forget_checkpoint(&one, &made[at]).await.unwrap();
        let Forgotten::Done(gone) = forget(19).await else { panic!("{name}") };
        assert_eq!(numbers(&gone), [16, 17, 18, 19, 20], "{name}");
        assert_eq!(forget(19).await, Forgotten::NotFound, "{name}");
        assert_eq!(forget(39).await, Forgotten::IsHead, "{name}");
        let name_of = async |at: usize, given: Option<&str>| {
            store.name_checkpoint(&one, &made[at], given).await.unwrap()
        };
        assert_eq!(name_of(19, None).await, CheckpointNaming::NotFound, "{name}");
        assert_eq!(name_of(19, Some("two")).await, CheckpointNaming::NotFound, "{name}");
        assert_eq!(
            name_of(39, Some("two")).await,
            CheckpointNaming::Taken(made[1].clone()),
            "{name}"
        );
        assert_eq!(name_of(1, Some("two")).await, CheckpointNaming::Done, "{name}");
        let found = store.named_checkpoint(&one, "two").await.unwrap();
        assert_eq!(found.as_ref(), Some(&made[1]), "{name}");
        assert_eq!(store.named_checkpoint(&one, "three").await.unwrap(), None, "{name}");
        // 21 went on after 13.
        let path = async |last, among| store.cells_up_to(&one, last, among).await.unwrap();
        assert_eq!(path(40, 11..=39).await, (11..=13).chain(21..=39).collect(), "{name}");
        assert_eq!(path(20, 19..=99).await, [19, 20].into(), "{name}");
        assert!(path(41, 1..=99).await.is_empty(), "{name}");
        assert!(!store.restore(&one, &made[19], NOW).await.unwrap(), "{name}");
        // Without its name it goes with the next cell; its pack is needed by 10.
        assert_eq!(name_of(1, None).await, CheckpointNaming::Done, "{name}");
        let (_, gone) = run(&*store, 1, true).await;
        assert!(gone.is_empty() && !kept(&*store, 1).await.contains(&2), "{name}");
    }
}

#[tokio::test]
async fn forks_that_have_cells_count_them_once_more() {
    for (name, store, _folder) in stores().await {
        let (acme, one) = (tenant("acme"), session_id(1));
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        run(&*store, 1, false).await;
        let (at, _) = run(&*store, 1, true).await;
        run(&*store, 1, true).await;
        let used = async || store.usage(&acme, NOW).await.unwrap().bytes;
        let with_cells = |id| {
            let own = ForkParts { setup: None, has_cells: true };
            NewFork { own, ..fork_of(1, id) }
        };
        let before = used().await;
        let forked = store.fork(&acme, (&one, &at), &[with_cells(2)], NOW, room(9)).await;
        assert_eq!(forked.unwrap(), Forked::Done(1), "{name}");
        let all = store.cells(&session_id(2), 0, 9).await.unwrap();
        assert_eq!(all, store.cells(&one, 0, 2).await.unwrap(), "{name}");
        // There is room for one more.
        let own = used().await - before;
        let tight = ForkRoom { sessions: 9, bytes: before + 2 * own };
        let forks = [with_cells(3), with_cells(4)];
        let forked = store.fork(&acme, (&one, &at), &forks, NOW, tight).await.unwrap();
        assert_eq!(forked, Forked::Full(1), "{name}");
        let forked = store.fork(&acme, (&one, &at), &[fork_of(1, 5)], NOW, tight).await.unwrap();
        assert_eq!(forked, Forked::Done(1), "one without cells: {name}");
        store.remove(&acme, &session_id(2), Removal::Closed).await.unwrap();
        store.remove(&acme, &session_id(3), Removal::Closed).await.unwrap();
        store.remove(&acme, &session_id(5), Removal::Closed).await.unwrap();
        assert_eq!(used().await, before, "{name}");
    }
}

#[tokio::test]
async fn a_fork_keeps_what_it_needs_when_its_origin_is_closed() {
    for (name, store, _folder) in stores().await {
        let (acme, one, two) = (tenant("acme"), session_id(1), session_id(2));
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        run(&*store, 1, false).await;
        let (second, _) = run(&*store, 1, true).await;
        run(&*store, 1, true).await;
        let forks = [fork_of(1, 2), fork_of(1, 3)];
        let forked = store.fork(&acme, (&one, &second), &forks, NOW, room(2)).await.unwrap();
        assert_eq!(forked, Forked::Done(1), "{name}");
        let none = CheckpointId::new(2, &digest("none"));
        let forked =
            store.fork(&acme, (&one, &none), &[fork_of(1, 3)], NOW, room(9)).await.unwrap();
        assert_eq!(forked, Forked::NoCheckpoint, "{name}");
        let found = store.find(&acme, &two).await.unwrap().unwrap();
        assert_eq!((found.cells, found.head), (2, Some(second.clone())), "{name}");
        let origin = ForkedFrom { session: one.clone(), checkpoint: second.clone() };
        assert_eq!(found.forked_from, Some(origin), "{name}");
        let both = [two.clone(), one.clone()];
        let parked = |session: &SessionId, own, shared| ParkedBytes {
            session: session.clone(),
            own,
            shared,
        };
        let expected = [parked(&one, 1_000, 2_000), parked(&two, 0, 2_000)];
        assert_eq!(store.parked_bytes(&both).await.unwrap(), expected, "{name}");
        assert_eq!(store.parked_bytes(&both[..1]).await.unwrap(), expected[1..], "{name}");
        let gone = store.remove(&acme, &one, Removal::Closed).await.unwrap().unwrap();
        assert_eq!(numbers(&gone), [3], "{name}");
        assert_eq!(store.parked_bytes(&both).await.unwrap(), [parked(&two, 2_000, 0)], "{name}");
        assert_eq!(store.keys(&one).await.unwrap(), [], "{name}");
        assert_eq!(store.keys(&two).await.unwrap(), fork_of(1, 2).keys, "{name}");
        assert_eq!(store.chain(&two, &second).await.unwrap().len(), 2, "{name}");
        // Ten cells later, from a whole pack on, it needs nothing of its origin any more.
        let (third, _) = run(&*store, 2, true).await;
        assert_eq!(store.chain(&two, &third).await.unwrap().len(), 3, "{name}");
        assert_eq!(store.forget_checkpoint(&two, &second).await.unwrap(), Forgotten::Done(vec![]));
        run(&*store, 2, false).await;
        let Forgotten::Done(gone) = store.forget_checkpoint(&two, &third).await.unwrap() else {
            panic!("{name}")
        };
        assert_eq!(gone.len(), 3, "{name}");
        let own = WrappedKey { origin: two.clone(), wrapped: "key 2 for 2".to_owned() };
        assert_eq!(store.keys(&two).await.unwrap(), [own], "{name}");
        let gone = store.remove(&acme, &two, Removal::Closed).await.unwrap().unwrap();
        assert_eq!(gone.len(), 1, "{name}");
        assert_eq!(store.usage(&acme, NOW).await.unwrap(), SessionUsage::default(), "{name}");
        assert_eq!(store.known_packs(&gone).await.unwrap(), [], "{name}");
        assert!(store.has_had_sessions().await.unwrap(), "{name}");
    }
    for (name, store, _folder) in stores().await {
        assert!(!store.has_had_sessions().await.unwrap(), "{name}");
    }
}

/// Lets a cell of session 1 wait. Returns the name of its state, and the packs that are gone.
async fn park(
    store: &dyn SessionStore,
    cell: &BegunCell,
    part: &str,
    is_delta: bool,
) -> (CheckpointId, Vec<PackId>) {
    let wait = commit(1, cell, is_delta, NOW);
    let description = PackDescription { digest: digest(part), ..wait.description };
    let checkpoint = CheckpointId::new(cell.number, &digest(part));
    let wait = CellCommit { checkpoint, description, ..wait };
    match store.park_cell(&wait, part, ROOM).await.unwrap() {
        Committed::Done(gone) => (wait.checkpoint, gone),
        other => panic!("{other:?}"),
    }
}

/// What a cell asks that waits may become something else, once.
async fn asks_anew(
    store: &dyn SessionStore,
    place: (&TenantId, &SessionId),
    waiting: &WaitingCell,
) {
    let bytes = async || store.usage(place.0, NOW).await.unwrap().bytes;
    let (before, more) = (bytes().await, "part one and more");
    assert!(store.ask_anew(place, waiting, more).await.unwrap());
    assert!(!store.ask_anew(place, waiting, "part").await.unwrap());
    assert_eq!(bytes().await, before + 9);
    let changed = store.waiting_cell(place.1).await.unwrap().unwrap();
    assert_eq!(changed.asked, more);
    assert!(store.ask_anew(place, &changed, &waiting.asked).await.unwrap());
    assert_eq!(bytes().await, before);
}

#[tokio::test]
async fn whole_cells_that_wait_leave_their_session_where_it_was() {
    for (name, store, _folder) in stores().await {
        let (acme, one) = (tenant("acme"), session_id(1));
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        let (first, _) = run(&*store, 1, false).await;
        let used = store.usage(&acme, NOW).await.unwrap().bytes;
        let cell = begin(&*store, &new_cell("acme", 1, NOW)).await;
        let (parked, gone) = park(&*store, &cell, "part one", true).await;
        assert_eq!(gone, [], "{name}");
        let found = store.find(&acme, &one).await.unwrap().unwrap();
        assert_eq!(found.head, Some(first.clone()), "{name}");
        assert_eq!(kept(&*store, 1).await, [1], "it is no checkpoint: {name}");
        assert_eq!(store.chain(&one, &parked).await.unwrap().len(), 2, "{name}");
        let begun = store.begin_cell(&new_cell("acme", 1, NOW), ROOM).await.unwrap();
        assert_eq!(begun, Begun::Waits { cell: 2 }, "{name}");
        assert_eq!(store.roll_back_running().await.unwrap(), 0, "it waits on: {name}");
        // It goes on once, for its owner, and with what it has asked.
        let waiting = store.waiting_cell(&one).await.unwrap().unwrap();
        assert_eq!((waiting.number, waiting.asked.as_str()), (2, "part one"), "{name}");
        let answered =
            AnsweredCell { tenant: acme.clone(), session: one.clone(), cell: waiting, now_ms: NOW };
        let foreign = AnsweredCell { tenant: tenant("beta"), ..answered.clone() };
        assert_eq!(store.resume_cell(&foreign).await.unwrap(), Begun::NotFound, "{name}");
        let late = AnsweredCell { now_ms: NOW + IDLE, ..answered.clone() };
        let over = Begun::Expired { at_ms: NOW + IDLE };
        assert_eq!(store.resume_cell(&late).await.unwrap(), over, "{name}");
        let other = WaitingCell { asked: "part two".to_owned(), ..answered.cell.clone() };
        let other = AnsweredCell { cell: other, ..answered.clone() };
        assert_eq!(store.resume_cell(&other).await.unwrap(), Begun::NotWaiting, "{name}");
        asks_anew(&*store, (&acme, &one), &answered.cell).await;
        let Begun::Cell(cell) = store.resume_cell(&answered).await.unwrap() else {
            panic!("{name}")
        };
        let state = cell.parked.as_ref().map(|pack| &pack.id.checkpoint);
        assert_eq!((cell.number, cell.must_reseed, state), (2, false, Some(&parked)), "{name}");
        assert_eq!(store.resume_cell(&answered).await.unwrap(), Begun::NotWaiting, "{name}");
        assert_eq!(store.waiting_cell(&one).await.unwrap(), None, "{name}");
        // It waits again, with a whole pack: nothing needs the one before.
        let (_, gone) = park(&*store, &cell, "part two", false).await;
        assert_eq!(numbers(&gone), [2], "{name}");
        let waiting = store.waiting_cell(&one).await.unwrap().unwrap();
        let answered = AnsweredCell { cell: waiting, ..answered };
        let Begun::Cell(cell) = store.resume_cell(&answered).await.unwrap() else {
            panic!("{name}")
        };
        let end = commit(1, &cell, true, NOW);
        assert_eq!(store.commit_cell(&end, ROOM).await.unwrap(), Committed::Done(vec![]), "{name}");
        let cells = store.cells(&one, 1, 9).await.unwrap();
        assert_eq!(
            (cells.len(), cells[0].state, cells[0].fuel),
            (1, CellState::Kept, Some(21)),
            "{name}"
        );
        assert_eq!(store.chain(&one, &end.checkpoint).await.unwrap().len(), 2, "{name}");
        let now = store.usage(&acme, NOW).await.unwrap().bytes;
        assert_eq!(now, used + 256 + 5 + 4 + 2_000, "{name}");
    }
}

#[tokio::test]
async fn whole_cells_that_wait_and_are_given_up_leave_nothing() {
    for (name, store, _folder) in stores().await {
        let (acme, one) = (tenant("acme"), session_id(1));
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        run(&*store, 1, false).await;
        let used = store.usage(&acme, NOW).await.unwrap().bytes;
        let mut expected = used;
        for (part, ends_waiting) in [("one", true), ("two", false)] {
            let cell = begin(&*store, &new_cell("acme", 1, NOW)).await;
            park(&*store, &cell, part, true).await;
            expected += 256 + 5;
            if ends_waiting {
                let gone = store.roll_back_cell(&one, cell.number, &CellEnd::default()).await;
                assert_eq!(gone.unwrap().unwrap().len(), 1, "{name}");
            } else {
                let cell = store.waiting_cell(&one).await.unwrap().unwrap();
                let answered =
                    AnsweredCell { tenant: acme.clone(), session: one.clone(), cell, now_ms: NOW };
                assert!(matches!(store.resume_cell(&answered).await.unwrap(), Begun::Cell(_)));
                assert_eq!(store.roll_back_running().await.unwrap(), 1, "{name}");
            }
            assert_eq!(store.usage(&acme, NOW).await.unwrap().bytes, expected, "{name}");
            assert_eq!(store.waiting_cell(&one).await.unwrap(), None, "{name}");
        }
        let cell = begin(&*store, &new_cell("acme", 1, NOW)).await;
        park(&*store, &cell, "three", true).await;
        let gone = store.remove(&acme, &one, Removal::Closed).await.unwrap().unwrap();
        assert_eq!(gone.len(), 2, "{name}");
        assert_eq!(store.usage(&acme, NOW).await.unwrap(), SessionUsage::default(), "{name}");
    }
}

#[tokio::test]
async fn a_quota_refuses_a_cell_and_changes_nothing() {
    for (name, store, _folder) in stores().await {
        let (acme, one) = (tenant("acme"), session_id(1));
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        let cell = begin(&*store, &new_cell("acme", 1, NOW)).await;
        let used = store.usage(&acme, NOW).await.unwrap().bytes;
        let end = commit(1, &cell, false, NOW);
        let refused = store.commit_cell(&end, used + 1_003).await.unwrap();
        assert_eq!(refused, Committed::Full, "{name}");
        assert_eq!(store.usage(&acme, NOW).await.unwrap().bytes, used, "{name}");
        assert_eq!(store.find(&acme, &one).await.unwrap().unwrap().head, None, "{name}");
        assert_eq!(store.chain(&one, &end.checkpoint).await.unwrap(), [], "{name}");
        let done = store.commit_cell(&end, used + 1_004).await.unwrap();
        assert_eq!(done, Committed::Done(vec![]), "{name}");
        let next = new_cell("acme", 1, NOW);
        assert_eq!(store.begin_cell(&next, used + 1_003).await.unwrap(), Begun::Full, "{name}");
        assert!(matches!(store.begin_cell(&next, used + 1_004).await.unwrap(), Begun::Cell(_)));
    }
}

#[tokio::test]
async fn a_cell_begins_at_the_expected_checkpoint_only() {
    for (name, store, _folder) in stores().await {
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        let (first, _) = run(&*store, 1, false).await;
        let (second, _) = run(&*store, 1, true).await;
        let cell = NewCell { if_checkpoint: Some(first), ..new_cell("acme", 1, NOW) };
        let head = Some(second.clone());
        assert_eq!(
            store.begin_cell(&cell, ROOM).await.unwrap(),
            Begun::Conflict { head },
            "{name}"
        );
        let cell = NewCell { if_checkpoint: Some(second), ..new_cell("acme", 1, NOW) };
        assert_eq!(begin(&*store, &cell).await.number, 3, "a refusal has no number: {name}");
    }
}

#[tokio::test]
async fn sessions_end_by_their_last_use_and_by_their_age() {
    for (name, store, _folder) in stores().await {
        let (acme, one) = (tenant("acme"), session_id(1));
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        for used in [900, 2_700, 4_500] {
            begin(&*store, &new_cell("acme", 1, NOW + used)).await;
            store.use_session(&one, NOW + used + 900).await.unwrap();
        }
        let end = NOW + MAX_AGE;
        let images = BTreeSet::from([digest("image")]);
        assert_eq!(store.due(end - 1, 9).await.unwrap(), [], "{name}");
        let early = Removal::Expired { now_ms: end - 1 };
        assert_eq!(store.remove(&acme, &one, early).await.unwrap(), None, "{name}");
        assert_eq!(store.due(end, 9).await.unwrap(), [(acme.clone(), one.clone())], "{name}");
        assert_eq!(store.images().await.unwrap(), images, "until it has ended: {name}");
        let begun = store.begin_cell(&new_cell("acme", 1, end), ROOM).await.unwrap();
        assert_eq!(begun, Begun::Expired { at_ms: end }, "{name}");
        let due = Removal::Expired { now_ms: end };
        assert_eq!(store.remove(&acme, &one, due).await.unwrap(), Some(vec![]), "{name}");
        assert_eq!(store.remove(&acme, &one, due).await.unwrap(), None, "{name}");
        assert!(store.images().await.unwrap().is_empty(), "{name}");
        assert_eq!(store.keys(&one).await.unwrap(), [], "{name}");
        assert_eq!(store.cells(&one, 0, 9).await.unwrap(), [], "{name}");
        assert_eq!(store.usage(&acme, NOW).await.unwrap(), SessionUsage::default(), "{name}");
        let found = store.find(&acme, &one).await.unwrap().unwrap();
        assert_eq!((found.state, found.expires_ms), (SessionState::Expired, end), "{name}");
        store.use_session(&one, end).await.unwrap();
        assert_eq!(store.find(&acme, &one).await.unwrap(), Some(found), "{name}");
        // Also if the clock goes back.
        let begun = store.begin_cell(&new_cell("acme", 1, NOW), ROOM).await.unwrap();
        assert_eq!(begun, Begun::Expired { at_ms: end }, "{name}");
        assert_eq!(store.forget_expired(end).await.unwrap(), 0, "{name}");
        assert_eq!(store.forget_expired(end + 1).await.unwrap(), 1, "{name}");
        assert_eq!(store.find(&acme, &one).await.unwrap(), None, "{name}");
    }
}

#[tokio::test]
async fn only_so_many_expired_sessions_are_remembered() {
    for (name, store, _folder) in stores().await {
        let acme = tenant("acme");
        let id = |number: u64| SessionId::of_random(&(u128::from(number) << 64).to_be_bytes());
        for number in 0..=MAX_EXPIRED {
            let new = NewSession { id: id(number), ..new_session("acme", 0, NOW + number) };
            store.create(&new, 9).await.unwrap();
            let due = Removal::Expired { now_ms: NOW + number + IDLE };
            assert!(store.remove(&acme, &id(number), due).await.unwrap().is_some(), "{name}");
        }
        assert_eq!(store.find(&acme, &id(0)).await.unwrap(), None, "{name}");
        assert!(store.find(&acme, &id(1)).await.unwrap().is_some(), "{name}");
    }
}

/// What may be lost is what was used last, and each session's caller is told so once, unless it knows.
#[tokio::test]
async fn the_callers_of_sessions_that_may_have_gone_back_are_told_once() {
    let life = |boot: &str, sync| ServerLife { boot: Some(boot.to_owned()), sync };
    for (name, store, _folder) in stores().await {
        assert!(!store.begin_life(&life("one", SessionSync::Second)).await.unwrap(), "{name}");
        let long = |number, now_ms| NewSession {
            idle_ms: 9 * RARE_USE_MS,
            max_age_ms: 9 * RARE_USE_MS,
            ..new_session("acme", number, now_ms)
        };
        let later = NOW + 3 * RARE_USE_MS;
        for (number, now_ms) in [(1, NOW), (2, later), (3, later), (4, later)] {
            assert!(store.create(&long(number, now_ms), 9).await.unwrap(), "{name}");
            run(&*store, number, false).await;
            restored(&*store, number, now_ms).await;
        }
        assert!(!store.begin_life(&life("one", SessionSync::Second)).await.unwrap(), "{name}");
        assert!(store.begin_life(&life("two", SessionSync::Second)).await.unwrap(), "{name}");
        let head = |number| CheckpointId::new(1, &digest(&format!("{number} 1")));
        let cell = |number| NewCell { now_ms: later, ..new_cell("acme", number, later) };
        begin(&*store, &cell(1)).await;
        let told = store.begin_cell(&cell(2), ROOM).await.unwrap();
        assert_eq!(told, Begun::MayHaveGoneBack { head: Some(head(2)) }, "{name}");
        begin(&*store, &cell(2)).await;
        begin(&*store, &NewCell { if_checkpoint: Some(head(3)), ..cell(3) }).await;
        // One that is restored or forked.
        let fork = (&session_id(4), &head(4));
        store.fork(&tenant("acme"), fork, &[fork_of(4, 5)], later, room(9)).await.unwrap();
        let told = store.begin_cell(&cell(5), ROOM).await.unwrap();
        assert_eq!(told, Begun::MayHaveGoneBack { head: Some(head(4)) }, "{name}");
        restored(&*store, 4, later).await;
        begin(&*store, &cell(4)).await;
        // A server that has ended, or whose answers are durable, has lost nothing.
        store.end_life().await.unwrap();
        assert!(!store.begin_life(&life("three", SessionSync::Always)).await.unwrap(), "{name}");
        assert!(store.begin_life(&life("four", SessionSync::Second)).await.unwrap(), "{name}");
        assert!(begin(&*store, &cell(3)).await.must_reseed, "{name}");
    }
}

async fn restored(store: &dyn SessionStore, session: u8, now_ms: u64) {
    let head = CheckpointId::new(1, &digest(&format!("{session} 1")));
    assert!(store.restore(&session_id(session), &head, now_ms).await.unwrap());
}

/// A session goes back along the checkpoints that it came by, and not to one of another way.
#[tokio::test]
async fn a_session_goes_back_to_the_last_checkpoint_that_is_not_lost() {
    for (name, store, _folder) in stores().await {
        store.create(&new_session("acme", 1, NOW), 2).await.unwrap();
        let (first, _) = run(&*store, 1, false).await;
        run(&*store, 1, true).await;
        assert!(store.restore(&session_id(1), &first, NOW).await.unwrap());
        let (third, _) = run(&*store, 1, true).await;
        run(&*store, 1, true).await;
        let pack = |checkpoint| PackId { origin: session_id(1), checkpoint };
        let unsettled = store.unsettled_packs().await.unwrap();
        let cells = unsettled.iter().map(|(_, pack)| pack.id.checkpoint.cell());
        assert_eq!(cells.collect::<Vec<_>>(), [1, 3], "{name}");
        store.settle_packs(&[pack(first.clone())]).await.unwrap();
        assert_eq!(store.unsettled_packs().await.unwrap().len(), 1, "{name}");
        assert!(store.lose_pack(&pack(third)).await.unwrap(), "{name}");
        assert_eq!(kept(&*store, 1).await, [1, 2], "{name}");
        let cells = store.cells(&session_id(1), 0, 9).await.unwrap();
        let states: Vec<_> = cells.iter().map(|cell| cell.state).collect();
        let (kept_one, gone) = (CellState::Kept, CellState::RolledBack);
        assert_eq!(states, [kept_one, kept_one, gone, gone], "{name}");
        let told = store.begin_cell(&new_cell("acme", 1, NOW), ROOM).await.unwrap();
        assert_eq!(told, Begun::MayHaveGoneBack { head: Some(first.clone()) }, "{name}");
        let next = begin(&*store, &new_cell("acme", 1, NOW)).await;
        assert!(next.must_reseed && next.number == 5, "{name}");
        // The first pack is needed by all.
        assert!(store.lose_pack(&pack(first)).await.unwrap(), "{name}");
        assert_eq!(kept(&*store, 1).await, [0_u32; 0], "{name}");
        assert_eq!(store.usage(&tenant("acme"), NOW).await.unwrap().sessions, 1);
        let found = store.find(&tenant("acme"), &session_id(1)).await.unwrap().unwrap();
        assert_eq!(found.head, None, "{name}");
    }
}

/// A fork of a checkpoint that is lost would be an empty interpreter: it is left to be found damaged.
#[tokio::test]
async fn a_pack_stays_without_which_a_fork_has_no_state() {
    for (name, store, _folder) in stores().await {
        store.create(&new_session("acme", 1, NOW), 9).await.unwrap();
        let (first, _) = run(&*store, 1, false).await;
        let from = (&session_id(1), &first);
        store.fork(&tenant("acme"), from, &[fork_of(1, 2)], NOW, room(9)).await.unwrap();
        let pack = PackId { origin: session_id(1), checkpoint: first.clone() };
        assert!(!store.lose_pack(&pack).await.unwrap(), "{name}");
        assert_eq!(store.chain(&session_id(2), &first).await.unwrap().len(), 1, "{name}");
        assert_eq!(kept(&*store, 1).await, [1], "{name}");
    }
}
