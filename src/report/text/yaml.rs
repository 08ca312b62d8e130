//! YAML for people: a value on one line if it fits there, else on several lines.

use serde_json::{Map, Value};

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

/// Writes a value as YAML in lines of at most `width` characters, where its keys leave room for that.
pub fn laid_out(value: &Value, width: usize) -> String {
    let mut layout = Layout {
        width,
        text: String::new(),
    };
    layout.put(value, 0, 0);
    layout.text
}

struct Layout {
    width: usize,
    text: String,
}

impl Layout {
    /// Writes a value from `column` on; the next lines are indented by `indent`.
    fn put(&mut self, value: &Value, indent: usize, column: usize) {
        let line = flow(value);
        if column + line.chars().count() <= self.width {
            self.end_line(&line)
        } else {
            self.put_below(value, indent, column)
        }
    }

    /// Writes a value on several lines.
    fn put_below(&mut self, value: &Value, indent: usize, column: usize) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (place, (key, value)) in in_order(fields).into_iter().enumerate() {
                    if place > 0 {
                        self.indent(indent);
                    }
                    self.put_behind(&format!("{}:", scalar(key)), value, indent);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        self.indent(indent);
                    }
                    self.text.push_str("- ");
                    self.put(item, indent + 2, indent + 2);
                }
            }
            Value::String(text) => self.put_long(text, indent, column),
            _ => self.end_line(&flow(value)),
        }
    }

    /// Writes a key and its value: on one line if they fit, else on several.
    fn put_behind(&mut self, key: &str, value: &Value, indent: usize) {
        self.text.push_str(key);
        let column = indent + key.chars().count() + 1;
        let fits = column + flow(value).chars().count() <= self.width;
        if fits || value.is_string() {
            self.text.push(' ');
            return self.put(value, indent + 2, column);
        }
        self.text.push('\n');
        self.indent(indent + 2);
        self.put_below(value, indent + 2, indent + 2);
    }

    /// Writes quoted text on several lines, each continued by a backslash.
    fn put_long(&mut self, text: &str, indent: usize, column: usize) {
        self.text.push('"');
        let mut used = column + 1;
        for c in text.chars() {
            let mut piece = escaped(c);
            if used + piece.chars().count() + 1 > self.width {
                self.text.push_str("\\\n");
                self.indent(indent);
                used = indent;
                if c == ' ' {
                    piece = "\\ ".to_owned();
                }
            }
            self.text.push_str(&piece);
            used += piece.chars().count();
        }
        self.end_line("\"");
    }

    fn indent(&mut self, indent: usize) {
        self.text.extend(std::iter::repeat_n(' ', indent));
    }

    fn end_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// The value in one line.
pub(crate) fn flow(value: &Value) -> String {
    let listed = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(fields) => {
            let fields = in_order(fields).into_iter();
            format!(
                "{{{}}}",
                listed(fields.map(|(key, value)| field(key, value)).collect())
            )
        }
        Value::Array(items) => format!("[{}]", listed(items.iter().map(flow).collect())),
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A key and its value in one line.
fn field(key: &str, value: &Value) -> String {
    format!("{}: {}", scalar(key), flow(value))
}

/// Returns the fields, with those first that explain the others.
pub(crate) fn in_order(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = fields.iter().collect();
    let place = |key: &str| {
        FIRST
            .iter()
            .position(|first| *first == key)
            .unwrap_or(FIRST.len())
    };
    fields.sort_by_key(|(key, _)| place(key));
    fields
}

/// Writes text plain if it is unambiguous, else in quotes.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '+' | ' ' | '(' | ')' | '=');
    let begins_well = text.starts_with(|c: char| c.is_alphabetic() || c == '/' || c == '_');
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_word = words.contains(&text.to_lowercase().as_str());
    // A version or a duration begins with a figure or a letter, and is no number.
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
    fn what_fits_stands_in_a_line() {
        let value = json!({
            "steps": [{"change": {"spec": {"displayName": "new"}}, "at": "1m"}, {"at": "2m", "delete": "other/c"}],
            "profiles": [{"metadata": {"name": "a", "labels": {"x-k8s.io/cluster-manager": null}}}],
        });
        assert_eq!(
            laid_out(&value, 60),
            "profiles:\n  - metadata:\n      name: a\n      labels: {x-k8s.io/cluster-manager: null}\n\
             steps:\n  - {at: 1m, change: {spec: {displayName: new}}}\n  - {at: 2m, delete: other/c}\n"
        );
        assert_eq!(laid_out(&json!([{}]), 60), "[{}]\n");
    }

    #[test]
    fn text_is_quoted_where_it_must_be() {
        let laid = |text: &str| laid_out(&text.into(), 80).trim_end().to_owned();
        for plain in [
            "a",
            "ControlPlaneHealthy",
            "multicluster.x-k8s.io/clusterset",
            "30s",
            "v1.34.1+k3s1",
            "two words",
        ] {
            assert_eq!(laid(plain), plain);
        }
        for quoted in [
            "",
            "1",
            "1.5",
            "1e3",
            "0x1f",
            "n",
            "True",
            "a: b",
            "-a",
            " a",
            "a ",
            "${30s}",
            "[]",
            "#a",
            "2026-01-01",
        ] {
            assert_eq!(laid(quoted), format!("\"{quoted}\""));
        }
        assert_eq!(laid("a\n\"\u{202e}"), r#""a\n\"\U0000202e""#);
    }

    #[test]
    fn long_text_goes_on_below() {
        let value = json!({"key": format!("{} {}", "x".repeat(25), "y".repeat(30))});
        let text = laid_out(&value, 32);
        assert!(
            text.lines().count() > 2 && text.lines().all(|line| line.chars().count() <= 32),
            "{text}"
        );
        assert_eq!(read(&text), value);
    }

    fn read(text: &str) -> Value {
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options(text, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn every_example_is_read_as_it_was_written() {
        for rule in rules::all() {
            for example in rule.facts.examples.iter() {
                for width in [20, 76] {
                    let text = laid_out(example, width);
                    assert_eq!(read(&text), *example, "{}:\n{text}", rule.id);
                    let is_too_wide = |line: &str| line.chars().count() > width;
                    assert!(
                        width < 76 || !text.lines().any(is_too_wide),
                        "{}:\n{text}",
                        rule.id
                    );
                }
            }
        }
    }
}
