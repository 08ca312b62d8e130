//! Calling endpoints.

use super::{credentials::Switchboard, *};

async fn publish(world: &World, name: &str, endpoints: &str) {
    world.profile(name).await;
    let property = json!({"name": "cluster-endpoints.k8s.io", "value": endpoints});
    world.set_status(name, json!({"properties": [property]})).await;
}

/// Calls the endpoints once.
async fn call(world: &World, dial: impl Dial + 'static) -> Evidence {
    let mut plan = asking(0, vec![way("z", Fake::well().client())]);
    plan.members.dial = Arc::new(dial);
    world.collect(&plan, async {}).await
}

#[tokio::test(start_paused = true)]
async fn any_answer_will_do_and_no_credential_is_sent() {
    let world = World::new().await;
    let with_password = r#"["https://u:CANARY@a.example:6443/k8s/?t=CANARY","b.example:6443"]"#;
    publish(&world, "a", with_password).await;
    publish(&world, "b", "http://b.example:80, unknown").await;
    publish(&world, "c", "stranger.example:6443").await;
    let a = Fake::new(|_, _| (403, "CANARY".to_owned()));
    let hosts = [
        ("a.example:6443".to_owned(), a.clone()),
        ("b.example:6443".to_owned(), Fake::slow(60)),
    ];
    let evidence = call(&world, Switchboard(hosts.into())).await;
    let calls = evidence.endpoint_calls.iter();
    let calls = calls.map(|call| (call.profile.name.as_str(), call.code, call.reason.as_str()));
    let expected = [
        ("a", Some(403), ""),
        ("a", None, "no answer came for 10 s"),
        ("b", None, "it is not to be called over TLS"),
        ("c", None, "no server answers there"),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    assert_eq!(a.seen(), [("GET".into(), "/version".into(), String::new())]);
}

#[tokio::test(start_paused = true)]
async fn a_profile_that_does_not_answer_is_called_again() {
    let world = World::new().await;
    publish(&world, "a", "a.example:6443").await;
    struct Flaky(Fake, Mutex<u32>);
    impl Dial for Flaky {
        fn connect(&self, _: Config) -> Result<Client, ClientError> {
            let mut failures = self.1.lock().expect("no panic");
            *failures += 1;
            match *failures {
                1 => Err(ClientError::Refused("network is unreachable".to_owned())),
                _ => Ok(self.0.client()),
            }
        }
    }
    let answering = Fake::new(|_, _| (401, String::new()));
    let evidence = call(&world, Flaky(answering, Mutex::new(0))).await;
    let codes: Vec<_> = evidence.endpoint_calls.iter().map(|call| call.code).collect();
    assert_eq!(codes, [Some(401)]);
}
