//! The judge in a browser: a WebAssembly module that takes a dump or an evidence file and gives the report.
//!
//! The module reaches nothing: it has no imports, so all it knows is what the page hands it, the time and the key of the
//! digests included. The page is made by [`report::site`].

mod exports;
mod judge_file;

pub use judge_file::{Answer, Judged, Order, judge_file};
