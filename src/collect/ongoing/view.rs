//! What an observation shows: evidence as of now, and how well it knows it.

use std::time::Duration;

use evidence::{
    Asked, Evidence, Gap, Kind, Traffic, Window,
    api::{ClusterProfile, PlacementDecision},
    runs::of_other_runs,
};
use jiff::{SignedDuration, Timestamp};

use super::{mirror::Mirror, namespaces};
use crate::{
    clock::Clock,
    connect::request_cost::Meter,
    hub::{
        missing::{NO_NAMESPACES, NOT_BY_A_WATCH},
        wanted::Wish,
    },
    run::state::Run,
    watch::{seen::asked_for_writers, timeline},
};

/// What an observation shows.
pub struct View {
    clock: Clock,
    window: SignedDuration,
    began: Timestamp,
    meter: Meter,
    /// What the connection had cost the hub before.
    before: Traffic,
    profiles: Mirror<ClusterProfile>,
    slices: Option<Mirror<PlacementDecision>>,
    namespaces: Option<namespaces::Shared>,
    evidence: Evidence,
    gap_seconds: f64,
}

/// How well an observation knows its hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Until when every change is known.
    pub heard: Timestamp,
    /// Why a watch is interrupted now, if one is.
    pub lost: Option<String>,
    /// True if a new connection may mend that: the hub does not accept the credentials, or no longer serves the version
    /// that is read.
    pub reconnects: bool,
    /// True if the hub has sent more than there is room for. Only a new observation can make up for that.
    pub overfull: bool,
}

impl View {
    pub(super) fn new(
        run: Run<'_>,
        seen: (
            timeline::Shared,
            Option<timeline::Shared<PlacementDecision>>,
            Option<namespaces::Shared>,
        ),
        began: Timestamp,
        before: Traffic,
        window: Duration,
    ) -> Self {
        let (profiles, slices, namespaces) = seen;
        let mut evidence = run.evidence;
        evidence.header.permissions = run.permissions.into_inner();
        let asked = |wish: &Wish| match wish {
            Wish::No(reason) => Asked::No(reason.clone()),
            Wish::Asked | Wish::IfAllowed => Asked::No(NOT_BY_A_WATCH),
        };
        let of_namespaces = match namespaces {
            Some(_) => Asked::Yes,
            None => Asked::No(NO_NAMESPACES),
        };
        evidence.header.asked.extend([
            (Kind::Secrets, asked(&run.plan.secrets)),
            (Kind::UnlabelledSecrets, asked(&run.plan.secrets)),
            (Kind::Probe, asked(&run.plan.probe)),
            (Kind::Namespaces, of_namespaces),
        ]);
        for kind in [Kind::ConsumerAccess, Kind::Workloads] {
            if let Some(asked) = evidence.header.asked.get_mut(&kind) {
                *asked = Asked::No(NOT_BY_A_WATCH);
            }
        }
        Self {
            clock: run.clock,
            window: SignedDuration::try_from(window).unwrap_or(SignedDuration::MAX),
            began,
            meter: run.hub.meter(),
            before,
            profiles: Mirror::new(profiles),
            slices: slices.map(Mirror::new),
            namespaces,
            evidence,
            gap_seconds: 0.0,
        }
    }

    /// True if a refresh would bring news, beside the passing of time.
    pub fn is_behind(&self) -> bool {
        self.profiles.is_behind()
            || self.slices.as_ref().is_some_and(Mirror::is_behind)
            || self
                .namespaces
                .as_ref()
                .is_some_and(|seen| seen.lock().has_changed())
    }

    /// Brings the evidence up to date. If it is to be `whole`, the window follows: what lies before is forgotten. Returns
    /// whether all profiles were copied anew.
    pub fn refresh(&mut self, whole: bool) -> bool {
        let from = self
            .clock
            .now()
            .saturating_sub(self.window)
            .unwrap_or(self.began)
            .max(self.began);
        let forget = whole.then_some(from);
        let is_copied_anew = self.profiles.refresh(&mut self.evidence.profiles, forget);
        if let Some(slices) = &mut self.slices {
            slices.refresh(&mut self.evidence.slices, forget);
        }
        // Not before: copying a large record takes a while, and what comes meanwhile is in the copy.
        let now = self.clock.now();
        let mut beside = self.profiles.beside(now);
        if let Some(slices) = &self.slices {
            let of_slices = slices.beside(now);
            beside.gaps.extend(of_slices.gaps);
            beside.unreadable.extend(of_slices.unreadable);
        }
        if let Some(seen) = &self.namespaces {
            let mut seen = seen.lock();
            if seen.take_changed() || is_copied_anew {
                self.evidence.namespaces = seen.namespaces();
            }
            beside.unreadable.extend(seen.unreadable().cloned());
            beside.gaps.extend(
                seen.outage
                    .as_ref()
                    .map(|why| Gap::of(Kind::Namespaces, why.clone())),
            );
        }
        self.evidence.gaps = beside.gaps.into();
        self.evidence.unreadable = beside.unreadable;
        let header = &mut self.evidence.header;
        let earlier = header.window.map(|window| window.from);
        header.window = Some(Window {
            // What lies before is forgotten only then.
            from: earlier.filter(|_| !whole).unwrap_or(from),
            until: now,
        });
        if whole {
            // Either clock may be set while a monitor lives, and a machine that sleeps loses time.
            header.clock_skew_ms = self.profiles.record().lock().skew.millis();
        }
        if is_copied_anew {
            header.other_runs = of_other_runs(&self.evidence.profiles, None);
            let writers = asked_for_writers(&self.evidence.profiles);
            header.asked.insert(Kind::Writers, writers);
        }
        header.traffic = Some(self.meter.traffic().since(self.before));
        is_copied_anew
    }

    /// The evidence as of the last refresh.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// How well the hub is known now.
    pub fn health(&self) -> Health {
        let mut health = Health {
            heard: self.clock.now(),
            lost: None,
            reconnects: false,
            overfull: false,
        };
        health.add(&self.profiles);
        if let Some(slices) = &self.slices {
            health.add(slices);
        }
        health
    }

    /// For how many seconds the watch of profiles was interrupted in all. It never shrinks.
    pub fn gap_seconds(&mut self) -> f64 {
        let now = self.profiles.gap_seconds(self.clock.now());
        self.gap_seconds = self.gap_seconds.max(now);
        self.gap_seconds
    }

    /// How many versions of profiles and slices are held.
    pub fn versions(&self) -> usize {
        let slices = self.slices.as_ref();
        let slices = slices.map_or(0, |slices| slices.record().lock().versions());
        self.profiles.record().lock().versions() + slices
    }
}

impl Health {
    fn add<T: evidence::Tracked>(&mut self, mirror: &Mirror<T>) {
        let record = mirror.record().lock();
        self.overfull |= record.memory.was_full();
        for watch in record.watches() {
            self.heard = self.heard.min(watch.heard);
            if let Some(lost) = watch.lost {
                self.reconnects |= lost.reconnects;
                self.lost.get_or_insert_with(|| lost.why.clone());
            }
        }
    }
}
