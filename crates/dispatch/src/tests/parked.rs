//! Guests that go on from their packs, in real processes.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::value::RawValue;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use crate::tests::held::{ensure_lost, ensure_unhurt, holding};
use crate::tests::leaving::Leave;
use crate::tests::{WrittenBlobs, config, error_type, image, job, logs, run_script, start, until};
use crate::{
    CheckedPack, CheckedPayload, DispatchError, FileDraft, FinishedRun, GuestSpec, HeldGuest, Job,
    NotParked, PackContent, RunHost, SealedContent,
};
use wardian_formats::job::Turn;
use wardian_formats::job::host::RequestKind;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::{INLINE_MAX, Refusal};
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::job::session::checkpoint::MOST_IN_CHAIN;
use wardian_formats::job::session::files::{FilesAnswer, FilesOrder, FilesRefusal};
use wardian_vocabulary::budget::{CallMemory, MemoryBudget};
use wardian_vocabulary::ids::{BlobId, Digest, WorkspacePath};
use wardian_vocabulary::units::ByteCount;

fn cell(source: &str) -> Job {
    let mut job = job(source);
    job.turn.cell = Some(CellOrder::new(1, false));
    job
}

async fn try_cell(guest: &mut HeldGuest, source: &str) -> Result<FinishedRun, DispatchError> {
    guest.turn(&cell(source).turn, &mut WrittenBlobs::default()).await
}

/// Runs a cell, and adds its pack to those that a guest is resumed from.
async fn run_cell(
    guest: &mut HeldGuest,
    source: &str,
    packs: &mut Vec<CheckedPack>,
) -> FinishedRun {
    let mut finished = try_cell(guest, source).await.unwrap();
    let pack = finished.pack.take().expect("nothing is said of a pack").unwrap();
    assert_eq!(
        (pack.facts.digest, pack.facts.size),
        (Digest::of(&pack.bytes), pack.bytes.len().into())
    );
    if pack.facts.is_whole() {
        packs.clear();
    }
    packs.push(pack);
    finished
}

fn guest() -> GuestSpec {
    job("").guest
}

fn contents(packs: &[CheckedPack]) -> Vec<PackContent> {
    packs.iter().map(|pack| PackContent::new(pack.bytes.clone()).unwrap()).collect()
}

#[tokio::test]
async fn a_guest_goes_on_from_its_packs_in_another_worker() {
    let [first, second] = [start(holding(1, 1)).await, start(holding(1, 2)).await];
    let (mut packs, long) = (Vec::new(), "x".repeat(INLINE_MAX));
    let mut kept = first.open(guest());
    let turn =
        kept.turn(&job("keep one\nreturn 1").turn, &mut WrittenBlobs::default()).await.unwrap();
    assert!(turn.pack.is_none() && turn.is_guest_kept, "it was no cell");
    let ended = run_cell(&mut kept, &format!("keep {long}\nreturn 2"), &mut packs).await;
    assert!(ended.is_guest_kept && packs[0].bytes.len() > INLINE_MAX);
    assert_eq!(ended.output.unwrap().into_bytes().unwrap(), b"2");
    // A cell that raises leaves its guest whole.
    let raised = run_cell(&mut kept, "keep three\nblob forbidden x", &mut packs).await;
    assert_eq!((error_type(&raised), raised.is_guest_kept), ("QuotaExceeded", true));
    drop(kept);
    drop(first);

    let all = format!("one {long} three");
    let mut forks = [(); 2].map(|()| second.resume(guest(), contents(&packs)));
    assert_eq!(second.report().guests, 0, "its first turn resumes it");
    for (number, fork) in forks.iter_mut().enumerate() {
        let mut sequence = 2;
        for round in 0..2 {
            let mut more = Vec::new();
            let source = format!("kept\nkeep {number}{round}");
            let ended = run_cell(fork, &source, &mut more).await;
            let own_part = if round == 0 { String::new() } else { format!(" {number}0") };
            assert!(logs(&ended)[0] == [all.clone(), own_part].concat(), "{number} {round}");
            sequence += 1;
            assert_eq!(more[0].facts.sequence, sequence);
            assert!(ended.is_guest_kept);
        }
    }
    assert_eq!(logs(&run_script(&second, "kept\nreturn {}").await), [""]);
    assert_eq!(second.report().counters.ended, 0);
}

/// An order for the files of a guest.
fn files(order: FilesOrder) -> Turn {
    Turn::of_files(order, RunLimits::DEFAULT.split().1)
}

fn write_of(path: &str) -> Turn {
    files(FilesOrder::Write { path: WorkspacePath::parse(path).unwrap() })
}

fn sealed(bytes: &[u8]) -> SealedContent {
    let mut draft = FileDraft::begin().unwrap();
    draft.append(bytes).unwrap();
    draft.finish().unwrap()
}

fn answer_of(finished: &mut FinishedRun, turn: &Turn) -> FilesAnswer {
    let text = finished.output.take().unwrap().into_bytes().unwrap();
    FilesAnswer::read(&text, turn.files.as_deref().unwrap()).unwrap()
}

#[tokio::test]
async fn a_change_of_files_has_a_pack_and_a_look_at_them_has_none() {
    let pool = start(holding(1, 1)).await;
    let mut kept = pool.open(guest());
    let mut packs = Vec::new();
    // The first turn of a guest may be one without a program.
    let long = vec![b'x'; INLINE_MAX + 1];
    for (number, content) in [b"one", &b""[..], &long[..]].into_iter().enumerate() {
        let (turn, content) = (write_of(&format!("f{number}")), sealed(content));
        let mut host = WrittenBlobs::default();
        let mut ended = kept.turn_with(&turn, Some(&content), &mut host).await.unwrap();
        assert!(ended.is_guest_kept, "{number}");
        assert_eq!(answer_of(&mut ended, &turn), FilesAnswer::Written { replaced: false });
        packs.push(ended.pack.unwrap().unwrap());
    }
    drop(kept);
    let mut resumed = pool.resume(guest(), contents(&packs));
    let turn = files(FilesOrder::Read { path: "f0".to_owned() });
    for _ in 0..2 {
        let mut host = WrittenBlobs::default();
        let mut ended = resumed.turn(&turn, &mut host).await.unwrap();
        assert!(ended.pack.is_none() && ended.is_guest_kept);
        assert_eq!(answer_of(&mut ended, &turn), FilesAnswer::Read { modified_ms: 7 });
        assert_eq!(host.0[0].1, b"one");
    }
    let ended = run_cell(&mut resumed, "keep last\nkept", &mut packs).await;
    assert!(logs(&ended)[0].starts_with("f0=one f1= f2=xxx"), "the guest goes on");
    assert_eq!(packs.last().unwrap().facts.sequence, 4);
    drop(resumed);
    ensure_unhurt(&pool).await;
}

#[tokio::test]
async fn a_refused_change_leaves_the_guest_at_its_last_pack() {
    let pool = start(holding(1, 1)).await;
    let (mut kept, mut packs) = (pool.open(guest()), Vec::new());
    run_cell(&mut kept, "keep one", &mut packs).await;
    let turn = files(FilesOrder::Remove { path: "none".to_owned() });
    for _ in 0..2 {
        let mut ended = kept.turn(&turn, &mut WrittenBlobs::default()).await.unwrap();
        let refused = FilesAnswer::Refused(FilesRefusal::NotFound);
        assert_eq!(answer_of(&mut ended, &turn), refused);
        assert!(matches!(ended.pack, Some(Err(NotParked::Unchanged))) && ended.is_guest_kept);
    }
    let ended = run_cell(&mut kept, "keep two\nkept", &mut packs).await;
    assert_eq!(packs.last().unwrap().facts.sequence, 2, "nothing is between the two");
    assert_eq!(logs(&ended), ["one two"]);
    // One that was done in part is of no use.
    let (turn, mut host) = (write_of("full"), WrittenBlobs::default());
    let mut ended = kept.turn_with(&turn, Some(&sealed(b"x")), &mut host).await.unwrap();
    assert_eq!(answer_of(&mut ended, &turn), FilesAnswer::Refused(FilesRefusal::NoSpace));
    assert!(ended.pack.is_none() && !ended.is_guest_kept);
    ensure_unhurt(&pool).await;
}

#[tokio::test]
async fn packs_are_released_when_a_worker_has_read_them() {
    let pool = start(holding(1, 1)).await;
    let (mut kept, mut packs) = (pool.open(guest()), Vec::new());
    run_cell(&mut kept, &format!("keep {}", "x".repeat(INLINE_MAX)), &mut packs).await;
    kept.close();
    let budget = MemoryBudget::new(ByteCount::mebibytes(8));
    let memory = CallMemory::new(&budget);
    memory.reserve(ByteCount::mebibytes(1)).unwrap();
    let contents = contents(&packs).into_iter().map(|pack| pack.charged_to(&memory)).collect();
    drop(memory);
    let mut resumed = pool.resume(guest(), contents);
    assert_eq!(budget.used(), ByteCount::mebibytes(1));
    // The cell waits for the host, which looks at the budget meanwhile.
    let order = cell("kept\nblob text/plain x\nreturn 1").turn;
    let mut host = SeenBudget { budget: Arc::clone(&budget), used: None };
    let ended = resumed.turn(&order, &mut host).await.unwrap();
    assert_eq!((error_type(&ended), host.used), ("completed", Some(ByteCount::default())));
    assert!(ended.is_guest_kept && logs(&ended)[0].len() == INLINE_MAX);
}

/// Notes how much of a budget is used while a guest asks something.
struct SeenBudget {
    budget: Arc<MemoryBudget>,
    used: Option<ByteCount>,
}

impl RunHost for SeenBudget {
    async fn write_blob(
        &mut self,
        _kind: &str,
        content: CheckedPayload,
    ) -> Result<BlobId, Refusal> {
        self.used = Some(self.budget.used());
        Ok(BlobId::of_digest(&Digest::of(&content.into_bytes().unwrap())))
    }
}

/// A turn that goes on with a cell that was held.
fn answers(text: &str) -> Job {
    let mut job = cell("");
    let answers = Some(JsonText::new(RawValue::from_string(text.to_owned()).unwrap()));
    job.turn.cell = Some(CellOrder { answers, ..CellOrder::new(1, false) });
    job
}

#[tokio::test]
async fn a_cell_is_held_between_two_turns_and_has_its_pack_after_the_last() {
    let pool = start(holding(1, 1)).await;
    let mut guest = pool.open(guest());
    let asks = try_cell(&mut guest, "log before\nask\nask\nkeep one\nreturn 7").await.unwrap();
    assert!(asks.is_guest_kept && asks.pack.is_none(), "it is not whole between two calls");
    assert_eq!(logs(&asks), ["before"]);
    assert_eq!(pool.report().guests, 1);
    let mut host = WrittenBlobs::default();
    let again = guest.turn(&answers("[1]").turn, &mut host).await.unwrap();
    assert!(again.outcome.cell.as_ref().is_some_and(|cell| cell.is_held));
    assert_eq!(logs(&again), ["[1]"]);
    let done = guest.turn(&answers("[2]").turn, &mut host).await.unwrap();
    assert_eq!((logs(&done), done.is_guest_kept), (vec!["[2]"], true));
    assert!(matches!(done.pack, Some(Ok(_))) && done.outcome.cell.unwrap().requests.is_empty());
    // A guest that is closed meanwhile leaves its worker to others.
    try_cell(&mut guest, "ask\nreturn 1").await.unwrap();
    drop(guest);
    assert_eq!(logs(&run_script(&pool, "kept\nreturn {}").await), [""]);
    assert_eq!(pool.report().counters.ended, 0, "no worker has ended");
    // A run has no guest to hold.
    assert_eq!(error_type(&run_script(&pool, "ask").await), "Cancelled");
}

/// A caller that answers a prompt `now` at once, and others never.
struct Answering;

impl RunHost for Answering {
    async fn write_blob(&mut self, _: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        Ok(BlobId::of_digest(&Digest::of(&content.into_bytes().unwrap())))
    }

    async fn ask_caller(&mut self, requests: CallerRequests) -> Option<JsonText> {
        sleep(Duration::from_millis(20)).await;
        let prompt = requests.all[0].input.as_ref().unwrap().prompt.clone();
        let text = match prompt.as_str() {
            "now" => "[8]".to_owned(),
            "large" => format!("[\"{}\"]", "x".repeat(3 * INLINE_MAX)),
            _ => return None,
        };
        Some(JsonText::new(RawValue::from_string(text).unwrap()))
    }
}

#[tokio::test]
async fn a_caller_that_hears_along_answers_within_the_turn() {
    let pool = start(holding(1, 1)).await;
    let mut guest = pool.open(guest());
    // More calls than the turn may make, and more time: with each answer both begin anew.
    let mut job = cell(&format!("{}soon never\nkeep one\nreturn 7", "soon now\n".repeat(30)));
    job.turn.cell = Some(CellOrder { is_heard: true, ..CellOrder::new(1, false) });
    (job.turn.limits.host_calls, job.turn.limits.wall_time) = (3, Duration::from_millis(200));
    let finished = guest.turn(&job.turn, &mut Answering).await.unwrap();
    let expected = [&["[8]"; 30][..], &["[]"]].concat();
    assert_eq!((error_type(&finished), logs(&finished)), ("completed", expected));
    let waited = finished.host_time.of(RequestKind::Caller);
    assert!(waited >= Duration::from_millis(20 * 31), "{waited:?}");
    // Without answers it is bounded as any other call.
    job.turn.limits.host_calls = 2;
    let mut again = cell(&"soon never\n".repeat(4));
    (again.turn.cell, again.turn.limits) = (job.turn.cell, job.turn.limits);
    let finished = guest.turn(&again.turn, &mut Answering).await.unwrap();
    assert_eq!(error_type(&finished), "SandboxCrash");
}

#[tokio::test]
async fn an_answer_within_the_turn_can_be_large() {
    let pool = start(holding(1, 1)).await;
    let mut guest = pool.open(guest());
    let mut job = cell("soon large\nsoon now\nkeep one\nreturn 7");
    job.turn.cell = Some(CellOrder { is_heard: true, ..CellOrder::new(1, false) });
    job.turn.limits.logs = ByteCount::mebibytes(1);
    let finished = guest.turn(&job.turn, &mut Answering).await.unwrap();
    let lengths: Vec<_> = logs(&finished).iter().map(|line| line.len()).collect();
    assert_eq!((error_type(&finished), lengths), ("completed", vec![3 * INLINE_MAX + 4, 3]));
}

/// A caller that hears along and never answers.
struct Silent;

impl RunHost for Silent {
    async fn write_blob(&mut self, _: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        Ok(BlobId::of_digest(&Digest::of(&content.into_bytes().unwrap())))
    }

    async fn ask_caller(&mut self, _: CallerRequests) -> Option<JsonText> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_turn_waits_for_its_caller_only_while_nobody_else_wants_its_worker() {
    let pool = start(holding(1, 1)).await;
    let mut guest = pool.open(guest());
    let mut job = cell("soon never\nkeep one\nreturn 7");
    job.turn.cell = Some(CellOrder { is_heard: true, ..CellOrder::new(1, false) });
    let mut silent = Silent;
    let asking = guest.turn(&job.turn, &mut silent);
    let other = async {
        until(&pool, "busy", |report| report.running == 1).await;
        run_script(&pool, "log other\nreturn {}").await
    };
    let both = timeout(Duration::from_secs(60), async { tokio::join!(asking, other) });
    let (finished, other) = Box::pin(both).await.unwrap();
    assert_eq!((logs(&finished.unwrap()), logs(&other)), (vec!["[]"], vec!["other"]));
}

#[tokio::test]
async fn the_other_guests_of_a_worker_that_holds_a_cell_go_on_elsewhere() {
    let pool = start(holding(1, 8)).await;
    let [mut asks, mut other] = [(); 2].map(|()| pool.open(guest()));
    let mut packs = Vec::new();
    let first = run_cell(&mut other, "keep x", &mut packs).await;
    let asked = try_cell(&mut asks, "ask\nkeep one\nreturn 7").await.unwrap();
    assert_eq!((asked.worker, asked.is_guest_kept), (first.worker, true));
    ensure_lost(&mut other).await;
    let mut resumed = pool.resume(guest(), contents(&packs));
    let elsewhere = run_cell(&mut resumed, "kept", &mut Vec::new()).await;
    assert_eq!(logs(&elsewhere), ["x"]);
    assert_ne!(elsewhere.worker, asked.worker);
    let done = asks.turn(&answers("[1]").turn, &mut WrittenBlobs::default()).await.unwrap();
    assert_eq!((logs(&done), done.worker), (vec!["[1]"], asked.worker));
    // From now on it keeps others again.
    assert_eq!(logs(&run_cell(&mut asks, "kept", &mut Vec::new()).await), ["one"]);
    assert_eq!(pool.report().guests, 2);
    assert_eq!(pool.report().counters.ended, 0);
}

/// Each cell is resumed, runs, and leaves nothing but its pack.
#[tokio::test]
async fn whole_sessions_live_from_packs_alone() {
    let pool = start(config(1)).await;
    let (mut packs, mut expected) = (Vec::new(), Vec::<String>::new());
    let mut wholes = 0;
    for number in 0..MOST_IN_CHAIN + 3 {
        let mut guest = match packs.is_empty() {
            true => pool.open(guest()),
            false => pool.resume(guest(), contents(&packs)),
        };
        let ended = run_cell(&mut guest, &format!("kept\nkeep {number}"), &mut packs).await;
        assert_eq!(logs(&ended), [expected.join(" ")]);
        assert!(!ended.is_guest_kept, "no guest may be kept");
        ensure_lost(&mut guest).await;
        expected.push(number.to_string());
        wholes += usize::from(packs.len() == 1);
    }
    assert_eq!((wholes, packs.len()), (2, 3), "a chain that is full is followed by a new one");
    let report = pool.report();
    assert_eq!((report.guests, report.counters.ended), (0, 0), "{report:?}");
}

#[tokio::test]
async fn packs_that_are_refused_cost_no_worker_and_are_not_sent_again() {
    let pool = start(holding(1, 1)).await;
    let mut packs = Vec::new();
    let mut kept = pool.open(guest());
    for source in ["keep one", "keep two"] {
        run_cell(&mut kept, source, &mut packs).await;
    }
    kept.close();
    let chain = contents(&packs);
    let mut damaged = packs[0].bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let other = image("another image");
    let other_guest = || {
        let mut guest = GuestSpec { image: other.clone(), ..guest() };
        guest.setup.image = other.digest();
        guest
    };
    let refused: [(GuestSpec, Vec<PackContent>, &str); 6] = [
        (guest(), vec![], "there is no pack"),
        (guest(), vec![PackContent::new(damaged).unwrap()], "a pack is damaged"),
        (guest(), chain[1..].to_vec(), "the pack that pack 2 continues is missing"),
        (guest(), vec![chain[0].clone(), chain[0].clone()], "pack 1 does not continue"),
        (guest(), vec![chain[0].clone(); MOST_IN_CHAIN + 1], "at most 32 packs"),
        (other_guest(), chain.clone(), "a pack belongs to the image"),
    ];
    for (spec, packs, expected) in refused {
        let mut guest = pool.resume(spec, packs);
        let refused = try_cell(&mut guest, "kept").await;
        let Err(DispatchError::NotResumed { reason }) = refused else { panic!("{refused:?}") };
        assert!(reason.contains(expected), "{reason}");
        ensure_lost(&mut guest).await;
        assert_eq!((pool.report().guests, pool.report().running), (0, 0), "{reason}");
        let mut whole = pool.resume(self::guest(), chain.clone());
        assert_eq!(logs(&try_cell(&mut whole, "kept").await.unwrap()), ["one two"]);
    }
    let counters = pool.report().counters;
    assert_eq!((counters.ended, counters.repeated), (0, 0), "{counters:?}");
}

#[tokio::test]
async fn a_guest_that_cannot_be_parked_is_closed_and_the_cell_has_its_answer() {
    let pool = start(holding(1, 1)).await;
    let mut guest = pool.open(guest());
    let first = try_cell(&mut guest, "keep x\nreturn 1").await.unwrap();
    assert!(first.is_guest_kept && matches!(first.pack, Some(Ok(_))));
    let ended = try_cell(&mut guest, "unparkable\nreturn 2").await.unwrap();
    assert_eq!((error_type(&ended), ended.is_guest_kept), ("completed", false));
    assert_eq!(ended.output.unwrap().into_bytes().unwrap(), b"2");
    let Some(Err(NotParked::Unparkable { reason })) = ended.pack else {
        panic!("{:?}", ended.pack)
    };
    assert!(reason.contains("cannot be parked"), "{reason}");
    ensure_lost(&mut guest).await;
    // Nothing is said of the state of a guest that its cell has ended.
    let mut guest = pool.open(self::guest());
    let trapped = try_cell(&mut guest, "trap").await.unwrap();
    assert!(trapped.pack.is_none() && !trapped.is_guest_kept && !trapped.is_worker_lost);
    ensure_unhurt(&pool).await;
}

#[tokio::test]
async fn a_cell_in_a_run_of_its_own_is_not_parked() {
    let pool = start(holding(1, 1)).await;
    for _ in 0..2 {
        let ended =
            pool.run(&cell("keep x\nreturn 1"), &mut WrittenBlobs::default()).await.unwrap();
        assert!(ended.pack.is_none() && ended.outcome.cell.is_some());
    }
    ensure_unhurt(&pool).await;
}

/// The first turn arrives before the cleaning up fails, during it, or afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packs_are_sent_again_to_a_worker_that_begins_the_first_turn() {
    let pool = start(holding(1, 1)).await;
    let mut packs = Vec::new();
    let mut kept = pool.open(guest());
    for text in ["one".to_owned(), "x".repeat(INLINE_MAX), "three".to_owned()] {
        run_cell(&mut kept, &format!("keep {text}"), &mut packs).await;
    }
    kept.close();
    let chain = contents(&packs);
    for milliseconds in [0, 5, 30, 100] {
        for pause in [0, 10, 60] {
            run_script(&pool, &format!("spoil {milliseconds}\nreturn 1")).await;
            sleep(Duration::from_millis(pause)).await;
            let mut guest = pool.resume(guest(), chain.clone());
            let first = try_cell(&mut guest, "kept\nreturn {}").await.unwrap();
            assert_eq!((error_type(&first), first.is_guest_kept), ("completed", true));
            assert!(logs(&first)[0].ends_with("x three"), "{milliseconds} {pause}");
        }
    }
    let counters = pool.report().counters;
    assert_eq!((counters.crashed, counters.violations), (0, 0), "{counters:?}");
    assert!(counters.repeated > 0, "no turn was sent to a worker that had to decline it");
}

/// Leaves after the first poll of a cell, after the second, and so on, until a cell ends before that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_holder_that_leaves_a_resumed_cell_at_any_poll_costs_no_worker() {
    let pool = start(holding(1, 1)).await;
    let mut packs = Vec::new();
    let mut kept = pool.open(guest());
    for text in ["one".to_owned(), "x".repeat(300_000)] {
        run_cell(&mut kept, &format!("keep {text}"), &mut packs).await;
    }
    kept.close();
    let chain = contents(&packs);
    let order =
        cell(&format!("kept\nkeep {}\nblob-of a/b 90000\nreturn-of 90000", "y".repeat(300_000)));
    let mut left = 0;
    for polls in 1.. {
        let mut guest = pool.resume(guest(), chain.clone());
        let mut host = WrittenBlobs::default();
        let future = Box::pin(guest.turn(&order.turn, &mut host));
        let ended = Leave { future, polls }.await;
        if let Some(ended) = ended {
            let ended = ended.unwrap();
            assert!(ended.is_guest_kept && ended.pack.unwrap().unwrap().bytes.len() > 300_000);
            break;
        }
        left += 1;
        until(&pool, "settled", |report| report.running == 0).await;
        assert_eq!(pool.report().guests, 0, "a guest outlived its turn");
        // Whatever the turn that was left has done, the next one begins at the packs, or has none.
        let again = match try_cell(&mut guest, "kept\nreturn {}").await {
            Err(DispatchError::GuestLost) => {
                guest = pool.resume(self::guest(), chain.clone());
                try_cell(&mut guest, "kept\nreturn {}").await.unwrap()
            }
            again => again.unwrap(),
        };
        assert!(logs(&again)[0].len() == 300_004, "{polls}");
        drop(guest);
        ensure_unhurt(&pool).await;
    }
    // On a busy machine much is ready at once.
    assert!(left > 1, "only {left} moments were tried");
    ensure_unhurt(&pool).await;
}

/// A step in the life of a session.
#[derive(Debug, Clone)]
enum Step {
    /// A cell, whose caller leaves after so many microseconds.
    Cell(Option<u64>),
    /// The guest is dropped.
    Close,
    /// The session goes back to where it was so many cells ago.
    Restore(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => Just(Step::Cell(None)),
        2 => (0_u64..3_000).prop_map(|time| Step::Cell(Some(time))),
        3 => Just(Step::Close),
        1 => (0_usize..4).prop_map(Step::Restore),
    ];
    prop::collection::vec(step, 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The state of a session is always that of the last cell whose pack has arrived.
    #[test]
    fn a_session_is_at_its_last_pack_whatever_becomes_of_its_guests(steps in steps()) {
        Runtime::new().unwrap().block_on(async {
            let pool = start(holding(1, 1)).await;
            // What was kept by each cell, and the chain of its pack.
            let mut states: Vec<(Vec<String>, Vec<PackContent>)> = vec![(Vec::new(), Vec::new())];
            let mut guest: Option<HeldGuest> = None;
            for (number, step) in steps.into_iter().enumerate() {
                let patience = match step {
                    Step::Cell(time) => time.map(Duration::from_micros).unwrap_or(Duration::MAX),
                    Step::Close => {
                        drop(guest.take());
                        continue;
                    }
                    Step::Restore(back) => {
                        drop(guest.take());
                        states.truncate(states.len().saturating_sub(back).max(1));
                        continue;
                    }
                };
                let (kept, chain) = states.last().cloned().unwrap();
                let open = || match chain.is_empty() {
                    true => pool.open(self::guest()),
                    false => pool.resume(self::guest(), chain.clone()),
                };
                let open = guest.get_or_insert_with(open);
                let source = format!("kept\nkeep {number}\nreturn {{}}");
                let Ok(ended) = timeout(patience, try_cell(open, &source)).await else {
                    drop(guest.take());
                    continue;
                };
                let ended = ended.unwrap();
                assert_eq!(logs(&ended), [kept.join(" ")]);
                if !ended.is_guest_kept {
                    // One that was left may still be on its way out.
                    drop(guest.take());
                }
                let pack = ended.pack.unwrap().unwrap();
                let whole = if pack.facts.is_whole() { Vec::new() } else { chain };
                let chain = [whole, vec![PackContent::new(pack.bytes).unwrap()]].concat();
                states.push(([kept, vec![number.to_string()]].concat(), chain));
            }
            drop(guest);
            ensure_unhurt(&pool).await;
        });
    }
}
