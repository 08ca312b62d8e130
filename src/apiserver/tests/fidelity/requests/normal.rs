//! Normalizes answers: replaces UIDs, resource versions, times and generated names, which differ from run to run.

use std::{collections::HashMap, sync::LazyLock};

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|[+-]\d\d:\d\d)"));
/// The server's own version in a message: the second number of "too old", the last of "too large".
static CURRENT: LazyLock<Regex> = LazyLock::new(|| {
    let places = [
        r"too old resource version: \d+ \(",
        r"[Tt]oo large resource version: \d+, current: ",
        r"ResourceVersion in record \(",
        // Sizes hold the names of both hubs' own.
        r"message larger than max \(",
        r#"\\"resourceVersion\\":\\""#,
    ];
    pattern(&format!(r"({})\d+", places.join("|")))
});
/// Query parameters that repeat an earlier answer.
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(resourceVersion=\d+|continue=[^&]{20,}|hash=[0-9A-F]{128})"));
/// The age of an object that the script created.
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d+s$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

/// Remembers earlier answers to the same script.
pub struct Normaliser<'a> {
    script: &'a str,
    /// The placeholder of each text that the server made up.
    made_up: Vec<(String, String)>,
    /// The resource versions of each object, in the order in which they were seen.
    versions: HashMap<String, Vec<String>>,
    newest: u64,
}

impl<'a> Normaliser<'a> {
    /// Texts that occur in `script`, the script's source, are not replaced.
    pub fn new(script: &'a str) -> Self {
        Self {
            script,
            made_up: Vec::new(),
            versions: HashMap::new(),
            newest: 0,
        }
    }

    /// The answer to `request` (its method and path), normalized for the comparison.
    pub fn normal(&mut self, request: &str, answer: &Value, ordered: bool) -> Value {
        let mut normal = self.rewritten(answer);
        if let (Some(events), Some(seen)) = (normal["events"].as_array_mut(), answer["events"].as_array()) {
            Self::rewrite_bookmarks(events, seen);
            // A real server annotates the first bookmark without being asked, but only if it comes immediately.
            if !request.contains("sendInitialEvents") {
                for bookmark in events.iter_mut().filter(|event| event["type"] == "BOOKMARK") {
                    let metadata = bookmark["object"]["metadata"].as_object_mut();
                    metadata.map(|metadata| metadata.remove("annotations"));
                }
            }
        }
        // Some empty lists are null.
        let items = answer["body"].get("items");
        if items.is_some_and(|items| items.is_array() || items.is_null()) {
            normal["body"]["metadata"]["resourceVersion"] = self.list_version(request, &answer["body"]);
        }
        if !ordered {
            without_order(&mut normal);
        }
        normal
    }

    /// A list has the version of the last write, unless the request accepts an older one.
    fn list_version(&self, request: &str, list: &Value) -> Value {
        let version = version_of(list);
        let items = list["items"].as_array().into_iter().flatten();
        let least = if request.contains("resourceVersion=") || request.contains("continue=") {
            items.map(version_of).max().unwrap_or_default()
        } else {
            self.newest
        };
        match version {
            0 => json!("<none>"),
            version if version >= least => json!("<current>"),
            _ => json!("<older than what it should have>"),
        }
    }

    /// A bookmark has the version of the event before it.
    fn rewrite_bookmarks(events: &mut [Value], seen: &[Value]) {
        let mut newest = 0;
        for (event, seen) in events.iter_mut().zip(seen) {
            let version = version_of(&seen["object"]);
            if seen["type"] == "BOOKMARK" {
                let placeholder = if version >= newest {
                    "<current>"
                } else {
                    "<older than an event before it>"
                };
                event["object"]["metadata"]["resourceVersion"] = placeholder.into();
                for row in event["object"]["rows"].as_array_mut().into_iter().flatten() {
                    row["object"]["metadata"]["resourceVersion"] = placeholder.into();
                }
            }
            newest = newest.max(version);
        }
    }

    fn rewritten(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(|item| self.rewritten(item)).collect(),
            Value::Object(map) => self.rewritten_object(map),
            Value::String(text) => self.rewritten_text(text).into(),
            other => other.clone(),
        }
    }

    fn rewritten_object(&mut self, map: &Map<String, Value>) -> Value {
        let metadata = &map.get("metadata").cloned().unwrap_or_default();
        self.note_generated_name(metadata);
        self.note_uid(metadata);
        self.note_token(map);
        let fields = map
            .iter()
            .map(|(key, value)| (key.clone(), self.rewritten(value)));
        let mut rewritten: Map<String, Value> = fields.collect();
        let is_object = metadata["name"].is_string() && metadata["resourceVersion"].is_string();
        if is_object {
            let version = self.object_version(&Value::Object(map.clone()));
            rewritten["metadata"]["resourceVersion"] = version.into();
        } else if let Some(Value::String(version)) = map.get("resourceVersion") {
            // A reference to an object, as in audit events.
            let known = self
                .versions
                .values()
                .find_map(|versions| place(versions, version));
            if let Some(place) = known {
                rewritten["resourceVersion"] = format!("<version {place}>").into();
            }
        }
        if map.get("kind").is_some_and(|kind| kind == "Table") {
            rewrite_table(&mut rewritten, map);
        }
        if metadata["continue"]
            .as_str()
            .is_some_and(|token| !token.is_empty())
        {
            rewritten["metadata"]["continue"] = "<continue>".into();
        }
        rewritten.into()
    }

    /// `<version N>`: the Nth version seen of this object.
    fn object_version(&mut self, object: &Value) -> String {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (uid, version) = (text(&metadata["uid"]), text(&metadata["resourceVersion"]));
        let number: u64 = version.parse().unwrap_or_default();
        let versions = self.versions.entry(uid).or_default();
        let place = place(versions, &version).unwrap_or_else(|| {
            versions.push(version);
            versions.len()
        });
        let earlier = versions[..place - 1]
            .iter()
            .map(|version| version.parse().unwrap_or_default());
        let is_newer = earlier.max().is_none_or(|earlier| number > earlier);
        self.newest = self.newest.max(number);
        if is_newer {
            format!("<version {place}>")
        } else {
            format!("<version {place}, older than one before it>")
        }
    }

    fn note_generated_name(&mut self, metadata: &Value) {
        if let (Some(prefix), Some(name)) = (metadata["generateName"].as_str(), metadata["name"].as_str()) {
            let suffix = name.strip_prefix(prefix).unwrap_or_default();
            let is_known = self.made_up.iter().any(|(known, _)| known == name);
            let letters = |byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte);
            let is_generated = suffix.len() == 5 && suffix.bytes().all(letters);
            if is_generated && !is_known {
                let instead = format!("{prefix}<generated {}>", self.made_up.len());
                self.made_up.push((name.to_owned(), instead));
            }
        }
    }

    /// Issued tokens differ as a whole.
    fn note_token(&mut self, map: &Map<String, Value>) {
        let given = map.get("status").and_then(|status| status["token"].as_str());
        if let (Some(token), Some("TokenRequest")) = (given, map.get("kind").and_then(Value::as_str)) {
            self.made_up.push((token.to_owned(), "<token>".to_owned()));
        }
    }

    /// Numbers objects of one name, so that their UIDs stay distinct.
    fn note_uid(&mut self, metadata: &Value) {
        if let (Some(uid), Some(name)) = (metadata["uid"].as_str(), metadata["name"].as_str()) {
            let is_known = self.made_up.iter().any(|(known, _)| known == uid);
            if UID.is_match(uid) && !is_known && !self.script.contains(uid) {
                let start = format!("<uid of {},", self.rewritten_text(name));
                let alike = self
                    .made_up
                    .iter()
                    .filter(|(_, instead)| instead.starts_with(&start));
                let instead = format!("{start} {}>", alike.count() + 1);
                self.made_up.push((uid.to_owned(), instead));
            }
        }
    }

    fn rewritten_text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (made_up, instead) in &self.made_up {
            text = text.replace(made_up, instead);
        }
        let text = TIME.replace_all(&text, |found: &Captures<'_>| match found.get(1) {
            _ if self.script.contains(&found[0]) => found[0].to_owned(),
            None => "<time>".to_owned(),
            Some(fraction) => format!("<time with {} decimals>", fraction.len()),
        });
        let text = UID.replace_all(&text, |found: &Captures<'_>| {
            if self.script.contains(&found[0]) {
                found[0].to_owned()
            } else {
                "<uid>".to_owned()
            }
        });
        let text = CURRENT.replace_all(&text, "$1<current>");
        let text = ADDRESS.replace_all(&text, |found: &Captures<'_>| {
            let (name, _) = found[0].split_once('=').expect("the pattern has it");
            format!("{name}=<saved>")
        });
        text.into_owned()
    }
}

/// A Table is at least as new as its rows, which contain ages.
fn rewrite_table(table: &mut Map<String, Value>, seen: &Map<String, Value>) {
    let rows = seen["rows"].as_array().into_iter().flatten();
    let newest = rows.map(|row| version_of(&row["object"])).max();
    let placeholder = match version_of(&seen.clone().into()) {
        0 => "<none>",
        version if Some(version) >= newest => "<current>",
        _ => "<older than its rows>",
    };
    table["metadata"]["resourceVersion"] = placeholder.into();
    let rows = table["rows"].as_array_mut().into_iter().flatten();
    let cells = rows.flat_map(|row| row["cells"].as_array_mut().into_iter().flatten());
    for cell in cells.filter(|cell| cell.as_str().is_some_and(|text| AGE.is_match(text))) {
        *cell = "<age>".into();
    }
}

fn version_of(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}

fn place(versions: &[String], version: &str) -> Option<usize> {
    let index = versions.iter().position(|known| known == version)?;
    Some(index + 1)
}

/// Sorts what the real API server lists in varying order: the causes of a refusal; a user's rules; the kinds of a group;
/// the owners of fields, which it sorts by the second of their last write.
fn without_order(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_order),
        Value::Object(map) => {
            map.values_mut().for_each(without_order);
            for rules in ["resourceRules", "nonResourceRules"] {
                if let Some(Value::Array(rules)) = map.get_mut(rules) {
                    rules.sort_by_key(Value::to_string);
                }
            }
            if let Some(Value::Array(kinds)) = map.get_mut("resources")
                && kinds.iter().all(Value::is_object)
            {
                kinds.sort_by_key(|kind| ["name", "resource"].map(|key| kind[key].to_string()));
            }
            if let Some(Value::Array(owners)) = map.get_mut("managedFields") {
                owners.sort_by_key(|owner| {
                    ["manager", "subresource", "apiVersion"].map(|key| owner[key].to_string())
                });
            }
            let details = map.get_mut("details");
            let Some(Value::Array(causes)) = details.and_then(|details| details.get_mut("causes")) else {
                return;
            };
            causes.sort_by_key(Value::to_string);
            let text = |cause: &Value| {
                let text = |key: &str| cause[key].as_str().unwrap_or_default();
                format!("{}: {}", text("field"), text("message"))
            };
            let mut texts: Vec<String> = causes.iter().map(text).collect();
            texts.dedup();
            // The message lists the causes if there are several.
            if let (Some(Value::String(message)), [_, _, ..]) = (map.get_mut("message"), texts.as_slice()) {
                for cause in &texts {
                    *message = message.replacen(cause.as_str(), "<cause>", 1);
                }
            }
        }
        _ => {}
    }
}
