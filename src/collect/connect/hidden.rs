//! JSON that holds secrets.

use serde_json::Value;
use zeroize::Zeroize as _;

/// JSON that holds secrets. It cannot be printed or written, and is wiped when dropped.
pub(crate) struct Hidden(pub Value);

impl Drop for Hidden {
    fn drop(&mut self) {
        wipe_all(self.0.take());
    }
}

fn wipe_all(value: Value) {
    match value {
        Value::String(mut text) => text.zeroize(),
        Value::Array(items) => items.into_iter().for_each(wipe_all),
        Value::Object(fields) => fields.into_iter().for_each(|(_, field)| wipe_all(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
