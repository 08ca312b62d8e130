use proptest::prelude::*;

use super::{file::keys, *};

fn parse(text: &str) -> Result<ConfigFile, String> {
    ConfigFile::parse(text, Path::new("conformance.yaml"))
}

fn with(line: &str) -> String {
    format!("apiVersion: {API_VERSION}\nkind: {KIND}\n{line}\n")
}

#[test]
fn errors_name_the_line_and_the_key() {
    let head = "apiVersion: conformance.clusterprofile/v1\nkind: Config";
    for (text, message) in [
        (
            "",
            "expected `apiVersion: conformance.clusterprofile/v1`, got nothing",
        ),
        ("[]", "not the YAML"),
        (head, "expected `kind: Configuration`, got Config"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(message), "{text}: {error}");
    }
    let unknown = "unknown key `cluster-manager`: did you mean `clusterManager`?";
    for (lines, message) in [
        ("cluster-manager: x", unknown),
        ("clean: true", "line 3: unknown key `clean`"),
        ("zzz: true", "the flags of `run` in camelCase"),
        ("context: 5", "line 3: `context`: expected one text"),
        ("context:", "`context`: has no value"),
        ("context: [a]", "expected one text"),
        (
            "namespace: [a, {}]",
            "line 3: `namespace`: expected a list of texts",
        ),
        ("strict: yes", "`strict`: expected true or false"),
        ("nodeTolerance: -1", "invalid value '-1'"),
        ("strict: true\nstrict: true", "`strict` is given twice"),
        (
            "probe: true\nnoProbe: true",
            "line 3: `probe` cannot be used with `noProbe`",
        ),
        (
            "implementation: {name: x}",
            "line 3, column 18: unknown key `name`",
        ),
        ("a: [", "not the YAML"),
    ] {
        let error = parse(&with(lines)).expect_err(lines);
        assert!(error.contains(message), "{lines}: {error}");
    }
}

#[test]
fn every_flag_of_run_has_a_key_of_its_own() {
    let run = RunCommand::augment_args(Command::new("run"));
    let mut names: Vec<String> = keys(&run).map(|key| key.name).collect();
    let for_one_call = run.get_arguments().count() - names.len();
    assert_eq!(for_one_call, 2, "--config and --clean");
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
    let is_fixed = |name: &String| ["apiVersion", "kind"].contains(&&**name) || ABOUT.contains(&&**name);
    assert!(!names.iter().any(is_fixed));
    for name in "driver members providerFile auditLog kubeconfig from junit waivers".split(' ') {
        assert!(keys(&run).any(|key| key.name == name && key.is_path()), "{name}");
    }
}

#[test]
fn relative_path_starts_at_the_folder_of_the_file() {
    let text =
        with("members: [from-secrets, members.yaml, /m.yaml]\ndriver: none\ncontext: hub\nstrict: false");
    let file = ConfigFile::parse(&text, Path::new("/ci/conformance.yaml")).expect("a configuration");
    let values = file
        .settings
        .iter()
        .map(|setting| (&*setting.id, setting.values.clone()));
    let expected = [
        ("context", vec!["hub".into()]),
        ("driver", vec!["none".into()]),
        (
            "members",
            vec!["from-secrets".into(), "/ci/members.yaml".into(), "/m.yaml".into()],
        ),
    ];
    assert_eq!(Vec::from_iter(values), expected);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        text in "\\PC{0,80}",
        lines in proptest::collection::vec(("[a-zA-Z-]{1,12}|observe|members|implementation", "[ -~\n\t]{0,24}"), 0..4),
    ) {
        _ = parse(&text);
        let lines: Vec<String> = lines.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
        _ = parse(&with(&lines.join("\n")));
    }
}
