//! Where a part of a record may tell something else than the whole, and why.

use super::laws::Law;

/// Laws and rules.
const EXCEPTIONS: [(Law, &str); 0] = [];

/// Whether that law may be broken by that rule.
pub fn excuses((law, rule): (Law, &str)) -> bool {
    EXCEPTIONS.contains(&(law, rule))
}
