//! Closes and opens the consumer's way to the hub.

use evidence::HubCut;

use super::Session;

impl Session<'_> {
    /// Closes the consumer's way to the hub, if it leads through the run. It counts as closed until it is open again.
    pub fn close_hub(&self) {
        let Some(hub) = &self.plan.hub else { return };
        let from = self.now();
        let connections = hub.close();
        self.state().hub_cuts.push(HubCut {
            from,
            until: from,
            connections,
        });
    }

    /// Opens it again.
    pub fn open_hub(&self) {
        let Some(hub) = &self.plan.hub else { return };
        hub.open();
        let now = self.now();
        if let Some(cut) = self.state().hub_cuts.last_mut() {
            cut.until = now;
        }
    }
}
