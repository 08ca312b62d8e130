//! The HTML report in a real browser: text from the hub does not run. Draws the README's picture.

mod chromium;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{ExitCode, Output},
    time::Duration,
};

use evidence::{Digester, Evidence, Implementation, read_input};
use judge::{Selection, judge};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use report::{
    Report, html,
    site::{self, BoardEntry, EditionResult},
    submitted::{Check, Document, Proof, Submission, Unreadable, compose},
};
use tempfile::TempDir;
use tokio::{process::Command, runtime::Builder, time::timeout};

/// What the picture shows: a run on the lab, recorded once.
const RECORDED: &str = "docs/pictures/report.evidence.jsonl.zst";
/// A run on a scheduler, recorded once.
const DECISIONS: &str = "reports/ocm-placement/v1.3.2-0.20260720191149-374cfa966338/evidence.jsonl.zst";
const PICTURE: &str = "docs/pictures/report.png";

/// A browser that takes longer hangs, and is killed.
const LONGEST: Duration = Duration::from_secs(120);

/// Says so if it runs, wherever it lands.
const PLANTED: &str = "\"'></title></script></style><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">";

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> ExitCode {
    let mut trials = vec![Trial::ignorable_test("draw_the_picture", draw_the_picture)];
    for (scheme, flag) in [("light", "1"), ("dark", "0")] {
        for profiles in [20, 10_000] {
            let trial =
                Trial::ignorable_test(format!("nothing_planted_runs::{scheme}::{profiles}"), move || {
                    match chromium::installed() {
                        Some(browser) => {
                            let mut evidence = recorded(RECORDED);
                            plant(&mut evidence, profiles);
                            nothing_planted_runs(&browser, flag, &evidence)
                        }
                        None => Ok(Completion::ignored_with("no chromium on PATH nor in CHROME")),
                    }
                });
            // A page of a large fleet takes minutes to write without optimization.
            trials.push(trial.with_ignored_flag(profiles > 20));
        }
        trials.push(Trial::ignorable_test(
            format!("nothing_planted_runs::{scheme}::decisions"),
            move || match chromium::installed() {
                Some(browser) => {
                    let mut evidence = recorded(DECISIONS);
                    plant_in_slices(&mut evidence);
                    nothing_planted_runs(&browser, flag, &evidence)
                }
                None => Ok(Completion::ignored_with("no chromium on PATH nor in CHROME")),
            },
        ));
    }
    trials.push(Trial::ignorable_test(
        "the_policy_stops_what_escaping_would_let_through",
        || match chromium::installed() {
            Some(browser) => the_policy_stops_what_escaping_would_let_through(&browser),
            None => Ok(Completion::ignored_with("no chromium on PATH nor in CHROME")),
        },
    ));
    trials.push(Trial::ignorable_test(
        "nothing_planted_runs_on_the_board",
        || match chromium::installed() {
            Some(browser) => nothing_planted_runs_on_the_board(&browser),
            None => Ok(Completion::ignored_with("no chromium on PATH nor in CHROME")),
        },
    ));
    trials.push(Trial::ignorable_test(
        "the_board_fits_a_phone",
        || match chromium::installed() {
            Some(browser) => the_board_fits_a_phone(&browser),
            None => Ok(Completion::ignored_with("no chromium on PATH nor in CHROME")),
        },
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn open(browser: &Path, page: &Path, flags: &[&str]) -> Result<Output, Failed> {
    let profile = TempDir::new()?;
    let mut command = Command::new(browser);
    command
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--timeout=60000",
        ])
        .args(["--virtual-time-budget=5000", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(flags)
        .arg(format!("file://{}", page.display()))
        .kill_on_drop(true);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let output = runtime
        .block_on(async { timeout(LONGEST, command.output()).await })
        .map_err(|_| format!("the browser hangs: killed after {} s", LONGEST.as_secs()))??;
    if output.status.success() {
        Ok(output)
    } else {
        Err(format!("the browser failed: {}", String::from_utf8_lossy(&output.stderr)).into())
    }
}

fn nothing_planted_runs(browser: &Path, scheme: &str, evidence: &Evidence) -> Result<Completion, Failed> {
    let folder = TempDir::new()?;
    let page = folder.path().join("report.html");
    let html = told(evidence);
    fs::write(&page, &html)?;
    let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
    let output = open(browser, &page, &["--dump-dom", &scheme])?;
    let (dom, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if log.contains("CONSOLE") {
        return Err(format!("the browser complains: {log}").into());
    }
    let (_, title) = html.split_once("<title>").ok_or("no title")?;
    let (title, _) = title.split_once("</title>").ok_or("a title without an end")?;
    if !title.ends_with(" conformance: not conformant") || !dom.contains(&format!("<title>{title}</title>")) {
        return Err(format!("another title, of {} bytes", dom.len()).into());
    }
    // Our own script has run: the tools are there, and say how many rules are shown.
    let rules = format!("{0} of {0} rules", html.matches("<li data-verdict=").count());
    if dom.contains(&rules) && dom.contains("document.title") {
        Ok(Completion::Completed)
    } else {
        Err("the script has not run, or nothing was planted".into())
    }
}

/// Markup is put into the page itself, as if it had not been escaped: with the page's policy nothing of it runs, and
/// without one it does, so that this can tell.
fn the_policy_stops_what_escaping_would_let_through(browser: &Path) -> Result<Completion, Failed> {
    let page = told(&recorded(RECORDED));
    let begins = page
        .find("<meta http-equiv=\"Content-Security-Policy\"")
        .ok_or("no policy")?;
    let ends = begins + page[begins..].find('>').ok_or("a policy without an end")? + 1;
    let without = format!("{}{}", &page[..begins], &page[ends..]);
    let folder = TempDir::new()?;
    for (page, runs) in [(page, false), (without, true)] {
        let path = folder.path().join("report.html");
        fs::write(&path, page.replace("<main>", &format!("<main>{PLANTED}")))?;
        let output = open(browser, &path, &["--dump-dom"])?;
        let dom = String::from_utf8_lossy(&output.stdout);
        if dom.contains("<title>ran</title>") != runs {
            return Err(format!("the planted script runs without a policy only: {runs} was expected").into());
        }
    }
    Ok(Completion::Completed)
}

/// The report to submit on that evidence.
fn submitted(evidence: &Evidence) -> Result<Document, Failed> {
    let selection = Selection::default();
    let report = Report {
        evidence,
        judgement: &judge(evidence, &selection),
        selection: &selection,
        judged_at: evidence.header.window.ok_or("it was watched")?.until,
        file: None,
        advice: report::no_advice,
    };
    Ok(compose(&report, None))
}

/// The board of reports of that document, without evidence.
fn board(document: &Document, folders: &[&str], unreadable: &[Unreadable]) -> Result<String, Failed> {
    let entry = |folder: &&str| BoardEntry {
        editions: vec![EditionResult::claimed(document.clone())],
        submission: Submission {
            folder: (*folder).to_owned(),
            check: Check::of(document, Proof::Missing),
            document: document.clone(),
        },
    };
    let entries: Vec<BoardEntry> = folders.iter().map(entry).collect();
    let mut page = Vec::new();
    site::write(&entries, unreadable, &mut page)?;
    Ok(String::from_utf8(page)?)
}

fn nothing_planted_runs_on_the_board(browser: &Path) -> Result<Completion, Failed> {
    let mut evidence = recorded(RECORDED);
    evidence.header.claim.about.implementation = Some(Implementation {
        organization: PLANTED.to_owned(),
        project: PLANTED.to_owned(),
        url: "javascript:document.title='ran'".to_owned(),
        version: PLANTED.to_owned(),
        contact: vec![PLANTED.to_owned()],
    });
    let unreadable = Unreadable {
        folder: PLANTED.to_owned(),
        reason: PLANTED.to_owned(),
    };
    let folder = TempDir::new()?;
    let page = folder.path().join("board.html");
    fs::write(&page, board(&submitted(&evidence)?, &[PLANTED], &[unreadable])?)?;
    let output = open(browser, &page, &["--dump-dom"])?;
    let (dom, log) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if log.contains("CONSOLE") || !dom.contains("<title>ClusterProfile conformance") {
        return Err(format!("the planted script runs: {log}").into());
    }
    Ok(Completion::Completed)
}

/// Sends the width of the page, the number of verdicts that are visible in tables, and of all of them.
const MEASURED: &str = "<script>
var cells = Array.from(document.querySelectorAll('.board .verdict')).filter(function (one) { return !one.closest('details'); });
var visible = cells.filter(function (one) {
  var box = one.getBoundingClientRect();
  return box.width > 0 && box.left >= 0 && box.right <= 390;
});
parent.postMessage(document.documentElement.scrollWidth + ' ' + visible.length + ' of ' + cells.length, '*');
</script>";

/// Shows the board as wide as a phone; a window of the browser cannot be that narrow. The title is what the board sends.
const PHONE: &str =
    "<title></title><script>onmessage = function (event) { document.title = event.data; };</script>
<iframe src='board.html' width='390' height='844' style='border: 0'></iframe>";

fn the_board_fits_a_phone(browser: &Path) -> Result<Completion, Failed> {
    let document = submitted(&recorded(RECORDED))?;
    for folders in [
        &["fleet/v1"][..],
        &["a/v1", "b/v1", "c/v1", "d/v1", "e/v1", "f/v1", "g/v1", "h/v1"],
    ] {
        // The policy of the page would block the script that measures.
        let page = board(&document, folders, &[])?
            .replace("http-equiv=\"Content-Security-Policy\"", "name=\"none\"");
        let folder = TempDir::new()?;
        let path = folder.path().join("phone.html");
        fs::write(&path, PHONE)?;
        let page = page.replace("</body>", &format!("{MEASURED}</body>"));
        fs::write(folder.path().join("board.html"), page)?;
        let output = open(browser, &path, &["--dump-dom"])?;
        let dom = String::from_utf8_lossy(&output.stdout);
        let (_, title) = dom.split_once("<title>").ok_or("no title")?;
        let (title, _) = title.split_once("</title>").ok_or("no end of the title")?;
        let words: Vec<&str> = title.split(' ').collect();
        let ["390", visible, "of", all] = words[..] else {
            return Err(format!("{} reports: {title}", folders.len()).into());
        };
        if visible != all || all == "0" {
            return Err(format!("{} reports: {title}", folders.len()).into());
        }
    }
    Ok(Completion::Completed)
}

/// Puts markup wherever the hub has a say, and makes the fleet so large.
fn plant(evidence: &mut Evidence, profiles: usize) {
    evidence.header.hub.source = PLANTED.to_owned();
    let models = evidence.profiles.clone();
    for number in models.len()..profiles {
        let mut history = models[number % models.len()].clone();
        for version in &mut history.versions {
            version.object.metadata.name = format!("cluster-{number}").into();
            version.object.metadata.uid = format!("uid-{number}").into();
        }
        evidence.profiles.push(history);
    }
    for version in evidence
        .profiles
        .iter_mut()
        .flat_map(|history| &mut history.versions)
    {
        let profile = &mut version.object;
        profile.metadata.name = format!("{}{PLANTED}", profile.metadata.name).into();
        let mut conditions = profile.status.conditions.to_vec();
        for condition in &mut conditions {
            condition.reason = PLANTED.into();
        }
        profile.status.conditions = conditions.into();
    }
}

/// The same in slices.
fn plant_in_slices(evidence: &mut Evidence) {
    evidence.header.hub.source = PLANTED.to_owned();
    for version in evidence
        .slices
        .iter_mut()
        .flat_map(|history| &mut history.versions)
    {
        let slice = &mut version.object;
        let name = &mut slice.metadata.common.name;
        *name = format!("{name}{PLANTED}").into();
        slice.scheduler_name = Some(PLANTED.into());
        let mut clusters = slice.clusters().to_vec();
        for cluster in &mut clusters {
            cluster.reason = Some(PLANTED.into());
            if let Some(reference) = &mut cluster.cluster_profile_ref {
                reference.name = format!("{}{PLANTED}", reference.name).into();
            }
        }
        slice.decisions = Some(clusters.into());
    }
}

fn recorded(path: &str) -> Evidence {
    let path = root().join(path);
    read_input(&path, &Digester::new([7; 32]))
        .expect("the recorded evidence")
        .evidence
}

fn told(evidence: &Evidence) -> String {
    let selection = Selection::default();
    let report = Report {
        evidence,
        judgement: &judge(evidence, &selection),
        selection: &selection,
        judged_at: evidence.header.window.expect("it was watched").until,
        file: None,
        advice: report::no_advice,
    };
    let mut html = Vec::new();
    html::write(&report, &mut html).expect("a vector takes all");
    String::from_utf8(html).expect("UTF-8")
}

/// Draws the picture of the README, where `UPDATE` is set.
fn draw_the_picture() -> Result<Completion, Failed> {
    if env::var_os("UPDATE").is_none() {
        return Ok(Completion::ignored_with("UPDATE is not set"));
    }
    let browser = chromium::installed().ok_or("no chromium on PATH nor in CHROME")?;
    let folder = TempDir::new()?;
    let page = folder.path().join("report.html");
    fs::write(&page, told(&recorded(RECORDED)))?;
    let picture = format!("--screenshot={}", root().join(PICTURE).display());
    open(
        &browser,
        &page,
        &[
            &picture,
            "--window-size=1280,900",
            "--blink-settings=preferredColorScheme=1",
        ],
    )?;
    Ok(Completion::Completed)
}
