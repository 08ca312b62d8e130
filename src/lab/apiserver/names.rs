//! What names, label keys and label values may look like, with the messages of the real API server.

use std::sync::LazyLock;

use regex::Regex;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const CONFIG_KEY: &str = "[-._a-zA-Z0-9]+";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";

static LABEL_PATTERN: LazyLock<Regex> = LazyLock::new(|| whole(LABEL));
static SUBDOMAIN_PATTERN: LazyLock<Regex> = LazyLock::new(|| whole(SUBDOMAIN));
static KEY_PATTERN: LazyLock<Regex> = LazyLock::new(|| whole(KEY));
static VALUE_PATTERN: LazyLock<Regex> = LazyLock::new(|| whole(VALUE));
static CONFIG_KEY_PATTERN: LazyLock<Regex> = LazyLock::new(|| whole(CONFIG_KEY));
static LABEL_1035_PATTERN: LazyLock<Regex> = LazyLock::new(|| whole(LABEL_1035));

fn whole(pattern: &str) -> Regex {
    Regex::new(&format!("^{pattern}$")).expect("constant pattern")
}

fn expected(what: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!(
        "{what} (e.g. {}regex used for validation is '{pattern}')",
        examples.join(" or ")
    )
}

/// What is wrong with a text that is too long, or not of this shape.
fn judged(
    text: &str,
    max: usize,
    unit: &str,
    pattern: &Regex,
    shape: impl FnOnce() -> String,
) -> Vec<String> {
    let too_long = (text.len() > max).then(|| format!("must be no more than {max} {unit}"));
    let misshapen = (!pattern.is_match(text)).then(shape);
    too_long.into_iter().chain(misshapen).collect()
}

/// What is wrong with `name` as a DNS-1123 label.
pub(super) fn dns_label(name: &str) -> Vec<String> {
    let shape = || match SUBDOMAIN_PATTERN.is_match(name) && name.contains('.') {
        true => "must not contain dots".to_owned(),
        false => expected(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
             start and end with an alphanumeric character",
            LABEL,
            &["my-name", "123-abc"],
        ),
    };
    judged(name, 63, "characters", &LABEL_PATTERN, shape)
}

/// What is wrong with `name` as a DNS-1123 subdomain.
pub(super) fn dns_subdomain(name: &str) -> Vec<String> {
    let shape = || {
        expected(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
             must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        )
    };
    judged(name, 253, "characters", &SUBDOMAIN_PATTERN, shape)
}

/// What is wrong with `name` as a DNS-1035 label.
pub(super) fn dns_1035_label(name: &str) -> Vec<String> {
    let shape = || {
        expected(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
         character, and end with an alphanumeric character",
            LABEL_1035,
            &["my-name", "abc-123"],
        )
    };
    judged(name, 63, "characters", &LABEL_1035_PATTERN, shape)
}

/// What is wrong with `key` as the key of a label (and, in lower case, of an annotation).
pub(super) fn label_key(key: &str) -> Vec<String> {
    let what = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                alphanumeric character";
    let shape = expected(what, KEY, &["MyName", "my.name", "123-abc"]);
    let mut wrong = Vec::new();
    let parts: Vec<&str> = key.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            wrong.push("prefix part must be non-empty".to_owned());
            *name
        }
        [prefix, name] => {
            let prefix = dns_subdomain(prefix);
            wrong.extend(prefix.iter().map(|why| format!("prefix part {why}")));
            *name
        }
        _ => {
            wrong.push(format!(
                "a valid label key {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ));
            return wrong;
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !KEY_PATTERN.is_match(name) {
        wrong.push(format!("name part {shape}"));
    }
    wrong
}

/// What is wrong with `value` as the value of a label.
pub(super) fn label_value(value: &str) -> Vec<String> {
    let shape = || {
        expected(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
         start and end with an alphanumeric character",
            VALUE,
            &["MyValue", "my_value", "12345"],
        )
    };
    judged(value, 63, "bytes", &VALUE_PATTERN, shape)
}

/// What is wrong with `key` as a key of a Secret or ConfigMap.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let shape = || {
        expected(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            CONFIG_KEY,
            &["key.name", "KEY_NAME", "key-name"],
        )
    };
    let mut wrong = judged(key, 253, "characters", &CONFIG_KEY_PATTERN, shape);
    match key {
        "." => wrong.push("must not be '.'".to_owned()),
        ".." => wrong.push("must not be '..'".to_owned()),
        key if key.starts_with("..") => wrong.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrong
}

/// What is wrong with `name` as a segment of a path.
pub(super) fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|illegal| name.contains(*illegal))
        .map(|illegal| format!("may not contain '{illegal}'"))
        .collect()
}
