//! Gaps, found by what they concern.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fmt,
    ops::{Deref, DerefMut},
    slice,
    sync::OnceLock,
    vec,
};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Gap, Kind};

/// The gaps of a run. Reads and changes like a list; what concerns one object is found without a look at all others.
#[derive(Default)]
pub struct Gaps {
    list: Vec<Gap>,
    /// Made when first asked for. Any change drops it.
    index: OnceLock<Index>,
}

/// The places of the gaps.
struct Index {
    /// All, by kind.
    all: Vec<usize>,
    /// Those of no object, by kind.
    whole: Vec<usize>,
    /// Those of one object, by kind, namespace and name.
    own: Vec<usize>,
    /// When the gaps of each kind are, by kind.
    times: BTreeMap<Kind, Times>,
}

/// When the gaps of a kind are.
struct Times {
    all: Spans,
    /// Those of no object.
    whole: Spans,
}

/// From when until when, in microseconds since the epoch.
type Span = (i64, i64);

/// When gaps are.
#[derive(Debug)]
pub struct Spans {
    /// In order of their beginnings, each with the end of whatever ends last of it and those before.
    until_now: Vec<Span>,
    /// In order and apart from each other, without those of no length.
    apart: Vec<Span>,
}

static NONE: Spans = Spans {
    until_now: Vec::new(),
    apart: Vec::new(),
};

impl Spans {
    fn of<'g>(gaps: impl Iterator<Item = &'g Gap>) -> Self {
        let mut until_now: Vec<Span> = gaps.map(Gap::span).collect();
        until_now.sort_unstable();
        let mut apart: Vec<Span> = Vec::new();
        for (from, until) in until_now.iter().copied().filter(|(from, until)| from < until) {
            match apart.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => apart.push((from, until)),
            }
        }
        let mut latest = i64::MIN;
        for (_, until) in &mut until_now {
            latest = latest.max(*until);
            *until = latest;
        }
        Self { until_now, apart }
    }

    /// The earliest beginning of those that end at a moment or later.
    pub fn earliest(&self, moment: i64) -> Option<i64> {
        let place = self.until_now.partition_point(|(_, latest)| *latest < moment);
        self.until_now.get(place).map(|(from, _)| *from)
    }

    /// The time in any of them: half-open spans, in order and apart from each other.
    pub fn apart(&self) -> &[(i64, i64)] {
        &self.apart
    }
}

/// What an object's gaps are found by.
fn key(gap: &Gap) -> Option<(Kind, &str, &str)> {
    let object = gap.object.as_ref()?;
    Some((gap.kind, &object.namespace, &object.name))
}

impl Index {
    fn of(list: &[Gap]) -> Self {
        let mut all: Vec<usize> = (0..list.len()).collect();
        all.sort_by_key(|place| list[*place].kind);
        let (whole, mut own): (Vec<usize>, Vec<usize>) =
            all.iter().partition(|place| list[**place].object.is_none());
        own.sort_by_key(|place| key(&list[*place]));
        let times = |places: &[usize]| {
            let gaps = || places.iter().map(|place| &list[*place]);
            let whole = gaps().filter(|gap| gap.object.is_none());
            let times = Times {
                all: Spans::of(gaps()),
                whole: Spans::of(whole),
            };
            (list[places[0]].kind, times)
        };
        let kinds = all.chunk_by(|one, next| list[*one].kind == list[*next].kind);
        Self {
            times: kinds.map(times).collect(),
            all,
            whole,
            own,
        }
    }
}

impl Gap {
    /// From when until when, in microseconds since the epoch. A gap without a beginning or an end goes on for ever there.
    pub fn span(&self) -> (i64, i64) {
        let from = self.from.map_or(i64::MIN, Timestamp::as_microsecond);
        (from, self.until.map_or(i64::MAX, Timestamp::as_microsecond))
    }
}

impl Gaps {
    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(&self.list))
    }

    /// The gaps of a kind, in their order.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Gap> {
        let all = &self.index().all;
        self.at(equal(all, |place| self.list[place].kind.cmp(&kind)))
    }

    /// The gaps of a kind that concern no single object, in their order.
    pub fn of_all(&self, kind: Kind) -> impl Iterator<Item = &Gap> {
        let whole = &self.index().whole;
        self.at(equal(whole, |place| self.list[place].kind.cmp(&kind)))
    }

    /// The gaps of one object, in their order.
    pub fn of_object(&self, kind: Kind, namespace: &str, name: &str) -> impl Iterator<Item = &Gap> + use<'_> {
        let sought = Some((kind, namespace, name));
        let own = &self.index().own;
        self.at(equal(own, |place| key(&self.list[place]).cmp(&sought)))
    }

    /// The gaps of single objects of a namespace.
    pub fn of_namespace(&self, kind: Kind, namespace: &str) -> impl Iterator<Item = &Gap> + use<'_> {
        let sought = Some((kind, namespace));
        let of = |place| key(&self.list[place]).map(|(kind, namespace, _)| (kind, namespace));
        let own = &self.index().own;
        self.at(equal(own, |place| of(place).cmp(&sought)))
    }

    /// When the gaps of a kind are, whatever they concern.
    pub fn times(&self, kind: Kind) -> &Spans {
        self.index().times.get(&kind).map_or(&NONE, |times| &times.all)
    }

    /// When the gaps of a kind are that concern all objects.
    pub fn times_of_all(&self, kind: Kind) -> &Spans {
        self.index().times.get(&kind).map_or(&NONE, |times| &times.whole)
    }

    /// The gaps of a kind that concern one object: its own, and those of all objects.
    pub fn concerning(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> impl Iterator<Item = &Gap> + use<'_> {
        self.of_all(kind).chain(self.of_object(kind, namespace, name))
    }

    /// Whether a list of a kind may lack objects of a namespace.
    pub fn may_lack(&self, kind: Kind, namespace: &str) -> bool {
        self.of_all(kind)
            .chain(self.of_namespace(kind, namespace))
            .next()
            .is_some()
    }

    fn at<'g>(&'g self, places: &'g [usize]) -> impl Iterator<Item = &'g Gap> + use<'g> {
        places.iter().map(|place| &self.list[*place])
    }
}

/// Those of the places, which are in order, that are neither before nor after what is sought.
fn equal(places: &[usize], compare: impl Fn(usize) -> Ordering) -> &[usize] {
    let from = places.partition_point(|place| compare(*place).is_lt());
    let count = places[from..].partition_point(|place| compare(*place).is_eq());
    &places[from..from + count]
}

impl Deref for Gaps {
    type Target = Vec<Gap>;

    fn deref(&self) -> &Vec<Gap> {
        &self.list
    }
}

impl DerefMut for Gaps {
    fn deref_mut(&mut self) -> &mut Vec<Gap> {
        self.index.take();
        &mut self.list
    }
}

impl From<Vec<Gap>> for Gaps {
    fn from(list: Vec<Gap>) -> Self {
        Self {
            list,
            index: OnceLock::new(),
        }
    }
}

impl FromIterator<Gap> for Gaps {
    fn from_iter<I: IntoIterator<Item = Gap>>(gaps: I) -> Self {
        gaps.into_iter().collect::<Vec<Gap>>().into()
    }
}

impl IntoIterator for Gaps {
    type Item = Gap;
    type IntoIter = vec::IntoIter<Gap>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'g> IntoIterator for &'g Gaps {
    type Item = &'g Gap;
    type IntoIter = slice::Iter<'g, Gap>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl<'g> IntoIterator for &'g mut Gaps {
    type Item = &'g mut Gap;
    type IntoIter = slice::IterMut<'g, Gap>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl Clone for Gaps {
    fn clone(&self) -> Self {
        self.list.clone().into()
    }
}

impl fmt::Debug for Gaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl<T: AsRef<[Gap]> + ?Sized> PartialEq<T> for Gaps {
    fn eq(&self, other: &T) -> bool {
        self.list == other.as_ref()
    }
}

impl AsRef<[Gap]> for Gaps {
    fn as_ref(&self) -> &[Gap] {
        &self.list
    }
}

impl Serialize for Gaps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Gaps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectRef;

    fn gap(kind: Kind, name: Option<&str>, from: i64, until: i64) -> Gap {
        let at = |seconds| Timestamp::from_second(seconds).ok();
        Gap {
            from: at(from),
            until: at(until),
            object: name.map(|name| ObjectRef {
                namespace: "n".to_owned(),
                name: name.to_owned(),
                ..ObjectRef::default()
            }),
            ..Gap::of(kind, "lost")
        }
    }

    fn second(seconds: i64) -> i64 {
        1_000_000 * seconds
    }

    #[test]
    fn gaps_are_found_by_what_they_concern() {
        let mut gaps: Gaps = vec![
            gap(Kind::Timeline, Some("b"), 1, 2),
            gap(Kind::Timeline, None, 7, 9),
            gap(Kind::Requests, None, 1, 2),
            gap(Kind::Timeline, Some("a"), 3, 4),
            gap(Kind::Timeline, None, 5, 8),
            gap(Kind::Members, Some("a"), 3, 4),
            gap(Kind::Timeline, Some("a"), 1, 2),
        ]
        .into();
        let places = |found: Vec<&Gap>| {
            let place = |found: &Gap| gaps.iter().position(|gap| std::ptr::eq(gap, found));
            found.into_iter().filter_map(place).collect::<Vec<_>>()
        };
        assert_eq!(places(gaps.of_object(Kind::Timeline, "n", "a").collect()), [3, 6]);
        assert_eq!(
            places(gaps.of_object(Kind::Timeline, "m", "a").collect()),
            <[usize; 0]>::default()
        );
        assert_eq!(places(gaps.of_all(Kind::Timeline).collect()), [1, 4]);
        assert_eq!(places(gaps.of_kind(Kind::Timeline).collect()), [0, 1, 3, 4, 6]);
        assert_eq!(
            places(gaps.of_namespace(Kind::Timeline, "n").collect()),
            [3, 6, 0]
        );
        assert_eq!(
            places(gaps.of_namespace(Kind::Timeline, "m").collect()),
            <[usize; 0]>::default()
        );

        gaps.push(gap(Kind::Timeline, Some("a"), 8, 9));
        assert_eq!(
            gaps.of_object(Kind::Timeline, "n", "a").count(),
            3,
            "a change is seen"
        );
    }

    #[test]
    fn times_of_gaps_are_found() {
        let lost = |from, until| gap(Kind::Timeline, None, from, until);
        let mut gaps: Gaps = vec![lost(7, 9), lost(5, 8), lost(20, 20), lost(1, 2), lost(2, 3)].into();
        let times = gaps.times(Kind::Timeline);
        let apart = [(1, 3), (5, 9)].map(|(from, until)| (second(from), second(until)));
        assert_eq!(times.apart(), apart);
        let earliest = |at| times.earliest(second(at)).map(|from| from / 1_000_000);
        let found = [0, 2, 3, 4, 8, 9, 10, 20, 21].map(earliest);
        let told = [
            Some(1),
            Some(1),
            Some(2),
            Some(5),
            Some(5),
            Some(7),
            Some(20),
            Some(20),
            None,
        ];
        assert_eq!(found, told);
        assert_eq!(gaps.times(Kind::Probe).apart(), []);

        let whole = gaps.times_of_all(Kind::Timeline);
        assert_eq!(whole.apart(), apart);
        gaps[3].object = Some(ObjectRef::default());
        assert_eq!(
            gaps.times_of_all(Kind::Timeline).apart(),
            [(second(2), second(3)), apart[1]]
        );
    }
}
