//! What a checkpoint and a resumption cost: `cargo bench --bench checkpoints`.
//!
//! For each program: the time and the size of the first checkpoint, which is against the image, those of
//! the one after an empty turn, and the time to resume on a slot that has kept its pages and on a new one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use wardian_formats::job::{Setup, Turn};
use wardian_sandbox::{OpenGuest, Sandbox, Stopwatch};

use crate::support::Workshop;

mod support;

/// Programs that leave state, by name.
const PROGRAMS: &[(&str, &str)] = &[
    ("x = 1", "x = 1"),
    ("small pandas", SMALL_PANDAS),
    ("model", MODEL),
    ("4 MiB", "import os\nx = os.urandom(4 << 20)"),
    ("45 MiB", "import os\nx = os.urandom(45 << 20)"),
    ("file of 10 MiB", "import os\nopen('data', 'wb').write(os.urandom(10 << 20))"),
];

const SMALL_PANDAS: &str = "import pandas as pd
df = pd.DataFrame({'a': range(100), 'b': list('uv') * 50})
means = df.groupby('b').a.mean()";

const MODEL: &str = "import numpy as np
rng = np.random.default_rng(1)
x = rng.normal(size=(2000, 20))
q, r = np.linalg.qr(x)";

/// Rounds of each measurement, of which the median is shown.
const ROUNDS: usize = 25;

fn main() -> Result<()> {
    let mut workshop = Workshop::open()?;
    support::on_guest_thread(move || {
        for (name, program) in PROGRAMS {
            let order = workshop.order(&in_main(program))?;
            let (_, empty) = workshop.order(&in_main("pass"))?;
            measure(name, &mut workshop.sandbox, &order, &empty)?;
        }
        Ok(())
    })
}

/// The program as a function that leaves its names in a module.
fn in_main(program: &str) -> String {
    format!(
        "import sys, types\ndef main(args):\n    \
         kept = sys.modules.setdefault('kept', types.ModuleType('kept'))\n    \
         exec({program:?}, kept.__dict__)\n"
    )
}

fn measure(
    name: &str,
    sandbox: &mut Sandbox,
    (setup, turn): &(Arc<Setup>, Turn),
    empty: &Turn,
) -> Result<()> {
    let (mut whole, mut delta) = (Vec::new(), Vec::new());
    let (mut warm, mut turns, mut parked_turns) = (Vec::new(), Vec::new(), Vec::new());
    let mut sizes = None;
    for _ in 0..ROUNDS {
        let mut guest = sandbox.open(Arc::clone(setup))?;
        run(sandbox, &mut guest, turn)?;
        let (first, time) = timed(|| sandbox.checkpoint(&mut guest))?;
        whole.push(time);
        let began = Instant::now();
        run(sandbox, &mut guest, empty)?;
        turns.push(began.elapsed());
        let (second, time) = timed(|| sandbox.checkpoint(&mut guest))?;
        delta.push(time);
        sandbox.close(guest)?;
        let packs: [&[u8]; 2] = [&first.bytes, &second.bytes];
        let (mut guest, time) = timed(|| sandbox.resume(Arc::clone(setup), &packs))?;
        warm.push(time);
        let began = Instant::now();
        run(sandbox, &mut guest, empty)?;
        parked_turns.push(began.elapsed());
        sandbox.close(guest)?;
        sizes = Some([first.facts, second.facts]);
    }
    let [first, second] = sizes.context("no round")?;
    show(&format!(
        "{name:15} whole {} in {:>9.1?} ({} pages), then {} in {:>9.1?} ({} pages); resumed in \
         {:>9.1?}; an empty turn {:>9.1?}, after it {:>9.1?}",
        first.size,
        median(whole),
        first.pages,
        second.size,
        median(delta),
        second.pages,
        median(warm),
        median(turns),
        median(parked_turns),
    ));
    Ok(())
}

fn run(sandbox: &Sandbox, guest: &mut OpenGuest, turn: &Turn) -> Result<()> {
    let host = Box::new(support::Forgetful);
    let end = sandbox.turn(guest, turn, host, Stopwatch::start())?;
    end.outcome.end.ok().context("the program failed")
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
    let began = Instant::now();
    let done = work()?;
    Ok((done, began.elapsed()))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "a benchmark shows what it measured")]
fn show(line: &str) {
    println!("{line}");
}
