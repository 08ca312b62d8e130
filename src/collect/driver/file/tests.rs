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
    assert_eq!(
        file.scale(),
        Some(Scale {
            members: 50,
            at_once: 10
        })
    );
    assert_eq!(file.patience.with(DriverAction::Heal), Duration::from_secs(120));
    let join = &file.hooks[&DriverAction::Join];
    assert_eq!(
        (file.program(join), file.timeout(join)),
        (PathBuf::from("a"), TIMEOUT)
    );
    assert_eq!(file.folder(), Path::new("/nowhere"));
}

#[test]
fn a_hook_overrides_the_file() {
    let file = parse(
        "timeout: 30s\nenv: {A: file, B: file}\nstandIns: false\nupgradeTo: v1.35.2\npatience: {default: 1m, upgrade: 10m}\n\
         scale: {members: 3, atOnce: 1}\nhooks:\n  join: [a]\n  leave: [b]\n  upgrade:\n    command: [c, --fast]\n    \
         timeout: 1h\n    env: {B: hook}\n",
    )
    .expect("a file");
    let upgrade = &file.hooks[&DriverAction::Upgrade];
    assert_eq!(file.arguments(upgrade), ["--fast"]);
    assert_eq!(file.timeout(upgrade), Duration::from_secs(3600));
    let env: Vec<_> = file.env(upgrade).into_iter().collect();
    let pairs = [("A", "file"), ("B", "hook")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(env, pairs);
    assert_eq!(
        file.timeout(&file.hooks[&DriverAction::Join]),
        Duration::from_secs(30)
    );
    assert!(!file.has_fake_members() && file.members.is_empty());
    assert_eq!(
        file.scale(),
        Some(Scale {
            members: 3,
            at_once: 1
        })
    );
    assert_eq!(
        file.patience.with(DriverAction::Upgrade),
        Duration::from_secs(600)
    );
    assert_eq!(file.patience.with(DriverAction::Join), Duration::from_secs(60));
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
    // A run joins many of them only if the file says so.
    assert_eq!((file.has_fake_members(), file.scale()), (false, None));
    let file = parse(&format!(
        "{PAIR}members: [{{name: lisbon}}]\nscale: {{atOnce: 2}}\n"
    ));
    assert_eq!(file.expect("a file").scale(), None);
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
            "hooks:\n  join: {comand: [a]}\n  leave: [b]\n",
            "line 2, column 10: unknown key `comand`: did you mean `command`?",
        ),
        (
            "hooks: {join: [a], leave: [b]}\npatience:\n  jion: 2m\n",
            "line 3, column 3: unknown action `jion`: did you mean `join`?",
        ),
        (
            "hooks: {join: {}, leave: [b]}\n",
            "line 1, column 15: `command` is missing",
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
            "expected a duration such as 2m",
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
            "expected a command as a list of words",
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
            "hooks: {join: {command: [a], env: {CONFORMANCE_RUN: CANARY}}, leave: [b]}\n".to_owned(),
            "`CONFORMANCE_RUN` cannot be in its environment",
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

#[test]
fn a_decision_key_needs_a_consumer_of_placements() {
    let consumer =
        |more: &str| format!("consumer: {{namespaces: [a], providers: [p], recorder: r.json, {more}}}");
    let read = |more: &str| {
        parse(&consumer(more))
            .expect(more)
            .consumer
            .expect("a consumer")
            .claims()
    };
    let claims = read("reads: [placements], decision: web-1");
    assert!(claims.acts_on_placements_alone());
    assert_eq!(claims.decision.as_deref(), Some("web-1"));
    assert!(!read("reads: [placements, profiles]").acts_on_placements_alone());
    assert!(!read("user: u").reads_placements());
    for more in [
        "decision: web",
        "reads: [placements], decision: Web",
        "reads: [placements], decision: web-",
    ] {
        assert!(refusal(&consumer(more)).contains("reads: [placements]"), "{more}");
    }
}

#[test]
fn a_consumer_has_valid_labels_and_a_known_exec_version() {
    for (field, refused) in [
        ("labels: {'a b': c}", "consumer.labels: a key"),
        ("labels: {a: 'b c'}", "consumer.labels: a key or a value"),
        (
            "execApiVersion: v1",
            "consumer.execApiVersion: expected client.authentication",
        ),
    ] {
        let file = format!("consumer: {{namespaces: [a], providers: [p], recorder: r.json, {field}}}");
        assert!(refusal(&file).contains(refused), "{}", refusal(&file));
    }
}

#[test]
fn agents_are_program_names() {
    let consumer = |agents: &str| {
        format!("consumer: {{namespaces: [a], providers: [p], recorder: r.json, user: u, agents: {agents}}}")
    };
    let file = parse(&consumer("[sync, gate]")).expect("a driver file");
    assert_eq!(file.consumer.expect("a consumer").agents, ["sync", "gate"]);
    assert!(refusal(&consumer("[sync/v1]")).contains("consumer.agents: expected only"));
}

#[test]
fn outputs_are_read() {
    let consumer = |outputs: &str| {
        format!("consumer: {{namespaces: [a], providers: [p], recorder: r, outputs: {outputs}}}\n")
    };
    let outputs = "[{argocd: {namespace: argocd}}, {multikueue: {}}, {kubeconfig: {path: c.yaml}}, {http: {url: 'http://h/x', pointer: /y}}]";
    let file = parse(&consumer(outputs)).expect("a file");
    let read = file.consumer.expect("a consumer").outputs;
    assert_eq!(
        read,
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
    let refused = refusal(&consumer("[{http: {url: 'ftp://h'}}]"));
    assert!(
        refused.contains("line 1") && refused.contains("http://"),
        "{refused}"
    );
    let refused = refusal("hooks: {stop: [a]}\n");
    assert!(refused.contains("`start`"), "{refused}");
}
