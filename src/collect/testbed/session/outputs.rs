//! What the consumer had made when a scene ended.

use std::collections::BTreeSet;

use evidence::{OutputReader, OutputSnapshot};

use super::Session;

impl Session<'_> {
    /// How outputs are read.
    pub(super) fn output_readers(&self) -> BTreeSet<OutputReader> {
        self.plan.outputs.iter().map(|place| place.reader()).collect()
    }

    /// Reads all that the consumer has made. What cannot be read is said once.
    pub(super) async fn read_outputs(&self) {
        if self.plan.outputs.is_empty() || self.is_stopped() {
            return;
        }
        let addresses = self.plan.calls.addresses();
        let mut outputs = Vec::new();
        for place in &self.plan.outputs {
            match place.read(self.context.client, &addresses).await {
                Ok(read) => outputs.extend(read),
                Err(why) => {
                    let is_first = self.state().unread.is_none();
                    if is_first {
                        self.warn(&why);
                        self.state().unread = Some(why);
                    }
                }
            }
        }
        self.state().snapshots.push(OutputSnapshot {
            at: self.now(),
            outputs,
        });
    }

    /// Why outputs could not be read, if so.
    pub fn unread(&self) -> Option<String> {
        self.state().unread.clone()
    }
}
