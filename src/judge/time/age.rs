//! How old a profile is.

use evidence::{Evidence, Kind, Origin, ProfileHistory, parse_time};

use super::{
    LATE, Micros, SECOND,
    clock::{CLOCKS_APART, known_skew},
    gaps::earliest,
};

/// Seconds until a new profile's status counts: the ledger's default grace of 2 minutes.
pub(crate) const GRACE_SECONDS: i64 = 120;

/// The same in microseconds.
pub(crate) const GRACE: Micros = GRACE_SECONDS * SECOND;

/// Whether something has lasted for longer than the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Age {
    /// Longer than the grace.
    Settled,
    /// The clocks do not tell.
    Unsure,
    /// Not longer than the grace.
    New,
}

/// Whether a profile existed for longer than the grace at a moment, such as when it was last seen. If the watch saw too
/// little of that, the creation time decides, as far as the clocks can be compared.
pub(crate) fn age_at(evidence: &Evidence, history: &ProfileHistory, end: Micros) -> Age {
    let first = &history.versions[0];
    let seen = first.received().as_microsecond();
    if end.saturating_sub(seen) >= GRACE {
        return Age::Settled;
    }
    let metadata = &first.object.metadata;
    let came = match history.origin {
        Origin::Created => seen,
        Origin::Relisted => {
            // Before the gap in which it came, it was not there.
            let name = (&*metadata.namespace, &*metadata.name);
            let around = earliest(evidence, Kind::Timeline, name, seen);
            around.filter(|from| *from <= seen).unwrap_or(Micros::MIN)
        }
        Origin::Listed => Micros::MIN,
    };
    if end.saturating_sub(came) < GRACE {
        return Age::New;
    }
    let created = metadata.creation_timestamp.as_deref();
    let Some(created) = created.and_then(parse_time).map(|time| time.as_microsecond()) else {
        return Age::Settled;
    };
    match known_skew(evidence).map(|skew| created.saturating_sub(skew)) {
        // A creation after the first sight, or before it can have been, shows that the skew is wrong.
        Some(created) if created < came.saturating_sub(LATE) => Age::Unsure,
        Some(created) if created <= seen.saturating_add(LATE) => {
            if end.saturating_sub(created) >= GRACE {
                Age::Settled
            } else {
                Age::New
            }
        }
        _ if end.saturating_sub(created) >= GRACE.saturating_add(CLOCKS_APART) => Age::Settled,
        _ => Age::Unsure,
    }
}
