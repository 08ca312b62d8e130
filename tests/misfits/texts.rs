//! Dumps that are no JSON and no YAML, or not through and through.

use std::{fs, path::Path, process::Command};

use rstest::rstest;
use serde_json::Value;

use super::{is_judged_as_alone, list, neighbour, of_neighbour, profile, read, reported};

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

/// What is wrong with the text, and not with the object.
#[rstest]
#[case::a_repeated_key(&format!("{ODD}spec: {{}}\n"), "the key `spec` is repeated")]
#[case::a_repeated_key_deep_inside(&format!("{ODD}status: {{a: {{b: 1, b: 2}}}}\n"), "the key `b` is repeated")]
#[case::a_tab(&format!("{ODD}\tstatus: {{}}\n"), "is not valid YAML: ")]
#[case::an_open_bracket(&format!("{ODD}status: [1, 2\n"), "is not valid YAML: ")]
#[case::an_open_quote(&format!("{ODD}status: \"canary\n"), "is not valid YAML: ")]
#[case::an_unknown_alias(&format!("{ODD}status: *canary\n"), "is not valid YAML: alias references unknown anchor")]
#[case::two_values(&format!("{ODD}status: a: canary\n"), "is not valid YAML: ")]
#[case::no_indentation(&ODD.replace("spec:\n  displayName", "spec:\n canary\n  displayName"), "is not valid YAML: ")]
#[case::too_deep(&format!("{ODD}status: {}{}\n", "[".repeat(5000), "]".repeat(5000)), "is not valid YAML: ")]
fn a_text_that_cannot_be_parsed(#[case] odd: &str, #[case] message: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [
        documents(&[GOOD, odd]),
        documents(&[odd, GOOD]),
        printed(&[GOOD, odd]),
        printed(&[odd, GOOD]),
        indented("  ", &[odd, GOOD]),
    ] {
        for dump in [
            dump.clone(),
            dump.replace('\n', "\r\n"),
            format!("\u{FEFF}{dump}"),
        ] {
            let evidence = read(dump.as_bytes());
            let [told] = &reported(&evidence)[..] else {
                panic!("{:?} of {dump}", reported(&evidence))
            };
            assert!(
                told.starts_with("ClusterProfile default/odd could not be read: "),
                "{told}"
            );
            assert!(told.contains(message) && !told.contains("canary"), "{told}");
            is_judged_as_alone(&evidence, &alone);
        }
    }
}

/// What harms nobody.
#[rstest]
#[case::empty_documents("---\n\n---\n# nothing\n---\n~\n---\nnull\n--- \n")]
#[case::a_byte_order_mark_between("---\n\u{FEFF}---\n\u{FEFF}# nothing\n")]
#[case::ends_of_documents("---\n...\n---\n%YAML 1.2\n---\n")]
#[case::other_kinds(
    "---\nkind: Pod\napiVersion: v1\nmetadata: 7\n---\nkind: ClusterProfile\napiVersion: example.com/v1\nspec: canary\n"
)]
#[case::a_broken_pod("---\nkind: Pod\napiVersion: v1\nspec: [\n")]
#[case::an_empty_list(
    "---\nkind: List\napiVersion: v1\nitems:\n---\n{\"kind\": \"ClusterProfileList\", \"items\": null}\n"
)]
fn what_harms_nobody(#[case] text: &str) {
    let alone = read(GOOD.as_bytes());
    for dump in [format!("{GOOD}{text}"), format!("{text}---\n{GOOD}")] {
        let evidence = read(dump.as_bytes());
        assert_eq!(reported(&evidence), [""; 0], "{dump}");
        assert_eq!(evidence.inventory().count(), 1, "{dump}");
        assert_eq!(of_neighbour(&evidence), of_neighbour(&alone));
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
#[case::a_nameless_text("a: [canary\n", "is not valid YAML: ")]
#[case::half_a_list("{\"kind\": \"List\", \"items\": [{\n", "it ends in the middle")]
#[case::two_kinds_of_items(
    "{\"kind\": \"List\", \"items\": [], \"items\": [7]}\n",
    "duplicate field `items`"
)]
#[case::a_list_on_one_line("kind: List\nitems: [{a: 1, a: 2}]\n", "the key `a` is repeated")]
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

/// A byte that is not UTF-8 costs the object that it is in.
#[test]
fn a_byte_that_is_no_text_costs_one_object() {
    let alone = read(GOOD.as_bytes());
    let (good, odd) = (neighbour(), profile("odd"));
    let objects = list(&[&odd, &good]);
    let yaml = |text: &str| text.replace("displayName: odd", "displayName: o@d");
    let json = |text: &str| text.replace(r#""displayName":"odd""#, r#""displayName":"o@d""#);
    let spoilt = |text: String| -> Vec<u8> {
        assert_eq!(text.matches('@').count(), 1);
        text.bytes()
            .map(|byte| if byte == b'@' { 0xE9 } else { byte })
            .collect()
    };
    for dump in [
        yaml(&documents(&[GOOD, ODD])),
        yaml(&documents(&[ODD, GOOD])),
        yaml(&printed(&[GOOD, ODD])),
        yaml(&printed(&[ODD, GOOD])),
        json(&objects),
        json(
            &serde_json::to_string_pretty(&serde_json::from_str::<Value>(&objects).expect("JSON"))
                .expect("JSON"),
        )
        .replace(r#""displayName": "odd""#, r#""displayName": "o@d""#),
        json(&format!("{good}\n{odd}")),
    ] {
        let evidence = read(&spoilt(dump));
        let [told] = &reported(&evidence)[..] else {
            panic!("{:?}", reported(&evidence))
        };
        assert!(
            told.starts_with("ClusterProfile default/odd could not be read: "),
            "{told}"
        );
        assert!(told.contains(" is not UTF-8 text"), "{told}");
        let names: Vec<_> = evidence
            .inventory()
            .map(|profile| profile.metadata.name.to_string())
            .collect();
        assert_eq!(names, ["good"]);
        assert_eq!(
            of_neighbour(&evidence).is_empty(),
            of_neighbour(&alone).is_empty()
        );
    }
    // Where the name itself is spoilt, it is nobody's name.
    let nameless = read(&spoilt(
        documents(&[GOOD, ODD]).replace("name: odd\n  namespace", "name: o@d\n  namespace"),
    ));
    assert!(
        reported(&nameless)[0].starts_with("a ClusterProfile could not be read: "),
        "{:?}",
        reported(&nameless)
    );
    assert!(nameless.may_be_unread("ClusterProfile", "odd"));
}

/// A dump that was cut short lacks objects, and nobody knows which; the last one may lack a part of itself.
#[test]
fn a_dump_that_was_cut_short() {
    let alone = read(GOOD.as_bytes());
    let whole = printed(&[GOOD, ODD]);
    let end = whole.find("kind: List").expect("its end");
    for cut in [end, end - 1, end - 5, end - 20] {
        let evidence = read(&whole.as_bytes()[..cut]);
        let [told] = &reported(&evidence)[..] else {
            panic!("{:?}", reported(&evidence))
        };
        assert!(told.contains("ClusterProfile default/odd"), "{told}");
        assert!(
            told.contains("it ends in the middle: was the dump cut short?"),
            "{told}"
        );
        is_judged_as_alone(&evidence, &alone);
    }
}

/// All three reports name the object and say what does not fit; the run comes to its end.
#[test]
fn the_command_tells_of_it_in_every_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.yaml");
    let dump = documents(&[
        GOOD,
        &format!("{ODD}status: {{conditions: 7}}\n"),
        "kind: [\n",
        ODD,
    ]);
    fs::write(
        &path,
        dump.replace(
            "name: odd\n  namespace: default\nspec:\n  displayName: odd\nstatus",
            "name: odder\n  namespace: default\nstatus",
        ),
    )
    .expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_clusterprofile-conformance"))
        .args([
            "run",
            "--from",
            "dump.yaml",
            "--json",
            "report.json",
            "--junit",
            "report.xml",
        ])
        .current_dir(folder.path())
        .output()
        .expect("the command runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    // The neighbour's label is wrong, whatever else there is.
    assert_eq!(output.status.code(), Some(1), "{told}");
    let file = |name: &str| fs::read_to_string(Path::new(folder.path()).join(name)).expect("a report");
    for text in [
        told.split_whitespace().collect::<Vec<_>>().join(" "),
        file("report.xml"),
        file("report.json"),
    ] {
        assert!(
            text.contains("odder") && text.contains("status.conditions: invalid type: integer"),
            "{text}"
        );
        assert!(text.contains("dump.yaml:19 is not valid YAML"), "{text}");
    }
    let report: Value = serde_json::from_str(&file("report.json")).expect("JSON");
    assert_eq!(report["unreadable"][0]["object"]["name"], "odder");
    assert_eq!(report["profiles"], 2);
}
