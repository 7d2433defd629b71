//! Runs skills and model-written Python inside WebAssembly, one fresh sandbox for each call.
//!
//! This crate is the program: it reads the command line and builds everything else. The parts are the
//! crates below `crates`, lowest first:
//!
//! ```text
//! vocabulary   plain values and small helpers
//! formats      skills, the protocol, orders of runs, what proves a run: bytes in, typed values out
//! telemetry    metrics, traces, the history of a server
//! engine       the pinned interpreter, from its module to native code
//! sandbox      one run: one store on one memory image
//! images       which memory image a run begins as; image-builder makes them
//! embedded     the sandbox for other programs; the server does not use it
//! worker       the process that runs guests
//! stores       blobs, the database, tenants, records, the audit log, results, secrets
//! skills       folders of skills, and the packages that they need
//! dispatch     the pool of workers, and whose run is next
//! egress       how guests reach the world
//! service      the eight methods, and one run from its plan to its result
//! edges        HTTP, MCP and the console
//! config       settings
//! ```
//!
//! Cargo keeps what a crate may use of others, and `tests/architecture.rs` what rooms of a crate may use
//! of each other. `ARCHITECTURE.md` describes the parts and the reasons.
//!
//! A call of `run_code` passes through `edges` (parses and checks the call), `service` (finds skills
//! and blobs and plans the run), `dispatch` (assigns a worker), `worker` and `sandbox` (run the
//! program in a fresh interpreter on a prepared memory image), and back.

pub mod assembly;
pub mod cli;
