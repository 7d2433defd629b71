//! The frame in which a guest asks for TLS, and its answer: 0x16, a length of four bytes, JSON.
//!
//! The first byte is that of a TLS handshake and never begins a message of HTTP/1.1.

use rustls::{AlertDescription, CertificateError, Error, ProtocolVersion, SupportedCipherSuite};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::error::{NetworkError, errno};
use crate::policy::target::HostName;
use crate::world::tls::Demand;

/// The first byte of a frame.
pub(crate) const HELLO: u8 = 0x16;

/// Largest frame, without its first five bytes. A bundle of a few authorities fits.
pub(crate) const MAX_HELLO: usize = 128 << 10;

/// Most protocols and authorities in a frame.
const MAX_ENTRIES: usize = 64;

/// What a guest asks for. Its `check_hostname` is not read: a certificate that is checked is
/// always checked for the name, too.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hello {
    server_hostname: Option<String>,
    verify: bool,
    #[serde(default)]
    alpn: Vec<String>,
    /// Certificates (DER in Base64) of the only authorities that the program trusts.
    #[serde(default)]
    authorities: Vec<String>,
}

impl Hello {
    /// Reads the JSON of a frame.
    ///
    /// # Errors
    ///
    /// Refuses what is not a hello with `EPROTO`.
    pub fn parse(json: &[u8]) -> Result<Self, NetworkError> {
        let hello: Self = serde_json::from_slice(json).ok().ok_or_else(malformed)?;
        if hello.alpn.len() > MAX_ENTRIES || hello.authorities.len() > MAX_ENTRIES {
            return Err(malformed());
        }
        Ok(hello)
    }

    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Self, NetworkError> {
        Self::parse(&Self::read_json(stream).await?)
    }

    /// Reads a frame, and returns its JSON.
    pub(crate) async fn read_json(
        stream: &mut (impl AsyncRead + Unpin),
    ) -> Result<Vec<u8>, NetworkError> {
        let broken = |_| NetworkError::new(errno::ECONNRESET, "the handshake was not completed");
        if stream.read_u8().await.map_err(broken)? != HELLO {
            return Err(malformed());
        }
        let length = stream.read_u32().await.map_err(broken)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= MAX_HELLO);
        let mut json = vec![0; length.ok_or_else(malformed)?];
        stream.read_exact(&mut json).await.map_err(broken)?;
        Ok(json)
    }

    /// Checks that the guest means the host that it connected to.
    pub(crate) fn check_name(&self, host: &HostName) -> Result<(), NetworkError> {
        match &self.server_hostname {
            Some(name) if !name.eq_ignore_ascii_case(host.as_str()) => Err(NetworkError::denied(
                format!("the connection was granted for `{host}`: TLS must name that host"),
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn demand(&self) -> Result<Demand, NetworkError> {
        let decode = |text: &String| data_encoding::BASE64.decode(text.as_bytes()).ok();
        let authorities = self.authorities.iter().map(decode).collect::<Option<_>>();
        let authorities = authorities.ok_or_else(malformed)?;
        Ok(Demand { is_verified: self.verify, authorities })
    }

    /// The protocol that the guest speaks from here on, if it offers it.
    pub(crate) fn alpn(&self) -> Option<&'static str> {
        self.alpn.iter().any(|protocol| protocol == "http/1.1").then_some("http/1.1")
    }
}

fn malformed() -> NetworkError {
    NetworkError::new(errno::EPROTO, "the handshake is malformed")
}

/// What was agreed upon with the server.
#[derive(Debug, Serialize)]
pub(crate) struct Agreed {
    alpn: Option<&'static str>,
    version: &'static str,
    cipher: (String, &'static str, u32),
    certificate: Certificate,
}

#[derive(Debug, Serialize)]
struct Certificate {
    der: String,
}

impl Agreed {
    pub(crate) fn new(
        hello: &Hello,
        version: Option<ProtocolVersion>,
        cipher: Option<SupportedCipherSuite>,
        certificate: &[u8],
    ) -> Self {
        let version = if version == Some(ProtocolVersion::TLSv1_2) { "TLSv1.2" } else { "TLSv1.3" };
        let name = cipher.map(|cipher| format!("{:?}", cipher.suite())).unwrap_or_default();
        // The names of the library and of OpenSSL differ for TLS 1.3 by their prefix.
        let name = name.replace("TLS13_", "TLS_");
        let bits = if name.contains("128") { 128 } else { 256 };
        let der = data_encoding::BASE64.encode(certificate);
        Self {
            alpn: hello.alpn(),
            version,
            cipher: (name, version, bits),
            certificate: Certificate { der },
        }
    }
}

/// Why there is no agreement, in the words of OpenSSL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum HandshakeFailure {
    Certificate { verify_code: u32, verify_message: String },
    Protocol { reason: &'static str, message: &'static str },
}

impl HandshakeFailure {
    pub(crate) fn new(error: &Error, host: &HostName, asked_for_a_check: bool) -> Self {
        let Error::InvalidCertificate(reason) = error else {
            let (reason, message) = protocol_failure(error);
            return Self::Protocol { reason, message };
        };
        let (verify_code, mut verify_message) = certificate_failure(reason, host);
        if !asked_for_a_check {
            verify_message.push_str(
                " (this server checks certificates even where a program turns the check off)",
            );
        }
        Self::Certificate { verify_code, verify_message }
    }
}

fn certificate_failure(reason: &CertificateError, host: &HostName) -> (u32, String) {
    let (code, text) = match reason {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            (10, "certificate has expired")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            (9, "certificate is not yet valid")
        }
        CertificateError::Revoked => (23, "certificate revoked"),
        CertificateError::UnknownIssuer => (20, "unable to get local issuer certificate"),
        CertificateError::BadSignature => (7, "certificate signature failure"),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            (26, "unsuitable certificate purpose")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let text = format!("Hostname mismatch, certificate is not valid for '{host}'.");
            return (62, text);
        }
        _ => (1, "unspecified certificate verification error"),
    };
    (code, text.to_owned())
}

const fn protocol_failure(error: &Error) -> (&'static str, &'static str) {
    match error {
        Error::InvalidMessage(_) => ("WRONG_VERSION_NUMBER", "wrong version number"),
        Error::AlertReceived(AlertDescription::ProtocolVersion) => {
            ("TLSV1_ALERT_PROTOCOL_VERSION", "tlsv1 alert protocol version")
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "tlsv13 alert certificate required")
        }
        Error::AlertReceived(AlertDescription::UnrecognisedName) => {
            ("TLSV1_UNRECOGNIZED_NAME", "tlsv1 unrecognized name")
        }
        Error::AlertReceived(_) => {
            ("SSLV3_ALERT_HANDSHAKE_FAILURE", "ssl/tls alert handshake failure")
        }
        Error::PeerIncompatible(_) => ("UNSUPPORTED_PROTOCOL", "unsupported protocol"),
        Error::General(_) => {
            ("UNEXPECTED_EOF_WHILE_READING", "EOF occurred in violation of protocol")
        }
        _ => ("TLSV1_ALERT_INTERNAL_ERROR", "the handshake failed"),
    }
}

/// A frame with `message` in it.
pub fn frame(message: &impl Serialize) -> Vec<u8> {
    framed(&serde_json::to_vec(message).unwrap_or_default())
}

/// A frame with this JSON in it.
pub(crate) fn framed(json: &[u8]) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap_or_default();
    [&[HELLO], &length.to_be_bytes()[..], json].concat()
}

/// The JSON of a frame.
pub fn json_of(frame: &[u8]) -> &[u8] {
    frame.get(1 + size_of::<u32>()..).unwrap_or_default()
}

/// A frame that tells of a failure.
pub(crate) fn failure_frame(error: HandshakeFailure) -> Vec<u8> {
    #[derive(Serialize)]
    struct Failed {
        error: HandshakeFailure,
    }
    frame(&Failed { error })
}
