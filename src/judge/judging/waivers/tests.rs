use super::*;

const RULE: &str = "identity/manager-label-present";

fn waiver(rest: &str) -> String {
    format!("waivers:\n- {{rule: {RULE}, reason: legacy, link: 'https://issues.example/1', {rest}}}\n")
}

#[test]
fn what_does_not_say_everything_is_refused() {
    for (yaml, wanted) in [
        ("waivers: [{rule: x}]", "reason"),
        (&*waiver("expires: 2026-01-01, until: 2027-01-01"), "until"),
        (&*waiver("expires: soon"), "write it like 2027-03-31"),
        (
            &*waiver("expires: 2026-01-01").replace("label-present", "label-presnt"),
            "did you mean `identity/manager-label-present`?",
        ),
        (
            &*waiver("expires: 2026-01-01").replace("legacy", "' '"),
            "line 2: waiver 1: `reason` is empty",
        ),
        (
            &*waiver("expires: 2026-01-01").replace("https:", "javascript:"),
            "not an http or https URL",
        ),
        (
            &*waiver("object: fleet/a/b, expires: 2026-01-01"),
            "`object` names nothing",
        ),
        (
            &*(waiver("expires: 2026-01-01") + &waiver("expires: 2027-01-01")[9..]),
            "line 3: waiver 2: it is for the same violations as waiver 1",
        ),
    ] {
        let error = Waivers::parse(yaml).expect_err("it is refused").to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, text, fits) in [
        ("*", "", true),
        ("a*c", "abbc", true),
        ("a*c", "abcd", false),
        ("*b*", "abc", true),
        ("a", "ab", false),
        ("a*a", "a", false),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxyyc", false),
    ] {
        assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
    }
}
