//! The sections of an evidence file, by which a cut shows what is lost.

use super::record::Record;
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
    AfterWindow,
    Requests,
    SliceRequests,
    Members,
    Logins,
    MemberCalls,
    PluginCalls,
    Mentions,
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
            // One log has the requests on both kinds of objects.
            Kind::Requests => Section::SliceRequests,
            Kind::Members | Kind::Plugins => Section::Logins,
            Kind::Driver | Kind::Testbed | Kind::Outputs => Section::Driver,
            Kind::MemberCalls => Section::MemberCalls,
            Kind::PluginCalls => Section::PluginCalls,
            Kind::Mentions => Section::Mentions,
        }
    }

    /// The section of a record. A patch or a deletion belongs to the object above it.
    pub(super) fn of_record(record: &Record, is_of_profile: bool) -> Self {
        match record {
            Record::Header(_) | Record::Gap(_) | Record::Unreadable(_) | Record::Missing(_) => {
                Section::Losses
            }
            Record::Driver(_) | Record::Testbed(_) => Section::Driver,
            Record::Namespace(_) => Section::Namespaces,
            Record::Secret(_) => Section::Secrets,
            Record::UnlabelledSecret(_) => Section::UnlabelledSecrets,
            Record::Probe(_) => Section::Probes,
            Record::Profile(_) => Section::Profiles,
            Record::Patch(_) | Record::Deleted(_) if is_of_profile => Section::Profiles,
            Record::PlacementDecision(_) | Record::Patch(_) | Record::Deleted(_) => Section::Slices,
            Record::AfterWindow(_) => Section::AfterWindow,
            Record::Requests(_) | Record::Request(_) => Section::Requests,
            Record::PlacementDecisionRequests(_) | Record::PlacementDecisionRequest(_) => {
                Section::SliceRequests
            }
            Record::Member(_) | Record::MemberSample(_) | Record::EndpointCall(_) => Section::Members,
            Record::Login(_) => Section::Logins,
            Record::MemberCalls(_) | Record::MemberCall(_) => Section::MemberCalls,
            Record::PluginCalls(_) | Record::PluginCall(_) => Section::PluginCalls,
            Record::Mentions(_) => Section::Mentions,
            Record::End {} => Section::End,
        }
    }
}
