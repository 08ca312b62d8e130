//! Likely misspellings of names that the documents define.

/// Maximum edit distance of a misspelling.
const SLIP: usize = 2;

/// Whether a name may be a misspelling of another, judging by its length alone: cheap, and seldom true.
pub(crate) fn is_candidate(name: &str, defined: &str) -> bool {
    // A character has up to four bytes.
    defined.len().abs_diff(name.len()) <= 4 * SLIP
}

/// Returns the defined name that a name almost equals.
pub(crate) fn meant(name: &str, defined: &[&'static str]) -> Option<&'static str> {
    let alike = defined.iter().filter(|defined| is_candidate(name, defined));
    alike
        .map(|defined| (strsim::levenshtein(defined, name), *defined))
        .filter(|(distance, _)| *distance <= SLIP)
        .min()
        .map(|(_, defined)| defined)
}
