use super::*;

fn parse(text: &str) -> Result<DriverFile, DriverFileFlaw> {
    DriverFile::parse(text, PathBuf::from("/nowhere/driver.yaml"))
}

fn refusal(text: &str) -> String {
    let error = parse(text).expect_err(text);
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("CANARY"), "{shown}");
    error.to_string()
}

const PAIR: &str = "hooks: {join: [a], leave: [b]}\n";

#[test]
fn what_is_left_out_has_its_usual_value() {
    let file = parse(PAIR).expect("a file");
    assert_eq!(file.members, Members::StandIns);
    assert_eq!(
        file.scale,
        Some(Scale {
            members: 50,
            at_once: 10
        })
    );
    assert_eq!(file.patience.with(DriverAction::Heal), Duration::from_secs(120));
    let join = &file.hooks[&DriverAction::Join];
    assert_eq!((join.program.as_path(), join.timeout), (Path::new("a"), TIMEOUT));
    assert_eq!(file.folder(), Path::new("/nowhere"));
}

#[test]
fn a_hook_says_more_than_the_file() {
    let file = parse(
        "timeout: 30s\nenv: {A: file, B: file}\nstandIns: false\nupgradeTo: v1.35.2\npatience: {default: 1m, upgrade: 10m}\n\
         scale: {members: 3, atOnce: 1}\nhooks:\n  join: [a]\n  leave: [b]\n  upgrade:\n    command: [c, --fast]\n    \
         timeout: 1h\n    env: {B: hook}\n",
    )
    .expect("a file");
    let upgrade = &file.hooks[&DriverAction::Upgrade];
    assert_eq!(upgrade.arguments, ["--fast"]);
    assert_eq!(upgrade.timeout, Duration::from_secs(3600));
    let environment: Vec<_> = upgrade
        .environment
        .iter()
        .map(|(a, b)| format!("{a}={b}"))
        .collect();
    assert_eq!(environment, ["A=file", "B=hook"]);
    assert_eq!(file.hooks[&DriverAction::Join].timeout, Duration::from_secs(30));
    assert_eq!(file.members, Members::Made);
    assert_eq!(
        file.scale,
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
fn members_of_ones_own_take_the_place_of_stand_ins() {
    let file = parse(&format!(
        "{PAIR}members: [{{name: lisbon, profile: fleet/lisbon-1}}, {{name: oslo}}]\n"
    ));
    let file = file.expect("a file");
    let Members::Own(own) = &file.members else {
        panic!("{:?}", file.members)
    };
    assert_eq!(
        own[0].profile.as_ref().map(|key| key.name.as_str()),
        Some("lisbon-1")
    );
    assert_eq!(own[1].name, "oslo");
    // Nobody's clusters are joined by the dozen unless they say so.
    assert_eq!(file.scale, None);
}

#[test]
fn a_slip_is_told_with_its_place_and_the_right_word() {
    for (text, told) in [
        (
            "hoks: {}\n",
            "line 1, column 1: unknown key `hoks`: did you mean `hooks`?",
        ),
        (
            "hooks:\n  join: [a]\n  leaf: [CANARY]\n",
            "line 3, column 3: unknown key `leaf`: did you mean `leave`?",
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
        assert_eq!(refusal(text), told, "{text}");
    }
    let other = refusal(&format!("{PAIR}zzz: 1\n"));
    assert!(
        other.contains("choose one of hooks, timeout, env, patience"),
        "{other}"
    );
}

#[test]
fn a_value_that_cannot_be_is_not_quoted() {
    for (text, told) in [
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
        assert!(error.contains(told), "{error} of {text}");
    }
}

#[test]
fn parts_that_contradict_each_other_are_refused() {
    for (text, told) in [
        ("{}", "there is no hook"),
        ("hooks: {join: [a]}", "what joins must be able to leave"),
        (
            "hooks: {leave: [a], restart: [b]}",
            "what joins must be able to leave",
        ),
        (
            "standIns: false\nhooks: {break: [a]}",
            "what is broken must be healed",
        ),
        (
            "hooks: {join: [a], leave: [b], disconnect: [c]}",
            "what is cut off must be connected again",
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
            "leave out one of the two",
        ),
    ] {
        let error = refusal(text);
        assert!(error.contains(told), "{error} of {text}");
    }
    assert!(parse("hooks: {restart: [a]}").is_ok());
}

#[test]
fn the_template_can_be_used_as_it_is() {
    let template = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/drivers/template.yaml"
    );
    let file = DriverFile::read(Path::new(template)).expect("a driver file");
    assert_eq!(file.members, Members::StandIns);
    assert!(file.hooks.contains_key(&DriverAction::Join));
}

#[test]
fn a_consumer_of_decisions_says_which_it_reads() {
    let consumer =
        |more: &str| format!("consumer: {{namespaces: [a], providers: [p], recorder: r.json, {more}}}");
    let read = |more: &str| {
        parse(&consumer(more))
            .expect(more)
            .consumer
            .expect("a consumer")
            .claims
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
fn a_consumer_names_its_programs() {
    let consumer = |agents: &str| {
        format!("consumer: {{namespaces: [a], providers: [p], recorder: r.json, user: u, agents: {agents}}}")
    };
    let file = parse(&consumer("[sync, gate]")).expect("a driver file");
    assert_eq!(file.consumer.expect("a consumer").agents, ["sync", "gate"]);
    assert!(refusal(&consumer("[sync/v1]")).contains("consumer.agents: expected only"));
}

#[test]
fn a_consumer_says_where_it_makes_something() {
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
            OutputPlace::Multikueue,
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
    assert!(refused.contains("consumer.outputs"), "{refused}");
    let refused = refusal("hooks: {stop: [a]}\n");
    assert!(refused.contains("`start`"), "{refused}");
}
