//! A server over TLS on 127.0.0.1, for programs outside of this process.

use std::{error::Error, io, net::SocketAddr, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
};
use tower::Service;

use super::api_server::ApiServer;
use crate::request::ResponseBody;

/// The address to listen on.
const ADDRESS: &str = "127.0.0.1";

/// A port of 127.0.0.1 with a TLS certificate of its own.
pub struct Loopback {
    /// Accepts connections on the port.
    pub listener: TcpListener,
    /// Speaks TLS with the certificate.
    pub acceptor: TlsAcceptor,
    endpoint: Endpoint,
}

/// How clients reach a [`Loopback`].
#[derive(Clone, Debug)]
pub struct Endpoint {
    name: String,
    address: SocketAddr,
    /// PEM.
    ca: String,
}

/// A server certificate, and the CA that signed it.
pub struct ServerIdentity {
    /// The certificate of the CA, as PEM.
    pub ca: String,
    /// What a server needs to show the certificate.
    pub config: ServerConfig,
}

impl Loopback {
    /// Listens on `port`, or on a free port if it is 0. `name` is the cluster's name in kubeconfigs. Needs a runtime in
    /// real time.
    ///
    /// # Errors
    /// When the port is taken, or no certificate can be made.
    pub async fn bind(name: &str, port: u16) -> io::Result<Self> {
        let identity = ServerIdentity::new(name, &[ADDRESS, "localhost"])?;
        let listener = TcpListener::bind((ADDRESS, port)).await?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(identity.config)),
            endpoint: Endpoint {
                name: name.to_owned(),
                address: listener.local_addr()?,
                ca: identity.ca,
            },
            listener,
        })
    }

    /// How clients reach it.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Serves `server` for as long as the future is polled.
    pub async fn serve(self, server: ApiServer) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else { continue };
                    connections.spawn(serve_tls(stream, self.acceptor.clone(), server.clone()));
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

impl Endpoint {
    /// The URL of the API server.
    pub fn server(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The certificate of the CA, as PEM.
    pub fn ca(&self) -> &str {
        &self.ca
    }

    /// A kubeconfig for one of the server's users, with [`ApiServer::token`].
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

impl ServerIdentity {
    /// Makes a CA, and a certificate for these host names and IP addresses. `name` is for people.
    ///
    /// # Errors
    /// When one of them is neither.
    pub fn new(name: &str, hosts: &[&str]) -> io::Result<Self> {
        Self::signed(name, hosts).map_err(io::Error::other)
    }

    fn signed(name: &str, hosts: &[&str]) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut authority = CertificateParams::default();
        let subject = &mut authority.distinguished_name;
        subject.push(DnType::CommonName, format!("{name} CA"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = Issuer::new(authority.clone(), KeyPair::generate()?);
        let ca = authority.self_signed(issuer.key())?.pem();

        let mut server =
            CertificateParams::new(hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())?;
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

/// Serves one TLS connection. Returns when the client goes away, and when it breaks the protocol.
pub async fn serve_tls<S>(stream: TcpStream, acceptor: TlsAcceptor, service: S)
where
    S: Service<
            Request<Incoming>,
            Response = Response<ResponseBody>,
            Error: Into<Box<dyn Error + Send + Sync>>,
        > + Clone,
{
    if let Ok(stream) = acceptor.accept(stream).await {
        let _ = hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
            .await;
    }
}
