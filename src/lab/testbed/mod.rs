//! The members of a testbed: for a consumer in this process under its clock, or on ports of this machine.

mod ports;
mod within;

pub use ports::OnPorts;
pub use within::{Hello, Trust, WithinProcess};

#[cfg(test)]
mod tests;
