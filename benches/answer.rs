//! Runs programs at the level of the engine, for `scripts/bench-peers`: no server, no worker process.
//!
//! Reads one JSON object a line, `{"source": ...}`, and answers each with a line:
//! `{"ms": ..., "run_ms": ..., "reset_ms": ..., "value": ...}`, or `{"cannot": reason}`. `ms` is the
//! whole cycle, until the next run could begin.

use std::io::{BufRead as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::Workshop;

mod support;

/// A program to run.
#[derive(Deserialize)]
struct Question {
    source: String,
}

fn main() -> Result<()> {
    let mut workshop = Workshop::open()?;
    support::on_guest_thread(move || {
        let mut answers = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let question: Question = serde_json::from_str(&line?)?;
            writeln!(answers, "{}", answer(&mut workshop, &question.source)?)?;
        }
        Ok(())
    })
}

fn answer(workshop: &mut Workshop, source: &str) -> Result<Value> {
    let order = workshop.order(source)?;
    let began = Instant::now();
    let mut finished = workshop.sandbox.run(&order.0, &order.1, Box::new(support::Forgetful))?;
    let ran = began.elapsed();
    let output = std::mem::take(&mut finished.output);
    let end = finished.outcome.end.clone();
    drop(finished);
    let all = began.elapsed();
    Ok(match end {
        Ok(()) => json!({
            "ms": milliseconds(all),
            "run_ms": milliseconds(ran),
            "reset_ms": milliseconds(all.saturating_sub(ran)),
            "value": serde_json::from_slice::<Value>(&output)?,
        }),
        Err(failure) => json!({ "cannot": format!("{}: {failure}", failure.error_type()) }),
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
