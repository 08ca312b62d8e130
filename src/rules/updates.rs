//! The suite `updates`.
