//! Serves a stand-in over TLS on the loopback, for managers and plugins outside this process.

use std::io;

use apiserver::{Endpoint, Loopback, serve_tls};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use super::stand_in::StandIn;

/// A stand-in that listens on the loopback until this is dropped.
#[derive(Debug)]
pub struct Served {
    endpoint: Endpoint,
    listening: JoinHandle<()>,
}

impl StandIn {
    /// Listens on a free port of 127.0.0.1. Needs a runtime in real time.
    ///
    /// When the member becomes unreachable, open connections end, and new ones are closed immediately.
    ///
    /// # Errors
    /// When there is no port to listen on.
    pub async fn serve(&self) -> io::Result<Served> {
        let loopback = Loopback::bind(self.name(), 0).await?;
        Ok(Served {
            endpoint: loopback.endpoint().clone(),
            listening: tokio::spawn(listen(self.clone(), loopback.listener, loopback.acceptor)),
        })
    }
}

impl Served {
    /// The URL of the API server.
    pub fn server(&self) -> String {
        self.endpoint.server()
    }

    /// The certificate of its authority, in PEM.
    pub fn ca(&self) -> &str {
        self.endpoint.ca()
    }

    /// A kubeconfig for the user who may do everything.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_as(StandIn::ADMIN)
    }

    /// A kubeconfig for one of the stand-in's users.
    pub fn kubeconfig_as(&self, user: &str) -> String {
        self.endpoint.kubeconfig_as(user)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(member: StandIn, listener: TcpListener, acceptor: TlsAcceptor) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                if member.is_reachable() {
                    connections.spawn(connection(member.clone(), stream, acceptor.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Serves one connection while the member is reachable.
async fn connection(member: StandIn, stream: TcpStream, acceptor: TlsAcceptor) {
    let mut reachable = member.reachable();
    let speaking = serve_tls(stream, acceptor, member.service(member.server()));
    tokio::select! {
        () = speaking => {}
        _ = reachable.wait_for(|reachable| !reachable) => {}
    }
}
