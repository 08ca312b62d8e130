//! A hub that asks for client certificates, and rotates them. In real time: it is about TLS.

use std::{fs, path::Path, sync::Arc};

use apiserver::{Loopback, User, new_token};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tempfile::TempDir;
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
        server::WebPkiClientVerifier,
    },
};

use super::*;

/// Signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: Certificate,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    fn sign(&self, usage: ExtendedKeyUsagePurpose) -> (Certificate, KeyPair) {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("a name");
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().expect("a key");
        (params.signed_by(&key, &self.issuer).expect("a certificate"), key)
    }

    /// Writes a new client certificate and its key over those in the folder.
    fn write_client(&self, folder: &Path) {
        let (certificate, key) = self.sign(ExtendedKeyUsagePurpose::ClientAuth);
        fs::write(folder.join("client.crt"), certificate.pem()).expect("written");
        fs::write(folder.join("client.key"), key.serialize_pem()).expect("written");
    }

    /// A server with a certificate of this authority, which takes client certificates of that one alone.
    fn acceptor(&self, clients: &Authority) -> TlsAcceptor {
        let (certificate, key) = self.sign(ExtendedKeyUsagePurpose::ServerAuth);
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut roots = RootCertStore::empty();
        roots.add(clients.certificate.der().clone()).expect("a root");
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(vec![certificate.der().clone()], key);
        TlsAcceptor::from(Arc::new(config.expect("a certificate")))
    }
}

#[tokio::test]
async fn a_client_certificate_that_is_rotated_is_read_again() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let token = new_token();
    world.server().add_token(&token, User::master("conformance"));
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("kubeconfig");
    let [hub, old, new] = [Authority::new(), Authority::new(), Authority::new()];
    let serve = async |port: u16, clients: &Authority| {
        let mut loopback = Loopback::bind("hub", port).await.expect("a port");
        loopback.acceptor = hub.acceptor(clients);
        let port = loopback.listener.local_addr().expect("an address").port();
        (port, tokio::spawn(loopback.serve(world.server().clone())))
    };
    let (port, serving) = serve(0, &old).await;
    fs::write(folder.path().join("ca.crt"), hub.certificate.pem()).expect("written");
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": "ca.crt",
        }}],
        "users": [{"name": "monitor", "user": {
            "token": token, "client-certificate": "client.crt", "client-key": "client.key",
        }}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "monitor"}}],
    });
    fs::write(&path, kubeconfig.to_string()).expect("written");
    old.write_client(folder.path());
    let serve_again = async || _ = serve(port, &new).await;
    let write = |()| new.write_client(folder.path());
    world.is_followed(&path, serving, serve_again, write).await;
}

/// All that the kubeconfig names is rotated in its files: the authority of the hub, the client's certificate and the token.
#[tokio::test]
async fn files_that_are_rotated_together_are_read_again() {
    let world = World::new().await;
    world.profile("a", "m").await;
    let [old_token, new_token] = [new_token(), new_token()];
    world.server().add_token(&old_token, User::master("conformance"));
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("kubeconfig");
    let [old, new] = [Authority::new(), Authority::new()];
    let serve = async |port: u16, authority: &Authority| {
        let mut loopback = Loopback::bind("hub", port).await.expect("a port");
        loopback.acceptor = authority.acceptor(authority);
        let port = loopback.listener.local_addr().expect("an address").port();
        (port, tokio::spawn(loopback.serve(world.server().clone())))
    };
    let write = |authority: &Authority, token: &str| {
        fs::write(folder.path().join("ca.crt"), authority.certificate.pem()).expect("written");
        fs::write(folder.path().join("token"), token).expect("written");
        authority.write_client(folder.path());
    };
    let (port, serving) = serve(0, &old).await;
    write(&old, &old_token);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": "ca.crt",
        }}],
        "users": [{"name": "monitor", "user": {
            "tokenFile": "token", "client-certificate": "client.crt", "client-key": "client.key",
        }}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "monitor"}}],
    });
    fs::write(&path, kubeconfig.to_string()).expect("written");
    let serve_again = async || {
        world.server().revoke_token(&old_token);
        world.server().add_token(&new_token, User::master("conformance"));
        _ = serve(port, &new).await;
    };
    let rotate = |()| write(&new, &new_token);
    world.is_followed(&path, serving, serve_again, rotate).await;
}
