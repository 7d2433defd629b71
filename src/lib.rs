//! Runs skills and model-written Python inside WebAssembly, one fresh sandbox for each call.
//!
//! Reading order, lowest layer first. A module imports only from the rows above it; the table in
//! `tests/architecture.rs` is the law, and `ARCHITECTURE.md` tells the story.
//!
//! ```text
//! vocabulary   error  ids  units  clock  budget  heap
//! formats      skill  protocol  job  framing
//! engines      blobs  registry  engine  sandbox  images  image_builder  worker  dispatch  egress
//! use cases    service
//! edges        http
//! program      config  assembly  cli
//! ```
//!
//! A call of `run_code` passes through `http` (bytes to a checked call), `service` (names to a
//! complete order), `dispatch` (an order to a free worker), `worker` and `sandbox` (a fresh
//! interpreter on a warm memory), and back.

pub mod budget;
pub mod clock;
pub mod error;
pub mod heap;
pub mod ids;
pub mod units;

pub(crate) mod framing;
pub mod job;
pub mod protocol;
pub mod skill;

pub mod blobs;
pub mod dispatch;
pub mod egress;
pub mod engine;
pub mod image_builder;
pub mod images;
pub mod registry;
pub mod sandbox;
pub mod worker;

pub mod service;

pub mod http;

pub mod assembly;
pub mod cli;
pub mod config;
