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
    site::{Board, Signature, Submission, Unreadable},
    submitted::{Check, Document, Proof, compose},
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
            trials.push(Trial::ignorable_test(
                format!("nothing_planted_runs::{scheme}::{profiles}"),
                move || match chromium::installed() {
                    Some(browser) => {
                        let mut evidence = recorded(RECORDED);
                        plant(&mut evidence, profiles);
                        nothing_planted_runs(&browser, flag, &evidence)
                    }
                    None => Ok(Completion::ignored_with("no chromium on PATH nor in CHROME")),
                },
            ));
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
        "a_phone_shows_levels_and_titles_and_fingers_hit_cells",
        || match chromium::installed() {
            Some(browser) => a_phone_shows_levels_and_titles_and_fingers_hit_cells(&browser),
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

/// The report that is submitted on that evidence.
fn submitted(evidence: &Evidence) -> Result<Document, Failed> {
    let selection = Selection::default();
    let report = Report {
        evidence,
        judgement: &judge(evidence, &selection),
        selection: &selection,
        judged_at: evidence.header.window.ok_or("it was watched")?.until,
        file: None,
        place: None,
        advice: report::no_advice,
    };
    Ok(compose(&report, None))
}

/// The same on the board, whose text is that of whoever submits a report.
fn nothing_planted_runs_on_the_board(browser: &Path) -> Result<Completion, Failed> {
    let mut evidence = recorded(RECORDED);
    evidence.header.claim.about.implementation = Some(Implementation {
        organization: PLANTED.to_owned(),
        project: PLANTED.to_owned(),
        url: "javascript:document.title='ran'".to_owned(),
        version: PLANTED.to_owned(),
        contact: vec![PLANTED.to_owned()],
    });
    let document = submitted(&evidence)?;
    let submission = Submission {
        folder: PLANTED.to_owned(),
        check: Check::of(&document, Proof::Missing),
        signature: Some(Signature::Refused(PLANTED.to_owned())),
        submitted_for: None,
        document,
        runs: Vec::new(),
    };
    let unreadable = Unreadable {
        folder: PLANTED.to_owned(),
        reason: PLANTED.to_owned(),
    };
    let folder = TempDir::new()?;
    let mut pages = Vec::new();
    Board::new(vec![submission], vec![unreadable]).write(|path, content| {
        let is_told = path.ends_with("index.html");
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        fs::write(&path, content)?;
        if is_told {
            pages.push(path);
        }
        Ok(())
    })?;
    for page in pages {
        let output = open(browser, &page, &["--dump-dom"])?;
        let (dom, log) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        if log.contains("CONSOLE") || dom.contains("<title>ran</title>") {
            return Err(format!("{}: the planted script runs: {log}", page.display()).into());
        }
        let html = fs::read_to_string(&page)?;
        let rules = html.matches("<tr data-level=").count();
        if rules > 0 && !dom.contains(&format!("{rules} of {rules} rules")) {
            return Err(format!("{}: our own script has not run", page.display()).into());
        }
    }
    Ok(Completion::Completed)
}

/// What a reader of the first page of a board needs to see of each rule, and how large the smallest cell is.
const MEASURED: &str = "<script>
var rows = Array.from(document.querySelectorAll('.board tr[data-level]'));
var seen = function (one) { return one.checkVisibility() && one.getBoundingClientRect().width > 0; };
var shown = rows.filter(function (row) {
  return seen(row.querySelector('.title')) && Array.from(row.querySelectorAll('.level, .weight')).filter(seen).length === 1;
});
var sizes = Array.from(document.querySelectorAll('a.cell')).map(function (cell) {
  var box = cell.getBoundingClientRect();
  return Math.min(box.width, box.height);
});
document.title = shown.length + ' of ' + rows.length + ', ' + Math.min.apply(null, sizes);
</script>";

/// Whoever has no mouse and a narrow screen sees each rule's title and level once, and cells are as large as fingers need
/// (WCAG 2.2, 2.5.8 and 2.5.5).
fn a_phone_shows_levels_and_titles_and_fingers_hit_cells(browser: &Path) -> Result<Completion, Failed> {
    let evidence = recorded(RECORDED);
    let document = submitted(&evidence)?;
    for (reports, fingers, least) in [(1, false, "24"), (1, true, "44"), (8, true, "44")] {
        let submission = |number| Submission {
            folder: format!("fleet-{number}/v1"),
            check: Check::of(&document, Proof::Missing),
            signature: None,
            submitted_for: None,
            document: document.clone(),
            runs: Vec::new(),
        };
        let mut page = String::new();
        Board::new((0..reports).map(submission).collect(), Vec::new()).write(|path, content| {
            if path == "index.html" {
                page = String::from_utf8_lossy(content).into_owned();
            }
            Ok(())
        })?;
        let folder = TempDir::new()?;
        let path = folder.path().join("index.html");
        // The page's own policy would keep the measure from running.
        let page = page.replace("http-equiv=\"Content-Security-Policy\"", "name=\"none\"");
        fs::write(&path, page.replace("</body>", &format!("{MEASURED}</body>")))?;
        let pointer = if fingers { "2" } else { "4" };
        let pointer =
            format!("--blink-settings=primaryPointerType={pointer},availablePointerTypes={pointer}");
        let output = open(browser, &path, &["--dump-dom", "--window-size=390,844", &pointer])?;
        let dom = String::from_utf8_lossy(&output.stdout);
        let rules = page.matches("<tr data-level=").count();
        let title = format!("<title>{rules} of {rules}, {least}</title>");
        if rules == 0 || !dom.contains(&title) {
            let begins = dom.find("<title>").unwrap_or_default();
            let told: String = dom[begins..].chars().take(80).collect();
            return Err(format!("{reports} reports: expected {title}, found {told}").into());
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
        place: None,
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
