//! The suite `conditions`.
