//! Runs the testbed for a consumer while the run watches the profiles.

use evidence::{Gap, Kind};

use super::state::Run;
use crate::{
    testbed::{TestbedRecord, run_testbed},
    watch::timeline,
};

impl Run<'_> {
    /// Runs the testbed, if the plan has one.
    pub(super) async fn run_testbed(&self, record: &timeline::Shared) -> Option<TestbedRecord> {
        let plan = self.plan.testbed.as_ref()?;
        let client = self.client();
        let context = self.context(&client, record, &timeline::Shared::default());
        Some(Box::pin(run_testbed(context, plan, self.stop.clone())).await)
    }

    /// Adds what the testbed recorded to the evidence, with a gap for what is missing.
    pub(super) fn add_testbed(&mut self, recorded: Option<TestbedRecord>) {
        if self.plan.testbed.is_none() {
            return;
        }
        let Some(recorded) = recorded else {
            self.gap(
                Kind::Testbed,
                "the profiles could not be watched, so the run published nothing",
            );
            return;
        };
        if let Some(full) = recorded.full {
            let reason = format!("the consumer floods its members: calls after {full} are not recorded");
            for kind in [Kind::MemberCalls, Kind::PluginCalls] {
                let gap = Gap::of(kind, reason.clone());
                let gap = Gap {
                    from: Some(full),
                    ..gap
                };
                self.evidence.gaps.push(gap);
            }
        }
        if let Some(reason) = recorded.unread {
            self.gap(Kind::Outputs, reason);
        }
        if let Some(reason) = recorded.ended_early {
            self.gap(Kind::Testbed, reason);
        }
        let (mentions, missing) = recorded.mentions;
        if let Some(reason) = missing {
            self.gap(Kind::Mentions, reason);
        }
        self.evidence.mentions = Some(mentions);
        self.evidence.testbed = Some(recorded.testbed);
        self.evidence.member_calls = Some(recorded.member_calls);
        self.evidence.plugin_calls = Some(recorded.plugin_calls);
    }
}
