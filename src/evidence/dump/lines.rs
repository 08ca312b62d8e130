//! Reads broken YAML line by line: in block style, as kubectl writes it, indentation alone separates and names objects.

use serde_json::{Map, Value};
use serde_saphyr::DuplicateKeyPolicy;

use super::text::options;

/// A list, cut into its items.
pub(super) struct List<'a> {
    /// The list without its items.
    pub frame: String,
    /// The items, each a YAML list of one.
    pub items: Vec<&'a str>,
}

/// One line and its offset.
struct Line<'a> {
    start: usize,
    /// Its indentation in spaces; none for a blank line, a comment or a tab.
    depth: Option<usize>,
    content: &'a str,
    whole: &'a str,
}

impl Line<'_> {
    fn is_entry(&self) -> bool {
        self.content == "-" || self.content.starts_with("- ")
    }
}

fn lines(document: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    document.split_inclusive('\n').map(move |whole| {
        let bare = whole.trim_end();
        let content = bare.trim_start_matches(' ');
        let says_nothing = content.is_empty() || content.starts_with(['#', '\t']);
        let line = Line {
            start,
            depth: (!says_nothing).then_some(bare.len() - content.len()),
            content,
            whole,
        };
        start += whole.len();
        line
    })
}

/// Cuts a list in block style into its items: below a line `items:`, or from the document's start. Returns `None` for
/// anything else.
pub(super) fn list(document: &str) -> Option<List<'_>> {
    let (mut frame, mut starts) = (String::new(), Vec::new());
    let mut end = document.len();
    let mut in_items = lines(document).find(|line| line.depth.is_some())?.is_entry();
    let mut depth_of_items = None;
    for line in lines(document) {
        match line.depth {
            _ if !in_items => {
                frame.push_str(line.whole);
                in_items = starts.is_empty() && line.depth == Some(0) && line.content == "items:";
            }
            None => {}
            Some(depth) if depth_of_items.is_none_or(|of_items| of_items == depth) && line.is_entry() => {
                depth_of_items = Some(depth);
                starts.push(line.start);
            }
            Some(depth) if depth_of_items.is_some_and(|of_items| depth > of_items) => {}
            Some(_) => {
                in_items = false;
                end = line.start;
                frame.push_str(line.whole);
            }
        }
    }
    let ends = starts.iter().skip(1).copied().chain([end]);
    let items: Vec<&str> = starts
        .iter()
        .zip(ends)
        .map(|(start, end)| &document[*start..end])
        .collect();
    (!items.is_empty()).then_some(List { frame, items })
}

/// Reads an object's identity from single lines.
pub(super) fn glean(document: &str) -> Value {
    let (mut object, mut metadata) = (Map::new(), Map::new());
    let mut depths = (None, None);
    let mut in_metadata = false;
    for line in lines(document) {
        let Some(mut depth) = line.depth else { continue };
        let mut content = line.content;
        if let (None, Some(rest)) = (depths.0, content.strip_prefix("- ")) {
            depth += content.len() - rest.trim_start().len();
            content = rest.trim_start();
        }
        let Some((key, value)) = content.split_once(':') else {
            continue;
        };
        let outer = *depths.0.get_or_insert(depth);
        if depth == outer {
            in_metadata = key == "metadata";
            match (key, scalar(value)) {
                ("apiVersion" | "kind", Some(text @ Value::String(_))) => {
                    object.insert(key.to_owned(), text);
                }
                ("metadata", Some(Value::Object(map))) => metadata = map,
                _ => {}
            }
        } else if in_metadata
            && depth == *depths.1.get_or_insert(depth)
            && matches!(key, "name" | "namespace" | "uid" | "resourceVersion")
            && let Some(text @ Value::String(_)) = scalar(value)
        {
            metadata.insert(key.to_owned(), text);
        }
    }
    object.insert("metadata".to_owned(), Value::Object(metadata));
    Value::Object(object)
}

/// The value on one line, if it is complete.
fn scalar(text: &str) -> Option<Value> {
    serde_saphyr::from_str_with_options(text.trim(), options(DuplicateKeyPolicy::Error)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cuts_lists_as_kubectl_and_others_write_them() {
        for (indent, head, tail) in [
            (
                "",
                "apiVersion: v1\nitems:\n",
                "kind: List\nmetadata:\n  resourceVersion: \"\"\n",
            ),
            ("  ", "kind: List\nitems:\n", ""),
            ("", "# of kubectl\n", ""),
        ] {
            let items = [
                "- kind: A\n  text: |\n    - no item\n\n    items:\n  list:\n  - 1\n",
                "-\n  kind: B\n# - a comment\n\tx: 1\n",
                "- kind: C\n",
            ];
            let indented = |item: &str| -> String {
                let lines = item.split_inclusive('\n');
                lines.map(|line| format!("{indent}{line}")).collect()
            };
            let items: Vec<String> = items.iter().map(|item| indented(item)).collect();
            let document = format!("{head}{}{tail}", items.concat());
            let list = list(&document).expect("a list");
            assert_eq!(list.items, items);
            let frame = if head.starts_with('#') {
                String::new()
            } else {
                format!("{head}{tail}")
            };
            assert_eq!(list.frame, frame);
        }
        for none in [
            "",
            "kind: A\nspec:\n  items:\n  - 1\n",
            "items: [1]\n",
            "items:\nkind: List\n",
        ] {
            assert!(list(none).is_none_or(|list| list.items.is_empty()), "{none}");
        }
    }

    #[test]
    fn gleans_who_an_object_is() {
        let known = json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": "a", "namespace": "n"}});
        let text = "kind: \"A\"\nstatus: {\n  name: x\n\tname: y\nmetadata:\n  labels:\n    name: z\n  name: a\n  namespace: n # that\napiVersion: v1\n";
        assert_eq!(glean(text), known);
        let in_list = format!("- {}", text.replace('\n', "\n  ")).replace("\n  \t", "\n\t");
        assert_eq!(glean(&in_list), known);
        let in_flow = "apiVersion: v1\nkind: A\nmetadata: {name: a, namespace: n}\nstatus: [\n";
        assert_eq!(glean(in_flow), known);
        assert_eq!(glean("hello: {"), json!({"metadata": {}}));
    }
}
