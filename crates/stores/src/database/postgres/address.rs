//! The address of a database: a URL in a file, which nobody else may read.

use std::fmt;
use std::io::{self, Read as _};
use std::path::Path;
use std::str::FromStr as _;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use zeroize::Zeroizing;

use crate::database::postgres::run::StatementsKept;
use crate::database_error::DatabaseError;
use wardian_vocabulary::files::private_file::exposure;
use wardian_vocabulary::files::regular_file::open_regular;

/// Longest file, in bytes.
const MAX_FILE: u64 = 8 << 10;

/// The name of this server in the lists of the database.
const NAME: &str = "wardian";

/// What a URL may say behind its question mark. The library would write others into the log.
const KNOWN: &[&str] = &[
    "application_name",
    "dbname",
    "host",
    "options",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// An address.
#[derive(Clone)]
pub(super) struct PostgresAddress {
    pub(super) options: PgConnectOptions,
    pub(super) preparation: StatementsKept,
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.options.get_database().unwrap_or("?");
        match self.options.get_socket() {
            Some(socket) => write!(f, "{}/{database}", socket.display()),
            None => write!(f, "{}:{}/{database}", self.options.get_host(), self.options.get_port()),
        }
    }
}

impl PostgresAddress {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// It cannot be read, others can read it, or it has no URL.
    pub(super) fn read(path: &Path) -> Result<Self, DatabaseError> {
        let wrong = |fault: &str| DatabaseError::WrongUrl {
            path: path.to_owned(),
            fault: fault.to_owned(),
        };
        let unreadable = |fault: io::Error| wrong(&format!("it cannot be read: {fault}"));
        let file = open_regular(path).map_err(unreadable)?;
        if let Some(fault) = exposure(&file).map_err(unreadable)? {
            return Err(wrong(&fault));
        }
        let mut text = Zeroizing::new(String::new());
        file.take(MAX_FILE.saturating_add(1)).read_to_string(&mut text).map_err(unreadable)?;
        if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_FILE {
            return Err(wrong("it is larger than 8 KiB"));
        }
        Self::parse(text.trim()).map_err(|fault| wrong(&fault))
    }

    /// Reads a URL. No error has a part of its values.
    fn parse(text: &str) -> Result<Self, String> {
        const FORM: &str =
            "it must have one line of the form `postgres://USER:PASSWORD@HOST:5432/DATABASE`";
        let has_scheme = ["postgres://", "postgresql://"].iter().any(|it| text.starts_with(it));
        if !has_scheme || text.contains(char::is_whitespace) {
            return Err(FORM.to_owned());
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut kept, mut preparation, mut has_mode) =
            (Vec::new(), StatementsKept::Prepared, false);
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key {
                // It is so in any case.
                "target_session_attrs" if matches!(value, "read-write" | "primary") => continue,
                "statement-cache-capacity" if value == "0" => {
                    preparation = StatementsKept::Unprepared;
                }
                "sslmode" => has_mode = true,
                _ if KNOWN.contains(&key) => {}
                _ => {
                    let known = KNOWN.join(", ");
                    return Err(format!("its URL has a parameter that is not one of {known}"));
                }
            }
            kept.push(part);
        }
        let url = Zeroizing::new(match kept.is_empty() {
            true => base.to_owned(),
            false => format!("{base}?{}", kept.join("&")),
        });
        let options = PgConnectOptions::from_str(&url);
        // The error could show a part of the URL.
        let options = options.ok().ok_or_else(|| FORM.to_owned())?;
        if options.get_database().is_none_or(str::is_empty) {
            return Err(format!("its URL names no database: {FORM}"));
        }
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name(NAME),
        };
        let is_near = options.get_socket().is_some() || is_loopback(options.get_host());
        let options = match has_mode || is_near {
            true => options,
            // A password goes to nobody else.
            false => options.ssl_mode(PgSslMode::VerifyFull),
        };
        // Poolers know no settings of floating point numbers, and there are none here.
        let options = options.extra_float_digits(None).disable_statement_logging();
        Ok(Self { options, preparation })
    }
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.starts_with('/')
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_secret_of_a_url_is_shown() {
        let url = "postgres://ada:hunter2@db.example:6432/wardian?password=hunter3";
        let address = PostgresAddress::parse(url).unwrap();
        assert_eq!(format!("{address:?}"), "PostgresAddress(db.example:6432/wardian)");
        for wrong in [
            "hunter2",
            "mysql://ada:hunter2@db/x",
            "postgres://ada:hunter2@db:hunter2/x",
            "postgres://ada:hunter2@db",
            "postgres://ada:hunter2@db/x?hunter2=1",
            "postgres://ada:hunter2@db/x?sslmode=hunter2",
            "postgres://ada:hunter2@db/x\npostgres://ada:hunter2@db2/x",
        ] {
            let fault = PostgresAddress::parse(wrong).map(drop).unwrap_err();
            assert!(!fault.contains("hunter2") && !fault.contains('\n'), "{fault}");
        }
    }

    #[test]
    fn a_password_goes_over_the_network_only_to_a_server_with_a_certificate() {
        for (url, expected) in [
            ("postgres://a:b@db.example/x", PgSslMode::VerifyFull),
            ("postgres://a:b@10.0.0.7/x?target_session_attrs=read-write", PgSslMode::VerifyFull),
            ("postgres://a:b@10.0.0.7/x?sslmode=disable", PgSslMode::Disable),
            ("postgres://a:b@db.example/x?sslmode=require", PgSslMode::Require),
            ("postgres://a:b@127.0.0.1/x", PgSslMode::Prefer),
            ("postgres://a:b@[::1]:5433/x", PgSslMode::Prefer),
            ("postgres:///x?host=/run/postgresql&user=a", PgSslMode::Prefer),
        ] {
            let mode = PostgresAddress::parse(url).unwrap().options.get_ssl_mode();
            assert_eq!(format!("{mode:?}"), format!("{expected:?}"), "{url}");
        }
    }
}
