//! Versions of an object share the parts that did not change.

use std::sync::Arc;

/// Shares a part that equals the previous one.
pub(super) fn share<T: PartialEq + ?Sized>(own: &mut Arc<T>, previous: &Arc<T>) {
    if own == previous {
        *own = Arc::clone(previous);
    }
}

/// Does the same for a part that may be absent.
pub(super) fn share_some<T: PartialEq + ?Sized>(own: &mut Option<Arc<T>>, previous: &Option<Arc<T>>) {
    if own == previous {
        own.clone_from(previous);
    }
}

/// Shares the whole list, or its equal entries.
pub(super) fn share_list<T: PartialEq>(own: &mut Arc<[T]>, previous: &Arc<[T]>, entry: impl Fn(&mut T, &T)) {
    share(own, previous);
    // `None` if it is already shared.
    let entries = Arc::get_mut(own).into_iter().flatten();
    entries
        .zip(previous.iter())
        .for_each(|(own, previous)| entry(own, previous));
}
