//! Whatever the hub does on a bad day, the manager is not blamed for it.

use apiserver::Affected;
use jiff::SignedDuration;
use judge::{Selection, Verdict, judge};
use lab::manager::{Manager, hub_definitions};

use super::*;

/// The verdicts over ten minutes of the reference manager on a hub that misbehaves so.
async fn verdicts(misbehaviours: &[Misbehaviour]) -> Vec<(&'static str, Verdict)> {
    let clock = Clock::starting_at(START.parse().expect("a time"));
    let hub = Hub::lab_with(clock, &hub_definitions(&[])).await.expect("a hub");
    let server = hub.as_lab().expect("the lab").clone();
    let client = server.client(Manager::NAME);
    let mut manager = Manager::new(Default::default(), clock);
    manager.set_up(&client).await.expect("a manager");
    let plan = plan(600);
    // Not before the first look: a hub that never lets one finish cannot be observed, and that is told at once.
    let spoiling = async {
        after(30).await;
        if !misbehaviours.is_empty() {
            server.misbehave(Misbehaviour::DropWatches);
        }
        for misbehaviour in misbehaviours {
            server.misbehave(misbehaviour.clone());
        }
    };
    let observing = async {
        let collecting = collect(&hub.connection, &plan, clock, &Quiet, CancellationToken::new());
        futures::join!(collecting, spoiling).0
    };
    let evidence = tokio::select! {
        evidence = observing => evidence.expect("evidence"),
        ended = manager.run(client) => panic!("the manager ended: {ended:?}"),
    };
    let judgement = judge(&evidence, &Selection::default());
    let verdicts = judgement.verdicts.iter();
    verdicts.map(|each| (each.rule.id, each.verdict)).collect()
}

/// Longer than any window.
const FOREVER: Duration = Duration::from_secs(1_000_000);

/// What of the suite's own requests is hit.
fn looks(verb: &str) -> Affected {
    Affected::verb_on(verb, "clusterprofiles")
}

/// Nothing is lost to those who ask again: the verdicts are the same.
#[tokio::test(start_paused = true)]
async fn what_is_made_up_for_changes_no_verdict() {
    let calm = verdicts(&[]).await;
    assert!(
        calm.iter()
            .filter(|(_, verdict)| *verdict == Verdict::Pass)
            .count()
            > 20,
        "{calm:?}"
    );
    let fail_every = |verb, code, every| Misbehaviour::Fail {
        affected: looks(verb),
        code,
        retry_after: Some(1),
        every,
        times: usize::MAX,
    };
    for misbehaviours in [
        vec![fail_every("watch", 429, 2), Misbehaviour::DropWatchesAfter(3)],
        vec![fail_every("list", 503, 2)],
        vec![Misbehaviour::DropWatchesAfter(1)],
        vec![Misbehaviour::WithholdBookmarks],
        vec![Misbehaviour::HoldEvents(Duration::from_secs(2))],
    ] {
        assert_eq!(verdicts(&misbehaviours).await, calm, "{misbehaviours:?}");
    }
}

/// Where something may be lost, or the hub's clock is wrong, the suite is in doubt rather than wrong.
#[tokio::test(start_paused = true)]
async fn what_is_lost_is_no_blame() {
    for misbehaviours in [
        vec![
            Misbehaviour::DropWatchesAfter(2),
            Misbehaviour::CompactBefore(looks("watch")),
        ],
        vec![Misbehaviour::DropWatchesAfter(2), Misbehaviour::Remember(1)],
        vec![Misbehaviour::HoldEvents(Duration::from_secs(90))],
        vec![Misbehaviour::HoldEvents(FOREVER)],
        vec![Misbehaviour::Delay {
            affected: looks("watch"),
            by: Duration::from_secs(3),
        }],
        vec![Misbehaviour::SkewClock(SignedDuration::from_mins(20))],
        vec![Misbehaviour::SkewClock(SignedDuration::from_mins(-20))],
    ] {
        let blamed: Vec<_> = verdicts(&misbehaviours).await;
        let blamed: Vec<_> = blamed
            .iter()
            .filter(|(_, verdict)| matches!(verdict, Verdict::Fail | Verdict::Warn))
            .collect();
        assert!(blamed.is_empty(), "{misbehaviours:?}: {blamed:?}");
    }
}

/// A watch that tells nothing shows no quiet manager.
#[tokio::test(start_paused = true)]
async fn what_was_not_told_is_not_passed() {
    let verdicts = verdicts(&[Misbehaviour::HoldEvents(FOREVER)]).await;
    let found = verdicts
        .iter()
        .find(|(rule, _)| *rule == "updates/status-writes-within-budget");
    assert_eq!(found.map(|(_, verdict)| *verdict), Some(Verdict::Inconclusive));
    for (rule, verdict) in verdicts {
        match rule {
            "conditions/transition-time-kept" => {
                assert_eq!(verdict, Verdict::Inconclusive, "{rule}");
            }
            "identity/manager-label-from-creation" => {
                assert_ne!(verdict, Verdict::Pass, "{rule}");
            }
            _ => {}
        }
    }
}
