//! What becomes of a subprocess's output.

use std::process::Stdio;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::tail::{Cutter, Tail};

/// Where an output goes.
pub(crate) enum Sink<'a> {
    /// Into memory. A subprocess that prints more than `most` bytes is ended.
    Whole {
        /// Keeps what is printed.
        into: &'a mut Vec<u8>,
        /// The largest output.
        most: usize,
    },
    /// Into memory: its end, redacted.
    Tail(&'a Mutex<Tail>),
    /// Where our own output goes.
    Ours,
    /// Nowhere.
    Nowhere,
}

/// An output has more than this many bytes, as many as it may have.
pub(super) struct TooMuch(pub usize);

impl Sink<'_> {
    pub(super) fn stdio(&self) -> Stdio {
        match self {
            Sink::Whole { .. } | Sink::Tail(_) => Stdio::piped(),
            Sink::Ours => Stdio::inherit(),
            Sink::Nowhere => Stdio::null(),
        }
    }

    /// Reads an output to its end. What was read before a failure is what there is.
    ///
    /// # Errors
    /// As soon as it is too large.
    pub(super) async fn read(self, output: Option<impl AsyncRead + Unpin>) -> Result<(), TooMuch> {
        let Some(mut output) = output else {
            return Ok(());
        };
        match self {
            Sink::Whole { into, most } => {
                let _ = output.take(most as u64 + 1).read_to_end(into).await;
                if into.len() > most {
                    return Err(TooMuch(most));
                }
            }
            Sink::Tail(tail) => {
                let (mut cutter, mut buffer) = (Cutter::default(), vec![0; 8192]);
                while let Ok(size @ 1..) = output.read(&mut buffer).await {
                    tail.lock().take(&mut cutter, &buffer[..size]);
                }
                tail.lock().end(&mut cutter);
            }
            Sink::Ours | Sink::Nowhere => {}
        }
        Ok(())
    }
}
