//! Text for a public file, safe in editors and on terminals.

use serde_json::Value;

use super::document::Document;
use crate::text::escape;

/// Longer text is cut, so that one text cannot bury a report.
const LONGEST: usize = 2_000;
/// The length of what is left: with the note about the cut, it is at most [`LONGEST`].
const LEFT: usize = 1_900;

impl Document {
    /// Returns the report with every text escaped and shortened. It is idempotent.
    pub(super) fn made_public(&self) -> Self {
        let mut value = serde_json::to_value(self).expect("the document has a shape in JSON");
        clean(&mut value);
        // No field whose form matters can hold invisible characters.
        serde_json::from_value(value).unwrap_or_else(|_| self.clone())
    }
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown(text),
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => {
            let old = std::mem::take(fields);
            fields.extend(old.into_iter().map(|(key, mut value)| {
                clean(&mut value);
                (shown(&key), value)
            }));
        }
        _ => {}
    }
}

/// Escapes and shortens a text.
pub(super) fn shown(text: &str) -> String {
    let line = escape::short(text, usize::MAX);
    let long = line.chars().count();
    if long <= LONGEST {
        return line.into_owned();
    }
    let start: String = line.chars().take(LEFT).collect();
    format!("{start} … {} more characters", long - LEFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn what_is_public_stays_as_it_is(text in "\\PC{0,40}|.{0,40}", times in 1usize..200) {
            let once = shown(&text.repeat(times));
            assert!(!once.chars().any(escape::is_hidden));
            assert!(once.chars().count() <= LONGEST);
            assert_eq!(shown(&once), once);
        }
    }
}
