//! Addresses of the members' API servers.

use super::members::IPV6;

/// The URL of a member's API server.
pub(super) fn server(member: &str) -> String {
    format!("https://{}", host(member))
}

/// Host and port of a member's API server: by name, and by an address from the ranges set aside for documentation.
pub(super) fn endpoints(member: &str, number: usize) -> [String; 2] {
    let address = match member {
        IPV6 => format!("[2001:db8::{number:x}]:6443"),
        _ => format!("192.0.2.{}:6443", number + 1),
    };
    [host(member), address]
}

/// Host and port of a member's API server.
pub(super) fn host(member: &str) -> String {
    format!("{member}.clusters.example:6443")
}
