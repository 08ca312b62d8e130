//! A relay between the consumer and its hub, which the run can close. It hands bytes on, and reads none: TLS is between those two.
//!
//! The consumer's kubeconfig is written once more, with the relay in the place of the hub. It is there as long as the run is.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use evidence::{LARGEST_KUBECONFIG, read_text};
use http::Uri;
use serde_json::{Value, json};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

use super::HubWay;
use crate::{connect::hub_access::name_whole_paths, driver::replace_private_file};

/// The address to listen on.
const ADDRESS: &str = "127.0.0.1";
/// The extension by which a run knows a kubeconfig that one has left.
const MARK: &str = "conformance.clusterprofile/relay";
/// How long it waits where the system accepts nothing.
const PAUSE: Duration = Duration::from_millis(50);

/// A relay, until this is dropped.
#[derive(Debug)]
pub struct Relay {
    path: PathBuf,
    is_closed: watch::Sender<bool>,
    listening: JoinHandle<()>,
}

/// Why there is no relay.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The kubeconfig cannot be used.
    #[error("the consumer's kubeconfig {} cannot lead through the run: {reason}", .path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is no port, or the file cannot be written.
    #[error("failed to write {}, with which the consumer reaches the hub through the run", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Relay {
    /// Leads to the hub of a kubeconfig, and writes to `through` the same with the relay in its place. A file that a killed run left
    /// there is replaced.
    ///
    /// # Errors
    /// When the kubeconfig cannot be used, there is no port, or the file cannot be written.
    pub async fn listen(kubeconfig: &Path, through: &Path) -> Result<Self, RelayError> {
        let unwritten = |source| RelayError::Write {
            path: through.to_owned(),
            source,
        };
        let listener = TcpListener::bind((ADDRESS, 0)).await.map_err(unwritten)?;
        let port = listener.local_addr().map_err(unwritten)?.port();
        let (config, hub) = redirected(kubeconfig, port)?;
        write(through, &config).map_err(unwritten)?;
        let (is_closed, closing) = watch::channel(false);
        Ok(Self {
            path: through.to_owned(),
            is_closed,
            listening: tokio::spawn(serve(listener, hub, closing)),
        })
    }

    /// Checks that a kubeconfig can be used.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check(kubeconfig: &Path) -> Result<(), RelayError> {
        redirected(kubeconfig, 0).map(drop)
    }
}

impl HubWay for Relay {
    fn close(&self) -> u64 {
        self.is_closed.send_replace(true);
        // One is kept to accept connections.
        let receivers = self.is_closed.receiver_count().saturating_sub(1);
        u64::try_from(receivers).unwrap_or(u64::MAX)
    }

    fn open(&self) {
        self.is_closed.send_replace(false);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.listening.abort();
        let _ = fs::remove_file(&self.path);
    }
}

/// A kubeconfig with a port of this machine in the place of the hub, and the hub's host and port.
fn redirected(kubeconfig: &Path, port: u16) -> Result<(Value, (String, u16)), RelayError> {
    let unfit = |reason: String| RelayError::Kubeconfig {
        path: kubeconfig.to_owned(),
        reason,
    };
    let text = read_text(kubeconfig, LARGEST_KUBECONFIG).map_err(|error| unfit(error.to_string()))?;
    // What the parser quotes may be a credential.
    let mut config: Value = serde_saphyr::from_str(&text).map_err(|_| unfit("it is no YAML".to_owned()))?;
    let hub = redirect(&mut config, port).map_err(|reason| unfit(reason.to_owned()))?;
    let folder = kubeconfig.parent().unwrap_or(Path::new(""));
    name_whole_paths(&mut config, folder);
    config["extensions"] = json!([{"name": MARK, "extension": {}}]);
    Ok((config, hub))
}

/// Writes a kubeconfig in the place of one that a run has left, and of no other file.
fn write(path: &Path, config: &Value) -> io::Result<()> {
    match fs::read_to_string(path) {
        Ok(text) if !text.contains(MARK) => return Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    replace_private_file(path, &config.to_string())
}

async fn serve(listener: TcpListener, hub: (String, u16), closing: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((consumer, _)) = accepted else {
                    // The system has no more connections for now.
                    sleep(PAUSE).await;
                    continue;
                };
                if !*closing.borrow() {
                    connections.spawn(relay(consumer, hub.clone(), closing.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Hands bytes on both ways, until either side ends or the relay is closed.
async fn relay(mut consumer: TcpStream, hub: (String, u16), mut closing: watch::Receiver<bool>) {
    let handing_on = async {
        let mut hub = TcpStream::connect(hub).await?;
        copy_bidirectional(&mut consumer, &mut hub).await
    };
    tokio::select! {
        _ = handing_on => {}
        _ = closing.wait_for(|is_closed| *is_closed) => {}
    }
}

/// Puts the relay in the place of the hub of the current context. Gives host and port of the hub.
fn redirect(config: &mut Value, port: u16) -> Result<(String, u16), &'static str> {
    let current = config["current-context"].as_str().unwrap_or_default().to_owned();
    let cluster = named(config, "contexts", &current)
        .and_then(|context| context["context"]["cluster"].as_str().map(str::to_owned))
        .ok_or("it has no current context with a cluster")?;
    let cluster = named(config, "clusters", &cluster).ok_or("it has no cluster of that name")?;
    let cluster = &mut cluster["cluster"];
    if cluster["proxy-url"]
        .as_str()
        .is_some_and(|proxy| !proxy.is_empty())
    {
        return Err("it leads through a proxy");
    }
    let server: Uri = cluster["server"]
        .as_str()
        .and_then(|server| server.parse().ok())
        .ok_or("its server is no URL")?;
    let (Some(scheme), Some(host)) = (server.scheme_str(), server.host()) else {
        return Err("its server is no URL");
    };
    let is_https = scheme == "https";
    let usual_port = if is_https { 443 } else { 80 };
    let hub = (
        host.trim_matches(['[', ']']).to_owned(),
        server.port_u16().unwrap_or(usual_port),
    );
    let path = server.path().trim_end_matches('/');
    let relayed = format!("{scheme}://{ADDRESS}:{port}{path}");
    if is_https && cluster.get("tls-server-name").is_none() {
        cluster["tls-server-name"] = hub.0.as_str().into();
    }
    cluster["server"] = relayed.into();
    Ok(hub)
}

/// An entry of a list of a kubeconfig.
fn named<'c>(config: &'c mut Value, list: &str, name: &str) -> Option<&'c mut Value> {
    let entries = config.get_mut(list)?.as_array_mut()?;
    entries.iter_mut().find(|entry| entry["name"] == *name)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn config(server: &str) -> Value {
        json!({
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "hub", "user": "me"}}],
            "clusters": [{"name": "other"}, {"name": "hub", "cluster": {"server": server, "certificate-authority": "ca.crt"}}],
            "users": [{"name": "me", "user": {"token": "secret"}}],
        })
    }

    #[test]
    fn the_relay_takes_the_place_of_the_hub() {
        let redirected = |server: &str| {
            let mut config = config(server);
            let hub = redirect(&mut config, 7000);
            (hub, config["clusters"][1]["cluster"].clone())
        };
        let (hub, cluster) = redirected("https://hub.example:6443/prefix/");
        assert_eq!(hub, Ok(("hub.example".to_owned(), 6443)));
        let expected = json!({
            "server": "https://127.0.0.1:7000/prefix", "tls-server-name": "hub.example", "certificate-authority": "ca.crt",
        });
        assert_eq!(cluster, expected);
        let (hub, cluster) = redirected("http://[::1]");
        assert_eq!(hub, Ok(("::1".to_owned(), 80)));
        assert_eq!(cluster["server"], "http://127.0.0.1:7000");
        assert_eq!(cluster.get("tls-server-name"), None);
        assert_eq!(redirected("no url").0, Err("its server is no URL"));
        let mut elsewhere = config("https://hub.example");
        elsewhere["clusters"][1]["cluster"]["proxy-url"] = "http://proxy".into();
        assert_eq!(redirect(&mut elsewhere, 1), Err("it leads through a proxy"));
        elsewhere["current-context"] = "b".into();
        assert!(redirect(&mut elsewhere, 1).is_err());
    }

    #[tokio::test]
    async fn a_closed_relay_ends_connections_and_refuses_new_ones() {
        let hub = TcpListener::bind((ADDRESS, 0)).await.expect("a port");
        let port = hub.local_addr().expect("an address").port();
        let echoing = tokio::spawn(async move {
            while let Ok((mut stream, _)) = hub.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    tokio::io::copy(&mut from, &mut to).await
                });
            }
        });
        let folder = tempfile::tempdir().expect("a folder");
        let [own, through] = ["own", "through"].map(|name| folder.path().join(name));
        let own_config = config(&format!("http://{ADDRESS}:{port}"));
        fs::write(&own, own_config.to_string()).expect("written");
        let relay = Relay::listen(&own, &through).await.expect("a relay");
        let text = fs::read_to_string(&through).expect("there");
        let written: Value = serde_json::from_str(&text).expect("JSON");
        let server = written["clusters"][1]["cluster"]["server"]
            .as_str()
            .expect("a URL");
        let address = server.trim_start_matches("http://").to_owned();

        let mut stream = TcpStream::connect(&address).await.expect("it listens");
        let mut answer = [0; 2];
        stream.write_all(b"hi").await.expect("sent");
        stream.read_exact(&mut answer).await.expect("an answer");
        assert_eq!(&answer, b"hi");
        assert_eq!(relay.close(), 1);
        assert_eq!(
            stream.read(&mut answer).await.unwrap_or_default(),
            0,
            "it has ended"
        );
        let mut refused = TcpStream::connect(&address).await.expect("it listens");
        assert_eq!(
            refused.read(&mut answer).await.unwrap_or_default(),
            0,
            "it has ended"
        );
        relay.open();
        let mut stream = TcpStream::connect(&address).await.expect("it listens");
        stream.write_all(b"hi").await.expect("sent");
        stream.read_exact(&mut answer).await.expect("an answer");
        let over_its_own = Relay::listen(&own, &own).await;
        assert!(
            matches!(over_its_own, Err(RelayError::Write { .. })),
            "a file of the user stays"
        );
        assert!(own.exists());
        let left = folder.path().join("left");
        fs::copy(&through, &left).expect("copied");
        drop(relay);
        assert!(!through.exists());
        Relay::listen(&own, &left)
            .await
            .expect("what a killed run has left is replaced");
        echoing.abort();
    }
}
