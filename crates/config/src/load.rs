//! Loads the configuration: finds the file, combines the layers, and reads them by the schema.

use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use toml::Table;

use crate::environment::{API_KEY_VARIABLE, SOURCE_TOKEN_VARIABLE, Surroundings};
use crate::error::ConfigError;
use crate::reader::{FilePlaces, Layers, Reader};
use crate::schema;
use crate::settings::Config;
use wardian_edges::http::PathStamp;
use wardian_vocabulary::files::regular_file::{not_regular, open_now};

/// Longest file that is read. Settings are small, and a wrong path may name a file of any size.
const MAX_FILE: u64 = 1 << 20;

/// Longest reason that is shown of a file that is not TOML, in characters.
const MAX_REASON: usize = 200;

/// Settings from the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// The file to read instead of the usual one.
    pub file: Option<PathBuf>,
    /// Key and text of each setting that was given, in order.
    pub settings: Vec<(String, String)>,
}

impl Config {
    /// Loads the configuration.
    ///
    /// # Errors
    ///
    /// The file cannot be read or is not TOML, or settings are wrong. Then all problems are
    /// reported.
    pub fn load(surroundings: &Surroundings, flags: Flags) -> Result<Self, ConfigError> {
        let LoadedFile { path, stamp, table: file, places } = load_file(surroundings, flags.file)?;
        let environment = surroundings
            .variables
            .iter()
            .filter(|(name, _)| {
                name != FILE_VARIABLE
                    && name != API_KEY_VARIABLE
                    && name != SOURCE_TOKEN_VARIABLE
                    && !is_service_link(name)
            })
            .cloned()
            .collect();
        let layers = Layers { file, places, environment, flags: flags.settings };
        schema::read(Reader::new(layers), surroundings)
            .map(|config| Self { file: path, file_stamp: stamp, ..config })
            .map_err(|problems| ConfigError::Settings { problems })
    }
}

/// The variable that names the file, as `--config` does.
const FILE_VARIABLE: &str = "WARDIAN_CONFIG";

/// True for variables that Kubernetes sets in containers if a service is called `wardian`.
fn is_service_link(name: &str) -> bool {
    name == "WARDIAN_PORT"
        || name.starts_with("WARDIAN_PORT_")
        || name.starts_with("WARDIAN_SERVICE_")
}

/// The file, if there is one.
#[derive(Default)]
struct LoadedFile {
    path: Option<PathBuf>,
    stamp: Option<PathStamp>,
    table: Table,
    places: FilePlaces,
}

/// Reads the named file, or the usual one if it exists.
fn load_file(
    surroundings: &Surroundings,
    named: Option<PathBuf>,
) -> Result<LoadedFile, ConfigError> {
    let named = named.or_else(|| surroundings.variable(FILE_VARIABLE).map(PathBuf::from));
    let usual = || surroundings.config_dir.as_ref().map(|dir| dir.join("wardian/config.toml"));
    let must_be_there = named.is_some();
    let Some(path) = named.or_else(usual) else {
        return Ok(LoadedFile::default());
    };
    match read_file(&path) {
        Ok((stamp, text)) => match text.parse() {
            Ok(table) => {
                let places = FilePlaces::of(&path, &text);
                Ok(LoadedFile { path: Some(path), stamp: Some(stamp), table, places })
            }
            Err(cause) => {
                let (line, column) = place_of(&cause, &text);
                let reason = cause.message().chars().filter(|letter| !letter.is_control());
                let reason = reason.take(MAX_REASON).collect();
                Err(ConfigError::NotToml { path, line, column, reason })
            }
        },
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && !must_be_there => {
            Ok(LoadedFile::default())
        }
        Err(cause) => Err(ConfigError::Unreadable { path, cause }),
    }
}

/// Line and column at which the text is no TOML.
fn place_of(error: &toml::de::Error, text: &str) -> (usize, usize) {
    let end = error.span().map_or(0, |span| span.start);
    let before = text.get(..end).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count().saturating_add(1), line.chars().count().saturating_add(1))
}

/// The text of a file, and the state of the file before it was read.
fn read_file(path: &Path) -> io::Result<(PathStamp, String)> {
    let file = open_now(path)?;
    let found = file.metadata()?;
    // What a pipe gives is there once, and the file is read again when it changes.
    if !found.is_file() && !found.file_type().is_char_device() {
        return Err(not_regular());
    }
    if found.len() > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    let text = io::read_to_string(io::Read::take(file, MAX_FILE))?;
    Ok((PathStamp::of_metadata(&found), text))
}
