use super::*;

fn parse(text: &str) -> Result<DriverFile, String> {
    DriverFile::parse(text, PathBuf::from("/nowhere/driver.yaml"))
}

fn refusal(text: &str) -> String {
    let error = parse(text).expect_err(text);
    assert!(!error.contains("CANARY"), "{error}");
    error
}

const PAIR: &str = "hooks: {join: [a], leave: [b]}\n";

#[test]
fn omitted_fields_have_defaults() {
    let file = parse(PAIR).expect("a file");
    assert!(file.has_fake_members());
    assert_eq!((file.scale.members, file.scale.at_once), (None, 10));
    let two_minutes = Duration::from_secs(120);
    assert_eq!(file.patience_with(DriverAction::Heal), two_minutes);
    assert_eq!(file.timeout(), two_minutes);
    assert_eq!(file.program(&file.hooks[&DriverAction::Join]), PathBuf::from("a"));
    assert_eq!(file.folder(), Path::new("/nowhere"));
}

#[test]
fn all_fields_are_read() {
    let file = parse(
        "timeout: 30s\nenv: {A: file}\nstandIns: false\nupgradeTo: v1.35.2\npatience: 1m\npatienceFor: {upgrade: 10m}\n\
         scale: {members: 3, atOnce: 1}\nhooks: {join: [a, 5, true], leave: [b], upgrade: [c, --fast]}\n",
    )
    .expect("a file");
    assert_eq!(file.hooks[&DriverAction::Join], ["a", "5", "true"]);
    assert_eq!(file.hooks[&DriverAction::Upgrade], ["c", "--fast"]);
    assert_eq!(file.timeout(), Duration::from_secs(30));
    assert_eq!(file.env["A"], "file");
    assert!(!file.has_fake_members() && file.members.is_empty());
    assert_eq!((file.scale.members, file.scale.at_once), (Some(3), 1));
    assert_eq!(
        file.patience_with(DriverAction::Upgrade),
        Duration::from_secs(600)
    );
    assert_eq!(file.patience_with(DriverAction::Join), Duration::from_secs(60));
}

#[test]
fn own_members_replace_fake_members() {
    let file = parse(&format!(
        "{PAIR}members: [{{name: lisbon, profile: fleet/lisbon-1}}, {{name: oslo}}]\n"
    ));
    let file = file.expect("a file");
    let profile = file.members[0].profile.as_ref();
    assert_eq!(profile.map(|key| key.name.as_str()), Some("lisbon-1"));
    assert_eq!(file.members[1].name, "oslo");
    assert!(!file.has_fake_members());
}

#[test]
fn errors_are_reported_with_their_place_and_without_secrets() {
    for (text, expected) in [
        (
            "hoks: {}",
            "line 2, column 1: unknown key `hoks`: did you mean `hooks`?",
        ),
        ("zzz: 1", "choose one of hooks, timeout, env, patience"),
        (
            "patienceFor: {jion: 2m}",
            "line 2, column 15: unknown action `jion`: did you mean `join`?",
        ),
        ("timeout: CANARY", "give a duration with its unit"),
        ("timeout: 0s", "give a duration with its unit"),
        (
            "patience: {default: 3m, heal: 4m}",
            "line 2, column 11: expected a duration, for example 2m; for single actions use `patienceFor`",
        ),
        ("patience: -5m", "give a duration with its unit"),
        ("standIns: CANARY", "line 2"),
        ("scale: {members: CANARY}", "line 2"),
        ("scale: {atOnce: 0}", "scale.atOnce is 0"),
        (
            "scale: {members: 100000000}",
            "scale.members is 100000000, and a run tries at most 1000",
        ),
        ("members: [{name: a, profile: CANARY}]", "NAMESPACE/NAME"),
        ("members: [{name: a}, {name: a}]", "is repeated"),
        (
            "members: [{name: a, kubeconfig: none}]",
            "there is no kubeconfig /nowhere/none",
        ),
        ("members: [{name: a}]\nscale: {members: 2}", "there are 1 members"),
        (
            "env: {CONFORMANCE_RUN: CANARY}",
            "`CONFORMANCE_RUN` cannot be in the environment of hooks",
        ),
        ("upgradeTo: v1", "the run breaks, heals and upgrades"),
        ("standIns: true\nmembers: [{name: a}]", "remove one of the two"),
    ] {
        let error = refusal(&format!("{PAIR}{text}\n"));
        assert!(error.contains(expected), "{error} of {text}");
    }
}

#[test]
fn hooks_that_cannot_be_called_are_refused() {
    for (hooks, expected) in [
        ("", "there is no hook"),
        (
            "join: CANARY, leave: [b]",
            "expected a command as a list of words",
        ),
        (
            "join: {command: [./CANARY], timeout: 3m}, leave: [b]",
            "line 1, column 15: expected a command as a list of words; `timeout` and `env` are keys of the file",
        ),
        ("join: [], leave: [b]", "hooks.join: its command has no words"),
        (
            "join: [./gone], leave: [b]",
            "hooks.join: there is no program /nowhere/./gone",
        ),
        ("join: [a], join: [b]", "`join` is given twice"),
        (
            "join: [a], leaf: [CANARY]",
            "unknown action `leaf`: did you mean `leave`?",
        ),
        (
            "join: [a], leave: [b], delete-profile: [c]",
            "hooks.delete-profile: the run does this itself",
        ),
        ("join: [a]", "both of the hooks `join` and `leave`"),
        ("leave: [a], restart: [b]", "both of the hooks `join` and `leave`"),
        ("break: [a]", "both of the hooks `break` and `heal`"),
        (
            "disconnect: [c]",
            "both of the hooks `disconnect` and `reconnect`",
        ),
        ("stop: [a]", "both of the hooks `stop` and `start`"),
        (
            "join: [a], leave: [b], break: [c], heal: [d]",
            "the run breaks, heals and upgrades",
        ),
    ] {
        let error = refusal(&format!("hooks: {{{hooks}}}\n"));
        assert!(error.contains(expected), "{error} of {hooks}");
    }
    let error = refusal("standIns: false\nhooks: {upgrade: [a]}");
    assert!(
        error.contains("give both the hook `upgrade` and `upgradeTo`"),
        "{error}"
    );
    assert!(refusal("hooks: {join: [a").contains("this is not the YAML"));
    assert!(parse("hooks: {restart: [a]}").is_ok());
}

#[test]
fn the_template_is_valid() {
    let template = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/drivers/template.yaml"
    );
    let file = DriverFile::read(Path::new(template)).expect("a driver file");
    assert!(file.has_fake_members());
    assert!(file.hooks.contains_key(&DriverAction::Join));
}

fn consumer(more: &str) -> String {
    format!("consumer: {{namespaces: [a], providers: [p], recorder: r.json, {more}}}")
}

#[test]
fn a_consumer_is_read() {
    let read = |more: &str| parse(&consumer(more)).expect(more).consumer.expect("a consumer");
    let claims = read("reads: [placements], decision: web-1").claims();
    assert!(claims.acts_on_placements_alone());
    assert_eq!(claims.decision.as_deref(), Some("web-1"));
    let both = read("reads: [placements, profiles]").claims();
    assert!(!both.acts_on_placements_alone());
    assert!(!read("user: u").claims().reads_placements());
    assert_eq!(read("user: u, agents: [sync, gate]").agents, ["sync", "gate"]);
    let outputs = "outputs: [{argocd: {namespace: argocd}}, {multikueue: {}}, {kubeconfig: {path: c.yaml}}, {http: {url: 'http://h/x', pointer: /y}}]";
    assert_eq!(
        read(outputs).outputs,
        [
            OutputPlace::Argocd {
                namespace: "argocd".to_owned()
            },
            OutputPlace::Multikueue {},
            OutputPlace::Kubeconfig {
                path: PathBuf::from("/nowhere/c.yaml")
            },
            OutputPlace::Http {
                url: "http://h/x".parse().expect("a URL"),
                pointer: "/y".to_owned()
            },
        ]
    );
}

#[test]
fn a_consumer_is_refused_with_the_reason() {
    for (field, expected) in [
        ("decision: web", "reads: [placements]"),
        ("reads: [placements], decision: Web", "reads: [placements]"),
        ("reads: [placements], decision: web-", "reads: [placements]"),
        ("labels: {'a b': c}", "consumer.labels: a key"),
        ("labels: {a: 'b c'}", "consumer.labels: a key or a value"),
        ("labels: {conformance.clusterprofile/run: a}", "by another one"),
        (
            "execApiVersion: v1",
            "consumer.execApiVersion: expected client.authentication",
        ),
        ("user: u, agents: [sync/v1]", "consumer.agents: expected only"),
        ("outputs: [{http: {url: 'ftp://h'}}]", "begins with http://"),
    ] {
        let refusal = refusal(&consumer(field));
        assert!(refusal.contains(expected), "{field}: {refusal}");
    }
}
