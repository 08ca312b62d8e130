//! Observation times of properties.

use std::sync::Arc;

use evidence::{
    Evidence, ObjectRef, ProfileHistory, Version,
    api::{ClusterProfile, Property},
    parse_time,
};

use crate::{
    hash::HashMap,
    shared::clocks::HUB_CLOCK_UNKNOWN,
    subjects::{Finding, Findings, Profiles, name},
    text::redacted,
    time::{ManagerClock, Micros, SECOND, missed, timestamp},
};

const IN_FUTURE: &str = "lastObservedTime of a property is in the future";
const BACKWARDS: &str = "lastObservedTime of a property moved backwards";

/// `properties/observed-time-sane`
///
/// The observation time of a property is not in the future and never moves backwards. Over a gap in the watch, a restore from a
/// backup may have moved it.
pub(in crate::rules) fn observed_time_sane(profiles: &Profiles, findings: &mut Findings) {
    let evidence = profiles.evidence();
    findings.not_applicable("no property has a lastObservedTime");
    // For each profile the same map, so that its memory is asked for once.
    let mut known = HashMap::default();
    let mut times = Times::default();
    for history in profiles.histories() {
        known.clear();
        if judge(evidence, history, &mut known, &mut times, findings) {
            findings.examine();
        }
    }
}

/// The last time that was read: most managers observe all properties of many profiles at one time.
#[derive(Default)]
struct Times<'a> {
    text: &'a str,
    time: Option<Micros>,
}

impl<'a> Times<'a> {
    /// Reads a time; none if it is not in RFC 3339.
    fn read(&mut self, text: &'a str) -> Option<Micros> {
        if self.text != text {
            self.text = text;
            self.time = parse_time(text).map(|time| time.as_microsecond());
        }
        self.time
    }
}

/// Judges one profile, and returns whether it had an observation time. `known` is empty, and holds those of its
/// properties afterwards.
fn judge<'e>(
    evidence: &Evidence,
    history: &'e ProfileHistory,
    known: &mut HashMap<&'e str, Known<'e>>,
    times: &mut Times<'e>,
    findings: &mut Findings,
) -> bool {
    let mut before: Option<&Arc<[Property]>> = None;
    for (place, version) in history.versions.iter().enumerate() {
        let properties = &version.object.status.properties;
        if before.is_some_and(|before| Arc::ptr_eq(before, properties)) {
            continue;
        }
        before = Some(properties);
        for property in properties.iter() {
            let Some(text) = property.last_observed_time.as_deref() else {
                continue;
            };
            let known = known.entry(&property.name).or_insert(Known::Nothing);
            if let Known::Faulty = known {
                continue;
            }
            let Some((message, expected)) = fault(evidence, version, text, times.read(text), known) else {
                continue;
            };
            if message == BACKWARDS && is_hidden(evidence, history, place, &property.name) {
                findings.cannot_tell(format!(
                    "{}: {message} over a gap in the watch: the hub may have been restored from a backup",
                    ObjectRef::from(&version.object).path()
                ));
                *known = Known::Nothing;
                continue;
            }
            *known = Known::Faulty;
            if message == IN_FUTURE && !ManagerClock::of(evidence).is_known() {
                findings.cannot_tell(HUB_CLOCK_UNKNOWN);
                continue;
            }
            findings.report(
                Finding::on(&version.object, message)
                    .at(format!(
                        "status.properties[{}].lastObservedTime",
                        redacted(&property.name)
                    ))
                    .expected(expected)
                    .observed(redacted(text)),
            );
        }
    }
    !known.is_empty()
}

/// Whether the watch has a gap between a version and the last one before it that shows the property's time. A hub that was
/// restored from a backup shows an older time than before.
fn is_hidden(evidence: &Evidence, history: &ProfileHistory, place: usize, property: &str) -> bool {
    let version = &history.versions[place];
    let shows_time = |earlier: &&Version| {
        let mut properties = earlier.object.status.properties.iter();
        properties.any(|one| *one.name == *property && one.last_observed_time.is_some())
    };
    let shown = history.versions[..place].iter().rfind(shows_time);
    shown.is_some_and(|shown| {
        missed::<ClusterProfile>(
            evidence,
            Some(name(&version.object)),
            shown.received(),
            version.received(),
        )
        .is_some()
    })
}

/// The observation time of one property so far.
enum Known<'a> {
    /// None yet.
    Nothing,
    /// The latest one, as a number and as written.
    Time(Micros, &'a str),
    /// A fault was reported: one is enough.
    Faulty,
}

/// Describes what is wrong with a time, which may be unreadable, and what was expected. Remembers a good time.
fn fault<'a>(
    evidence: &Evidence,
    version: &Version,
    text: &'a str,
    time: Option<Micros>,
    known: &mut Known<'a>,
) -> Option<(&'static str, String)> {
    let Some(time) = time else {
        let message = "lastObservedTime of a property is not in RFC 3339";
        return Some((message, "a time in RFC 3339".to_owned()));
    };
    let seen = version.received().as_microsecond();
    let clock = ManagerClock::of(evidence);
    if time > clock.latest(seen) {
        let now = timestamp(clock.shows_at_most(seen));
        return Some((IN_FUTURE, format!("not after {now}, give or take 5 min")));
    }
    match known {
        // Times may have fractions of a second or not.
        Known::Time(latest, written) if latest.saturating_sub(time) >= SECOND => {
            return Some((BACKWARDS, format!("not before {}", redacted(written))));
        }
        Known::Time(latest, _) if *latest >= time => {}
        _ => *known = Known::Time(time, text),
    }
    None
}
