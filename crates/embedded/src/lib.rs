//! The sandbox for other programs: Python, with NumPy and pandas, in a process of one's own.
//!
//! ```no_run
//! use serde_json::json;
//! use wardian_embedded::{Engine, Image, PackageSet, RunLimits, Sandbox};
//!
//! # fn main() -> Result<(), wardian_embedded::EmbeddedError> {
//! // Fetches and compiles the interpreter the first time, which takes minutes.
//! let engine = Engine::open("/var/cache/acme/python", |step| eprintln!("{step}"))?;
//! let image = Image::with(&engine, PackageSet::NONE)?;
//! let mut sandbox = Sandbox::new(&engine, &image, RunLimits::DEFAULT)?;
//!
//! let code = "def main(args):\n    print('hello')\n    return args['n'] + 1";
//! let outcome = sandbox.run(code, &json!({ "n": 41 }))?;
//! assert_eq!(outcome.value(), Some("42"));
//! assert_eq!(outcome.stdout(), "hello\n");
//! # Ok(())
//! # }
//! ```
//!
//! # One wall and not two
//!
//! A program here is kept in by **one wall**: WebAssembly, with a file system in memory and limits that
//! the sandbox keeps. A server has a second one around it: each program runs in a worker process without
//! files, network, privileges or nearly all system calls, which is killed if it does not obey. Here, a
//! hole in wasmtime or in the sandbox reaches this process, with all that it may do; a crash ends it; and
//! what a program sent stays in freed memory until it is overwritten. For code of strangers, run a server,
//! or give this process the rights of one that may be lost.
//!
//! # What a program gets
//!
//! The packages of the engine, its arguments, a working folder of its own, clocks and randomness.
//! Not: the network, secrets, skills, input blobs, and the packages of pure Python that a server adds.
//!
//! INVARIANT(strangers): a run learns nothing of an earlier one, and nothing of this process.

mod engine;
mod error;
mod guest_thread;
mod image;
mod order;
mod outcome;
mod sandbox;
mod stored;

pub use crate::engine::Engine;
pub use crate::error::EmbeddedError;
pub use crate::image::Image;
pub use crate::outcome::{LostFile, Outcome, OutputFile};
pub use crate::sandbox::Sandbox;
pub use wardian_engine::progress::StepReport;
pub use wardian_formats::job::limits::RunLimits;
pub use wardian_formats::job::outcome::{LogChunk, Logs, RunFailure, RunUsage, Stream};
pub use wardian_images::PackageSet;
pub use wardian_vocabulary::ids::BlobId;
pub use wardian_vocabulary::units::{ByteCount, Fuel};
