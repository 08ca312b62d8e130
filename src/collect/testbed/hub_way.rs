//! The consumer's way to the hub, which a run can close.

/// The consumer's way to the hub.
pub trait HubWay: Send + Sync {
    /// Ends all connections, and refuses new ones. Gives the number of those that ended.
    fn close(&self) -> u64;

    /// Accepts connections again.
    fn open(&self);
}
