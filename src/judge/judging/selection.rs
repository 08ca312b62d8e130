//! The rules that the user selected.

/// The rules that the user selected, by substrings of their ids like `cargo test`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// A rule must match one of these; empty: all do.
    pub filters: Vec<String>,
    /// A rule must match none of these.
    pub skip: Vec<String>,
    /// Whether `filters` and `skip` are whole ids.
    pub exact: bool,
}

impl Selection {
    /// Whether the user selected that rule.
    pub fn holds(&self, id: &str) -> bool {
        let matches = |pattern: &String| {
            if self.exact {
                id == pattern
            } else {
                id.contains(pattern.as_str())
            }
        };
        (self.filters.is_empty() || self.filters.iter().any(matches)) && !self.skip.iter().any(matches)
    }
}
