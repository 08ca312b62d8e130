//! A request as parsed, the form that it asks for, and its answer.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use serde_json::{Map, Value, json};

use crate::{
    object::{
        field::quoted,
        status::{HandlerResult, StatusFailure},
    },
    store::route::RequestTarget,
};

/// A request, without its body.
#[derive(Clone, Debug)]
pub(crate) struct RequestInfo {
    /// `None` outside of `/api` and `/apis`, and for discovery.
    pub(crate) target: Option<Arc<RequestTarget>>,
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
    pub(crate) fn number(&self, name: &str) -> HandlerResult<Option<i64>> {
        match self.get(name) {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let text = quoted(text);
                StatusFailure::bad_request(format!("strconv.ParseInt: parsing {text}: invalid syntax"))
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

fn read_target(path: &str) -> Option<RequestTarget> {
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
    rest.first().map(|resource| RequestTarget {
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

fn verb(method: &Method, target: Option<&RequestTarget>, query: &Query) -> &'static str {
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

/// The JSON forms that an Accept header allows, in order: kind, group and version, as in
/// `application/json;as=Table;g=meta.k8s.io;v=v1`. An empty kind means unchanged objects.
pub(crate) fn conversions(accept: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    // No header accepts anything.
    let accept = if accept.trim().is_empty() { "*/*" } else { accept };
    let media_types = accept.split(',');
    let media_types =
        media_types.filter(|media| matches!(media_type(media), "application/json" | "application/*" | "*/*"));
    media_types.map(|media| {
        let parameter = |name: &str| {
            let mut parameters = media.split(';').filter_map(|pair| pair.trim().split_once('='));
            let parameter_value = parameters.find(|(key, _)| *key == name);
            parameter_value.map_or("", |(_, value)| value)
        };
        (parameter("as"), parameter("g"), parameter("v"))
    })
}

/// The form of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    /// `Table`, `PartialObjectMetadata` or a list of that. Empty for unchanged objects.
    pub(crate) kind: String,
    pub(crate) version: String,
    /// What the rows of a Table contain of the object: `Metadata` by default.
    pub(crate) include: String,
}

impl Form {
    /// The first form in the Accept header that the server supports.
    pub(crate) fn requested(accept: &str, query: &Query) -> HandlerResult<Self> {
        let include = query.get("includeObject").to_owned();
        let mut conversions = conversions(accept);
        let conversion = conversions.find(|(kind, group, version)| match *kind {
            "" => true,
            "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList" => {
                *group == "meta.k8s.io" && matches!(*version, "v1" | "v1beta1")
            }
            _ => false,
        });
        match conversion {
            None => Err(StatusFailure::not_acceptable(&["application/json"])),
            Some(("", ..)) => Ok(Self::default()),
            Some(("Table", ..)) if !matches!(include.as_str(), "" | "None" | "Metadata" | "Object") => {
                let include = quoted(&include);
                Err(StatusFailure::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {include}: must be \
                     'Metadata', 'Object', 'None', or empty"
                )))
            }
            Some((kind, group, version)) => Ok(Self {
                kind: kind.to_owned(),
                version: format!("{group}/{version}"),
                include,
            }),
        }
    }

    /// True if objects stay unchanged.
    pub(crate) fn is_plain(&self) -> bool {
        self.kind.is_empty()
    }

    /// An object's metadata.
    pub(crate) fn metadata_of(&self, object: &Value) -> Value {
        json!({"kind": "PartialObjectMetadata", "apiVersion": self.version, "metadata": object["metadata"]})
    }
}

/// The media type in a header, without parameters.
pub(crate) fn media_type(header: &str) -> &str {
    header.split(';').next().unwrap_or_default().trim()
}

/// The body of a response: JSON, or a stream of watch events.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// A handler's answer.
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) body: ReplyBody,
}

pub(crate) enum ReplyBody {
    Json(Bytes),
    /// Content with its content type, empty for none.
    Typed(&'static str, Bytes),
    /// Watch events, which close their audit event themselves.
    Events(ResponseBody),
}

impl Reply {
    pub(crate) fn json(code: u16, body: impl Into<Bytes>) -> Self {
        let body = ReplyBody::Json(body.into());
        Self { code, body }
    }

    pub(crate) fn value(code: u16, value: &Value) -> Self {
        Self::json(code, value.to_string())
    }

    pub(crate) fn typed(kind: &'static str, body: impl Into<Bytes>) -> Self {
        let body = ReplyBody::Typed(kind, body.into());
        Self { code: 200, body }
    }

    /// A plain text.
    pub(crate) fn text(code: u16, text: impl Into<Bytes>) -> Self {
        let text = text.into();
        let kind = if text.is_empty() {
            ""
        } else {
            "text/plain; charset=utf-8"
        };
        Self {
            code,
            ..Self::typed(kind, text)
        }
    }

    pub(crate) fn events(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        let frames = futures::StreamExt::map(stream, |event| Ok(Frame::data(event)));
        let body = ReplyBody::Events(StreamBody::new(frames).boxed_unsync());
        Self { code: 200, body }
    }

    /// The HTTP response, with these warnings as headers.
    pub(crate) fn into_response(self, warnings: Vec<String>) -> Response<ResponseBody> {
        let (kind, body) = match self.body {
            ReplyBody::Json(bytes) => ("application/json", Full::new(bytes).boxed_unsync()),
            ReplyBody::Typed(kind, bytes) => (kind, Full::new(bytes).boxed_unsync()),
            ReplyBody::Events(events) => ("application/json", events),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::OK);
        let headers = response.headers_mut();
        if !kind.is_empty() {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.insert(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-cache, private"),
        );
        let warnings = warnings
            .iter()
            .map(|warning| format!("299 - {}", quoted(warning)));
        for warning in warnings.flat_map(HeaderValue::try_from) {
            headers.append(header::WARNING, warning);
        }
        response
    }
}

/// The media type of a body in protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8] = b"k8s\0";

/// The texts in a message, in the order of their numbers, which start at 1.
const TYPE: [&str; 2] = ["apiVersion", "kind"];
const RULES_SPEC: [&str; 1] = ["namespace"];
const RESOURCE: [&str; 7] = [
    "namespace",
    "verb",
    "group",
    "version",
    "resource",
    "subresource",
    "name",
];
const NON_RESOURCE: [&str; 2] = ["path", "verb"];

/// Reads a review of what the requester may do, which `kubectl auth` sends in protobuf only, or `None` if it is not one.
pub(crate) fn read_self_review(body: &[u8]) -> Option<Value> {
    let envelope = fields(body.strip_prefix(MAGIC)?)?;
    let mut review = texts(field(&envelope, 1), &TYPE)?;
    let message = fields(field(&envelope, 2))?;
    let spec = field(&message, 2);
    review["spec"] = match review["kind"].as_str()? {
        "SelfSubjectReview" => Value::Null,
        "SelfSubjectRulesReview" => texts(spec, &RULES_SPEC)?,
        "SelfSubjectAccessReview" => {
            let mut attributes = json!({});
            for (number, bytes) in fields(spec)? {
                match number {
                    1 => attributes["resourceAttributes"] = texts(bytes, &RESOURCE)?,
                    2 => attributes["nonResourceAttributes"] = texts(bytes, &NON_RESOURCE)?,
                    _ => {}
                }
            }
            attributes
        }
        _ => return None,
    };
    Some(review)
}

/// Reads the texts of a message. Other fields are ignored.
fn texts(message: &[u8], names: &[&str]) -> Option<Value> {
    let mut object = Map::new();
    for (number, bytes) in fields(message)? {
        if let Some(name) = usize::try_from(number)
            .ok()
            .and_then(|number| names.get(number.checked_sub(1)?))
        {
            object.insert((*name).to_owned(), str::from_utf8(bytes).ok()?.into());
        }
    }
    Some(object.into())
}

/// The bytes of a field, none if it is missing. The last one counts.
fn field<'a>(fields: &[(u64, &'a [u8])], number: u64) -> &'a [u8] {
    let entry = fields.iter().rfind(|(key, _)| *key == number);
    entry.map_or(&[], |(_, bytes)| bytes)
}

/// Splits a message into fields: numbers, and bytes. A field that is a number has no bytes.
fn fields(mut rest: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let length = match (tag & 7, varint(&mut rest)?) {
            (0, _) => 0,
            (2, length) => usize::try_from(length).ok()?,
            _ => return None,
        };
        let (bytes, after) = rest.split_at_checked(length)?;
        fields.push((tag >> 3, bytes));
        rest = after;
    }
    Some(fields)
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}
