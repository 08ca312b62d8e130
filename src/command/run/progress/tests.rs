//! What a run on the lab shows while it goes on.

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use collect::{Plan, Progress, clock::Clock, collect};
use evidence::{
    Evidence,
    api::{Edition, names},
};
use indicatif::ProgressBar;
use judge::{Selection, Verdict, Waivers, judge};
use lab::{
    hub::Hub,
    manager::{Fault, Manager, hub_definitions},
    scheduler::{self, Scheduler},
};
use tokio_util::sync::CancellationToken;

use super::{SoFar, line::Line, log::Log};

const FAULTS: [&str; 2] = ["identity/manager-label-matches", "access/server-is-url"];

/// Collects from the reference manager with these faults on the lab for that many seconds, or until it is stopped.
async fn collected(
    seconds: u64,
    faults: &[&str],
    progress: &dyn Progress,
    stop: CancellationToken,
) -> Evidence {
    let clock = Clock::system();
    let faults: Vec<Fault> = faults
        .iter()
        .map(|fault| Fault::parse(fault).expect("a fault"))
        .collect();
    let hub = Hub::lab_with(clock, &hub_definitions(&faults))
        .await
        .expect("a hub");
    let client = hub.client_as(Manager::NAME, Manager::NAME).expect("a client");
    let mut manager = Manager::new(faults, clock);
    manager.set_up(&client).await.expect("it starts");
    let plan = Plan::watching(Duration::from_secs(seconds));
    tokio::select! {
        seen = collect(&hub.connection, &plan, clock, progress, stop) => seen.expect("evidence"),
        end = manager.run(client) => panic!("{end:?}"),
    }
}

/// The same of the reference scheduler with one fault.
async fn collected_of_scheduler(seconds: u64, fault: &str, progress: &dyn Progress) -> Evidence {
    let clock = Clock::system();
    let faults = [scheduler::Fault::parse(fault).expect("a fault")];
    let hub = Hub::lab_with(clock, &scheduler::hub_definitions(&faults))
        .await
        .expect("a hub");
    let client = hub.client_as(Scheduler::NAME, Scheduler::NAME).expect("a client");
    let mut scheduler = Scheduler::new(faults.to_vec(), clock);
    scheduler.set_up(&client).await.expect("it starts");
    let mut plan = Plan::watching(Duration::from_secs(seconds));
    plan.claim.edition = Edition::Placement2025M09;
    // As the hub stores the objects.
    plan.api_version = Some(names::VERSIONS[1].to_owned());
    let stop = CancellationToken::new();
    tokio::select! {
        seen = collect(&hub.connection, &plan, clock, progress, stop) => seen.expect("evidence"),
        end = scheduler.run(client) => panic!("{end:?}"),
    }
}

fn of(filters: &[&str]) -> Selection {
    Selection {
        filters: filters.iter().map(|&filter| filter.to_owned()).collect(),
        ..Selection::default()
    }
}

/// The line of a run, and those below it, when its window is over.
async fn lines_of(faults: &[&str], filters: &[&str]) -> (String, Vec<String>) {
    let line = Line::on(ProgressBar::hidden(), SoFar::new(&of(filters), None, None), true);
    // Before the window ends: then the line tells of something else.
    tokio::select! {
        _ = collected(300, faults, &line, CancellationToken::new()) => panic!("it is over"),
        () = tokio::time::sleep(Duration::from_secs(200)) => {}
    }
    let below = line.bar.prefix();
    (
        line.bar.message(),
        below.lines().map(|line| line.trim_start().to_owned()).collect(),
    )
}

#[tokio::test(start_paused = true)]
async fn a_terminal_shows_what_is_broken_already() {
    let (line, below) = lines_of(&FAULTS, &[]).await;
    assert!(line.ends_with(", 2 MUST rules broken so far"), "{line}");
    let starts = [
        format!("[MUST explicit] {}: ClusterProfile ", FAULTS[0]),
        format!("[MUST derived] {}: ClusterProfile ", FAULTS[1]),
    ];
    assert_eq!(below.len(), 2, "{below:?}");
    for (line, start) in below.iter().zip(starts) {
        assert!(line.starts_with(&start), "{below:?}");
    }
    // Only the rules that the user has picked count. A fault counts once the run has seen it for 2 min and the lateness of a watch.
    let (line, below) = lines_of(&FAULTS, &["access/"]).await;
    assert!(line.ends_with(", 1 MUST rule broken so far"), "{line}");
    assert_eq!(below.len(), 1, "{below:?}");
    let (line, below) = lines_of(&FAULTS, &["properties/", "updates/"]).await;
    assert!(!line.contains("broken"), "{line}");
    assert_eq!(below, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_log_says_once_what_is_pending_and_what_is_broken() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let saying = Arc::clone(&said);
    let log = Log::new(
        SoFar::new(&of(&["access/", "identity/"]), None, None),
        true,
        move |line: &str| {
            saying.lock().expect("a lock").push(line.to_owned());
        },
    );
    collected(200, &FAULTS, &log, CancellationToken::new()).await;
    let said = said.lock().expect("a lock");
    let place = |start: &str| {
        let mut found = said
            .iter()
            .enumerate()
            .filter(|(_, line)| line.starts_with(start));
        let (place, _) = found
            .next()
            .unwrap_or_else(|| panic!("no {start:?} in {said:#?}"));
        assert!(found.next().is_none(), "{said:#?}");
        place
    };
    let pending = place("pending: a fault of ");
    for (rule, basis) in FAULTS.into_iter().zip(["explicit", "derived"]) {
        assert!(said[pending].contains(rule), "{said:#?}");
        assert!(place(&format!("broken: [MUST {basis}] {rule}: ClusterProfile ")) > pending);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_broken_already_is_broken_in_the_end() {
    let faults = [
        "properties/location-immutable",
        "updates/status-writes-within-budget",
    ];
    let selection = Selection::default();
    for fault in faults {
        let so_far = SoFar::new(&selection, None, None);
        let log = Log::new(so_far.clone(), true, |_: &str| {});
        let evidence = collected(400, &[fault], &log, CancellationToken::new()).await;
        let whole = judge(&evidence, &selection);
        let failed = whole
            .verdicts
            .iter()
            .filter(|verdict| verdict.verdict == Verdict::Fail);
        let failed: Vec<&str> = failed.map(|verdict| verdict.rule.id).collect();
        let early = so_far.broken_rules();
        assert!(early.contains(&fault), "{fault} is not among {early:?}");
        assert!(
            early.iter().all(|rule| failed.contains(rule)),
            "{early:?} {failed:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn decisions_are_judged_on_the_way_too() {
    let fault = "placement-references/name-valid";
    let so_far = SoFar::new(&Selection::default(), None, None);
    let log = Log::new(so_far.clone(), true, |_: &str| {});
    collected_of_scheduler(600, fault, &log).await;
    assert_eq!(so_far.broken_rules(), [fault]);
}

/// Runs for 200 s, and ends on the first violation. Returns the rule that ended it, and the seconds watched.
async fn ended_on(faults: &[&str], waivers: Option<&str>) -> (Option<&'static str>, i64) {
    let lines = Mutex::new(Vec::new());
    let waivers = waivers.map(|text| Waivers::parse(text).expect("waivers"));
    let ended = Arc::new(OnceLock::new());
    let stop = CancellationToken::new();
    let end = {
        let (ended, stop) = (Arc::clone(&ended), stop.clone());
        Box::new(move |rule| {
            let _ = ended.set(rule);
            stop.cancel();
        })
    };
    let so_far = SoFar::new(&Selection::default(), waivers.as_ref(), Some(end));
    // The lab's time is simulated.
    let log = Log::new(so_far, false, |line: &str| {
        lines.lock().expect("a lock").push(line.to_owned())
    });
    let evidence = collected(200, faults, &log, stop).await;
    drop(log);
    let ended = ended.get().copied();
    let told = lines.into_inner().expect("a lock");
    match ended {
        Some(rule) => assert!(
            matches!(&told[..], [line] if line.starts_with("broken: ") && line.contains(rule)),
            "{told:?}"
        ),
        None => assert!(told.is_empty(), "{told:?}"),
    }
    let window = evidence.header.window.expect("a window");
    (ended, window.seconds())
}

#[tokio::test(start_paused = true)]
async fn a_run_may_end_on_the_first_violation() {
    let (rule, seconds) = ended_on(&FAULTS[..1], None).await;
    assert_eq!(rule, Some(FAULTS[0]));
    assert!((130..190).contains(&seconds), "{seconds}");
    assert_eq!(ended_on(&[], None).await, (None, 200));
    let waived = "waivers: [{rule: identity/manager-label-matches, reason: known, link: https://issues.example/1, expires: 2099-01-01}]";
    assert_eq!(ended_on(&FAULTS[..1], Some(waived)).await, (None, 200));
}

#[test]
fn a_line_tells_what_the_driver_does() {
    let line = Line::on(
        ProgressBar::hidden(),
        SoFar::new(&Selection::default(), None, None),
        true,
    );
    line.step("outage: break of \u{1b}[2Jx");
    line.tick(Duration::from_secs(400), Duration::from_secs(300), 1, 2);
    assert_eq!(
        line.bar.message(),
        r"6m 40s watched, 1 profile, 2 writes; outage: break of \u{1b}[2Jx"
    );
}
