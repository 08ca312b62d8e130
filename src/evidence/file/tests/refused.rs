//! Files that are refused.

use super::*;

/// Rules that need a timeline rely on versions with times, and on dumps without changes.
#[test]
fn window_without_times_and_dump_with_changes_are_refused() {
    let untimed = text(&sample()).replacen(r#"{"at":"1970-01-01T00:00:00Z","origin""#, r#"{"origin""#, 1);
    assert!(refused(untimed).starts_with("x:2: no `at`: only a dump"));
    let expected = "`patch` or `deleted` in a dump: evidence of a run has a window in its header";
    let dump = text(&dump());
    let (records, end) = dump.split_at(dump.find(r#"{"end""#).expect("an end"));
    for change in [
        r#"{"patch":{"at":"2026-01-01T00:00:00Z","object":{}}}"#,
        r#"{"deleted":{"at":"2026-01-01T00:00:00Z"}}"#,
    ] {
        let changed = format!("{records}{change}\n{end}");
        assert_eq!(refused(changed), format!("x:3: {expected}"));
    }
}

#[test]
fn malformed_line_is_refused_with_its_number() {
    let text = text(&sample());
    let lines: Vec<&str> = text.lines().collect();
    let message = |lines: &[&str]| refused(lines.join("\n") + "\n");
    for text in ["", "kind: List\n"] {
        assert!(refused(text).starts_with("x:1 is not the header"));
    }
    let nameless = lines[1].replacen(r#""metadata":{"#, r#""metadata":[],"x":{"#, 1);
    let no_record = "expected an object with one key, the record's kind";
    let no_object = "`patch` or `deleted` without a `profile` or `placementDecision` above it";
    for (line, error) in [
        (r#"{"gap":{}}"#, "missing field `kind`"),
        (lines[2], no_object),
        (&nameless, "metadata: invalid type: sequence, expected an object"),
        ("{}", no_record),
        ("[]", no_record),
        ("null", no_record),
        (r#""end""#, no_record),
        (r#"{"gap":{"kind":"driver","reason":"r"},"y":1}"#, no_record),
        (r#"{"foo":1,"bar":2}"#, no_record),
        (r#"{"end":{},"end":{}}"#, "expected value"),
        (r#"{"afterWindow":{"foo":1,"bar":2}}"#, no_record),
        (r#"{"foo":1}x"#, "trailing characters"),
        (r#"{"gap":"#, "EOF while parsing a value"),
        (r#"{"foo":}"#, "expected value"),
    ] {
        assert_eq!(message(&[lines[0], line]), format!("x:2: {error}"), "{line}");
    }
    let mut bytes = text.as_bytes().to_vec();
    bytes[lines[0].len() + 20] = 0xFF;
    assert_eq!(refused(&bytes), "x:2: it is not UTF-8 text");
    let second = "are these two files in one?";
    let duplicate = format!("4: a second object with the same name and uid: {second}");
    let later = format!("5: a record after the end: {second}");
    for (more, error) in [
        (&[lines[0]][..], &*format!("4: a second header: {second}")),
        (&[lines[3], lines[1]], &later),
        (&[r#"{"\u0065nd":{}}"#, lines[1]], &later),
        (&[lines[1]], &duplicate),
    ] {
        assert_eq!(message(&[&lines[..3], more].concat()), format!("x:{error}"));
    }
}

/// Rules use the length of the window as the time that was observed.
#[test]
fn impossible_window_is_refused() {
    let at = |day: &str| format!("{day}T10:00:00Z").parse().expect("a time");
    let message = |from: &str, until: &str, settled: &str| {
        let mut evidence = sample();
        let (from, until) = (at(from), at(until));
        let window = Window { from, until };
        evidence.header.window = Some(window);
        evidence.header.settled = Some(Settled {
            until: at(settled),
            ..Settled::at_once(window)
        });
        let read = read_from(&*written(&evidence), "x", &Limits::default());
        read.err().map(|error| error.to_string()).unwrap_or_default()
    };
    let (early, late, never) = ("2026-11-20", "2026-11-21", "9999-01-01");
    assert_eq!(message(early, early, early), "");
    assert_eq!(message(early, late, late), "");
    let expected = "x:1: the window ends before it begins: it is from 2026-11-21T10:00:00Z until ";
    assert!(message(late, early, early).starts_with(expected));
    let expected = "x:1: the window ends in another age, at 9999-01-01T10:00:00Z: ";
    assert!(message(early, never, never).starts_with(expected));
    let settled = "the time until which the run watched on ends in another age";
    assert!(message(early, late, never).contains(settled));
}

#[test]
fn file_over_a_limit_is_refused_with_its_line() {
    let limits = Limits {
        object: 2_000,
        count: 300,
        unreadable: 10,
        ..Limits::default()
    };
    let header = text(&Evidence::default());
    let header = header.lines().next().expect("a header");
    let refused = |line: &str, count: usize| {
        let text = format!("{header}\n{}", format!("{line}\n").repeat(count));
        match read_from(text.as_bytes(), "x", &limits) {
            Err(InputError::TooLarge { line, limit, .. }) => Some((line, limit)),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        }
    };
    let gap = r#"{"gap":{"kind":"inventory","reason":"r"}}"#;
    assert_eq!(refused(gap, 299), None);
    assert_eq!(refused(gap, 300), Some((301, LimitError::Count(300))));
    assert_eq!(refused("", 300), Some((301, LimitError::Count(300))));
    let unreadable = r#"{"unreadable":{"message":"m"}}"#;
    assert_eq!(refused(unreadable, 10), None);
    assert_eq!(refused(unreadable, 11), Some((12, LimitError::Unreadable(10))));
    let long = |size: usize| format!(r#"{{"x":"{}"}}"#, "y".repeat(size - 8));
    assert_eq!(refused(&long(2_000), 1), None);
    assert_eq!(refused(&long(2_001), 1), Some((2, LimitError::Object(2_000))));
    let endless = io::Read::chain(header.as_bytes(), io::repeat(b'x'));
    let endless = read_from(io::BufReader::new(endless), "x", &limits).expect_err("it has no end");
    let expected = "x:1: an object of more than 2000 bytes: etcd holds none of more than 1.5 MiB";
    assert_eq!(endless.to_string(), expected);
}

#[test]
fn file_is_bounded_as_a_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evidence.jsonl.zst");
    write_file(&sample(), &path);
    let sum = Checksum::of_file(&path, &Limits::default());
    let sum = sum.expect("read").expect("a file");
    let limits = |whole: u64| Limits {
        whole,
        ..Limits::default()
    };
    let digester = Digester::new([7; 32]);
    let read = |whole: u64| read_input_bounded(&path, &digester, &limits(whole));
    assert_eq!(read(sum.bytes).expect("fits").evidence, sample());
    let refused = read(sum.bytes - 1).expect_err("too large");
    assert_eq!(refused.limit(), Some(LimitError::Whole(sum.bytes - 1)));
    let unsummed = Checksum::of_file(&path, &limits(sum.bytes - 1)).expect_err("too large");
    assert_eq!(Checksum::limit(&unsummed), Some(LimitError::Whole(sum.bytes - 1)));
}
