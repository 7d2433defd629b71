//! Programs as language models write them: Wardian answers what native CPython on 64-bit Linux
//! answers, or refuses and says why. There is nothing in between.
//!
//! `programs/GROUP/NAME.py` are the programs, `answers/GROUP.json` what `scripts/record-native`
//! recorded. Integers and text are compared exactly, floating-point numbers within 1e-9 of their
//! size: the libraries are the same, the compilers and processors are not.
#![expect(dead_code, unused_imports, reason = "the support serves other tests too")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::needless_pass_by_value,
    clippy::panic_in_result_fn,
    reason = "a test may panic; that is how it fails"
)]

mod compare;
mod corpus;
#[path = "../it/support/mod.rs"]
mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::corpus::Program;
use crate::support::{Client, Command, TestServer};

/// As many programs as the corpus has had: it may grow, but not vanish.
const CORPUS: usize = 1237;

/// Programs that are sent at the same time.
const CLIENTS: usize = 2;

#[test]
fn every_program_answers_like_native_python_or_is_refused_aloud() {
    let programs = Program::all();
    assert!(programs.len() >= CORPUS, "{} programs are left", programs.len());
    // The programs of `libraries` import batteries.
    Command::new().run(&["engine", "install"]).with(0);
    let server = TestServer::start(&["--set", "images.on_need=false"]);
    let differences = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let client = server.client();
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let difference = check(&client, program).err();
                    let line = difference.map(|what| format!("{}: {what}", program.name()));
                    differences.lock().unwrap().extend(line);
                }
            });
        }
    });
    let mut differences = differences.into_inner().unwrap();
    differences.sort();
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

/// Runs one program and compares its result with the recorded answer.
fn check(client: &Client, program: &Program) -> Result<(), String> {
    let result = client.run_with(program.source(), json!({"timeout_ms": 60_000}));
    program.expected().compare(&result)
}
