//! Dumps that are neither JSON nor YAML, or hold something other than objects.

use regex::Regex;
use rstest::rstest;
use serde_json::Value;

use super::{is_judged_as_alone, list, neighbour, of_neighbour, profile, read, reported, try_read};
use crate::command::{Done, Folder, assert_contains, command, done};

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

/// A list with indented items, as other tools print it.
fn indented(indent: &str, items: &[&str]) -> String {
    let lines = |item: &&str| format!("- {}", item.trim_end().replace('\n', "\n  "));
    let items = items.iter().map(lines).collect::<Vec<_>>().join("\n");
    let items = format!("{indent}{}", items.replace('\n', &format!("\n{indent}")));
    format!("apiVersion: v1\nitems:\n{items}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n")
}

/// Invalid YAML is refused with its place, wherever it is.
#[rstest]
#[case::a_repeated_key_deep_inside(&format!("{ODD}status: {{a: {{b: 1, b: 2}}}}\n"), "the key `b` is repeated")]
#[case::a_tab(&format!("{ODD}\tstatus: {{}}\n"), "")]
#[case::an_open_quote(&format!("{ODD}status: \"canary\n"), "")]
#[case::an_unknown_alias(&format!("{ODD}status: *canary\n"), "alias references unknown anchor")]
#[case::two_values(&format!("{ODD}status: a: canary\n"), "")]
#[case::no_indentation(&ODD.replace("spec:\n  displayName", "spec:\n canary\n  displayName"), "")]
#[case::of_no_kind("a: [canary\n", "")]
#[case::a_list_on_one_line("kind: List\nitems: [{a: 1, a: 2}]\n", "the key `a` is repeated")]
fn invalid_yaml_is_refused(#[case] odd: &str, #[case] message: &str) {
    for dump in [
        documents(&[GOOD, odd]),
        documents(&[odd, GOOD]),
        printed(&[GOOD, odd]),
        printed(&[odd, GOOD]),
        indented("  ", &[odd, GOOD]),
    ] {
        let error = try_read(dump.as_bytes()).expect_err("not YAML");
        let (place, what) = error
            .split_once(" is not valid YAML: ")
            .unwrap_or_else(|| panic!("{error} of {dump}"));
        let numbers = place
            .rsplit(':')
            .take(2)
            .map(|number| number.parse().expect("a number"));
        let [column, line] = numbers.collect::<Vec<usize>>()[..] else {
            panic!("{error} of {dump}")
        };
        // It may be the end of the file.
        let lines = dump.lines().count() + 1;
        assert!(column > 0 && (1..=lines).contains(&line), "{error} of {dump}");
        assert!(what.contains(message) && !what.contains("canary"), "{error}");
        assert!(what.ends_with("; correct the file, or dump again"), "{error}");
    }
}

/// Texts that are skipped.
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
fn empty_documents_and_other_kinds_are_skipped(#[case] text: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [
        format!("{GOOD}{text}"),
        format!("{text}---\n{GOOD}"),
        format!("{text}---\n{}", printed(&[GOOD])),
    ] {
        let evidence = read(dump.as_bytes());
        assert_eq!(reported(&evidence), [""; 0], "{dump}");
        assert_eq!(evidence.inventory().count(), 1, "{dump}");
        assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
    }
}

/// An unknown object may be anything: even a Secret, a Namespace or a duplicate of the neighbour.
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
fn unknown_objects_are_reported(#[case] text: &str, #[case] message: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [documents(&[GOOD, text]), documents(&[text, GOOD])] {
        let evidence = read(dump.as_bytes());
        assert!(!evidence.unreadable.is_empty());
        for reported in reported(&evidence) {
            assert!(
                reported.starts_with("an object could not be read: "),
                "{reported}"
            );
            assert!(
                reported.contains(message) && !reported.contains("canary"),
                "{reported}"
            );
        }
        is_judged_as_alone(&evidence, &alone);
        assert!(evidence.may_be_unread("Secret", "any") && evidence.may_be_unread("Namespace", "any"));
    }
}

/// A byte that is not UTF-8 is neither YAML nor JSON.
#[test]
fn a_byte_that_is_not_utf_8_is_refused() {
    let (good, odd) = (neighbour(), profile("odd"));
    let objects = list(&[&odd, &good]);
    let pretty = serde_json::from_str::<Value>(&objects).expect("JSON");
    let pretty = serde_json::to_string_pretty(&pretty).expect("JSON");
    let name = Regex::new("displayName\"?: ?\"?odd").expect("a pattern");
    for dump in [
        documents(&[GOOD, ODD]),
        documents(&[ODD, GOOD]),
        printed(&[GOOD, ODD]),
        printed(&[ODD, GOOD]),
        objects,
        pretty,
        format!("{good}\n{odd}"),
    ] {
        let at = name.find(&dump).expect("the name").end() - 2;
        let line = dump[..at].matches('\n').count() + 1;
        let mut spoilt = dump.clone().into_bytes();
        spoilt[at] = 0xE9;
        let expected = format!("{line} is not UTF-8 text: is this a dump of kubectl?");
        assert_eq!(try_read(&spoilt).expect_err("not text"), expected, "{dump}");
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
    let parts = [
        "odd",
        "status.conditions: invalid type: integer",
        "dump.yaml:19 is not a Kubernetes object",
    ];
    for text in [done.out, folder.text("report.xml"), folder.text("report.json")] {
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
