//! The members of a testbed: for a consumer in this process, or on ports of this machine.
//!
//! * `within`: in this process, under its clock;
//! * `ports`: on ports; `server`: who answers there, with TLS; `answers`: what a member says to its clients; `proxy`: the way
//!   through a proxy.

mod answers;
mod ports;
mod proxy;
mod server;
mod within;

pub use ports::OnPorts;
pub use within::{DialError, Hello, Trust, WithinProcess};

#[cfg(test)]
mod runs;
#[cfg(test)]
mod tests;
