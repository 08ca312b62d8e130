//! Stand-ins behave as managers and the suite expect.

use std::{collections::BTreeSet, time::Duration};

use collect::clock::Clock;
use http::Request;
use jiff::Timestamp;
use k8s_openapi::api::{
    authentication::v1::{SelfSubjectReview, TokenRequest},
    authorization::v1::SelfSubjectAccessReview,
    coordination::v1::Lease,
    core::v1::ServiceAccount,
};
use kube::{
    Client, Config,
    api::{Api, PostParams},
};
use serde_json::{Value, json};

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
    client
        .request_text(Request::get(path).body(Vec::new()).expect("a request"))
        .await
}

/// The code and text of an answer in plain text.
async fn raw(client: &Client, path: &str) -> (u16, String) {
    let request = Request::get(path).body(Vec::new().into()).expect("a request");
    let response = client.send(request).await.expect("an answer");
    let code = response.status().as_u16();
    let body = http_body_util::BodyExt::collect(response.into_body())
        .await
        .expect("a body");
    (code, String::from_utf8_lossy(&body.to_bytes()).into_owned())
}

#[tokio::test(start_paused = true)]
async fn a_failing_check_makes_it_unready_in_the_real_servers_words() {
    let member = member(MemberState::default());
    let client = ask(&member);
    assert_eq!(raw(&client, "/readyz").await, (200, "ok".to_owned()));
    let (code, text) = raw(&client, "/readyz?verbose").await;
    assert_eq!(code, 200);
    assert!(text.starts_with("[+]ping ok\n[+]log ok\n[+]etcd ok\n"), "{text}");
    assert!(text.ends_with("[+]shutdown ok\nreadyz check passed\n"), "{text}");

    member.alter(|state| {
        state.failing_checks = BTreeSet::from(["etcd".to_owned(), "custom".to_owned()]);
    });
    for path in ["/readyz", "/readyz?verbose", "/livez", "/healthz"] {
        let (code, text) = raw(&client, path).await;
        assert_eq!(code, 500, "{path}");
        assert!(text.contains("\n[-]etcd failed: reason withheld\n"), "{text}");
        assert!(text.contains("\n[-]custom failed: reason withheld\n"), "{text}");
        assert!(text.ends_with(" check failed\n"), "{text}");
    }
    // Single checks need more rights.
    assert_eq!(raw(&client, "/readyz/etcd").await.0, 403);
    let admin = member.client_as(FakeMember::ADMIN, "tester/1.0");
    assert_eq!(raw(&admin, "/readyz/etcd").await.0, 500);
    assert_eq!(raw(&admin, "/readyz/ping").await, (200, "ok".to_owned()));
    assert_eq!(raw(&admin, "/readyz/nonesuch").await.0, 404);
    let (code, text) = raw(&client, "/readyz?exclude=etcd&exclude=custom&exclude=x&verbose").await;
    assert_eq!(code, 200, "{text}");
    assert!(text.contains("[+]etcd excluded: ok\n"), "{text}");
    assert!(text.contains("no matches for \"x\"\n"), "{text}");

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

#[tokio::test(start_paused = true)]
async fn credentials_tell_apart_who_may_do_what() {
    let member = member(MemberState::default());
    member.admit("known", "scheduler", FakeMember::CONSUMER);
    member.admit("mighty", "backup", FakeMember::CLUSTER_ADMIN);
    let who = async |client: Client| {
        let reviews: Api<SelfSubjectReview> = Api::all(client.clone());
        let review = serde_json::from_value(json!({})).expect("a review");
        let review = reviews.create(&PostParams::default(), &review).await;
        let user = match review {
            Ok(review) => review.status?.user_info?.username?,
            Err(kube::Error::Api(status)) => return Some((status.code.to_string(), false)),
            Err(error) => panic!("{error}"),
        };
        let reviews: Api<SelfSubjectAccessReview> = Api::all(client);
        let everything =
            json!({"spec": {"resourceAttributes": {"verb": "*", "group": "*", "resource": "*"}}});
        let review = serde_json::from_value(everything).expect("a review");
        let review = reviews.create(&PostParams::default(), &review).await.ok()?;
        Some((user, review.status?.allowed))
    };
    let with = |token: &str| member.client_with_token(token, "tester/1.0");
    assert_eq!(who(with("known")).await, Some(("scheduler".to_owned(), false)));
    assert_eq!(who(with("mighty")).await, Some(("backup".to_owned(), true)));
    assert_eq!(who(with("unknown")).await, Some(("401".to_owned(), false)));
    for (user, everything) in [
        (FakeMember::ADMIN, true),
        (FakeMember::CLUSTER_ADMIN, true),
        (FakeMember::ASKER, false),
        (FakeMember::CONSUMER, false),
    ] {
        let client = member.client_as(user, "tester/1.0");
        assert_eq!(who(client).await, Some((user.to_owned(), everything)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_account_gets_a_token_that_opens_the_member_and_nothing_in_it() {
    let member = member(MemberState::default());
    let admin = member.client_as(FakeMember::ADMIN, "tester/1.0");
    let accounts: Api<ServiceAccount> = Api::namespaced(admin, "default");
    let request: TokenRequest =
        serde_json::from_value(json!({"spec": {"audiences": []}})).expect("a request");
    let none = accounts
        .create_token_request("sa", &PostParams::default(), &request)
        .await;
    assert!(matches!(none, Err(kube::Error::Api(status)) if status.code == 404));

    let account = serde_json::from_value(json!({"metadata": {"name": "sa"}})).expect("an account");
    accounts
        .create(&PostParams::default(), &account)
        .await
        .expect("created");
    let mut tokens = BTreeSet::new();
    for _ in 0..2 {
        let given = accounts
            .create_token_request("sa", &PostParams::default(), &request)
            .await;
        let token = given.expect("an answer").status.expect("a status").token;
        tokens.insert(token.expect("a token"));
    }
    assert_eq!(tokens.len(), 2, "each is its own");
    let client = member.client_with_token(tokens.first().expect("one"), "tester/1.0");
    let refused = get(&client, "/api/v1/nodes").await;
    let Err(kube::Error::Api(status)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(status.code, 403);
    assert!(status.message.contains("system:serviceaccount:default:sa"));
}

#[tokio::test]
async fn serves_over_tls_as_long_as_it_can_be_reached() {
    let member = FakeMember::new("lisbon", Clock::system(), MemberState::default());
    let served = member.serve().await.expect("a port");
    let client = connect(&served.kubeconfig()).await;
    let version = client.apiserver_version().await.expect("a version");
    assert_eq!(version.git_version, "v1.34.2");
    let nodes: Value =
        serde_json::from_str(&get(&client, "/api/v1/nodes").await.expect("nodes")).expect("JSON");
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
