//! The files of the certificate and its key.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};

use crate::http::tls::error::TlsError;
use crate::http::tls::validity::Validity;
use wardian_vocabulary::files::regular_file::open_regular;

/// Largest file that is read. A chain has a few kilobytes, and a wrong path may name a file of any
/// size.
const MAX_FILE: u64 = 1 << 20;

/// The setting that names the certificate.
const CERTIFICATE: &str = "http.tls.certificate";

/// The setting that names the key.
const KEY: &str = "http.tls.key";

/// The two files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificates (PEM): the server's own first.
    pub certificate: PathBuf,
    /// The private key of the first certificate (PEM).
    pub key: PathBuf,
}

/// The state of a file on disk. Two different contents have different stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathStamp {
    inode: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl PathStamp {
    /// The stamp of the file that the path leads to; `None` if the file does not exist.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|found| Self::of_metadata(&found))
    }

    /// The stamp of a file with this metadata.
    #[must_use]
    pub fn of_metadata(found: &fs::Metadata) -> Self {
        Self {
            inode: (found.dev(), found.ino()),
            size: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// A certificate with its key, as it was read.
#[derive(Debug)]
pub(crate) struct ServerIdentity {
    pub key: CertifiedKey,
    /// The time in which the certificate is valid, if it can be told.
    pub(crate) validity: Option<Validity>,
}

impl TlsFiles {
    /// The stamps of both files.
    pub fn stamps(&self) -> [Option<PathStamp>; 2] {
        [PathStamp::of(&self.certificate), PathStamp::of(&self.key)]
    }

    /// Reads both files.
    pub(crate) fn read(&self, provider: &CryptoProvider) -> Result<ServerIdentity, TlsError> {
        let chain = self.chain()?;
        let validity = chain.first().and_then(|own| Validity::of(own));
        let key = CertifiedKey::from_der(chain, self.private_key()?, provider);
        let key = key.map_err(|error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                TlsError::Mismatch { certificate: self.certificate.clone(), key: self.key.clone() }
            }
            cause @ Error::InvalidCertificate(_) => {
                TlsError::Unusable { setting: CERTIFICATE, path: self.certificate.clone(), cause }
            }
            cause => TlsError::Unusable { setting: KEY, path: self.key.clone(), cause },
        })?;
        Ok(ServerIdentity { key, validity })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let path = &self.certificate;
        let text = read(CERTIFICATE, path)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let chain = chain.map_err(|cause| not_pem(CERTIFICATE, path, cause))?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate { path: path.clone() });
        }
        Ok(chain)
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let path = &self.key;
        PrivateKeyDer::from_pem_slice(&read(KEY, path)?).map_err(|error| match error {
            pem::Error::NoItemsFound => TlsError::NoKey { path: path.clone() },
            cause => not_pem(KEY, path, cause),
        })
    }
}

fn not_pem(setting: &'static str, path: &Path, cause: pem::Error) -> TlsError {
    TlsError::NotPem { setting, path: path.to_owned(), cause }
}

fn read(setting: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let failed = |cause| TlsError::Unreadable { setting, path: path.to_owned(), cause };
    let mut bytes = Vec::new();
    let file = open_regular(path).map_err(failed)?;
    file.take(MAX_FILE.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_FILE {
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB")));
    }
    Ok(bytes)
}
