//! The address ranges of a Node's pods: `spec.podCIDRs`, and `spec.podCIDR`, the first of them.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::object::{
    field::{Errors, Found},
    range::Range,
    value::{list, text},
};

/// Completes both fields from each other. If they disagree, the single range counts.
pub(crate) fn agree_on_ranges(spec: &mut Value) {
    let first = text(spec, "podCIDR").to_owned();
    let all = list(spec, "podCIDRs");
    match all.first() {
        None if first.is_empty() => {}
        Some(other) if first.is_empty() => spec["podCIDR"] = other.clone(),
        Some(other) if *other == *first => {}
        _ => spec["podCIDRs"] = json!([first]),
    }
}

/// Adds the errors of a new Node's ranges.
pub(super) fn check_ranges(spec: &Value, errors: &mut Errors) {
    const AT: &str = "spec.podCIDRs";
    let all = list(spec, "podCIDRs");
    let texts = all.iter().map(|range| range.as_str().unwrap_or_default());
    let ranges: Vec<_> = texts.map(|text| (text, Range::read(text))).collect();
    for (i, (text, range)) in ranges.iter().enumerate() {
        let complaint = match range {
            None => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
            Some(range) => complaint(range),
        };
        if !complaint.is_empty() {
            errors.invalid(format!("{AT}[{i}]"), text, complaint);
        }
    }
    if ranges.len() < 2 {
        return;
    }
    if let Some(i) = ranges.iter().position(|(_, range)| range.is_none()) {
        let why = format!("invalid CIDR[{i}]: <nil> (invalid CIDR address: {})", ranges[i].0);
        let why = format!("invalid PodCIDRs. failed to check with dual stack with error:{why}");
        errors.internal(AT, &why);
    }
    let families = |is_wanted: fn(&IpAddr) -> bool| {
        let mut ranges = ranges.iter().filter_map(|(_, range)| range.as_ref());
        ranges.any(|range| is_wanted(&range.address))
    };
    let is_dual = families(IpAddr::is_ipv4) && families(IpAddr::is_ipv6);
    if !is_dual || ranges.len() > 2 {
        let why = "may specify no more than one CIDR for each IP family";
        errors.invalid(AT, all, why);
    }
}

/// What kube-apiserver dislikes about a range that can be read, empty if nothing.
fn complaint(range: &Range) -> &'static str {
    let is_mapped = matches!(range.address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    if range.has_zeros {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped {
        "must not have an IPv4-mapped IPv6 address"
    } else if range.has_host_bits() {
        "must not have bits set beyond the prefix length"
    } else {
        ""
    }
}
