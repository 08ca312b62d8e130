//! Address ranges, and addresses as Go's older parser reads them: numbers may have leading zeros.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address and the length of its prefix: `10.0.0.0/24`.
pub(crate) struct Range {
    pub(crate) address: IpAddr,
    pub(crate) length: u32,
    /// The text has numbers with leading zeros.
    pub(crate) has_zeros: bool,
}

impl Range {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (plain, bare) = (without_zeros(address), bare(length));
        let range = Self {
            address: plain.parse().ok()?,
            length: bare.parse().ok().filter(|_| is_number(length))?,
            has_zeros: plain != address || bare != length,
        };
        (range.length <= range.bits()).then_some(range)
    }

    /// The number of bits of an address of this family.
    pub(crate) fn bits(&self) -> u32 {
        match self.address {
            IpAddr::V4(_) => Ipv4Addr::BITS,
            IpAddr::V6(_) => Ipv6Addr::BITS,
        }
    }

    /// True if the address has bits beyond the prefix.
    pub(crate) fn has_host_bits(&self) -> bool {
        let number = match self.address {
            IpAddr::V4(address) => u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        number != 0 && number.trailing_zeros() < self.bits() - self.length
    }
}

/// Reads an address.
pub(crate) fn read_address(text: &str) -> Option<IpAddr> {
    without_zeros(text).parse().ok()
}

/// Removes leading zeros from the numbers between dots.
fn without_zeros(address: &str) -> String {
    let (prefix, last) = address.split_at(address.rfind(':').map_or(0, |colon| colon + 1));
    if !last.contains('.') {
        return address.to_owned();
    }
    let numbers: Vec<&str> = last.split('.').map(bare).collect();
    format!("{prefix}{}", numbers.join("."))
}

/// A number without leading zeros.
fn bare(number: &str) -> &str {
    match number.trim_start_matches('0') {
        "" => &number[number.len().saturating_sub(1)..],
        bare => bare,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}
