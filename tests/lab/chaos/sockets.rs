//! What goes wrong on the way to a hub: TLS, and heads and encodings of answers. Over sockets, by the machine's clock.

use std::{convert::Infallible, fs, io::Write as _, sync::Arc, thread, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use collect::connect::{Connection, KubeconfigOptions};
use flate2::{Compression, write::GzEncoder};
use futures::future::pending;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::{Client, client::Body};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{resume, sleep},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};
use tokio_util::sync::CancellationToken;

use super::{
    check,
    world::{Manager, Outcome, World, runtime},
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

const OBSERVE: Duration = Duration::from_secs(1);
/// Longer than a busy machine takes.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// How many seconds a run may take.
const LIMIT: u64 = 30;
/// The runner's token, which no hub may make it show.
const TOKEN: &str = "a-CANARY-for-this-hub-alone";
/// When within the window the certificate changes, and alerts come.
const LATER: Duration = Duration::from_millis(400);

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    /// The certificate has expired.
    Expired,
    /// The certificate is for another name.
    OtherName,
    /// A CA has signed the certificate that the kubeconfig does not know.
    UnknownCa,
    /// The certificate is its own CA, but not that of the kubeconfig.
    SelfSigned,
    /// All connections end within the window, and new ones see a certificate of an unknown CA.
    Changes,
    /// Nothing follows the client's hello.
    NoHandshake,
    /// HTTP without TLS.
    Plain,
    /// A fatal alert within the window, on each connection.
    Alert,
    /// A header of a megabyte.
    LongHeader,
    /// Many headers.
    ManyHeaders,
    /// Answers that are compressed though nobody asked for that: few bytes that unpack to many.
    Compressed,
}

impl Wrong {
    const ALL: [Wrong; 12] = [
        Wrong::Nothing,
        Wrong::Expired,
        Wrong::OtherName,
        Wrong::UnknownCa,
        Wrong::SelfSigned,
        Wrong::Changes,
        Wrong::NoHandshake,
        Wrong::Plain,
        Wrong::Alert,
        Wrong::LongHeader,
        Wrong::ManyHeaders,
        Wrong::Compressed,
    ];

    /// Whether the run sees nothing of the hub, and what it then says.
    fn refusal(self) -> Option<&'static str> {
        Some(match self {
            Wrong::Expired | Wrong::OtherName | Wrong::UnknownCa | Wrong::SelfSigned | Wrong::Plain => {
                "securely"
            }
            Wrong::NoHandshake => "answer came for 5 s",
            Wrong::LongHeader | Wrong::ManyHeaders | Wrong::Compressed => "failed to reach the hub",
            Wrong::Nothing | Wrong::Changes | Wrong::Alert => return None,
        })
    }
}

/// A CA, and servers' certificates of it.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "chaos CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = Issuer::new(params.clone(), KeyPair::generate().expect("a key"));
        let pem = params.self_signed(issuer.key()).expect("a CA").pem();
        Self { issuer, pem }
    }

    /// A server with a certificate for that name, which has expired or not.
    fn server(&self, name: &str, has_expired: bool) -> TlsAcceptor {
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        if has_expired {
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        acceptor(certificate.der().to_vec(), &key)
    }
}

fn acceptor(certificate: Vec<u8>, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.into()], key)
        .expect("an identity");
    TlsAcceptor::from(Arc::new(config))
}

/// The server before the hub.
struct Front {
    wrong: Wrong,
    hub: Client,
    first: TlsAcceptor,
    /// After the change.
    second: TlsAcceptor,
    /// Once profiles are watched: what goes wrong later does so after that.
    watching: CancellationToken,
    changed: CancellationToken,
}

impl Front {
    fn new(wrong: Wrong, hub: Client, known: &Authority) -> Self {
        let other = Authority::new();
        let first = match wrong {
            Wrong::Expired => known.server("127.0.0.1", true),
            Wrong::OtherName => known.server("other.example", false),
            Wrong::UnknownCa => other.server("127.0.0.1", false),
            Wrong::SelfSigned => {
                let own =
                    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
                acceptor(own.cert.der().to_vec(), &own.signing_key)
            }
            _ => known.server("127.0.0.1", false),
        };
        Self {
            wrong,
            hub,
            first,
            second: other.server("127.0.0.1", false),
            watching: CancellationToken::new(),
            changed: CancellationToken::new(),
        }
    }

    /// Serves for as long as it is polled.
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        if self.wrong == Wrong::Changes {
            let front = Arc::clone(&self);
            connections.spawn(async move {
                front.watching.cancelled().await;
                sleep(LATER).await;
                front.changed.cancel();
            });
        }
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            let front = Arc::clone(&self);
            connections.spawn(async move {
                if front.changed.is_cancelled() {
                    return front.connection(stream, &front.second).await;
                }
                tokio::select! {
                    biased;
                    () = front.changed.cancelled() => {}
                    () = front.connection(stream, &front.first) => {}
                }
            });
        }
    }

    async fn connection(&self, mut stream: TcpStream, acceptor: &TlsAcceptor) {
        match self.wrong {
            Wrong::NoHandshake => {
                let mut hello = [0; 4096];
                let _ = stream.read(&mut hello).await;
                return pending().await;
            }
            Wrong::Plain => {
                let answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
                let _ = stream.write_all(answer).await;
                return;
            }
            _ => {}
        }
        let Ok(stream) = acceptor.accept(stream).await else {
            return;
        };
        let service = service_fn(|request| async { Ok::<_, Infallible>(self.answer(request).await) });
        let serving = http1::Builder::new()
            .max_buf_size(4 << 20)
            .serve_connection(TokioIo::new(stream), service);
        if self.wrong != Wrong::Alert {
            let _ = serving.await;
            return;
        }
        let mut serving = serving;
        tokio::select! {
            biased;
            _ = &mut serving => return,
            () = async { self.watching.cancelled().await; sleep(LATER).await } => {}
        }
        let mut stream = serving.into_parts().io.into_inner();
        // A record of TLS 1.2: fatal, internal error.
        let _ = stream.get_mut().0.write_all(&[21, 3, 3, 0, 2, 2, 80]).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        assert!(
            !request.headers().contains_key(header::ACCEPT_ENCODING),
            "{request:?}"
        );
        let (mut head, body) = request.into_parts();
        if head.uri.query().is_some_and(|query| query.contains("watch=true")) {
            self.watching.cancel();
        }
        let shown = head.headers.remove(header::AUTHORIZATION).expect("a token");
        assert_eq!(shown.to_str().expect("a text"), format!("Bearer {TOKEN}"));
        let body = body.collect().await.expect("a body").to_bytes();
        let request = Request::from_parts(head, Body::from(body.to_vec()));
        match self.hub.send(request).await {
            Ok(answer) => self.spoil(answer.map(|body| body.map_err(Into::into).boxed_unsync())),
            Err(_) => {
                let mut answer = Response::new(whole(Vec::new()));
                *answer.status_mut() = http::StatusCode::BAD_GATEWAY;
                answer
            }
        }
    }

    fn spoil(&self, mut answer: Answer) -> Answer {
        let long = || HeaderValue::from_str(&"x".repeat(1 << 20)).expect("a header");
        match self.wrong {
            Wrong::LongHeader => {
                answer.headers_mut().insert("x-long", long());
                answer
            }
            Wrong::ManyHeaders => {
                for number in 0..1_000 {
                    let name =
                        http::HeaderName::from_bytes(format!("x-{number}").as_bytes()).expect("a name");
                    answer.headers_mut().insert(name, HeaderValue::from_static("x"));
                }
                answer
            }
            Wrong::Compressed => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
                packed.write_all(&vec![b' '; 4 << 20]).expect("packed");
                let mut answer = Response::new(whole(packed.finish().expect("packed")));
                let gzip = HeaderValue::from_static("gzip");
                answer.headers_mut().insert(header::CONTENT_ENCODING, gzip);
                answer
            }
            _ => answer,
        }
    }
}

fn whole(body: Vec<u8>) -> UnsyncBoxBody<Bytes, BoxError> {
    Full::from(body).map_err(|never| match never {}).boxed_unsync()
}

async fn connect(listener: &TcpListener, known: &Authority) -> Connection {
    let server = format!("https://{}", listener.local_addr().expect("an address"));
    let kubeconfig = json!({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": BASE64.encode(&known.pem)}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubeconfig");
    fs::write(&path, kubeconfig.to_string()).expect("written");
    let options = KubeconfigOptions {
        path: Some(path),
        context: None,
        request_timeout: Some(REQUEST_TIMEOUT),
    };
    Connection::from_kubeconfig(&options).await.expect("a client")
}

/// Observes a hub behind such a server.
fn run(wrong: Wrong, manager: Manager) -> Outcome {
    runtime().block_on(async {
        let world = World::new(manager).await;
        resume();
        let (client, seen) = world.proxied(&[]);
        let known = Authority::new();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let hub = connect(&listener, &known).await;
        let front = Arc::new(Front::new(wrong, client, &known));
        let serving = tokio::spawn(front.serve(listener));
        let outcome = world.observe(&hub, OBSERVE, &[], &seen).await;
        serving.abort();
        outcome
    })
}

fn complaint(wrong: Wrong, manager: Manager) -> Result<(), String> {
    let honest = super::honest(manager, OBSERVE.as_secs());
    let mut outcome = run(wrong, manager);
    if wrong != Wrong::Nothing {
        // Some requests get no further than the handshake.
        outcome.told_requests = None;
    }
    check(&honest, &[], OBSERVE.as_secs(), &outcome)?;
    if outcome.took > LIMIT {
        return Err(format!("it took {} s", outcome.took));
    }
    match wrong.refusal() {
        Some(told) if outcome.exit != 4 || !outcome.outputs.contains(told) => {
            Err(format!("exit code {}: {}", outcome.exit, outcome.outputs))
        }
        None if outcome.verdicts.is_empty() => Err(outcome.outputs),
        _ => Ok(()),
    }
}

#[test]
fn no_misbehaviour_of_a_connection_leads_to_a_wrong_verdict_or_a_long_run() {
    let complaints: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = Wrong::ALL
            .into_iter()
            .map(|wrong| {
                scope.spawn(move || {
                    let managers = [Manager::Leaking, Manager::Conforming].into_iter();
                    let complaints = managers.filter_map(|manager| {
                        let complaint = complaint(wrong, manager).err()?;
                        Some(format!("{wrong:?}, {manager:?}: {complaint}"))
                    });
                    complaints.collect::<Vec<_>>()
                })
            })
            .collect();
        let ended = running.into_iter().map(|thread| thread.join().expect("no panic"));
        ended.flatten().collect()
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
