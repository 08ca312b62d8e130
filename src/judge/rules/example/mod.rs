//! The examples of a rule's file: small worlds that keep the rule, and small worlds that break it.
//!
//! An example states only what matters to it. The rest is filled with a world that conforms to every rule
//! ([`conforming`]), so that what a rule finds is what the example says and nothing else. Everything happens
//! relative to 2026-01-01T00:00:00Z, and the same text always gives the same [`Evidence`](evidence::Evidence).

mod conforming;
mod consumer;
mod driver;
mod error;
mod expectation;
mod records;
mod testbed;
mod time;
mod violation;
mod world;

pub use error::{ExampleError, Flaw};
pub use expectation::{Example, Expectation, ExpectedFinding};
pub use violation::{PublishedObject, Violation};
pub use world::World;

#[cfg(test)]
mod tests;
