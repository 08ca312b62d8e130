//! Items of lists without an identity, in kube-apiserver's words.

/// Why an item of an associative list has no identity.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ItemError {
    /// With the names of the key fields, in quotes.
    #[error(
        "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for \
         any key fields)",
        keys.join(" ")
    )]
    NoKeys { keys: Vec<String> },
    #[error("associative list with keys may not have a null element")]
    KeyedNull,
    #[error("associative list with keys may not have non-map elements")]
    KeyedScalar,
    #[error("associative list without keys has an element that's a map type")]
    SetOfMaps,
    #[error("not supported: associative list with lists as elements")]
    SetOfLists,
    #[error("associative list without keys has an element that's an explicit null")]
    SetOfNulls,
}
