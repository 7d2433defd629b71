//! Pools with real processes: this test binary itself, started to run one test in a given role.
//!
//! Workers are the ones of `wardian_worker::scripted`, which obey a script instead of running Python.

mod admission;
mod crashes;
mod frames;
mod held;
mod hostile;
mod interrupts;
mod leaving;
mod lifetime;
mod owners;
mod parked;
mod runs;
mod templates;

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::{
    CheckedPayload, FinishedRun, GuestSpec, Job, Pool, PoolConfig, PoolReport, RunHost,
    WorkerCommand,
};
use wardian_formats::job::image::ImageContent;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::network::{NetworkReply, NetworkRequest};
use wardian_formats::job::outcome::RunFailure;
use wardian_formats::job::socket;
use wardian_formats::job::{KeepFiles, Program, Setup, Turn};
use wardian_vocabulary::ids::{BlobId, Digest, RunId, TenantId};

const SOON: Duration = Duration::from_secs(10);

/// The command that starts this test binary to run `test` in the role `role`.
fn command(test: &str, role: &str) -> WorkerCommand {
    let arguments = ["--exact", test, role, "--nocapture", "--test-threads=1"];
    WorkerCommand::same_program(arguments.iter().map(Into::into).collect())
}

/// The test in whose role a process is a worker or a template.
const SCRIPTED: &str = "tests::the_process_that_is_a_worker";

#[test]
fn the_process_that_is_a_worker() {
    wardian_worker::scripted::play();
}

/// A pool of scripted workers that are forked from a template in the role `role`.
fn forked_by(test: &str, role: &str, workers: usize) -> PoolConfig {
    let template = command(test, role).arguments;
    let config = config(workers);
    PoolConfig { command: config.command.with_template(template), ..config }
}

fn forked(workers: usize) -> PoolConfig {
    forked_by(SCRIPTED, "role-template", workers)
}

/// True in a process that was started in the role `role`.
fn plays(role: &str) -> bool {
    let arguments = fs::read("/proc/self/cmdline").unwrap();
    arguments.split(|byte| *byte == 0).any(|argument| argument == role.as_bytes())
}

/// A pool of scripted workers, without spares.
fn config(workers: usize) -> PoolConfig {
    config_of("role-worker", workers)
}

fn config_of(role: &str, workers: usize) -> PoolConfig {
    let command = command(SCRIPTED, role);
    PoolConfig { spares: 0, ..PoolConfig::new(command, workers) }
}

async fn start(config: PoolConfig) -> Pool {
    let pool = Pool::start(config).unwrap();
    pool.ready().await.unwrap();
    pool
}

/// An image for scripts. Workers get it and do not use it.
static IMAGE: LazyLock<Arc<ImageContent>> = LazyLock::new(|| image("image"));

fn image(name: &str) -> Arc<ImageContent> {
    let memory = socket::share(name.as_bytes()).unwrap();
    let open_files = RawValue::from_string("{}".to_owned()).unwrap();
    let digest = Digest::of(name.as_bytes());
    Arc::new(ImageContent::new(name.to_owned(), digest, (memory, name.len().into()), open_files))
}

fn job(source: &str) -> Job {
    let (limits, turn_limits) = RunLimits::DEFAULT.split();
    let setup = Setup {
        tenant: TenantId::local(),
        image: IMAGE.digest(),
        skills: Vec::new(),
        layers: Vec::new(),
        blobs: Vec::new(),
        hides_modules: false,
        environment: BTreeMap::new(),
        reproducible: None,
        counts_fuel: turn_limits.fuel.is_some(),
        limits,
    };
    let turn = Turn {
        id: RunId::generate(),
        program: Program::Code { source: source.to_owned(), file_name: "script".to_owned() },
        entrypoint: None,
        args: RawValue::from_string("{}".to_owned()).unwrap(),
        keep_files: KeepFiles::Nothing,
        strict_output: false,
        stream_logs: false,
        profile: None,
        cell: None,
        files: None,
        limits: turn_limits,
    };
    let (skills, layers, blobs) = (Vec::new(), Vec::new(), Vec::new());
    let guest =
        GuestSpec { setup: Box::new(setup), image: Arc::clone(&IMAGE), skills, layers, blobs };
    Job { guest, turn: Box::new(turn) }
}

/// Keeps what guests write.
#[derive(Default)]
struct WrittenBlobs(Vec<(String, Vec<u8>)>);

impl RunHost for WrittenBlobs {
    /// No server ever sends anything, and one name is never found.
    async fn ask_network(&mut self, request: NetworkRequest<'_>) -> NetworkReply {
        match request {
            NetworkRequest::Read { .. } | NetworkRequest::Resolve { name: "slow" } => {
                std::future::pending().await
            }
            _ => NetworkReply::Done,
        }
    }

    async fn write_blob(&mut self, kind: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        if kind == "forbidden" {
            let (error_type, message) = ("QuotaExceeded".into(), "no room".into());
            return Err(Refusal { error_type, message });
        }
        let bytes = content.into_bytes().unwrap();
        let id = BlobId::of_digest(&Digest::of(&bytes));
        self.0.push((kind.to_owned(), bytes));
        Ok(id)
    }
}

async fn run(pool: &Pool, job: &Job) -> FinishedRun {
    pool.run(job, &mut WrittenBlobs::default()).await.unwrap()
}

async fn run_script(pool: &Pool, source: &str) -> FinishedRun {
    run(pool, &job(source)).await
}

fn error_type(finished: &FinishedRun) -> &str {
    finished.outcome.end.as_ref().map_or_else(RunFailure::error_type, |()| "completed")
}

fn logs(finished: &FinishedRun) -> Vec<&str> {
    finished.outcome.logs.chunks.iter().map(|chunk| chunk.text.as_str()).collect()
}

/// Waits until `is_so` holds for the pool's report.
async fn until(pool: &Pool, what: &str, is_so: impl Fn(&PoolReport) -> bool) -> PoolReport {
    let deadline = Instant::now() + SOON;
    while !is_so(&pool.report()) {
        assert!(Instant::now() < deadline, "never {what}: {:?}", pool.report());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    pool.report()
}

fn watch(process: u32) -> OwnedFd {
    let pid = Pid::from_raw(process.try_into().unwrap()).unwrap();
    pidfd_open(pid, PidfdFlags::empty()).unwrap()
}

fn has_ended(process: &OwnedFd) -> bool {
    let limit = Timespec::try_from(SOON).unwrap();
    // The end of any child interrupts this call.
    let ended = retry_on_intr(|| poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit)));
    ended.unwrap() == 1
}
