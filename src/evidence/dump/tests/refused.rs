//! Dumps that cannot be read, or are too large.

use super::*;

/// Dumps with `|` for a line's end, and where the first flaw is: in an object, in a list, behind its items, in an object of
/// an ignored kind, and before another flaw.
const NO_YAML: &str = r#"
kind: Pod|---|kind: ClusterProfile|status: {}|status: {} => 5:1
apiVersion: v1|items:|- kind: Pod|- kind: "Pod"x|- kind: Pod|kind: List => 4:14
apiVersion: v1|items:|- kind: Pod|- kind: "Pod"|- kind: Pod|kind: [List => 6:7
items:|  - kind: Pod|- kind: Pod|kind: List => 3:
- kind: Pod|kind: List => 2:
kind: Pod|...|kind: [ => 3:
kind: Pod|spec: *canary|---|status: {}|status: {} => 2:7"#;

#[test]
fn what_is_no_yaml_is_refused_with_line_and_column() {
    for row in NO_YAML.lines().skip(1) {
        let (text, place) = row.split_once(" => ").expect("a text and its place");
        let message = refused(format!("{}\n---\n{}", text.replace('|', "\n"), profile("a")));
        let is_placed = message.starts_with(&format!("dumps/hub.yaml:{place}"));
        assert!(is_placed && message.contains(" is not valid YAML: "), "{message}");
        assert!(
            message.ends_with("; correct the file, or dump again"),
            "{message}"
        );
        assert!(!message.contains("canary"), "{message}");
    }
    for more in [1, 5_000] {
        let more = "- kind: Pod\n".repeat(more);
        let message = refused(format!("kind: Pod\nspec: *canary\n---\n{more}---\n[{{}},\n7 7]"));
        assert!(message.starts_with("dumps/hub.yaml:2:7"), "{message}");
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
{"items": [], "items": []} => 1:24 duplicate field `items`
{"items": [{"kind": "a"} 7]} => 1:26 expected `,` or `]`
{"kind": "a" 7} => 1:14 expected `,` or `}`
{"kind" 7} => 1:9 expected `:`
{"items": [|{"kind": "a"},|{"kind": b}]} => 3:10 expected value"#;
    for row in rows.lines().skip(1) {
        let (text, flaw) = row.split_once(" => ").expect("a text and its flaw");
        let (place, message) = flaw.split_once(' ').expect("a place");
        let expected =
            format!("dumps/hub.yaml:{place} is not valid JSON: {message}; correct the file, or dump again");
        assert_eq!(refused(text.replace('|', "\n")), expected, "{text}");
    }
}

#[test]
fn what_is_no_dump_is_refused_with_place_and_remedy() {
    let pod = b"kind: Pod\napiVersion: v1\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: n}\n";
    for (text, start) in [
        (
            &b"  \n"[..],
            " is empty: did the kubectl command that wrote it fail?",
        ),
        (
            pod,
            " holds no ClusterProfile (but 1 × Namespace, 1 × Pod): dump with `kubectl get",
        ),
        (b"\n---\nhello\n", ":3 is not a Kubernetes object"),
        (b"[7]", ":1 is not a Kubernetes object"),
        (b"a\nb\0", ":2:2 is not valid YAML: a NUL character"),
        (
            b"kind: List\nitems: \xE9\n",
            ":2 is not UTF-8 text: is this a dump of kubectl?",
        ),
    ] {
        let message = refused(text);
        assert!(
            message.starts_with(&format!("dumps/hub.yaml{start}")),
            "{message}"
        );
    }
    let utf16 = refused(b"\xFF\xFEk\0i\0");
    assert!(utf16.contains("Out-File -Encoding utf8"), "{utf16}");
    // Of a hub without profiles.
    let empty = read("items: []\nkind: List\n").expect("an inventory");
    assert!(empty.evidence.profiles.is_empty());
    let files = ["a", "b", "c"].map(|name| format!("\u{FEFF}---\n{}...\n", profile(name)));
    let marked = files.concat() + "\u{FEFF}---\n[]\n\u{FEFF}---\n";
    assert_eq!(names(&read(marked).expect("byte order marks")), ["a", "b", "c"]);
    let marked = format!("\u{FEFF}{}", profile("a"));
    assert_eq!(names(&read(marked).expect("a byte order mark")), ["a"]);
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

#[test]
fn a_dump_that_was_cut_short_is_refused() {
    let list = json!({"apiVersion": "v1", "items": [json_profile("a"), json_profile("b")], "kind": "List"});
    let json = list.to_string();
    let cut = |line| format!("dumps/hub.yaml:{line} ends in the middle: was kubectl interrupted? dump again");
    for end in 1..json.len() {
        assert_eq!(refused(&json[..end]), cut(1));
    }
    let item = |name: &str| format!("- {}\n", profile(name).trim_end().replace('\n', "\n  "));
    let yaml = format!("apiVersion: v1\nitems:\n{}{}kind: List\n", item("a"), item("b"));
    assert_eq!(refused(b"kind: List\nitems:\n- kind: \xC3"), cut(3));
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
fn what_turns_out_to_be_no_list_is_told() {
    let other = json!({"items": [json_profile("a")], "kind": "Other", "apiVersion": "v1"});
    let input = read(other.to_string()).expect("reads");
    assert_eq!(names(&input), ["a"]);
    let message = &input.evidence.unreadable[0].message;
    assert!(message.contains("is a malformed list"), "{message}");
    let twice = format!(r#"[{}, {{"items": [7], "items": []}}]"#, json_profile("a"));
    let input = read(twice).expect("reads");
    let message = &input.evidence.unreadable[0].message;
    assert!(message.contains("is a malformed list"), "{message}");
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
        ("a", LimitError::YamlDocument(32_000)),
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
    let expected = "x:1 is not UTF-8 text: is this a dump of kubectl?";
    assert_eq!(noise.to_string(), expected);
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
    let message = limited(list(&"x".repeat(3_000)).as_bytes()).to_string();
    let expected = "x:3: an object of more than 2000 bytes: etcd holds none of more than 1.5 MiB";
    assert_eq!(message, expected);
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
    let size = |name: &str| folder.path().join(name).metadata().expect("a file").len();
    let size = size("a.json") + size("b.yaml");
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
