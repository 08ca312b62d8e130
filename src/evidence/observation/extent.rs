//! When an object was observed, and what was missed of it.

use std::cell::LazyCell;

use jiff::Timestamp;

use crate::{Evidence, Gap, Gaps, Kind, Shard, Window};

impl Evidence {
    /// When the profiles of a namespace were observed. In merged evidence that is the window of their share.
    pub fn window_of(&self, namespace: &str) -> Option<Window> {
        let share = self.share_of(namespace);
        share.and_then(|share| share.window).or(self.header.window)
    }

    /// The end of [`Evidence::window_of`].
    pub fn end_of(&self, namespace: &str) -> Option<Timestamp> {
        self.window_of(namespace).map(|window| window.until)
    }

    /// Whether a list of that kind may lack objects of a namespace: it has a gap.
    pub fn may_lack(&self, kind: Kind, namespace: &str) -> bool {
        // Only gaps of a share ask which one the namespace falls to.
        let index = LazyCell::new(|| self.merged_from().map(|count| Shard::index_of(namespace, count)));
        let of_namespace = self.gaps.of_namespace(kind, namespace);
        let mut gaps = self.gaps.of_all(kind).chain(of_namespace);
        gaps.any(|gap| gap.share.is_none() || is_of_share(gap, *index))
    }

    /// Whether a gap of all objects concerns those of a namespace: in merged evidence, that of another share does not.
    pub fn concerns(&self, gap: &Gap, namespace: &str) -> bool {
        let share = self.share_of(namespace).map(|share| share.shard.index);
        is_of_share(gap, share)
    }

    /// The gaps of a kind that concern one object: its own, and those of its whole share.
    pub fn gaps_of(&self, kind: Kind, namespace: &str, name: &str) -> impl Iterator<Item = &Gap> {
        self.concerning(&self.gaps, kind, namespace, name)
    }

    /// Those of the gaps that are of a kind and concern one object.
    pub(crate) fn concerning<'g>(
        &self,
        gaps: &'g Gaps,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> impl Iterator<Item = &'g Gap> + use<'g> {
        let share = self.share_of(namespace).map(|share| share.shard.index);
        let gaps = gaps.of_all(kind).chain(gaps.of_object(kind, namespace, name));
        gaps.filter(move |gap| is_of_share(gap, share))
    }
}

/// Whether a gap concerns the objects of a share.
fn is_of_share(gap: &Gap, share: Option<u32>) -> bool {
    gap.share.is_none() || share.is_none() || gap.share == share
}
