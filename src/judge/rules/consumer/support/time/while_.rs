//! When something held.

use std::collections::BTreeSet;

use super::{Edge, Known, Micros, Set, Why};

/// When something held: the time in which it surely did, the time in which it may have, and the time that nobody saw.
#[derive(Clone, Debug)]
pub(crate) struct While {
    pub(super) sure: Set,
    pub(super) possible: Set,
    /// As the runner saw it, for reports.
    pub(super) told: Set,
    /// The time that nobody saw.
    pub(super) hidden: Set,
    /// When the runner stopped looking.
    pub(super) end: Micros,
    /// Whether it held when the object was last seen.
    pub(super) is_open: bool,
}

impl While {
    /// Whether it did not hold.
    pub(crate) fn not(&self) -> Self {
        let seen = self.hidden.not().until(self.end);
        let possible = self.sure.not();
        Self {
            sure: self.possible.not().and(&seen),
            // What was not so at the last look is not open at the end.
            possible: if self.is_open {
                possible.until(self.end)
            } else {
                possible
            },
            told: self.told.not().and(&seen),
            is_open: !self.is_open,
            ..self.clone()
        }
    }

    /// What counts of it if the runner looked on after its window: all until the window's end, and from then on what was
    /// open, until it was seen to end. `seen` is when the object was seen.
    pub(super) fn settled(self, window_end: Micros, seen: &Set) -> Self {
        let last = |set: &Set| set.until(window_end + 1).spans().last().map(|(_, until)| *until);
        if last(seen).is_none() || last(seen) != last(&self.told) {
            return self.cut_at(window_end);
        }
        let ended = seen.and(&self.told.not());
        let counts = match ended.spans().iter().find(|(_, until)| *until > window_end) {
            Some((mended, _)) => self.cut_at(*mended),
            None => self,
        };
        Self {
            // What may have gone on is not told from what has ended.
            hidden: counts.hidden.until(window_end),
            ..counts
        }
    }

    /// What counts of it if it was over at that moment.
    fn cut_at(self, end: Micros) -> Self {
        let mut possible = self.possible.until(end);
        // What was seen later may have begun before, but counts as what was seen later.
        if let Some((from, until)) = possible.spans().last().copied()
            && until == end
            && self.told.and(&Set::of([(from, until)])).is_empty()
        {
            possible = possible.until(from);
        }
        Self {
            sure: self.sure.until(end).and(&possible),
            possible,
            told: self.told.until(end),
            hidden: self.hidden,
            end,
            is_open: false,
        }
    }

    /// When both held. No order is known between the changes of one and those of the other.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            sure: self.sure.and(&other.sure),
            possible: self.possible.and(&other.possible),
            told: self.told.and(&other.told),
            hidden: self.hidden.or(&other.hidden),
            end: self.end.min(other.end),
            is_open: self.is_open && other.is_open,
        }
    }

    /// When any of several held; none without any.
    pub(crate) fn any(several: impl IntoIterator<Item = Self>) -> Option<Self> {
        let none = several.into_iter().map(|one| one.not());
        let none = none.reduce(|none, one| none.and(&one));
        none.map(|none| none.not())
    }

    /// The last moment until which it surely held.
    pub(crate) fn surely_until(&self) -> Option<Micros> {
        self.sure.spans().last().map(|(_, until)| *until)
    }

    /// The spans in which the runner saw it.
    pub(crate) fn told(&self) -> &[(Micros, Micros)] {
        self.told.spans()
    }

    /// Whether it held for longer than `d`: see [`Set::lasts`]. No speaks of the time that was seen: what a gap hides,
    /// nobody can tell.
    pub(crate) fn lasting(&self, d: Micros) -> Known {
        if self.sure.lasts(d) {
            return Known::Yes;
        }
        let possible = self.possible.and(&self.hidden.not());
        if !possible.lasts(d) {
            return Known::No;
        }
        let is_decided_by_the_end = !possible.until(self.end).lasts(d);
        Known::unknown(if is_decided_by_the_end {
            Why::Ended
        } else {
            Why::Late
        })
    }

    /// The same without some time.
    pub(crate) fn without(&self, time: &Set) -> Self {
        let others = time.not();
        Self {
            sure: self.sure.and(&others),
            possible: self.possible.and(&others),
            told: self.told.and(&others),
            is_open: self.is_open && !time.spans().iter().any(|(_, until)| *until >= self.end),
            ..self.clone()
        }
    }

    /// Whether it held at a moment.
    pub(crate) fn at(&self, edge: Edge) -> Known {
        self.throughout(edge.earliest, edge.latest)
    }

    /// Whether it held at some moment from `edge` on until `d` after it.
    pub(crate) fn within(&self, edge: Edge, d: Micros) -> Known {
        let sure = span(edge.latest, edge.earliest.saturating_add(d));
        if !self.sure.and(&sure).is_empty() {
            return Known::Yes;
        }
        let asked = span(edge.earliest, edge.latest.saturating_add(d));
        self.no_unless_possible(&asked)
    }

    /// Whether it held in all of a closed span, however short.
    fn throughout(&self, from: Micros, until: Micros) -> Known {
        let asked = span(from, until);
        if self.sure.and(&asked) == asked {
            return Known::Yes;
        }
        self.no_unless_possible(&asked)
    }

    fn no_unless_possible(&self, asked: &Set) -> Known {
        let mut whys = BTreeSet::new();
        if !self.hidden.and(asked).is_empty() {
            whys.insert(Why::Gap);
        }
        if asked.until(self.end) != *asked {
            whys.insert(Why::Ended);
        }
        let possible = self.possible.and(asked);
        if whys.is_empty() && !possible.is_empty() {
            whys.insert(Why::Late);
        }
        if whys.is_empty() {
            Known::No
        } else {
            Known::Unknown(whys)
        }
    }
}

/// The moments from one to another, both of them.
fn span(from: Micros, until: Micros) -> Set {
    Set::of([(from, until.saturating_add(1))])
}
