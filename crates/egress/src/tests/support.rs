//! Servers, certificates and a resolver for tests, and a guest that writes raw bytes.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io::Write as _;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::Egress;
use crate::config::EgressConfig;
use crate::error::NetworkError;
use crate::guest::pipe::StreamRead;
use crate::network::{ConnectionHandle, RunNetwork, StreamReadiness};
use crate::policy::RunPolicy;
use crate::world::resolver::{Lookup, Resolver};
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::ids::TenantId;

/// Answers as a test says: one list of addresses after the other, the last one for ever. Names
/// that it does not know are on loopback.
#[derive(Debug, Default)]
pub(super) struct Names {
    answers: Mutex<BTreeMap<String, VecDeque<Vec<IpAddr>>>>,
    pub(super) asked: Mutex<Vec<String>>,
}

impl Names {
    pub(super) fn set(&self, name: &str, answers: &[&[&str]]) {
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        self.answers.lock().insert(name.to_owned(), answers.iter().map(parse).collect());
    }
}

impl Resolver for Names {
    fn lookup<'a>(&'a self, _: &'a TenantId, name: &'a str) -> Lookup<'a> {
        self.asked.lock().push(name.to_owned());
        let mut answers = self.answers.lock();
        let found = match answers.get_mut(name) {
            Some(list) if list.len() > 1 => list.pop_front().unwrap(),
            Some(list) => list.front().cloned().unwrap_or_default(),
            None => vec![[127, 0, 0, 1].into()],
        };
        Box::pin(async move { Ok(found) })
    }
}

/// An authority, and certificates that it signs.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Two authorities of one name would be taken for each other.
        let name = tempfile::Builder::new().tempfile().unwrap().path().display().to_string();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(issuer.pem().as_bytes()).unwrap();
        Self { issuer, file }
    }

    pub(super) fn der(&self) -> String {
        data_encoding::BASE64.encode(self.issuer.der())
    }

    /// A server that has a certificate for `name`.
    pub(super) fn server(&self, name: &str, alpn: &[&str]) -> ServerConfig {
        self.server_with(&CertificateParams::new(vec![name.to_owned()]).unwrap(), alpn)
    }

    pub(super) fn server_with(&self, params: &CertificateParams, alpn: &[&str]) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}

/// The gateway under test: everything on loopback may be reached.
pub(super) struct Gateway {
    pub(super) egress: Egress,
    pub(super) names: Arc<Names>,
}

pub(super) fn config() -> EgressConfig {
    EgressConfig { private_ranges: vec!["127.0.0.0/8".parse().unwrap()], ..EgressConfig::default() }
}

impl Gateway {
    pub(super) fn new(config: EgressConfig) -> Self {
        let names = Arc::new(Names::default());
        let egress = Egress::new(config, Arc::clone(&names) as Arc<dyn Resolver>).unwrap();
        Self { egress, names }
    }

    pub(super) fn trusting(authority: &Authority) -> Self {
        let authorities = Some(authority.file.path().to_owned());
        Self::new(EgressConfig { authorities, ..config() })
    }

    pub(super) fn open(&self, patterns: &[&str]) -> RunNetwork {
        self.egress.open(&TenantId::local(), policy(patterns))
    }
}

pub(super) fn policy(patterns: &[&str]) -> RunPolicy {
    RunPolicy::of_manifest(patterns.iter().map(|text| UrlPattern::parse(text).unwrap()).collect())
}

pub(super) fn authority_file(authority: &Authority) -> std::path::PathBuf {
    authority.file.path().to_owned()
}

/// A server on loopback; it ends with the test.
pub(super) struct Server {
    pub(super) port: u16,
    /// The head of each request, as it arrived.
    pub(super) heads: Arc<Mutex<Vec<String>>>,
    /// Connections that were accepted.
    pub(super) accepted: Arc<Mutex<usize>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}
pub(super) type AnyStream = Box<dyn Stream>;
type Serving = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Server {
    /// Serves each connection with `serve`, over TLS if a configuration is given.
    pub(super) async fn start(
        tls: Option<ServerConfig>,
        serve: impl Fn(AnyStream, Arc<Mutex<Vec<String>>>) -> Serving + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heads, accepted) = (Arc::<Mutex<Vec<String>>>::default(), Arc::new(Mutex::new(0)));
        let (kept, counted) = (Arc::clone(&heads), Arc::clone(&accepted));
        let acceptor = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let serve = Arc::new(serve);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                *counted.lock() += 1;
                let (serve, heads, acceptor) =
                    (Arc::clone(&serve), Arc::clone(&kept), acceptor.clone());
                tokio::spawn(async move {
                    let stream: AnyStream = match acceptor {
                        None => Box::new(stream),
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                    };
                    serve(stream, heads).await;
                });
            }
        });
        Self { port, heads, accepted, task }
    }

    /// Answers each request on a connection with the bytes that `answer` makes of its head. Closes
    /// after an answer with `close` in its head, and after one without a head.
    pub(super) async fn answering(
        tls: Option<ServerConfig>,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + Clone + 'static,
    ) -> Self {
        Self::start(tls, move |stream, heads| Box::pin(answer_all(stream, heads, answer.clone())))
            .await
    }
}

async fn answer_all(
    mut stream: AnyStream,
    heads: Arc<Mutex<Vec<String>>>,
    answer: impl Fn(&str) -> Vec<u8>,
) {
    while let Some(head) = read_head(&mut stream).await {
        heads.lock().push(head.clone());
        let bytes = answer(&head);
        let is_last = !bytes.starts_with(b"HTTP/")
            || bytes.windows(17).any(|part| part == b"connection: close");
        if stream.write_all(&bytes).await.is_err() || is_last {
            break;
        }
    }
    drop(stream.shutdown().await);
}

pub(super) async fn read_head(stream: &mut AnyStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

pub(super) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// A guest's connection.
pub(super) struct Guest<'a> {
    pub(super) network: &'a RunNetwork,
    pub(super) handle: ConnectionHandle,
}

const LONG: Duration = Duration::from_secs(20);

impl<'a> Guest<'a> {
    /// Connects as a socket does.
    pub(super) async fn connect(
        network: &'a RunNetwork,
        host: &str,
        port: u16,
    ) -> Result<Self, NetworkError> {
        let handle = network.start(host, port)?;
        let ready = network.poll(&[(handle, StreamReadiness::WRITE)], Some(LONG)).await?;
        assert_eq!(ready.len(), 1, "the connection is neither made nor refused");
        network.write(handle, b"")?;
        Ok(Self { network, handle })
    }

    pub(super) async fn send(&self, mut bytes: &[u8]) -> Result<(), NetworkError> {
        while !bytes.is_empty() {
            let count = self.network.write(self.handle, bytes)?;
            bytes = &bytes[count..];
            if count == 0 {
                self.network.poll(&[(self.handle, StreamReadiness::WRITE)], Some(LONG)).await?;
            }
        }
        Ok(())
    }

    /// Reads to the end, and says how it ended.
    pub(super) async fn rest(&self) -> (String, Result<(), NetworkError>) {
        let mut all = Vec::new();
        loop {
            match self.network.read(self.handle, 1 << 20, Some(LONG)).await {
                Ok(StreamRead::Bytes(bytes)) => all.extend(bytes),
                Ok(StreamRead::End) => return (text(&all), Ok(())),
                Ok(StreamRead::Nothing) => panic!("nothing more after {:?}", text(&all)),
                Err(error) => return (text(&all), Err(error)),
            }
        }
    }

    pub(super) async fn exactly(&self, count: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < count {
            match self.network.read(self.handle, count - all.len(), Some(LONG)).await {
                Ok(StreamRead::Bytes(bytes)) => all.extend(bytes),
                other => panic!("{other:?} after {:?}", text(&all)),
            }
        }
        all
    }

    /// Reads one response with a length.
    pub(super) async fn response(&self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(self.exactly(1).await);
        }
        let head = text(&head);
        let length = head
            .split("content-length: ")
            .nth(1)
            .map_or("0", |rest| rest.split("\r\n").next().unwrap());
        let body = self.exactly(length.parse().unwrap()).await;
        head + &text(&body)
    }

    /// Sends a hello and reads its answer.
    pub(super) async fn hello(&self, hello: &Value) -> Result<Value, NetworkError> {
        let json = serde_json::to_vec(hello).unwrap();
        let length = u32::try_from(json.len()).unwrap().to_be_bytes();
        self.send(&[&[0x16], &length[..], &json].concat()).await?;
        let mut answer = Vec::new();
        while answer.len() < 5 || answer.len() < 5 + length_of(&answer) {
            match self.network.read(self.handle, 1, Some(LONG)).await? {
                StreamRead::Bytes(bytes) => answer.extend(bytes),
                other => panic!("{other:?} instead of an answer"),
            }
        }
        assert_eq!(answer[0], 0x16);
        Ok(serde_json::from_slice(&answer[5..]).unwrap())
    }

    /// One GET to the end of the connection.
    pub(super) async fn get(&self, host: &str, path: &str) -> (String, Result<(), NetworkError>) {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        if let Err(error) = self.send(head.as_bytes()).await {
            return (String::new(), Err(error));
        }
        self.rest().await
    }
}

fn length_of(frame: &[u8]) -> usize {
    usize::try_from(u32::from_be_bytes(frame[1..5].try_into().unwrap())).unwrap()
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A hello as `ssl.create_default_context()` sends it.
pub(super) fn default_hello(name: &str) -> Value {
    serde_json::json!({"server_hostname": name, "verify": true, "check_hostname": true, "alpn": ["h2", "http/1.1"]})
}

/// Connects and asks for TLS.
pub(super) async fn secure<'a>(network: &'a RunNetwork, host: &str, port: u16) -> Guest<'a> {
    let guest = Guest::connect(network, host, port).await.unwrap();
    let agreed = guest.hello(&default_hello(host)).await.unwrap();
    assert!(agreed.get("error").is_none(), "{agreed}");
    guest
}
