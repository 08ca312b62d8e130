//! The testbed for a consumer, which is played while the profiles are watched.

use evidence::Kind;

use super::state::Run;
use crate::{
    testbed::{Played, play},
    watch::timeline,
};

impl Run<'_> {
    /// Plays the testbed, if the plan has one.
    pub(super) async fn play(&self, record: &timeline::Shared) -> Option<Played> {
        let plan = self.plan.testbed.as_ref()?;
        let client = self.client();
        let context = self.context(&client, record, &timeline::Shared::default());
        Some(Box::pin(play(context, plan, self.stop.clone())).await)
    }

    /// Puts what was played into the evidence, with what is missing.
    pub(super) fn staged(&mut self, played: Option<Played>) {
        if self.plan.testbed.is_none() {
            return;
        }
        let Some(played) = played else {
            self.gap(
                Kind::Testbed,
                "the profiles could not be watched, so that nothing was staged",
            );
            return;
        };
        if let Some(full) = played.full {
            let reason =
                format!("the consumer made more calls than are kept: those after {full} are missing");
            self.gap(Kind::MemberCalls, reason.clone());
            self.gap(Kind::PluginCalls, reason);
        }
        if let Some(why) = played.unread {
            self.gap(Kind::Outputs, why);
        }
        if !played.whole {
            self.gap(Kind::Testbed, "the run ended before everything was staged");
        }
        let (mentions, missing) = played.mentions;
        if let Some(reason) = missing {
            self.gap(Kind::Mentions, reason);
        }
        self.evidence.mentions = Some(mentions);
        self.evidence.testbed = Some(played.testbed);
        self.evidence.member_calls = Some(played.member_calls);
        self.evidence.plugin_calls = Some(played.plugin_calls);
    }
}
