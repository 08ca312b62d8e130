//! Fake members behave as managers and the suite expect.

use std::{collections::BTreeSet, time::Duration};

use collect::clock::Clock;
use http::Request;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Client, Config, api::Api};
use serde_json::Value;

use super::{FakeMember, Leases, MemberState};

fn clock() -> Clock {
    Clock::starting_at("2026-11-20T10:00:00Z".parse().expect("a timestamp"))
}

fn member(state: MemberState) -> FakeMember {
    FakeMember::new("lisbon", clock(), state)
}

fn ask(member: &FakeMember) -> Client {
    member.client_as(FakeMember::ASKER, "tester/1.0")
}

async fn get(client: &Client, path: &str) -> Result<String, kube::Error> {
    let request = Request::get(path).body(Vec::new()).expect("a request");
    client.request_text(request).await
}

/// The code and text of an answer in plain text.
async fn raw(client: &Client, path: &str) -> (u16, String) {
    let request = Request::get(path).body(Vec::new().into()).expect("a request");
    let response = client.send(request).await.expect("an answer");
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body");
    (code, String::from_utf8_lossy(&body.to_bytes()).into_owned())
}

#[tokio::test(start_paused = true)]
async fn a_failing_check_makes_it_unready_in_the_real_servers_words() {
    let member = member(MemberState::default());
    let client = ask(&member);
    assert_eq!(raw(&client, "/readyz").await, (200, "ok".to_owned()));
    member.alter(|state| {
        state.failing_checks = BTreeSet::from(["etcd".to_owned(), "custom".to_owned()]);
    });
    for path in ["/readyz", "/readyz?verbose", "/livez", "/healthz"] {
        let (code, text) = raw(&client, path).await;
        assert_eq!(code, 500, "{path}");
        for check in ["etcd", "custom"] {
            let line = format!("\n[-]{check} failed: reason withheld\n");
            assert!(text.contains(&line), "{text}");
        }
        assert!(text.ends_with(" check failed\n"), "{text}");
    }
    let (code, text) = raw(&client, "/readyz?exclude=etcd&exclude=custom&exclude=x&verbose").await;
    assert_eq!(code, 200, "{text}");
    assert!(text.contains("[+]etcd excluded: ok\n"), "{text}");
    member.alter(|state| state.failing_checks.clear());
    assert_eq!(raw(&client, "/readyz").await, (200, "ok".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_while_the_control_plane_lives() {
    let clock = clock();
    let member = FakeMember::new("lisbon", clock, MemberState::default());
    let leases: Api<Lease> = Api::namespaced(ask(&member), "kube-system");
    let age = async |name: &str| {
        let lease = leases.get_opt(name).await.expect("an answer")?;
        let renewed: Timestamp = lease.spec?.renew_time?.0;
        Some((clock.now() - renewed).get_seconds())
    };
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(age("kube-scheduler").await, Some(1));
    assert_eq!(age("kube-controller-manager").await, Some(1));
    member.alter(|state| state.leases = Leases::Stale);
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(age("kube-scheduler").await, Some(60));
    member.alter(|state| state.leases = Leases::Absent);
    assert_eq!(age("kube-scheduler").await, None);
    member.alter(|state| state.leases = Leases::Stale);
    assert_eq!(age("kube-scheduler").await, Some(3600));
    member.alter(|state| state.leases = Leases::Alive);
    assert_eq!(age("kube-scheduler").await, Some(0));
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_member_refuses_connections_until_it_heals() {
    let member = member(MemberState::default());
    let client = ask(&member);
    member.alter(|state| state.unreachable = true);
    let error = get(&client, "/version")
        .await
        .expect_err("the member is unreachable");
    let kube::Error::Service(source) = &error else {
        panic!("{error:?}")
    };
    let source = source.downcast_ref::<std::io::Error>().expect("an I/O error");
    assert_eq!(source.kind(), std::io::ErrorKind::ConnectionRefused);
    member.alter(|state| state.unreachable = false);
    assert!(get(&client, "/version").await.is_ok());
}

#[tokio::test]
async fn serves_over_tls_as_long_as_it_can_be_reached() {
    let member = FakeMember::new("lisbon", Clock::system(), MemberState::default());
    let served = member.serve().await.expect("a port");
    let client = connect(&served.kubeconfig()).await;
    let version = client.apiserver_version().await.expect("a version");
    assert_eq!(version.git_version, "v1.34.2");
    let nodes = get(&client, "/api/v1/nodes").await.expect("nodes");
    let nodes: Value = serde_json::from_str(&nodes).expect("JSON");
    assert_eq!(nodes["items"].as_array().map(Vec::len), Some(3));
    let consumer = connect(&served.kubeconfig_as(FakeMember::CONSUMER)).await;
    let refused = get(&consumer, "/api/v1/nodes").await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));

    member.alter(|state| state.unreachable = true);
    assert!(get(&client, "/version").await.is_err());
    assert!(get(&consumer, "/version").await.is_err());
    member.alter(|state| state.unreachable = false);
    assert!(get(&client, "/version").await.is_ok());

    drop(served);
    assert!(get(&consumer, "/version").await.is_err());
}

async fn connect(kubeconfig: &str) -> Client {
    let kubeconfig = kube::config::Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    Client::try_from(config.expect("a way")).expect("a client")
}
