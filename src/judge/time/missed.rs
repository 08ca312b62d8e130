//! Why something was not seen.

use evidence::{Asked, Evidence, Kind, ObjectRef, Reason};

/// Why evidence of an object lacks, if that was told.
pub(crate) fn why_missed<'e>(evidence: &'e Evidence, kind: Kind, object: &ObjectRef) -> Option<&'e str> {
    let mut gaps = evidence.gaps.of_object(kind, &object.namespace, &object.name);
    gaps.next().map(|gap| &*gap.reason)
}

/// Why evidence of a kind lacks, if some of it does.
pub(crate) fn why_incomplete(evidence: &Evidence, kind: Kind) -> Option<Reason> {
    let mut gaps = evidence.gaps(kind);
    gaps.next().map(|gap| gap.reason.clone())
}

/// Whether profiles were watched at least for a part of the window.
pub(crate) fn was_watched_in_part(evidence: &Evidence) -> bool {
    let mut gaps = evidence.gaps(Kind::Timeline);
    let is_all_missing = gaps.any(|gap| gap.from.is_none() && gap.until.is_none() && gap.object.is_none());
    *evidence.asked(Kind::Timeline) == Asked::Yes && !is_all_missing
}
