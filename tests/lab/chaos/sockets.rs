//! What goes wrong on the way to a hub: TLS, and heads and encodings of answers. Over sockets, by the machine's clock.

use std::{convert::Infallible, io::Write as _, sync::Arc, thread, time::Duration};

use apiserver::Identity;
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use collect::connect::{Connection, KubeconfigOptions};
use flate2::{Compression, write::GzEncoder};
use futures::future::pending;
use http::{HeaderName, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use kube::{Client, client::Body};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
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
    proxy::{Answer, BoxError},
    world::{Manager, Outcome, World, runtime},
};
use crate::command::Folder;

const HOST: &str = "127.0.0.1";
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
    /// Answers that are compressed though the client did not ask for that: few bytes that unpack to many.
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

/// A certificate for this host that has signed itself, and what clients have to trust for it.
fn self_signed(has_expired: bool) -> (TlsAcceptor, String) {
    let mut params = CertificateParams::new([HOST.to_owned()]).expect("a name");
    if has_expired {
        params.not_after = date_time_ymd(2020, 1, 1);
    }
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("an identity");
    (TlsAcceptor::from(Arc::new(config)), certificate.pem())
}

/// A certificate for a host that a CA has signed, and the CA.
fn signed(host: &str) -> (TlsAcceptor, String) {
    let identity = Identity::new("chaos", &[host]).expect("a certificate");
    (TlsAcceptor::from(Arc::new(identity.config)), identity.ca)
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
    /// The server, and the CA that the kubeconfig names.
    fn new(wrong: Wrong, hub: Client) -> (Self, String) {
        let (valid, ca) = signed(HOST);
        let (unknown, _) = signed(HOST);
        let (first, ca) = match wrong {
            Wrong::Expired => self_signed(true),
            Wrong::OtherName => signed("other.example"),
            Wrong::UnknownCa => (unknown.clone(), ca),
            Wrong::SelfSigned => (self_signed(false).0, ca),
            _ => (valid, ca),
        };
        let front = Self {
            wrong,
            hub,
            first,
            second: unknown,
            watching: CancellationToken::new(),
            changed: CancellationToken::new(),
        };
        (front, ca)
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
        let mut serving = http1::Builder::new()
            .max_buf_size(4 << 20)
            .serve_connection(TokioIo::new(stream), service);
        let alert_is_due = async {
            self.watching.cancelled().await;
            sleep(LATER).await;
        };
        tokio::select! {
            biased;
            _ = &mut serving => return,
            () = alert_is_due, if self.wrong == Wrong::Alert => {}
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
        match self.wrong {
            Wrong::LongHeader => {
                let long = HeaderValue::from_str(&"x".repeat(1 << 20)).expect("a header");
                answer.headers_mut().insert("x-long", long);
                answer
            }
            Wrong::ManyHeaders => {
                for number in 0..1_000 {
                    let name: HeaderName = format!("x-{number}").parse().expect("a name");
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

async fn connect(listener: &TcpListener, ca: &str) -> Connection {
    let folder = Folder::new();
    let server = listener.local_addr().expect("an address");
    let ca = BASE64.encode(ca);
    let cluster = format!("server: 'https://{server}', certificate-authority-data: {ca}");
    folder.kubeconfig_with(&cluster, &format!("token: {TOKEN}"));
    let options = KubeconfigOptions {
        path: Some(folder.path("kubeconfig")),
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
        let (client, traffic) = world.proxied(&[]);
        let listener = TcpListener::bind((HOST, 0)).await.expect("a port");
        let (front, ca) = Front::new(wrong, client);
        let hub = connect(&listener, &ca).await;
        let serving = tokio::spawn(Arc::new(front).serve(listener));
        let outcome = world.observe(&hub, OBSERVE, &[], &traffic).await;
        serving.abort();
        outcome
    })
}

fn complaint(wrong: Wrong, manager: Manager) -> Result<(), String> {
    let honest = super::honest(manager, OBSERVE.as_secs());
    let mut outcome = run(wrong, manager);
    if wrong != Wrong::Nothing {
        // Some requests get no further than the handshake.
        outcome.reported_requests = None;
    }
    check(&honest, &[], OBSERVE.as_secs(), &outcome)?;
    if outcome.took > LIMIT {
        return Err(format!("it took {} s", outcome.took));
    }
    match wrong.refusal() {
        Some(message) if outcome.exit != 4 || !outcome.outputs.contains(message) => {
            Err(format!("exit code {}: {}", outcome.exit, outcome.outputs))
        }
        None if outcome.verdicts.is_empty() => Err(outcome.outputs),
        _ => Ok(()),
    }
}

#[test]
fn no_misbehaviour_of_a_connection_leads_to_a_wrong_verdict_or_a_long_run() {
    let complaints_of = |wrong: Wrong| -> Vec<String> {
        let managers = [Manager::Leaking, Manager::Conforming].into_iter();
        let complaints = managers.filter_map(|manager| {
            let complaint = complaint(wrong, manager).err()?;
            Some(format!("{wrong:?}, {manager:?}: {complaint}"))
        });
        complaints.collect()
    };
    let complaints: Vec<String> = thread::scope(|scope| {
        let threads = Wrong::ALL.map(|wrong| scope.spawn(move || complaints_of(wrong)));
        let ended = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        ended.flatten().collect()
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
