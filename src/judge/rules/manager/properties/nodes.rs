//! The properties `count.node.k8s.io` and `type.node.k8s.io`.

use evidence::api::{list::strings, names};

use super::values::each_value;
use crate::subjects::{Findings, Profiles};

/// `properties/node-count-well-formed`
///
/// The node count is a non-negative integer.
pub(in crate::rules) fn node_count_well_formed(profiles: &Profiles, findings: &mut Findings) {
    let expected = "a non-negative integer, such as 120";
    each_value(
        profiles,
        findings,
        names::PROPERTY_NODE_COUNT,
        expected,
        |value, faults| {
            let digits = value.trim();
            let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u64>().is_ok();
            if !is_number {
                faults.add("node count is not a non-negative integer", value);
            }
        },
    );
}

/// `properties/node-types-well-formed`
///
/// The node types are a JSON list of non-empty strings.
pub(in crate::rules) fn node_types_well_formed(profiles: &Profiles, findings: &mut Findings) {
    let expected = r#"a JSON list of non-empty strings, such as ["standard-8","highmem-16"]"#;
    each_value(
        profiles,
        findings,
        names::PROPERTY_NODE_TYPES,
        expected,
        |value, faults| match strings(value) {
            None => faults.add("node types are not a JSON list of strings", value),
            Some(types) if types.iter().any(|name| name.trim().is_empty()) => {
                faults.add("node type is empty", value);
            }
            Some(_) => {}
        },
    );
}
