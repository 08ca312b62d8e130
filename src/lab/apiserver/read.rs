//! Reading: one object, or many.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use super::body::Reply;
use super::context::{Context, Named};
use super::request::{Query, Target};
use super::resource::{Family, Resource, Version};
use super::scale;
use super::schema::{apply_defaults, prune};
use super::selectors::Selector;
use super::status::{Failure, Outcome};
use super::storage::{Kept, Stored, key};
use super::typed::event_in;
use super::update::current;

impl Context<'_> {
    pub(super) fn get(&self, named: &Named, target: &Target) -> Outcome<Reply> {
        let storage = self.server.storage();
        let asked = revision(&self.info.query, true)?;
        if asked > storage.revision {
            return Err(too_large(asked, storage.revision));
        }
        if let Some(scaled) = &named.scaled {
            let whole = current(&storage, scaled, target)?;
            scale::check_told(&whole, scaled)?;
        }
        Ok(Reply::json(200, current(&storage, named, target)?.bytes()))
    }

    pub(super) fn list(&self, named: &Named, target: &Target) -> Outcome<Reply> {
        let selector = self.selector(named)?;
        let page = self.page(named, target, &selector)?;
        Ok(Reply::json(200, page.to_json(named)))
    }

    /// What a list, a watch or a deletion of many is to be about, once its options are seen to be good.
    pub(super) fn selector(&self, named: &Named) -> Outcome<Selector> {
        let query = &self.info.query;
        check_list_options(query)?;
        Selector::read(
            query.get("labelSelector"),
            query.get("fieldSelector"),
            &named.resource,
            named.version(),
        )
    }

    /// The part of a list that a request wants.
    fn page(&self, named: &Named, target: &Target, selector: &Selector) -> Outcome<Page> {
        let query = &self.info.query;
        let storage = self.server.storage();
        let table = storage
            .table_of(&named.resource)
            .ok_or_else(Failure::no_such_resource)?;
        let token = match query.get("continue") {
            "" => None,
            token => Some(Token::read(token)?),
        };
        let asked = revision(query, false)?;
        if token.is_some() && asked > 0 {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Failure::bad_request(why));
        }
        if asked > storage.revision {
            return Err(too_large(asked, storage.revision));
        }
        let mut limit = limit(query)?;
        let exact = match query.get("resourceVersionMatch") {
            "Exact" => true,
            // Who limits a list and does not say which match is wanted is taken at their word, from of old.
            "" => limit > 0,
            _ => false,
        };
        // From memory there are no parts.
        if query.get("resourceVersion") == "0" {
            limit = 0;
        }
        let at = match &token {
            Some(token) if token.revision == ANY => storage.revision,
            Some(token) => token.revision,
            None if exact && asked > 0 => asked,
            None => storage.revision,
        };
        let namespace = namespace(named, target);
        let past = match at < storage.revision {
            true => {
                let past = table.list_at(at);
                Some(past.ok_or_else(|| match &token {
                    Some(token) => token.expired(),
                    None => Failure::expired("The resourceVersion for the provided list is too old."),
                })?)
            }
            false => None,
        };
        let prefix = match namespace {
            "" => String::new(),
            namespace => format!("{namespace}/"),
        };
        let after = token.as_ref().map_or("", |token| token.after.as_str());
        let objects: Box<dyn Iterator<Item = (&String, &Arc<Kept>)>> = match &past {
            Some(past) => Box::new(past.iter().filter(|(key, _)| key.starts_with(&prefix))),
            None => table.list(namespace),
        };
        let wanted = objects
            .filter(|(key, _)| key.as_str() > after)
            .map(|(key, object)| (key, in_version(object, named)))
            .filter(|(_, object)| selector.is_everything() || selector.matches(object.object()));
        let mut page = Page {
            revision: at,
            items: Vec::new(),
            next: None,
            remaining: None,
        };
        let mut left_over = 0;
        let mut last = "";
        for (key, object) in wanted {
            if limit == 0 || page.items.len() < limit {
                page.items.push(object);
                last = key;
            } else {
                left_over += 1;
            }
        }
        if left_over > 0 {
            let token = Token {
                revision: at,
                after: last.to_owned(),
            };
            page.next = Some(token.write());
            // With a selector, the real server does not count what it has not read.
            page.remaining = selector.is_everything().then_some(left_over);
        }
        Ok(page)
    }
}

/// The namespace in which to look, empty for all.
pub(super) fn namespace<'a>(named: &Named, target: &'a Target) -> &'a str {
    match named.resource.namespaced {
        true => &target.namespace,
        false => "",
    }
}

/// The key of the object that a request names.
pub(super) fn object_key(named: &Named, target: &Target) -> String {
    key(namespace(named, target), &target.name)
}

/// An object in the version in which it was asked for.
pub(super) fn in_version(kept: &Kept, named: &Named) -> Arc<Stored> {
    let wanted = named.api_version();
    kept.in_version(&wanted, |object| {
        if named.resource.family == Family::Event {
            return event_in(&named.resource.group, object);
        }
        let mut object = object.clone();
        object["apiVersion"] = wanted.as_str().into();
        prune(&mut object, &named.version().schema);
        object
    })
}

/// An object in the version in which its resource is stored. There is no conversion but that: what the stored version
/// does not know is lost, what it defaults is there. Other versions hide what they do not know; what they default
/// themselves only comes with a write.
pub(super) fn as_stored(object: &Value, resource: &Resource, version: &Version) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = resource.api_version(&version.name).into();
    prune(&mut object, &version.schema);
    apply_defaults(&mut object, &version.schema);
    object
}

/// The limit parameter; absent is none, which is zero.
fn limit(query: &Query) -> Outcome<usize> {
    Ok(usize::try_from(query.number("limit")?.unwrap_or(0)).unwrap_or(0))
}

/// The resourceVersion parameter; absent is zero. The real server blames itself unless a list was asked for.
pub(super) fn revision(query: &Query, itself: bool) -> Outcome<u64> {
    match query.get("resourceVersion") {
        "" => Ok(0),
        text => text.parse().map_err(|_| {
            let why = format!(
                "resourceVersion: Invalid value: {}: strconv.ParseUint: parsing \"{text}\": invalid syntax",
                super::field::quoted(text)
            );
            match itself {
                true => Failure::new(500, "", why),
                false => Failure::bad_request(format!("invalid resource version: {why}")),
            }
        }),
    }
}

/// For revisions that this server has not reached.
pub(super) fn too_large(asked: u64, current: u64) -> Box<Failure> {
    let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
    let mut failure = Failure::retry(504, "Timeout", &message, 1);
    failure.details = Some(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }));
    failure
}

/// Combinations of parameters that make no sense.
fn check_list_options(query: &Query) -> Outcome<()> {
    use super::field::FieldError;
    let mut errors = Vec::new();
    let matching = query.get("resourceVersionMatch");
    let watching = query.flag("watch");
    if !matching.is_empty() && !watching {
        let version = query.get("resourceVersion");
        let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
        if version.is_empty() {
            errors.push(FieldError::forbidden("resourceVersionMatch", why));
        }
        if !query.get("continue").is_empty() {
            let why = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden("resourceVersionMatch", why));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let supported = ["Exact", "NotOlderThan", ""].map(str::to_owned);
            errors.push(FieldError::not_supported(
                "resourceVersionMatch",
                &matching.into(),
                &supported,
            ));
        }
        if matching == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden("resourceVersionMatch", why));
        }
    }
    if !query.get("sendInitialEvents").is_empty() && !watching {
        let why = "sendInitialEvents is forbidden for list";
        errors.push(FieldError::forbidden("sendInitialEvents", why));
    }
    if watching {
        let asked = !query.get("sendInitialEvents").is_empty();
        if asked && matching != "NotOlderThan" {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(FieldError::forbidden("resourceVersionMatch", why));
        }
        if !asked && !matching.is_empty() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden("resourceVersionMatch", why));
        }
        if !matches!(matching, "" | "NotOlderThan") {
            let supported = ["NotOlderThan".to_owned()];
            let error = FieldError::not_supported("resourceVersionMatch", &matching.into(), &supported);
            errors.push(error);
        }
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid_options("ListOptions", &errors))
}

/// A list, or a part of one.
pub(super) struct Page {
    revision: u64,
    items: Vec<Arc<Stored>>,
    next: Option<String>,
    remaining: Option<usize>,
}

impl Page {
    /// A list that is not a part of one.
    pub(super) fn whole(revision: u64, items: Vec<Arc<Stored>>) -> Self {
        Self {
            revision,
            items,
            next: None,
            remaining: None,
        }
    }

    /// The list as JSON, around the items' own bytes.
    pub(super) fn to_json(&self, named: &Named) -> Bytes {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".into(), self.revision.to_string().into());
        match &self.next {
            Some(next) => metadata.insert("continue".into(), next.clone().into()),
            None if named.resource.family == Family::Custom => metadata.insert("continue".into(), "".into()),
            None => None,
        };
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".into(), remaining.into());
        }
        let head = format!(
            "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{},\"items\":[",
            super::field::quoted(&named.resource.list_kind),
            super::field::quoted(&named.api_version()),
            Value::Object(metadata),
        );
        let items: Vec<Bytes> = self
            .items
            .iter()
            .map(|item| match named.resource.family {
                Family::Custom => item.bytes(),
                _ => item.untyped_bytes(),
            })
            .collect();
        let size: usize = items.iter().map(|item| item.len() + 1).sum();
        let mut json = BytesMut::with_capacity(head.len() + size + 2);
        json.put_slice(head.as_bytes());
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                json.put_u8(b',');
            }
            json.put_slice(item);
        }
        json.put_slice(b"]}");
        json.freeze()
    }
}

/// Where a list goes on.
struct Token {
    revision: u64,
    after: String,
}

/// Where a list goes on at whatever revision there is.
const ANY: u64 = 0;

impl Token {
    /// The refusal of a token that is too old, with one that makes do with a list that is not consistent.
    fn expired(&self) -> Box<Failure> {
        let mut failure = Failure::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of \
             the results. Continuing with the provided token results in an inconsistent list - objects that were \
             created, modified, or deleted between the time the first chunk was returned and now may show up in the \
             list.",
        );
        let token = Self {
            revision: ANY,
            after: self.after.clone(),
        };
        failure.next = Some(token.write());
        failure
    }

    fn write(&self) -> String {
        let token = json!({"v": "meta.k8s.io/v1", "rv": self.revision, "start": self.after});
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn read(text: &str) -> Outcome<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
        let token: Option<Value> = bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let read = token.and_then(|token| {
            Some(Self {
                revision: token["rv"].as_u64()?,
                after: token["start"].as_str()?.to_owned(),
            })
        });
        read.ok_or_else(|| Failure::bad_request("invalid continue token: continue key is not valid"))
    }
}
