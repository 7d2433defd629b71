//! What a run costs through a worker process: queue, messages, sandbox and back.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use criterion::Criterion;
use wardian::assembly::{MeteredCode, Runtime, SkillsRead};
use wardian::config::{Config, Flags, Surroundings};
use wardian::dispatch::{CheckedPayload, Job, Pool, RunHost};
use wardian::engine::progress::Lines;
use wardian::ids::BlobId;
use wardian::job::message::Refusal;
use wardian::telemetry::Metrics;

#[path = "support/order.rs"]
mod order;

const EMPTY: &str = "def main(args):\n    return None\n";

/// A gateway that stores nothing.
struct NoBlobs;

impl RunHost for NoBlobs {
    async fn write_blob(
        &mut self,
        _kind: &str,
        _content: CheckedPayload,
    ) -> Result<BlobId, Refusal> {
        let message = "nothing is stored here".to_owned();
        Err(Refusal { error_type: "QuotaExceeded".to_owned(), message })
    }
}

fn main() -> Result<ExitCode> {
    // The pool starts its workers from the program that is running: from this one.
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return Ok(wardian::cli::main());
    }
    let data = tempfile::tempdir()?;
    let config = config(data.path())?;
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let progress = Lines::new(std::io::stderr());
    let runtime = threads.block_on(async {
        let runtime = Runtime::start(
            &config,
            MeteredCode::IfThere,
            SkillsRead::Once,
            Metrics::new(),
            &progress,
        )
        .await?;
        runtime.ready().await?;
        anyhow::Ok(runtime)
    })?;
    let image = runtime.images.base();
    let spec = Box::new(order::order(EMPTY, image.digest())?);
    let job = Job { spec, image, skills: Vec::new(), layers: Vec::new(), blobs: Vec::new() };
    let mut criterion = Criterion::default().configure_from_args();
    threads.block_on(ensure_completed(&runtime.pool, &job))?;
    criterion.bench_function("dispatch/empty", |bencher| {
        bencher.iter(|| threads.block_on(runtime.pool.run(&job, &mut NoBlobs)));
    });
    threads.block_on(ensure_completed(&runtime.pool, &job))?;
    criterion.final_summary();
    threads.block_on(runtime.shut_down(Duration::ZERO));
    Ok(ExitCode::SUCCESS)
}

fn config(data: &Path) -> Result<Config> {
    let data = data.to_str().context("the folder for temporary files has a strange name")?;
    let settings = [("data_dir", data), ("workers.count", "1"), ("workers.spares", "0")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let flags = Flags { file: None, settings };
    Ok(Config::load(&Surroundings::of_this_process(), flags)?)
}

/// A pool that refuses is fast, and must not be measured.
async fn ensure_completed(pool: &Pool, job: &Job) -> Result<()> {
    let finished = pool.run(job, &mut NoBlobs).await?;
    finished.outcome.end.map_err(|failure| anyhow::anyhow!("{failure}"))
}
