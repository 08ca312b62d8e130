//! What the rules on consumers still use of an earlier way to read time and authors. They move to the engine next.

pub(crate) mod testbed;
pub(crate) mod time;
pub(crate) mod who;
pub(crate) mod writes;
