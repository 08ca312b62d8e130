//! The sections of an evidence file, by which a cut shows what is lost.

use crate::Kind;

/// The sections of the file in their order. A cut loses the evidence of all later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    #[default]
    Losses,
    Driver,
    Namespaces,
    Secrets,
    UnlabelledSecrets,
    Probes,
    Profiles,
    Slices,
    Later,
    Workloads,
    ConsumerAccess,
    Requests,
    SliceRequests,
    Members,
    Logins,
    MemberCalls,
    PluginCalls,
    Notices,
    End,
}

impl Section {
    /// The section that completes that kind of evidence.
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Namespaces => Section::Namespaces,
            Kind::Secrets => Section::Secrets,
            Kind::UnlabelledSecrets => Section::UnlabelledSecrets,
            Kind::Probe => Section::Probes,
            Kind::Inventory | Kind::Timeline | Kind::Writers => Section::Profiles,
            Kind::PlacementDecisions | Kind::PlacementTimeline => Section::Slices,
            Kind::Workloads => Section::Workloads,
            Kind::ConsumerAccess => Section::ConsumerAccess,
            // The same log tells of both kinds of objects.
            Kind::Requests => Section::SliceRequests,
            Kind::Members | Kind::Plugins => Section::Logins,
            Kind::Driver | Kind::Stage | Kind::Outputs => Section::Driver,
            Kind::MemberCalls => Section::MemberCalls,
            Kind::PluginCalls => Section::PluginCalls,
            Kind::Notices => Section::Notices,
        }
    }
}
