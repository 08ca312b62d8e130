use evidence::Implementation;
use proptest::prelude::*;

use super::*;
use crate::command::run::Run;

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
        let error = ConfigFile::parse(text).expect_err(text);
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
            "line 4: `noProbe` cannot be used with `probe`",
        ),
        (
            "implementation: {name: x}",
            "line 3, column 18: unknown key `name`",
        ),
        ("a: [", "not the YAML"),
    ] {
        let error = ConfigFile::parse(&with(lines)).expect_err(lines);
        assert!(error.contains(message), "{lines}: {error}");
    }
}

#[test]
fn every_flag_of_run_has_a_key_of_its_own() {
    let run = Run::augment_args(Command::new("run"));
    let mut names: Vec<String> = keys(&run).map(|key| key.name).collect();
    let for_one_call = run.get_arguments().count() - names.len();
    assert_eq!(for_one_call, 3, "--config, --print-config and --clean");
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

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        text in "\\PC{0,80}",
        lines in proptest::collection::vec(("[a-zA-Z-]{1,12}|observe|members|implementation", "[ -~\n\t]{0,24}"), 0..4),
    ) {
        _ = ConfigFile::parse(&text);
        let lines: Vec<String> = lines.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
        _ = ConfigFile::parse(&with(&lines.join("\n")));
    }

    #[test]
    fn a_printed_configuration_is_read_again(
        context in "\\PC{1,20}|true|null|1e3|~|- a|a: b",
        skip in proptest::collection::vec("[ -~]{1,12}|no|0x1f", 1..4),
        project in "\\PC{0,20}",
    ) {
        let whole = crate::command::cli::command_line();
        let mut given = vec!["suite".to_owned(), "run".to_owned(), format!("--context={context}")];
        given.extend(skip.iter().map(|skip| format!("--skip={skip}")));
        let matches = whole.clone().try_get_matches_from(given).expect("flags");
        let own = subcommand(&whole, "run");
        let about = About {
            implementation: Some(Implementation { project, ..Implementation::default() }),
            ..About::default()
        };
        let set = set_by_user(own, flags_of(&matches));
        let settings = Settings { matches, about: about.clone(), set };
        let text = settings.text(own).expect("UTF-8");
        let file = ConfigFile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(file.about, about);
        let values: Vec<_> = file.settings.into_iter().map(|setting| setting.values).collect();
        prop_assert_eq!(values, [vec![context], skip]);
    }
}
