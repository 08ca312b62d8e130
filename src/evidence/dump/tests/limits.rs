//! Endless and too large dumps are refused before they fill the memory.

use super::*;

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

/// A profile that cannot be read.
const BROKEN: &str =
    r#"{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile", "metadata": {"name": 7}}"#;

#[test]
fn an_unreadable_profile_counts_before_what_follows_it() {
    for count in [101, 300] {
        let broken = format!("{BROKEN}\n").repeat(count);
        for rest in ["", "{", "{}"] {
            let message = limited(format!("{broken}{rest}").as_bytes()).to_string();
            assert!(message.starts_with("x:101: "), "{count} {rest}: {message}");
        }
    }
}

#[test]
fn scalars_in_a_row_are_refused() {
    let message = limited(format!("{{}}{}", " 1".repeat(100_000)).as_bytes()).to_string();
    assert!(
        message.starts_with("x:1: more than 100 objects cannot be read"),
        "{message}"
    );
}

#[test]
fn expanded_aliases_are_bounded() {
    let long = "x".repeat(1_000_000);
    let bomb = format!(
        "- &a [{long}]\n- &b [{}]\n{}",
        ["*a"; 40].join(", "),
        "- *b\n".repeat(40)
    );
    let limits = Limits::default();
    let refused = read_from(bomb.as_bytes(), "x", &Digester::new([7; 32]), &limits).expect_err("too large");
    assert!(
        refused
            .to_string()
            .contains("too large with its aliases expanded"),
        "{refused}"
    );
}

/// A text that is repeated more often than the limits allow.
fn endless(text: &str) -> impl std::io::Read {
    std::io::Cursor::new(text.repeat(100_000))
}

#[test]
fn endless_dump_is_refused() {
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
        (BROKEN, LimitError::Unreadable(100)),
        ("{\"items\": [], \"kind\": \"X\"}\n", LimitError::Unreadable(100)),
        ("[] ", LimitError::Count(10_000)),
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
fn too_large_object_is_refused_with_its_line() {
    let list = |long: &str| format!("[\n{},\n{{\n\"a\": \"{long}\"}}]", json_profile("a"));
    let message = limited(list(&"x".repeat(3_000)).as_bytes()).to_string();
    let expected = "x:3: an object of more than 2000 bytes: etcd holds none of more than 1.5 MiB";
    assert_eq!(message, expected);
    let yaml = format!("items:\n- a: 1\n- b: {}\n", "x".repeat(5_000));
    let message = limited(yaml.as_bytes()).to_string();
    assert!(message.starts_with("x:3: an object of more than"), "{message}");
}

#[test]
fn directory_is_bounded_as_a_whole() {
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
