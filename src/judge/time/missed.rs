//! Why something was not seen.

use evidence::{Evidence, Kind, ObjectRef};

/// Why evidence of an object lacks, if that was told.
pub(crate) fn why_missed<'e>(evidence: &'e Evidence, kind: Kind, object: &ObjectRef) -> Option<&'e str> {
    let mut gaps = evidence.gaps.of_object(kind, &object.namespace, &object.name);
    gaps.next().map(|gap| &*gap.reason)
}
