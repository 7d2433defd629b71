//! Guests that workers keep between turns, in real processes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::tests::leaving::Leave;
use crate::tests::{
    WrittenBlobs, config, error_type, has_ended, job, logs, run, run_script, start, until, watch,
};
use crate::{
    AttachmentLimits, CheckedPayload, DispatchError, FinishedRun, HeldGuest, Isolation, Job, Pool,
    PoolConfig, PoolReport, RunHost, WorkerCommand, WorkerId, WorkerOwner, memory_of,
};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_vocabulary::ids::{BlobId, Digest, TenantId};
use wardian_vocabulary::units::ByteCount;

const LONG: Duration = Duration::from_secs(60);

/// A pool that keeps up to `held` guests.
pub(super) fn holding(workers: usize, held: usize) -> PoolConfig {
    PoolConfig { most_held: held, grace: Duration::from_secs(10), ..config(workers) }
}

fn guest(pool: &Pool) -> HeldGuest {
    pool.open(job("").guest)
}

fn guest_of(pool: &Pool, tenant: &str) -> HeldGuest {
    let Job { mut guest, .. } = job("");
    guest.setup.tenant = TenantId::parse(tenant).unwrap();
    pool.open(guest)
}

async fn try_turn(guest: &mut HeldGuest, source: &str) -> Result<FinishedRun, DispatchError> {
    guest.turn(&job(source).turn, &mut WrittenBlobs::default()).await
}

async fn turn(guest: &mut HeldGuest, source: &str) -> FinishedRun {
    try_turn(guest, source).await.unwrap()
}

pub(super) async fn ensure_lost(guest: &mut HeldGuest) {
    let lost = timeout(LONG, try_turn(guest, "return {}")).await.unwrap();
    assert!(matches!(lost, Err(DispatchError::GuestLost)), "{lost:?}");
}

fn processes(pool: &Pool) -> Vec<u32> {
    pool.report().workers.iter().map(|worker| worker.process).collect()
}

#[tokio::test]
async fn a_guest_keeps_its_state_until_it_is_closed() {
    let pool = start(holding(1, 1)).await;
    let mut guest = guest(&pool);
    assert_eq!(pool.report().guests, 0, "its first turn opens it");
    let first = turn(&mut guest, "keep one\nreturn 1").await;
    assert_eq!((error_type(&first), first.is_guest_kept), ("completed", true));
    let report = until(&pool, "replaced", |report| report.workers.len() == 2).await;
    assert_eq!((report.guests, report.running), (1, 0));
    // A turn that fails with an exception leaves the guest whole.
    let failed = turn(&mut guest, "keep two\nblob forbidden x").await;
    assert_eq!((error_type(&failed), failed.is_guest_kept), ("QuotaExceeded", true));
    let last = turn(&mut guest, "kept\nreturn 3").await;
    assert_eq!((logs(&last), last.worker), (vec!["one two"], first.worker));
    assert_eq!(last.output.unwrap().into_bytes().unwrap(), b"3");

    guest.close();
    let report = pool.report();
    assert_eq!((report.guests, report.counters.guests_given_up), (0, 0));
    for _ in 0..4 {
        let run = run_script(&pool, "kept\nreturn {}").await;
        assert_eq!(logs(&run), [""], "a run has a guest of its own");
    }
    let report = pool.report();
    assert_eq!((report.counters.ended, report.counters.crashed), (0, 0), "{report:?}");
    let kept = report.workers.iter().find(|worker| worker.id == first.worker).unwrap();
    assert!(kept.runs >= 3 && kept.is_resting && kept.guests == 0, "{kept:?}");
}

#[tokio::test]
async fn a_turn_that_ends_its_guest_says_so_and_its_worker_goes_on() {
    let pool = start(holding(1, 1)).await;
    let mut guest = guest(&pool);
    for first in ["trap", "keep x\nreturn {}"] {
        let mut guest = self::guest(&pool);
        let ended = turn(&mut guest, first).await;
        assert_eq!(ended.is_guest_kept, first != "trap");
    }
    assert!(turn(&mut guest, "keep x\nreturn {}").await.is_guest_kept);
    let ended = turn(&mut guest, "trap").await;
    assert_eq!((error_type(&ended), ended.is_guest_kept), ("SandboxCrash", false));
    assert!(!ended.is_worker_lost);
    ensure_lost(&mut guest).await;
    assert_eq!(pool.report().guests, 0);
    for _ in 0..3 {
        assert_eq!(logs(&run_script(&pool, "kept\nreturn {}").await), [""]);
    }
    assert_eq!(pool.report().counters.ended, 0, "the worker can have another guest");
}

#[tokio::test]
async fn a_guest_that_no_worker_may_keep_is_closed_after_its_first_turn() {
    let pool = start(config(1)).await;
    let mut guest = guest(&pool);
    let only = turn(&mut guest, "keep x\nreturn {}").await;
    assert_eq!((error_type(&only), only.is_guest_kept), ("completed", false));
    ensure_lost(&mut guest).await;
    assert_eq!(logs(&run_script(&pool, "kept\nreturn {}").await), [""]);
    let report = pool.report();
    assert_eq!((report.workers.len(), report.counters.ended), (1, 0));
    assert_eq!(report.counters.guests_given_up, 0, "its holder was told by the result");
}

#[tokio::test]
async fn the_loss_of_a_guest_is_told_at_once() {
    let pool = start(holding(1, 2)).await;
    let [mut first, mut second, mut third] = [(); 3].map(|()| guest(&pool));
    timeout(LONG, first.lost()).await.unwrap();
    for guest in [&mut first, &mut second] {
        assert!(turn(guest, "keep x\nreturn {}").await.is_guest_kept);
    }
    let (lost, mut kept) = (first.lost(), pin!(second.lost()));
    assert!(turn(&mut third, "keep x\nreturn {}").await.is_guest_kept);
    timeout(LONG, lost).await.unwrap();
    assert!(!first.is_kept() && second.is_kept());
    assert!(timeout(Duration::from_millis(10), &mut kept).await.is_err(), "it is kept");
    drop(second);
    timeout(LONG, kept).await.unwrap();
    let lost = third.lost();
    pool.shut_down(Duration::ZERO).await;
    timeout(LONG, lost).await.unwrap();
}

#[tokio::test]
async fn bounded_guests_give_way_in_the_order_of_their_last_use() {
    let pool = start(holding(1, 2)).await;
    let [mut first, mut second, mut third] = [(); 3].map(|()| guest(&pool));
    for (guest, name) in [(&mut first, "first"), (&mut second, "second")] {
        assert!(turn(guest, &format!("keep {name}\nreturn {{}}")).await.is_guest_kept);
    }
    assert_eq!(logs(&turn(&mut first, "kept").await), ["first"]);
    assert!(turn(&mut third, "keep third\nreturn {}").await.is_guest_kept);
    assert_eq!(pool.report().guests, 2);
    ensure_lost(&mut second).await;
    assert_eq!(logs(&turn(&mut first, "kept").await), ["first"]);
    assert_eq!(logs(&turn(&mut third, "kept").await), ["third"]);
    let counters = pool.report().counters;
    assert_eq!((counters.guests_given_up, counters.ended), (1, 0), "{counters:?}");
}

/// A host that keeps a run in progress: the run stores a blob, and that takes until the gate opens.
struct Gate(Arc<Notify>);

impl RunHost for Gate {
    async fn write_blob(&mut self, _: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        self.0.notified().await;
        Ok(BlobId::of_digest(&Digest::of(&content.into_bytes().unwrap())))
    }
}

/// Stores a blob, for which a [`Gate`] keeps it waiting.
const GATED: &str = "blob text/plain x\nreturn {}";

/// Begins a run that goes on until the returned gate is opened.
async fn occupy(pool: &Arc<Pool>) -> (Arc<Notify>, JoinHandle<FinishedRun>) {
    let (gate, before) = (Arc::new(Notify::new()), pool.report().running);
    let (pool_of_run, mut host) = (Arc::clone(pool), Gate(Arc::clone(&gate)));
    let run = tokio::spawn(async move { pool_of_run.run(&job(GATED), &mut host).await.unwrap() });
    until(pool, "busy", |report| report.running == before + 1).await;
    (gate, run)
}

#[tokio::test]
async fn a_guest_between_two_turns_is_no_run_and_its_turns_are() {
    let pool = Arc::new(start(holding(1, 1)).await);
    let mut guest = guest(&pool);
    turn(&mut guest, "keep x\nreturn {}").await;
    assert_eq!((pool.report().running, pool.report().guests), (0, 1));
    // The pool has one core: the run begins beside the guest, and a turn waits for the run.
    let (gate, run) = occupy(&pool).await;
    let patience = Duration::from_millis(50);
    timeout(patience, try_turn(&mut guest, "keep y\nreturn {}")).await.unwrap_err();
    assert_eq!((pool.report().queued, pool.report().guests), (0, 1), "it was not begun");
    let next = async {
        until(&pool, "queued", |report| report.queued == 1).await;
        gate.notify_one();
        assert_eq!(error_type(&run.await.unwrap()), "completed");
    };
    let (kept, ()) = tokio::join!(turn(&mut guest, "kept\nreturn {}"), next);
    assert_eq!(logs(&kept), ["x"]);
    assert!(kept.queued > Duration::ZERO);
    assert_eq!(pool.report().counters.ended, 0);
}

#[tokio::test]
async fn a_turn_needs_no_idle_worker() {
    let folder = tempfile::tempdir().unwrap();
    let WorkerCommand { program, .. } = config(1).command;
    let link = folder.path().join("worker");
    std::os::unix::fs::symlink(program, &link).unwrap();
    let command = WorkerCommand { program: link.clone(), ..config(1).command };
    let isolation = Isolation::Process;
    let pool = start(PoolConfig { command, isolation, spares: 1, ..holding(1, 2) }).await;
    // No further worker can start, and both keep a guest of somebody else.
    std::fs::remove_file(link).unwrap();
    let [mut guest, mut other] = ["one", "other"].map(|tenant| guest_of(&pool, tenant));
    assert!(turn(&mut guest, "keep x\nreturn {}").await.is_guest_kept);
    assert!(turn(&mut other, "return {}").await.is_guest_kept);
    until(&pool, "failed", |report| report.counters.failed_starts > 2).await;
    let hopeless = pool.run(&job("return {}"), &mut WrittenBlobs::default()).await;
    assert!(matches!(hopeless, Err(DispatchError::Start(_))), "{hopeless:?}");
    for _ in 0..3 {
        assert_eq!(logs(&turn(&mut guest, "kept\nreturn {}").await), ["x"]);
    }
    // Nor is there no hope for a turn that waits for another one.
    let (gate, order) = (Arc::new(Notify::new()), job(GATED));
    let mut host = Gate(Arc::clone(&gate));
    let waits = async {
        until(&pool, "in turn", |report| report.running == 1).await;
        let opens = async {
            until(&pool, "queued", |report| report.queued == 1).await;
            sleep(Duration::from_millis(50)).await;
            gate.notify_one();
        };
        let (kept, ()) = tokio::join!(turn(&mut guest, "kept\nreturn {}"), opens);
        assert_eq!(logs(&kept), ["x"]);
    };
    let (ended, ()) = tokio::join!(other.turn(&order.turn, &mut host), waits);
    assert!(ended.unwrap().is_guest_kept);
    drop(guest);
    let mut job = job("kept\nreturn {}");
    job.guest.setup.tenant = TenantId::parse("one").unwrap();
    assert_eq!(logs(&run(&pool, &job).await), [""], "its owner can have it for a run");
}

#[tokio::test]
async fn guests_of_one_tenant_share_a_process_and_those_of_two_never_do() {
    let isolation = Isolation::Process;
    let pool = start(PoolConfig { isolation, spares: 1, ..holding(1, 40) }).await;
    let mut guests = Vec::new();
    for number in 0..20 {
        for tenant in ["one", "other"] {
            let mut guest = guest_of(&pool, tenant);
            let first = turn(&mut guest, &format!("keep {tenant}{number}\nreturn {{}}")).await;
            assert!(first.is_guest_kept);
            guests.push((guest, format!("{tenant}{number}"), first.worker));
        }
    }
    let report = pool.report();
    let counts: Vec<usize> = report.workers.iter().map(|worker| worker.guests).collect();
    assert_eq!((report.guests, counts.iter().filter(|count| **count == 20).count()), (40, 2));
    for (guest, name, worker) in &mut guests {
        let kept = turn(guest, "kept\nreturn {}").await;
        assert_eq!((logs(&kept), kept.worker), (vec![name.as_str()], *worker));
    }
    // A guest that ends takes only itself, and a process its guests.
    assert!(!turn(&mut guests[0].0, "trap").await.is_guest_kept);
    assert_eq!(logs(&turn(&mut guests[2].0, "kept\nreturn {}").await), ["one1"]);
    let lost = guests[2].2;
    assert!(matches!(try_turn(&mut guests[2].0, "abort").await, Err(DispatchError::GuestLost)));
    until(&pool, "gone", |report| report.guests == 20).await;
    for (guest, name, worker) in &mut guests {
        if *worker == lost {
            ensure_lost(guest).await;
        } else {
            assert_eq!(logs(&turn(guest, "kept\nreturn {}").await), [name.as_str()]);
        }
    }
}

#[tokio::test]
async fn a_turn_whose_worker_is_busy_can_be_had_elsewhere_as_soon_as_there_is_a_core() {
    for cores in [1, 2] {
        let pool = Arc::new(start(holding(cores, 4)).await);
        let [mut busy, mut waits] = [(); 2].map(|()| guest(&pool));
        let first = turn(&mut busy, "return {}").await;
        assert_eq!(turn(&mut waits, "keep x\nreturn {}").await.worker, first.worker);
        let (gate, order) = (Arc::new(Notify::new()), job(GATED));
        let mut host = Gate(Arc::clone(&gate));
        let waiting = async {
            until(&pool, "in turn", |report| report.running == 1).await;
            if cores > 1 {
                ensure_lost(&mut waits).await;
                assert_eq!(pool.report().guests, 2, "its worker has not come back");
            } else {
                let patience = Duration::from_millis(100);
                timeout(patience, try_turn(&mut waits, "kept\nreturn {}")).await.unwrap_err();
            }
            gate.notify_one();
        };
        let (ended, ()) = tokio::join!(busy.turn(&order.turn, &mut host), waiting);
        assert!(ended.unwrap().is_guest_kept);
        if cores > 1 {
            assert_eq!((pool.report().guests, pool.report().counters.guests_given_up), (1, 1));
        } else {
            assert_eq!(logs(&turn(&mut waits, "kept\nreturn {}").await), ["x"]);
        }
        assert_eq!(logs(&turn(&mut busy, "kept\nreturn {}").await), [""]);
        assert_eq!(pool.report().counters.ended, 0);
    }
}

#[tokio::test]
async fn a_worker_keeps_as_many_guests_as_its_limits_have_room_for() {
    let attachments = AttachmentLimits { mapped: ByteCount::mebibytes(10), ..<_>::default() };
    let pool = start(PoolConfig { attachments, ..holding(1, 8) }).await;
    let mut guests = [(); 4].map(|()| guest(&pool));
    let [first, second, third, other] = &mut guests;
    let worker = turn(first, "grow 3\nkeep x\nreturn {}").await.worker;
    for guest in [second, third] {
        let ended = turn(guest, "grow 3\nreturn {}").await;
        assert_eq!((ended.worker, ended.is_guest_kept), (worker, true));
    }
    // A fourth would be too much, so there is another worker for those to come.
    let is_replaced = |report: &PoolReport| report.workers.iter().any(|one| one.guests == 0);
    until(&pool, "replaced", is_replaced).await;
    let ended = turn(other, "grow 9\nreturn {}").await;
    assert!(ended.worker != worker && ended.is_guest_kept);
    assert_eq!((pool.report().guests, pool.report().counters.guests_given_up), (4, 0));
    // One that grows takes the place of others, and keeps what it has.
    let grown = turn(first, "grow 6\nkept\nreturn {}").await;
    assert_eq!((logs(&grown), grown.worker, grown.is_guest_kept), (vec!["x"], worker, true));
    assert_eq!((pool.report().guests, pool.report().counters.guests_given_up), (3, 1));
    // One that is too large is not kept.
    assert!(!turn(other, "grow 11\nreturn {}").await.is_guest_kept);
    assert_eq!(logs(&turn(first, "kept\nreturn {}").await), ["x"]);
}

#[tokio::test]
async fn workers_with_guests_take_no_more_memory_than_they_may() {
    let held_memory = Some(ByteCount::bytes(1));
    let pool = start(PoolConfig { held_memory, ..holding(1, 4) }).await;
    let mut guest = guest(&pool);
    let ended = turn(&mut guest, "keep x\nreturn {}").await;
    assert_eq!((error_type(&ended), ended.is_guest_kept), ("completed", false));
    ensure_lost(&mut guest).await;
    let held_memory = Some(ByteCount::mebibytes(1 << 20));
    let pool = start(PoolConfig { held_memory, ..holding(1, 4) }).await;
    let mut guests = [(); 4].map(|()| self::guest(&pool));
    for guest in &mut guests {
        assert!(turn(guest, "keep x\nreturn {}").await.is_guest_kept);
    }
    assert_eq!(pool.report().counters.guests_given_up, 0);
}

#[tokio::test]
async fn guest_memory_is_admitted_until_the_guest_is_closed_and_runs_come_first() {
    let one = memory_of(&RunLimits::DEFAULT);
    let memory = Some(ByteCount::bytes(one.as_u64() * 2));
    let pool = Arc::new(start(PoolConfig { memory, ..holding(3, 2) }).await);
    let [mut first, mut second] = [(); 2].map(|()| guest(&pool));
    turn(&mut first, "keep first\nreturn {}").await;
    turn(&mut second, "keep second\nreturn {}").await;
    // A turn needs no further memory, and a run takes that of the guest that was used longest ago.
    assert_eq!(logs(&turn(&mut second, "kept\nreturn {}").await), ["second"]);
    pool.ensure_room(&TenantId::local(), &RunLimits::DEFAULT).unwrap();
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    ensure_lost(&mut first).await;
    // A guest within a turn keeps its memory, so the next run waits.
    let gate = Arc::new(Notify::new());
    let mut host = Gate(Arc::clone(&gate));
    let (_busy, run) = occupy(&pool).await;
    let (order, waits) = (job(GATED), job("return {}"));
    let mut waiting_host = WrittenBlobs::default();
    let in_turn = async {
        let ended = second.turn(&order.turn, &mut host).await.unwrap();
        assert!(ended.is_guest_kept, "a guest was given up within its turn");
    };
    let others = async {
        until(&pool, "in turn", |report| report.running == 2).await;
        let mut waiting = pin!(pool.run(&waits, &mut waiting_host));
        timeout(Duration::from_millis(50), &mut waiting).await.unwrap_err();
        assert!(pool.report().workers.iter().any(|worker| worker.is_resting), "for memory");
        gate.notify_one();
        // The end of the turn is followed by the end of the guest: the run needs its memory.
        assert_eq!(error_type(&waiting.await.unwrap()), "completed");
    };
    tokio::join!(in_turn, others);
    run.abort();
    ensure_lost(&mut second).await;
    let counters = pool.report().counters;
    assert_eq!((counters.guests_given_up, counters.ended), (2, 0), "{counters:?}");
}

#[tokio::test]
async fn a_pool_that_shuts_down_waits_for_turns_and_for_no_guest() {
    let pool = Arc::new(start(holding(2, 2)).await);
    let (mut rests, mut busy) = (guest(&pool), guest(&pool));
    turn(&mut rests, "keep x\nreturn {}").await;
    turn(&mut busy, "keep y\nreturn {}").await;
    let gate = Arc::new(Notify::new());
    let mut host = Gate(Arc::clone(&gate));
    let order = job(GATED);
    let shut_down = async {
        until(&pool, "in turn", |report| report.running == 1).await;
        let mut end = pin!(pool.shut_down(LONG));
        timeout(Duration::from_millis(50), &mut end).await.unwrap_err();
        let refused = try_turn(&mut rests, "kept").await;
        assert!(matches!(refused, Err(DispatchError::ShuttingDown)), "{refused:?}");
        gate.notify_one();
        timeout(LONG, end).await.unwrap();
    };
    let (ended, ()) = tokio::join!(busy.turn(&order.turn, &mut host), shut_down);
    let ended = ended.unwrap();
    assert_eq!((error_type(&ended), ended.is_guest_kept), ("completed", false));
    for guest in [&mut rests, &mut busy] {
        ensure_lost(guest).await;
    }
    assert_eq!(pool.report().guests, 0);
}

#[tokio::test]
async fn whole_turns_end_before_their_worker_is_replaced() {
    let pool = Arc::new(start(PoolConfig { most_held_by_one: 1, ..holding(2, 2) }).await);
    let (mut rests, mut busy) = (guest(&pool), guest(&pool));
    turn(&mut rests, "keep x\nreturn {}").await;
    turn(&mut busy, "keep y\nreturn {}").await;
    until(&pool, "replaced", |report| report.workers.len() == 4).await;
    let before = processes(&pool);
    let gate = Arc::new(Notify::new());
    let mut host = Gate(Arc::clone(&gate));
    let order = job("kept\nblob text/plain x\nreturn {}");
    let replacement = async {
        until(&pool, "in turn", |report| report.running == 1).await;
        let mut end = pin!(pool.replace_workers(config(1).command));
        tokio::select! {
            biased;
            _ = &mut end => panic!("the worker was replaced within a turn"),
            () = async {
                until(&pool, "lost", |report| report.guests == 1).await;
                ensure_lost(&mut rests).await;
                sleep(Duration::from_millis(50)).await;
            } => {}
        }
        gate.notify_one();
        timeout(LONG, end).await.unwrap().unwrap();
    };
    let (ended, ()) = tokio::join!(busy.turn(&order.turn, &mut host), replacement);
    let ended = ended.unwrap();
    assert_eq!((error_type(&ended), logs(&ended)), ("completed", vec!["y"]));
    assert!(!ended.is_guest_kept, "its worker is to be replaced");
    ensure_lost(&mut busy).await;
    until(&pool, "gone", |report| report.counters.ended == 4).await;
    assert!(processes(&pool).iter().all(|process| !before.contains(process)));
    let mut next = guest(&pool);
    assert!(turn(&mut next, "return {}").await.is_guest_kept);
}

#[tokio::test]
async fn the_loss_of_a_worker_is_the_loss_of_its_guest() {
    let pool = start(holding(1, 1)).await;
    let mut guest = guest(&pool);
    let kill = |worker: WorkerId| {
        let report = pool.report();
        let victim = report.workers.iter().find(|one| one.id == worker).unwrap();
        let process = watch(victim.process);
        pidfd_send_signal(&process, Signal::KILL).unwrap();
        assert!(has_ended(&process));
    };
    // Between two turns: its end is noticed before the next one, or by it.
    for is_noticed in [true, false] {
        let mut guest = self::guest(&pool);
        let first = turn(&mut guest, "keep x\nreturn {}").await;
        kill(first.worker);
        if is_noticed {
            until(&pool, "noticed", |report| report.guests == 0).await;
        }
        ensure_lost(&mut guest).await;
        until(&pool, "back", |report| report.running == 0 && report.guests == 0).await;
    }
    // Within a turn, which ends as a run does that loses its worker.
    turn(&mut guest, "keep x\nreturn {}").await;
    // If the worker ends before it has sent anything, the turn counts as not begun.
    let lost = try_turn(&mut guest, "abort").await;
    assert!(matches!(lost, Err(DispatchError::GuestLost)), "{lost:?}");
    ensure_lost(&mut guest).await;
    let crashed = turn(&mut self::guest(&pool), "abort").await;
    assert!(crashed.is_worker_lost && !crashed.is_guest_kept, "a first turn is not repeated");
    let counters = pool.report().counters;
    assert_eq!((counters.crashed, counters.guests_given_up), (1, 0), "{counters:?}");
}

#[tokio::test]
async fn a_turn_that_waits_is_told_when_its_guest_is_lost() {
    let pool = Arc::new(start(holding(1, 1)).await);
    let mut guest = guest(&pool);
    let first = turn(&mut guest, "keep x\nreturn {}").await;
    until(&pool, "replaced", |report| report.workers.len() == 2).await;
    let (gate, run) = occupy(&pool).await;
    let kill = async {
        let report = until(&pool, "queued", |report| report.queued == 1).await;
        let victim = report.workers.iter().find(|one| one.id == first.worker).unwrap();
        pidfd_send_signal(watch(victim.process), Signal::KILL).unwrap();
    };
    let (told, ()) = tokio::join!(timeout(LONG, try_turn(&mut guest, "kept")), kill);
    assert!(matches!(told.unwrap(), Err(DispatchError::GuestLost)));
    assert_eq!((pool.report().queued, pool.report().guests), (0, 0));
    gate.notify_one();
    assert_eq!(error_type(&run.await.unwrap()), "completed");
}

/// The first turn arrives before the cleaning up fails, during it, or afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_turn_that_a_worker_declines_gets_another_one() {
    let pool = start(holding(1, 1)).await;
    for milliseconds in [0, 5, 30, 100] {
        for pause in [0, 10, 60] {
            run_script(&pool, &format!("spoil {milliseconds}\nreturn 1")).await;
            sleep(Duration::from_millis(pause)).await;
            let mut guest = guest(&pool);
            let first = turn(&mut guest, "keep x\nreturn {}").await;
            assert_eq!((error_type(&first), first.is_guest_kept), ("completed", true));
            assert_eq!(logs(&turn(&mut guest, "kept\nreturn {}").await), ["x"]);
        }
    }
    let counters = pool.report().counters;
    assert_eq!((counters.crashed, counters.violations), (0, 0), "{counters:?}");
    assert!(counters.repeated > 0, "no turn was sent to a worker that had to decline it");
}

/// The test of the invariant `guest-of-its-own`, with real guests.
#[tokio::test]
async fn guest_of_its_own_tenant_in_a_worker_of_its_own() {
    let isolation = Isolation::Process;
    let pool = start(PoolConfig { isolation, ..holding(2, 2) }).await;
    let (mut one, mut other) = (guest_of(&pool, "one"), guest_of(&pool, "other"));
    turn(&mut one, "keep one\nreturn {}").await;
    turn(&mut other, "keep other\nreturn {}").await;
    for round in 0..20 {
        for (guest, name) in [(&mut one, "one"), (&mut other, "other")] {
            assert_eq!(logs(&turn(guest, "kept\nreturn {}").await), [name], "{round}");
            let mut job = job("kept\nreturn {}");
            job.guest.setup.tenant = TenantId::parse(name).unwrap();
            assert_eq!(logs(&run(&pool, &job).await), [""]);
        }
    }
    for worker in pool.report().workers.iter().filter(|worker| worker.guests > 0) {
        assert!(matches!(worker.owner, Some(WorkerOwner::Tenant(_))) && worker.guests == 1);
    }
}

/// Gives way once before it stores a blob, so that each blob of a turn takes another poll, however busy
/// the machine is.
#[derive(Default)]
struct Yielding(WrittenBlobs);

impl RunHost for Yielding {
    async fn write_blob(&mut self, kind: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        tokio::task::yield_now().await;
        self.0.write_blob(kind, content).await
    }
}

/// Leaves after the first poll of a turn, after the second, and so on, until a turn ends before that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_leaves_at_any_poll_costs_no_worker() {
    let pool = start(holding(1, 1)).await;
    let blobs = "blob-of a/b 90000\n".repeat(6);
    let order = job(&format!("kept\nkeep y\n{blobs}return-of 90000"));
    for is_first in [true, false] {
        let (mut left, mut polls) = (0, 0);
        loop {
            polls += 1;
            let mut guest = guest(&pool);
            if !is_first {
                turn(&mut guest, "keep x\nreturn {}").await;
            }
            let mut host = Yielding::default();
            let future = Box::pin(guest.turn(&order.turn, &mut host));
            let ended = Leave { future, polls }.await;
            let is_over = ended.is_some();
            if is_over {
                assert!(ended.unwrap().unwrap().is_guest_kept);
            } else {
                left += 1;
                until(&pool, "settled", |report| report.running == 0).await;
                assert_eq!(pool.report().guests, 0, "a guest outlived its turn");
                ensure_left(&mut guest, is_first).await;
            }
            drop(guest);
            ensure_unhurt(&pool).await;
            // A fast worker leaves few moments: then all are tried again.
            if is_over && left > 6 {
                break;
            }
            if is_over {
                polls = 0;
            }
        }
    }
}

/// Checks what the next turn finds after one that was left: a new guest if that was the first.
async fn ensure_left(guest: &mut HeldGuest, is_first: bool) {
    if is_first {
        assert_eq!(logs(&turn(guest, "kept\nreturn {}").await), [""], "anew");
    } else {
        ensure_lost(guest).await;
    }
}

/// Checks that nothing is left of guests, and that no worker was lost.
pub(super) async fn ensure_unhurt(pool: &Pool) {
    let report = until(pool, "free", |report| report.running + report.queued == 0).await;
    assert_eq!((report.guests, report.counters.ended), (0, 0), "{:?}", report.counters);
    assert_eq!(logs(&timeout(LONG, run_script(pool, "kept\nreturn {}")).await.unwrap()), [""]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_leaks_of_guests_whose_holders_leave_at_any_time(
        visits in prop::collection::vec(
            (prop::collection::vec((0_u64..3_000, any::<bool>()), 1..5), any::<bool>()),
            1..6,
        ),
    ) {
        Runtime::new().unwrap().block_on(async {
            let one = memory_of(&RunLimits::DEFAULT);
            // Memory that is not given back is missing for the next guest.
            let pool = start(PoolConfig { memory: Some(one), ..holding(1, 1) }).await;
            for (turns, closes) in visits {
                let mut guest = guest(&pool);
                let mut expected = Some(Vec::new());
                for (number, (microseconds, is_heard)) in turns.into_iter().enumerate() {
                    let mut order = job(&format!("kept\nblob-of a/b 90000\nkeep {number}\nreturn {{}}"));
                    order.turn.stream_logs = is_heard;
                    let (mut host, patience) =
                        (WrittenBlobs::default(), Duration::from_micros(microseconds));
                    let ended = timeout(patience, guest.turn(&order.turn, &mut host)).await;
                    match ended {
                        Ok(Ok(finished)) => {
                            let kept = expected.as_mut().expect("a lost guest has a turn");
                            assert_eq!(logs(&finished), [kept.join(" ")]);
                            assert!(finished.is_guest_kept);
                            kept.push(number.to_string());
                        }
                        Ok(Err(DispatchError::GuestLost)) => expected = None,
                        Ok(Err(other)) => panic!("{other:?}"),
                        // It may have been stopped while it waited, or later.
                        Err(_elapsed) => {
                            until(&pool, "settled", |report| report.running == 0).await;
                            let is_kept = pool.report().guests == 1;
                            let had_one = expected.as_ref().is_some_and(|kept| !kept.is_empty());
                            expected = match (had_one, is_kept) {
                                (true, false) => None,
                                _ => expected,
                            };
                        }
                    }
                }
                if closes {
                    guest.close();
                } else {
                    drop(guest);
                }
                ensure_unhurt(&pool).await;
            }
        });
    }
}

/// The worker of a guest whose turn was not begun still keeps the guest.
#[tokio::test]
async fn nothing_leaks_when_a_holder_leaves_before_it_takes_its_worker() {
    let pool = Arc::new(start(holding(1, 1)).await);
    let mut guest = guest(&pool);
    turn(&mut guest, "keep x\nreturn {}").await;
    let (gate, run) = occupy(&pool).await;
    {
        let (order, mut host) = (job("keep y\nreturn {}"), WrittenBlobs::default());
        let mut waiting = pin!(guest.turn(&order.turn, &mut host));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it has not waited"),
            _ = until(&pool, "queued", |report| report.queued == 1) => {}
        }
        gate.notify_one();
        assert_eq!(error_type(&run.await.unwrap()), "completed");
        // The waiting turn gets the worker, although nothing polls it any more.
        until(&pool, "granted", |report| report.queued == 0 && report.running == 1).await;
    }
    let report = pool.report();
    assert_eq!((report.running, report.guests), (0, 1));
    for _ in 0..3 {
        assert_eq!(logs(&run_script(&pool, "kept\nreturn {}").await), [""]);
    }
    assert_eq!(logs(&turn(&mut guest, "kept\nreturn {}").await), ["x"]);
    assert_eq!(pool.report().counters.ended, 0);
}
