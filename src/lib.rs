//! Runs skills and model-written Python inside WebAssembly, one fresh sandbox for each call.
//!
//! Reading order, lowest layer first. A module imports only modules above its row of the table in
//! `tests/architecture.rs`, which is a test. `ARCHITECTURE.md` describes the parts and the reasons.
//!
//! ```text
//! vocabulary   error  ids  units  clock  budget  heap  cgroup  secret_text  crypto  client_tls
//!              private_file · regular_file · user_folder
//! formats      skill  protocol  job  provenance  framing  quotas
//! engines      blobs  registry  packages  engine  sandbox  images  image_builder  worker  dispatch
//!              egress  secrets  database  tenants
//! use cases    service
//! edges        net  http  mcp  console
//! program      config  assembly  cli
//! ```
//!
//! A call of `run_code` passes through `http` (parses and checks the call), `service` (finds skills
//! and blobs and plans the run), `dispatch` (assigns a worker), `worker` and `sandbox` (run the
//! program in a fresh interpreter on a prepared memory image), and back.

pub mod budget;
pub mod cgroup;
mod client_tls;
pub mod clock;
mod crypto;
pub mod error;
pub mod heap;
pub mod ids;
mod private_file;
mod regular_file;
pub mod secret_text;
mod subprocess;
pub mod units;
mod user_folder;

pub(crate) mod framing;
pub mod job;
pub mod protocol;
pub mod provenance;
pub mod quotas;
pub mod skill;
pub mod telemetry;

pub mod audit;
pub mod blobs;
pub mod database;
pub mod dispatch;
pub mod egress;
pub mod engine;
pub mod image_builder;
pub mod images;
pub mod packages;
pub mod records;
pub mod registry;
pub mod results;
pub mod sandbox;
pub mod secrets;
pub mod tenants;
pub mod worker;

pub mod service;

pub mod console;
pub mod http;
pub mod mcp;
pub mod net;

pub mod assembly;
pub mod cli;
pub mod config;
