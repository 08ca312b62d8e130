//! Parses the method, path and query of a request.

use std::{collections::HashMap, sync::Arc};

use http::Method;

use crate::{
    object::{
        field::quoted,
        status::{Failure, Outcome},
    },
    store::named::Target,
};

/// A request, without its body.
#[derive(Clone, Debug)]
pub(crate) struct RequestInfo {
    /// `None` outside of `/api` and `/apis`, and for discovery.
    pub(crate) target: Option<Arc<Target>>,
    pub(crate) path: String,
    pub(crate) verb: &'static str,
    pub(crate) query: Query,
}

/// The query parameters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(HashMap<String, Vec<String>>);

impl Query {
    pub(crate) fn read(text: &str) -> Self {
        let mut parameters = Self::default();
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
            let values = parameters.0.entry(name.into_owned()).or_default();
            values.push(value.into_owned());
        }
        parameters
    }

    /// The first value of a parameter, empty if absent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |values| values[0].as_str())
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// True if a parameter is present, even if empty.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A numeric parameter, if present.
    pub(crate) fn number(&self, name: &str) -> Outcome<Option<i64>> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let text = quoted(text);
                Failure::bad_request(format!("strconv.ParseInt: parsing {text}: invalid syntax"))
            }),
        }
    }

    /// True if a boolean parameter is set, in one of Go's spellings.
    pub(crate) fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), "1" | "t" | "T" | "true" | "TRUE" | "True")
    }
}

/// Percent-decodes a text.
pub(crate) fn decoded(text: &str) -> String {
    let bytes = percent_encoding::percent_decode_str(text);
    bytes.decode_utf8_lossy().into_owned()
}

impl RequestInfo {
    /// Parses a method and a URI.
    pub(crate) fn read(method: &Method, uri: &http::Uri) -> Self {
        let path = decoded(uri.path());
        let query = Query::read(uri.query().unwrap_or_default());
        let mut target = read_target(&path);
        let verb = verb(method, target.as_ref(), &query);
        // Authorization and audit treat a list that selects one name as a request for that object.
        if let (Some(target), "list" | "watch") = (target.as_mut(), verb) {
            target.name = selected_name(query.get("fieldSelector")).to_owned();
        }
        Self {
            target: target.map(Arc::new),
            path,
            verb,
            query,
        }
    }
}

fn read_target(path: &str) -> Option<Target> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (group, version, mut rest) = match segments.as_slice() {
        ["api", version, rest @ ..] => ("", version, rest),
        ["apis", group, version, rest @ ..] => (*group, version, rest),
        _ => return None,
    };
    let mut namespace = "";
    // Namespaces are resources themselves, and contain others.
    if let ["namespaces", name, below @ ..] = rest {
        namespace = name;
        if !matches!(below, [] | ["status" | "finalize", ..]) {
            rest = below;
        }
    }
    let text = |place: usize| rest.get(place).copied().unwrap_or_default().to_owned();
    rest.first().map(|resource| Target {
        group: group.to_owned(),
        version: (*version).to_owned(),
        resource: (*resource).to_owned(),
        namespace: namespace.to_owned(),
        name: text(1),
        subresource: text(2),
        beyond: rest.len() > 3,
    })
}

/// The name that a field selector requires, empty if none.
fn selected_name(selector: &str) -> &str {
    let mut terms = selector.split(',');
    let name = terms.find_map(|term| term.strip_prefix("metadata.name="));
    name.map_or("", |name| name.trim_start_matches('='))
}

fn verb(method: &Method, target: Option<&Target>, query: &Query) -> &'static str {
    let is_named = target.map(|target| !target.name.is_empty());
    match (method.as_str(), is_named) {
        ("GET" | "HEAD", Some(false)) if query.flag("watch") => "watch",
        ("GET" | "HEAD", Some(false)) => "list",
        ("GET", _) | ("HEAD", Some(true)) => "get",
        ("HEAD", None) => "head",
        ("POST", Some(_)) => "create",
        ("POST", None) => "post",
        ("PUT", Some(_)) => "update",
        ("PUT", None) => "put",
        ("PATCH", _) => "patch",
        ("DELETE", Some(false)) => "deletecollection",
        ("DELETE", _) => "delete",
        ("OPTIONS", None) => "options",
        _ => "",
    }
}
