//! YAML for people.

use serde_json::{Map, Value};

use super::difference::{name_of, within};

/// Keys that come first, as they explain the others.
const FIRST: [&str; 10] = [
    "at",
    "every",
    "times",
    "type",
    "verb",
    "kind",
    "name",
    "namespace",
    "observe",
    "profiles",
];

/// A line of YAML, with the paths of what begins on it: a field, and perhaps a list item before it.
pub(crate) struct YamlLine {
    pub(crate) paths: Vec<String>,
    pub(crate) depth: usize,
    pub(crate) text: String,
}

/// Writes a value as YAML in block style, with the fields first that explain the others.
pub fn block(value: &Value) -> String {
    let lines = lines(value, scalar).into_iter();
    lines
        .map(|line| format!("{}{}\n", "  ".repeat(line.depth), line.text))
        .collect()
}

/// Writes a value as YAML in block style. `scalar` writes keys and texts.
pub(crate) fn lines(value: &Value, scalar: fn(&str) -> String) -> Vec<YamlLine> {
    let mut writer = BlockWriter {
        scalar,
        lines: Vec::new(),
    };
    writer.put(String::new(), value, String::new(), 0);
    writer.lines
}

struct BlockWriter {
    scalar: fn(&str) -> String,
    lines: Vec<YamlLine>,
}

impl BlockWriter {
    /// Writes the parts of a value, one field in a line.
    fn write(&mut self, value: &Value, path: &str, depth: usize) {
        match value {
            Value::Object(fields) => {
                for (key, value) in in_order(fields, &FIRST) {
                    let path = within(path, key);
                    self.put(format!("{}:", (self.scalar)(key)), value, path, depth);
                }
            }
            Value::Array(items) => {
                for (place, item) in items.iter().enumerate() {
                    let path = format!("{path}[{}]", name_of(item).unwrap_or(&place.to_string()));
                    let begin = self.lines.len();
                    self.put(String::new(), item, path.clone(), depth + 1);
                    // The item begins in the line of its first field.
                    if let Some(first) = self.lines.get_mut(begin) {
                        first.text.insert_str(0, "- ");
                        first.depth = depth;
                        first.paths.push(path);
                    }
                }
            }
            _ => {}
        }
    }

    /// Writes a field: in the line of its key if it fits there. The parts of a value without a key are not indented.
    fn put(&mut self, key: String, value: &Value, path: String, depth: usize) {
        let in_line = match value {
            Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
            Value::Array(items) if items.is_empty() => "[]".to_owned(),
            Value::Object(_) | Value::Array(_) if key.is_empty() => {
                return self.write(value, &path, depth);
            }
            Value::Object(_) | Value::Array(_) => String::new(),
            Value::String(text) => (self.scalar)(text),
            other => other.to_string(),
        };
        self.lines.push(YamlLine {
            paths: vec![path.clone()],
            depth,
            text: format!("{key} {in_line}").trim().to_owned(),
        });
        if in_line.is_empty() {
            self.write(value, &path, depth + 1);
        }
    }
}

/// Writes a value as YAML in one line, with these fields first.
pub(crate) fn flow(value: &Value, first: &[&str]) -> String {
    let line = |value: &Value| flow(value, first);
    match value {
        Value::Object(fields) => {
            let fields = in_order(fields, first).into_iter();
            let fields = fields.map(|(key, value)| format!("{}: {}", scalar(key), line(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(", ")),
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// Returns the fields, these first.
fn in_order<'v>(fields: &'v Map<String, Value>, first: &[&str]) -> Vec<(&'v String, &'v Value)> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| first.iter().position(|name| name == key).unwrap_or(first.len()));
    fields
}

/// Writes text plain if it is unambiguous, else in quotes.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | ' ' | '(' | ')' | '=');
    let begins_well = text.starts_with(|c: char| c.is_alphabetic() || c == '/' || c == '_');
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = words.contains(&text.to_lowercase().as_str());
    // A version or a duration begins with a figure or a letter, and is not a number.
    let is_unit = text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric())
        && !text.contains(['e', 'E', 'x', 'o', 'b', '_']);
    if is_unit || (begins_well && !is_word && !text.ends_with(' ') && text.chars().all(is_plain)) {
        return text.to_owned();
    }
    let quoted: String = text.chars().map(escaped).collect();
    format!("\"{quoted}\"")
}

/// A character between double quotes.
fn escaped(c: char) -> String {
    match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        c if super::escape::is_hidden(c) => format!("\\U{:08x}", u32::from(c)),
        c => c.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use judge::rules;
    use serde_json::json;

    use super::*;

    #[test]
    fn explaining_fields_come_first() {
        let value = json!({
            "steps": [{"change": {"spec": {"displayName": "new"}}, "at": "1m"}, {"delete": "other/c", "at": "2m"}],
            "profiles": [{"labels": {"x-k8s.io/cluster-manager": null}, "name": "a"}, {}],
        });
        assert_eq!(
            block(&value),
            "profiles:\n  - name: a\n    labels:\n      x-k8s.io/cluster-manager: null\n  - {}\n\
             steps:\n  - at: 1m\n    change:\n      spec:\n        displayName: new\n  - at: 2m\n    delete: other/c\n"
        );
    }

    #[test]
    fn text_is_quoted_where_it_must_be() {
        let plain = "a|ControlPlaneHealthy|multicluster.x-k8s.io/clusterset|30s|v1.34.1+k3s1|two words";
        for plain in plain.split('|') {
            assert_eq!(scalar(plain), plain);
        }
        let quoted = "|1|1.5|1e3|0x1f|n|True|a: b|-a| a|a |${30s}|[]|#a|2026-01-01";
        for quoted in quoted.split('|') {
            assert_eq!(scalar(quoted), format!("\"{quoted}\""));
        }
        assert_eq!(scalar("a\n\"\u{202e}"), r#""a\n\"\U0000202e""#);
    }

    #[test]
    fn every_example_is_read_as_it_was_written() {
        for rule in rules::all() {
            for example in rule.facts.examples.iter() {
                for text in [block(example), flow(example, &FIRST)] {
                    let options = serde_saphyr::options! { strict_booleans: true };
                    let read: Value = serde_saphyr::from_str_with_options(&text, options)
                        .unwrap_or_else(|error| panic!("{error}\n{text}"));
                    assert_eq!(read, *example, "{}:\n{text}", rule.id);
                }
            }
        }
    }
}
