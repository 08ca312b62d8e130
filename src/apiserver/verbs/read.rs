//! Reads one object, or lists objects.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::selectors::Selector;
use crate::{
    context::Context,
    object::{
        field::{ErrorCollector, quoted},
        status::{HandlerResult, StatusFailure, refuse_options},
    },
    request::{Query, Reply},
    schema::{apply_defaults, prune},
    store::{
        resource::{ApiVersion, Family, Resource},
        route::Route,
        storage::{Storage, StorageEntry, Stored, within},
    },
    typed::event_in,
};

impl Context<'_> {
    pub(crate) fn get(&self, route: &Route) -> HandlerResult<Reply> {
        let storage = self.state.storage();
        let requested = revision(&self.info.query, true)?;
        if requested > storage.revision {
            return Err(too_large(requested, storage.revision));
        }
        Ok(Reply::json(200, current(&storage, route)?.bytes()))
    }

    /// Checks the options of a list, a watch or a deletecollection, and reads its selectors.
    pub(crate) fn selector(&self, route: &Route) -> HandlerResult<Selector> {
        let query = &self.info.query;
        query.number("timeoutSeconds")?;
        check_list_options(query)?;
        Selector::read(
            query.get("labelSelector"),
            query.get("fieldSelector"),
            &route.resource,
            route.version(),
        )
    }

    /// Answers a list, or the requested page of it.
    pub(crate) fn list(&self, route: &Route) -> HandlerResult<Reply> {
        let selector = self.selector(route)?;
        let query = &self.info.query;
        let storage = self.state.storage();
        let table = storage.table(&route.resource.id());
        let table = table.ok_or_else(StatusFailure::no_such_resource)?;
        let token = match query.get("continue") {
            "" => None,
            token => Some(ContinueToken::read(token)?),
        };
        let requested = revision(query, false)?;
        if token.is_some() && requested > 0 {
            let why = "specifying resource version is not allowed when using continue";
            return Err(StatusFailure::bad_request(why));
        }
        if requested > storage.revision {
            return Err(too_large(requested, storage.revision));
        }
        let limit = match query.number("limit")?.map_or(Ok(0), usize::try_from) {
            // Lists from the cache have no pages.
            Ok(limit) if limit > 0 && query.get("resourceVersion") != "0" => limit,
            _ => usize::MAX,
        };
        let exact = match query.get("resourceVersionMatch") {
            "Exact" => true,
            // For compatibility, a limited list without a match is exact.
            "" => limit < usize::MAX,
            _ => false,
        };
        let (at, after) = match &token {
            Some(ContinueToken { rv, start }) => (*rv, start.as_str()),
            None if exact && requested > 0 => (requested, ""),
            None => (storage.revision, ""),
        };
        let objects = table.at(at).ok_or_else(|| {
            let what = if token.is_some() {
                "continue parameter"
            } else {
                "resourceVersion"
            };
            let why = format!("The provided {what} is too old to display a consistent list result.");
            StatusFailure::new(410, "Expired", why)
        })?;
        let mut remaining = within(&objects, route.namespace())
            .filter(|(key, _)| key.as_str() > after)
            .map(|(key, object)| (key, in_version(object, route)))
            .filter(|(_, object)| selector.is_everything() || selector.matches(object.object()));
        let (mut items, mut last) = (Vec::new(), "");
        for (key, object) in remaining.by_ref().take(limit) {
            items.push(object);
            last = key;
        }
        let mut metadata = json!({"resourceVersion": at.to_string()});
        let left_over = remaining.count();
        if left_over > 0 {
            metadata["continue"] = ContinueToken::write(at, last).into();
            // With a selector, kube-apiserver does not count the remaining items.
            if selector.is_everything() {
                metadata["remainingItemCount"] = left_over.into();
            }
        }
        Ok(Reply::json(200, list_of(route, metadata, &items)))
    }
}

/// The addressed object, in the request's version.
pub(crate) fn current(storage: &Storage, route: &Route) -> HandlerResult<Arc<Stored>> {
    let entry = storage.entry_of(&route.resource.id(), &route.key());
    let entry =
        entry.ok_or_else(|| StatusFailure::not_found(route.resource.qualified(), &route.target.name))?;
    Ok(in_version(entry, route))
}

/// An object in the requested version.
pub(crate) fn in_version(entry: &StorageEntry, route: &Route) -> Arc<Stored> {
    let api_version = route.api_version();
    entry.in_version(&api_version, |object| {
        if route.resource.family == Family::Event {
            return event_in(&route.resource.group, object);
        }
        let mut object = object.clone();
        object["apiVersion"] = api_version.as_str().into();
        prune(&mut object, &route.version().schema);
        object
    })
}

/// Converts an object to the storage version: prunes unknown fields and fills in defaults. Reads in other versions only
/// prune; their defaults come with writes.
pub(crate) fn as_stored(object: &Value, resource: &Resource, version: &ApiVersion) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = resource.api_version(&version.name).into();
    prune(&mut object, &version.schema);
    apply_defaults(&mut object, &version.schema);
    object
}

/// The resourceVersion parameter, 0 if absent. kube-apiserver calls a bad one an internal error, except for lists.
pub(crate) fn revision(query: &Query, itself: bool) -> HandlerResult<u64> {
    match query.get("resourceVersion") {
        "" => Ok(0),
        text => text.parse().map_err(|_| {
            let text = quoted(text);
            let why = format!(
                "resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: invalid syntax"
            );
            if itself {
                StatusFailure::internal(why)
            } else {
                StatusFailure::bad_request(format!("invalid resource version: {why}"))
            }
        }),
    }
}

/// The error of a revision from the future.
pub(crate) fn too_large(requested: u64, current: u64) -> Box<StatusFailure> {
    let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
    StatusFailure::new(504, "Timeout", message).with(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }))
}

/// Refuses conflicting list options.
fn check_list_options(query: &Query) -> HandlerResult<()> {
    const MATCH: &str = "resourceVersionMatch";
    const EVENTS: &str = "sendInitialEvents";
    let (version, matching) = (query.get("resourceVersion"), query.get(MATCH));
    let (is_list, matches) = (!query.flag("watch"), !matching.is_empty());
    let streams = !query.get(EVENTS).is_empty();
    let mut errors = Vec::new();
    let is_unsaid = is_list && matches && version.is_empty();
    let continues = is_list && matches && !query.get("continue").is_empty();
    let is_matched = !is_list && matches && !streams;
    for (is_forbidden, field, why) in [
        (is_unsaid, MATCH, "unless resourceVersion is provided"),
        (continues, MATCH, "when continue is provided"),
        (is_list && streams, EVENTS, "for list"),
        (
            is_matched,
            MATCH,
            "for watch unless sendInitialEvents is provided",
        ),
    ] {
        if is_forbidden {
            errors.forbidden(field, &format!("{field} is forbidden {why}"));
        }
    }
    if !is_list && streams && matching != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.forbidden(MATCH, why);
    }
    if is_list && matching == "Exact" && version == "0" {
        let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
        errors.forbidden(MATCH, why);
    }
    if matches {
        let supported: &[&str] = if is_list {
            &["Exact", "NotOlderThan", ""]
        } else {
            &["NotOlderThan"]
        };
        errors.one_of(MATCH, matching, supported);
    }
    refuse_options("ListOptions", &errors)
}

/// A list as JSON, made of the items' own bytes.
pub(crate) fn list_of(route: &Route, mut metadata: Value, items: &[Arc<Stored>]) -> Bytes {
    let is_custom = route.resource.family == Family::Custom;
    if is_custom && metadata["continue"].is_null() {
        metadata["continue"] = "".into();
    }
    let list =
        json!({"kind": route.resource.list_kind, "apiVersion": route.api_version(), "metadata": metadata});
    let list = list.to_string();
    let encode = if is_custom {
        Stored::bytes
    } else {
        Stored::untyped_bytes
    };
    let items: Vec<Bytes> = items.iter().map(|item| encode(item)).collect();
    let items = items.join(&b","[..]);
    [&list.as_bytes()[..list.len() - 1], b",\"items\":[", &items, b"]}"]
        .concat()
        .into()
}

/// A continue token.
#[derive(Deserialize)]
struct ContinueToken {
    /// The revision of the list.
    rv: u64,
    /// The key of the last listed object.
    start: String,
}

impl ContinueToken {
    fn write(rv: u64, start: &str) -> String {
        URL_SAFE_NO_PAD.encode(json!({"v": "meta.k8s.io/v1", "rv": rv, "start": start}).to_string())
    }

    fn read(text: &str) -> HandlerResult<Self> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text.trim_end_matches('='))
            .unwrap_or_default();
        let wrong = |_| StatusFailure::bad_request("invalid continue token: continue key is not valid");
        serde_json::from_slice(&bytes).map_err(wrong)
    }
}
