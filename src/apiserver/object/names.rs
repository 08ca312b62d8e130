//! Checks names, label keys and label values, with kube-apiserver's messages.

use std::sync::LazyLock;

use regex::Regex;

static LABEL: LazyLock<Regex> = LazyLock::new(|| whole("[a-z0-9]([-a-z0-9]*[a-z0-9])?"));
static SUBDOMAIN: LazyLock<Regex> =
    LazyLock::new(|| whole(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"));
static LABEL_1035: LazyLock<Regex> = LazyLock::new(|| whole("[a-z]([-a-z0-9]*[a-z0-9])?"));
static KEY: LazyLock<Regex> = LazyLock::new(|| whole("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"));
static VALUE: LazyLock<Regex> = LazyLock::new(|| whole("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"));

fn whole(pattern: &str) -> Regex {
    Regex::new(&format!("^{pattern}$")).expect("constant pattern")
}

fn expected(what: &str, pattern: &Regex, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    let (examples, pattern) = (examples.join(" or "), pattern.as_str().trim_matches(['^', '$']));
    format!("{what} (e.g. {examples}regex used for validation is '{pattern}')")
}

/// Checks the length and the pattern of a text.
fn judged(text: &str, max: (usize, &str), what: &str, pattern: &Regex, examples: &[&str]) -> Vec<String> {
    let too_long = (text.len() > max.0).then(|| format!("must be no more than {} {}", max.0, max.1));
    let misshapen = (!pattern.is_match(text)).then(|| expected(what, pattern, examples));
    too_long.into_iter().chain(misshapen).collect()
}

/// Checks `name` as a DNS-1123 label.
pub(crate) fn dns_label(name: &str) -> Vec<String> {
    let what = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                and end with an alphanumeric character";
    let examples = ["my-name", "123-abc"];
    let mut wrong = judged(name, (63, "characters"), what, &LABEL, &examples);
    if name.contains('.') && SUBDOMAIN.is_match(name) {
        wrong.pop();
        wrong.push("must not contain dots".to_owned());
    }
    wrong
}

/// Checks `name` as a DNS-1123 subdomain.
pub(crate) fn dns_subdomain(name: &str) -> Vec<String> {
    let what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
                must start and end with an alphanumeric character";
    judged(name, (253, "characters"), what, &SUBDOMAIN, &["example.com"])
}

/// Checks `name` as a DNS-1035 label.
pub(crate) fn dns_1035_label(name: &str) -> Vec<String> {
    let what = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                character, and end with an alphanumeric character";
    let examples = ["my-name", "abc-123"];
    judged(name, (63, "characters"), what, &LABEL_1035, &examples)
}

/// A prefix of a name, completed to a whole name: the generated part follows a trailing dash.
pub(crate) fn completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(start) if !start.is_empty() => {
            let end = start.char_indices().next_back().map_or(0, |(end, _)| end);
            format!("{}a", &start[..end])
        }
        _ => prefix.to_owned(),
    }
}

/// Checks `name` as the name of a kind.
pub(crate) fn kind(name: &str) -> Vec<String> {
    let mixed = |why| format!("may have mixed case, but should otherwise match: {why}");
    dns_1035_label(&name.to_lowercase())
        .into_iter()
        .map(mixed)
        .collect()
}

/// Checks `key` as the key of a label (and, in lower case, of an annotation).
pub(crate) fn label_key(key: &str) -> Vec<String> {
    let what = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                alphanumeric character";
    let examples = ["MyName", "my.name", "123-abc"];
    let mut wrong = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => {
            let shape = expected(what, &KEY, &examples);
            return vec![format!(
                "a valid label key {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
        Some(("", name)) => {
            wrong.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            let prefix = dns_subdomain(prefix);
            wrong.extend(prefix.iter().map(|why| format!("prefix part {why}")));
            name
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    let name = judged(name, (63, "bytes"), what, &KEY, &examples);
    wrong.extend(name.iter().map(|why| format!("name part {why}")));
    wrong
}

/// Checks `value` as the value of a label.
pub(crate) fn label_value(value: &str) -> Vec<String> {
    let what = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                must start and end with an alphanumeric character";
    let examples = ["MyValue", "my_value", "12345"];
    judged(value, (63, "bytes"), what, &VALUE, &examples)
}

/// Checks `name` as a segment of a path.
pub(crate) fn path_segment(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    let illegal = ["/", "%"].into_iter().filter(|illegal| name.contains(illegal));
    illegal
        .map(|illegal| format!("may not contain '{illegal}'"))
        .collect()
}
