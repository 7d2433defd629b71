//! Errors of the certificate and its key.

use std::io;
use std::path::PathBuf;

use rustls::pki_types::pem;

/// The reason why a certificate cannot be used. Shown to the operator, who knows the paths.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("`{setting}`: `{}` cannot be read", path.display())]
    Unreadable {
        /// The key of the setting.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// A file is not PEM.
    #[error("`{setting}`: `{}` is not PEM", path.display())]
    NotPem {
        /// The key of the setting.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: pem::Error,
    },
    /// There is no certificate in the file.
    #[error(
        "`http.tls.certificate`: `{}` has no certificate; it must contain the server's \
        certificate, followed by the intermediate certificates (`-----BEGIN CERTIFICATE-----`)",
        path.display()
    )]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// There is no key in the file, or an encrypted one.
    #[error(
        "`http.tls.key`: `{}` has no unencrypted private key (`-----BEGIN PRIVATE KEY-----`)",
        path.display()
    )]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The key belongs to another certificate.
    #[error(
        "the key in `{}` does not belong to the first certificate in `{}`",
        key.display(),
        certificate.display()
    )]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The library cannot use the key or the certificate.
    #[error("`{setting}`: `{}` cannot be used", path.display())]
    Unusable {
        /// The key of the setting.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: rustls::Error,
    },
    /// A new certificate has expired, and the one before has not.
    #[error("the certificate in `{}` has expired", path.display())]
    Expired {
        /// The file.
        path: PathBuf,
    },
    /// The library refuses the configuration.
    #[error("TLS cannot be set up")]
    Library(#[source] rustls::Error),
}
