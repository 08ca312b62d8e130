//! What one observation shows, judged: verdicts, figures and a page.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use collect::ongoing::{Health, View};
use jiff::Timestamp;
use judge::Judgement;
use report::{Report, html};
use tokio::time::Instant;

use super::{
    figures::{Figures, Owner},
    status_writes::StatusWrites,
    verdicts::Verdicts,
};
use crate::command::terminal::advice;

/// How long a page is shown while newer judgements come.
const PAGE_AGE: Duration = Duration::from_secs(10);

/// What one observation shows, and the judgement of it.
pub struct Observation {
    view: View,
    verdicts: Verdicts,
    judged: Option<LastJudgement>,
    page: Option<Page>,
    writes: StatusWrites,
    /// The emptiest buckets, as of the last whole judgement.
    tokens: BTreeMap<Owner, f64>,
}

struct LastJudgement {
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

/// One pass of the loop, for the metrics.
pub struct Pass {
    /// Its figures.
    pub figures: Figures,
    /// When it was judged.
    pub at: Timestamp,
    /// How long that took.
    pub took: Duration,
    /// True if the window followed.
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

impl Observation {
    /// An observation of which nothing is judged yet. `writes` goes on from the one before.
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

    /// Judges what there is at that time. If it is `whole`, the window follows.
    pub fn judge(&mut self, at: Timestamp, whole: bool) -> Pass {
        let began = Instant::now();
        let is_copied_anew = self.view.refresh(whole);
        let evidence = self.view.evidence();
        let judgement = self.verdicts.judge(evidence, at);
        let mut figures = Figures::of(evidence, &judgement);
        if is_copied_anew {
            figures.add_tokens(evidence);
            self.tokens = std::mem::take(&mut figures.tokens);
        }
        figures.tokens.clone_from(&self.tokens);
        self.writes.count(evidence, is_copied_anew);
        let number = self.judged.as_ref().map_or(0, |judged| judged.number + 1);
        self.judged = Some(LastJudgement {
            judgement,
            at,
            number,
        });
        Pass {
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

    /// The page of the last judgement, unless it must be rendered again.
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
        let report = Report {
            evidence: self.view.evidence(),
            judgement: &judged.judgement,
            selection: self.verdicts.selection(),
            judged_at: judged.at,
            file: None,
            place: None,
            advice: advice::flag,
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
        (self.verdicts.clone(), std::mem::take(&mut self.writes))
    }
}
