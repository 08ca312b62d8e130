//! Times in examples, as offsets from one base, and certificates.

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::BoxedError;

/// 2026-01-01T00:00:00Z.
pub(super) const BASE: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// In a step: the time of the step, which differs for each repetition.
pub(super) const STEP_TIME: &str = "${at}";

/// In a step: the number of earlier repetitions.
pub(super) const STEP_TURN: &str = "${n}";

/// The time at `offset` after the base.
pub(super) fn moment(offset: SignedDuration) -> Timestamp {
    BASE.saturating_add(offset).unwrap_or(BASE)
}

/// The time at `offset` after the base as text, to the second, in the hub's format.
pub(super) fn stamp(offset: SignedDuration) -> String {
    stamp_after(BASE, offset)
}

fn stamp_after(base: Timestamp, offset: SignedDuration) -> String {
    let time = base.saturating_add(offset).unwrap_or(base);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Replaces each string `${30s}` by the timestamp that is so long after `base`, and each `${CA current}` by the data of that
/// certificate authority.
pub(super) fn fill_in(value: &mut Value, base: Timestamp) -> Result<(), BoxedError> {
    match value {
        Value::String(text) if text == STEP_TIME || text == STEP_TURN => Ok(()),
        Value::String(text) => {
            let place = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            if let Some(names) = place.and_then(|place| place.strip_prefix("CA ")) {
                let data =
                    ca_data(names).ok_or_else(|| format!("`{text}` names no certificate authority"))?;
                *text = data;
            } else if let Some(offset) = place {
                let offset: Result<SignedDuration, jiff::Error> = offset.parse();
                let offset = offset.map_err(|why| format!("`{text}` is not an offset in time: {why}"))?;
                *text = stamp_after(base, offset);
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill_in(item, base)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| fill_in(field, base)),
        _ => Ok(()),
    }
}

/// Removes a field, and reads it if there is one.
pub(super) fn take<T: DeserializeOwned>(
    fields: &mut Map<String, Value>,
    key: &str,
) -> Result<Option<T>, BoxedError> {
    Ok(serde_json::from_value(fields.remove(key).unwrap_or_default())?)
}

/// The times of an event that may repeat.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) first: SignedDuration,
    every: SignedDuration,
    count: i32,
}

impl Times {
    /// Removes the keys `at`, `every`, and `times` from the fields of an event.
    pub(super) fn take(fields: &mut Map<String, Value>) -> Result<Self, BoxedError> {
        let (first, every) = (take(fields, "at")?, take(fields, "every")?);
        let count: Option<i32> = take(fields, "times")?;
        if count.is_some() != every.is_some() {
            return Err("what repeats has both `every` and `times`".into());
        }
        Ok(Self {
            first: first.unwrap_or_default(),
            every: every.unwrap_or_default(),
            count: count.unwrap_or(1),
        })
    }

    /// The number of earlier occurrences and the offset, for each occurrence.
    pub(super) fn each(&self) -> impl Iterator<Item = (i32, SignedDuration)> {
        let (first, every) = (self.first, self.every);
        (0..self.count).map(move |turn| (turn, first.saturating_add(every.saturating_mul(turn))))
    }
}

/// The `certificate-authority-data` with these certificates, joined by `+` as in `expired + current`; none for an
/// unknown name.
pub(super) fn ca_data(names: &str) -> Option<String> {
    let bundle: Option<String> = names.split('+').map(|name| pem(name.trim())).collect();
    Some(BASE64_STANDARD.encode(bundle?))
}

/// Examples happen in 2026.
fn pem(name: &str) -> Option<&'static str> {
    match name {
        // Valid from 2020 to 2040.
        "current" => Some(include_str!("certificates/current.pem")),
        // Valid from 2015 to 2025.
        "expired" => Some(include_str!("certificates/expired.pem")),
        // Valid from 2030 to 2040.
        "future" => Some(include_str!("certificates/future.pem")),
        _ => None,
    }
}
