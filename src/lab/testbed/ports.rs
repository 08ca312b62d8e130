//! Members on ports of this machine, each with an authority of its own.

use std::{
    collections::{HashMap, HashSet},
    io,
    net::SocketAddr,
    sync::Arc,
};

use apiserver::Identity;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use collect::{
    driver::OfferError,
    testbed::{Calls, Members, NewAddress},
};
use evidence::MemberAddress;
use futures::{FutureExt as _, future::BoxFuture};
use parking_lot::Mutex;
use tokio::{net::TcpListener, task::JoinHandle};

use super::{
    proxy::serve_proxy,
    server::{Known, Server},
};

/// The address to listen on.
const ADDRESS: &str = "127.0.0.1";

/// Members on ports of this machine, until this is dropped. Needs a runtime in real time.
#[derive(Debug)]
pub struct OnPorts {
    calls: Arc<Calls>,
    ports: Mutex<HashMap<String, Port>>,
    proxies: Mutex<Vec<Listening>>,
    /// The local addresses of the proxies' connections.
    proxied: Arc<Mutex<HashSet<SocketAddr>>>,
}

/// A port, and who answers there.
#[derive(Debug)]
struct Port {
    identities: Arc<Mutex<Vec<Known>>>,
    _listening: Listening,
}

/// Somebody who listens, until this is dropped.
#[derive(Debug)]
struct Listening(JoinHandle<()>);

impl OnPorts {
    /// Members that record their calls there.
    pub fn new(calls: Arc<Calls>) -> Self {
        Self {
            calls,
            ports: Mutex::default(),
            proxies: Mutex::default(),
            proxied: Arc::default(),
        }
    }

    async fn address(&self, new: &NewAddress) -> io::Result<MemberAddress> {
        let hosts: Vec<&str> = match &new.server_name {
            // It answers to this name alone.
            Some(name) => vec![name],
            None => vec![ADDRESS, "localhost"],
        };
        let identity = Identity::new(&new.member, &hosts)?;
        let known = Known {
            server_name: new.server_name.clone(),
            config: Arc::new(identity.config),
        };
        let url = match &new.beside {
            Some(url) => url.clone(),
            None => self.listen().await?,
        };
        let ca_data = BASE64_STANDARD.encode(&identity.ca);
        let address = MemberAddress {
            url,
            member: new.member.clone(),
            server_name: new.server_name.clone(),
            ca_data,
        };
        self.calls.open(address.clone());
        if let Some(port) = self.ports.lock().get(&address.url) {
            port.identities.lock().push(known);
        }
        Ok(address)
    }

    /// Listens on a free port. Gives its URL.
    async fn listen(&self) -> io::Result<String> {
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let url = format!("https://{}", listener.local_addr()?);
        let identities = Arc::<Mutex<Vec<Known>>>::default();
        let server = Server {
            url: url.clone(),
            calls: Arc::clone(&self.calls),
            identities: Arc::clone(&identities),
            proxied: Arc::clone(&self.proxied),
        };
        let port = Port {
            identities,
            _listening: Listening(tokio::spawn(server.serve(listener))),
        };
        self.ports.lock().insert(url.clone(), port);
        Ok(url)
    }

    /// Opens a proxy on a free port. Gives its URL.
    async fn listen_as_proxy(&self) -> io::Result<String> {
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let serving = serve_proxy(
            listener,
            url.clone(),
            Arc::clone(&self.calls),
            Arc::clone(&self.proxied),
        );
        self.proxies.lock().push(Listening(tokio::spawn(serving)));
        Ok(url)
    }
}

impl Members for OnPorts {
    fn open<'a>(&'a self, new: &'a NewAddress) -> BoxFuture<'a, Result<MemberAddress, OfferError>> {
        async move { self.address(new).await.map_err(|error| OfferError(error.into())) }.boxed()
    }

    fn open_proxy(&self) -> BoxFuture<'_, Result<String, OfferError>> {
        async {
            self.listen_as_proxy()
                .await
                .map_err(|error| OfferError(error.into()))
        }
        .boxed()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}
