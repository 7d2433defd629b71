//! What a run costs at the level of the engine: from the order to the outcome, and back to the
//! image.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use criterion::{BenchmarkId, Criterion, Throughput};
use wardian_formats::job::{Setup, Turn};
use wardian_sandbox::Sandbox;

use crate::support::Workshop;

mod support;

const EMPTY: &str = "def main(args):\n    return None\n";
const PANDAS: &str = include_str!("../scripts/bench/workloads/pandas_group_by.py");
const SKLEARN: &str = include_str!("../scripts/bench/workloads/sklearn_fit.py");
const MATPLOTLIB: &str = include_str!("../scripts/bench/workloads/matplotlib_png.py");

fn main() -> Result<()> {
    let mut workshop = Workshop::open()?;
    support::on_guest_thread(move || {
        let mut criterion = Criterion::default().configure_from_args();
        programs(&mut criterion, &mut workshop)?;
        touched_memory(&mut criterion, &mut workshop)?;
        criterion.final_summary();
        Ok(())
    })
}

/// `run` ends with the outcome, when a worker answers; `reset` is what it does afterwards.
fn programs(criterion: &mut Criterion, workshop: &mut Workshop) -> Result<()> {
    let mut group = criterion.benchmark_group("engine");
    for (name, source) in
        [("empty", EMPTY), ("pandas", PANDAS), ("sklearn", SKLEARN), ("matplotlib", MATPLOTLIB)]
    {
        let order = workshop.order(source)?;
        measured(&mut workshop.sandbox, &order)?;
        group.bench_function(format!("run/{name}"), |bencher| {
            bencher
                .iter_custom(|rounds| total(&mut workshop.sandbox, &order, rounds, |(run, _)| run));
        });
        group.bench_function(format!("reset/{name}"), |bencher| {
            bencher.iter_custom(|rounds| {
                total(&mut workshop.sandbox, &order, rounds, |(_, reset)| reset)
            });
        });
    }
    group.finish();
    Ok(())
}

/// How a cycle grows with the memory that a program writes to. Beyond what a slot keeps, its
/// memory is dropped and mapped anew.
fn touched_memory(criterion: &mut Criterion, workshop: &mut Workshop) -> Result<()> {
    let mut group = criterion.benchmark_group("touched");
    for mebibytes in [1_u64, 4, 8, 32, 128] {
        let source = format!("def main(args):\n    return len(b'x' * {mebibytes} * (1 << 20))\n");
        let order = workshop.order(&source)?;
        measured(&mut workshop.sandbox, &order)?;
        group.throughput(Throughput::Bytes(mebibytes << 20));
        group.bench_function(BenchmarkId::from_parameter(format!("{mebibytes} MiB")), |bencher| {
            bencher.iter_custom(|rounds| {
                total(&mut workshop.sandbox, &order, rounds, |(run, reset)| {
                    run.saturating_add(reset)
                })
            });
        });
    }
    group.finish();
    Ok(())
}

/// The sum of a part of `rounds` cycles. A run that fails ends the benchmark: criterion has no
/// way for errors.
#[expect(clippy::panic, reason = "a program that fails has no duration worth knowing")]
fn total(
    sandbox: &mut Sandbox,
    order: &(Setup, Turn),
    rounds: u64,
    part: impl Fn((Duration, Duration)) -> Duration,
) -> Duration {
    let cycle = || match measured(sandbox, order) {
        Ok(times) => part(times),
        Err(fault) => panic!("{fault:#}"),
    };
    std::iter::repeat_with(cycle).take(usize::try_from(rounds).unwrap_or(usize::MAX)).sum()
}

/// The duration of one run, and of the reset after it.
fn measured(sandbox: &mut Sandbox, order: &(Setup, Turn)) -> Result<(Duration, Duration)> {
    let began = Instant::now();
    let finished = sandbox.run(&order.0, &order.1, Box::new(support::Forgetful))?;
    let run = began.elapsed();
    finished.outcome.end.clone().ok().context("the program failed")?;
    let ended = Instant::now();
    drop(finished);
    Ok((run, ended.elapsed()))
}
