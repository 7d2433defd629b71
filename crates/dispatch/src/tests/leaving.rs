//! Callers that go away, at every stage of a run.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::prelude::*;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::tests::{WrittenBlobs, config, error_type, image, job, logs, run, start, until};
use crate::{AttachmentLimits, BlobSource, GuestSpec, Job, Pool, PoolConfig, SkillContent};
use wardian_formats::job::attachment::{Owner, PackedFile};
use wardian_formats::job::socket;
use wardian_vocabulary::ids::{BlobId, Digest, TenantId};

/// More moments than a run has.
const MOMENTS: usize = 2_000;

/// Long enough for a worker on a busy machine.
const GRACE: Duration = Duration::from_secs(10);

/// Polls a future a given number of times, and then drops it.
pub(super) struct Leave<F> {
    pub(super) future: Pin<Box<F>>,
    pub(super) polls: usize,
}

impl<F: Future> Future for Leave<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        match self.future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.polls == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// The amount of content of a job.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Files of each of two skills: 4,000 make a frame that no buffer of a socket holds.
    files: usize,
    blobs: usize,
    /// Bytes of the program, which travel with the order.
    source: usize,
}

/// A job with an image, skills and blobs that no job with another number has. Its script reads the
/// skills and blobs, stores two blobs, and returns a large output.
fn laden(number: usize, load: Load) -> Job {
    let mut source = String::new();
    let mut skills = Vec::new();
    for half in ["a", "b"] {
        let name = |at| format!("{number}{half}/{}{at}.py", "x".repeat(40));
        let pack = format!("{number}{half}").into_bytes();
        let size = pack.len() as u64;
        let packed =
            (0..load.files.max(1)).map(|at| PackedFile { path: name(at), offset: 0, size });
        source.push_str(&format!("read {}\n", name(0)));
        let digest = Digest::of(format!("skill {number} {half}").as_bytes());
        skills.push(Arc::new(SkillContent::new(
            Owner::Shared,
            digest,
            packed.collect(),
            pack.into(),
        )));
    }
    let mut blobs = Vec::new();
    for at in 0..load.blobs {
        let text = format!("blob {number} {at}").into_bytes();
        let (id, size) = (BlobId::of_digest(&Digest::of(&text)), text.len().into());
        source.push_str(&format!("read {id}\n"));
        let file = Arc::new(std::fs::File::from(socket::share(&text).unwrap()));
        blobs.push(BlobSource { tenant: TenantId::local(), id, file, size });
    }
    source.push_str("blob text/plain small\nblob-of text/plain 200000\nlog-of 90000\n");
    source.push_str("return-of 300000\n");
    source.push_str(&" ".repeat(load.source));
    let image = image(&format!("image {number}"));
    let mut job = job(&source);
    job.guest.setup.image = image.digest();
    job.guest = GuestSpec { skills, blobs, image, ..job.guest };
    job
}

/// A pool of one worker with such low limits that most runs detach something.
async fn lonely() -> Pool {
    let attachments = AttachmentLimits { count: 6, images: 2, ..AttachmentLimits::default() };
    start(PoolConfig { grace: GRACE, attachments, ..config(1) }).await
}

/// Checks that the worker is still the same, and that the abandoned job completes when it is run
/// again.
async fn ensure_unhurt(pool: &Pool, job: &Job, process: u32, left: &str) {
    let finished = timeout(GRACE, run(pool, job)).await.unwrap();
    assert_eq!(error_type(&finished), "completed", "left {left}");
    assert_eq!(
        logs(&finished).len(),
        job.guest.skills.len() + job.guest.blobs.len() + 1,
        "left {left}"
    );
    assert_eq!(finished.output.unwrap().size().as_u64(), 300_000, "left {left}");
    let report = until(pool, "free", |report| report.running == 0).await;
    assert_eq!(report.workers[0].process, process, "leaving {left} has cost the worker");
    assert_eq!(report.counters.ended, 0, "leaving {left}: {:?}", report.counters);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_at_any_poll_costs_no_worker() {
    let pool = lonely().await;
    let process = pool.report().workers[0].process;
    let heavy = Load { files: 4_000, blobs: 3, source: 3 << 20 };
    // A fast worker leaves few moments: then all are tried again.
    let (mut left, mut jobs) = (0, 0);
    while left <= 5 {
        jobs += MOMENTS;
        left += leave_at_each_poll(&pool, process, (jobs, heavy)).await;
    }
}

/// Leaves after the first poll, after the second, and so on, until a run completes before that. Returns how
/// often it has left. Jobs have numbers from `first` on.
async fn leave_at_each_poll(pool: &Pool, process: u32, (first, heavy): (usize, Load)) -> usize {
    let mut left = 0;
    for polls in 1..MOMENTS {
        let job = laden(first + polls, heavy);
        let mut host = WrittenBlobs::default();
        let run = Leave { future: Box::pin(pool.run(&job, &mut host)), polls };
        let Some(ended) = run.await else {
            ensure_unhurt(pool, &job, process, &format!("after {polls} polls")).await;
            left += 1;
            continue;
        };
        assert_eq!(error_type(&ended.unwrap()), "completed");
        break;
    }
    left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_caller_that_leaves_at_any_time_costs_no_worker(
        visits in prop::collection::vec(
            (0_u64..12_000, 0_usize..5_000, 0_usize..5, 0_usize..2_000_000, any::<bool>()),
            1..8,
        ),
    ) {
        Runtime::new().unwrap().block_on(async {
            let pool = lonely().await;
            let process = pool.report().workers[0].process;
            for (number, (microseconds, files, blobs, source, is_heard)) in
                visits.into_iter().enumerate()
            {
                let mut job = laden(number, Load { files, blobs, source });
                job.turn.stream_logs = is_heard;
                let mut host = WrittenBlobs::default();
                let patience = Duration::from_micros(microseconds);
                drop(timeout(patience, pool.run(&job, &mut host)).await);
                ensure_unhurt(&pool, &job, process, &format!("after {patience:?}")).await;
            }
        });
    }
}

/// Many callers on few workers, so that some leave while they are queued and some while they get a
/// worker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_that_comes_and_goes_costs_no_worker() {
    let pool = Arc::new(start(PoolConfig { grace: GRACE, ..config(2) }).await);
    let callers: Vec<_> = (0..60_usize)
        .map(|number| {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move {
                let job = laden(number % 7, Load { files: 300, blobs: 2, source: 10_000 });
                let mut host = WrittenBlobs::default();
                let patience = Duration::from_millis(number as u64 * 3 % 40);
                drop(timeout(patience, pool.run(&job, &mut host)).await);
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let report = until(&pool, "free", |report| report.running + report.queued == 0).await;
    assert_eq!((report.workers.len(), report.counters.ended), (2, 0), "{:?}", report.counters);
    let job = laden(3, Load { files: 300, blobs: 2, source: 0 });
    for _ in 0..2 {
        assert_eq!(error_type(&run(&pool, &job).await), "completed");
    }
}
