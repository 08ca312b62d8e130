//! The events of a watch, line by line.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use bytes::{Buf as _, BytesMut};
use evidence::lenient::masked;
use http::Response;
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::task::coop::consume_budget;

use crate::connect::{AnswerBody, OwnCredentials, Redaction, RequestFailure, read_status, within};

/// The longest line: an event holds one object.
const LONGEST: usize = evidence::LARGEST_OBJECT;
/// Marks the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// The body of a watch.
pub(crate) struct WatchLines {
    body: AnswerBody,
    /// The credentials that no line may show.
    secrets: OwnCredentials,
    redaction: Redaction,
    buffer: BytesMut,
    /// How much of the buffer is known to have no line end.
    searched: usize,
}

/// One event of a watch.
#[derive(Debug)]
pub(crate) enum WatchEvent<'a> {
    /// An object is new; its JSON.
    Added(&'a [u8]),
    /// An object has changed; its JSON.
    Modified(&'a [u8]),
    /// An object is gone; the JSON of its last state.
    Deleted(&'a [u8]),
    /// Everything up to this resourceVersion was sent.
    Bookmark {
        /// From here a watch may go on.
        resource_version: String,
        /// Whether it ends the initial events.
        initial_events_end: bool,
    },
}

impl WatchLines {
    /// Reads the events of that answer, without the runner's own credentials.
    pub fn new(response: Response<AnswerBody>, secrets: OwnCredentials) -> Self {
        Self {
            redaction: secrets.redaction(),
            secrets,
            body: response.into_body(),
            buffer: BytesMut::new(),
            searched: 0,
        }
    }

    /// The next line, without its end; none where the hub has ended the watch. May be cancelled and called again.
    /// Fails if no whole line comes for longer than `patience`. Empty lines do not count.
    pub async fn next(&mut self, patience: Duration) -> Result<Option<BytesMut>, RequestFailure> {
        within(patience, "nothing came from the watch", self.whole()).await
    }

    async fn whole(&mut self) -> Result<Option<BytesMut>, RequestFailure> {
        loop {
            // A hub that sends faster than it is read must not keep the clock from being read.
            consume_budget().await;
            if let Some(end) = self.buffer[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n')
            {
                let line = self.buffer.split_to(self.searched + end);
                self.buffer.advance(1);
                self.searched = 0;
                if line.trim_ascii().is_empty() {
                    continue;
                }
                let redacted = if is_failure(&line) {
                    // The token may have been renewed since the watch began.
                    Cow::Owned(self.secrets.redaction().redact_message(&line).into_bytes())
                } else {
                    self.redaction.redact(&line)
                };
                return Ok(Some(match redacted {
                    Cow::Borrowed(_) => line,
                    Cow::Owned(redacted) => redacted.as_slice().into(),
                }));
            }
            self.searched = self.buffer.len();
            if self.searched > LONGEST {
                return Err(RequestFailure::broken(
                    "an event of the watch is too large to be one",
                ));
            }
            match self.body.frame().await {
                Some(frame) => {
                    if let Ok(piece) = frame?.into_data() {
                        self.buffer.extend_from_slice(&piece);
                    }
                }
                // What is left without a line end is half an event: a resumed watch brings it whole.
                None => return Ok(None),
            }
        }
    }
}

/// Whether a line reports a failure.
fn is_failure(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
    }
    match line.strip_prefix(br#"{"type":""#) {
        // As API servers write it, so that most lines need not be read twice.
        Some(kind) => kind.starts_with(b"ERROR"),
        None => serde_json::from_slice::<Head<'_>>(line).is_ok_and(|head| head.kind == "ERROR"),
    }
}

impl<'a> WatchEvent<'a> {
    /// Reads one line.
    pub fn read(line: &'a [u8]) -> Result<Self, RequestFailure> {
        #[derive(Deserialize)]
        struct Raw<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            object: &'a RawValue,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Object {
            metadata: Metadata,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Metadata {
            resource_version: String,
            annotations: Option<BTreeMap<String, String>>,
        }
        let unreadable = || RequestFailure::broken("an event of the watch cannot be read");
        // Bytes that are not UTF-8 spoil the object that they are in, not the watch.
        let masked = masked(line);
        let raw: Raw = serde_json::from_str(&masked).map_err(|_| unreadable())?;
        if raw.kind == "ERROR" {
            let status = Box::new(read_status(raw.object.get()));
            if status.code == 0 {
                let detail = match status.message.as_str() {
                    "" => "without saying which".to_owned(),
                    message => format!("without a code: {message}"),
                };
                return Err(RequestFailure::broken(format!(
                    "the watch reported an error {detail}"
                )));
            }
            return Err(RequestFailure::Status {
                status,
                retry_after: None,
            });
        }
        // Masking keeps all bytes in their places, and the distance of addresses within one text is the offset.
        let start = raw.object.get().as_ptr() as usize - masked.as_ptr() as usize;
        let object = &line[start..start + raw.object.get().len()];
        match &*raw.kind {
            "ADDED" => Ok(WatchEvent::Added(object)),
            "MODIFIED" => Ok(WatchEvent::Modified(object)),
            "DELETED" => Ok(WatchEvent::Deleted(object)),
            "BOOKMARK" => {
                let Object { metadata } = serde_json::from_slice(object).map_err(|_| unreadable())?;
                let annotations = metadata.annotations.unwrap_or_default();
                let end = annotations
                    .get(INITIAL_EVENTS_END)
                    .is_some_and(|value| value == "true");
                Ok(WatchEvent::Bookmark {
                    resource_version: metadata.resource_version,
                    initial_events_end: end,
                })
            }
            _ => Err(unreadable()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_without_a_code_is_reported() {
        for (line, expected) in [
            (
                r#"{"type":"ERROR","object":{"kind":"Status","message":"too old"}}"#,
                "the watch reported an error without a code: too old",
            ),
            (
                r#"{"type":"ERROR","object":{}}"#,
                "the watch reported an error without saying which",
            ),
            (
                r#"{"type":"ERROR","object":{"code":410,"message":"too old"}}"#,
                "the hub answered 410 Gone: too old",
            ),
        ] {
            let failure = WatchEvent::read(line.as_bytes()).expect_err("a failure");
            assert_eq!(failure.to_string(), expected);
        }
    }
}
