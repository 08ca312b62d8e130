//! The consumer's way to the hub within this process, which the run can close.

use collect::testbed::HubWay;
use futures::StreamExt as _;
use http_body_util::{BodyStream, StreamBody};
use kube::client::Body;
use tokio::sync::watch;

/// The way to the hub.
pub(super) struct WithinProcessHubWay {
    is_closed: watch::Sender<bool>,
}

impl Default for WithinProcessHubWay {
    fn default() -> Self {
        Self {
            is_closed: watch::Sender::new(false),
        }
    }
}

impl HubWay for WithinProcessHubWay {
    fn close(&self) -> u64 {
        self.is_closed.send_replace(true);
        u64::try_from(self.is_closed.receiver_count()).unwrap_or(u64::MAX)
    }

    fn open(&self) {
        self.is_closed.send_replace(false);
    }
}

impl WithinProcessHubWay {
    /// A client that goes this way. When it is closed, requests fail, and answers that go on, as watches do, end.
    pub(super) fn lead(&self, client: kube::Client) -> kube::Client {
        let is_closed = self.is_closed.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let client = client.clone();
            let mut closing = is_closed.subscribe();
            async move {
                if *closing.borrow() {
                    return Err(tower::BoxError::from("the way to the hub is closed"));
                }
                let answer = client.send(request).await?;
                let until_closed = async move {
                    let _ = closing.wait_for(|is_closed| *is_closed).await;
                };
                Ok(answer.map(|body| {
                    let frames = BodyStream::new(body).take_until(Box::pin(until_closed));
                    StreamBody::new(frames)
                }))
            }
        });
        kube::Client::new(service, "default")
    }
}
