//! Keeps one place of a pool filled: starts a worker, waits for its end, starts the next.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::Signal;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use crate::dispatch::attachments::AttachmentLimits;
use crate::dispatch::channel::{Channel, ChannelError};
use crate::dispatch::process::{Nursery, Process, Spawned};
use crate::dispatch::roster::{Phase, Roster};
use crate::dispatch::stderr::StderrLog;
use crate::dispatch::worker::{Worker, WorkerId};
use crate::job::message::{FromWorker, WorkerReport};

/// A worker that ends this soon, without having had a run, may have been unable to work.
const SHORT_LIFE: Duration = Duration::from_secs(2);

/// So many short lives in a row are bad luck, and the next worker is started at once. More are a
/// fault that every worker has.
const BAD_LUCK: u32 = 3;

/// Longest pause between two attempts to start a worker.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// First pause between two attempts; doubled after each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Why a worker did not become ready. For operators: it may name paths of this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartFailure {
    /// The process cannot be started or watched.
    #[error("the process cannot be started")]
    Spawn(#[source] io::Error),
    /// The process ended.
    #[error("the process ended at once, with {status}")]
    Ended {
        /// How it ended.
        status: String,
    },
    /// The process is there and says nothing.
    #[error("the process was not ready within {} s", limit.as_secs_f32())]
    Late {
        /// How long it had.
        limit: Duration,
    },
    /// The worker says why.
    #[error("{reason}")]
    Reported {
        /// In its words.
        reason: String,
    },
    /// It cannot be understood.
    #[error("the process does not speak as a worker does")]
    Channel(#[source] ChannelError),
    /// It said something else than that it is ready.
    #[error("the process spoke out of turn")]
    OutOfTurn,
}

/// What one keeper needs.
#[derive(Debug, Clone)]
pub(super) struct Keeper {
    pub(super) roster: Arc<Roster>,
    pub(super) nursery: Arc<Nursery>,
    pub(super) startup_timeout: Duration,
    pub(super) attachments: AttachmentLimits,
    pub(super) max_message: usize,
}

/// A worker's process and what has to be done when it ends.
struct Watched {
    id: WorkerId,
    process: Arc<Process>,
    child: std::process::Child,
    stderr: StderrLog,
}

/// The life of a worker that was ready.
enum Life {
    /// It had a run, or could have had one.
    Full,
    /// It ended soon.
    Short {
        /// How it ended.
        status: String,
    },
}

impl Keeper {
    /// Keeps the place filled until the roster closes and the last process is gone.
    ///
    /// `deaths` tells when any child of this process has ended.
    pub(super) async fn keep(self, mut deaths: Signal) {
        let (mut short_lives, mut failures) = (0_u32, 0_u32);
        while self.roster.phase() < Phase::Closed {
            let failure = match self.keep_one(&mut deaths).await {
                Ok(Life::Full) => {
                    (short_lives, failures) = (0, 0);
                    continue;
                }
                Ok(Life::Short { .. }) if short_lives < BAD_LUCK => {
                    short_lives = short_lives.saturating_add(1);
                    continue;
                }
                Ok(Life::Short { status }) => StartFailure::Ended { status },
                Err(failure) => failure,
            };
            failures = failures.saturating_add(1);
            self.roster.count(|counters| {
                counters.failed_starts = counters.failed_starts.saturating_add(1);
            });
            warn!("a worker did not start: {}", crate::error::CauseChain(&failure));
            self.roster.note_failure(failure);
            self.pause(failures).await;
        }
    }

    /// Waits before the next attempt, longer after each failure.
    async fn pause(&self, failures: u32) {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        let pause = FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE);
        let mut vitals = self.roster.watch();
        tokio::select! {
            () = sleep(pause) => {}
            _ = vitals.wait_for(|vitals| vitals.phase == Phase::Closed) => {}
        }
    }

    /// One worker from its start to its end.
    async fn keep_one(&self, deaths: &mut Signal) -> Result<Life, StartFailure> {
        let id = self.roster.number();
        let spawned = self.nursery.spawn().await.map_err(StartFailure::Spawn)?;
        let Spawned { socket, stderr, process, mut child } = spawned;
        let process = Arc::new(process);
        let prepared = StderrLog::new(id, stderr)
            .and_then(|stderr| Ok((stderr, Channel::new(socket, self.max_message)?)));
        let (stderr, channel) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                process.kill();
                child.wait().map_err(StartFailure::Spawn)?;
                return Err(StartFailure::Spawn(error));
            }
        };
        let mut watched = Watched { id, process, child, stderr };
        match self.welcome(channel, &mut watched).await {
            Ok(worker) => {
                let born = Instant::now();
                let process = worker.process.id;
                info!(worker.id = %id, process, "worker {id} is ready");
                self.roster.join(worker);
                let status = self.see_out(watched, deaths).await;
                let runs = self.roster.leave(id);
                info!(worker.id = %id, runs, "worker {id} has ended: {status}");
                let is_closing = self.roster.phase() == Phase::Closed;
                let is_short = runs == 0 && born.elapsed() < SHORT_LIFE && !is_closing;
                Ok(if is_short { Life::Short { status } } else { Life::Full })
            }
            Err(failure) => {
                watched.process.kill();
                let status = self.see_out(watched, deaths).await;
                Err(match failure {
                    StartFailure::Channel(ChannelError::Gone) => StartFailure::Ended { status },
                    other => other,
                })
            }
        }
    }

    /// Waits until a new process says that it is ready.
    async fn welcome(
        &self,
        mut channel: Channel,
        watched: &mut Watched,
    ) -> Result<Worker, StartFailure> {
        let first = async {
            tokio::select! {
                message = channel.receive() => message,
                () = watched.stderr.copy() => Err(ChannelError::Gone),
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
            _ => Err(StartFailure::OutOfTurn),
        }
    }

    /// Waits for the end of a process and leaves nothing of it behind.
    async fn see_out(&self, mut watched: Watched, deaths: &mut Signal) -> String {
        let status = loop {
            match watched.child.try_wait() {
                Ok(None) => {}
                Ok(Some(status)) => break status.to_string(),
                Err(error) => break format!("an unknown state: {error}"),
            }
            tokio::select! {
                _ = deaths.recv() => {}
                () = watched.stderr.copy() => {}
            }
        };
        watched.stderr.finish();
        self.roster.count(|counters| counters.ended = counters.ended.saturating_add(1));
        status
    }
}

/// Texts of a report are for people: a few lines, whatever a worker says.
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
