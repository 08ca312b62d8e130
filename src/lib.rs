//! The conformance suite for the Kubernetes SIG-Multicluster ClusterProfile API (KEP-4322).
//!
//! It answers one question: does this cluster manager keep the ClusterProfile documents' rules on this hub? The
//! answer is reached on one road, and data flows along it one way:
//!
//! ```text
//! hub ──collect──▶ Evidence ──judge──▶ Verdicts ──report──▶ terminal, JUnit, JSON, …
//! ```
//!
//! * [`collect`] is all that is slow, async or fallible. What it could not get is written into the evidence as
//!   a gap, with its reason.
//! * [`evidence`] is plain data. It can be written to a file, and judged again by somebody else, later.
//! * [`rules`] are pure functions of the evidence, each beside a file of facts and examples under `suites/`.
//! * [`judge`] turns what the rules found into verdicts and a decision.

pub mod api;
pub mod clock;
pub mod collect;
pub mod evidence;
pub mod hub;
pub mod judge;
pub mod lab;
pub mod report;
pub mod rules;
pub mod schema;
pub mod written;
