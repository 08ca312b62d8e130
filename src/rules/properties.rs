//! The suite `properties`.
