mod limits;
mod pieces;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    Digester, Input, InputError, Kind, LimitError, Limits, Origin, Requested, read_input, read_input_bounded,
};

fn read(text: impl AsRef<[u8]>) -> Result<Input, InputError> {
    let (digester, limits) = (Digester::new([7; 32]), Limits::default());
    read_from(text.as_ref(), "dumps/hub.yaml", &digester, &limits)
}

fn names(input: &Input) -> Vec<&str> {
    let profiles = input.evidence.everyone();
    profiles.map(|profile| &*profile.metadata.name).collect()
}

fn refused(text: impl AsRef<[u8]>) -> String {
    read(text).expect_err("it is refused").to_string()
}

#[track_caller]
fn assert_starts_with(text: &str, start: &str) {
    assert!(text.starts_with(start), "{text}");
}

const PROFILE: &str = "\
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata:
  name: NAME
  namespace: n
  creationTimestamp: 2026-01-01T00:00:00Z
  labels: {on: yes}
status:
  properties:
  - {name: p, value: off}
";

fn profile(name: &str) -> String {
    PROFILE.replace("NAME", name)
}

#[test]
fn yaml_and_json_give_the_same_evidence() {
    let list = json!({"apiVersion": "v1", "items": [
        {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
         "metadata": {"name": "a", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"on": "yes"}},
         "status": {"properties": [{"name": "p", "value": "off"}]}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"x": "y"}}},
    ], "kind": "List"});
    let from_json = read(list.to_string()).expect("reads JSON");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: n, labels: {x: y}}\n";
    let a = profile("a");
    for dump in [
        format!("%YAML 1.2\n---\n# of kubectl\n{a}---\n---\r\n{namespace}...\n"),
        serde_json::to_string_pretty(&list).expect("writes"),
        list["items"].to_string(),
        format!("{}\n\n---\n{}", list["items"][0], list["items"][1]),
    ] {
        assert_eq!(read(&dump).expect("reads"), from_json, "{dump}");
    }

    // In YAML 1.1, `on`, `yes`, and `off` are booleans, and the time is a time.
    let profile = &from_json.evidence.profiles[0];
    assert_eq!(profile.origin, Origin::Listed);
    assert_eq!(profile.last().label("on"), Some("yes"));
    let created = profile.last().metadata.creation_timestamp.as_deref();
    assert_eq!(created, Some("2026-01-01T00:00:00Z"));
    assert_eq!(from_json.evidence.namespaces[0].labels["x"], "y");
}

#[test]
fn dump_says_which_evidence_it_lacks() {
    let bare = read(profile("a")).expect("reads").evidence;
    assert_eq!(bare.header.hub.source, "dump hub.yaml");
    assert_eq!(bare.header.hub.api_version.as_deref(), Some("v1alpha1"));
    assert_eq!(bare.header.window, None);
    assert_eq!(bare.profiles[0].versions[0].at, None);
    assert_eq!(bare.requested(Kind::Inventory), &Requested::Yes);
    for (kind, remedy) in [
        (Kind::Namespaces, "kubectl get namespaces"),
        (Kind::Secrets, "kubectl get secrets"),
        (Kind::Writers, "--show-managed-fields"),
        (Kind::Timeline, "observe a hub"),
        (Kind::Requests, "no audit log was given"),
    ] {
        let requested = bare.requested(kind);
        let has_remedy = matches!(requested, Requested::No(reason) if reason.contains(remedy));
        assert!(has_remedy, "{kind}: {requested:?}");
    }

    let fields = "managedFields: [{manager: m, operation: Update}]";
    let owned = profile("a").replace("labels: {on: yes}", fields);
    let namespace = "---\nkind: Namespace\napiVersion: v1\nmetadata: {name: n}\n";
    let secret = "---\nkind: Secret\napiVersion: v1\nmetadata: {name: s, namespace: n}\n";
    let full = read(owned + namespace + secret).expect("reads").evidence;
    for kind in [Kind::Namespaces, Kind::Secrets, Kind::Writers] {
        assert_eq!(full.requested(kind), &Requested::Yes, "{kind}");
    }
}

#[test]
fn items_of_typed_lists_have_the_kind_of_the_list() {
    let text = r#"
{"items": [{"metadata": {"name": "a"}}], "kind": "ClusterProfileList", "apiVersion": "multicluster.x-k8s.io/v1alpha2"}
{"kind": "ClusterProfileList", "items": [{"metadata": {"name": "b"}}], "apiVersion": "multicluster.x-k8s.io/v1alpha2"}
{"apiVersion": "multicluster.x-k8s.io/v1alpha2", "items": [{"kind": "ClusterProfile", "metadata": {"name": "c"}}],
 "kind": "ClusterProfileList"}
{"kind": "ClusterProfileList", "apiVersion": "multicluster.x-k8s.io/v1alpha2", "items": [{"metadata": {"name": "d"}}]}
{"apiVersion": "v1", "items": [{"metadata": {"name": "n"}}], "kind": "NamespaceList"}
{"items": [
  {"metadata": {"name": "s", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z",
     "labels": {"x-k8s.io/cluster-profile": "a"}},
   "stringData": {"Config": "users: [{name: u, user: {token: canary-Gq8Zt}}]"}},
  {"metadata": {"name": "t", "namespace": "n"}}], "kind": "SecretList", "apiVersion": "v1"}
{"items": [{"metadata": {"name": "p"}}, {"metadata": {"name": "q"}}], "kind": "PodList", "apiVersion": "v1"}
{"items": [{"metadata": {"name": "e"}}], "kind": "ClusterProfileList", "apiVersion": "example.com/v1"}"#;
    let input = read(text).expect("reads");
    assert_eq!(names(&input), ["a", "b", "c", "d"]);
    for profile in &input.evidence.profiles {
        assert_eq!(&*profile.last().api_version, "multicluster.x-k8s.io/v1alpha2");
    }
    assert_eq!(input.evidence.namespaces.len(), 1);
    assert_eq!(input.evidence.secrets.len(), 1);
    let secret = &input.evidence.secrets[0];
    assert!(secret.kubeconfig.is_some(), "{secret:?}");
    assert_eq!(secret.creation_timestamp.as_deref(), Some("2026-01-01T00:00:00Z"));
    assert!(!format!("{input:?}").contains("canary-Gq8Zt"));
    let note = "ignored in the dump: 1 × ClusterProfile.example.com, 2 × Pod, \
                1 × Secret without the label x-k8s.io/cluster-profile";
    assert_eq!(input.notes, [note]);
}

#[test]
fn object_without_a_name_has_a_line() {
    let nameless = format!("{}---\n{}", profile("a"), profile("").replace("namespace: n", ""));
    let input = read(nameless).expect("reads");
    assert_eq!(names(&input), ["a"]);
    let unreadable = &input.evidence.unreadable[0];
    assert_eq!(unreadable.message, "metadata.name is missing (dumps/hub.yaml:12)");
    let status = "status:\n  properties:\n  - {name: p, value: off}";
    let null = profile("a").replace(status, "status: null\nspec:");
    assert_eq!(names(&read(null).expect("null counts as absent")), ["a"]);
}

/// Dumps with `|` for a line's end, and the place of the first error: in an object, in a list, after its items, in an
/// object of an ignored kind, and before another error.
const INVALID_YAML: &str = r#"
kind: Pod|---|kind: ClusterProfile|status: {}|status: {} => 5:1
apiVersion: v1|items:|- kind: Pod|- kind: "Pod"x|- kind: Pod|kind: List => 4:14
apiVersion: v1|items:|- kind: Pod|- kind: "Pod"|- kind: Pod|kind: [List => 6:7
items:|  - kind: Pod|- kind: Pod|kind: List => 3:
- kind: Pod|kind: List => 2:
kind: Pod|...|kind: [ => 3:
kind: Pod|spec: *canary|---|status: {}|status: {} => 2:7"#;

#[test]
fn invalid_yaml_is_refused_with_line_and_column() {
    for row in INVALID_YAML.lines().skip(1) {
        let (text, place) = row.split_once(" => ").expect("a text and its place");
        let message = refused(format!("{}\n---\n{}", text.replace('|', "\n"), profile("a")));
        assert_starts_with(&message, &format!("dumps/hub.yaml:{place}"));
        assert!(message.contains(" is not valid YAML: "), "{message}");
        assert!(message.ends_with("; correct the file, or dump again"));
        assert!(!message.contains("canary"), "{message}");
    }
    for more in [1, 5_000] {
        let more = "- kind: Pod\n".repeat(more);
        let message = refused(format!("kind: Pod\nspec: *canary\n---\n{more}---\n[{{}},\n7 7]"));
        assert_starts_with(&message, "dumps/hub.yaml:2:7");
    }
}

#[test]
fn invalid_json_is_refused_with_line_and_column() {
    // Between the items, in an item, around the items, and in a value without items.
    let rows = r#"
[{}, 7,| }] => 2:2 expected value
[{}]|] => 2:1 expected value
{"é": 1,,} => 1:10 key must be a string
[| 7, {"a": 1,,}] => 2:13 key must be a string
{"items": [7,|8], kind} => 2:5 key must be a string
{"items": [], "items": []} => 1:23 duplicate field `items`
{"items": [{"items": [], "items": []}]} => 1:23 duplicate field `items`
{"items": [|{"kind": "a"},|{"kind": b}]} => 3:10 expected value"#;
    for row in rows.lines().skip(1) {
        let (text, error) = row.split_once(" => ").expect("a text and its error");
        let (place, message) = error.split_once(' ').expect("a place");
        let expected =
            format!("dumps/hub.yaml:{place} is not valid JSON: {message}; correct the file, or dump again");
        assert_eq!(refused(text.replace('|', "\n")), expected, "{text}");
    }
}

/// For example the hash of a commit, which kubectl does not quote.
#[test]
fn text_like_a_large_number_makes_one_object_unreadable() {
    let odd = profile("odd").replace("on: yes", "commit: 1e98765");
    let input = read(format!("{}---\n{odd}", profile("a"))).expect("reads");
    assert_eq!(names(&input), ["a"]);
    let message = "ClusterProfile n/odd could not be read: a number in it is out of range";
    assert_eq!(input.evidence.unreadable[0].to_string(), message);
    let item = odd.replace('\n', "\n  ");
    let list = format!("items:\n- {}- kind: Pod\n", item.trim_end_matches(' '));
    let input = read(format!("{list}---\n{}", profile("a"))).expect("reads");
    assert_eq!((names(&input), input.evidence.unreadable.len()), (vec!["a"], 1));
}

#[test]
fn json_object_that_repeats_a_key_is_unreadable() {
    let json = r#"{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile", "spec": {},
        "metadata": {"name": "odd"}, "spec": {}}"#;
    let input = read(json).expect("reads");
    assert_eq!(input.evidence.unreadable[0].message, "a key is repeated");
    assert_eq!(input.evidence.unreadable[0].object.name, "odd");
}

#[test]
fn files_that_are_not_dumps_are_refused_with_place_and_remedy() {
    let pod = "kind: Pod\napiVersion: v1\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: n}\n";
    let no_profile = " holds no ClusterProfile (but 1 × Namespace, 1 × Pod): dump with `kubectl get";
    let no_text = ":2 is not UTF-8 text: is this a dump of kubectl?";
    for (text, start) in [
        (&b"  \n"[..], " is empty: did the kubectl command"),
        (pod.as_bytes(), no_profile),
        (b"\n---\nhello\n", ":3 is not a Kubernetes object"),
        (b"[7]", ":1 is not a Kubernetes object"),
        (b"kind: List\nitems: \xE9\n", no_text),
    ] {
        let message = refused(text);
        assert_starts_with(&message, &format!("dumps/hub.yaml{start}"));
    }
    let utf16 = refused(b"\xFF\xFEk\0i\0");
    assert!(utf16.contains("Out-File -Encoding utf8"), "{utf16}");
    // Of a hub without profiles.
    let empty = read("items: []\nkind: List\n").expect("an inventory");
    assert!(empty.evidence.profiles.is_empty());
    // Byte order marks, as in concatenated files.
    let files = ["a", "b", "c"].map(|name| format!("\u{FEFF}---\n{}...\n", profile(name)));
    let marked = files.concat() + "\u{FEFF}---\n[]\n\u{FEFF}---\n";
    assert_eq!(names(&read(marked).expect("reads")), ["a", "b", "c"]);
    let marked = format!("\u{FEFF}{}", profile("a"));
    assert_eq!(names(&read(marked).expect("reads")), ["a"]);
}

#[test]
fn repeated_version_counts_once() {
    let version = profile("a").replace("labels: {on: yes}", "resourceVersion: \"5\"\n  uid: u");
    let overlap = read(format!("{version}---\n{version}")).expect("reads");
    assert_eq!(names(&overlap), ["a"]);
}

#[test]
fn directory_is_one_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writes");
    let read = |path: &std::path::Path| read_input(path, &Digester::new([7; 32]));
    let message = |path| read(path).expect_err("it is refused").to_string();
    put("notes.txt", "not: a: dump");
    let none = message(folder.path());
    assert!(none.contains("holds no *.yaml, *.yml or *.json file"), "{none}");

    put("b.yml", &profile("b"));
    put("a.yaml", &profile("a"));
    put("c.json", "");
    std::fs::create_dir(folder.path().join("sub.yaml")).expect("a folder");
    assert_eq!(names(&read(folder.path()).expect("reads")), ["a", "b"]);

    put("c.json", "{");
    let cut = message(folder.path());
    assert!(cut.contains("c.json:1 ends in the middle"), "{cut}");
    let absent = message(&folder.path().join("none.yaml"));
    let is_named = absent.starts_with("failed to read ") && absent.contains("none.yaml");
    assert!(is_named, "{absent}");
}

#[test]
fn crd_has_the_served_versions() {
    let crd = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: multicluster.x-k8s.io\n  \
               names: {plural: clusterprofiles}\n  versions: [{name: v1alpha1, served: true, subresources: {status: {}}}]\n";
    let input = read(profile("a") + crd).expect("reads");
    let [served] = &input.evidence.header.hub.served[..] else {
        panic!("one version")
    };
    assert!(served.status_subresource && !served.immutable_manager);
    assert!(input.notes.is_empty(), "{:?}", input.notes);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(bytes);
    }
}

#[test]
fn depth_is_bounded() {
    for deep in [
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
        "a: ".to_owned() + &"[".repeat(100_000),
        "- ".repeat(50_000),
    ] {
        read(deep).expect_err("too deep");
    }
    let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    read(closed).expect_err("no object");
}

/// The kinds of which a dump has only a part, each with the reason.
fn partial(text: &str) -> Vec<(Kind, String)> {
    let gaps = read(text).expect("reads").evidence.gaps;
    let parts = gaps.iter().map(|gap| (gap.kind, gap.reason.to_string()));
    parts.collect()
}

#[test]
fn truncated_list_is_a_gap() {
    let list = |kind: &str, metadata: &Value, items: &[&Value]| {
        let api_version = match kind {
            "ClusterProfileList" => "multicluster.x-k8s.io/v1alpha1",
            _ => "v1",
        };
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "items": items})
    };
    let gap = |kind: Kind, line: usize, more: &str| {
        let part = format!("dumps/hub.yaml:{line} is only a part of a list{more}");
        (kind, part + ": dump the whole list, without a limit")
    };
    let profile = json_profile("a");
    let cut = json!({"continue": "CANARY", "remainingItemCount": 12});
    let more = " (12 more objects)";
    let profiles = list("ClusterProfileList", &cut, &[&profile]);
    for text in [
        profiles.to_string(),
        serde_saphyr::to_string(&profiles).expect("YAML"),
        json!([profiles]).to_string(),
    ] {
        assert_eq!(partial(&text), [gap(Kind::Inventory, 1, more)], "{text}");
    }
    let with_profile =
        |kind: &str, metadata: &Value| partial(&format!("{profile}\n{}", list(kind, metadata, &[])));
    assert_eq!(with_profile("SecretList", &cut), [gap(Kind::Secrets, 2, more)]);
    let namespaces = with_profile("NamespaceList", &json!({"continue": "x"}));
    assert_eq!(namespaces, [gap(Kind::Namespaces, 2, "")]);
    assert_eq!(with_profile("PodList", &cut), []);
    // No gap for kinds that the dump does not have.
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let both = list("List", &cut, &[&profile, &namespace]);
    let expected = [Kind::Inventory, Kind::Namespaces].map(|kind| gap(kind, 1, more));
    assert_eq!(partial(&both.to_string()), expected);
    for whole in ["{\"continue\": \"\"}", "{\"continue\": null}", "{}", "null"] {
        let metadata = serde_json::from_str(whole).expect("JSON");
        assert_eq!(with_profile("ClusterProfileList", &metadata), []);
    }
}

#[test]
fn profiles_of_conformance_runs_are_omitted_with_a_note() {
    let other = profile("m-conformance-bcdfg-1");
    let input = read(format!("{}---\n{other}", profile("a"))).expect("reads");
    let judged = input.evidence.inventory().map(|profile| &*profile.metadata.name);
    assert_eq!(judged.collect::<Vec<_>>(), ["a"]);
    let note = "profiles of other conformance runs are not judged: 1, for example n/m-conformance-bcdfg-1";
    assert_eq!(input.notes, [note]);
}

#[test]
fn unknown_version_is_noted() {
    let slice = |version: &str| {
        let head = format!("apiVersion: multicluster.x-k8s.io/{version}\nkind: PlacementDecision\n");
        head + "metadata: {name: web-0}\n"
    };
    let notes = |text: &str| read(text).expect("reads").notes;
    assert!(notes(&slice("v1alpha1")).is_empty());
    let note = "PlacementDecisions are read as v1alpha2: this suite does not know their version v9";
    assert_eq!(notes(&slice("v9")), [note]);
}

fn json_profile(name: &str) -> Value {
    json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": "n"}})
}

#[test]
fn large_dump_is_read_in_pieces_with_the_same_result() {
    let count = 800;
    // Larger than a read, and than the largest object.
    let annotations = json!({"a": "]} \\\" {[", "note": "x".repeat(400)});
    let item = |number| {
        let mut profile = json_profile(&format!("p{number}"));
        profile["metadata"]["annotations"] = annotations.clone();
        profile
    };
    let items: Vec<Value> = (0..count).map(item).collect();
    let list = json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}});
    let limits = Limits {
        object: 40_000,
        ..Limits::default()
    };
    let read = |text: &str| {
        let input = read_from(text.as_bytes(), "x", &Digester::new([7; 32]), &limits).expect("reads");
        assert_eq!(input.evidence.unreadable, []);
        assert_eq!(input.evidence.profiles.len(), count);
        input
    };
    let compact = read(&list.to_string());
    assert_eq!(names(&compact)[count - 1], format!("p{}", count - 1));
    let yaml = |item: &Value| serde_saphyr::to_string(item).expect("YAML");
    let documents: Vec<String> = items.iter().map(yaml).collect();
    let blocks = documents.iter().map(|text| text.trim_end().replace('\n', "\n  "));
    let blocks: String = blocks.map(|text| format!("- {text}\n")).collect();
    let in_a_row: Vec<String> = items.iter().map(ToString::to_string).collect();
    for text in [
        serde_json::to_string_pretty(&list).expect("writes"),
        list["items"].to_string(),
        in_a_row.join("\n"),
        format!("apiVersion: v1\nitems:\n{blocks}kind: List\nmetadata: {{}}\n"),
        documents.join("\n---\n"),
    ] {
        assert_eq!(read(&text), compact);
    }
}

#[test]
fn keys_may_have_escapes() {
    let list = r#"{"apiVersion": "v1", "k\u0069nd": "List", "\u0069tems": [PROFILE]}"#;
    let list = list.replace("PROFILE", &json_profile("a").to_string());
    assert_eq!(names(&read(list).expect("a dump")), ["a"]);
}

#[test]
fn dump_that_was_cut_short_is_refused() {
    let list = json!({"apiVersion": "v1", "items": [json_profile("a"), json_profile("b")], "kind": "List"});
    let json = list.to_string();
    let cut = |line| format!("dumps/hub.yaml:{line} ends in the middle: was kubectl interrupted? dump again");
    for end in 1..json.len() {
        assert_eq!(refused(&json[..end]), cut(1));
    }
    let item = |name: &str| format!("- {}\n", profile(name).trim_end().replace('\n', "\n  "));
    let yaml = format!("apiVersion: v1\nitems:\n{}{}kind: List\n", item("a"), item("b"));
    assert_eq!(refused(b"kind: List\nitems:\n- kind: \xC3"), cut(3));
    for marked in ["[{},\n---\n[]", "[{\"a\": 1,\n---\n[]", "[\n{\"a\":\n... \n[]"] {
        assert_eq!(refused(marked), cut(marked.lines().count() - 2), "{marked}");
    }
    let kind_begins = yaml.find("kind: List").expect("the end");
    for end in "apiVersion: v1\nitems".len()..yaml.len() - 1 {
        let message = refused(&yaml[..end]);
        let is_middle = message.contains(" ends in the middle: ");
        let names_cut =
            message.contains("was kubectl interrupted?") || message.contains(" is not valid YAML: ");
        // Between two lines, or in the line of the kind.
        let must_name_cut = yaml[..end].ends_with('\n') || end > kind_begins + "kind:".len();
        let is_cut = is_middle || names_cut && !must_name_cut;
        assert!(is_cut, "{message} of {}", &yaml[..end]);
    }
    assert_eq!(refused(&yaml[..kind_begins]), cut(22));
    let no_line_break = read(yaml.trim_end()).expect("a dump");
    assert_eq!(names(&no_line_break), ["a", "b"]);
}

#[test]
fn malformed_list_is_unreadable() {
    let other = json!({"items": [json_profile("a")], "kind": "Other", "apiVersion": "v1"});
    let input = read(other.to_string()).expect("reads");
    assert_eq!(names(&input), ["a"]);
    let message = &input.evidence.unreadable[0].message;
    assert!(message.contains("is a malformed list"), "{message}");
}
