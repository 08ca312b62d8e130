//! Dumps that are no JSON and no YAML, or hold something other than objects.

use rstest::rstest;
use serde_json::Value;

use super::{is_judged_as_alone, list, neighbour, of_neighbour, profile, read, refused, reported};
use crate::command::{Done, Folder, assert_contains, command, done, unwrapped};

pub const GOOD: &str = "apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata:
  name: good
  namespace: default
  labels: {x-k8s.io/cluster-manager: other}
spec:
  clusterManager: {name: m}
";
pub const ODD: &str = "apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata:
  labels:
    name: not this
  name: odd
  namespace: default
spec:
  displayName: odd
";

/// Behind one another, with a mark between them.
fn documents(documents: &[&str]) -> String {
    documents.join("---\n")
}

/// A list as kubectl prints it.
pub fn printed(items: &[&str]) -> String {
    indented("", items)
}

/// The same with its items further to the right, as other tools print it.
fn indented(indent: &str, items: &[&str]) -> String {
    let lines = |item: &&str| format!("- {}", item.trim_end().replace('\n', "\n  "));
    let items = items.iter().map(lines).collect::<Vec<_>>().join("\n");
    let items = format!("{indent}{}", items.replace('\n', &format!("\n{indent}")));
    format!("apiVersion: v1\nitems:\n{items}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n")
}

/// What is no YAML is refused with its place, wherever it stands.
#[rstest]
#[case::a_repeated_key(&format!("{ODD}spec: {{}}\n"), "the key `spec` is repeated")]
#[case::a_repeated_key_deep_inside(&format!("{ODD}status: {{a: {{b: 1, b: 2}}}}\n"), "the key `b` is repeated")]
#[case::a_tab(&format!("{ODD}\tstatus: {{}}\n"), "")]
#[case::an_open_bracket(&format!("{ODD}status: [1, 2\n"), "")]
#[case::an_open_quote(&format!("{ODD}status: \"canary\n"), "")]
#[case::an_unknown_alias(&format!("{ODD}status: *canary\n"), "alias references unknown anchor")]
#[case::two_values(&format!("{ODD}status: a: canary\n"), "")]
#[case::no_indentation(&ODD.replace("spec:\n  displayName", "spec:\n canary\n  displayName"), "")]
#[case::too_deep(&format!("{ODD}status: {}{}\n", "[".repeat(5000), "]".repeat(5000)), "recursion limit")]
#[case::of_an_ignored_kind("kind: Pod\napiVersion: v1\nspec: [\n", "")]
#[case::of_no_kind("a: [canary\n", "")]
#[case::a_list_on_one_line("kind: List\nitems: [{a: 1, a: 2}]\n", "the key `a` is repeated")]
fn what_is_no_yaml(#[case] odd: &str, #[case] message: &str) {
    for dump in [
        documents(&[GOOD, odd]),
        documents(&[odd, GOOD]),
        printed(&[GOOD, odd]),
        printed(&[odd, GOOD]),
        indented("  ", &[odd, GOOD]),
    ] {
        // A flaw may be the end of the file.
        let lines = dump.lines().count() + 1;
        for dump in in_every_guise(&dump) {
            let told = refused(dump.as_bytes());
            let (place, what) = told
                .split_once(" is not valid YAML: ")
                .unwrap_or_else(|| panic!("{told} of {dump}"));
            let mut place = place
                .rsplit(':')
                .map(|number| number.parse::<usize>().expect("a number"));
            let (column, line) = (place.next().expect("a column"), place.next().expect("a line"));
            assert!(column > 0 && (1..=lines).contains(&line), "{told} of {dump}");
            assert!(what.contains(message) && !what.contains("canary"), "{told}");
            assert!(what.ends_with("; correct the file, or dump again"), "{told}");
        }
    }
}

/// The same text as it is, from Windows, and with a byte order mark.
fn in_every_guise(dump: &str) -> [String; 3] {
    [
        dump.to_owned(),
        dump.replace('\n', "\r\n"),
        format!("\u{FEFF}{dump}"),
    ]
}

/// What harms nobody.
#[rstest]
#[case::empty_documents("---\n\n---\n# nothing\n---\n~\n---\nnull\n--- \n")]
#[case::a_byte_order_mark_between("---\n\u{FEFF}---\n\u{FEFF}# nothing\n")]
#[case::ends_of_documents("---\n...\n---\n%YAML 1.2\n---\n")]
#[case::other_kinds(
    "---\nkind: Pod\napiVersion: v1\nmetadata: 7\n---\nkind: ClusterProfile\napiVersion: example.com/v1\nspec: canary\n"
)]
#[case::a_number_that_is_too_large("---\nkind: Pod\napiVersion: v1\nspec: 1e999\n")]
#[case::an_empty_list(
    "---\nkind: List\napiVersion: v1\nitems:\n---\n{\"kind\": \"ClusterProfileList\", \"items\": null}\n"
)]
fn what_harms_nobody(#[case] text: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [
        format!("{GOOD}{text}"),
        format!("{text}---\n{GOOD}"),
        format!("{text}---\n{}", printed(&[GOOD])),
    ] {
        for dump in in_every_guise(&dump) {
            let evidence = read(dump.as_bytes());
            assert_eq!(reported(&evidence), [""; 0], "{dump}");
            assert_eq!(evidence.inventory().count(), 1, "{dump}");
            assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
        }
    }
}

/// What nobody can tell who it is may be anything: even a Secret, a Namespace or the neighbour's twin.
#[rstest]
#[case::a_text("hello\n", "is not a Kubernetes object")]
#[case::a_number("7\n", "is not a Kubernetes object")]
#[case::numbers_for_objects(
    "kind: List\napiVersion: v1\nitems: [7, canary]\n",
    "is not a Kubernetes object"
)]
#[case::a_map_for_items("kind: List\napiVersion: v1\nitems: {a: canary}\n", "is a malformed list")]
#[case::no_items(
    "kind: ClusterProfileList\napiVersion: multicluster.x-k8s.io/v1alpha1\n",
    "is a malformed list"
)]
#[case::lists_without_end(&format!("{}[]{}\n", "{\"items\": [".repeat(50), "]}".repeat(50)), "is a malformed list")]
fn what_nobody_can_tell_who_it_is(#[case] text: &str, #[case] message: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [documents(&[GOOD, text]), documents(&[text, GOOD])] {
        let evidence = read(dump.as_bytes());
        let told = reported(&evidence);
        assert!(!told.is_empty());
        for told in told {
            assert!(
                told.starts_with("an object could not be read: ") && told.contains(message),
                "{told}"
            );
            assert!(!told.contains("canary"), "{told}");
        }
        is_judged_as_alone(&evidence, &alone);
        assert!(evidence.may_be_unread("Secret", "any") && evidence.may_be_unread("Namespace", "any"));
    }
}

/// A byte that is not UTF-8 is neither YAML nor JSON.
#[test]
fn a_byte_that_is_no_text() {
    let (good, odd) = (neighbour(), profile("odd"));
    let objects = list(&[&odd, &good]);
    let pretty = serde_json::from_str::<Value>(&objects).expect("JSON");
    let pretty = serde_json::to_string_pretty(&pretty).expect("JSON");
    let yaml = |text: &str| text.replace("displayName: odd", "displayName: o@d");
    let json = |text: &str| text.replace(r#""displayName":"odd""#, r#""displayName":"o@d""#);
    for dump in [
        yaml(&documents(&[GOOD, ODD])),
        yaml(&documents(&[ODD, GOOD])),
        yaml(&printed(&[GOOD, ODD])),
        yaml(&printed(&[ODD, GOOD])),
        json(&objects),
        pretty.replace(r#""displayName": "odd""#, r#""displayName": "o@d""#),
        json(&format!("{good}\n{odd}")),
    ] {
        let line = dump
            .lines()
            .position(|line| line.contains('@'))
            .expect("the byte");
        let spoilt: Vec<u8> = dump
            .bytes()
            .map(|byte| if byte == b'@' { 0xE9 } else { byte })
            .collect();
        let told = refused(&spoilt);
        let expected = format!("{} is not UTF-8 text: is this a dump of kubectl?", line + 1);
        assert_eq!(told, expected, "{dump}");
    }
}

/// Both reports and the terminal name the object and say what does not fit.
#[test]
fn every_report_names_an_object_that_does_not_fit() {
    let folder = Folder::new();
    let misfit = ODD.replace("spec:\n  displayName: odd", "status: {conditions: 7}");
    folder.write("dump.yaml", documents(&[GOOD, &misfit, "hello\n"]));
    let done = run(&folder);
    // The neighbour's label is wrong, whatever else there is.
    assert_eq!(done.code, Some(1), "{}", done.out);
    for text in [
        unwrapped(&done.out),
        folder.text("report.xml"),
        folder.text("report.json"),
    ] {
        let parts = [
            "odd",
            "status.conditions: invalid type: integer",
            "dump.yaml:19 is not a Kubernetes object",
        ];
        assert_contains(&text, &parts);
    }
    let report = folder.json("report.json");
    assert_eq!(report["unreadable"][0]["object"]["name"], "odd");
    assert_eq!(report["profiles"], 1);
}

/// Reports of an earlier run cannot be taken for those of this one.
#[test]
fn half_a_dump_is_refused_in_every_report() {
    let folder = Folder::new();
    let whole = printed(&[GOOD, ODD]);
    folder.write("dump.yaml", &whole[..whole.len() / 2]);
    let done = run(&folder);
    assert_eq!(done.code, Some(2));
    for text in [done.err, folder.text("report.xml"), folder.text("report.json")] {
        assert_contains(&text, &["dump.yaml:", "was kubectl interrupted?"]);
    }
    assert_eq!(folder.json("report.json")["decision"], "inconclusive");
}

fn run(folder: &Folder) -> Done {
    let mut command = command("run --from dump.yaml --json report.json --junit report.xml");
    done(command.current_dir(folder.path("")))
}
