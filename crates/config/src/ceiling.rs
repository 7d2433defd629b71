//! Calculates the most memory that the gateway takes with a configuration.

use crate::settings::Config;
use wardian_edges::http::{CONNECTION_MEMORY, TLS_MEMORY};
use wardian_formats::job::frame::outcome_max;
use wardian_stores::records::QUEUE_MEMORY;
use wardian_tools::config::{CredentialScope, MAX_LISTINGS, ToolServerConfig};
use wardian_vocabulary::budget::MemoryBudget;
use wardian_vocabulary::units::ByteCount;

/// The memory of a gateway without calls and without the files of skills: code, threads, tables and
/// the allocator.
const AT_REST: ByteCount = ByteCount::mebibytes(64);

/// Spans of traces that wait to be sent, and those that are being sent.
const SPANS: ByteCount = ByteCount::mebibytes(20);

/// Memory for reading a message of a worker, in halves of its length: the message itself, and its
/// parsed form. Parsed text takes no more than its JSON; the smallest piece of a log, 28 bytes,
/// becomes 32.
const MESSAGE_HALVES: u64 = 5;

/// Memory of a run that waits for a worker, in addition to the charge of its request.
const QUEUED: ByteCount = ByteCount::kibibytes(16);

/// A connection of a run: buffers of both sides, a head, and those of TLS.
const NETWORK_CONNECTION: ByteCount = ByteCount::kibibytes(512);

/// Pages of the database of records: SQLite keeps 2 MiB for each of its four connections, and a
/// batch while it is written.
const PAGES: ByteCount = ByteCount::mebibytes(16);

/// The parts of the most memory that the gateway takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayMemory {
    /// Memory without any call, besides the files of skills; spans of traces if there are any, and what is
    /// kept of servers of tools.
    pub at_rest: ByteCount,
    /// Requests, results and answers: `http.memory`.
    pub budget: ByteCount,
    /// Outputs of runs while they are checked.
    pub outputs: ByteCount,
    /// Buffers of connections, those of TLS included: `http.max_connections`.
    pub connections: ByteCount,
    /// Messages of workers, which are mostly logs, and jobs that were cancelled while they were
    /// sent: `workers.max`, `limits.max.logs` and `http.max_body`.
    pub runs: ByteCount,
    /// Runs that wait: `workers.queue`.
    pub queue: ByteCount,
    /// Connections of runs: `network.max_connections`.
    pub network: ByteCount,
    /// Records that wait to be written, and the database's pages: `records.enabled`.
    pub records: ByteCount,
    /// Results that are kept: `results.memory`.
    pub results: ByteCount,
}

impl GatewayMemory {
    /// The parts for a configuration.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let times = |size: ByteCount, count: usize| {
            let count = u64::try_from(count).unwrap_or(u64::MAX);
            ByteCount::bytes(size.as_u64().saturating_mul(count))
        };
        let message = ByteCount::from(outcome_max(config.limits.max.logs)).as_u64();
        let order = config.http.max_body.as_u64();
        let read = message.saturating_mul(MESSAGE_HALVES) / 2;
        let run = ByteCount::bytes(read.saturating_add(order));
        let egress = &config.network.egress;
        let connections = if egress.is_enabled { egress.max_open_connections } else { 0 };
        let tls = config.http.tls.as_ref().map_or(0, |_| TLS_MEMORY.as_u64());
        let connection = ByteCount::bytes(CONNECTION_MEMORY.as_u64().saturating_add(tls));
        Self {
            at_rest: {
                let spans = config.traces.as_ref().map_or(0, |_| SPANS.as_u64());
                let tools = config.tools.servers.values().map(tools_memory);
                let parts = [AT_REST.as_u64(), spans].into_iter().chain(tools);
                ByteCount::bytes(parts.fold(0, u64::saturating_add))
            },
            budget: config.http.memory,
            outputs: MemoryBudget::outputs(),
            connections: times(connection, config.http.max_connections),
            runs: times(run, config.workers.max),
            queue: times(QUEUED, config.workers.queue),
            network: times(NETWORK_CONNECTION, connections),
            records: match config.records.is_enabled {
                true => ByteCount::bytes(QUEUE_MEMORY.as_u64().saturating_add(PAGES.as_u64())),
                false => ByteCount::bytes(0),
            },
            results: config.results.memory,
        }
    }

    /// The sum: the most that the gateway takes, besides the files of all skills.
    #[must_use]
    pub fn total(&self) -> ByteCount {
        let Self { at_rest, budget, outputs, connections, runs, queue, network, records, results } =
            self;
        let parts = [at_rest, budget, outputs, connections, runs, queue, network, records, results];
        ByteCount::bytes(parts.iter().map(|part| part.as_u64()).fold(0, u64::saturating_add))
    }
}

/// What is kept of a server of tools: its listings, and a line that is being read.
fn tools_memory(server: &ToolServerConfig) -> u64 {
    let listings = match server.credentials {
        CredentialScope::Server => 1,
        CredentialScope::Tenant => u64::try_from(MAX_LISTINGS).unwrap_or(u64::MAX),
    };
    let (listing, result) = (server.limits.listing.as_u64(), server.limits.result.as_u64());
    listing.saturating_mul(listings).saturating_add(listing.max(result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Surroundings};

    fn memory(settings: &[(&str, &str)]) -> GatewayMemory {
        let settings = settings.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        let home = Some(std::path::PathBuf::from("/home/wardian"));
        let surroundings =
            Surroundings { data_dir: home.clone(), cache_dir: home, ..Surroundings::default() };
        let flags = Flags { settings: settings.collect(), ..Flags::default() };
        GatewayMemory::of(&Config::load(&surroundings, flags).unwrap())
    }

    #[test]
    fn messages_of_workers_are_bounded_by_the_logs_that_runs_may_have() {
        let runs = |logs| memory(&[("workers.count", "2"), ("limits.max.logs", logs)]).runs;
        assert_eq!(runs("1 MiB"), ByteCount::mebibytes(10 * 5 + 2 * 16));
        assert_eq!(runs("16 MiB"), ByteCount::mebibytes(100 * 5 + 2 * 16));
    }

    #[test]
    fn listings_of_tools_count() {
        let server = "{ a = { mcp = \"https://a.example.com/\", max_listing = \"8 MiB\" } }";
        let more = memory(&[("tools", server)]).at_rest.as_u64() - memory(&[]).at_rest.as_u64();
        assert_eq!(more, 16 << 20);
    }

    #[test]
    fn the_most_memory_follows_from_the_settings() {
        let few = [("workers.count", "2"), ("http.max_connections", "16")];
        let small = memory(&[&few[..], &[("http.memory", "128 MiB")]].concat());
        let large = memory(&[&few[..], &[("http.memory", "1 GiB")]].concat());
        let more = large.total().as_u64() - small.total().as_u64();
        assert_eq!(more, 896 << 20);
        assert!(small.total() < ByteCount::mebibytes(650), "{small:?}");
        let tls = [("http.tls.certificate", "/c"), ("http.tls.key", "/k")];
        let encrypted = memory(&[&few[..], &tls].concat());
        let plain = memory(&few);
        let more = encrypted.connections.as_u64() - plain.connections.as_u64();
        assert_eq!(more, 16 * TLS_MEMORY.as_u64());
        let many = memory(&[("http.max_connections", "1000000")]);
        assert!(many.total() > ByteCount::mebibytes(50_000), "{many:?}");
    }
}
