use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{
    Asked, Digester, Input, InputError, Kind, LimitError, Limits, Origin, read_input, read_input_bounded,
};

fn read(text: &str) -> Result<Input, InputError> {
    read_from(
        text.as_bytes(),
        "dumps/hub.yaml",
        &Digester::new([7; 32]),
        &Limits::default(),
    )
}

fn read_bytes(bytes: &[u8]) -> Result<Input, InputError> {
    read_from(bytes, "x", &Digester::new([7; 32]), &Limits::default())
}

fn names(input: &Input) -> Vec<&str> {
    input
        .evidence
        .everyone()
        .map(|profile| &*profile.metadata.name)
        .collect()
}

fn refused(text: &str) -> String {
    read(text).expect_err("no dump").to_string()
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
fn yaml_and_json_say_the_same() {
    let list = json!({"apiVersion": "v1", "items": [
        {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
         "metadata": {"name": "a", "namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"on": "yes"}},
         "status": {"properties": [{"name": "p", "value": "off"}]}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": {"x": "y"}}},
    ], "kind": "List"});
    let from_json = read(&list.to_string()).expect("reads JSON");
    let pretty = serde_json::to_string_pretty(&list).expect("writes");
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: n, labels: {x: y}}\n";
    let from_yaml = read(&format!(
        "%YAML 1.2\n---\n# of kubectl\n{}---\n---\r\n{namespace}...\n",
        profile("a")
    ));
    assert_eq!(from_yaml.expect("reads YAML"), from_json);
    assert_eq!(read(&pretty).expect("reads"), from_json);
    assert_eq!(
        read(&list["items"].to_string()).expect("reads an array"),
        from_json
    );
    let several = format!("{}\n{}\n---\n{}", list["items"][0], "", list["items"][1]);
    assert_eq!(read(&several).expect("reads several values"), from_json);

    // YAML 1.1 would take `on`, `yes` and `off` for booleans, and the time for one.
    let profile = &from_json.evidence.profiles[0];
    assert_eq!(profile.origin, Origin::Listed);
    assert_eq!(profile.last().label("on"), Some("yes"));
    assert_eq!(
        profile.last().metadata.creation_timestamp.as_deref(),
        Some("2026-01-01T00:00:00Z")
    );
    assert_eq!(from_json.evidence.namespaces[0].labels["x"], "y");
}

#[test]
fn says_what_a_dump_cannot_tell() {
    let bare = read(&profile("a")).expect("reads").evidence;
    assert_eq!(bare.header.hub.source, "dump hub.yaml");
    assert_eq!(bare.header.hub.api_version.as_deref(), Some("v1alpha1"));
    assert_eq!(
        (bare.header.window, bare.profiles[0].versions[0].at),
        (None, None)
    );
    assert_eq!(bare.asked(Kind::Inventory), &Asked::Yes);
    for (kind, remedy) in [
        (Kind::Namespaces, "kubectl get namespaces"),
        (Kind::Secrets, "kubectl get secrets"),
        (Kind::Writers, "--show-managed-fields"),
        (Kind::Timeline, "observe a hub"),
        (Kind::Requests, "no audit log was given"),
    ] {
        let Asked::No(reason) = bare.asked(kind) else {
            panic!("{kind} was asked for")
        };
        assert!(reason.contains(remedy), "{kind}: {reason}");
    }

    let owned = profile("a").replace(
        "labels: {on: yes}",
        "managedFields: [{manager: m, operation: Update}]",
    );
    let namespace = "---\nkind: Namespace\napiVersion: v1\nmetadata: {name: n}\n";
    let secret = "---\nkind: Secret\napiVersion: v1\nmetadata: {name: s, namespace: n}\n";
    let full = read(&format!("{owned}{namespace}{secret}"))
        .expect("reads")
        .evidence;
    for kind in [Kind::Namespaces, Kind::Secrets, Kind::Writers] {
        assert_eq!(full.asked(kind), &Asked::Yes, "{kind}");
    }
}

#[test]
fn typed_lists_tell_the_kind_of_their_items() {
    let token = "canary-Gq8Zt";
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
    let [secret] = &input.evidence.secrets[..] else {
        panic!("one labelled secret")
    };
    assert!(secret.kubeconfig.is_some(), "{secret:?}");
    assert_eq!(secret.creation_timestamp.as_deref(), Some("2026-01-01T00:00:00Z"));
    assert!(!format!("{input:?}").contains(token));
    assert_eq!(
        input.notes,
        ["ignored in the dump: 1 × ClusterProfile.example.com, 2 × Pod, \
          1 × Secret without the label x-k8s.io/cluster-profile"]
    );
}

#[test]
fn an_object_without_a_name_has_a_line() {
    let nameless = format!("{}---\n{}", profile("a"), profile("").replace("namespace: n", ""));
    let input = read(&nameless).expect("reads");
    assert_eq!(names(&input), ["a"]);
    let unreadable = &input.evidence.unreadable[0];
    assert_eq!(unreadable.message, "metadata.name is missing (dumps/hub.yaml:12)");
    let null = profile("a").replace(
        "status:\n  properties:\n  - {name: p, value: off}",
        "status: null\nspec:",
    );
    assert_eq!(names(&read(&null).expect("null is as good as absent")), ["a"]);
}

#[test]
fn what_is_no_yaml_is_refused_with_line_and_column() {
    let odd = profile("odd") + "status: {}\n";
    assert_eq!(
        refused(&format!("{}---\n{odd}", profile("a"))),
        "dumps/hub.yaml:22:1 is not valid YAML: the key `status` is repeated; correct the file, or dump again"
    );
    // Within a list, and behind its items.
    let list = "apiVersion: v1\nitems:\n- kind: Pod\n- kind: \"Pod\"x\n- kind: Pod\nkind: List\n";
    let told = refused(list);
    assert!(
        told.starts_with("dumps/hub.yaml:4:14 is not valid YAML: "),
        "{told}"
    );
    let told = refused(&list.replace("\"x", "\"").replace("List", "[List"));
    assert!(
        told.starts_with("dumps/hub.yaml:6:7 is not valid YAML: "),
        "{told}"
    );
    for (text, line) in [
        ("items:\n  - kind: Pod\n- kind: Pod\nkind: List\n", 3),
        ("- kind: Pod\nkind: List\n", 2),
        ("kind: Pod\n...\nkind: [\n", 3),
    ] {
        let message = refused(&format!("{text}---\n{}", profile("a")));
        assert!(
            message.starts_with(&format!("dumps/hub.yaml:{line}:")),
            "{message}"
        );
        assert!(message.contains(" is not valid YAML: "), "{message}");
    }
    // Of an ignored kind, or behind a flaw of another: the first one counts.
    let told = refused(&format!("kind: Pod\nspec: *canary\n---\n{odd}"));
    assert_eq!(
        told,
        "dumps/hub.yaml:2:7 is not valid YAML: alias references unknown anchor; correct the file, or dump again"
    );
    for more in [1, 5_000] {
        let more = "- kind: Pod\n".repeat(more);
        let told = refused(&format!("kind: Pod\nspec: *canary\n---\n{more}---\n[{{}},\n7 7]"));
        assert!(told.starts_with("dumps/hub.yaml:2:7"), "{told}");
    }
}

#[test]
fn what_is_no_json_is_refused_with_line_and_column() {
    // Between the items, in an item, around the items, and in a value without items.
    let rows = r#"
[{}, 7,| }] => 2:2 expected value
[{}]|] => 2:1 expected value
{"é": 1,,} => 1:10 key must be a string
[| 7, {"a": 1,,}] => 2:13 key must be a string
{"items": [7,|8], kind} => 2:5 key must be a string
{"items": [], "items": []} => 1:22 duplicate field `items`
{"items": [{"items": [], "items": []}]} => 1:21 duplicate field `items`
{"items": [|{"kind": "a"},|{"kind": b}]} => 3:10 expected value"#;
    for row in rows.lines().skip(1) {
        let (text, flaw) = row.split_once(" => ").expect("a text and its flaw");
        let (place, message) = flaw.split_once(' ').expect("a place");
        let expected =
            format!("dumps/hub.yaml:{place} is not valid JSON: {message}; correct the file, or dump again");
        assert_eq!(refused(&text.replace('|', "\n")), expected, "{text}");
    }
}

/// Such as the hash of a commit, which kubectl does not quote.
#[test]
fn a_text_that_looks_like_a_large_number_costs_one_object() {
    let odd = profile("odd").replace("on: yes", "commit: 1e98765");
    let input = read(&format!("{}---\n{odd}", profile("a"))).expect("reads");
    assert_eq!(names(&input), ["a"]);
    let told = "ClusterProfile n/odd could not be read: a number in it is out of range";
    assert_eq!(input.evidence.unreadable[0].to_string(), told);
    let list = format!(
        "items:\n- {}- kind: Pod\n",
        odd.replace('\n', "\n  ").trim_end_matches(' ')
    );
    let input = read(&format!("{list}---\n{}", profile("a"))).expect("reads");
    assert_eq!((names(&input), input.evidence.unreadable.len()), (vec!["a"], 1));
}

#[test]
fn a_json_object_that_repeats_a_key_is_unreadable() {
    let json = r#"{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile", "spec": {},
        "metadata": {"name": "odd"}, "spec": {}}"#;
    let input = read(json).expect("reads");
    assert_eq!(input.evidence.unreadable[0].message, "a key is repeated");
    assert_eq!(input.evidence.unreadable[0].object.name, "odd");
}

#[test]
fn what_is_no_dump_is_refused_with_place_and_remedy() {
    assert_eq!(
        refused("  \n"),
        "dumps/hub.yaml is empty: did the kubectl command that wrote it fail?"
    );
    let none =
        refused("kind: Pod\napiVersion: v1\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: n}\n");
    assert!(
        none.starts_with(
            "dumps/hub.yaml holds no ClusterProfile (but 1 × Namespace, 1 × Pod): dump with `kubectl get"
        ),
        "{none}"
    );
    // Of a hub without profiles.
    let empty = read_bytes(b"items: []\nkind: List\n").expect("an inventory");
    assert!(empty.evidence.profiles.is_empty());
    assert!(refused("\n---\nhello\n").starts_with("dumps/hub.yaml:3 is not a Kubernetes object"));
    assert!(refused("[7]").starts_with("dumps/hub.yaml:1 is not a Kubernetes object"));
    let latin = read_bytes(b"kind: List\nitems: \xE9\n")
        .expect_err("no UTF-8")
        .to_string();
    assert_eq!(latin, "x:2 is not UTF-8 text: is this a dump of kubectl?");
    let utf16 = read_bytes(b"\xFF\xFEk\0i\0").expect_err("no UTF-8").to_string();
    assert!(utf16.contains("Out-File -Encoding utf8"), "{utf16}");
    let files = ["a", "b", "c"].map(|name| format!("\u{FEFF}---\n{}...\n", profile(name)));
    let marked = files.concat() + "\u{FEFF}---\n[]\n\u{FEFF}---\n";
    assert_eq!(names(&read(&marked).expect("byte order marks")), ["a", "b", "c"]);
    assert_eq!(
        names(&read(&format!("\u{FEFF}{}", profile("a"))).expect("a byte order mark")),
        ["a"]
    );
}

#[test]
fn a_version_that_is_repeated_counts_once() {
    let version = profile("a").replace("labels: {on: yes}", "resourceVersion: \"5\"\n  uid: u");
    let overlap = read(&format!("{version}---\n{version}")).expect("reads");
    assert_eq!(names(&overlap), ["a"]);
}

#[test]
fn a_directory_is_one_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writes");
    let message = || {
        read_input(folder.path(), &Digester::new([7; 32]))
            .expect_err("no dump")
            .to_string()
    };
    put("notes.txt", "not: a: dump");
    assert!(
        message().contains("holds no *.yaml, *.yml or *.json file"),
        "{}",
        message()
    );

    put("b.yml", &profile("b"));
    put("a.yaml", &profile("a"));
    put("c.json", "");
    std::fs::create_dir(folder.path().join("sub.yaml")).expect("a folder");
    let input = read_input(folder.path(), &Digester::new([7; 32])).expect("reads");
    assert_eq!(names(&input), ["a", "b"]);

    put("c.json", "{");
    assert!(message().contains("c.json:1 ends in the middle"), "{}", message());
    let missing = read_input(&folder.path().join("none.yaml"), &Digester::new([7; 32]))
        .expect_err("missing")
        .to_string();
    assert!(
        missing.starts_with("failed to read ") && missing.contains("none.yaml"),
        "{missing}"
    );
}

#[test]
fn the_crd_tells_what_is_served() {
    let crd = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: multicluster.x-k8s.io\n  \
               names: {plural: clusterprofiles}\n  versions: [{name: v1alpha1, served: true, subresources: {status: {}}}]\n";
    let input = read(&format!("{}{crd}", profile("a"))).expect("reads");
    let [served] = &input.evidence.header.hub.served[..] else {
        panic!("one version")
    };
    assert!(served.status_subresource && !served.immutable_manager);
    assert!(input.notes.is_empty(), "{:?}", input.notes);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read_bytes(&bytes);
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
        read(&deep).expect_err("too deep");
        let closed = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        read(&closed).expect_err("no object");
    }
}

/// The kinds that a dump is said to hold a part of, each with the reason.
fn partial(text: &str) -> Vec<(Kind, String)> {
    let gaps = read(text).expect("reads").evidence.gaps;
    gaps.iter()
        .map(|gap| (gap.kind, gap.reason.to_string()))
        .collect()
}

#[test]
fn a_list_that_goes_on_elsewhere_is_told_as_a_part() {
    let list = |kind: &str, metadata: Value, items: &[Value]| {
        let typed = json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1"});
        let api_version = if kind == "ClusterProfileList" {
            &typed["apiVersion"]
        } else {
            &json!("v1")
        };
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "items": items})
    };
    let profile = json_profile("a");
    let cut = json!({"continue": "CANARY", "remainingItemCount": 12});
    let reason =
        "dumps/hub.yaml:1 is only a part of a list (12 more objects): dump the whole list, without a limit";
    let profiles = list("ClusterProfileList", cut.clone(), std::slice::from_ref(&profile));
    for text in [
        profiles.to_string(),
        serde_saphyr::to_string(&profiles).expect("YAML"),
        json!([profiles]).to_string(),
    ] {
        assert_eq!(partial(&text), [(Kind::Inventory, reason.to_owned())], "{text}");
    }
    let with_profile =
        |kind: &str, metadata: Value| partial(&format!("{profile}\n{}", list(kind, metadata, &[])));
    let secrets = (Kind::Secrets, reason.replace(":1 is", ":2 is"));
    assert_eq!(with_profile("SecretList", cut.clone()), [secrets]);
    let reason = "dumps/hub.yaml:2 is only a part of a list: dump the whole list, without a limit";
    let namespaces = (Kind::Namespaces, reason.to_owned());
    assert_eq!(
        with_profile("NamespaceList", json!({"continue": "x"})),
        [namespaces]
    );
    assert_eq!(with_profile("PodList", cut.clone()), []);
    // Of kinds that the dump does not hold, nothing is missing.
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    let both = list("List", cut, &[profile.clone(), namespace]);
    let kinds = partial(&both.to_string()).into_iter().map(|(kind, _)| kind);
    assert_eq!(kinds.collect::<Vec<_>>(), [Kind::Inventory, Kind::Namespaces]);
    for whole in [
        json!({"continue": ""}),
        json!({"continue": null}),
        json!({}),
        json!(null),
    ] {
        assert_eq!(with_profile("ClusterProfileList", whole), []);
    }
}

#[test]
fn profiles_of_conformance_runs_are_left_out_with_a_note() {
    let input = read(&format!(
        "{}---\n{}",
        profile("a"),
        profile("m-conformance-bcdfg-1")
    ))
    .expect("reads");
    let judged = input.evidence.inventory().map(|profile| &*profile.metadata.name);
    assert_eq!(judged.collect::<Vec<_>>(), ["a"]);
    let note = "profiles of other conformance runs are not judged: 1, such as n/m-conformance-bcdfg-1";
    assert_eq!(input.notes, [note]);
}

#[test]
fn versions_that_nobody_knows_are_told() {
    let slice = |version: &str| {
        format!(
            "apiVersion: multicluster.x-k8s.io/{version}\nkind: PlacementDecision\nmetadata: {{name: web-0}}\n"
        )
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
fn a_large_dump_is_read_in_pieces_with_the_same_outcome() {
    let count = 800;
    // Larger than what is read at once, and than the largest object.
    let annotations = json!({"a": "]} \\\" {[", "note": "x".repeat(400)});
    let items: Vec<Value> = (0..count)
        .map(|number| {
            let mut profile = json_profile(&format!("p{number}"));
            profile["metadata"]["annotations"] = annotations.clone();
            profile
        })
        .collect();
    let list = json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}});
    let limits = Limits {
        object: 20_000,
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
    let blocks = documents
        .iter()
        .map(|text| format!("- {}\n", text.trim_end().replace('\n', "\n  ")));
    let in_a_row: Vec<String> = items.iter().map(ToString::to_string).collect();
    for text in [
        serde_json::to_string_pretty(&list).expect("writes"),
        list["items"].to_string(),
        in_a_row.join("\n"),
        format!(
            "apiVersion: v1\nitems:\n{}kind: List\nmetadata: {{}}\n",
            blocks.collect::<String>()
        ),
        documents.join("\n---\n"),
    ] {
        assert_eq!(read(&text), compact);
    }
}

#[test]
fn a_dump_that_was_cut_short_is_refused() {
    let list = json!({"apiVersion": "v1", "items": [json_profile("a"), json_profile("b")], "kind": "List"});
    let json = list.to_string();
    for end in 1..json.len() {
        assert_eq!(
            refused(&json[..end]),
            "dumps/hub.yaml:1 ends in the middle: was kubectl interrupted? dump again"
        );
    }
    let item = |name: &str| format!("- {}\n", profile(name).trim_end().replace('\n', "\n  "));
    let yaml = format!("apiVersion: v1\nitems:\n{}{}kind: List\n", item("a"), item("b"));
    let in_a_letter = read_bytes(b"kind: List\nitems:\n- kind: \xC3");
    let told = in_a_letter.expect_err("half a dump").to_string();
    assert_eq!(
        told,
        "x:3 ends in the middle: was kubectl interrupted? dump again"
    );
    let kind_begins = yaml.find("kind: List").expect("the end");
    for end in "apiVersion: v1\nitems".len()..yaml.len() - 1 {
        let message = refused(&yaml[..end]);
        let is_middle = message.contains(" ends in the middle: ");
        let names_cut =
            message.contains("was kubectl interrupted?") || message.contains(" is not valid YAML: ");
        // Between two lines, or in the line of the kind.
        let must_name_cut = yaml[..end].ends_with('\n') || end > kind_begins + "kind:".len();
        assert!(
            is_middle || names_cut && !must_name_cut,
            "{message} of {}",
            &yaml[..end]
        );
    }
    assert_eq!(
        refused(&yaml[..kind_begins]),
        "dumps/hub.yaml:22 ends in the middle: was kubectl interrupted? dump again"
    );
    assert_eq!(
        names(&read(yaml.trim_end()).expect("no line break at the end")),
        ["a", "b"]
    );
}

#[test]
fn what_turns_out_to_be_no_list_is_told() {
    let other = json!({"items": [json_profile("a")], "kind": "Other", "apiVersion": "v1"});
    let input = read(&other.to_string()).expect("reads");
    assert_eq!(names(&input), ["a"]);
    assert!(
        input.evidence.unreadable[0]
            .message
            .contains("is a malformed list")
    );
}

fn limited(text: impl std::io::Read) -> InputError {
    let limits = Limits {
        object: 2_000,
        count: 10_000,
        documents: 1_000,
        unreadable: 100,
        ..Limits::default()
    };
    read_from(text, "x", &Digester::new([7; 32]), &limits).expect_err("a limit")
}

/// A text that is repeated as if for ever.
fn endless(text: &'static str) -> impl std::io::Read {
    // More often than the limits let through.
    std::io::Cursor::new(text.repeat(100_000))
}

#[test]
fn what_has_no_end_is_refused_before_it_fills_the_memory() {
    for (text, expected) in [
        ("a", LimitError::Object(2_000)),
        ("[", LimitError::Object(2_000)),
        ("{}", LimitError::Count(10_000)),
        ("{\"kind\": \"Pod\"}", LimitError::Count(10_000)),
        ("a: b\n---\n", LimitError::Documents(1_000)),
        ("kind: Pod\n---\n", LimitError::Documents(1_000)),
        ("---\n", LimitError::Count(10_000)),
        ("--- a\n", LimitError::Unreadable(100)),
        ("[[7]]", LimitError::Unreadable(100)),
    ] {
        match limited(endless(text)) {
            InputError::TooLarge { limit, .. } => assert_eq!(limit, expected, "{text}"),
            other => panic!("{text}: {other}"),
        }
    }
    let noise = limited(std::io::Cursor::new(b"\xC7\x00\x9F".repeat(10_000)));
    assert_eq!(
        noise.to_string(),
        "x:1 is not UTF-8 text: is this a dump of kubectl?"
    );
    let untyped = json!({"metadata": {"name": "a", "labels": {"x": "y".repeat(500)}}}).to_string();
    let late = format!("{{\"items\": [{}", [&*untyped; 100].join(","));
    let items = format!("items:\n{}", "- a\n".repeat(1_000));
    for (text, line) in [(items, 102), (late, 1)] {
        let expected = format!("x:{line} is in a large list whose type comes after its items: dump with");
        assert!(limited(text.as_bytes()).to_string().starts_with(&expected));
    }
}

#[test]
fn an_object_that_is_too_large_is_told_with_its_line() {
    let list = |long: &str| format!("[\n{},\n{{\n\"a\": \"{long}\"}}]", json_profile("a"));
    let told = limited(list(&"x".repeat(3_000)).as_bytes()).to_string();
    assert_eq!(
        told,
        "x:4: an object of more than 2000 bytes: etcd holds none of more than 1.5 MiB"
    );
    let yaml = format!("items:\n- a: 1\n- b: {}\n", "x".repeat(5_000));
    let message = limited(yaml.as_bytes()).to_string();
    assert!(message.starts_with("x:3: an object of more than"), "{message}");
}

#[test]
fn a_file_and_a_directory_are_bounded_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writes");
    put("a.json", &json_profile("a").to_string());
    put("b.yaml", &profile("b"));
    let size: u64 = ["a.json", "b.yaml"]
        .map(|name| folder.path().join(name).metadata().expect("a file").len())
        .iter()
        .sum();
    let read = |whole: u64| {
        let limits = Limits {
            whole,
            ..Limits::default()
        };
        read_input_bounded(folder.path(), &Digester::new([7; 32]), &limits)
    };
    assert_eq!(names(&read(size).expect("fits")), ["a", "b"]);
    let refused = read(size - 1).expect_err("too large together");
    assert_eq!(refused.limit(), Some(LimitError::Whole(size - 1)));
    assert!(refused.to_string().contains("b.yaml:"), "{refused}");
}
