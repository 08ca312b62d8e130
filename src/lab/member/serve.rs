//! A stand-in over TLS on the loopback, for managers and plugins outside of this process.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::stand_in::StandIn;
use crate::lab::apiserver::ApiServer;

/// Where stand-ins listen.
const ADDRESS: &str = "127.0.0.1";

/// A stand-in that listens on the loopback until this is dropped.
#[derive(Debug)]
pub struct Served {
    name: String,
    address: SocketAddr,
    /// PEM.
    ca: String,
    listening: JoinHandle<()>,
}

/// A certificate for the loopback, and who signed it.
struct Identity {
    ca: String,
    config: ServerConfig,
}

impl StandIn {
    /// Listens on a port of 127.0.0.1 that is free. Needs a runtime in real time.
    ///
    /// While the member is unreachable, connections are closed before a word is said, and those that are open end.
    ///
    /// # Errors
    /// When there is no port to listen on.
    pub async fn serve(&self) -> io::Result<Served> {
        let identity = Identity::new(self.name()).map_err(io::Error::other)?;
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let acceptor = TlsAcceptor::from(Arc::new(identity.config));
        Ok(Served {
            name: self.name().to_owned(),
            address: listener.local_addr()?,
            ca: identity.ca,
            listening: tokio::spawn(listen(self.clone(), listener, acceptor)),
        })
    }
}

impl Served {
    /// The URL of the API server.
    pub fn server(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The certificate of the authority that vouches for it, PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// A kubeconfig for the user who may do everything.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_as(StandIn::ADMIN)
    }

    /// A kubeconfig for one of the stand-in's users.
    pub fn kubeconfig_as(&self, user: &str) -> String {
        let ca = BASE64_STANDARD.encode(&self.ca);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": self.name,
                "cluster": {"server": self.server(), "certificate-authority-data": ca},
            }],
            "users": [{"name": user, "user": {"token": ApiServer::token(user)}}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": user}}],
            "current-context": self.name,
        });
        serde_saphyr::to_string(&config).expect("a JSON value can be written as YAML")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Identity {
    fn new(name: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let mut authority = CertificateParams::default();
        let subject = &mut authority.distinguished_name;
        subject.push(DnType::CommonName, format!("lab member {name} CA"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = Issuer::new(authority.clone(), KeyPair::generate()?);
        let ca = authority.self_signed(issuer.key())?.pem();

        let mut server = CertificateParams::new([ADDRESS.to_owned(), "localhost".to_owned()])?;
        server.distinguished_name.push(DnType::CommonName, name);
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &issuer)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        Ok(Self { ca, config })
    }
}

async fn listen(member: StandIn, listener: TcpListener, acceptor: TlsAcceptor) {
    let mut connections = tokio::task::JoinSet::new();
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

/// Serves one connection for as long as the member can be reached.
async fn connection(member: StandIn, stream: TcpStream, acceptor: TlsAcceptor) {
    let mut reachable = member.reachable();
    let speaking = async {
        // A client that does not get along with us, or goes away, is no concern of the others.
        let Ok(stream) = acceptor.accept(stream).await else {
            return;
        };
        let service = TowerToHyperService::new(member.service(member.server()));
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await;
    };
    tokio::select! {
        () = speaking => {}
        _ = reachable.wait_for(|reachable| !reachable) => {}
    }
}
