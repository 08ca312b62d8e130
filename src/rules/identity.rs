//! The suite `identity`.
