//! The settings one by one: key, default, range. The order is that of the documentation.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::settings::{
    BlobsConfig, CompileMetered, Config, EngineConfig, ImagesConfig, LimitsConfig, LogConfig,
    LogFormat, LogLevel, NetworkConfig, SkillsConfig,
};
use crate::tables::auth::read_auth;
use crate::tables::database::{check_fleet, read_database};
use crate::tables::limits::read_limits;
use crate::tables::records::{read_audit, read_records, read_results};
use crate::tables::run_memory::usual_memory;
use crate::tables::sessions::read_sessions;
use crate::tables::telemetry::read_traces;
use crate::tables::tenant_skills::read_tenant_skills;
use crate::tables::tenants::{read_image_tenants, read_tenants};
use crate::tables::tools::read_tools;
use crate::tables::trusted_keys::read_trusted_keys;
use crate::tables::workers::{most_runs, read_workers};
use wardian_dispatch::memory_of;
use wardian_edges::http::{HttpConfig, TlsFiles, share_of_an_address};
use wardian_edges::mcp::McpConfig;
use wardian_egress::config::{EgressConfig, NetworkLimits, three_quarters};
use wardian_engine::code::compile::TargetCpu;
use wardian_engine::code::polls::Interruption;
use wardian_formats::skill::manifest::secret_hosts::SecretHosts;
use wardian_stores::secrets::SecretsConfig;
use wardian_stores::secrets::config::SecretCommand;
use wardian_vocabulary::units::ByteCount;

/// Reads every setting.
pub(crate) fn read(mut reader: Reader, surroundings: &Surroundings) -> Result<Config, Vec<String>> {
    let listen = reader.read("listen", SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)));
    let admin_listen = reader.read_optional("admin_listen");
    let data_dir = folder(&mut reader, "data_dir", surroundings.data_dir.as_ref(), surroundings);
    let cache_dir = folder(&mut reader, "cache_dir", surroundings.cache_dir.as_ref(), surroundings);
    let (database, fleet) = read_database(&mut reader, surroundings);
    let skills = read_skills(&mut reader, &data_dir, surroundings);
    let http = HttpConfig { admin_listen, ..read_http(&mut reader, listen, surroundings) };
    let http = read_console(&mut reader, http);
    let (mcp, auth) = (read_mcp(&mut reader), read_auth(&mut reader, surroundings));
    let mut workers = read_workers(&mut reader);
    let memory = usual_memory(&reader, &workers, surroundings.memory);
    let limits = read_limits(&mut reader, memory);
    workers.max = most_runs(&reader, &workers, &limits, surroundings.memory);
    let (images, network) = (read_images(&mut reader), read_network(&mut reader, surroundings));
    let (isolation, tenants) = read_tenants(&mut reader, auth.mode, workers.max);
    let network = read_share_of_tenant(&mut reader, network);
    let tenant_skills = read_tenant_skills(&mut reader, surroundings);
    check_memory(&mut reader, workers.memory, &limits);
    let secrets = read_secrets(&mut reader, surroundings);
    let tools = read_tools(&mut reader, surroundings);
    let blobs = read_blobs(&mut reader, data_dir.join("blobs"), surroundings);
    let records = read_records(&mut reader);
    check_fleet(&mut reader, &fleet, (&database, &blobs, &records));
    let sessions = read_sessions(&mut reader, data_dir.join("sessions"));
    let (results, audit) = (read_results(&mut reader), read_audit(&mut reader, surroundings));
    let (engine, log) = (read_engine(&mut reader, surroundings), read_log(&mut reader));
    let traces = read_traces(&mut reader, surroundings);
    let (effective, ignored_variables) = reader.finish()?;
    Ok(Config {
        http,
        mcp,
        auth,
        data_dir,
        cache_dir,
        database,
        fleet,
        skills,
        workers,
        limits,
        tenants,
        tenant_skills,
        isolation,
        images,
        network,
        secrets,
        tools,
        blobs,
        records,
        sessions,
        results,
        audit,
        engine,
        log,
        traces,
        effective,
        file: None,
        file_stamp: None,
        ignored_variables,
        machine_memory: surroundings.memory,
    })
}

fn read_console(reader: &mut Reader, http: HttpConfig) -> HttpConfig {
    let serves_console = reader.read("console.enabled", http.serves_console);
    HttpConfig { serves_console, ..http }
}

fn read_engine(reader: &mut Reader, surroundings: &Surroundings) -> EngineConfig {
    let python = surroundings.venv_python.clone();
    EngineConfig {
        source: reader.read_optional("engine.source"),
        python: reader.read("engine.python", python.unwrap_or_else(|| "python3".into())),
        native: reader.read_optional("engine.native"),
        compile_metered: reader.read("engine.compile_metered", CompileMetered::OnDemand),
        interruption: reader.read("engine.interruption", Interruption::Polls),
        cpu: reader.read("engine.cpu", TargetCpu::Native),
    }
}

fn read_log(reader: &mut Reader) -> LogConfig {
    let format = reader.read("log.format", LogFormat::Text);
    LogConfig { format, level: reader.read("log.level", LogLevel::Info) }
}

fn read_skills(reader: &mut Reader, data_dir: &Path, surroundings: &Surroundings) -> SkillsConfig {
    let roots = vec![data_dir.join("skills")];
    SkillsConfig {
        roots: reader.read_mapped("skills.roots", roots, |roots: Vec<PathBuf>| {
            roots.into_iter().map(|root| surroundings.absolute(root)).collect()
        }),
        bundled: reader.read("skills.bundled", true),
        from_code: reader.read("skills.from_code", Vec::new()),
        publishing: reader.read("skills.publishing", true),
        require_signatures: reader.read("skills.require_signatures", false),
        trusted_keys: read_trusted_keys(reader, surroundings),
        max_folders: reader.read_within("skills.max_folders", 32_768, 1..=1_000_000),
        max_watches: reader.read_within("skills.max_watches", 262_144, 0..=10_000_000),
    }
}

fn read_images(reader: &mut Reader) -> ImagesConfig {
    ImagesConfig {
        profiles: reader.read("images.profiles", Vec::new()),
        on_need: reader.read("images.on_need", true),
        memory: reader.read("images.memory", ByteCount::mebibytes(1 << 10)),
        disk: reader.read("images.disk", ByteCount::mebibytes(4 << 10)),
        max_age: {
            let age = reader.read("images.max_age", Duration::from_hours(24));
            (!age.is_zero()).then_some(age)
        },
        tenants: read_image_tenants(reader),
    }
}

/// Reads a folder setting. Default: `wardian` in the user's folder of that kind.
fn folder(
    reader: &mut Reader,
    key: &'static str,
    users: Option<&PathBuf>,
    surroundings: &Surroundings,
) -> PathBuf {
    let default = users.map_or_else(PathBuf::new, |dir| dir.join("wardian"));
    let chosen: PathBuf = reader.read_mapped(key, default, |path| surroundings.absolute(path));
    if chosen.as_os_str().is_empty() {
        reader.complain(format!(
            "`{key}` must be set, because this user has no home folder from which to derive it"
        ));
    }
    chosen
}

fn read_mcp(reader: &mut Reader) -> McpConfig {
    McpConfig {
        skills_as_tools: reader.read("mcp.skills_as_tools", false),
        session_tool: reader.read("mcp.session_tool", true),
    }
}

fn read_http(reader: &mut Reader, listen: SocketAddr, surroundings: &Surroundings) -> HttpConfig {
    let usual = HttpConfig::listening_on(listen);
    let (short, long) = (Duration::from_millis(100), Duration::from_secs(3_600));
    let allowed_hosts = reader.read("http.allowed_hosts", usual.allowed_hosts);
    let allowed_origins = reader.read("http.allowed_origins", usual.allowed_origins);
    let max_connections =
        reader.read_within("http.max_connections", usual.max_connections, 1..=1_000_000);
    let config = HttpConfig {
        listen,
        admin_listen: None,
        allowed_hosts,
        allowed_origins,
        serves_console: usual.serves_console,
        max_connections,
        max_connections_per_address: reader.read_within(
            "http.max_connections_per_address",
            share_of_an_address(max_connections),
            1..=1_000_000,
        ),
        unlimited_addresses: reader.read("http.unlimited_addresses", usual.unlimited_addresses),
        max_body: reader.read_within(
            "http.max_body",
            usual.max_body,
            ByteCount::kibibytes(1)..=ByteCount::mebibytes(32),
        ),
        memory: reader.read_within(
            "http.memory",
            usual.memory,
            ByteCount::mebibytes(32)..=ByteCount::mebibytes(1 << 20),
        ),
        max_batch: reader.read_within("http.max_batch", usual.max_batch, 1..=1_000),
        max_transfers: reader.read_within("http.max_transfers", usual.max_transfers, 1..=4_096),
        header_timeout: reader.read_within(
            "http.header_timeout",
            usual.header_timeout,
            short..=long,
        ),
        body_timeout: reader.read_within("http.body_timeout", usual.body_timeout, short..=long),
        write_timeout: reader.read_within("http.write_timeout", usual.write_timeout, short..=long),
        stall_timeout: reader.read_within("http.stall_timeout", usual.stall_timeout, short..=long),
        idle_timeout: reader.read_within("http.idle_timeout", usual.idle_timeout, short..=long),
        drain_timeout: reader.read_within(
            "http.drain_timeout",
            usual.drain_timeout,
            Duration::ZERO..=long,
        ),
        tls: read_tls(reader, surroundings),
        handshake_timeout: reader.read_within(
            "http.tls.handshake_timeout",
            usual.handshake_timeout,
            short..=Duration::from_secs(60),
        ),
    };
    if config.max_body.as_u64().saturating_mul(5) > config.memory.as_u64() {
        reader.complain("`http.memory` must be at least five times `http.max_body`".to_owned());
    }
    config
}

/// Reads the files of the certificate and its key, of which both or none must be named.
fn read_tls(reader: &mut Reader, surroundings: &Surroundings) -> Option<TlsFiles> {
    let certificate: Option<PathBuf> = reader.read_optional("http.tls.certificate");
    let key: Option<PathBuf> = reader.read_optional("http.tls.key");
    match (certificate, key) {
        (Some(certificate), Some(key)) => Some(TlsFiles {
            certificate: surroundings.absolute(certificate),
            key: surroundings.absolute(key),
        }),
        (None, None) => None,
        (Some(_), None) => {
            reader.complain(
                "`http.tls.certificate` is set and `http.tls.key` is not: name the file with the \
                 private key of the certificate",
            );
            None
        }
        (None, Some(_)) => {
            reader.complain(
                "`http.tls.key` is set and `http.tls.certificate` is not: name the file with the \
                 certificate of the key",
            );
            None
        }
    }
}

fn read_network(reader: &mut Reader, surroundings: &Surroundings) -> NetworkConfig {
    let usual = EgressConfig::default();
    let limits = usual.limits;
    let code = reader.read("network.code", Vec::new());
    let (short, long) = (Duration::from_millis(100), Duration::from_hours(1));
    let egress = EgressConfig {
        is_enabled: reader.read("network.enabled", usual.is_enabled),
        denied: reader.read("network.denied", usual.denied),
        private_ranges: reader.read("network.private_ranges", usual.private_ranges),
        proxy: reader.read_optional("network.proxy"),
        authorities: {
            let file: Option<PathBuf> = reader.read_optional("network.ca_file");
            file.map(|path| surroundings.absolute(path))
        },
        allows_unverified: reader.read("network.allow_unverified", usual.allows_unverified),
        max_open_connections: reader.read_within(
            "network.max_connections",
            usual.max_open_connections,
            1..=65_536,
        ),
        most_of_tenant: usual.most_of_tenant,
        limits: NetworkLimits {
            requests: reader.read("network.limits.requests", limits.requests),
            connections: reader.read("network.limits.connections", limits.connections),
            sent: reader.read("network.limits.sent", limits.sent),
            received: reader.read("network.limits.received", limits.received),
            request_body: reader.read("network.limits.request_body", limits.request_body),
            response_body: reader.read("network.limits.response_body", limits.response_body),
            head: limits.head,
            connect_timeout: reader.read_within(
                "network.limits.connect_timeout",
                limits.connect_timeout,
                short..=long,
            ),
            first_byte_timeout: reader.read_within(
                "network.limits.first_byte_timeout",
                limits.first_byte_timeout,
                short..=long,
            ),
            request_timeout: reader.read_within(
                "network.limits.request_timeout",
                limits.request_timeout,
                short..=long,
            ),
        },
    };
    NetworkConfig { egress, code }
}

/// Reads the number of connections that one tenant may have: by default three quarters of all, so
/// that a tenant that takes what it can get leaves some to others.
fn read_share_of_tenant(reader: &mut Reader, mut network: NetworkConfig) -> NetworkConfig {
    const KEY: &str = "tenants.connections";
    let all = network.egress.max_open_connections;
    let share = reader.read_within(KEY, three_quarters(all), 1..=65_536);
    if share > all {
        reader.complain(format!(
            "`{KEY}` ({share}) must not exceed `network.max_connections` ({all})"
        ));
    }
    network.egress.most_of_tenant = share;
    network
}

fn check_memory(reader: &mut Reader, memory: Option<ByteCount>, limits: &LimitsConfig) {
    let needed = memory_of(&limits.default);
    if let Some(memory) = memory.filter(|memory| *memory < needed) {
        reader.complain(format!(
            "`workers.memory` ({memory}) is too small for a run: `limits.memory` and \
             `limits.workspace` together are {needed}"
        ));
    }
}

fn read_secrets(reader: &mut Reader, surroundings: &Surroundings) -> SecretsConfig {
    let (short, long) = (Duration::from_millis(100), Duration::from_secs(60));
    let absolute = |path| surroundings.absolute(path);
    let folders: Vec<PathBuf> = surroundings.credentials_dir.iter().cloned().collect();
    let folders = reader.read_mapped("secrets.folders", folders, |folders: Vec<PathBuf>| {
        folders.into_iter().map(absolute).collect()
    });
    let file: Option<PathBuf> = reader.read_optional("secrets.file");
    let arguments: Vec<String> = reader.read("secrets.command", Vec::new());
    let timeout =
        reader.read_within("secrets.command_timeout", Duration::from_secs(10), short..=long);
    let max_age = reader.read("secrets.command_max_age", Duration::from_secs(60));
    let hidden_variables = surroundings.secrets.variables();
    let tenant_arguments: Vec<String> = reader.read("secrets.tenant_command", Vec::new());
    let shares_with_tenants = reader.read("secrets.share_with_tenants", true);
    let command = |arguments: Vec<String>| {
        let hidden_variables = hidden_variables.clone();
        let command = SecretCommand { arguments, timeout, max_age, hidden_variables };
        Some(command).filter(|command| !command.arguments.is_empty())
    };
    SecretsConfig {
        environment: surroundings.secrets.clone(),
        folders,
        file: file.map(absolute),
        command: command(arguments),
        tenant_command: command(tenant_arguments),
        shares_with_tenants,
        hosts: reader.read_table("secrets.hosts", SecretHosts::default()),
    }
}

fn read_blobs(reader: &mut Reader, folder: PathBuf, surroundings: &Surroundings) -> BlobsConfig {
    let folder = reader.read_mapped("blobs.folder", folder, |path| surroundings.absolute(path));
    let ttl = reader.read("blobs.ttl", Duration::from_hours(7 * 24));
    BlobsConfig {
        folder,
        ttl: (!ttl.is_zero()).then_some(ttl),
        quota: reader.read("blobs.quota", ByteCount::mebibytes(10 << 10)),
        max_size: reader.read_within(
            "blobs.max_size",
            ByteCount::mebibytes(10 << 10),
            ByteCount::bytes(1)..=ByteCount::mebibytes(16 << 20),
        ),
        store: reader.read_optional("blobs.store"),
        cache: reader.read("blobs.cache", ByteCount::mebibytes(20 << 10)),
    }
}
