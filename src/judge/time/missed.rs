//! Why something was not seen.

use evidence::{Evidence, Gap, Kind, ObjectRef};

/// Why evidence of an object lacks, if that was told.
pub(crate) fn why_missed<'e>(evidence: &'e Evidence, kind: Kind, object: &ObjectRef) -> Option<&'e str> {
    let is_it = |gap: &&Gap| {
        let missed = gap.object.as_ref();
        missed.is_some_and(|missed| (&missed.namespace, &missed.name) == (&object.namespace, &object.name))
    };
    let gap = evidence.gaps(kind).find(is_it);
    gap.map(|gap| &*gap.reason)
}
