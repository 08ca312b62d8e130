//! Tells the hub's users of findings by Events (events.k8s.io/v1) on the objects concerned.

use std::{sync::Arc, time::Duration};

use evidence::ObjectRef;
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    call::{Failure, TimedClient, once, segment},
    clock::Clock,
    connect::Connection,
    toll::Meter,
};

/// The controller that reports.
const CONTROLLER: &str = "conformance.clusterprofile/monitor";
/// The longest note that an API server takes, in bytes.
const LONGEST_NOTE: usize = 1024;
/// The longest name of a reporting instance.
const LONGEST_INSTANCE: usize = 128;

/// Writes Events.
pub struct EventWriter {
    client: TimedClient,
    clock: Clock,
    instance: String,
}

/// What an Event tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The object concerned.
    pub object: ObjectRef,
    /// The API version of that object.
    pub api_version: String,
    /// Tells this finding from others on the object, also after a restart: 16 hexadecimal digits.
    pub digest: String,
    /// A word for the kind of event, in UpperCamelCase.
    pub reason: &'static str,
    /// What was found, for people. What is too long for an Event is cut.
    pub note: String,
}

/// What became of an Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is new.
    New,
    /// It was there already: somebody has told of the finding before.
    Known,
}

/// Why an Event could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The runner may not write Events there, or the namespace takes none, as it is being deleted.
    #[error("the hub does not let the runner write Events: {0}")]
    Forbidden(String),
    /// The hub does not take this Event. It may take others.
    #[error("the hub refused an Event: {0}")]
    Refused(String),
    /// The hub does not answer, or is busy or ailing: other Events would fail as well.
    #[error("failed to write an Event: {message}")]
    Failed {
        /// What happened.
        message: String,
        /// How long the hub asks to be left alone.
        wait: Duration,
    },
}

impl EventWriter {
    /// A writer for a replica of that name.
    pub fn new(hub: &Connection, clock: Clock, instance: &str) -> Self {
        Self {
            client: hub.timed().with_toll(Arc::default()),
            clock,
            instance: cut(instance, LONGEST_INSTANCE).to_owned(),
        }
    }

    /// Goes on by another connection.
    pub fn reconnect(&mut self, hub: &Connection) {
        self.client = hub.timed().with_toll(Arc::clone(&self.client.toll));
    }

    /// Reads what Events cost the hub.
    pub fn meter(&self) -> Meter {
        Meter::of(&self.client.toll)
    }

    /// Writes an Event, unless the hub still has it.
    ///
    /// # Errors
    /// When the hub refuses or does not answer.
    pub async fn tell(&self, told: &Told) -> Result<Written, EventError> {
        let event = self.event(told, self.clock.now());
        match self.send(Method::POST, &folder(&told.object), &event).await {
            Ok(_) => Ok(Written::New),
            Err(failure) if failure.code() == 409 => Ok(Written::Known),
            Err(failure) => Err(error(&failure)),
        }
    }

    /// Counts once more what an Event has told before. Writes it anew if the hub has dropped it meanwhile.
    ///
    /// # Errors
    /// When the hub refuses or does not answer.
    pub async fn tell_again(&self, told: &Told, count: u32) -> Result<Written, EventError> {
        let path = format!("{}/{}", folder(&told.object), segment(&name(told)));
        let series = json!({"count": count, "lastObservedTime": format!("{:.6}", self.clock.now())});
        let patch = json!({"series": series});
        let patched: Result<Value, Failure> = once(
            &self.client,
            Method::PATCH,
            &path,
            "application/merge-patch+json",
            Some(&patch),
        )
        .await;
        match patched {
            Ok(_) => Ok(Written::Known),
            Err(failure) if failure.code() == 404 => self.tell(told).await,
            Err(failure) => Err(error(&failure)),
        }
    }

    fn event(&self, told: &Told, now: Timestamp) -> Value {
        let Told {
            object,
            api_version,
            reason,
            note,
            ..
        } = told;
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"namespace": namespace(object), "name": name(told)},
            "eventTime": format!("{now:.6}"),
            "reportingController": CONTROLLER,
            "reportingInstance": self.instance,
            "action": "Judge",
            "type": "Warning",
            "reason": reason,
            "note": cut(note, LONGEST_NOTE),
            "regarding": {
                "apiVersion": api_version, "kind": object.kind, "namespace": object.namespace,
                "name": object.name, "uid": object.uid, "resourceVersion": object.resource_version,
            },
        })
    }

    async fn send(&self, method: Method, path: &str, event: &Value) -> Result<Value, Failure> {
        once(&self.client, method, path, "application/json", Some(event)).await
    }
}

fn error(failure: &Failure) -> EventError {
    let message = failure.to_string();
    match failure.code() {
        403 => EventError::Forbidden(message),
        0 | 401 | 429 | 500.. => EventError::Failed {
            message,
            wait: failure.asked_wait(),
        },
        _ => EventError::Refused(message),
    }
}

/// The namespace of an object's Events: those of objects of the whole cluster are in `default`.
fn namespace(object: &ObjectRef) -> &str {
    match object.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    }
}

fn folder(object: &ObjectRef) -> String {
    format!(
        "/apis/events.k8s.io/v1/namespaces/{}/events",
        segment(namespace(object))
    )
}

/// The Event's name: the same after a restart. A name has 253 characters at most.
fn name(told: &Told) -> String {
    format!(
        "{}.{}",
        cut(&told.object.name, 236).trim_end_matches(['.', '-']),
        told.digest
    )
}

/// The beginning of a text, of so many bytes at most.
fn cut(text: &str, longest: usize) -> &str {
    let ends = (0..=longest.min(text.len())).rev();
    let end = ends.into_iter().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}
