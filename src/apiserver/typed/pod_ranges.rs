//! The address ranges of a Node's pods: `spec.podCIDRs`, and `spec.podCIDR`, the first of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use crate::object::{
    field::{Errors, Found},
    value::{list, text},
};

/// An address and the length of its prefix.
struct Range {
    address: IpAddr,
    length: u32,
    /// Numbers have leading zeros, which Go once read as decimal.
    has_zeros: bool,
}

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
            Some(range) => range.complaint(),
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

impl Range {
    /// Reads a range. Numbers may have leading zeros.
    fn read(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let bare = |number: &str| match number.trim_start_matches('0') {
            "" if !number.is_empty() => "0".to_owned(),
            bare => bare.to_owned(),
        };
        let (prefix, last) = address.split_at(address.rfind(':').map_or(0, |colon| colon + 1));
        let last = if last.contains('.') {
            last.split('.').map(bare).collect::<Vec<_>>().join(".")
        } else {
            last.to_owned()
        };
        let plain = format!("{prefix}{last}");
        let is_number = !length.is_empty() && length.bytes().all(|digit| digit.is_ascii_digit());
        let range = Self {
            address: plain.parse().ok()?,
            length: bare(length).parse().ok().filter(|_| is_number)?,
            has_zeros: plain != address || bare(length) != length,
        };
        (range.length <= range.bits()).then_some(range)
    }

    fn bits(&self) -> u32 {
        match self.address {
            IpAddr::V4(_) => Ipv4Addr::BITS,
            IpAddr::V6(_) => Ipv6Addr::BITS,
        }
    }

    /// What kube-apiserver dislikes about a range that can be read, empty if nothing.
    fn complaint(&self) -> &'static str {
        let number = match self.address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let behind = self.bits() - self.length;
        let is_mapped = matches!(self.address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
        if self.has_zeros {
            "must not have leading 0s in IP or prefix length"
        } else if is_mapped {
            "must not have an IPv4-mapped IPv6 address"
        } else if number.trailing_zeros() < behind && number != 0 {
            "must not have bits set beyond the prefix length"
        } else {
            ""
        }
    }
}
