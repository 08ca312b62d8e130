//! Regular expressions that are written in the source.

use regex::Regex;

/// Compiles a pattern of the source.
pub(super) fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant pattern")
}
