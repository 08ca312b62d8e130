//! The members of a stage: for a consumer in this process, or on ports of this machine.

mod within;

pub use within::{DialError, Hello, Trust, WithinProcess};
