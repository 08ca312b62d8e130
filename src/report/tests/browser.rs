//! The pages in a real browser: text from the hub does not run, and the pages fit a phone. Draws the README's picture.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{ExitCode, Output},
    time::Duration,
};

use evidence::{Digester, Evidence, Implementation, read_input};
use judge::{Selection, judge, rules};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use report::{
    Report, by_edition, html,
    site::{self, BoardEntry, EditionResult},
    submitted::{Check, ConformanceReport, Proof, UnreadableFolder, compose},
};
use tempfile::TempDir;
use tokio::{process::Command, runtime::Builder, time::timeout};

/// What the picture shows: a run on the lab, recorded once.
const RECORDED: &str = "docs/pictures/report.evidence.jsonl.zst";
/// A run on a scheduler, recorded once.
const DECISIONS: &str = "reports/ocm-placement/v1.3.2-0.20260720191149-374cfa966338/evidence.jsonl.zst";
const PICTURE: &str = "docs/pictures/report.png";

/// The time limit of a browser, which is then killed.
const LONGEST: Duration = Duration::from_secs(120);

/// Changes the title if it runs.
const PLANTED: &str = "\"'></title></script></style><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">";

type BrowserCheck = fn(&Path) -> Result<Completion, Failed>;

fn main() -> ExitCode {
    let checks: [(&str, BrowserCheck); 6] = [
        ("planted_text_does_not_run", planted_text),
        ("planted_text_in_slices_does_not_run", planted_text_in_slices),
        ("planted_text_on_the_board_does_not_run", planted_on_the_board),
        ("the_policy_stops_unescaped_markup", policy_stops_markup),
        ("the_pages_fit_a_phone", the_pages_fit_a_phone),
        ("draw_the_picture", draw_the_picture),
    ];
    let trial = |(name, check): (&str, BrowserCheck)| {
        Trial::ignorable_test(name, move || match installed() {
            Some(browser) => check(&browser),
            None => Ok(Completion::ignored_with("no chromium on PATH nor in CHROME")),
        })
    };
    libtest_mimic::run(&Arguments::from_args(), checks.map(trial).into()).exit_code()
}

fn installed() -> Option<PathBuf> {
    if let Some(given) = env::var_os("CHROME") {
        return Some(given.into());
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut paths = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    paths.find(|path| path.is_file())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn open(browser: &Path, page: &Path, flags: &[&str]) -> Result<Output, Failed> {
    let profile = TempDir::new()?;
    let flags_of_all = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --timeout=60000 \
                        --virtual-time-budget=5000 --enable-logging=stderr";
    let mut command = Command::new(browser);
    command
        .args(flags_of_all.split_whitespace())
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(flags)
        .arg(format!("file://{}", page.display()))
        .kill_on_drop(true);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let output = runtime
        .block_on(async { timeout(LONGEST, command.output()).await })
        .map_err(|_| format!("the browser hangs: killed after {} s", LONGEST.as_secs()))??;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("the browser failed: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// The title of a page in the browser, and what the browser logged.
fn title_of(browser: &Path, page: &str) -> Result<(String, String), Failed> {
    let folder = TempDir::new()?;
    let path = folder.path().join("page.html");
    fs::write(&path, page)?;
    let output = open(browser, &path, &["--dump-dom"])?;
    let dom = String::from_utf8_lossy(&output.stdout);
    let (_, title) = dom.split_once("<title>").ok_or("no title")?;
    let (title, _) = title.split_once("</title>").ok_or("a title without an end")?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((title.to_owned(), log))
}

fn has_title(browser: &Path, page: &str, end: &str) -> Result<Completion, Failed> {
    let (title, log) = title_of(browser, page)?;
    if title.ends_with(end) && page.contains("document.title") && !log.contains("CONSOLE") {
        return Ok(Completion::Completed);
    }
    Err(format!("another title, or nothing was planted: {title}: {log}").into())
}

fn planted_text(browser: &Path) -> Result<Completion, Failed> {
    let mut evidence = recorded(RECORDED);
    evidence.header.hub.source = PLANTED.to_owned();
    let versions = evidence.profiles.iter_mut();
    for version in versions.flat_map(|history| &mut history.versions) {
        let profile = &mut version.object;
        profile.metadata.name = format!("{}{PLANTED}", profile.metadata.name).into();
        let mut conditions = profile.status.conditions.to_vec();
        for condition in &mut conditions {
            condition.reason = PLANTED.into();
        }
        profile.status.conditions = conditions.into();
    }
    has_title(browser, &page(&evidence), " conformance: not conformant")
}

fn planted_text_in_slices(browser: &Path) -> Result<Completion, Failed> {
    let mut evidence = recorded(DECISIONS);
    evidence.header.hub.source = PLANTED.to_owned();
    let versions = evidence.slices.iter_mut();
    for version in versions.flat_map(|history| &mut history.versions) {
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
    has_title(browser, &page(&evidence), " conformance: not conformant")
}

fn planted_on_the_board(browser: &Path) -> Result<Completion, Failed> {
    let mut evidence = recorded(RECORDED);
    evidence.header.claim.about.implementation = Some(Implementation {
        organization: PLANTED.to_owned(),
        project: PLANTED.to_owned(),
        url: "javascript:document.title='ran'".to_owned(),
        version: PLANTED.to_owned(),
        contact: vec![PLANTED.to_owned()],
    });
    let unreadable = UnreadableFolder {
        folder: PLANTED.to_owned(),
        reason: PLANTED.to_owned(),
    };
    let page = board(&submitted(&evidence)?, &[PLANTED], &[unreadable])?;
    has_title(browser, &page, "implementations compared")
}

/// Unescaped markup in the page does not run with the page's policy. Without the policy it runs: this test can fail.
fn policy_stops_markup(browser: &Path) -> Result<Completion, Failed> {
    let main = "<main id=\"main\">";
    let page = page(&recorded(RECORDED)).replace(main, &format!("{main}{PLANTED}"));
    let without = page.replace("http-equiv=\"Content-Security-Policy\"", "name=\"none\"");
    for (page, runs) in [(page, false), (without, true)] {
        let (title, _) = title_of(browser, &page)?;
        if (title == "ran") != runs {
            return Err(format!("the planted script runs without a policy only: {runs} was expected").into());
        }
    }
    Ok(Completion::Completed)
}

/// Sends the width of the page to the outer page.
const MEASURED: &str =
    "<script>parent.postMessage(document.documentElement.scrollWidth + ' pixels', '*');</script></body>";

/// Shows a page in a frame as wide as a phone; a window cannot be that narrow. The title is the reported width.
const PHONE: &str =
    "<title></title><script>onmessage = function (event) { document.title = event.data; };</script>
<iframe src='inner.html' width='390' height='844' style='border: 0'></iframe>";

fn the_pages_fit_a_phone(browser: &Path) -> Result<Completion, Failed> {
    let document = submitted(&recorded(RECORDED))?;
    for inner in [
        page(&recorded(RECORDED)),
        page(&recorded(DECISIONS)),
        board(&document, &["fleet/v1"], &[])?,
        board(&document, &["a/v1", "b/v1", "c/v1", "d/v1", "e/v1", "f/v1"], &[])?,
    ] {
        // The policy of the page would block the script that measures.
        let inner = inner.replace("http-equiv=\"Content-Security-Policy\"", "name=\"none\"");
        let folder = TempDir::new()?;
        let path = folder.path().join("phone.html");
        fs::write(&path, PHONE)?;
        let inner = inner.replace("</body>", MEASURED);
        fs::write(folder.path().join("inner.html"), inner)?;
        let output = open(browser, &path, &["--dump-dom"])?;
        let dom = String::from_utf8_lossy(&output.stdout);
        if !dom.contains("<title>390 pixels</title>") {
            let start: String = dom.chars().take(100).collect();
            return Err(format!("the page is wider than the phone: {start}").into());
        }
    }
    Ok(Completion::Completed)
}

fn recorded(path: &str) -> Evidence {
    let path = root().join(path);
    read_input(&path, &Digester::new([7; 32]))
        .expect("the recorded evidence")
        .evidence
}

fn with_report<T>(evidence: &Evidence, write: impl FnOnce(&Report) -> T) -> T {
    let selection = Selection::default();
    let judgement = judge(evidence, &selection);
    let editions = by_edition(evidence, &judgement, &selection, None, rules::as_of());
    let judged_at = evidence.header.window.expect("it was watched").until;
    write(&Report {
        editions: &editions,
        ..Report::new(evidence, &judgement, &selection, judged_at)
    })
}

fn page(evidence: &Evidence) -> String {
    let mut html = Vec::new();
    with_report(evidence, |report| html::write(report, &mut html)).expect("a vector takes all");
    String::from_utf8(html).expect("UTF-8")
}

fn submitted(evidence: &Evidence) -> Result<ConformanceReport, Failed> {
    Ok(with_report(evidence, |report| compose(report, None)))
}

/// The board of reports of that document, with the findings in the recorded evidence.
fn board(
    document: &ConformanceReport,
    folders: &[&str],
    unreadable: &[UnreadableFolder],
) -> Result<String, Failed> {
    let entry = |folder: &&str| BoardEntry {
        editions: vec![with_report(&recorded(RECORDED), |report| {
            EditionResult::judged(report, &report.judgement.waivers, document.rules_as_of)
        })],
        folder: (*folder).to_owned(),
        document: document.clone(),
        check: Check::of(document, Some(folder), &mut Proof::Missing, |_| {}),
    };
    let entries: Vec<BoardEntry> = folders.iter().map(entry).collect();
    let mut page = Vec::new();
    site::write(&entries, unreadable, &mut page)?;
    Ok(String::from_utf8(page)?)
}

/// Draws the picture of the README if `UPDATE` is set.
fn draw_the_picture(browser: &Path) -> Result<Completion, Failed> {
    if env::var_os("UPDATE").is_none() {
        return Ok(Completion::ignored_with("UPDATE is not set"));
    }
    let folder = TempDir::new()?;
    let path = folder.path().join("report.html");
    fs::write(&path, page(&recorded(RECORDED)))?;
    let picture = format!("--screenshot={}", root().join(PICTURE).display());
    let scheme = "--blink-settings=preferredColorScheme=1";
    open(browser, &path, &[&picture, "--window-size=1280,900", scheme])?;
    Ok(Completion::Completed)
}
