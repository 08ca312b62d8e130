//! The command-line face of the suite.

fn main() {}
