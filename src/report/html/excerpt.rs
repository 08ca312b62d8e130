//! An excerpt of an object's YAML with the offending lines marked.

use evidence::redact::without_credentials;
use serde_json::{Map, Value};

use super::text::shortened;
use crate::text::{
    escape,
    field_path::{leads, name_of, within},
    yaml::{in_order, scalar},
};

/// How many characters of a value are shown.
const VALUE: usize = 160;

/// An object of at most so many lines is shown whole.
const WHOLE: usize = 16;

/// How many lines are shown around a marked one.
const AROUND: usize = 3;

/// How many marked lines are shown.
const MARKED: usize = 6;

/// One line of an excerpt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line of the object.
    Text {
        /// Its text.
        text: String,
        /// Whether it is an offending line.
        marked: bool,
    },
    /// Lines were left out; how many, in words.
    Gap(String),
}

/// A line of the object, with the paths of what begins on it: a field, and perhaps a list item before it.
struct Written {
    paths: Vec<String>,
    depth: usize,
    text: String,
}

/// Returns the part of the object around a field, and whether the field exists. If not, it marks the line that the
/// field belongs under.
pub(super) fn around(object: &Value, path: &str) -> (Vec<Line>, bool) {
    let mut lines = Vec::new();
    write(object, "", 0, &mut lines);
    let marked = offending(&lines, path);
    let begins = |place: &usize| lines[*place].paths.iter().any(|own| own == path);
    let is_there = marked.iter().any(begins) || path.is_empty();
    (shown(&lines, &marked), is_there)
}

/// The lines whose path is the longest one that leads to the field.
fn offending(lines: &[Written], path: &str) -> Vec<usize> {
    let length = |line: &Written| {
        let leading = line.paths.iter().filter(|own| leads(own, path));
        leading.map(String::len).max()
    };
    let Some(longest) = lines.iter().filter_map(length).max() else {
        return Vec::new();
    };
    let places = lines.iter().enumerate();
    places
        .filter(|(_, line)| length(line) == Some(longest))
        .map(|(place, _)| place)
        .collect()
}

/// The marked lines with their neighbours and all that they are part of.
fn shown(lines: &[Written], marked: &[usize]) -> Vec<Line> {
    let mut keep = vec![lines.len() <= WHOLE; lines.len()];
    if marked.is_empty() {
        keep.iter_mut().take(WHOLE).for_each(|keep| *keep = true);
    }
    for place in marked.iter().take(MARKED) {
        let until = (place + AROUND + 1).min(lines.len());
        keep[place.saturating_sub(AROUND)..until]
            .iter_mut()
            .for_each(|keep| *keep = true);
        let mut depth = lines[*place].depth;
        for (above, line) in lines[..*place].iter().enumerate().rev() {
            if line.depth < depth {
                keep[above] = true;
                depth = line.depth;
            }
        }
    }
    let mut shown = Vec::new();
    let mut place = 0;
    for run in keep.chunk_by(|one, other| one == other) {
        let until = place + run.len();
        // One line is as short as the words for it.
        if run[0] || run.len() <= 1 {
            shown.extend((place..until).map(|place| Line::Text {
                text: format!(
                    "{}{}",
                    "  ".repeat(lines[place].depth),
                    escape::line(&lines[place].text)
                ),
                marked: marked.contains(&place),
            }));
        } else {
            shown.push(Line::Gap(format!("{} lines", run.len())));
        }
        place = until;
    }
    shown
}

/// Writes a value below each other, one field in a line.
fn write(value: &Value, path: &str, depth: usize, lines: &mut Vec<Written>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in in_order(fields) {
                let path = within(path, key);
                put(format!("{}:", leaf(key)), value, path, depth, lines);
            }
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                let path = format!("{path}[{}]", name_of(item).unwrap_or(&place.to_string()));
                let begin = lines.len();
                match item {
                    Value::Object(fields) if !fields.is_empty() => write(item, &path, depth + 1, lines),
                    item => put(String::new(), item, path.clone(), depth + 1, lines),
                }
                // The item begins in the line of its first field.
                if let Some(first) = lines.get_mut(begin) {
                    first.text.insert_str(0, "- ");
                    first.depth = depth;
                    first.paths.push(path);
                }
            }
        }
        other => lines.push(Written {
            paths: vec![path.to_owned()],
            depth,
            text: in_line(other),
        }),
    }
}

/// Writes a field: behind its key what fits there.
fn put(key: String, value: &Value, path: String, depth: usize, lines: &mut Vec<Written>) {
    let is_nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let text = if is_nested {
        key
    } else {
        format!("{key} {}", in_line(value)).trim_start().to_owned()
    };
    lines.push(Written {
        paths: vec![path.clone()],
        depth,
        text,
    });
    if is_nested {
        write(value, &path, depth + 1, lines);
    }
}

fn in_line(value: &Value) -> String {
    match value {
        Value::String(text) => leaf(text),
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        other => other.to_string(),
    }
}

/// Writes hub text as YAML: redacted, shortened, escaped.
fn leaf(text: &str) -> String {
    let clean = without_credentials(text);
    let short = shortened(&clean, VALUE);
    if short.len() == clean.len() {
        return scalar(&clean);
    }
    // The count is not part of the value.
    let (value, more) = short.rsplit_once('…').unwrap_or((&short, ""));
    format!("{} # …{more}", scalar(value))
}

/// The fields of a mapping that holds nothing else than text.
pub(super) fn mapping(fields: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(fields.into_iter().collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(object: &Value, path: &str) -> (String, bool) {
        let (lines, is_there) = around(object, path);
        let told = lines.into_iter().map(|line| match line {
            Line::Text { text, marked: true } => format!("> {text}\n"),
            Line::Text { text, .. } => format!("  {text}\n"),
            Line::Gap(told) => format!("⋮ {told}\n"),
        });
        (told.collect(), is_there)
    }

    fn profile() -> Value {
        let condition = |kind: &str, message: &str| json!({"type": kind, "status": "True", "reason": "Ready", "message": message});
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": {"name": "a", "namespace": "fleet", "labels": {"x-k8s.io/cluster-manager": "m", "tier": "1"}},
            "spec": {"clusterManager": {"name": "m"}},
            "status": {
                "conditions": [condition("Joined", "all is well"), condition("ControlPlaneHealthy", "failing")],
                "properties": [{"name": "a.b", "value": "1"}, {"name": "a.b", "value": "2"}, {"name": "c", "value": "3"}],
            },
        })
    }

    #[test]
    fn the_line_of_the_path_is_marked() {
        for (path, line) in [
            (
                "metadata.labels[x-k8s.io/cluster-manager]",
                "    x-k8s.io/cluster-manager: m",
            ),
            ("spec.clusterManager.name", "    name: m"),
            (
                "status.conditions[ControlPlaneHealthy].message",
                "      message: failing",
            ),
            ("status.conditions[Joined]", "    - type: Joined"),
            ("status", "status:"),
        ] {
            let (told, is_there) = told(&profile(), path);
            let marked: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("> ")).collect();
            assert_eq!(marked, [line], "{path}: {told}");
            assert!(is_there, "{path}: {told}");
        }
    }

    #[test]
    fn a_condition_is_found_with_all_that_it_is_part_of() {
        let (told, _) = told(&profile(), "status.conditions[ControlPlaneHealthy].status");
        assert_eq!(
            told,
            "⋮ 11 lines\n  status:\n    conditions:\n⋮ 4 lines\n      - type: ControlPlaneHealthy\n        \
             message: failing\n        reason: Ready\n>       status: \"True\"\n    properties:\n      - name: a.b\n        \
             value: \"1\"\n⋮ 4 lines\n"
        );
    }

    #[test]
    fn both_of_two_of_a_name_are_marked() {
        let (told, _) = told(&profile(), "status.properties[a.b].value");
        assert_eq!(told.matches("> ").count(), 2, "{told}");
        assert!(told.contains("> ") && !told.contains("value: \"3\"\n>"), "{told}");
    }

    #[test]
    fn of_what_is_missing_the_place_is_marked() {
        let (told, is_there) = told(&profile(), "metadata.labels[other]");
        assert!(!is_there);
        assert!(told.contains(">   labels:\n"), "{told}");
    }

    #[test]
    fn credentials_and_long_values_are_not_shown() {
        let object = json!({
            "a": "https://user:hunter2@host", "b": "x".repeat(1 << 20), "c": "\u{202e}<script>",
        });
        let (told, _) = told(&object, "b");
        assert!(!told.contains("hunter2") && told.len() < 500, "{told}");
        assert!(
            told.contains("1,048,416 more characters") && told.contains("\\U0000202e"),
            "{told}"
        );
    }
}
