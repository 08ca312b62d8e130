//! Where a part of a record may tell something else than the whole, and why.

use super::{laws::Law, worlds::World};

/// Laws and rules, everywhere or with one fault.
const EXCEPTIONS: [(Law, &str, Option<&str>); 2] = [
    // The lab's clock stands still while a scheduler deletes a slice and makes it anew. A late delivery shows the time
    // between the two, in which the decision was torn.
    (Law::Blames, "placement-updates/no-torn-reschedule", None),
    // A record that begins after a profile went does not tell that it ever existed. That its reference does not resolve, it
    // tells.
    (
        Law::Blames,
        "placement-references/resolve",
        Some("placement-references/resolve-across-time"),
    ),
];

/// Whether that law may be broken by that rule.
pub fn excuses(world: &World, (law, rule): (Law, &str)) -> bool {
    let is_its = |fault: Option<&str>| fault.is_none() || fault == world.plot.fault;
    let mut exceptions = EXCEPTIONS.iter();
    exceptions.any(|(excused, of, fault)| (*excused, *of) == (law, rule) && is_its(*fault))
}
