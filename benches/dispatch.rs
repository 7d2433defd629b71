//! What a run costs through a worker process: queue, messages, sandbox and back.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use criterion::Criterion;
use wardian::assembly::{MeteredCode, Runtime, SkillsRead, Stores};
use wardian_config::{Config, Flags, Surroundings};
use wardian_dispatch::{CheckedPayload, Job, Pool, RunHost};
use wardian_engine::progress::Lines;
use wardian_formats::job::message::Refusal;
use wardian_telemetry::Metrics;
use wardian_vocabulary::ids::{BlobId, TenantId};

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
    let config = config(data.path(), &[])?;
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let runtime = threads.block_on(started(&config))?;
    let image = runtime.images.base();
    let spec = Box::new(order::order(EMPTY, image.digest())?);
    let job = Job { spec, image, skills: Vec::new(), layers: Vec::new(), blobs: Vec::new() };
    let mut criterion = Criterion::default().configure_from_args();
    threads.block_on(ensure_completed(&runtime.pool, &job))?;
    criterion.bench_function("dispatch/empty", |bencher| {
        bencher.iter(|| threads.block_on(runtime.pool.run(&job, &mut NoBlobs)));
    });
    threads.block_on(ensure_completed(&runtime.pool, &job))?;
    threads.block_on(runtime.shut_down(Duration::ZERO));
    for (name, fork) in [("forked", "true"), ("started", "false")] {
        measure_new_tenants(&mut criterion, &threads, data.path(), (name, fork))?;
    }
    criterion.final_summary();
    Ok(ExitCode::SUCCESS)
}

async fn started(config: &Config) -> Result<Runtime> {
    let metered = MeteredCode::IfThere;
    let stores = Stores::open(config, SkillsRead::Once)?;
    let read = move || stores.read();
    let progress = Lines::new(std::io::stderr());
    let runtime = Runtime::start(config, metered, read, Metrics::new(), None, &progress).await?;
    runtime.ready().await?;
    Ok(runtime)
}

/// Measures runs that each belong to another tenant, so that each has a new process: one after
/// another, which includes the start of the process, and with a pause, in which a fresh one starts.
fn measure_new_tenants(
    criterion: &mut Criterion,
    threads: &tokio::runtime::Runtime,
    data: &Path,
    (name, fork): (&str, &str),
) -> Result<()> {
    let apart = [("tenants.isolation", "process"), ("workers.fork", fork), ("workers.spares", "1")];
    let config = config(data, &apart)?;
    let runtime = threads.block_on(started(&config))?;
    let image = runtime.images.base();
    let mut tenants = 0_u64;
    let mut job_of_next_tenant = || {
        tenants = tenants.saturating_add(1);
        let mut spec = Box::new(order::order(EMPTY, image.digest())?);
        spec.tenant = TenantId::parse(&format!("tenant-{tenants}"))?;
        let image = image.clone();
        anyhow::Ok(Job { spec, image, skills: Vec::new(), layers: Vec::new(), blobs: Vec::new() })
    };
    let warm = job_of_next_tenant()?;
    threads.block_on(ensure_completed(&runtime.pool, &warm))?;
    criterion.bench_function(&format!("dispatch/{name}/same-tenant"), |bencher| {
        bencher.iter(|| threads.block_on(runtime.pool.run(&warm, &mut NoBlobs)));
    });
    criterion.bench_function(&format!("dispatch/{name}/new-tenant-at-once"), |bencher| {
        bencher.iter(|| {
            let job = job_of_next_tenant()?;
            threads.block_on(ensure_completed(&runtime.pool, &job))
        });
    });
    criterion.bench_function(&format!("dispatch/{name}/new-tenant"), |bencher| {
        bencher.iter_custom(|runs| {
            let mut taken = Duration::ZERO;
            for _ in 0..runs {
                std::thread::park_timeout(Duration::from_millis(300));
                let Ok(job) = job_of_next_tenant() else { continue };
                let begun = Instant::now();
                threads.block_on(ensure_completed(&runtime.pool, &job)).ok();
                taken = taken.saturating_add(begun.elapsed());
            }
            taken
        });
    });
    threads.block_on(runtime.shut_down(Duration::ZERO));
    Ok(())
}

fn config(data: &Path, more: &[(&str, &str)]) -> Result<Config> {
    let data = data.to_str().context("the folder for temporary files has a strange name")?;
    let usual = [("data_dir", data), ("workers.count", "1"), ("workers.spares", "0")];
    let settings = usual.iter().chain(more);
    let settings = settings.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let flags = Flags { file: None, settings };
    Ok(Config::load(&Surroundings::of_this_process(), flags)?)
}

/// A pool that refuses is fast, and must not be measured.
async fn ensure_completed(pool: &Pool, job: &Job) -> Result<()> {
    let finished = pool.run(job, &mut NoBlobs).await?;
    finished.outcome.end.map_err(|failure| anyhow::anyhow!("{failure}"))
}
