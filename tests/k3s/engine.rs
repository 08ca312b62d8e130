//! A fake engine: one container, whose port leads to an API server of envtest.

use std::{
    fs,
    sync::{
        Arc, Mutex, MutexGuard,
        mpsc::{Receiver, Sender, channel},
    },
};

use bytes::Bytes;
use envtest::{Assets, Envtest};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use lab::hub::envtest_options;
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};

/// The state of the container.
#[derive(Default)]
struct Container {
    /// The request that created it.
    requested: Option<Value>,
    has_fetched_image: bool,
    /// Why it does not start.
    refusal: Option<&'static str>,
    /// Gets a message when K3s, which has not written its kubeconfig yet, is asked for it.
    withheld: Option<Sender<()>>,
    removed: bool,
}

/// The engine, for as long as it is kept.
pub struct Engine {
    port: u16,
    container: Arc<Mutex<Container>>,
    envtest: Arc<Envtest>,
    _runtime: Runtime,
}

impl Engine {
    /// Starts the API server, and answers as an engine would.
    pub fn start(assets: &Assets) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let container = Arc::new(Mutex::new(Container::default()));
        let starting = Envtest::start(assets, envtest_options());
        let envtest = Arc::new(runtime.block_on(starting).expect("an API server"));
        let listener = runtime
            .block_on(TcpListener::bind(("127.0.0.1", 0)))
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        runtime.spawn(serve(listener, Arc::clone(&container), Arc::clone(&envtest)));
        Self {
            port,
            container,
            envtest,
            _runtime: runtime,
        }
    }

    /// For DOCKER_HOST.
    pub fn host(&self) -> String {
        format!("tcp://127.0.0.1:{}", self.port)
    }

    /// A credential that no output may show.
    pub fn secret(&self) -> String {
        let kubeconfig: Value = serde_json::from_str(&self.envtest.kubeconfig("admin")).expect("JSON");
        let token = kubeconfig["users"][0]["user"]["token"].as_str();
        token.expect("a token").to_owned()
    }

    /// From now on it starts no container.
    pub fn refuse_to_start(&self, reason: &'static str) {
        self.container().refusal = Some(reason);
    }

    /// From now on K3s does not become ready. The receiver gets a message when a client waits for that.
    pub fn withhold_the_kubeconfig(&self) -> Receiver<()> {
        let (sender, receiver) = channel();
        self.container().withheld = Some(sender);
        receiver
    }

    /// The request that created the container.
    pub fn requested(&self) -> Value {
        self.container().requested.clone().expect("a container")
    }

    pub fn has_fetched_image(&self) -> bool {
        self.container().has_fetched_image
    }

    /// Whether the container was made, and is gone.
    pub fn is_removed(&self) -> bool {
        let container = self.container();
        container.requested.is_some() && container.removed
    }

    fn container(&self) -> MutexGuard<'_, Container> {
        self.container.lock().expect("whole")
    }
}

async fn serve(listener: TcpListener, container: Arc<Mutex<Container>>, envtest: Arc<Envtest>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (container, envtest) = (Arc::clone(&container), Arc::clone(&envtest));
        let service =
            service_fn(move |request| answer(request, Arc::clone(&container), Arc::clone(&envtest)));
        let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A client may hang up.
        tokio::spawn(async { _ = serving.await });
    }
}

async fn answer(
    request: Request<Incoming>,
    container: Arc<Mutex<Container>>,
    envtest: Arc<Envtest>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let mut container = container.lock().expect("whole");
    // Without the version of the API, where there is one.
    let path = path.find("/v1.").map_or(path.as_str(), |_| {
        &path[path[1..].find('/').unwrap_or_default() + 1..]
    });
    let message = |text: &str| json!({"message": text}).to_string().into_bytes();
    let (status, body) = match (method, path) {
        (Method::GET, "/_ping") => (200, b"OK".to_vec()),
        (Method::POST, "/images/create") => {
            container.has_fetched_image = true;
            (200, Vec::new())
        }
        (Method::POST, "/containers/create") if !container.has_fetched_image => {
            (404, message("no such image"))
        }
        (Method::POST, "/containers/create") => {
            container.requested = serde_json::from_slice(&body).ok();
            (201, json!({"Id": "hub", "Warnings": []}).to_string().into_bytes())
        }
        (Method::POST, "/containers/hub/start") => match container.refusal {
            Some(refusal) => (500, message(refusal)),
            None => (204, Vec::new()),
        },
        (Method::GET, "/containers/hub/json") => (200, state(&envtest).to_string().into_bytes()),
        (Method::PUT, "/containers/hub/archive") => (200, Vec::new()),
        (Method::GET, "/containers/hub/archive") if query.contains("k3s.yaml") => match &container.withheld {
            Some(sender) => {
                let _ = sender.send(());
                (404, message("no such file"))
            }
            // K3s writes the URL as seen from within.
            None => {
                let text = envtest
                    .kubeconfig("admin")
                    .replace(&envtest.url(), "https://127.0.0.1:6443");
                (200, archive("k3s.yaml", text.as_bytes()))
            }
        },
        (Method::GET, "/containers/hub/archive") if query.contains("audit.log") => {
            let log = fs::read(envtest.audit_log()).expect("a log");
            (200, archive("audit.log", &log))
        }
        // By its id or its name.
        (Method::DELETE, path) if path.starts_with("/containers/") => {
            container.removed = true;
            (204, Vec::new())
        }
        (method, path) => (501, message(&format!("{method} {path}?{query} is not served"))),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    Ok(response)
}

fn state(envtest: &Envtest) -> Value {
    let url = envtest.url();
    let port = url.rsplit(':').next().expect("a port");
    json!({
        "Id": "hub",
        "State": {"Status": "running", "Running": true},
        // As Podman says it; Docker says 0.0.0.0.
        "NetworkSettings": {"Ports": {"6443/tcp": [{"HostIp": "", "HostPort": port}]}},
    })
}

/// A tar archive of one file: a header of 512 bytes, the content in blocks of 512, two empty blocks.
fn archive(name: &str, content: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 512;
    let mut header = [0_u8; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(136, b"00000000000\0");
    // The sum counts blanks in its own place.
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    archive
}
