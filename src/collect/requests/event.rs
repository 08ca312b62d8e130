//! The shape of an audit event, as far as it is used (`audit.k8s.io/v1`).

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::names;

/// One audit event. Its objects stay unread: most events are of other kinds.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Event<'a> {
    pub kind: Option<Cow<'a, str>>,
    pub api_version: Option<Cow<'a, str>>,
    #[serde(rename = "auditID", borrow)]
    pub audit_id: Option<Cow<'a, str>>,
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
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseStatus {
    pub code: Option<u16>,
}

impl Event<'_> {
    /// Whether it is an audit event at all.
    pub fn is_audit(&self) -> bool {
        let group = self.api_version.as_deref().unwrap_or_default();
        self.kind.as_deref() == Some("Event") && group.starts_with("audit.k8s.io/")
    }

    /// Whether it is about ClusterProfiles.
    pub fn is_of_profiles(&self) -> bool {
        self.object_ref.as_ref().is_some_and(|target| {
            target.api_group.as_deref() == Some(names::GROUP)
                && target.resource.as_deref() == Some(names::PLURAL)
        })
    }

    /// Whether it tells the end of a request that writes.
    pub fn is_answered_write(&self) -> bool {
        let verb = self.verb.as_deref().unwrap_or_default();
        self.stage.as_deref() == Some("ResponseComplete")
            && matches!(
                verb,
                "create" | "update" | "patch" | "delete" | "deletecollection"
            )
    }

    /// Whether the request asked for nothing to be stored.
    pub fn is_dry_run(&self) -> bool {
        let uri = self.request_uri.as_deref().unwrap_or_default();
        let query = uri.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|pair| pair.starts_with("dryRun="))
    }

    /// Whom the hub took the request to be from.
    pub fn username(&self) -> &str {
        let name = |user: &Option<User<'_>>| user.as_ref().is_some_and(|user| user.username.is_some());
        let user = match name(&self.impersonated_user) {
            true => &self.impersonated_user,
            false => &self.user,
        };
        user.as_ref()
            .and_then(|user| user.username.as_deref())
            .unwrap_or_default()
    }
}
