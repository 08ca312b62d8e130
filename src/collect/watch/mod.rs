//! Lists and watches: how the objects of a hub are read, and their histories kept.

pub(crate) mod backoff;
#[cfg(fuzzing)]
pub mod fuzzing;
pub(crate) mod lines;
pub(crate) mod list;
pub(crate) mod record;
pub(crate) mod timeline;

pub(crate) use self::{
    list::{METADATA, SMALL, SMALL_AND_LAST, fold_list, list, list_head, list_with},
    record::{HistoryRecord, add_watched, asked_for_writers},
    timeline::{Watch, gap},
};
