//! Compromised workers.

use std::collections::BTreeSet;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;
use std::{fs, io, thread};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{RecvFlags, Shutdown, shutdown};

use crate::tests::{
    WrittenBlobs, command, error_type, has_ended, job, logs, plays, run, until, watch,
};
use crate::{
    DispatchError, FinishedRun, HeldGuest, Job, NotParked, PackContent, Pool, PoolConfig, WorkerId,
};
use wardian_formats::job::host::RequestKind;
use wardian_formats::job::message::{FromWorker, OUTPUT_MAX, ToWorker, WorkerReport};
use wardian_formats::job::outcome::{
    Conversions, LeftFiles, LogChunk, Logs, MAX_MESSAGE, RunFailure, RunOutcome, RunUsage, Stream,
};
use wardian_formats::job::session::cell::CellOrder;
use wardian_formats::job::session::checkpoint::{PACK_FORMAT, PackFacts};
use wardian_formats::job::socket::{self, Incoming};
use wardian_formats::job::{Program, frame};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

fn hostile() -> PoolConfig {
    let test = "tests::hostile::the_process_that_is_hostile";
    PoolConfig { spares: 0, ..PoolConfig::new(command(test, "role-hostile"), 1) }
}

/// A compromised worker: instead of running the guest's source, it misbehaves as the source names.
#[test]
fn the_process_that_is_hostile() {
    if !plays("role-hostile") {
        return;
    }
    let socket = &io::stdin().as_fd().try_clone_to_owned().unwrap();
    let mut incoming = Incoming::default();
    say(socket, &FromWorker::Ready(WorkerReport::default()), b"");
    loop {
        while let Some((message, _)) = incoming.take::<ToWorker>().unwrap() {
            if matches!(message, ToWorker::NetworkAnswered) {
                say(socket, &done(Ok(()), "answered"), b"");
            }
            if let ToWorker::Run(_, turn) | ToWorker::Turn(_, turn) = message {
                let Program::Code { source, .. } = turn.program else { return };
                let act = match source.split_once(' ').map(|(word, _)| word) {
                    Some("asks") => ask_wrongly,
                    Some("prints") => print_wrongly,
                    Some("parks") => park_wrongly,
                    _ => misbehave,
                };
                act(socket, &source);
            }
        }
        let flags = RecvFlags::empty();
        if incoming.receive(socket.as_fd(), flags).map_or(0, |arrival| arrival.bytes) == 0 {
            return;
        }
    }
}

fn say(socket: &OwnedFd, message: &FromWorker, payload: &[u8]) {
    shout(socket, &frame::encode(message, payload, false).unwrap(), None);
}

/// Sends raw bytes. The gateway may have closed the socket, so errors are ignored.
fn shout(socket: &OwnedFd, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) {
    socket::send(socket.as_fd(), bytes, descriptor).ok();
}

fn blob() -> FromWorker {
    FromWorker::WriteBlob { kind: "text/plain".into() }
}

fn share(socket: &OwnedFd, message: &FromWorker, file: impl Into<OwnedFd>, size: u64) {
    let bytes = frame::encode_shared(message, ByteCount::bytes(size)).unwrap();
    shout(socket, &bytes, Some(file.into().as_fd()));
}

fn printed(text: &str) -> FromWorker {
    FromWorker::Printed(LogChunk { stream: Stream::Stdout, text: text.to_owned() })
}

fn done(end: Result<(), RunFailure>, log: &str) -> FromWorker {
    let chunk = LogChunk { stream: Stream::Log, text: log.to_owned() };
    let logs = Logs { chunks: vec![chunk], ..Logs::default() };
    let outcome = RunOutcome {
        end,
        logs,
        files: LeftFiles::default(),
        blob_names: Vec::new(),
        usage: RunUsage::default(),
        conversions: Conversions::default(),
        profile: None,
        cell: None,
    };
    FromWorker::Done { outcome: Box::new(outcome), can_go_on: true }
}

fn header(message: u32, inline: u32, flags: u32) -> Vec<u8> {
    [message, inline, flags].iter().flat_map(|field| field.to_le_bytes()).collect()
}

fn unsealed(size: u64) -> OwnedFd {
    let flags = MemfdFlags::ALLOW_SEALING;
    let file = memfd_create(c"x", flags).unwrap();
    ftruncate(&file, size).unwrap();
    file
}

fn misbehave(socket: &OwnedFd, how: &str) {
    let mebibyte = vec![0; 1 << 20];
    match how {
        "long message" => shout(socket, &header(u32::MAX, 0, 0), None),
        "long payload" => shout(socket, &header(2, 1 << 20, 0), None),
        "unknown flags" => shout(socket, &header(2, 0, 7), None),
        "no JSON" => shout(socket, &[header(4, 0, 0), b"oops".to_vec()].concat(), None),
        "other JSON" => shout(socket, &[header(4, 0, 0), b"null".to_vec()].concat(), None),
        "ready again" => say(socket, &FromWorker::Ready(WorkerReport::default()), b""),
        "failed" => say(socket, &FromWorker::Failed { reason: "because".into() }, b""),
        "failed too late" => {
            say(socket, &blob(), b"x");
            say(socket, &FromWorker::Failed { reason: "because".into() }, b"");
        }
        "pipe" => share(socket, &blob(), rustix::pipe::pipe().unwrap().0, 5),
        "zeros" => share(socket, &blob(), fs::File::open("/dev/zero").unwrap(), 5),
        "own file" => share(socket, &blob(), fs::File::open("/proc/self/exe").unwrap(), 5),
        "unsealed" => share(socket, &blob(), unsealed(5), 5),
        "shrunk" => share(socket, &blob(), socket::share(b"1234").unwrap(), 5),
        "huge blob" => share(socket, &blob(), socket::share(&mebibyte).unwrap(), 1 << 20),
        "huge output" => {
            share(socket, &done(Ok(()), ""), socket::share(&mebibyte).unwrap(), 1 << 20);
        }
        "output beyond any result" => {
            let zeros = vec![0; OUTPUT_MAX.as_usize() + 1];
            let size = zeros.len() as u64;
            share(socket, &done(Ok(()), ""), socket::share(&zeros).unwrap(), size);
        }
        "no descriptor" => {
            shout(socket, &frame::encode_shared(&blob(), ByteCount::bytes(5)).unwrap(), None);
        }
        "stray descriptor" => {
            let bytes = frame::encode(&blob(), b"", false).unwrap();
            shout(socket, &bytes, Some(socket.as_fd()));
        }
        "many calls" => (0..100).for_each(|_| say(socket, &blob(), b"x")),
        "many bytes" => (0..100).for_each(|_| say(socket, &blob(), &[0; 60_000])),
        "output of a failure" => say(socket, &done(Err(RunFailure::StackOverflow), ""), b"{}"),
        "long log" => say(socket, &done(Ok(()), &"x".repeat(100_000)), b""),
        "long failure" => {
            let reason = "x".repeat(100_000);
            say(socket, &done(Err(RunFailure::SandboxCrash { reason }), ""), b"");
        }
        "half a message" => {
            shout(socket, &frame::encode(&blob(), b"", false).unwrap()[..20], None);
            shutdown(socket, Shutdown::Both).unwrap();
        }
        "slow" => {
            shout(socket, &header(40 << 20, 0, 0), None);
            while socket::send(socket.as_fd(), b" ", None).is_ok() {
                thread::park_timeout(Duration::from_millis(1));
            }
        }
        "silence" => {}
        "two answers" => {
            let mut bytes = frame::encode(&done(Ok(()), "true"), b"", false).unwrap();
            frame::encode_into(&mut bytes, &done(Ok(()), "forged"), b"", false).unwrap();
            shout(socket, &bytes, None);
        }
        _ => say(socket, &done(Ok(()), "honest"), b"{}"),
    }
}

fn ask_wrongly(socket: &OwnedFd, how: &str) {
    match how {
        "asks for nothing" => say(socket, &FromWorker::AskNetwork, b"\x07"),
        "asks without a request" => say(socket, &FromWorker::AskNetwork, b""),
        "asks its caller unheard" => {
            let asked = br#"[{"number":1,"input":{"prompt":"","hidden":false}}]"#;
            say(socket, &FromWorker::AskCaller, asked);
        }
        "asks its caller for nothing" => say(socket, &FromWorker::AskCaller, b"[]"),
        "asks with a file" => {
            share(socket, &FromWorker::AskNetwork, socket::share(b"\x01a").unwrap(), 2);
        }
        "asks for a slow name" => say(socket, &FromWorker::AskNetwork, b"\x01slow"),
        "asks too often" => (0..100).for_each(|_| say(socket, &FromWorker::AskNetwork, b"\x01a")),
        "asks and declines" => {
            say(socket, &FromWorker::AskNetwork, b"\x01a");
            say(socket, &FromWorker::Failed { reason: "because".into() }, b"");
        }
        _ => {
            say(socket, &FromWorker::AskNetwork, b"\x04\x01\0\0\0\x01\0\0\0\xff\xff\xff\xff");
        }
    }
}

fn print_wrongly(socket: &OwnedFd, how: &str) {
    match how {
        "prints with a payload" => say(socket, &printed("x"), b"x"),
        "prints without end" => (0..4_000).for_each(|_| say(socket, &printed("xxxxx"), b"")),
        "prints a request and leaves" => {
            let text = "{}".to_owned();
            say(socket, &FromWorker::Printed(LogChunk { stream: Stream::Request, text }), b"");
            shutdown(socket, Shutdown::Both).unwrap();
        }
        "prints too much" => (0..40).for_each(|_| say(socket, &printed(&"x".repeat(500)), b"")),
        _ => {
            say(socket, &printed("x"), b"");
            say(socket, &done(Ok(()), "x"), b"{}");
        }
    }
}

/// The end of a cell that leaves its guest whole.
fn done_cell() -> FromWorker {
    let FromWorker::Done { mut outcome, can_go_on } = done(Ok(()), "honest") else { panic!() };
    outcome.cell = Some(Box::default());
    FromWorker::Done { outcome, can_go_on }
}

fn parked(pack: &[u8]) -> PackFacts {
    let digest = Digest::of(pack);
    let (size, image) = (pack.len().into(), Digest::of(b"image"));
    let (format, sequence, pages) = (PACK_FORMAT, 1, 0);
    PackFacts { format, image, sequence, base: None, digest, root: image, pages, size }
}

fn park_wrongly(socket: &OwnedFd, how: &str) {
    let facts = parked(b"pack");
    let say_pack = |facts: PackFacts, pack: &[u8]| say(socket, &FromWorker::Parked(facts), pack);
    let refuse = |reason: String| say(socket, &FromWorker::NotParked { reason }, b"");
    match how {
        "parks too early" => return say_pack(facts, b"pack"),
        "parks what was not resumed" => {
            return say(socket, &FromWorker::NotResumed { reason: "because".into() }, b"");
        }
        "parks with a long refusal to resume" => {
            let reason = "x".repeat(MAX_MESSAGE + 1);
            return say(socket, &FromWorker::NotResumed { reason }, b"");
        }
        "parks with a refusal to resume" => {
            return say(socket, &FromWorker::NotResumed { reason: "because".into() }, b"");
        }
        "parks after a run" => {
            // Together, so that the answer is not taken before the pack has arrived.
            let mut bytes = frame::encode(&done(Ok(()), "true"), b"", false).unwrap();
            frame::encode_into(&mut bytes, &FromWorker::Parked(facts), b"pack", false).unwrap();
            return shout(socket, &bytes, None);
        }
        _ => say(socket, &done_cell(), b"{}"),
    }
    match how {
        "parks another pack" => say_pack(facts, b"park"),
        "parks another size" => say_pack(PackFacts { size: ByteCount::bytes(5), ..facts }, b"pack"),
        "parks nothing" => say_pack(facts, b""),
        "parks a changeable file" => share(socket, &FromWorker::Parked(facts), unsealed(4), 4),
        "parks a forged file" => {
            let zeros = vec![0; 1 << 20];
            let facts = PackFacts { digest: facts.digest, ..parked(&zeros) };
            share(socket, &FromWorker::Parked(facts), socket::share(&zeros).unwrap(), 1 << 20);
        }
        "parks an outcome" => say(socket, &done_cell(), b""),
        "parks a blob" => say(socket, &blob(), b"x"),
        "parks never" => {}
        "parks and leaves" => shutdown(socket, Shutdown::Both).unwrap(),
        "parks no JSON" => shout(socket, &[header(4, 0, 0), b"oops".to_vec()].concat(), None),
        "parks with a long reason" => refuse("x".repeat(MAX_MESSAGE + 1)),
        "parks with a reason" => refuse("because".to_owned()),
        "parks twice" => {
            let message = FromWorker::Parked(facts);
            let mut bytes = frame::encode(&message, b"pack", false).unwrap();
            frame::encode_into(&mut bytes, &message, b"pack", false).unwrap();
            shout(socket, &bytes, None);
        }
        _ => say_pack(facts, b"pack"),
    }
}

fn tight(source: &str) -> Job {
    let mut job = job(source);
    let limits = &mut job.turn.limits;
    (limits.host_calls, limits.host_bytes) = (20, ByteCount::kibibytes(512));
    (limits.logs, limits.wall_time) = (ByteCount::kibibytes(1), Duration::from_millis(200));
    if source == "asks its caller for nothing" {
        job.turn.cell = Some(CellOrder { is_heard: true, ..CellOrder::new(1, false) });
    }
    job.turn.stream_logs = source.starts_with("prints") && source != "prints unasked";
    job
}

#[tokio::test]
async fn a_worker_not_believed_is_dropped_and_costs_one_run() {
    let grace = Duration::from_millis(100);
    let pool = Pool::start(PoolConfig { grace, ..hostile() }).unwrap();
    let ways = [
        "long message",
        "long payload",
        "unknown flags",
        "no JSON",
        "other JSON",
        "ready again",
        "failed too late",
        "pipe",
        "zeros",
        "own file",
        "unsealed",
        "shrunk",
        "huge blob",
        "huge output",
        "no descriptor",
        "stray descriptor",
        "many calls",
        "many bytes",
        "prints unasked",
        "prints with a payload",
        "prints without end",
        "prints too much",
        "asks for nothing",
        "asks without a request",
        "asks its caller unheard",
        "asks its caller for nothing",
        "asks with a file",
        "asks too often",
        "asks and declines",
        "asks for an endless wait",
        "output of a failure",
        "long log",
        "long failure",
        "half a message",
        "slow",
        "silence",
    ];
    for (number, way) in ways.into_iter().enumerate() {
        let before = until(&pool, "ready", |report| report.workers.len() == 1).await;
        let process = watch(before.workers[0].process);
        let finished = run(&pool, &tight(way)).await;
        let expected = match way {
            "slow" | "silence" | "asks for an endless wait" => "Timeout",
            _ => "SandboxCrash",
        };
        assert_eq!(error_type(&finished), expected, "{way}");
        assert!(logs(&finished).is_empty() && finished.output.is_none(), "{way}");
        assert!(has_ended(&process), "{way}: the worker lives on");
        assert_eq!(logs(&run(&pool, &tight("behave")).await), ["honest"], "after {way}");
        let counters = pool.report().counters;
        let lost = counters.violations + counters.overdue + counters.crashed;
        assert_eq!(lost, number as u64 + 1, "{way}: {counters:?}");
    }
    let counters = pool.report().counters;
    assert_eq!((counters.crashed, counters.overdue), (1, 3), "{counters:?}");
}

/// A worker cannot shorten a look-up, so it is not at fault.
#[tokio::test]
async fn a_look_up_that_never_ends_is_answered_in_time_and_costs_no_worker() {
    let pool = Pool::start(hostile()).unwrap();
    let job = tight("asks for a slow name");
    let finished = run(&pool, &job).await;
    assert_eq!(logs(&finished), ["answered"]);
    assert!(finished.host_time.of(RequestKind::Network) > job.turn.limits.wall_time / 2);
    assert_eq!(pool.report().counters.overdue, 0);
    assert_eq!(logs(&run(&pool, &tight("behave")).await), ["honest"]);
    assert_eq!(pool.report().workers[0].id, WorkerId(1), "the worker was replaced");
}

/// A run that a worker declines is given to another worker, a bounded number of times.
#[tokio::test]
async fn workers_that_decline_every_run_are_tried_a_few_times() {
    let pool = Pool::start(hostile()).unwrap();
    let declined = pool.run(&tight("failed"), &mut WrittenBlobs::default()).await;
    assert!(matches!(declined, Err(DispatchError::NoWorker)), "{declined:?}");
    let counters = pool.report().counters;
    assert_eq!((counters.crashed, counters.violations), (0, 0), "{counters:?}");
    assert!((1..10).contains(&counters.repeated), "{counters:?}");
}

#[tokio::test]
async fn an_output_beyond_any_result_is_not_read() {
    let pool = Pool::start(hostile()).unwrap();
    let job = job("output beyond any result");
    assert!(job.turn.limits.host_bytes > OUTPUT_MAX);
    let finished = run(&pool, &job).await;
    assert_eq!(error_type(&finished), "SandboxCrash");
    assert_eq!(pool.report().counters.violations, 1);
}

#[tokio::test]
async fn an_outcome_that_was_not_asked_for_is_not_accepted() {
    let pool = Pool::start(hostile()).unwrap();
    let first = run(&pool, &tight("two answers")).await;
    assert_eq!(logs(&first), ["true"]);
    let second = run(&pool, &tight("behave")).await;
    assert_eq!(logs(&second), ["honest"], "the answer of another run was taken");
    let ids: BTreeSet<WorkerId> = pool.report().workers.iter().map(|w| w.id).collect();
    assert_eq!(ids, [WorkerId(2)].into(), "a worker that sends unasked was kept");
}

/// A guest is lost with its worker, and never more than that.
#[tokio::test]
async fn a_worker_not_believed_in_a_later_turn_costs_its_guest() {
    let grace = Duration::from_millis(100);
    let pool = Pool::start(PoolConfig { grace, most_held: 1, ..hostile() }).unwrap();
    // Told in the turn itself, or found out before the next one, which is not begun then.
    let ways = [
        ("no JSON", true),
        ("ready again", true),
        ("many calls", true),
        ("huge output", true),
        ("silence", true),
        // Its caller has heard of it.
        ("prints a request and leaves", true),
        ("half a message", false),
        ("failed", false),
        ("two answers", false),
    ];
    for (way, is_told) in ways {
        let mut guest = pool.open(tight("").guest);
        let mut turn = async |source: &str| {
            guest.turn(&tight(source).turn, &mut WrittenBlobs::default()).await
        };
        let first = turn("behave").await.unwrap();
        assert_eq!((logs(&first), first.is_guest_kept), (vec!["honest"], true), "after {way}");
        let second = turn(way).await;
        if is_told {
            let second = second.unwrap();
            assert!(second.is_worker_lost && !second.is_guest_kept, "{way}");
            assert!(logs(&second).is_empty() && second.output.is_none(), "{way}");
        } else if way != "two answers" {
            assert!(matches!(second, Err(DispatchError::GuestLost)), "{second:?}");
        } else {
            assert_eq!(logs(&second.unwrap()), ["true"]);
        }
        let lost = turn("behave").await;
        assert!(matches!(lost, Err(DispatchError::GuestLost)), "{way}: {lost:?}");
        let report = until(&pool, "free", |report| report.guests + report.running == 0).await;
        assert_eq!(report.queued, 0);
    }
    assert_eq!(logs(&run(&pool, &tight("behave")).await), ["honest"]);
}

fn cell(source: &str) -> Job {
    let mut job = tight(source);
    // The patience with a pack grows with them.
    (job.guest.setup.limits.memory, job.guest.setup.limits.workspace) =
        (ByteCount::mebibytes(1), ByteCount::mebibytes(1));
    job.turn.cell = Some(CellOrder::new(1, false));
    job
}

async fn turn(guest: &mut HeldGuest, source: &str) -> Result<FinishedRun, DispatchError> {
    guest.turn(&cell(source).turn, &mut WrittenBlobs::default()).await
}

/// What a worker does wrong after the answer of a cell costs the state and the guest, not the answer.
#[tokio::test]
async fn a_worker_not_believed_about_a_pack_costs_its_guest() {
    let grace = Duration::from_millis(100);
    let pool = Pool::start(PoolConfig { grace, most_held: 1, ..hostile() }).unwrap();
    let ways = [
        "parks another pack",
        "parks another size",
        "parks nothing",
        "parks a changeable file",
        "parks a forged file",
        "parks an outcome",
        "parks a blob",
        "parks never",
        "parks and leaves",
        "parks no JSON",
        "parks with a long reason",
    ];
    let mut expected = 0;
    for (way, is_first) in ways.into_iter().flat_map(|way| [(way, true), (way, false)]) {
        let mut guest = pool.open(cell("").guest);
        if !is_first {
            let well = turn(&mut guest, "parks well").await.unwrap();
            assert!(well.is_guest_kept, "before {way}");
            let pack = well.pack.unwrap().unwrap();
            assert_eq!((pack.facts, pack.bytes), (parked(b"pack"), b"pack".to_vec()));
        }
        let ended = turn(&mut guest, way).await.unwrap();
        assert_eq!((error_type(&ended), logs(&ended)), ("completed", vec!["honest"]), "{way}");
        assert_eq!(ended.output.unwrap().into_bytes().unwrap(), b"{}", "{way}");
        let reason = ended.pack.unwrap().unwrap_err();
        let is_expected = match way {
            "parks never" => matches!(reason, NotParked::Late { limit } if limit >= grace),
            _ => matches!(reason, NotParked::WorkerLost),
        };
        assert!(is_expected, "{way}: {reason:?}");
        assert!(!ended.is_guest_kept, "{way}");
        let lost = turn(&mut guest, "parks well").await;
        assert!(matches!(lost, Err(DispatchError::GuestLost)), "{way}: {lost:?}");
        let report = until(&pool, "free", |report| report.guests + report.running == 0).await;
        expected += 1;
        let counters = report.counters;
        let lost = counters.violations + counters.overdue + counters.crashed;
        assert_eq!(lost, expected, "{way}: {counters:?}");
    }
    let counters = pool.report().counters;
    assert_eq!((counters.crashed, counters.overdue), (2, 2), "{counters:?}");
    assert_eq!(logs(&run(&pool, &tight("behave")).await), ["honest"]);
}

#[tokio::test]
async fn a_pack_that_nobody_asked_for_is_not_accepted() {
    let pool = Pool::start(PoolConfig { most_held: 1, ..hostile() }).unwrap();
    // Before the answer: the turn has no other one.
    for way in ["parks too early", "parks what was not resumed"] {
        let mut guest = pool.open(cell("").guest);
        let ended = turn(&mut guest, way).await.unwrap();
        assert_eq!((error_type(&ended), ended.is_worker_lost), ("SandboxCrash", true), "{way}");
        assert!(ended.pack.is_none() && !ended.is_guest_kept, "{way}");
    }
    assert_eq!(pool.report().counters.violations, 2);
    // After that of a run, or of a turn that is not a cell: it is found before the worker is used again.
    let ended = run(&pool, &tight("parks after a run")).await;
    assert_eq!((logs(&ended), ended.pack.is_none()), (vec!["true"], true));
    assert_eq!(logs(&run(&pool, &tight("behave")).await), ["honest"]);
    let mut guest = pool.open(tight("").guest);
    let order = tight("parks after a run").turn;
    let ended = guest.turn(&order, &mut WrittenBlobs::default()).await.unwrap();
    assert_eq!((logs(&ended), ended.pack.is_none()), (vec!["true"], true));
    assert!(matches!(turn(&mut guest, "parks well").await, Err(DispatchError::GuestLost)));
    // A second pack is found as late, and the first one is right.
    let mut guest = pool.open(cell("").guest);
    let ended = turn(&mut guest, "parks twice").await.unwrap();
    assert_eq!(ended.pack.unwrap().unwrap().bytes, b"pack");
    assert!(matches!(turn(&mut guest, "parks well").await, Err(DispatchError::GuestLost)));
    assert_eq!(logs(&run(&pool, &tight("behave")).await), ["honest"]);
}

#[tokio::test]
async fn a_worker_may_refuse_to_park_or_to_resume_with_a_short_reason() {
    let pool = Pool::start(PoolConfig { most_held: 1, ..hostile() }).unwrap();
    let mut guest = pool.open(cell("").guest);
    let ended = turn(&mut guest, "parks with a reason").await.unwrap();
    let Some(Err(NotParked::Unparkable { reason })) = ended.pack else { panic!("{ended:?}") };
    assert_eq!((reason.as_str(), ended.is_guest_kept), ("because", false));
    let packs = || vec![PackContent::new(b"pack".to_vec()).unwrap()];
    let mut guest = pool.resume(cell("").guest, packs());
    let refused = turn(&mut guest, "parks with a refusal to resume").await;
    assert!(matches!(refused, Err(DispatchError::NotResumed { reason }) if reason == "because"));
    assert!(matches!(turn(&mut guest, "parks well").await, Err(DispatchError::GuestLost)));
    assert_eq!(logs(&run(&pool, &tight("behave")).await), ["honest"]);
    assert_eq!(pool.report().counters.ended, 0, "the worker was replaced");
    let mut guest = pool.resume(cell("").guest, packs());
    let ended = turn(&mut guest, "parks with a long refusal to resume").await.unwrap();
    assert_eq!((error_type(&ended), ended.is_worker_lost), ("SandboxCrash", true));
    assert_eq!(pool.report().counters.violations, 1);
}
