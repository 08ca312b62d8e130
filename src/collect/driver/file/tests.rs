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
    assert_eq!(file.patience().with(DriverAction::Heal), two_minutes);
    assert_eq!(file.timeout(), two_minutes);
    assert_eq!(file.program(&file.hooks[&DriverAction::Join]), PathBuf::from("a"));
    assert_eq!(file.folder(), Path::new("/nowhere"));
}

#[test]
fn all_fields_are_read() {
    let file = parse(
        "timeout: 30s\nenv: {A: file}\nstandIns: false\nupgradeTo: v1.35.2\npatience: 1m\npatienceFor: {upgrade: 10m}\n\
         scale: {members: 3, atOnce: 1}\nhooks: {join: [a], leave: [b], upgrade: [c, --fast]}\n",
    )
    .expect("a file");
    assert_eq!(file.hooks[&DriverAction::Upgrade], ["c", "--fast"]);
    assert_eq!(file.timeout(), Duration::from_secs(30));
    assert_eq!(file.env["A"], "file");
    assert!(!file.has_fake_members() && file.members.is_empty());
    assert_eq!((file.scale.members, file.scale.at_once), (Some(3), 1));
    let patience = file.patience();
    assert_eq!(patience.with(DriverAction::Upgrade), Duration::from_secs(600));
    assert_eq!(patience.with(DriverAction::Join), Duration::from_secs(60));
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
fn unknown_keys_are_reported_with_their_place_and_the_nearest_name() {
    for (text, expected) in [
        (
            "hoks: {}\n",
            "line 1, column 1: unknown key `hoks`: did you mean `hooks`?",
        ),
        (
            "hooks:\n  join: [a]\n  leaf: [CANARY]\n",
            "line 3, column 3: unknown action `leaf`: did you mean `leave`?",
        ),
        (
            "hooks: {join: [a], leave: [b]}\npatienceFor:\n  jion: 2m\n",
            "line 3, column 3: unknown action `jion`: did you mean `join`?",
        ),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
    let other = refusal(&format!("{PAIR}zzz: 1\n"));
    assert!(
        other.contains("choose one of hooks, timeout, env, patience"),
        "{other}"
    );
}

#[test]
fn invalid_values_are_reported_without_secrets() {
    for (text, expected) in [
        (
            format!("{PAIR}timeout: CANARY\n"),
            "give a duration with its unit",
        ),
        (format!("{PAIR}timeout: 0s\n"), "give a duration with its unit"),
        (
            format!("{PAIR}patience: [CANARY]\n"),
            "line 2, column 1: expected a duration",
        ),
        (format!("{PAIR}patience: -5m\n"), "give a duration with its unit"),
        (format!("{PAIR}standIns: CANARY\n"), "line 2"),
        (format!("{PAIR}scale: {{members: CANARY}}\n"), "line 2"),
        (format!("{PAIR}scale: {{atOnce: 0}}\n"), "scale.atOnce is 0"),
        (
            format!("{PAIR}scale: {{members: 100000000}}\n"),
            "scale.members is 100000000, and a run tries at most 1000",
        ),
        (
            format!("{PAIR}members: [{{name: a, profile: CANARY}}]\n"),
            "NAMESPACE/NAME",
        ),
        (
            format!("{PAIR}members: [{{name: a}}, {{name: a}}]\n"),
            "is repeated",
        ),
        (
            format!("{PAIR}members: [{{name: a, kubeconfig: none}}]\n"),
            "there is no kubeconfig /nowhere/none",
        ),
        (
            format!("{PAIR}members: [{{name: a}}]\nscale: {{members: 2}}\n"),
            "there are 1 members",
        ),
        (
            "hooks: {join: CANARY, leave: [b]}\n".to_owned(),
            "line 1, column 9: expected a command as a list of words",
        ),
        (
            "hooks: {join: [], leave: [b]}\n".to_owned(),
            "hooks.join: its command has no words",
        ),
        (
            "hooks: {join: [./gone], leave: [b]}\n".to_owned(),
            "hooks.join: there is no program /nowhere/./gone",
        ),
        (
            format!("{PAIR}env: {{CONFORMANCE_RUN: CANARY}}\n"),
            "`CONFORMANCE_RUN` cannot be in the environment of hooks",
        ),
        (
            "hooks: {join: [a], leave: [b]\n".to_owned(),
            "this is not the YAML",
        ),
        (
            "hooks: {join: [a], join: [b]}\n".to_owned(),
            "`join` is given twice",
        ),
    ] {
        let error = refusal(&text);
        assert!(error.contains(expected), "{error} of {text}");
    }
}

#[test]
fn maps_of_older_versions_are_refused_with_the_form_to_write() {
    for (text, expected) in [
        (
            format!("{PAIR}patience: {{default: 3m, heal: 4m}}\n"),
            "line 2, column 11: expected a duration such as 2m; for single actions use `patienceFor`",
        ),
        (
            "hooks:\n  join: {command: [./CANARY], timeout: 3m}\n  leave: [b]\n".to_owned(),
            "line 2, column 9: expected a command as a list of words; `timeout` and `env` are keys of the file",
        ),
    ] {
        assert_eq!(refusal(&text), expected, "{text}");
    }
}

#[test]
fn contradictions_are_refused() {
    for (text, expected) in [
        ("{}", "there is no hook"),
        (
            "hooks: {join: [a], leave: [b], delete-profile: [c]}",
            "hooks.delete-profile: the run does this itself",
        ),
        ("hooks: {join: [a]}", "both of the hooks `join` and `leave`"),
        (
            "hooks: {leave: [a], restart: [b]}",
            "both of the hooks `join` and `leave`",
        ),
        (
            "standIns: false\nhooks: {break: [a]}",
            "both of the hooks `break` and `heal`",
        ),
        (
            "hooks: {join: [a], leave: [b], disconnect: [c]}",
            "both of the hooks `disconnect` and `reconnect`",
        ),
        (
            "hooks: {join: [a], leave: [b], break: [c], heal: [d]}",
            "the run breaks, heals and upgrades",
        ),
        (
            "upgradeTo: v1\nhooks: {join: [a], leave: [b]}",
            "the run breaks, heals and upgrades",
        ),
        (
            "standIns: false\nhooks: {upgrade: [a]}",
            "give both the hook `upgrade` and `upgradeTo`",
        ),
        (
            "standIns: true\nmembers: [{name: a}]\nhooks: {join: [a], leave: [b]}",
            "remove one of the two",
        ),
    ] {
        let error = refusal(text);
        assert!(error.contains(expected), "{error} of {text}");
    }
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
    assert!(refusal("hooks: {stop: [a]}\n").contains("`start`"));
}
