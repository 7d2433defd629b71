//! The server's side of TLS: shakes hands, and replaces the certificate while the server runs.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::http::tls::error::TlsError;
use crate::http::tls::files::{PathStamp, ServerIdentity, TlsFiles};
use crate::http::tls::validity::Validity;

/// Bytes of an answer that wait, encrypted or not, until the socket takes them.
const WRITE_BUFFER: usize = 32 << 10;

/// The remaining validity from which on the operator is warned. Certificates of today are valid for
/// 47 to 90 days, and are renewed when a third of it is left.
const SOON: Duration = Duration::from_hours(7 * 24);

/// The server's side of TLS.
#[derive(Debug)]
pub struct TlsEndpoint {
    config: Arc<ServerConfig>,
    current: Arc<Current>,
    provider: Arc<CryptoProvider>,
    files: Mutex<WatchedFiles>,
}

/// The certificate of new connections.
#[derive(Debug)]
struct Current(RwLock<Shown>);

#[derive(Debug, Clone)]
struct Shown {
    key: Arc<CertifiedKey>,
    validity: Option<Validity>,
}

/// The files, and the state in which they were read or refused last.
#[derive(Debug)]
struct WatchedFiles {
    files: TlsFiles,
    read: [Option<PathStamp>; 2],
    /// The state at the last look. Two files are seldom written at the same moment.
    seen: [Option<PathStamp>; 2],
}

/// The result of looking for a new certificate.
#[derive(Debug)]
pub enum ReloadedCertificate {
    /// The files are as they were.
    Unchanged,
    /// New connections get the new certificate.
    Replaced,
    /// The new one cannot be used. The one before stays.
    Kept(TlsError),
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().key))
    }
}

impl TlsEndpoint {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    ///
    /// A file cannot be read or used, or the key does not belong to the certificate. An expired
    /// certificate is not an error: see [`warning`](Self::warning).
    pub fn load(files: &TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let stamps = files.stamps();
        let identity = files.read(&provider)?;
        let shown = Shown { key: Arc::new(identity.key), validity: identity.validity };
        let current = Arc::new(Current(RwLock::new(shown)));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Current>::clone(&current);
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Library)?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let files = WatchedFiles { files: files.clone(), read: stamps, seen: stamps };
        Ok(Self { config: Arc::new(config), current, provider, files: Mutex::new(files) })
    }

    /// Shakes hands with a client.
    pub(crate) async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let bounded = |session: &mut rustls::ServerConnection| {
            session.set_buffer_limit(Some(WRITE_BUFFER));
        };
        TlsAcceptor::from(Arc::clone(&self.config)).accept_with(stream, bounded).await
    }

    /// Takes the certificate and key of `files` if they have changed since they were read, and were
    /// not changed since the last call. Reads them in any case if `files` are others.
    pub fn follow(&self, files: &TlsFiles, now: Duration) -> ReloadedCertificate {
        let mut watched = self.files.lock();
        let found = files.stamps();
        let is_settled = watched.seen == found || watched.files != *files;
        watched.seen = found;
        if watched.files == *files && watched.read == found || !is_settled {
            return ReloadedCertificate::Unchanged;
        }
        watched.files = files.clone();
        watched.read = found;
        drop(watched);
        self.replace(files, now)
    }

    /// Reads the certificate and the key of `files` now.
    pub fn reload(&self, files: &TlsFiles, now: Duration) -> ReloadedCertificate {
        let found = files.stamps();
        *self.files.lock() = WatchedFiles { files: files.clone(), read: found, seen: found };
        self.replace(files, now)
    }

    /// Checks that the certificate and the key of `files` could be taken now.
    ///
    /// # Errors
    ///
    /// The reason why they could not.
    pub fn check(&self, files: &TlsFiles, now: Duration) -> Result<(), TlsError> {
        self.read_usable(files, now).map(drop)
    }

    fn read_usable(&self, files: &TlsFiles, now: Duration) -> Result<ServerIdentity, TlsError> {
        let identity = files.read(&self.provider)?;
        let has_expired = |validity: Option<Validity>| validity.is_some_and(|v| v.until < now);
        if has_expired(identity.validity) && !has_expired(self.current.0.read().validity) {
            return Err(TlsError::Expired { path: files.certificate.clone() });
        }
        Ok(identity)
    }

    fn replace(&self, files: &TlsFiles, now: Duration) -> ReloadedCertificate {
        let identity = match self.read_usable(files, now) {
            Ok(identity) => identity,
            Err(error) => return ReloadedCertificate::Kept(error),
        };
        let mut current = self.current.0.write();
        let is_same = current.key.cert == identity.key.cert;
        *current = Shown { key: Arc::new(identity.key), validity: identity.validity };
        if is_same { ReloadedCertificate::Unchanged } else { ReloadedCertificate::Replaced }
    }

    /// A warning if clients refuse the certificate now, or will soon.
    #[must_use]
    pub fn warning(&self, now: Duration) -> Option<String> {
        let validity = self.current.0.read().validity?;
        if validity.until < now {
            let ago = readable(now.saturating_sub(validity.until));
            return Some(format!("the TLS certificate expired {ago} ago: clients refuse it"));
        }
        if validity.from > now {
            let ahead = readable(validity.from.saturating_sub(now));
            return Some(format!(
                "the TLS certificate is valid only in {ahead}: clients refuse it until then"
            ));
        }
        let left = validity.until.saturating_sub(now);
        (left < SOON).then(|| format!("the TLS certificate expires in {}", readable(left)))
    }
}

/// A duration in its largest unit.
fn readable(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let unit = units.iter().find(|(length, _)| seconds >= 2 * *length);
    unit.map_or_else(
        || format!("{seconds} seconds"),
        |(length, name)| format!("{} {name}", seconds / length),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rcgen::{CertificateParams, CertifiedKey as Generated, KeyPair, date_time_ymd};
    use rustls::RootCertStore;
    use rustls::pki_types::ServerName;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::{Instant, timeout};
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::http::HttpConfig;
    use crate::http::connection::write_timeouts::TimedWrites;

    const NOW: Duration = Duration::from_secs(1_795_305_600); // 2026-11-22
    const DAY: Duration = Duration::from_secs(86_400);

    fn generate(until: (i32, u8, u8)) -> Generated<KeyPair> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until.0, until.1, until.2);
        let signing_key = KeyPair::generate().unwrap();
        Generated { cert: params.self_signed(&signing_key).unwrap(), signing_key }
    }

    fn write(folder: &Path, identity: &Generated<KeyPair>) -> TlsFiles {
        let files = TlsFiles { certificate: folder.join("c.pem"), key: folder.join("k.pem") };
        fs::write(&files.certificate, identity.cert.pem()).unwrap();
        fs::write(&files.key, identity.signing_key.serialize_pem()).unwrap();
        files
    }

    fn shown(endpoint: &TlsEndpoint) -> Vec<u8> {
        endpoint.current.0.read().key.cert[0].to_vec()
    }

    /// Looks until the files have settled, as the server does.
    fn follow(endpoint: &TlsEndpoint, files: &TlsFiles) -> ReloadedCertificate {
        assert!(matches!(endpoint.follow(files, NOW), ReloadedCertificate::Unchanged));
        endpoint.follow(files, NOW)
    }

    #[test]
    fn a_new_certificate_is_taken_when_both_files_have_settled() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (generate((2030, 1, 1)), generate((2031, 1, 1)));
        let files = write(folder.path(), &first);
        let endpoint = TlsEndpoint::load(&files).unwrap();
        assert!(matches!(follow(&endpoint, &files), ReloadedCertificate::Unchanged));
        write(folder.path(), &second);
        assert!(matches!(follow(&endpoint, &files), ReloadedCertificate::Replaced));
        assert_eq!(shown(&endpoint), second.cert.der().to_vec());
        assert!(matches!(follow(&endpoint, &files), ReloadedCertificate::Unchanged));
    }

    #[test]
    fn a_new_certificate_that_cannot_be_used_changes_nothing_and_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (generate((2030, 1, 1)), generate((2031, 1, 1)));
        let expired = generate((2026, 1, 1));
        let files = write(folder.path(), &first);
        let endpoint = TlsEndpoint::load(&files).unwrap();
        let kept = |what: &str| {
            let ReloadedCertificate::Kept(error) = follow(&endpoint, &files) else {
                panic!("{what} was taken");
            };
            assert!(error.to_string().contains(what), "{what}: {error}");
            assert_eq!(shown(&endpoint), first.cert.der().to_vec());
            assert!(matches!(follow(&endpoint, &files), ReloadedCertificate::Unchanged));
        };
        fs::write(&files.certificate, second.cert.pem()).unwrap();
        kept("does not belong to");
        fs::write(&files.certificate, "").unwrap();
        kept("has no certificate");
        fs::write(&files.certificate, "-----BEGIN CERTIFICATE-----\n!\n").unwrap();
        kept("is not PEM");
        fs::write(&files.certificate, first.cert.pem()).unwrap();
        fs::write(&files.key, first.cert.pem()).unwrap();
        kept("no unencrypted private key");
        fs::remove_file(&files.key).unwrap();
        kept("cannot be read");
        write(folder.path(), &expired);
        kept("has expired");
        // A file that was repaired is taken, also if it is the one from before.
        write(folder.path(), &second);
        assert!(matches!(follow(&endpoint, &files), ReloadedCertificate::Replaced));
    }

    #[test]
    fn the_end_of_a_certificate_is_announced() {
        let folder = tempfile::tempdir().unwrap();
        let files = write(folder.path(), &generate((2026, 12, 1)));
        let endpoint = TlsEndpoint::load(&files).unwrap();
        let warning = |now: Duration| endpoint.warning(now).unwrap_or_default();
        assert_eq!(warning(NOW), "");
        assert_eq!(warning(NOW + 5 * DAY), "the TLS certificate expires in 4 days");
        let expired = warning(NOW + 11 * DAY);
        assert_eq!(expired, "the TLS certificate expired 2 days ago: clients refuse it");
        assert!(warning(Duration::from_secs(0)).contains("clients refuse it until then"));
        // One that has expired may be replaced by one that has, too: nothing is lost.
        let other = write(folder.path(), &generate((2026, 11, 30)));
        assert!(matches!(endpoint.reload(&other, NOW + 30 * DAY), ReloadedCertificate::Replaced));
    }

    async fn connected(
        config: &HttpConfig,
    ) -> (TlsStream<TimedWrites<DuplexStream>>, tokio_rustls::client::TlsStream<DuplexStream>) {
        let folder = tempfile::tempdir().unwrap();
        let identity = generate((2999, 1, 1));
        let endpoint = TlsEndpoint::load(&write(folder.path(), &identity)).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(identity.cert.der().clone()).unwrap();
        let client = rustls::ClientConfig::builder_with_provider(Arc::clone(&endpoint.provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (ours, theirs) = duplex(4 << 10);
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(client));
        let shaken = tokio::join!(
            endpoint.accept(TimedWrites::new(ours, config)),
            connector.connect(name, theirs)
        );
        (shaken.0.unwrap(), shaken.1.unwrap())
    }

    async fn end(server: &mut (impl AsyncWrite + Unpin), is_closed: bool) -> io::Result<()> {
        if is_closed { server.shutdown().await } else { server.flush().await }
    }

    /// Encryption takes a short answer at once and keeps it until it is flushed.
    #[tokio::test]
    async fn a_client_that_does_not_take_its_answer_ends_the_flush_and_the_close() {
        const STALL: Duration = Duration::from_millis(50);
        let listen = ([127, 0, 0, 1], 0).into();
        let config = HttpConfig { stall_timeout: STALL, ..HttpConfig::listening_on(listen) };
        for is_closed in [false, true] {
            let (mut server, _client) = connected(&config).await;
            server.write_all(&[7; 16_000]).await.unwrap();
            let start = Instant::now();
            let ended = end(&mut server, is_closed);
            let ended = timeout(100 * STALL, ended).await.expect("it waits forever");
            assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
            assert!(start.elapsed() >= STALL);
        }
    }

    #[tokio::test]
    async fn what_is_written_arrives() {
        let config = HttpConfig::listening_on(([127, 0, 0, 1], 0).into());
        let (mut server, mut client) = connected(&config).await;
        let answer = vec![7; 3 * WRITE_BUFFER];
        let mut taken = vec![0; answer.len()];
        let write = async {
            server.write_all(&answer).await.unwrap();
            server.flush().await.unwrap();
        };
        let (_, read) = tokio::join!(write, client.read_exact(&mut taken));
        assert_eq!((read.unwrap(), taken), (answer.len(), answer));
    }
}
