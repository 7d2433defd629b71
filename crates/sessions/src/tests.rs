//! Tests of sessions on a real disk and a real database.

use std::fs;
use std::time::Duration;

use crate::seal::FRAME;
use crate::testing::{Place, START, acme, end, facts, order};
use crate::{
    CellEnd, CellEnds, CellState, ForkParts, MAX_ASKED, MAX_CHAIN, MAX_FORKS, MAX_RESULT,
    PackDescription, SessionOrder, SessionUsage, SessionsConfig, SessionsError, TurnRequest,
};
use wardian_stores::sessions::{Begun, NewCell};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{CheckpointId, Digest, SessionId, TenantId};
use wardian_vocabulary::units::ByteCount;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn a_state_is_read_as_it_was_stored_also_by_the_next_server() {
    let place = Place::new();
    let mut sessions = place.open().await;
    let id = sessions.new_session().await;
    assert!(sessions.state(&id).await.unwrap().is_empty());
    let mut expected = Vec::new();
    for size in [0, 1, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME + 17] {
        let bytes: Vec<u8> = (0..=250).cycle().skip(size % 7).take(size).collect();
        sessions.run(&id, &bytes).await;
        expected.push(bytes);
        assert!(sessions.state(&id).await.unwrap() == expected, "{size}");
        drop(sessions);
        sessions = place.open().await;
        assert!(sessions.state(&id).await.unwrap() == expected, "{size}");
    }
    let cells = sessions.cells(&acme(), &id, 0, 100).await.unwrap();
    let kept = cells.iter().filter(|cell| cell.state == CellState::Kept);
    assert_eq!(kept.filter(|cell| cell.result.as_deref() == Some("done")).count(), 6);
    assert_eq!(sessions.checkpoints(&acme(), &id, 0, 100).await.unwrap().len(), 6);
}

#[tokio::test]
async fn one_owner_sees_a_session() {
    let (place, beta) = (Place::new(), TenantId::parse("beta").unwrap());
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let checkpoint = sessions.run(&id, b"state").await;
    let none = SessionId::of_random(&[7; 16]);
    for (tenant, id) in [(&beta, &id), (&acme(), &none)] {
        let turn = sessions.take_turn(tenant, id, TurnRequest::default()).await.map(drop);
        let answers = [
            sessions.find(tenant, id).await.map(drop),
            sessions.look(tenant, id, Duration::ZERO).await.map(drop),
            sessions.cells(tenant, id, 0, 9).await.map(drop),
            sessions.checkpoints(tenant, id, 0, 9).await.map(drop),
            turn,
            sessions.fork(tenant, id, None, 1, &ForkParts::default()).await.map(drop),
            sessions.restore(tenant, id, &checkpoint).await,
            sessions.name_checkpoint(tenant, id, &checkpoint, Some("name")).await,
            sessions.forget_checkpoint(tenant, id, &checkpoint).await,
            sessions.close(tenant, id).await,
        ];
        for (at, answer) in answers.into_iter().enumerate() {
            let text = answer.unwrap_err().to_string();
            let expected = format!("the session `{id}` does not exist; it may have been closed");
            assert_eq!(text, expected, "{at}");
        }
    }
    assert_eq!(sessions.list(&beta, None, 9).await.unwrap().sessions, []);
    assert_eq!(sessions.state(&id).await.unwrap(), [b"state"]);
}

#[tokio::test]
async fn a_look_becomes_a_change_and_the_session_draws_on() {
    let (place, short) = (Place::new(), Duration::from_millis(1));
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let first = sessions.run(&id, b"state").await;
    let order = || TurnRequest { source: "# wrote".to_owned(), ..TurnRequest::default() };
    let look = sessions.look(&acme(), &id, short).await.unwrap();
    let turn = look.begin_change(order()).await.unwrap();
    assert_eq!((turn.number(), turn.must_reseed()), (2, false));
    let busy = sessions.turn(&id).await.map(drop).unwrap_err();
    assert!(matches!(busy, SessionsError::Busy { .. }), "{busy}");
    let description = facts(turn.head(), b"changed");
    let second = turn.commit_change(description, b"changed".to_vec(), end()).await.unwrap();
    assert_eq!(sessions.find(&acme(), &id).await.unwrap().head, Some(second.clone()));
    let look = sessions.look(&acme(), &id, short).await.unwrap();
    let order = TurnRequest { if_checkpoint: Some(first), ..order() };
    let refused = look.begin_change(order).await.map(drop).unwrap_err();
    assert!(matches!(refused, SessionsError::Conflict { head } if head == Some(second)));
    let turn = sessions.turn(&id).await.unwrap();
    assert_eq!((turn.number(), turn.must_reseed()), (3, false), "no program has run since");
}

#[tokio::test]
async fn untouched_is_a_session_after_a_look() {
    let (place, short) = (Place::new(), Duration::from_millis(1));
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let memory = CallMemory::unlimited();
    let look = sessions.look(&acme(), &id, short).await.unwrap();
    assert!(look.head().is_none() && look.packs(&memory).await.unwrap().is_empty());
    drop(look);
    let first = sessions.run(&id, b"state").await;
    let before = sessions.find(&acme(), &id).await.unwrap();
    for _ in 0..2 {
        let look = sessions.look(&acme(), &id, short).await.unwrap();
        assert_eq!((look.session(), look.head()), (&id, Some(&first)));
        assert_eq!(look.packs(&memory).await.unwrap()[0].bytes, b"state");
        let busy = sessions.turn(&id).await.map(drop).unwrap_err();
        assert!(matches!(busy, SessionsError::Busy { .. }), "{busy}");
    }
    assert_eq!(sessions.find(&acme(), &id).await.unwrap(), before);
    let turn = sessions.turn(&id).await.unwrap();
    assert_eq!((turn.number(), turn.must_reseed()), (2, false), "its state is not continued");
    let busy = sessions.look(&acme(), &id, short).await.map(drop).unwrap_err();
    assert!(matches!(busy, SessionsError::Busy { .. }), "{busy}");
    drop(turn);
    // The cell that was given up may have continued it, and a change of files reseeds nothing.
    let turn = sessions.turn(&id).await.unwrap();
    assert!(turn.must_reseed());
    let description = facts(turn.head(), b"changed");
    turn.commit_change(description, b"changed".to_vec(), end()).await.unwrap();
    assert!(sessions.turn(&id).await.unwrap().must_reseed());
}

#[tokio::test]
async fn a_cell_that_waits_goes_on_once_also_with_the_next_server() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let first = sessions.run(&id, b"before").await;
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"part one");
    let asked = "requests".to_owned();
    turn.park(description, b"part one".to_vec(), end(), asked.clone()).await.unwrap();
    drop(sessions);
    let sessions = place.open().await;
    let refused = sessions.turn(&id).await.map(drop).unwrap_err();
    assert!(matches!(refused, SessionsError::Waiting { cell: 2, .. }), "{refused}");
    let refused = sessions.restore(&acme(), &id, &first).await.unwrap_err();
    assert!(matches!(refused, SessionsError::Waiting { cell: 2, .. }), "{refused}");
    assert_eq!(sessions.find(&acme(), &id).await.unwrap().head, Some(first.clone()));
    assert_eq!(place.files().len(), 2);
    let waiting = sessions.waiting(&acme(), &id).await.unwrap();
    assert_eq!((waiting.number, &waiting.asked), (2, &asked));
    let turn = sessions.resume_turn(&acme(), &id, waiting.clone()).await.unwrap();
    let packs = turn.packs(&CallMemory::unlimited()).await.unwrap();
    let bytes: Vec<&[u8]> = packs.iter().map(|pack| pack.bytes.as_slice()).collect();
    assert_eq!((bytes, turn.must_reseed()), (vec![&b"before"[..], b"part one"], false));
    let busy = sessions.resume_turn(&acme(), &id, waiting.clone()).await.map(drop).unwrap_err();
    assert!(matches!(busy, SessionsError::Busy { .. }), "{busy}");
    // It has not gone on, so it waits on.
    drop(turn);
    let turn = loop {
        match sessions.resume_turn(&acme(), &id, waiting.clone()).await {
            Err(SessionsError::Busy { .. }) => tokio::task::yield_now().await,
            resumed => break resumed.unwrap(),
        }
    };
    turn.continuation().note(true);
    // A part that begins at another state is none of this cell.
    let of_head = facts(turn.head(), b"part two");
    let refused = turn.commit(of_head, b"part two".to_vec(), end()).await.unwrap_err();
    assert!(matches!(refused, SessionsError::Conflict { .. }), "{refused}");
    let refused = sessions.resume_turn(&acme(), &id, waiting).await.map(drop).unwrap_err();
    assert!(matches!(refused, SessionsError::NotWaiting { .. }), "{refused}");
    assert_eq!(
        (sessions.state(&id).await.unwrap(), place.files().len()),
        (vec![b"before".to_vec()], 1)
    );

    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"asks");
    turn.park(description.clone(), b"asks".to_vec(), end(), asked).await.unwrap();
    let waiting = sessions.waiting(&acme(), &id).await.unwrap();
    let turn = sessions.resume_turn(&acme(), &id, waiting).await.unwrap();
    let (sequence, base) = (description.sequence + 1, Some(description.digest));
    let (digest, size) = (Digest::of(b"after"), ByteCount::from(5_usize));
    let description = PackDescription { sequence, base, digest, size };
    turn.commit(description, b"after".to_vec(), end()).await.unwrap();
    let expected = [&b"before"[..], b"asks", b"after"];
    assert_eq!(sessions.state(&id).await.unwrap(), expected);
}

#[tokio::test]
async fn a_cell_that_nobody_ends_says_what_is_known_of_it() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"part");
    // What is asked has room of its own.
    let long = "x".repeat(MAX_RESULT + MAX_ASKED);
    let asks = CellEnd { result: Some(long.clone()), fuel: None };
    turn.park(description, b"part".to_vec(), asks, "requests".to_owned()).await.unwrap();
    for is_continued in [false, true] {
        let waiting = sessions.waiting(&acme(), &id).await.unwrap();
        assert_eq!(waiting.result.as_ref(), Some(&long));
        let mut turn = sessions.resume_turn(&acme(), &id, waiting).await.unwrap();
        turn.continuation().note(is_continued);
        turn.set_end_if_dropped(end());
        drop(turn);
    }
    // The next turn is waited for, whatever becomes of the one before.
    drop(sessions.turn(&id).await.unwrap());
    let waiting = sessions.waiting(&acme(), &id).await.unwrap_err();
    assert!(matches!(waiting, SessionsError::NotWaiting { .. }), "{waiting}");
    let cells = sessions.cells(&acme(), &id, 0, 9).await.unwrap();
    let ends: Vec<_> = cells.iter().map(|cell| (cell.state, cell.result.as_deref())).collect();
    assert_eq!(ends, [(CellState::RolledBack, Some("done")), (CellState::RolledBack, None)]);
}

#[tokio::test]
async fn a_cell_that_is_about_to_end_is_waited_for() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let turn = sessions.turn(&id).await.unwrap();
    assert_eq!(turn.owner(), &acme());
    let busy = sessions.turn(&id).await.map(drop).unwrap_err();
    assert!(matches!(busy, SessionsError::Busy { .. }), "{busy}");
    turn.begin_ending();
    let (next, ended) = tokio::join!(sessions.turn(&id), async {
        tokio::task::yield_now().await;
        turn.roll_back(end()).await
    });
    ended.unwrap();
    assert_eq!(next.unwrap().number(), 2);
}

#[tokio::test]
async fn a_cell_that_waits_is_abandoned() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let refused = sessions.abandon(&acme(), &id, end()).await.unwrap_err();
    assert!(matches!(refused, SessionsError::NotWaiting { .. }), "{refused}");
    sessions.run(&id, b"before").await;
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"part");
    turn.park(description, b"part".to_vec(), end(), "requests".to_owned()).await.unwrap();
    let beta = TenantId::parse("beta").unwrap();
    assert!(sessions.abandon(&beta, &id, end()).await.is_err());
    assert_eq!(sessions.abandon(&acme(), &id, end()).await.unwrap().number, 2);
    assert_eq!(place.files().len(), 1, "its state is gone");
    let turn = sessions.turn(&id).await.unwrap();
    assert_eq!((turn.number(), turn.must_reseed()), (3, true));
    turn.roll_back(end()).await.unwrap();
}

#[tokio::test]
async fn sealed_packs_are_whole_or_damaged() {
    let place = Place::new();
    let sessions = place.open().await;
    let (id, other) = (sessions.new_session().await, sessions.new_session().await);
    let first = sessions.run(&id, b"a mark, a mark").await;
    let second = sessions.run(&id, &[7; 40]).await;
    // The same cell, facts and bytes.
    assert_eq!(sessions.run(&other, b"a mark, a mark").await, first);
    let path = |session: &SessionId, checkpoint: &CheckpointId| {
        place.config.root.join(format!("{session}.{checkpoint}"))
    };
    let [one, two, foreign] = [path(&id, &first), path(&id, &second), path(&other, &first)];
    let whole = fs::read(&one).unwrap();
    assert!(!whole.windows(6).any(|bytes| bytes == b"a mark"));
    let mut changed = vec![fs::read(&two).unwrap(), fs::read(&foreign).unwrap(), Vec::new()];
    assert_ne!(changed[1], whole);
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        changed.extend([flipped, whole[..at].to_vec()]);
    }
    changed.push([whole.as_slice(), b"\0"].concat());
    let turn = sessions.turn(&id).await.unwrap();
    for (at, bytes) in changed.iter().enumerate() {
        fs::remove_file(&one).unwrap();
        fs::write(&one, bytes).unwrap();
        let error = turn.packs(&CallMemory::unlimited()).await.unwrap_err();
        let is_named =
            matches!(&error, SessionsError::Damaged { checkpoint } if *checkpoint == second);
        assert!(is_named, "{at}: {error}");
    }
    fs::remove_file(&one).unwrap();
    assert!(
        matches!(turn.packs(&CallMemory::unlimited()).await, Err(SessionsError::Damaged { .. })),
        "it is gone"
    );
    fs::write(&one, &whole).unwrap();
    assert_eq!(turn.packs(&CallMemory::unlimited()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn frames_have_their_places() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let checkpoint = sessions.run(&id, &vec![1; 3 * FRAME]).await;
    let path = place.config.root.join(format!("{id}.{checkpoint}"));
    let mut bytes = fs::read(&path).unwrap();
    let (head, length) = (32, FRAME + 16);
    bytes[head..head + 2 * length].rotate_left(length);
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    assert!(matches!(sessions.state(&id).await, Err(SessionsError::Damaged { .. })));
    bytes[head..head + 2 * length].rotate_left(length);
    fs::write(&path, &bytes).unwrap();
    assert!(sessions.state(&id).await.is_ok());
}

#[tokio::test]
async fn another_key_of_the_tenant_opens_nothing() {
    let mut place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let checkpoint = sessions.run(&id, b"state").await;
    drop(sessions);
    let is_damaged = |error: SessionsError| matches!(error, SessionsError::Damaged { .. });
    for has_key in [false, true] {
        place.keys = "other.db";
        let sessions = place.open().await;
        if has_key {
            sessions.new_session().await;
        }
        assert!(is_damaged(sessions.state(&id).await.unwrap_err()));
        assert!(is_damaged(
            sessions.fork(&acme(), &id, None, 1, &ForkParts::default()).await.unwrap_err()
        ));
        let turn = sessions.turn(&id).await.unwrap();
        let description = facts(turn.head(), b"x");
        let error = turn.commit(description, b"x".to_vec(), end()).await.unwrap_err();
        assert!(is_damaged(error));
        assert_eq!(sessions.head(&id).await, Some(checkpoint.clone()));
        drop(sessions);
        place.keys = "wardian.db";
        assert_eq!(place.open().await.state(&id).await.unwrap(), [b"state"]);
    }
}

#[tokio::test]
async fn one_cell_runs_at_a_time() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let first = sessions.run(&id, b"first").await;
    let turn = sessions.turn(&id).await.unwrap();
    assert!(matches!(sessions.turn(&id).await, Err(SessionsError::Busy { .. })));
    let restored = sessions.restore(&acme(), &id, &first).await;
    assert!(matches!(restored, Err(SessionsError::Busy { .. })));
    let order = TurnRequest { wait: Duration::from_secs(600), ..TurnRequest::default() };
    let waiting = tokio::spawn({
        let (sessions, id) = (sessions.clone(), id.clone());
        async move { sessions.take_turn(&acme(), &id, order).await.unwrap().head().cloned() }
    });
    let description = facts(turn.head(), b"second");
    let second = turn.commit(description, b"second".to_vec(), end()).await.unwrap();
    assert_eq!(waiting.await.unwrap().unwrap().id, second, "it begins where the other ended");
    // That turn was dropped: its cell is rolled back, and the session is free soon.
    let order = TurnRequest { wait: Duration::from_secs(600), ..TurnRequest::default() };
    let turn = sessions.take_turn(&acme(), &id, order).await.unwrap();
    let cells = sessions.cells(&acme(), &id, 2, 9).await.unwrap();
    let states: Vec<CellState> = cells.iter().map(|cell| cell.state).collect();
    assert_eq!(states, [CellState::RolledBack, CellState::Running]);
    assert!(turn.must_reseed());
}

#[tokio::test]
async fn continued_once_holds_across_a_crash() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    sessions.run(&id, b"state").await;
    drop(sessions);
    let sessions = place.open().await;
    let turn = sessions.turn(&id).await.unwrap();
    assert!(!turn.must_reseed(), "being parked changes nothing");
    let description = facts(turn.head(), b"next");
    turn.commit(description, b"next".to_vec(), end()).await.unwrap();
    // A server that is killed in the middle of a cell.
    let cell = NewCell {
        tenant: acme(),
        session: id.clone(),
        source: None,
        if_checkpoint: None,
        is_settled: true,
        now_ms: START,
    };
    let Begun::Cell(begun) = sessions.0.store.begin_cell(&cell, 1 << 40).await.unwrap() else {
        panic!("it did not begin")
    };
    assert!(!begun.must_reseed);
    drop(sessions);
    let sessions = place.open().await;
    let cells = sessions.cells(&acme(), &id, 2, 9).await.unwrap();
    assert_eq!(cells[0].state, CellState::RolledBack);
    assert!(sessions.turn(&id).await.unwrap().must_reseed());
}

#[tokio::test]
async fn a_session_that_has_moved_on_is_a_conflict() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let first = sessions.run(&id, b"first").await;
    let second = sessions.run(&id, b"second").await;
    let order = |expected: &CheckpointId| TurnRequest {
        if_checkpoint: Some(expected.clone()),
        ..TurnRequest::default()
    };
    let error = sessions.take_turn(&acme(), &id, order(&first)).await.unwrap_err();
    assert!(matches!(&error, SessionsError::Conflict { head } if *head == Some(second.clone())));
    let turn = sessions.take_turn(&acme(), &id, order(&second)).await.unwrap();
    let good = facts(turn.head(), b"third");
    turn.roll_back(CellEnd::default()).await.unwrap();
    // Packs that do not continue the state at which the cell began.
    let sequence = good.sequence;
    let wrong = [
        PackDescription { base: Some(Digest::of(b"first")), ..good.clone() },
        PackDescription { base: None, ..good.clone() },
        PackDescription { sequence: 0, ..good.clone() },
        PackDescription { sequence: sequence + 1, ..good.clone() },
        PackDescription { size: ByteCount::bytes(6), ..good.clone() },
    ];
    for description in wrong {
        let turn = sessions.turn(&id).await.unwrap();
        let committed = turn.commit(description.clone(), b"third".to_vec(), end()).await;
        assert!(matches!(committed, Err(SessionsError::Conflict { .. })), "{description:?}");
        assert_eq!(sessions.head(&id).await, Some(second.clone()));
    }
    assert_eq!(place.files().len(), 2);
}

#[tokio::test]
async fn a_chain_has_so_many_packs() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    for number in 0..MAX_CHAIN {
        sessions.run(&id, &number.to_be_bytes()).await;
    }
    assert_eq!(sessions.state(&id).await.unwrap().len(), 32);
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"more");
    let committed = turn.commit(description, b"more".to_vec(), end()).await;
    assert!(matches!(committed, Err(SessionsError::Conflict { .. })));
    let turn = sessions.turn(&id).await.unwrap();
    turn.commit(facts(None, b"whole"), b"whole".to_vec(), end()).await.unwrap();
    assert_eq!(sessions.state(&id).await.unwrap(), [b"whole"]);
    // Packs that nothing needs go with the checkpoints: 1 to 30 stay for the multiples of ten.
    for number in 0..8_u8 {
        sessions.run(&id, &[number]).await;
    }
    assert_eq!(place.files().len(), 30 + 9);
    drop(sessions);
    assert_eq!(place.open().await.state(&id).await.unwrap().len(), 9);
    assert_eq!(place.files().len(), 30 + 9);
}

#[tokio::test]
async fn forks_are_sessions_of_their_own() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let error = sessions.fork(&acme(), &id, None, 1, &ForkParts::default()).await.unwrap_err();
    assert!(matches!(error, SessionsError::NoCheckpoint { checkpoint: None }));
    let first = sessions.run(&id, b"first").await;
    let second = sessions.run(&id, b"second").await;
    let error =
        sessions.fork(&acme(), &id, None, MAX_FORKS + 1, &ForkParts::default()).await.unwrap_err();
    assert!(error.to_string().starts_with("at most 16 forks in one call are possible; "));
    let forks =
        sessions.fork(&acme(), &id, Some(&first), MAX_FORKS, &ForkParts::default()).await.unwrap();
    let forks: Vec<SessionId> = forks.into_iter().map(Result::unwrap).collect();
    assert_eq!(place.files().len(), 2, "they share the pack");
    let turn = sessions.turn(&forks[0]).await.unwrap();
    assert!(turn.must_reseed() && turn.number() == 2);
    drop(turn);
    sessions.run(&forks[1], b"other").await;
    assert_eq!(sessions.state(&id).await.unwrap(), [&b"first"[..], b"second"]);
    assert_eq!(sessions.head(&id).await, Some(second));
    // A fork of a fork, whose packs are of three sessions.
    let nested = sessions
        .fork(&acme(), &forks[1], None, 1, &ForkParts::default())
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    sessions.run(&nested, b"nested").await;
    sessions.close(&acme(), &id).await.unwrap();
    sessions.close(&acme(), &forks[1]).await.unwrap();
    assert_eq!(place.files().len(), 3);
    let expected = [&b"first"[..], b"other", b"nested"];
    assert_eq!(sessions.state(&nested).await.unwrap(), expected);
    drop(sessions);
    let sessions = place.open().await;
    assert_eq!(sessions.state(&nested).await.unwrap(), expected);
    assert_eq!(sessions.state(&forks[2]).await.unwrap(), [b"first"]);
    for fork in forks.iter().filter(|fork| **fork != forks[1]) {
        sessions.close(&acme(), fork).await.unwrap();
    }
    assert_eq!(sessions.state(&nested).await.unwrap(), expected);
    sessions.close(&acme(), &nested).await.unwrap();
    assert_eq!(place.files(), Vec::<String>::new());
    assert_eq!(sessions.usage(&acme()).await.unwrap(), SessionUsage::default());
}

#[tokio::test]
async fn a_closed_session_has_no_key() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    sessions.run(&id, b"state").await;
    let turn = sessions.turn(&id).await.unwrap();
    let copy = fs::read(place.config.root.join(&place.files()[0])).unwrap();
    let head = turn.head().cloned().unwrap();
    sessions.close(&acme(), &id).await.unwrap();
    assert!(matches!(sessions.close(&acme(), &id).await, Err(SessionsError::NotFound { .. })));
    // The file comes back, from a backup.
    fs::write(place.config.root.join(format!("{id}.{}", head.id)), &copy).unwrap();
    assert!(turn.packs(&CallMemory::unlimited()).await.is_err());
    assert_eq!(sessions.0.store.keys(&id).await.unwrap(), []);
    // The cell that was running is committed no more.
    let committed = turn.commit(facts(Some(&head), b"x"), b"x".to_vec(), end()).await;
    assert!(matches!(committed, Err(SessionsError::NotFound { .. })));
    drop(sessions);
    let _sessions = place.open().await;
    assert_eq!(place.files(), Vec::<String>::new());
}

#[tokio::test]
async fn checkpoints_are_named_forgotten_and_restored() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let first = sessions.run(&id, b"first").await;
    sessions.name_checkpoint(&acme(), &id, &first, Some("start")).await.unwrap();
    for number in 0..20_u8 {
        sessions.run(&id, &[number]).await;
    }
    sessions.restore(&acme(), &id, &first).await.unwrap();
    let turn = sessions.turn(&id).await.unwrap();
    assert!(turn.must_reseed() && turn.number() == 22);
    assert_eq!(turn.head().unwrap().name.as_deref(), Some("start"));
    assert_eq!(turn.packs(&CallMemory::unlimited()).await.unwrap().len(), 1);
    turn.roll_back(CellEnd::default()).await.unwrap();
    let forgotten = sessions.forget_checkpoint(&acme(), &id, &first).await;
    assert!(matches!(forgotten, Err(SessionsError::IsCurrent { .. })));
    let none = CheckpointId::new(1, &Digest::of(b"none"));
    let restored = sessions.restore(&acme(), &id, &none).await;
    assert!(matches!(restored, Err(SessionsError::NoCheckpoint { .. })));
    let made = sessions.checkpoints(&acme(), &id, 1, 100).await.unwrap();
    for one in made {
        sessions.forget_checkpoint(&acme(), &id, &one.id).await.unwrap();
    }
    assert_eq!(place.files(), [format!("{id}.{first}")]);
}

#[tokio::test]
async fn a_state_that_is_written_too_late_is_not_kept() {
    let mut place = Place::new();
    let id = {
        let sessions = place.open().await;
        let id = sessions.new_session().await;
        sessions.run(&id, b"old").await;
        id
    };
    place.config.longest_save = Duration::ZERO;
    let sessions = place.open().await;
    let turn = sessions.turn(&id).await.unwrap();
    // So much that it is not written before anybody looks at a clock.
    let new = vec![7; 48 << 20];
    let description = facts(turn.head(), &new);
    let ends =
        CellEnds::new(end(), |cause| CellEnd { result: Some(cause.to_string()), fuel: None });
    let late = turn.commit(description, new, ends).await.unwrap_err();
    assert!(matches!(late, SessionsError::Late { .. }), "{late}");
    let cells = sessions.cells(&acme(), &id, 1, 1).await.unwrap();
    assert_eq!(
        (cells[0].state, cells[0].result.clone()),
        (CellState::RolledBack, Some(late.to_string()))
    );
    assert_eq!(sessions.state(&id).await.unwrap(), [b"old"]);
    for _ in 0..1_000 {
        if place.files().len() == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the file stays: {:?}", place.files());
}

#[tokio::test]
async fn quotas_are_those_of_a_tenant() {
    let mut place = Place::new();
    place.config =
        SessionsConfig { max_sessions: 3, max_parked: ByteCount::bytes(5_000), ..place.config };
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    sessions.new_session().await;
    sessions.run(&id, &[1; 2_000]).await;
    let forks = sessions.fork(&acme(), &id, None, 3, &ForkParts::default()).await.unwrap();
    let made: Vec<bool> = forks.iter().map(Result::is_ok).collect();
    assert_eq!(made, [true, false, false]);
    let error = sessions.create(&acme(), order()).await.unwrap_err();
    assert!(error.to_string().starts_with("at most 3 sessions of this tenant are possible; "));
    let beta = TenantId::parse("beta").unwrap();
    assert!(sessions.create(&beta, order()).await.is_ok());
    for size in [3_000, 6_000] {
        let turn = sessions.turn(&id).await.unwrap();
        let (description, bytes) = (facts(turn.head(), &vec![2; size]), vec![2; size]);
        let committed = turn.commit(description, bytes, end()).await;
        assert!(matches!(committed, Err(SessionsError::Full { .. })));
        assert_eq!(place.files().len(), 1);
    }
    sessions.run(&id, &[3; 1_000]).await;
    let long = CellEnd { result: Some("x".repeat(MAX_RESULT + 1)), fuel: Some(3) };
    sessions.turn(&id).await.unwrap().roll_back(long).await.unwrap();
    let cells = sessions.cells(&acme(), &id, 4, 1).await.unwrap();
    assert_eq!((cells[0].result.clone(), cells[0].fuel), (None, Some(3)), "it is too long");
    let long = TurnRequest { source: "x".repeat(1_000), ..TurnRequest::default() };
    let turn = sessions.take_turn(&acme(), &id, long).await.unwrap();
    turn.roll_back(CellEnd::default()).await.unwrap();
    assert!(matches!(sessions.turn(&id).await, Err(SessionsError::Full { .. })));
}

#[tokio::test]
async fn sessions_expire_and_say_when() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let short = SessionOrder { idle: Some(DAY / 24), max_age: Some(30 * DAY), ..order() };
    let short = sessions.create(&acme(), short).await.unwrap().id;
    sessions.run(&id, b"state").await;
    place.pass(DAY / 24);
    let error = sessions.turn(&short).await.unwrap_err();
    let text =
        format!("the session `{short}` expired at 2026-09-21T15:13:20.000Z; begin a new one");
    assert_eq!(error.to_string(), text);
    assert_eq!(sessions.list(&acme(), None, 9).await.unwrap().sessions.len(), 1);
    assert_eq!(sessions.end_expired().await.unwrap().len(), 1);
    assert_eq!(sessions.find(&acme(), &short).await.unwrap_err().to_string(), text);
    // Each use gives it another day, up to its age. One that runs a cell is not ended.
    sessions.run(&id, b"state").await;
    for _ in 0..6 {
        place.pass(DAY - Duration::from_secs(600));
        sessions.run(&id, b"state").await;
    }
    let turn = sessions.turn(&id).await.unwrap();
    place.pass(DAY);
    assert_eq!(sessions.end_expired().await.unwrap(), []);
    turn.roll_back(CellEnd::default()).await.unwrap();
    assert_eq!(sessions.end_expired().await.unwrap().len(), 1);
    assert!(matches!(sessions.find(&acme(), &id).await, Err(SessionsError::Expired { .. })));
    assert!(matches!(sessions.close(&acme(), &id).await, Err(SessionsError::Expired { .. })));
    assert_eq!(place.files(), Vec::<String>::new());
    place.pass(8 * DAY);
    sessions.end_expired().await.unwrap();
    assert!(matches!(sessions.find(&acme(), &id).await, Err(SessionsError::NotFound { .. })));
}

#[tokio::test]
async fn a_list_is_read_in_pages() {
    let place = Place::new();
    let sessions = place.open().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, sessions.new_session().await);
        place.pass(Duration::from_secs(1));
    }
    let (mut listed, mut behind) = (Vec::new(), None);
    loop {
        let page = sessions.list(&acme(), behind.as_ref(), 2).await.unwrap();
        listed.extend(page.sessions.into_iter().map(|one| one.id));
        behind = page.next;
        if behind.is_none() {
            break;
        }
    }
    assert_eq!(listed, made);
}

#[tokio::test]
async fn a_start_removes_what_has_no_row_and_nothing_else() {
    let place = Place::new();
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let checkpoint = sessions.run(&id, b"state").await;
    drop(sessions);
    let orphan = format!("{id}.{}", CheckpointId::new(9, &Digest::of(b"x")));
    for name in ["draft-7", &orphan, "notes.txt", "ses_~.c1"] {
        fs::write(place.config.root.join(name), "x").unwrap();
    }
    let sessions = place.open().await;
    let pack = format!("{id}.{checkpoint}");
    assert_eq!(place.files(), ["notes.txt", pack.as_str(), "ses_~.c1"]);
    assert_eq!(sessions.state(&id).await.unwrap(), [b"state"]);
    let rights = |name: &str| {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(place.config.root.join(name)).unwrap().mode() & 0o777
    };
    assert_eq!((rights("."), rights(&pack)), (0o700, 0o400));
}

#[tokio::test]
async fn a_second_server_is_refused() {
    let place = Place::new();
    let sessions = place.open().await;
    let (store, keys) = (place.store().await, sessions.0.keys.clone());
    let second = crate::Sessions::open(place.config.clone(), store, keys, sessions.0.clock).await;
    assert!(matches!(second, Err(SessionsError::Store { what: "open", .. })));
}

#[tokio::test]
async fn room_on_the_disk_is_set_aside_and_renewed() {
    let place = Place::new();
    let reserve = place.config.root.join("reserve");
    let size = || fs::metadata(&reserve).unwrap().len();
    drop(place.open().await);
    assert_eq!(size(), 1 << 20);
    // As a loss of power may leave it.
    fs::remove_file(&reserve).unwrap();
    fs::write(&reserve, b"").unwrap();
    let sessions = place.open().await;
    assert_eq!(size(), 1 << 20);
    assert!(sessions.0.folder.give_up_reserve() && fs::metadata(&reserve).is_err());
    assert!(!sessions.0.folder.give_up_reserve(), "there is no more");
}
