use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use collect::{
    clock::Clock,
    testbed::{Calls, MemberAddresses as _, NewAddress, PluginReply, PluginRun},
};
use evidence::MemberAddress;
use http::Request;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    },
};

use super::OnPorts;

/// Members on ports, and the record of their calls.
fn members() -> (Arc<Calls>, OnPorts) {
    let calls = Arc::new(Calls::new(Clock::system()));
    (Arc::clone(&calls), OnPorts::new(calls))
}

async fn open_member(members: &OnPorts, member: &str) -> MemberAddress {
    let new = NewAddress {
        member: member.to_owned(),
        ..NewAddress::default()
    };
    members.open(&new).await.expect("an address")
}

fn credential(calls: &Calls, address: &MemberAddress) -> String {
    let cluster = json!({
        "server": address.url, "tls-server-name": address.server_name, "config": {"member": address.member},
    });
    let reply = calls.ran(PluginRun {
        provider: "recorder".to_owned(),
        exec_info: Some(json!({"spec": {"cluster": cluster}}).to_string()),
        ..PluginRun::default()
    });
    let PluginReply::Print(credential) = reply else {
        panic!("{reply:?}")
    };
    let credential: Value = serde_json::from_str(&credential).expect("JSON");
    credential["status"]["token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

fn client(address: &MemberAddress, ca_data: &str, server_name: Option<&str>, token: &str) -> Client {
    let mut config = Config::new(address.url.parse().expect("a URL"));
    let pem = BASE64_STANDARD.decode(ca_data).expect("base64");
    let authority = CertificateDer::from_pem_slice(&pem).expect("a certificate");
    config.root_cert = Some(vec![authority.to_vec()]);
    config.tls_server_name = server_name.map(str::to_owned);
    config.auth_info.token = Some(token.to_owned().into());
    Client::try_from(config).expect("a client")
}

async fn get(client: &Client, path: &str) -> kube::Result<Value> {
    client
        .request(Request::get(path).body(Vec::new()).expect("a request"))
        .await
}

async fn nodes(client: &Client) -> kube::Result<Value> {
    get(client, "/api/v1/nodes").await
}

/// What reached members, once it is as much as that: `connected`, `broken`, or the status code of a request. A server may see
/// the end of a handshake later than its client.
async fn assert_seen(calls: &Calls, expected: &[(&str, &str)]) {
    while calls.recorded().len() < expected.len() {
        tokio::task::yield_now().await;
    }
    let outcomes = calls.recorded().into_iter().map(|call| {
        let what = match call.what {
            evidence::CallEvent::Failed { .. } => "broken".to_owned(),
            evidence::CallEvent::Connected {} => "connected".to_owned(),
            evidence::CallEvent::Request { code, .. } => code.to_string(),
            evidence::CallEvent::Proxied { .. } => "proxied".to_owned(),
            evidence::CallEvent::Closed {} => "ended".to_owned(),
        };
        (call.member, what)
    });
    let outcomes: Vec<(String, String)> = outcomes.collect();
    let outcomes: Vec<(&str, &str)> = outcomes
        .iter()
        .map(|(member, what)| (&**member, &**what))
        .collect();
    assert_eq!(outcomes, expected);
}

#[tokio::test]
async fn a_member_takes_its_own_credential_alone() {
    let (calls, members) = members();
    let a = open_member(&members, "a").await;
    let b = open_member(&members, "b").await;
    let (of_a, of_b) = (credential(&calls, &a), credential(&calls, &b));
    let list = nodes(&client(&a, &a.ca_data, None, &of_a)).await.expect("a list");
    assert_eq!(list["kind"], "NodeList");
    let refused = nodes(&client(&a, &a.ca_data, None, &of_b)).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 401));
    let other_authority = nodes(&client(&a, &b.ca_data, None, &of_a)).await;
    other_authority.expect_err("another authority");
    let those = [
        ("a", "connected"),
        ("a", "200"),
        ("a", "connected"),
        ("a", "401"),
        ("a", "broken"),
    ];
    assert_seen(&calls, &those).await;
}

#[tokio::test]
async fn server_names_tell_members_behind_one_address_apart() {
    let (calls, members) = members();
    let mut shared_url = None;
    let mut opened = Vec::new();
    for member in ["a", "b"] {
        let new = NewAddress {
            member: member.to_owned(),
            server_name: Some(format!("{member}.example")),
            shared_url: shared_url.take(),
        };
        let address = members.open(&new).await.expect("an address");
        shared_url = Some(address.url.clone());
        opened.push(address);
    }
    assert_eq!(opened[0].url, opened[1].url);
    for address in &opened {
        let token = credential(&calls, address);
        let named = client(address, &address.ca_data, address.server_name.as_deref(), &token);
        nodes(&named).await.expect("a list");
        let unnamed = client(address, &address.ca_data, None, &token);
        nodes(&unnamed).await.expect_err("no certificate for an address");
    }
    let those = [
        ("a", "connected"),
        ("a", "200"),
        ("", "broken"),
        ("b", "connected"),
        ("b", "200"),
        ("", "broken"),
    ];
    assert_seen(&calls, &those).await;
}

#[tokio::test]
async fn members_serve_what_consumers_look_for() {
    let (calls, members) = members();
    let address = open_member(&members, "a").await;
    let client = client(&address, &address.ca_data, None, &credential(&calls, &address));
    for (path, kind) in [
        ("/apis", "APIGroupList"),
        ("/apis/batch", "APIGroup"),
        ("/apis/batch/v1", "APIResourceList"),
        ("/apis/batch/v1/namespaces/default/jobs", "JobList"),
        ("/apis/apps/v1/deployments", "DeploymentList"),
        ("/apis/kueue.x-k8s.io/v1beta2/localqueues", "LocalQueueList"),
        ("/api/v1/namespaces", "NamespaceList"),
        ("/api/v1/pods", "PodList"),
    ] {
        let answer = get(&client, path).await.expect(path);
        assert_eq!(answer["kind"], kind, "{path}");
    }
}

/// Sends a request on a connection, and reads until the answer has such an end.
async fn exchange(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &str, end: &str) -> String {
    stream.write_all(request.as_bytes()).await.expect("it is sent");
    let mut answer = String::new();
    while !answer.ends_with(end) {
        let mut some = [0; 1024];
        let length = stream.read(&mut some).await.expect("an answer");
        assert_ne!(length, 0, "it ends at {answer:?}");
        answer += std::str::from_utf8(&some[..length]).expect("text");
    }
    answer
}

fn tls_connector(address: &MemberAddress) -> TlsConnector {
    let pem = BASE64_STANDARD.decode(&address.ca_data).expect("base64");
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(&pem).expect("a certificate");
    roots.add(authority).expect("an authority");
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn connections_through_the_proxy_are_marked() {
    let (calls, members) = members();
    let address = open_member(&members, "a").await;
    let proxy = members.open_proxy().await.expect("a proxy");
    let of_proxy = proxy.strip_prefix("http://").expect("a URL");
    let host = address.url.strip_prefix("https://").expect("a URL");
    let mut stream = TcpStream::connect(of_proxy).await.expect("a connection");
    let connect = format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let led = exchange(&mut stream, &connect, "\r\n\r\n").await;
    assert!(led.starts_with("HTTP/1.1 200"), "{led}");
    let name = ServerName::try_from("localhost").expect("a name");
    let connecting = tls_connector(&address).connect(name, stream).await;
    let mut stream = connecting.expect("a handshake");
    let token = credential(&calls, &address);
    let request =
        format!("GET /api/v1/nodes HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
    let nodes = exchange(&mut stream, &request, "}").await;
    assert!(nodes.starts_with("HTTP/1.1 200"), "{nodes}");
    calls.end_connections("a");
    let those = [("", "proxied"), ("a", "connected"), ("a", "200"), ("a", "ended")];
    assert_seen(&calls, &those).await;
    let marked = calls
        .recorded()
        .into_iter()
        .map(|call| (call.hello, call.via_proxy));
    let expected = [(false, false), (true, true), (true, true), (false, false)];
    assert_eq!(marked.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_connection_without_a_hello_is_recorded_as_such() {
    let (calls, members) = members();
    let address = open_member(&members, "a").await;
    let host = address.url.strip_prefix("https://").expect("a URL");
    drop(TcpStream::connect(host).await.expect("a connection"));
    assert_seen(&calls, &[("a", "broken")]).await;
    assert!(!calls.recorded()[0].hello);
}

#[tokio::test]
async fn a_proxy_does_nothing_but_make_a_way() {
    let (calls, members) = members();
    let proxy = members.open_proxy().await.expect("a proxy");
    let of_proxy = proxy.strip_prefix("http://").expect("a URL");
    let mut stream = TcpStream::connect(of_proxy).await.expect("a connection");
    let request = "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n";
    let refused = exchange(&mut stream, request, "\r\n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 405"), "{refused}");
    assert!(calls.recorded().is_empty());
}
