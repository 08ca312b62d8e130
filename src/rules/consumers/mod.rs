//! The suite `consumers`.
