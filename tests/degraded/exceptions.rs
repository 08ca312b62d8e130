//! Where a part of a record may tell something else than the whole, and why.

use super::laws::Law;

/// Laws and rules.
const EXCEPTIONS: [(Law, &str); 1] = [
    // The lab's clock stands still while a scheduler deletes a slice and makes it anew. A late delivery shows the time
    // between the two, in which the decision was torn.
    (Law::Blames, "placement-updates/no-torn-reschedule"),
];

/// Whether that law may be broken by that rule.
pub fn excuses((law, rule): (Law, &str)) -> bool {
    EXCEPTIONS.contains(&(law, rule))
}
