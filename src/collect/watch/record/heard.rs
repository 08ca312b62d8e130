//! Until when the watches of a record know every change.

use evidence::Tracked;
use jiff::Timestamp;

use super::Record;

impl<T: Tracked> Record<T> {
    /// Adds a watch. Returns its number.
    pub fn add_watch(&mut self, now: Timestamp) -> usize {
        self.heard.push(now);
        self.heard.len() - 1
    }

    /// Notes that a watch knows every change until now.
    pub fn hear(&mut self, watch: usize, now: Timestamp) {
        if let Some(heard) = self.heard.get_mut(watch) {
            *heard = now;
        }
    }

    /// Until when all watches know every change; none without a watch.
    pub fn known_until(&self) -> Option<Timestamp> {
        self.heard.iter().min().copied()
    }
}
