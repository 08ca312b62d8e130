//! The shape of an audit event, as far as it is used (`audit.k8s.io/v1`).

use std::borrow::Cow;

use evidence::api::{ObjectKind, names};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

/// One audit event, or a list of events. Most are about other kinds, so their objects stay unparsed.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Event<'a> {
    #[serde(borrow)]
    pub kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub api_version: Option<Cow<'a, str>>,
    #[serde(rename = "auditID", borrow)]
    pub audit_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub level: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub stage: Option<Cow<'a, str>>,
    #[serde(rename = "requestURI", borrow)]
    pub request_uri: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub verb: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub user: Option<User<'a>>,
    #[serde(borrow)]
    pub impersonated_user: Option<User<'a>>,
    #[serde(borrow)]
    pub user_agent: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub object_ref: Option<Target<'a>>,
    pub response_status: Option<ResponseStatus>,
    #[serde(borrow)]
    pub request_object: Option<&'a RawValue>,
    #[serde(borrow)]
    pub response_object: Option<&'a RawValue>,
    pub request_received_timestamp: Option<Timestamp>,
    pub stage_timestamp: Option<Timestamp>,
    /// The events of a list.
    #[serde(borrow)]
    pub items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct User<'a> {
    #[serde(borrow)]
    pub username: Option<Cow<'a, str>>,
}

/// What a request is about.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Target<'a> {
    #[serde(borrow)]
    pub api_group: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub resource: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub subresource: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    /// That of an object that was sent.
    #[serde(borrow)]
    pub resource_version: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseStatus {
    pub code: Option<u16>,
}

/// Whether a line is JSON of some other group than that of audit events.
pub(super) fn is_foreign(line: &[u8]) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Type<'a> {
        #[serde(borrow)]
        api_version: Option<Cow<'a, str>>,
    }
    serde_json::from_slice::<Type<'_>>(line).is_ok_and(|head| !is_audit(&head.api_version))
}

fn is_audit(api_version: &Option<Cow<'_, str>>) -> bool {
    let group = api_version.as_deref().unwrap_or_default();
    group.starts_with("audit.k8s.io/")
}

/// What is asked of an object in an answer.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Head<'a> {
    #[serde(borrow)]
    pub metadata: HeadMetadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct HeadMetadata<'a> {
    #[serde(borrow)]
    pub name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub resource_version: Option<Cow<'a, str>>,
}

/// An object of an event; the type's default where there is none or it cannot be read.
pub(super) fn object<'a, T: Default + Deserialize<'a>>(raw: Option<&'a RawValue>) -> T {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

impl Event<'_> {
    /// Whether it is an audit event at all.
    pub fn is_audit(&self) -> bool {
        is_audit(&self.api_version) && self.kind.as_deref() == Some("Event")
    }

    /// Whether it is a list of audit events, as a webhook gets them.
    pub fn is_list(&self) -> bool {
        is_audit(&self.api_version) && self.kind.as_deref() == Some("EventList")
    }

    /// The kind of the objects that it is about; none if it is about others.
    pub fn kind(&self) -> Option<ObjectKind> {
        let target = self.object_ref.as_ref()?;
        if target.api_group.as_deref() != Some(names::GROUP) {
            return None;
        }
        let resource = target.resource.as_deref()?;
        ObjectKind::ALL.into_iter().find(|kind| kind.plural() == resource)
    }

    /// Whether it is about a request that writes.
    pub fn is_write(&self) -> bool {
        let verb = self.verb.as_deref().unwrap_or_default();
        matches!(
            verb,
            "create" | "update" | "patch" | "delete" | "deletecollection"
        )
    }

    /// Whether it is about a request that reads.
    pub fn is_read(&self) -> bool {
        matches!(self.verb.as_deref(), Some("get" | "list" | "watch"))
    }

    /// Whether the request, in which this was sent, asked for nothing to be stored. Deletions may say so in their
    /// options.
    pub fn is_dry_run(&self, sent: &Value) -> bool {
        let uri = self.request_uri.as_deref().unwrap_or_default();
        let query = uri.split_once('?').map_or("", |(_, query)| query);
        let in_query = query.split('&').any(|pair| pair.starts_with("dryRun="));
        let is_deletion = self
            .verb
            .as_deref()
            .is_some_and(|verb| verb.starts_with("delete"));
        let in_options = sent["dryRun"].as_array().is_some_and(|stages| !stages.is_empty());
        in_query || (is_deletion && in_options)
    }

    /// The user that the hub authenticated, or the impersonated one.
    pub fn username(&self) -> &str {
        let users = [&self.impersonated_user, &self.user];
        let mut names = users.into_iter().flatten().map(|user| user.username.as_deref());
        names.find_map(|name| name).unwrap_or_default()
    }
}
