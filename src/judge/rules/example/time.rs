//! Placeholders in examples: times, as offsets from one base, and certificates.

use std::sync::LazyLock;

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::error::Flaw;

static BASE: LazyLock<Timestamp> =
    LazyLock::new(|| "2026-01-01T00:00:00Z".parse().expect("a constant in RFC 3339"));

/// In a step: the time of the step, which differs for each repetition.
pub(super) const STEP_TIME: &str = "${at}";

/// In a step: the number of earlier repetitions.
pub(super) const STEP_TURN: &str = "${n}";

/// The time at `offset` after the base.
pub(super) fn moment(offset: SignedDuration) -> Timestamp {
    BASE.saturating_add(offset).unwrap_or(*BASE)
}

/// The same as text, to the second, in the hub's format.
pub(super) fn stamp(offset: SignedDuration) -> String {
    stamp_after(*BASE, offset)
}

fn stamp_after(base: Timestamp, offset: SignedDuration) -> String {
    let time = base.saturating_add(offset).unwrap_or(base);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Replaces each string `${30s}` by the timestamp that is so long after `base`, and each `${CA current}` by the data of that
/// certificate authority.
pub(super) fn fill_in(value: &mut Value, base: Timestamp) -> Result<(), Flaw> {
    match value {
        Value::String(text) => {
            if text == STEP_TIME || text == STEP_TURN {
                return Ok(());
            }
            let place = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            if let Some(names) = place.and_then(|place| place.strip_prefix("CA ")) {
                let unknown = || Flaw::Step(format!("`{text}` names no certificate authority"));
                *text = ca_data(names).ok_or_else(unknown)?;
            } else if let Some(offset) = place {
                let invalid = |why| Flaw::Step(format!("`{text}` is not an offset in time: {why}"));
                *text = stamp_after(base, offset.parse().map_err(|why: jiff::Error| invalid(why))?);
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill_in(item, base)),
        Value::Object(fields) => fields.values_mut().try_for_each(|field| fill_in(field, base)),
        _ => Ok(()),
    }
}

/// The times of an event that may repeat: its `at`, `every` and `times`.
pub(super) struct Repeats {
    at: SignedDuration,
    every: SignedDuration,
    times: i32,
}

impl Repeats {
    /// Removes these keys from the fields of an event.
    pub(super) fn take(fields: &mut Map<String, Value>) -> Result<Self, Flaw> {
        let mut field = |key: &str| fields.remove(key).unwrap_or_default();
        let at: Option<SignedDuration> = serde_json::from_value(field("at"))?;
        let every: Option<SignedDuration> = serde_json::from_value(field("every"))?;
        let times: Option<i32> = serde_json::from_value(field("times"))?;
        if times.is_some_and(|times| times > 1) != every.is_some() {
            return Err("what repeats has both `every` and `times`".into());
        }
        Ok(Self {
            at: at.unwrap_or_default(),
            every: every.unwrap_or_default(),
            times: times.unwrap_or(1),
        })
    }

    /// The offset of the first occurrence.
    pub(super) fn first(&self) -> SignedDuration {
        self.at
    }

    /// The offsets of all occurrences.
    pub(super) fn moments(&self) -> impl Iterator<Item = SignedDuration> {
        let (at, every) = (self.at, self.every);
        (0..self.times).map(move |time| at.saturating_add(every.saturating_mul(time)))
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
