//! What a request asks for: its path and query, taken apart.

use std::collections::HashMap;

use http::Method;

use super::field::quoted;
use super::status::{Failure, Outcome};

/// The address of a request within the API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) group: String,
    pub(super) version: String,
    /// Empty for a request about the group and version themselves.
    pub(super) resource: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) subresource: String,
    /// The path goes on behind the subresource.
    pub(super) beyond: bool,
}

/// A request, without its body.
#[derive(Clone, Debug)]
pub(super) struct RequestInfo {
    /// `None` for paths outside `/api` and `/apis`, and for their discovery.
    pub(super) target: Option<Target>,
    pub(super) path: String,
    pub(super) verb: &'static str,
    pub(super) query: Query,
}

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(HashMap<String, Vec<String>>);

impl Query {
    pub(super) fn read(text: &str) -> Self {
        let mut parameters: HashMap<String, Vec<String>> = HashMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameters
                .entry(decoded(name, true))
                .or_default()
                .push(decoded(value, true));
        }
        Self(parameters)
    }

    /// The first value of a parameter, empty when it is absent.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |values| values[0].as_str())
    }

    /// All values of a parameter.
    pub(super) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether a parameter is there, with whatever value.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A parameter that is a number, if it is there.
    pub(super) fn number(&self, name: &str) -> Outcome<Option<i64>> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let text = quoted(text);
                Failure::bad_request(format!("strconv.ParseInt: parsing {text}: invalid syntax"))
            }),
        }
    }

    /// Whether a parameter of Go's kind of bool is set.
    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), "1" | "t" | "T" | "true" | "TRUE" | "True")
    }
}

/// Undoes percent-encoding; in queries, `+` is a space.
pub(super) fn decoded(text: &str, plus: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' if plus => bytes.push(b' '),
            b'%' => {
                let mut lookahead = rest.clone();
                let hex = [lookahead.next(), lookahead.next()]
                    .map(|digit| digit.and_then(|digit| char::from(digit).to_digit(16)));
                match hex {
                    [Some(high), Some(low)] => {
                        bytes.push((high * 16 + low) as u8);
                        rest = lookahead;
                    }
                    _ => bytes.push(b'%'),
                }
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl RequestInfo {
    /// Takes apart a method and a URI.
    pub(super) fn read(method: &Method, uri: &http::Uri) -> Self {
        let path = uri.path();
        let query = Query::read(uri.query().unwrap_or_default());
        let segments: Vec<String> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| decoded(segment, false))
            .collect();
        let mut target = read_target(&segments);
        let verb = verb(method, target.as_ref(), &query);
        // A request for many that selects one by its name is about that one, for authorization and the log.
        if let (Some(target), "list" | "watch") = (target.as_mut(), verb) {
            target.name = selected_name(query.get("fieldSelector")).to_owned();
        }
        Self {
            target,
            path: path.to_owned(),
            verb,
            query,
        }
    }
}

fn read_target(segments: &[String]) -> Option<Target> {
    let (group, version, rest) = match segments {
        [api, version, rest @ ..] if api == "api" => (String::new(), version.clone(), rest),
        [apis, group, version, rest @ ..] if apis == "apis" => (group.clone(), version.clone(), rest),
        _ => return None,
    };
    let mut target = Target {
        group,
        version,
        ..Target::default()
    };
    let text = |segment: Option<&String>| segment.cloned().unwrap_or_default();
    let rest = match rest {
        // Namespaces are a resource themselves, and hold others.
        [namespaces, namespace, below, ..] if namespaces == "namespaces" => {
            target.namespace = namespace.clone();
            match below.as_str() {
                "status" | "finalize" => rest,
                _ => &rest[2..],
            }
        }
        [namespaces, namespace] if namespaces == "namespaces" => {
            target.namespace = namespace.clone();
            rest
        }
        rest => rest,
    };
    target.resource = text(rest.first());
    target.name = text(rest.get(1));
    target.subresource = text(rest.get(2));
    target.beyond = rest.len() > 3;
    (!target.resource.is_empty()).then_some(target)
}

/// The name that a field selector demands, empty when it demands none.
fn selected_name(selector: &str) -> &str {
    let mut terms = selector.split(',');
    let name = terms.find_map(|term| term.strip_prefix("metadata.name="));
    name.map_or("", |name| name.trim_start_matches('='))
}

fn verb(method: &Method, target: Option<&Target>, query: &Query) -> &'static str {
    let named = target.is_some_and(|target| !target.name.is_empty());
    match (method.as_str(), target.is_some()) {
        ("GET" | "HEAD", true) if !named && query.flag("watch") => "watch",
        ("GET" | "HEAD", true) if !named => "list",
        ("GET" | "HEAD", true) => "get",
        ("POST", true) => "create",
        ("PUT", true) => "update",
        ("PATCH", true) => "patch",
        ("DELETE", true) if !named => "deletecollection",
        ("DELETE", true) => "delete",
        ("GET", false) => "get",
        ("HEAD", false) => "head",
        ("OPTIONS", false) => "options",
        ("POST", false) => "post",
        ("PUT", false) => "put",
        ("PATCH", false) => "patch",
        ("DELETE", false) => "delete",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("GET", "/api/v1/namespaces", "list", ["", "v1", "namespaces", "", "", ""])]
    #[case("GET", "/api/v1/namespaces/a", "get", ["", "v1", "namespaces", "a", "a", ""])]
    #[case("PUT", "/api/v1/namespaces/a/status", "update", ["", "v1", "namespaces", "a", "a", "status"])]
    #[case("GET", "/api/v1/namespaces/a/secrets?watch=1", "watch", ["", "v1", "secrets", "a", "", ""])]
    #[case("GET", "/apis/g.io/v1/things", "list", ["g.io", "v1", "things", "", "", ""])]
    #[case("PATCH", "/apis/g.io/v1/namespaces/a/things/b/status", "patch", ["g.io", "v1", "things", "a", "b", "status"])]
    #[case("DELETE", "/apis/g.io/v1/namespaces/a/things", "deletecollection", ["g.io", "v1", "things", "a", "", ""])]
    fn finds_the_target(
        #[case] method: &str,
        #[case] uri: &str,
        #[case] verb: &str,
        #[case] expected: [&str; 6],
    ) {
        let method = Method::from_bytes(method.as_bytes()).expect("method");
        let info = RequestInfo::read(&method, &uri.parse().expect("uri"));
        let target = info.target.expect("a target");
        let parts = [
            &target.group,
            &target.version,
            &target.resource,
            &target.namespace,
            &target.name,
            &target.subresource,
        ];
        assert_eq!(parts.map(String::as_str), expected);
        assert_eq!(info.verb, verb);
    }

    #[test]
    fn reads_queries() {
        let query = Query::read("labelSelector=a%2Fb+in+%28c%29&dryRun=All&dryRun=None&watch=true");
        assert_eq!(query.get("labelSelector"), "a/b in (c)");
        assert_eq!(query.all("dryRun"), ["All", "None"]);
        assert!(query.flag("watch"));
        assert!(!query.flag("absent"));
    }
}
