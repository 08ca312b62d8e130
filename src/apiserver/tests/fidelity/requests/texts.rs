//! Shows both hubs many texts: URLs, and texts of other formats. CRDs check their formats, and show in messages what the
//! functions of rules make of them.

use serde_json::{Map, Value, json};

use super::script::Script;

/// A table of texts, and the kind that checks them.
struct Table {
    /// The plural of the kind, and the first label of its group.
    plural: &'static str,
    kind: &'static str,
    /// One text per line, as JSON.
    texts: &'static str,
    /// Fields with a format.
    formats: &'static str,
    /// Fields with rules.
    rules: &'static str,
}

const URLS: Table = Table {
    plural: "links",
    kind: "Link",
    texts: include_str!("../../../fixtures/fidelity/urls.txt"),
    formats: "format",
    rules: "isURL url getScheme getHost getHostname getPort getEscapedPath getQuery q",
};

const TEXTS: Table = Table {
    plural: "texts",
    kind: "Text",
    texts: include_str!("../../../fixtures/fidelity/texts.txt"),
    formats: "byte date date-time duration email hostname ipv4 ipv6 cidr mac uuid uuid3 uuid4 uuid5 k8s-short-name k8s-long-name",
    rules: "isIP isCIDR isQuantity isSemver family ipText isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast isCanonical cidrText masked prefixLength cidrIP sign isInteger float aboveOne major minor patch aboveVersion dns1123LabelFormat dns1123LabelPrefixFormat dns1123SubdomainFormat dns1123SubdomainPrefixFormat dns1035LabelFormat dns1035LabelPrefixFormat qualifiedNameFormat labelValueFormat uriFormat uuidFormat byteFormat dateFormat datetimeFormat",
};

/// The scripts, one for each table.
pub fn scripts() -> [Script; 2] {
    [URLS.script("urls"), TEXTS.script("texts")]
}

impl Table {
    /// A script that creates two objects per text. Rules are not checked if a format is wrong.
    fn script(&self, name: &str) -> Script {
        let lines = self.texts.lines().filter(|line| !line.starts_with('#'));
        let steps = lines.enumerate().flat_map(|(n, line)| {
            let text: Value = serde_json::from_str(line).expect("a text in JSON");
            [self.formats, self.rules].map(|fields| self.step(n + 1, &text, fields))
        });
        Script::made(name, steps.collect())
    }

    /// Creates an object with the text in these fields.
    fn step(&self, n: usize, text: &Value, fields: &str) -> Value {
        let Self { plural, kind, .. } = self;
        let spec: Map<String, Value> = fields
            .split(' ')
            .map(|field| (field.to_owned(), text.clone()))
            .collect();
        let first = fields.split(' ').next().unwrap_or_default();
        json!({
            "name": format!("{n}: {first}"),
            "request": format!("POST /apis/{plural}.fidelity.example/v1/namespaces/${{ns}}/{plural}"),
            "expect": 0,
            "body": {
                "apiVersion": format!("{plural}.fidelity.example/v1"), "kind": kind,
                "metadata": {"name": format!("text-{n}")}, "spec": spec,
            },
        })
    }
}
