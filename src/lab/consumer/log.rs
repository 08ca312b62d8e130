//! The consumer's log.

use std::{fmt, io, sync::Arc};

use collect::testbed::ConsumerLog;
use parking_lot::Mutex;

/// The lines of the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// Writes a line.
    pub(super) fn write(&self, line: impl fmt::Display) {
        self.0.lock().push(line.to_string());
    }
}

impl ConsumerLog for Lines {
    fn read(&self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        for line in &*self.0.lock() {
            each(line.as_bytes());
        }
        Ok(())
    }
}
