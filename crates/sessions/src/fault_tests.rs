//! The state of sessions after every kind of failure, at each step of a commit.

use std::path::{Path, PathBuf};

use crate::testing::{Place, START, acme, end, facts};
use crate::{CellEnd, CellState, ForkParts, PackId, SessionSync, Sessions, SessionsError};
use wardian_stores::blobs::local::faulty_disk::{Fault, FaultyDisk};
use wardian_stores::sessions::{CellCommit, Committed};
use wardian_vocabulary::ids::{CheckpointId, SessionId};

const ROOT: &str = "/var/sessions";

fn place(disk: &FaultyDisk) -> Place<FaultyDisk> {
    let folder = tempfile::tempdir().unwrap();
    Place::on(disk.clone(), folder, PathBuf::from(ROOT))
}

/// Names of the packs' files.
fn files(disk: &FaultyDisk) -> Vec<String> {
    let others = ["lock", "reserve"];
    disk.files(Path::new(ROOT))
        .into_iter()
        .filter(|name| !others.contains(&name.as_str()))
        .collect()
}

/// Checks that a session is before or after its second cell, and that no other file is left.
async fn assert_whole(
    sessions: &Sessions<FaultyDisk>,
    disk: &FaultyDisk,
    session: &SessionId,
    committed: bool,
) {
    let expected = if committed { &[&b"old"[..], b"new"][..] } else { &[&b"old"[..]] };
    assert_eq!(sessions.state(session).await.unwrap(), expected);
    assert_eq!(files(disk).len(), expected.len());
    let cells = sessions.cells(&acme(), session, 1, 1).await.unwrap();
    let state = if committed { CellState::Kept } else { CellState::RolledBack };
    assert_eq!(cells[0].state, state);
}

/// One of several mixtures of what is lost.
fn chosen(number: &mut usize, choices: usize) -> usize {
    *number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
    (*number >> 33) % choices
}

/// A commit with a failure at its `at`-th call of the disk; false if it was over before that call.
async fn commit_with(fault: Fault, at: u64, lost: usize) -> bool {
    let disk = FaultyDisk::default();
    let mut place = place(&disk);
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    sessions.run(&id, b"old").await;
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"new");
    let started = disk.calls();
    disk.fail_at(at, fault);
    let committed = turn.commit(description, b"new".to_vec(), end()).await;
    let was_reached = disk.calls() > started + at;
    if let Err(error) = &committed {
        assert!(!error.to_string().contains("/var"), "{error}");
        let is_full = matches!(error, SessionsError::DiskFull(_));
        assert_eq!(is_full, fault == Fault::Full, "{error}");
    }
    if matches!(fault, Fault::ShortWrite | Fault::Interrupted) || !was_reached {
        assert!(committed.is_ok());
    }
    let is_committed = committed.is_ok();
    if fault == Fault::PowerCut {
        // Each change that was not synced is lost or not, in one of several mixtures.
        let mut number = lost;
        place.lose_power(disk.after_power_loss(|choices| chosen(&mut number, choices)));
    }
    drop(sessions);
    if fault != Fault::PowerCut {
        disk.heal();
    }
    let sessions = place.open().await;
    assert_whole(&sessions, &place.disk, &id, is_committed).await;
    sessions.run(&id, b"later").await;
    was_reached
}

async fn at_each_call(fault: Fault) {
    for at in 0.. {
        let mut was_reached = false;
        let mixtures = if fault == Fault::PowerCut { 4 } else { 1 };
        for lost in 0..mixtures {
            was_reached = commit_with(fault, at, lost).await;
        }
        if !was_reached {
            assert!(at > 5, "there are so many steps");
            return;
        }
    }
}

#[tokio::test]
async fn whole_cells_survive_a_loss_of_power_at_each_step() {
    at_each_call(Fault::PowerCut).await;
}

#[tokio::test]
async fn whole_cells_survive_a_failed_call_at_each_step() {
    at_each_call(Fault::Once(libc::EIO)).await;
    at_each_call(Fault::OnceAfterEffect(libc::EIO)).await;
}

#[tokio::test]
async fn whole_cells_survive_a_full_disk_at_each_step() {
    at_each_call(Fault::Full).await;
}

#[tokio::test]
async fn short_and_interrupted_calls_are_no_failures() {
    at_each_call(Fault::ShortWrite).await;
    at_each_call(Fault::Interrupted).await;
}

/// A server that is killed between the file and its row, and one that is killed between a row that is
/// gone and its file.
#[tokio::test]
async fn whole_cells_survive_a_kill_beside_the_row() {
    let disk = FaultyDisk::default();
    let place = place(&disk);
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    let old = sessions.run(&id, b"old").await;
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"new");
    let checkpoint = CheckpointId::new(turn.number(), &description.digest);
    let pack = PackId { origin: id.clone(), checkpoint: checkpoint.clone() };
    let key = crate::keys::PackKey::generate().unwrap();
    sessions.0.folder.write(&pack, &description, &key, b"new").unwrap();
    turn.roll_back(CellEnd::default()).await.unwrap();
    drop(sessions);
    assert_eq!(files(&disk).len(), 2);
    let sessions = place.open().await;
    assert_whole(&sessions, &disk, &id, false).await;
    // The row of a whole pack, after which the old one is needed no more.
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(None, b"whole");
    let whole = turn.commit(description, b"whole".to_vec(), end()).await.unwrap();
    let gone = sessions.0.store.forget_checkpoint(&id, &old).await.unwrap();
    assert!(matches!(gone, wardian_stores::sessions::Forgotten::Done(gone) if gone.len() == 1));
    drop(sessions);
    assert_eq!(files(&disk).len(), 2);
    let sessions = place.open().await;
    assert_eq!(files(&disk), [format!("{id}.{whole}")]);
    assert_eq!(sessions.state(&id).await.unwrap(), [b"whole"]);
}

/// The database fails for the rest of a server's life, before or after the row was written.
#[tokio::test]
async fn whole_cells_survive_a_database_that_fails() {
    for was_written in [false, true] {
        let disk = FaultyDisk::default();
        let place = place(&disk);
        let sessions = place.open().await;
        let id = sessions.new_session().await;
        sessions.run(&id, b"old").await;
        let turn = sessions.turn(&id).await.unwrap();
        let description = facts(turn.head(), b"new");
        let head = turn.head().cloned().unwrap();
        let checkpoint = CheckpointId::new(2, &description.digest);
        let pack = PackId { origin: id.clone(), checkpoint: checkpoint.clone() };
        let row = CellCommit {
            session: id.clone(),
            number: 2,
            head: Some(head.id.clone()),
            checkpoint,
            description: description.clone(),
            base: Some(head.pack.id.clone()),
            stored_bytes: crate::seal::sealed_size(description.size),
            is_settled: true,
            end: end(),
            must_reseed: false,
            now_ms: START,
        };
        let keys = sessions.0.keys_of_chain(&acme(), &id, &head.id, &[head.pack]).await.unwrap();
        sessions.0.folder.write(&pack, &description, &keys[&id], b"new").unwrap();
        if was_written {
            let committed = sessions.0.store.commit_cell(&row, 1 << 40).await.unwrap();
            assert_eq!(committed, Committed::Done(Vec::new()));
        }
        sessions.0.store.close().await;
        let committed = turn.commit(description, b"new".to_vec(), end()).await;
        assert!(matches!(committed, Err(SessionsError::Store { .. })));
        drop(sessions);
        let sessions = place.open().await;
        assert_whole(&sessions, &disk, &id, was_written).await;
    }
}

/// A cell whose state is synced after its answer, and a loss of power at the `at`-th call of the disk, or once
/// all is synced. The rows survive it. False if it was over before that call.
async fn lose_power_after_the_answer(at: u64, lost: usize) -> bool {
    let disk = FaultyDisk::default();
    let mut place = place(&disk);
    place.config.sync = SessionSync::Second;
    let sessions = place.open_still().await;
    let id = sessions.new_session().await;
    sessions.run(&id, b"old").await;
    sessions.0.sync_changes().await.unwrap();
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"new");
    let started = disk.calls();
    disk.fail_at(at, Fault::PowerCut);
    let committed = turn.commit(description, b"new".to_vec(), end()).await.is_ok();
    let is_synced = sessions.0.sync_changes().await.is_ok() && committed;
    let was_reached = disk.calls() > started + at;
    let mut number = lost;
    place.lose_power(disk.after_power_loss(|choices| chosen(&mut number, choices)));
    drop(sessions);
    let sessions = place.open_still().await;
    let told = sessions.state(&id).await.unwrap_err();
    let head = sessions.head(&id).await.unwrap();
    assert!(matches!(&told, SessionsError::MayHaveGoneBack { head: Some(at) } if *at == head));
    assert!(told.to_string().contains(head.as_str()), "{told}");
    let is_kept = head.cell() == 2;
    assert!(is_kept || !is_synced, "what was synced is not lost");
    assert!(committed || !is_kept, "what was refused is not kept");
    assert!(sessions.turn(&id).await.unwrap().must_reseed());
    assert_whole(&sessions, &place.disk, &id, is_kept).await;
    sessions.run(&id, b"later").await;
    was_reached
}

#[tokio::test]
async fn told_of_losses_and_whole_cells_after_a_loss_of_power_at_each_step() {
    for at in 0.. {
        let mut was_reached = false;
        for lost in 0..8 {
            was_reached = lose_power_after_the_answer(at, lost).await;
        }
        if !was_reached {
            assert!(at > 5, "there are so many steps");
            return;
        }
    }
}

/// The rows are lost, and the files that they made superfluous are needed again.
#[tokio::test]
async fn told_of_losses_when_the_database_is_behind_the_packs() {
    for lost in 0..8 {
        let disk = FaultyDisk::default();
        let mut before = place(&disk);
        before.config.sync = SessionSync::Second;
        let sessions = before.open_still().await;
        let id = sessions.new_session().await;
        for state in b"123456789" {
            run_whole(&sessions, &id, &[*state]).await;
        }
        sessions.0.sync_changes().await.unwrap();
        let head = sessions.head(&id).await;
        let mut after = place(&disk);
        for entry in std::fs::read_dir(before.folder.path()).unwrap() {
            let entry = entry.unwrap();
            if !entry.file_name().to_str().unwrap().ends_with("-shm") {
                std::fs::copy(entry.path(), after.folder.path().join(entry.file_name())).unwrap();
            }
        }
        let states = files(&disk).len();
        run_whole(&sessions, &id, b"a").await;
        run_whole(&sessions, &id, b"b").await;
        assert_eq!(files(&disk).len(), states + 2, "no file is removed before its row");
        after.config = before.config.clone();
        let mut number = lost;
        after.lose_power(disk.after_power_loss(|choices| chosen(&mut number, choices)));
        drop(sessions);
        let sessions = after.open_still().await;
        let told = sessions.state(&id).await.unwrap_err();
        assert!(matches!(told, SessionsError::MayHaveGoneBack { head: at } if at == head));
        assert_eq!(sessions.state(&id).await.unwrap(), [b"9"]);
        assert_eq!(files(&after.disk).len(), states);
        for made in sessions.checkpoints(&acme(), &id, 0, 99).await.unwrap() {
            sessions.restore(&acme(), &id, &made.id).await.unwrap();
            let state = sessions.state(&id).await.unwrap();
            assert_eq!(state, [made.id.cell().to_string().as_bytes()]);
        }
    }
}

/// Without a trace of the one before.
async fn run_whole(sessions: &Sessions<FaultyDisk>, session: &SessionId, state: &[u8]) {
    let turn = sessions.turn(session).await.unwrap();
    turn.commit(facts(None, state), state.to_vec(), end()).await.unwrap();
}

/// A cell that waits is durable within a second too, and its caller is told of it like of others.
#[tokio::test]
async fn a_wait_that_is_lost_leaves_the_session_before_its_cell() {
    let disk = FaultyDisk::default();
    let mut place = place(&disk);
    place.config.sync = SessionSync::Second;
    let sessions = place.open_still().await;
    let id = sessions.new_session().await;
    let old = sessions.run(&id, b"old").await;
    sessions.0.sync_changes().await.unwrap();
    let turn = sessions.turn(&id).await.unwrap();
    let description = facts(turn.head(), b"asks");
    turn.park(description, b"asks".to_vec(), end(), "{}".to_owned()).await.unwrap();
    let cell = sessions.waiting(&acme(), &id).await.unwrap();
    // The content of the file is not there.
    place.lose_power(disk.after_power_loss(|_| 0));
    drop(sessions);
    let sessions = place.open_still().await;
    let none = sessions.resume_turn(&acme(), &id, cell).await.unwrap_err();
    assert!(matches!(none, SessionsError::NotWaiting { .. }));
    let told = sessions.state(&id).await.unwrap_err();
    assert!(matches!(told, SessionsError::MayHaveGoneBack { head: Some(at) } if at == old));
    assert_whole(&sessions, &place.disk, &id, false).await;
}

/// What could not be synced is not synced by another attempt: the kernel may have given it up.
#[tokio::test]
async fn a_failed_sync_ends_the_store_and_costs_no_state_without_a_loss_of_power() {
    for at in 0..3 {
        let disk = FaultyDisk::default();
        let mut place = place(&disk);
        place.config.sync = SessionSync::Second;
        let sessions = place.open_still().await;
        let id = sessions.new_session().await;
        sessions.run(&id, b"old").await;
        disk.fail_at(at, Fault::Once(libc::EIO));
        assert!(sessions.0.sync_changes().await.is_err());
        let turn = sessions.turn(&id).await.unwrap();
        let description = facts(turn.head(), b"new");
        let refused = turn.commit(description, b"new".to_vec(), end()).await;
        assert!(matches!(refused, Err(SessionsError::Store { .. })));
        assert!(sessions.fork(&acme(), &id, None, 1, &ForkParts::default()).await.is_err());
        assert!(sessions.shut_down().await.is_err());
        drop(sessions);
        let sessions = place.open_still().await;
        assert_eq!(sessions.state(&id).await.unwrap(), [b"old"]);
        sessions.run(&id, b"new").await;
    }
}

/// A server that ends has nothing to lose, and the next one tells nobody of losses.
#[tokio::test]
async fn all_survives_a_loss_of_power_once_a_server_has_ended() {
    let disk = FaultyDisk::default();
    let mut place = place(&disk);
    place.config.sync = SessionSync::Second;
    let sessions = place.open_still().await;
    let id = sessions.new_session().await;
    sessions.run(&id, b"old").await;
    sessions.run(&id, b"new").await;
    sessions.shut_down().await.unwrap();
    place.lose_power(disk.after_power_loss(|_| 0));
    drop(sessions);
    let sessions = place.open_still().await;
    let turn = sessions.turn(&id).await.unwrap();
    assert!(!turn.must_reseed());
    drop(turn);
    assert_eq!(sessions.state(&id).await.unwrap(), [&b"old"[..], b"new"]);
}

/// The task does it without being asked.
#[tokio::test]
async fn states_are_synced_soon_after_their_answers() {
    let disk = FaultyDisk::default();
    let mut place = place(&disk);
    place.config.sync = SessionSync::Second;
    let sessions = place.open().await;
    let id = sessions.new_session().await;
    sessions.run(&id, b"old").await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    place.lose_power(disk.after_power_loss(|_| 0));
    drop(sessions);
    let sessions = place.open().await;
    sessions.state(&id).await.unwrap_err();
    assert_eq!(sessions.state(&id).await.unwrap(), [b"old"]);
}
