//! The file or the address that the keys of a provider are read from.
//!
//! Both are bounded in size, and an address in time as well. An address is `https`, its certificate
//! is checked, and redirects are not followed: the operator has named the place.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;

use crate::tenants::jwt::config::KeyPlace;
use crate::tenants::jwt::key_set::{KeySetFault, MAX_SET};
use wardian_vocabulary::client_tls::{UnreadableAuthorities, client_tls};
use wardian_vocabulary::files::regular_file::open_regular;

/// The time for a whole answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why keys cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum KeySourceError {
    /// The file cannot be read.
    #[error("cannot read `{}` (`auth.jwt.jwks`)", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// The file with certificates cannot be read.
    #[error("`{}` (`auth.jwt.ca_file`) has no readable certificates (PEM)", .path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What went wrong, if anything but emptiness.
        #[source]
        cause: Option<rustls::pki_types::pem::Error>,
    },
    /// The address cannot be asked.
    #[error("cannot fetch `{url}` (`auth.jwt.jwks`)")]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        #[source]
        cause: Box<ureq::Error>,
    },
    /// The answer was broken off.
    #[error("the response of `{url}` (`auth.jwt.jwks`) cannot be read")]
    Answer {
        /// The address.
        url: String,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// The address answers with something else.
    #[error("`{url}` (`auth.jwt.jwks`) responded with status {status}")]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: u16,
    },
    /// The content is not a set of keys.
    #[error("the keys of `{place}` (`auth.jwt.jwks`) cannot be used: {fault}")]
    Content {
        /// The file or the address.
        place: String,
        /// What is wrong with it.
        fault: KeySetFault,
    },
}

impl From<UnreadableAuthorities> for KeySourceError {
    fn from(UnreadableAuthorities { path, cause }: UnreadableAuthorities) -> Self {
        Self::Authorities { path, cause }
    }
}

/// The place of the keys, ready to be read.
#[derive(Debug)]
pub(crate) enum KeySource {
    File(PathBuf),
    Url { agent: Agent, url: String },
}

impl KeySource {
    /// Prepares to read. Nothing is asked yet.
    pub(crate) fn open(place: &KeyPlace) -> Result<Self, KeySourceError> {
        match place {
            KeyPlace::File(path) => Ok(Self::File(path.clone())),
            KeyPlace::Url { url, authorities } => {
                let config = Agent::config_builder()
                    .https_only(true)
                    .http_status_as_error(false)
                    .max_redirects(0)
                    .max_redirects_will_error(false)
                    .max_idle_connections(0)
                    .timeout_global(Some(PATIENCE))
                    .user_agent(concat!("wardian/", env!("CARGO_PKG_VERSION")))
                    .accept("application/jwk-set+json, application/json")
                    .tls_config(client_tls(authorities.as_deref())?);
                Ok(Self::Url { agent: config.build().into(), url: url.clone() })
            }
        }
    }

    /// The place, for the log.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Url { url, .. } => shown(url),
        }
    }

    /// True if reading is cheap and disturbs nobody.
    pub(crate) const fn is_near(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Reads at most a byte more than a set may have.
    pub(crate) fn read(&self) -> Result<Vec<u8>, KeySourceError> {
        match self {
            Self::File(path) => {
                read_file(path).map_err(|cause| KeySourceError::File { path: path.clone(), cause })
            }
            Self::Url { agent, url } => {
                let answer = agent.get(url).call().map_err(|cause| {
                    KeySourceError::Unreachable { url: shown(url), cause: Box::new(cause) }
                })?;
                let status = answer.status().as_u16();
                if status != 200 {
                    return Err(KeySourceError::Status { url: shown(url), status });
                }
                bounded(answer.into_body().into_reader())
                    .map_err(|cause| KeySourceError::Answer { url: shown(url), cause })
            }
        }
    }
}

/// The address without its query, which may hold a secret, for messages.
fn shown(url: &str) -> String {
    match url.split_once(['?', '#']) {
        Some((place, _)) => format!("{place}?…"),
        None => url.to_owned(),
    }
}

fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let most = u64::try_from(MAX_SET).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    reader.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    bounded(open_regular(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_an_address_is_not_shown() {
        for (url, expected) in [
            ("https://id.example/jwks", "https://id.example/jwks"),
            ("https://id.example/jwks?token=hidden", "https://id.example/jwks?…"),
            ("https://id.example#hidden?a", "https://id.example?…"),
        ] {
            let place = KeyPlace::Url { url: url.to_owned(), authorities: None };
            assert_eq!(KeySource::open(&place).unwrap().place(), expected);
        }
    }

    #[test]
    fn errors_do_not_show_the_query_of_an_address() {
        let url = "https://127.0.0.1:9/jwks?token=hidden".to_owned();
        let source = KeySource::open(&KeyPlace::Url { url, authorities: None }).unwrap();
        let told = wardian_vocabulary::error::CauseChain(&source.read().unwrap_err()).to_string();
        assert!(
            told.contains("`https://127.0.0.1:9/jwks?…`") && !told.contains("hidden"),
            "{told}"
        );
    }
}
