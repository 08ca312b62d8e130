//! Hubs that hang, never end an answer, or are out of reach: over sockets, in real time.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use apiserver::ServerIdentity;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use collect::clock::Clock;
use flate2::{Compression, write::GzEncoder};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, StreamOwned, crypto::ring, pki_types::PrivateKeyDer,
};

use super::*;

const HOST: &str = "127.0.0.1";

/// Handles each connection in a thread of its own. Returns a kubeconfig for it.
fn hub(folder: &Folder, handle: impl Fn(TcpStream) + Clone + Send + 'static) -> String {
    folder.kubeconfig(listen(handle))
}

/// Handles each connection to the returned port in a thread of its own.
fn listen(handle: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind((HOST, 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            thread::spawn(move || handle(stream));
        }
    });
    port
}

/// Reads until the client closes the connection.
fn drain(stream: &mut TcpStream) {
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

/// A hub that answers only requests for its version.
pub fn silent_hub(folder: &Folder) -> String {
    hub(folder, |mut stream| {
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap_or_default();
        if request[..read].starts_with(b"GET /version") {
            let body = r#"{"gitVersion": "v1.36.1"}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
        drain(&mut stream);
    })
}

/// A run that cannot reach the hub ends within 30 s, and prints these parts.
fn ends_soon(kubeconfig: &str, flags: &str, parts: &[&str]) -> String {
    let clock = Clock::system();
    let start = clock.now();
    let run = format!("run --kubeconfig {kubeconfig} --request-timeout 1s {flags}");
    let printed = expect_output(4, run, parts);
    let seconds = clock.now().duration_since(start).as_secs();
    assert!(seconds < 30, "{seconds} s: {printed}");
    printed
}

#[test]
fn endless_answer_is_given_up_and_reported() {
    let long = "Content-Length: 100000\r\n\r\n";
    let answers = [
        ("200 OK\r\n".to_owned(), "X-More: yes\r\n"),
        (format!("200 OK\r\n{long}"), " "),
        (
            "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            "1\r\n \r\n",
        ),
        (format!("403 Forbidden\r\n{long}"), " "),
    ];
    // In parallel: each run waits for its timeout.
    thread::scope(|scope| {
        for (head, piece) in answers {
            scope.spawn(move || assert_given_up(&head, piece));
        }
    });
}

/// Asserts that a run on a hub which answers with the head, and then the piece without end, ends soon.
fn assert_given_up(head: &str, piece: &'static str) {
    let folder = Folder::new();
    let asks_for_compression = Arc::new(AtomicBool::new(false));
    let has_asked = Arc::clone(&asks_for_compression);
    let head = format!("HTTP/1.1 {head}");
    let kubeconfig = hub(&folder, move |mut stream| {
        let mut request = [0; 4096];
        let length = stream.read(&mut request).unwrap_or_default();
        let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
        has_asked.fetch_or(request.contains("accept-encoding"), Ordering::Relaxed);
        let _ = stream.write_all(head.as_bytes());
        let timeout = Some(Duration::from_millis(20));
        stream.set_read_timeout(timeout).expect("a timeout");
        // Until the client closes the connection.
        while !matches!(stream.read(&mut [0]), Ok(0)) && stream.write_all(piece.as_bytes()).is_ok() {}
    });
    ends_soon(&kubeconfig, &format!("--json {}", folder.flag("json")), &[]);
    assert_eq!(folder.json("json")["decision"], "inconclusive", "{piece:?}");
    // A few compressed bytes may unpack to many.
    assert!(!asks_for_compression.load(Ordering::Relaxed));
}

#[test]
fn hub_gets_as_much_time_as_the_flag_says() {
    let folder = Folder::new();
    let kubeconfig = silent_hub(&folder);
    let advice = "or give a slow hub more time with --request-timeout";
    ends_soon(&kubeconfig, "", &["no answer came for 1 s", advice]);
    let config = folder.config("requestTimeout: 2s");
    let run = format!("run --kubeconfig {kubeconfig} --config {config}");
    expect_output(4, run, &["no answer came for 2 s"]);
}

#[test]
fn unreachable_hub_is_one_message_and_leaves_reports() {
    let folder = Folder::new();
    let (json, junit) = (folder.flag("report.json"), folder.flag("report.xml"));
    let run = "run --kubeconfig unreachable.kubeconfig";
    let done = call(format!("{run} --json {json} --junit {junit}"));
    assert_eq!((done.code, done.out.as_str()), (Some(4), ""), "{}", done.err);
    assert_eq!(done.err.matches("error: ").count(), 1, "{}", done.err);
    assert_contains(&done.err, &["context here", "try https://"]);
    let report = folder.json("report.json");
    assert_eq!(report["decision"], "inconclusive");
    for verdict in verdicts(&report) {
        // The user expects no number of profiles.
        let is_judged = verdict["rule"] != "identity/expected-profiles";
        assert!(!is_judged || verdict["verdict"] == "inconclusive", "{verdict:#}");
    }
    assert_contains(&folder.text("report.xml"), &["<error "]);
    refused(format!("{run} --context there"), &["there"]);
    expect_output(4, "run", &["--kubeconfig"]);
}

/// An identity that was valid once, and is its own CA.
fn expired() -> ServerIdentity {
    let mut params = CertificateParams::new([HOST.to_owned()]).expect("a name");
    params.not_after = date_time_ymd(2020, 1, 1);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("an identity");
    ServerIdentity {
        ca: certificate.pem(),
        config,
    }
}

/// A version in few bytes that unpack to many, although the client does not ask for compression.
fn compressed() -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let version = r#"{"gitVersion": "v1.36.1"}"#.to_owned() + &" ".repeat(4 << 20);
    packed.write_all(version.as_bytes()).expect("packed");
    let body = packed.finish().expect("packed");
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length";
    let head = format!("{head}: {}\r\n\r\n", body.len());
    [head.into_bytes(), body].concat()
}

/// Errors of TLS, and of heads and encodings of answers.
#[test]
fn hub_that_breaks_tls_or_http_is_reported() {
    let identity = |host: &str| ServerIdentity::new("hub", &[host]).expect("a certificate");
    let other = ServerIdentity::new("other", &[HOST]).expect("a certificate");
    let of_unknown_ca = ServerIdentity {
        ca: other.ca,
        ..identity(HOST)
    };
    let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    let long = format!("HTTP/1.1 200 OK\r\nX-Long: {}\r\n\r\n", "x".repeat(1 << 20)).into_bytes();
    let unreadable = "the answer to /version cannot be read";
    for (identity, answer, part) in [
        (expired(), Some(ok.clone()), "expired"),
        (identity("other.example"), Some(ok.clone()), "not valid for name"),
        (of_unknown_ca, Some(ok), "UnknownIssuer"),
        (identity(HOST), None, "no answer came for 1 s"),
        (identity(HOST), Some(long), "too large"),
        (identity(HOST), Some(compressed()), unreadable),
    ] {
        let config = Arc::new(identity.config);
        let port = listen(move |mut stream| {
            let Some(answer) = &answer else {
                return drain(&mut stream);
            };
            let server = ServerConnection::new(Arc::clone(&config)).expect("a server");
            let mut stream = StreamOwned::new(server, stream);
            while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                let _ = stream.write_all(answer);
            }
        });
        let folder = Folder::new();
        let ca = BASE64_STANDARD.encode(&identity.ca);
        let cluster = format!("server: 'https://{HOST}:{port}', certificate-authority-data: {ca}");
        let kubeconfig = folder.kubeconfig_with(&cluster, "token: a-CANARY");
        let is_insecure = ["expired", "not valid for name", "UnknownIssuer"].contains(&part);
        let error = if is_insecure {
            "securely"
        } else {
            "failed to reach the hub"
        };
        let printed = ends_soon(&kubeconfig, "", &[error, part]);
        assert!(!printed.contains("CANARY"), "{printed}");
    }
}
