//! The promises of Wardian, tested from outside: a real server over HTTP, and the real command
//! line.
//!
//! One module for each topic; `support` has the servers, clients and commands they share. Skills
//! that most tests use lie in `skills`, programs in `tests/fixtures/programs`. Most tests share one
//! server: what they do to it must not be seen by the others. Those that cannot promise that
//! start one of their own, which takes less than a second.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::string_slice,
    clippy::needless_pass_by_value,
    clippy::panic_in_result_fn,
    reason = "a test may panic; that is how it fails"
)]

mod agent_skills;
mod approvals;
mod arguments;
mod audit;
mod bad_limits;
mod blob_commands;
mod blob_faults;
mod blob_transfer;
mod blobs;
mod cached_results;
mod called_tools;
mod cgroups;
mod child_processes;
mod command_line;
mod conformance;
mod console;
mod conversions;
mod detached;
mod discovery;
mod documents;
mod failures;
mod files;
mod first_start;
mod fleet;
mod fuel_profile;
mod held_cells;
mod http;
mod idempotency;
mod images;
mod isolation;
mod kernel_command;
mod limits;
mod lockdown;
mod mcp;
mod memory;
mod metrics;
mod migration;
mod model_clients;
mod native_modules;
mod native_sets;
mod network;
mod network_records;
mod notebook_imports;
mod notebook_tests;
mod object_stores;
mod operation;
mod packages;
mod pictures;
mod placed_blobs;
mod programs;
mod publishing;
mod records;
mod reproducible;
mod reproducible_sessions;
mod reproducible_tools;
mod results;
mod rpc;
mod run_content;
mod run_events;
mod run_records;
mod scale;
mod scans;
mod scripts;
mod secrets;
mod session_commands;
mod session_files;
mod session_images;
mod session_losses;
mod session_memory;
mod session_notebooks;
mod session_results;
mod sessions;
mod shared_blobs;
mod shared_database;
mod shares;
mod signed_skills;
mod skill_evals;
mod skill_sources;
mod skill_tests;
mod skills_as_tools;
mod skills_lock;
mod support;
mod tables;
mod taken_over;
mod tenant_images;
mod tenant_secrets;
mod tenant_skills;
mod tenant_workers;
mod tenants;
mod test_command;
mod tls;
mod tokens;
mod tools_in_runs;
mod tools_of_servers;
mod traces;
mod untouched;
mod waiting_cells;
mod waiting_runs;
mod workers;
