//! TLS to servers: which certificates are trusted, and what is agreed upon.
//!
//! INVARIANT(verified): a certificate is checked against the authorities of the system and of the
//! operator, and for the name that the rules granted. A program can demand more, never less,
//! unless the operator allows connections without a check.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tracing::warn;

use crate::policy::target::HostName;

/// What a program asks of a handshake.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// The certificate is checked.
    pub is_verified: bool,
    /// Certificates (DER) of the only authorities that the program trusts; empty for no such wish.
    pub authorities: Vec<Vec<u8>>,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// The operator's file cannot be read or has no certificate.
    #[error("the CA file `{path}` (`network.ca_file`) has no readable certificates (PEM)")]
    Authorities {
        /// The file as configured.
        path: PathBuf,
        /// What went wrong, if anything but emptiness.
        #[source]
        cause: Option<rustls::pki_types::pem::Error>,
    },
    /// The library refuses the configuration.
    #[error("TLS cannot be set up")]
    Library(#[source] Error),
}

/// How connections are encrypted.
#[derive(Debug)]
pub struct Tls {
    provider: Arc<CryptoProvider>,
    /// Missing if there is no authority at all.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    allows_unverified: bool,
}

impl Tls {
    /// Reads the system's authorities and the operator's.
    pub(crate) fn load(
        authorities: Option<&Path>,
        allows_unverified: bool,
    ) -> Result<Self, TlsSetupError> {
        let mut roots = RootCertStore::empty();
        let native = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(native.certs);
        if let Some(path) = authorities {
            add_file(&mut roots, path)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        if roots.is_empty() {
            warn!("no CA certificates were found: no HTTPS server will be trusted");
        }
        let verifier = verifier(roots, &provider);
        Ok(Self { provider, verifier, allows_unverified })
    }

    /// Speaks TLS with a server, which must be `host`.
    pub(crate) async fn connect<S>(
        &self,
        stream: S,
        host: &HostName,
        demand: &Demand,
    ) -> Result<TlsStream<S>, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.config(demand)?;
        let name = ServerName::try_from(host.as_str().to_owned());
        let name = name.ok().ok_or_else(|| Error::General("unusable name".to_owned()))?;
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
        connecting.await.map_err(|error| {
            let kind = error.kind();
            let inner = error.into_inner().and_then(|inner| inner.downcast::<Error>().ok());
            inner.map_or_else(|| Error::General(kind.to_string()), |inner| *inner)
        })
    }

    fn config(&self, demand: &Demand) -> Result<ClientConfig, Error> {
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(self.checks(demand)?);
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Sessions would let a server link runs of different tenants.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(config)
    }

    /// True if the server's certificate is checked.
    pub(crate) const fn checks_certificates(&self, demand: &Demand) -> bool {
        demand.is_verified || !self.allows_unverified
    }

    fn checks(&self, demand: &Demand) -> Result<Arc<dyn ServerCertVerifier>, Error> {
        if !self.checks_certificates(demand) {
            return Ok(Arc::new(NoCheck(Arc::clone(&self.provider))));
        }
        let untrusted = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let ours = Arc::clone(self.verifier.as_ref().ok_or_else(untrusted)?);
        if demand.authorities.is_empty() || !demand.is_verified {
            return Ok(ours);
        }
        let mut roots = RootCertStore::empty();
        let authorities = demand.authorities.iter().cloned().map(CertificateDer::from);
        roots.add_parsable_certificates(authorities);
        let theirs = verifier(roots, &self.provider).ok_or_else(untrusted)?;
        Ok(Arc::new(Both { ours, theirs }))
    }
}

fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), TlsSetupError> {
    let unreadable = |cause| TlsSetupError::Authorities { path: path.to_owned(), cause };
    let file = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(Some(error)))?;
    let mut is_empty = true;
    for certificate in file {
        let certificate = certificate.map_err(|error| unreadable(Some(error)))?;
        roots.add(certificate).map_err(TlsSetupError::Library)?;
        is_empty = false;
    }
    if is_empty { Err(unreadable(None)) } else { Ok(()) }
}

fn verifier(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Option<Arc<WebPkiServerVerifier>> {
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().ok()
}

/// Two checks, of which both must pass.
#[derive(Debug)]
struct Both {
    ours: Arc<WebPkiServerVerifier>,
    theirs: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for Both {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        revocation: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.ours.verify_server_cert(certificate, chain, name, revocation, now)?;
        self.theirs.verify_server_cert(certificate, chain, name, revocation, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.ours.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.ours.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.ours.supported_verify_schemes()
    }
}

/// No check of the certificate; the server must still have its key.
#[derive(Debug)]
struct NoCheck(Arc<CryptoProvider>);

impl ServerCertVerifier for NoCheck {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
