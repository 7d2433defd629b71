//! Keeps one place of a pool: starts a worker when one is wanted, waits for its end, and starts the
//! next.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use crate::scheduler::assignment::Phase;
use crate::scheduler::shared::Scheduler;
use crate::supervisor::restart_policy::RestartPolicy;
use crate::supervisor::spawned::Spawned;
use crate::supervisor::spawner::WorkerSpawner;
use crate::supervisor::stderr_log::StderrLog;
use crate::worker::attachments::AttachmentLimits;
use crate::worker::channel::{WorkerChannel, WorkerChannelError};
use crate::worker::handle::Worker;
use crate::worker::id::WorkerId;
use crate::worker::process::Process;
use crate::worker::start_failure::StartFailure;
use wardian_formats::job::message::{FromWorker, WorkerReport};
use wardian_vocabulary::error::CauseChain;

/// A worker that ends this soon, without having had a run, may have been unable to work.
const SHORT_LIFE: Duration = Duration::from_secs(2);

/// Keeps one place of a pool.
#[derive(Debug, Clone)]
pub(crate) struct Supervisor {
    pub scheduler: Arc<Scheduler>,
    pub(crate) spawner: Arc<WorkerSpawner>,
    pub(crate) startup_timeout: Duration,
    pub(crate) attachments: AttachmentLimits,
    pub max_message: usize,
}

/// A process under supervision, and its standard error.
struct Watched {
    id: WorkerId,
    process: Arc<Process>,
    stderr: StderrLog,
}

/// The life of a worker that was ready.
enum Life {
    /// It had a run, or could have had one.
    Full,
    /// It ended soon.
    Short {
        /// Its exit status.
        status: String,
    },
}

impl Supervisor {
    /// Keeps the place until the pool closes and its process is gone.
    ///
    /// `deaths` is signalled when any child of this process has ended.
    pub(crate) async fn keep(self, mut deaths: Signal) {
        let mut policy = RestartPolicy::default();
        while self.scheduler.begin_start().await {
            let mut is_held = true;
            let failure = match self.keep_one(&mut deaths).await {
                Ok(Life::Full) => {
                    policy.note_full_life();
                    continue;
                }
                Ok(Life::Short { .. }) if policy.tolerates_short_life() => continue,
                Ok(Life::Short { status }) => {
                    // Its place stays taken during the pause: no other supervisor starts at once.
                    is_held = self.scheduler.try_begin_start();
                    StartFailure::Ended { status }
                }
                Err(failure) => failure,
            };
            self.scheduler.count(|counters| {
                counters.failed_starts = counters.failed_starts.saturating_add(1);
            });
            warn!("a worker did not start: {}", CauseChain(&failure));
            self.scheduler.record_start_failure(failure);
            self.pause(policy.pause_after_failure()).await;
            if is_held {
                self.scheduler.end_start();
            }
        }
    }

    /// Waits for `pause`, or until the pool closes.
    async fn pause(&self, pause: Duration) {
        let mut status = self.scheduler.watch();
        tokio::select! {
            () = sleep(pause) => {}
            _ = status.wait_for(|status| status.phase == Phase::Closed) => {}
        }
    }

    /// Starts one worker and returns when its process has ended.
    async fn keep_one(&self, deaths: &mut Signal) -> Result<Life, StartFailure> {
        let id = self.scheduler.next_worker_id();
        let spawned = self.spawner.spawn().await.map_err(StartFailure::Spawn)?;
        let Spawned { socket, stderr, process } = spawned;
        let process = Arc::new(process);
        let prepared = StderrLog::new(id, stderr)
            .and_then(|stderr| Ok((stderr, WorkerChannel::new(socket, self.max_message)?)));
        let (stderr, channel) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                process.kill();
                process.reap().map_err(StartFailure::Spawn)?;
                if let Some(cgroup) = &process.cgroup {
                    cgroup.note_end();
                }
                return Err(StartFailure::Spawn(error));
            }
        };
        let mut watched = Watched { id, process, stderr };
        match self.welcome(channel, &mut watched).await {
            Ok(worker) => {
                let born = Instant::now();
                let process = worker.process.id;
                info!(worker.id = %id, process, "worker {id} is ready");
                self.scheduler.add_worker(worker);
                let status = self.see_out(watched, deaths).await;
                let (runs, was_given_up) = self.scheduler.remove_worker(id);
                info!(worker.id = %id, runs, "worker {id} has ended: {status}");
                let is_closing = self.scheduler.phase() == Phase::Closed;
                let is_unwanted = is_closing || was_given_up;
                let is_short = runs == 0 && born.elapsed() < SHORT_LIFE && !is_unwanted;
                Ok(if is_short { Life::Short { status } } else { Life::Full })
            }
            Err(failure) => {
                watched.process.kill();
                let status = self.see_out(watched, deaths).await;
                Err(match failure {
                    StartFailure::Channel(WorkerChannelError::Gone) => {
                        StartFailure::Ended { status }
                    }
                    other => other,
                })
            }
        }
    }

    /// Waits for the first message of a new process, which must be `Ready`.
    async fn welcome(
        &self,
        mut channel: WorkerChannel,
        watched: &mut Watched,
    ) -> Result<Worker, StartFailure> {
        let first = async {
            tokio::select! {
                message = channel.receive() => message,
                () = watched.stderr.copy() => Err(WorkerChannelError::Gone),
            }
        };
        let limit = self.startup_timeout;
        let first = timeout(limit, first).await.map_err(|_elapsed| StartFailure::Late { limit })?;
        match first.map_err(StartFailure::Channel)? {
            (FromWorker::Ready(report), _) => {
                let process = Arc::clone(&watched.process);
                let report = shortened(report);
                Ok(Worker::new(watched.id, channel, process, report, self.attachments))
            }
            (FromWorker::Failed { reason }, _) => {
                Err(StartFailure::Reported { reason: short(&reason) })
            }
            (FromWorker::CannotStart { reason }, _) => {
                Err(StartFailure::Lasting { reason: short(&reason) })
            }
            _ => Err(StartFailure::OutOfTurn),
        }
    }

    /// Waits for the end of a process, logs the rest of its standard error, and returns its status.
    async fn see_out(&self, mut watched: Watched, deaths: &mut Signal) -> String {
        let ended = loop {
            match watched.process.try_reap() {
                Ok(None) => {}
                Ok(Some(status)) => break Ok(status),
                Err(error) => break Err(error),
            }
            tokio::select! {
                _ = deaths.recv() => {}
                () = watched.stderr.copy() => {}
            }
        };
        let status = match ended {
            Ok(status) => {
                // Everything that the gateway ends, it kills.
                let is_crash = status.signal().is_some_and(|signal| signal != SIGKILL);
                if is_crash && watched.process.is_forked {
                    self.spawner.note_crash();
                }
                match watched.process.memory_shortage() {
                    Some(_) if !is_crash => format!("{status}, because memory was short"),
                    _ => status.to_string(),
                }
            }
            Err(error) => format!("an unknown state: {error}"),
        };
        if let Some(cgroup) = &watched.process.cgroup {
            cgroup.note_end();
        }
        watched.stderr.finish();
        self.scheduler.count(|counters| counters.ended = counters.ended.saturating_add(1));
        status
    }
}

const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();

/// Bounds on the texts of a worker's report: a compromised worker may send long ones.
const REPORT_TEXT: usize = 1024;
const REPORT_ITEMS: usize = 32;

fn short(text: &str) -> String {
    text.chars().take(REPORT_TEXT).collect()
}

fn shortened(report: WorkerReport) -> WorkerReport {
    let shorten = |texts: Vec<String>| texts.iter().take(REPORT_ITEMS).map(|t| short(t)).collect();
    WorkerReport {
        code: shorten(report.code),
        reset: short(&report.reset),
        lockdown: shorten(report.lockdown),
        missing: shorten(report.missing),
        partial: shorten(report.partial),
        huge_pages: short(&report.huge_pages),
    }
}
