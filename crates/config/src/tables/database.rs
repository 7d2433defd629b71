//! The settings `database.*`.

use std::path::PathBuf;

use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::settings::DatabaseConfig;

/// Reads where keys and records are.
pub(crate) fn read_database(reader: &mut Reader, surroundings: &Surroundings) -> DatabaseConfig {
    let url_file: Option<PathBuf> = reader.read_optional("database.url_file");
    DatabaseConfig { url_file: url_file.map(|path| surroundings.absolute(path)) }
}
