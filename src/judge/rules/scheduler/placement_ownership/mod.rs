mod foreign;
mod writers;

pub(in crate::rules) use foreign::foreign_decisions_untouched;
pub(in crate::rules) use writers::one_writer;
