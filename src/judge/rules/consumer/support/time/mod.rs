//! What an object was over time, with answers of three values.

mod absence;
mod known;
mod timeline;
mod while_;

pub(crate) use absence::absent;
pub(crate) use known::{Known, Why};
pub(crate) use timeline::{Run, Seen, Timeline};
pub(crate) use while_::While;

pub(crate) use crate::time::*;
