//! The page that judges a file, in a real browser.

#[path = "../../report/tests/chromium.rs"]
mod chromium;
mod devtools;

use std::{
    collections::HashSet,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use browser::{Answer, Judged, Order, judge_file};
use devtools::Browser;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use report::site::{Board, Module};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Evidence of a real manager on a real API server.
const RECORDED: &str = "reports/ocm/v1.2.1/evidence.jsonl.zst";

/// Evidence of a real scheduler.
const PLACEMENTS: &str = "reports/ocm-placement/v1.3.2-0.20260720191149-374cfa966338/evidence.jsonl.zst";

/// Says so if it runs, wherever it lands.
const PLANTED: &str =
    "\"'></script></style><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">";

type Test = fn(&Site);

fn main() -> ExitCode {
    let trials: [(&str, Test); 6] = [
        (
            "a_recorded_run_is_judged_as_by_the_command",
            a_recorded_run_is_judged_as_by_the_command,
        ),
        ("the_edition_can_be_chosen", the_edition_can_be_chosen),
        ("the_page_reaches_nothing", the_page_reaches_nothing),
        (
            "ten_thousand_profiles_are_judged",
            ten_thousand_profiles_are_judged,
        ),
        ("nothing_planted_runs", nothing_planted_runs),
        (
            "what_cannot_be_judged_is_refused_and_the_page_goes_on",
            what_cannot_be_judged_is_refused_and_the_page_goes_on,
        ),
    ];
    let trials = trials.map(|(name, trial)| {
        Trial::ignorable_test(name, move || {
            let Some(program) = chromium::installed() else {
                return Ok(Completion::ignored_with("no chromium on PATH nor in CHROME"));
            };
            let Some(module) = env::var_os("JUDGE_MODULE") else {
                return Ok(Completion::ignored_with(
                    "no JUDGE_MODULE: build it with ci/binary wasm32-unknown-unknown",
                ));
            };
            trial(&Site::of(Path::new(&module), program)?);
            Ok(Completion::Completed)
        })
    });
    let mut trials = Vec::from(trials);
    trials.push(Trial::test(
        "decisions_are_judged_by_an_edition_of_theirs",
        || {
            decisions_are_judged_by_an_edition_of_theirs();
            Ok(())
        },
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A board without reports, and the page.
struct Site {
    folder: TempDir,
    program: PathBuf,
}

impl Site {
    fn of(module: &Path, program: PathBuf) -> Result<Self, Failed> {
        let folder = TempDir::new()?;
        Board::new(Vec::new(), Vec::new())
            .with_judge(Module::new(fs::read(module)?)?)
            .write(|path, content| fs::write(folder.path().join(path), content))?;
        Ok(Self { folder, program })
    }

    fn open(&self) -> Browser {
        Browser::open(&self.program, &self.folder.path().join("judge.html"))
    }

    /// A file to be judged.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).expect("written");
        path
    }
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The browser takes no path with dots.
    root.canonicalize().expect("a folder")
}

/// What the page says of a file, when it is done.
fn status(browser: &mut Browser, file: &Path) -> String {
    browser.choose("#file", &[file]);
    browser.wait_for("!/^(Judging .*)?$/.test(document.getElementById('status').textContent)");
    let status = browser.value("document.getElementById('status').textContent");
    status.as_str().expect("text").to_owned()
}

/// A file that the page has judged: its headline, and the text of the report that it opens.
fn judged(browser: &mut Browser, file: &Path) -> (String, String) {
    let status = status(browser, file);
    assert!(status.starts_with("Judged "), "{status}");
    shown(browser)
}

fn shown(browser: &mut Browser) -> (String, String) {
    let shown = browser.value("document.getElementById('result').hidden");
    assert_eq!(shown, json!(false));
    let headline = browser.value("document.getElementById('headline').textContent");
    let report = browser.in_tab("#open", |tab| tab.value("document.body.innerText"));
    let text = |value: Value| value.as_str().expect("text").to_owned();
    (text(headline), text(report))
}

/// What the same code says outside of a browser.
fn expected(file: &Path, edition: &str) -> Judged {
    let order =
        json!({"name": "as expected", "edition": edition, "now": "2026-11-20T12:00:00Z", "key": vec![7; 32]});
    let order: Order = serde_json::from_value(order).expect("an order");
    match judge_file(fs::read(file).expect("a file"), &order) {
        Answer::Judged(judged) => judged,
        Answer::Refused(reason) => panic!("{}: {reason}", file.display()),
    }
}

/// A headline begins with a capital on the page.
fn assert_same(headline: &str, expected: &str) {
    assert_eq!(headline.to_lowercase(), expected.to_lowercase());
}

fn a_recorded_run_is_judged_as_by_the_command(site: &Site) {
    let file = root().join(RECORDED);
    let expected = expected(&file, "standard");
    let mut browser = site.open();
    let (headline, report) = judged(&mut browser, &file);
    assert_same(&headline, &expected.headline);
    assert!(
        expected.headline.contains("1 MUST rule fails"),
        "{}",
        expected.headline
    );
    for part in [
        "evidence.jsonl.zst",
        "properties/cluster-endpoints-present",
        "Remedy:",
    ] {
        assert!(report.contains(part), "no {part} in {report}");
    }
    // The report's own script has run: it shows the tools.
    browser.in_tab("#open", |tab| {
        assert_eq!(tab.value("document.querySelector('form').hidden"), json!(false));
        // Opened by a page on a disk, it has no address of its own to change.
        tab.value("document.querySelector('nav a[href=\"#rules\"]').click()");
        assert!(tab.value("scrollY").as_f64().is_some_and(|down| down > 0.0));
    });
}

fn the_edition_can_be_chosen(site: &Site) {
    let file = root().join(RECORDED);
    let mut browser = site.open();
    judged(&mut browser, &file);
    browser.value(
        "var choice = document.getElementById('edition'); choice.value = '2026-09'; \
         choice.dispatchEvent(new Event('change')); document.getElementById('status').textContent",
    );
    browser.wait_for("document.getElementById('status').textContent.startsWith('Judged ')");
    let (headline, _) = shown(&mut browser);
    assert_same(&headline, &expected(&file, "2026-09").headline);
}

/// Of a run that judged both roles, only the chosen one is judged.
fn decisions_are_judged_by_an_edition_of_theirs() {
    let file = root().join(PLACEMENTS);
    let judged = expected(&file, "placement-2025-09");
    assert!(
        judged.headline.contains("placement-2025-09"),
        "{}",
        judged.headline
    );
    assert!(judged.html.contains(r#"id="decision-0""#) && !judged.html.contains(r#"id="profile-0""#));
    let judged = expected(&file, "standard");
    assert!(!judged.headline.contains("placement"), "{}", judged.headline);
    assert!(judged.html.contains(r#"id="profile-0""#) && !judged.html.contains(r#"id="decision-0""#));
}

fn the_page_reaches_nothing(site: &Site) {
    let mut browser = site.open();
    judged(&mut browser, &root().join(RECORDED));
    let requests = browser.events("Network.requestWillBeSent");
    let address = |event: &&Value| event["request"]["url"].as_str().unwrap_or_default().to_owned();
    let schemes: HashSet<String> = requests
        .iter()
        .map(|event| address(event).split(':').next().unwrap_or_default().to_owned())
        .collect();
    assert!(
        schemes
            .iter()
            .all(|scheme| ["file", "blob"].contains(&scheme.as_str())),
        "{schemes:?}"
    );
    // Nor could it, if it wanted to.
    for attempt in [
        "fetch('https://example.com/').then(function () { return 'went'; }, function () { return 'refused'; })",
        "new Promise(function (done) { var image = new Image(); image.onerror = function () { done('refused'); }; \
         image.onload = function () { done('went'); }; image.src = 'https://example.com/x.png'; })",
    ] {
        assert_eq!(browser.value(attempt), json!("refused"), "{attempt}");
    }
    let log = browser.events("Log.entryAdded");
    let refusals = log
        .iter()
        .filter(|event| event.to_string().contains("Content Security Policy"));
    assert!(
        refusals.count() >= 2,
        "it was not the policy that refused: {log:?}"
    );
}

/// A dump of that many profiles; every tenth lacks the manager's label.
fn dump(profiles: usize, display_name: &str) -> String {
    let item = |number: usize| {
        let labels = if number.is_multiple_of(10) {
            json!({})
        } else {
            json!({"x-k8s.io/cluster-manager": "acme"})
        };
        json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": {
                "name": format!("acme-{number}"), "namespace": "fleet", "uid": format!("uid-{number}"),
                "resourceVersion": (number + 1).to_string(), "creationTimestamp": "2026-11-01T00:00:00Z", "labels": labels,
            },
            "spec": {"clusterManager": {"name": "acme"}, "displayName": display_name},
            "status": {
                "version": {"kubernetes": "1.36.0"},
                "conditions": (["ControlPlaneHealthy", "Joined"].map(|kind| json!({
                    "type": kind, "status": "True", "reason": "Fine", "message": "",
                    "lastTransitionTime": "2026-11-01T00:00:00Z",
                }))),
                "properties": (0..8).map(|number| json!({"name": format!("p{number}.example.com"), "value": "x".repeat(400)}))
                    .collect::<Vec<_>>(),
            },
        })
    };
    let items: Vec<Value> = (0..profiles).map(item).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn ten_thousand_profiles_are_judged(site: &Site) {
    let file = site.file("large.json", dump(10_000, "a member"));
    let (headline, report) = judged(&mut site.open(), &file);
    assert_same(&headline, &expected(&file, "standard").headline);
    assert!(report.contains("10,000 profiles"), "{}", &report[..500]);
}

fn nothing_planted_runs(site: &Site) {
    let file = site.file("<img src=x onerror=document.title='ran'>.json", dump(20, PLANTED));
    let mut browser = site.open();
    let (_, report) = judged(&mut browser, &file);
    assert!(report.contains("onerror"), "nothing was planted: {report}");
    let title = browser.value("document.title");
    assert_eq!(title, json!("Judge your own file"));
    let title = browser.in_tab("#open", |tab| tab.value("document.title"));
    assert!(
        title
            .as_str()
            .is_some_and(|title| title.ends_with("not conformant")),
        "{title}"
    );
    assert_eq!(browser.events("Runtime.exceptionThrown"), Vec::<&Value>::new());
    assert_eq!(browser.events("Log.entryAdded"), Vec::<&Value>::new());
}

fn what_cannot_be_judged_is_refused_and_the_page_goes_on(site: &Site) {
    let recorded = fs::read(root().join(RECORDED)).expect("evidence");
    let mut damaged = recorded.clone();
    damaged[recorded.len() / 2] ^= 0xFF;
    let refused = [
        (site.file("empty", ""), "empty is empty"),
        (
            site.file("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
            "is not UTF-8 text",
        ),
        (site.file("damaged.zst", damaged), "damaged.zst"),
        (site.file("other.json", "{\"kind\": \"Pod\"}"), "ClusterProfile"),
        (site.file("deep.json", "[".repeat(1 << 20)), "deep.json"),
        (
            site.file("deep.yaml", "a: ".to_owned() + &"[".repeat(1 << 16)),
            "deep.yaml",
        ),
    ];
    let mut browser = site.open();
    for (file, reason) in refused {
        let status = status(&mut browser, &file);
        assert!(status.contains(reason), "{}: {status}", file.display());
        assert!(!status.contains("stopped"), "{}: {status}", file.display());
        assert_eq!(
            browser.value("document.getElementById('result').hidden"),
            json!(true)
        );
    }
    let two = "var both = new DataTransfer(); ['a', 'b'].forEach(function (name) { both.items.add(new File([name], name)); }); \
               document.dispatchEvent(new DragEvent('drop', {dataTransfer: both, bubbles: true, cancelable: true})); \
               document.getElementById('status').textContent";
    assert!(
        browser
            .value(two)
            .as_str()
            .is_some_and(|said| said.contains("drop one"))
    );
    let (headline, _) = judged(&mut browser, &root().join(RECORDED));
    assert!(headline.contains("1 MUST rule fails"), "{headline}");
}
