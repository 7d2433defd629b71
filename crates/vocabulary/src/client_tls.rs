//! TLS of requests to servers that an operator names: the authorities that are trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// A file with certificates of authorities cannot be used.
#[derive(Debug)]
pub struct UnreadableAuthorities {
    /// The file.
    pub path: PathBuf,
    /// What went wrong, if anything but emptiness.
    pub cause: Option<pem::Error>,
}

/// TLS with the authorities of the system and those of a file.
///
/// # Errors
///
/// The file or the system's authorities cannot be read, or hold no certificate.
pub fn client_tls(authorities: Option<&Path>) -> Result<TlsConfig, UnreadableAuthorities> {
    let mut trusted = rustls_native_certs::load_native_certs().certs;
    if let Some(path) = authorities {
        let unreadable = |cause| UnreadableAuthorities { path: path.to_owned(), cause };
        let file = CertificateDer::pem_file_iter(path).map_err(|fault| unreadable(Some(fault)))?;
        let before = trusted.len();
        for certificate in file {
            trusted.push(certificate.map_err(|fault| unreadable(Some(fault)))?);
        }
        if trusted.len() == before {
            return Err(unreadable(None));
        }
    }
    Ok(trusting(&trusted))
}

/// TLS with the authorities of the system.
pub fn system_tls() -> TlsConfig {
    trusting(&rustls_native_certs::load_native_certs().certs)
}

fn trusting(authorities: &[CertificateDer<'_>]) -> TlsConfig {
    let trusted = authorities.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(trusted)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}
