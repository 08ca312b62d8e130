//! The kinds of objects that examples put on the testbed.

use evidence::{Tracked, api::Edition};
use jiff::SignedDuration;
use serde::Serialize;
use serde_json::Value;

/// A kind of objects that examples put on the testbed.
pub(super) trait Staged: Tracked + Serialize {
    /// The name and namespace that an overlay gives to an object, or their defaults.
    fn key(overlay: &Value) -> (String, String);

    /// The object onto which `overlay` is merged: it keeps every rule.
    fn conforming(overlay: &Value, edition: Edition, created: SignedDuration) -> Value;

    /// The overlay with its short forms written out.
    fn expand(overlay: &Value) -> Value;

    /// Drops the field ownership.
    fn drop_writers(&mut self);
}
