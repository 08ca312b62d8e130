//! Asks both hubs for the parts of many URLs, by the rules of the CRD `links`.

use serde_json::{Map, Value, json};

use super::script::Script;

/// One URL per line, as JSON.
const URLS: &str = include_str!("../../fixtures/fidelity/urls.txt");
/// The fields of the CRD. The rules of each use one function.
const FIELDS: &str = "format isURL url getScheme getHost getHostname getPort getEscapedPath getQuery q";

/// A script that creates one object per URL.
pub fn script() -> Script {
    let urls = URLS.lines().filter(|line| !line.starts_with('#'));
    let step = |(n, line): (usize, &str)| {
        let url: Value = serde_json::from_str(line).expect("a text in JSON");
        let spec: Map<String, Value> = FIELDS
            .split(' ')
            .map(|field| (field.to_owned(), url.clone()))
            .collect();
        json!({
            "name": format!("URL {}", n + 1),
            "request": "POST /apis/links.fidelity.example/v1/namespaces/${ns}/links",
            "expect": 422,
            "body": {
                "apiVersion": "links.fidelity.example/v1", "kind": "Link", "metadata": {"name": "link"},
                "spec": spec,
            },
        })
    };
    Script::made("urls", urls.enumerate().map(step).collect())
}
