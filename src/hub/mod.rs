//! Where a hub comes from.
//!
//! Each file answers with a way to reach one kind of hub; what is then read from it is the same for all.

mod envtest;

pub use envtest::{Assets, Envtest, EnvtestError, EnvtestOptions};
