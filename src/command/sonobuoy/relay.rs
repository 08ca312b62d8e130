//! Progress for `sonobuoy status`: each plugin's worker takes it on a port of the pod.

use std::{
    env,
    io::{self, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    thread,
    time::Duration,
};

use serde::Serialize;

use super::results::Item;

/// The port of the worker, which Sonobuoy sets for its plugins.
const PORT: &str = "SONOBUOY_PROGRESS_PORT";
/// How long the worker may take for a step. Progress is not worth more.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends progress to Sonobuoy. It never fails a run: progress that cannot be sent is lost.
#[derive(Clone, Copy, Debug)]
pub struct Relay {
    port: u16,
}

/// Progress in Sonobuoy's words.
#[derive(Debug, Default, Serialize)]
pub(super) struct Update {
    msg: String,
    /// Rules that passed or failed, once they are judged.
    total: usize,
    completed: usize,
    failures: Vec<String>,
}

impl Update {
    /// The update at the end of a run.
    pub(super) fn of(results: &Item) -> Self {
        let leaves = results.leaves();
        let failed = leaves.iter().filter(|leaf| leaf.is_failed());
        let failures: Vec<String> = failed.map(|leaf| leaf.name().to_owned()).collect();
        // Sonobuoy calls `completed` passed, and what is missing to `total` remaining.
        let completed = leaves.iter().filter(|leaf| leaf.is_passed()).count();
        let others = leaves.len() - failures.len() - completed;
        Self {
            msg: match others {
                0 => "judged".to_owned(),
                _ => format!("judged; {others} neither passed nor failed"),
            },
            total: completed + failures.len(),
            completed,
            failures,
        }
    }
}

impl Relay {
    /// Returns the relay of the plugin that this process is, if it is one.
    pub fn from_environment() -> Option<Self> {
        let port = env::var(PORT).ok()?.parse().ok()?;
        Some(Self { port })
    }

    /// Sends a message, without waiting for it.
    pub fn say(self, message: &str) {
        let update = Update {
            msg: message.to_owned(),
            ..Update::default()
        };
        thread::spawn(move || self.post_and_wait(&update));
    }

    /// Sends progress.
    pub(super) fn post_and_wait(self, update: &Update) {
        let _lost = self.post(update);
    }

    fn post(self, update: &Update) -> io::Result<()> {
        let body = serde_json::to_string(update)?;
        let worker = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let mut stream = TcpStream::connect_timeout(&worker, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let length = body.len();
        write!(
            stream,
            "POST /progress HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )?;
        // The worker drops what it relays if its client leaves before the answer.
        stream.read(&mut [0; 64]).map(drop)
    }
}
