//! Where evidence is brought up to date, judged and shown, one after the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bytes::Bytes;
use collect::ongoing::{Health, View};
use evidence::{Evidence, api::ClusterProfile};
use jiff::Timestamp;
use judge::Judgement;
use report::{Report, html};
use tokio::time::Instant;

use super::{
    figures::{Figures, Labels, Owner, add},
    verdicts::Verdicts,
};
use crate::command::advice;

/// How long a page is shown while newer judgements come.
const PAGE_AGE: Duration = Duration::from_secs(10);

/// What one observation shows, and the judgement of it.
pub struct Bench {
    view: View,
    verdicts: Verdicts,
    judged: Option<Judged>,
    page: Option<Page>,
    writes: StatusWrites,
    /// The emptiest buckets, as of the last whole judgement.
    tokens: BTreeMap<Owner, f64>,
}

struct Judged {
    judgement: Judgement,
    at: Timestamp,
    number: u64,
}

struct Page {
    /// The judgement that it shows.
    number: u64,
    rendered: Instant,
    html: Bytes,
}

/// What a judgement tells the metrics.
pub struct Told {
    /// Its figures.
    pub figures: Figures,
    /// When it was judged.
    pub at: Timestamp,
    /// How long that took.
    pub took: Duration,
    /// True if everything was judged.
    pub whole: bool,
    /// How many status writes were seen since the process began.
    pub writes: BTreeMap<Owner, u64>,
    /// How many of owners that found no room.
    pub writes_dropped: u64,
}

/// How well the hub is known.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How well it is known.
    pub health: Health,
    /// For how many seconds the watch was interrupted.
    pub gap_seconds: f64,
    /// How many versions are held.
    pub versions: usize,
}

impl Bench {
    /// A bench for an observation. `writes` goes on from the one before.
    pub fn new(view: View, verdicts: Verdicts, writes: StatusWrites) -> Self {
        Self {
            view,
            verdicts,
            judged: None,
            page: None,
            writes,
            tokens: BTreeMap::new(),
        }
    }

    /// True if there is something to judge that the last judgement did not have.
    pub fn is_behind(&self) -> bool {
        self.judged.is_none() || self.view.is_behind()
    }

    /// Judges what there is at that time: everything, if that is due or `whole`. The window follows then.
    pub fn judge(&mut self, at: Timestamp, whole: bool) -> Told {
        let began = Instant::now();
        let whole = whole || self.verdicts.is_due(at);
        let news = self.view.refresh(whole);
        let evidence = self.view.evidence();
        let judgement = self.verdicts.judge(evidence, &news, at);
        let mut figures = Figures::of(evidence, &judgement);
        if news.whole {
            figures.add_tokens(evidence);
            self.tokens = std::mem::take(&mut figures.tokens);
        }
        figures.tokens.clone_from(&self.tokens);
        self.writes.count(evidence, news.whole);
        let number = self.judged.as_ref().map_or(0, |judged| judged.number + 1);
        self.judged = Some(Judged {
            judgement,
            at,
            number,
        });
        Told {
            figures,
            at,
            took: began.elapsed(),
            whole,
            writes: self.writes.by_owner.clone(),
            writes_dropped: self.writes.dropped,
        }
    }

    /// The last judgement.
    pub fn judgement(&self) -> Option<&Judgement> {
        self.judged.as_ref().map(|judged| &judged.judgement)
    }

    /// How well the hub is known now.
    pub fn measure(&mut self) -> Measured {
        Measured {
            health: self.view.health(),
            gap_seconds: self.view.gap_seconds(),
            versions: self.view.versions(),
        }
    }

    /// The page of the last judgement, if it need not be rendered anew.
    pub fn ready_page(&self) -> Option<Bytes> {
        let (page, judged) = (self.page.as_ref()?, self.judged.as_ref()?);
        let is_ready = page.number == judged.number || page.rendered.elapsed() < PAGE_AGE;
        is_ready.then(|| page.html.clone())
    }

    /// The page of the last judgement; none before the first one.
    pub fn page(&mut self) -> Option<Bytes> {
        if let Some(html) = self.ready_page() {
            return Some(html);
        }
        let judged = self.judged.as_ref()?;
        let mut judgement = judged.judgement.clone();
        advice::add_flags_to_verdicts(&mut judgement);
        let report = Report {
            evidence: self.view.evidence(),
            judgement: &judgement,
            selection: self.verdicts.selection(),
            judged_at: judged.at,
            file: None,
        };
        let mut html = Vec::new();
        html::write(&report, &mut html).ok()?;
        let page = self.page.insert(Page {
            number: judged.number,
            rendered: Instant::now(),
            html: html.into(),
        });
        Some(page.html.clone())
    }

    /// Ends the observation. Returns what the next one goes on from.
    pub fn take_parts(&mut self) -> (Verdicts, StatusWrites) {
        (self.verdicts.anew(), std::mem::take(&mut self.writes))
    }
}

/// The status writes that were seen since the process began.
#[derive(Clone, Debug, Default)]
pub struct StatusWrites {
    by_owner: BTreeMap<Owner, u64>,
    /// Those of owners that found no room.
    dropped: u64,
    /// Until when they are counted.
    until: Option<Timestamp>,
}

impl StatusWrites {
    /// Counts those that came since the last time. If the window has followed, owners are forgotten that have no profile
    /// in it, so that series do not become more and more.
    fn count(&mut self, evidence: &Evidence, whole: bool) {
        let mut labels = Labels::default();
        if whole && !self.by_owner.is_empty() {
            let histories = evidence.histories();
            let present: BTreeSet<Owner> = histories.map(|history| labels.owner_of(history.last())).collect();
            self.by_owner.retain(|owner, _| present.contains(owner));
        }
        let after = self.until;
        let is_new = |at: Timestamp| after.is_none_or(|after| at > after);
        for history in evidence.histories() {
            let versions = &history.versions;
            let first = versions.partition_point(|version| !is_new(version.at)).max(1);
            let pairs = versions.get(first - 1..).unwrap_or_default().windows(2);
            let writes = pairs
                .filter(|pair| status_differs(&pair[0].object, &pair[1].object))
                .count();
            if let (Some(last), 1..) = (versions.last(), writes) {
                let owner = labels.owner_of(&last.object);
                if !add(&mut self.by_owner, owner, |count| *count += writes as u64) {
                    self.dropped += writes as u64;
                }
            }
            self.until = self.until.max(versions.last().map(|version| version.at));
        }
    }
}

fn status_differs(one: &ClusterProfile, other: &ClusterProfile) -> bool {
    one.status != other.status
}

#[cfg(test)]
mod tests {
    use evidence::{History, Origin, Version};
    use serde_json::json;

    use super::*;

    /// Evidence of a profile of each manager, whose status was written once.
    fn written(managers: std::ops::Range<usize>) -> Evidence {
        let version = |number: usize, second: i64| {
            let profile = json!({
                "metadata": {"name": format!("p{number}"), "namespace": "fleet"},
                "spec": {"clusterManager": {"name": format!("m{number}")}},
                "status": {"version": {"kubernetes": format!("v1.{second}")}},
            });
            Version {
                at: Timestamp::from_second(second).expect("a time"),
                object: serde_json::from_value(profile).expect("a profile"),
            }
        };
        let first = managers.start as i64;
        let histories = managers.map(|number| History {
            origin: Origin::Created,
            versions: vec![version(number, first), version(number, first + 1)],
            deleted: None,
        });
        Evidence {
            profiles: histories.collect(),
            ..Evidence::default()
        }
    }

    #[test]
    fn owners_that_are_gone_leave_room_for_others() {
        let mut writes = StatusWrites::default();
        writes.count(&written(0..1005), true);
        assert_eq!((writes.by_owner.len(), writes.dropped), (1000, 5));
        // Until the window follows, all are known.
        writes.count(&written(2000..2010), false);
        assert_eq!((writes.by_owner.len(), writes.dropped), (1000, 15));
        writes.count(&written(3000..3010), true);
        assert_eq!((writes.by_owner.len(), writes.dropped), (10, 15));
    }
}
