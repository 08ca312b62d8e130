//! The documentation: pages that are generated, links, and versions.

use std::{collections::BTreeSet, path::PathBuf};

use anstyle_svg::{Term, WIN10_CONSOLE};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;

/// A run without anything that depends on the time.
const SHOWN: &str =
    "run --hub lab --manager reference=access/no-secrets,version/well-formed version/ access/";

#[test]
fn the_picture_of_the_terminal_is_that_of_a_run() {
    let done = command(SHOWN)
        .env("CLICOLOR_FORCE", "1")
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .output()
        .expect("the command runs");
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let out = String::from_utf8(done.stdout).expect("UTF-8");
    // Certificates are new in each run, and not of one length. How many rules there are besides is not shown.
    let out = replaced(&out, r"\d+ were not selected", "… were not selected");
    let out = replaced(&out, r"\d+ of \d+ MUST rules judged", "…");
    let typed = SHOWN.replace("--manager", "\\\n    --manager");
    let shown = format!("$ clusterprofile-conformance {typed}\n{}", out.trim_end());
    let picture = Term::new()
        .palette(WIN10_CONSOLE)
        .min_width_px(0)
        .render_svg(&shown);
    assert_published(&Path::new(ROOT).join("docs/pictures/terminal.svg"), &picture);
}

/// The text with the one place that fits the pattern replaced.
fn replaced(text: &str, pattern: &str, by: &str) -> String {
    let pattern = Regex::new(pattern).expect("a pattern");
    assert_eq!(pattern.find_iter(text).count(), 1, "{pattern} in: {text}");
    pattern.replace(text, by).into_owned()
}

/// Words that only the authors of older texts understand.
const DIALECT: &str = r"(?i)\b(told|untold|nobody|whoever|anew|is no)\b";
/// Plain text in which they occur: ids of rules and faults, and names in examples.
const PLAIN: &str = r"(?i)there is no|is no longer|: nobody|server-told|args-as-told|\{\w*\}";

#[test]
fn pages_rules_and_messages_are_in_plain_words() {
    let (dialect, plain) = (
        Regex::new(DIALECT).expect("a pattern"),
        Regex::new(PLAIN).expect("a pattern"),
    );
    let root = Path::new(ROOT);
    let mut texts = pages();
    texts.extend(files_of(&root.join("suites"), "yaml"));
    let is_code = |path: &PathBuf| !path.components().any(|part| part.as_os_str() == "tests");
    texts.extend(files_of(&root.join("src"), "rs").into_iter().filter(is_code));
    let literals = Regex::new(r#""(?:[^"\\]|\\.)*""#).expect("a pattern");
    let mut found = Vec::new();
    for path in texts {
        let text = fs::read_to_string(&path).expect("text");
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        for (number, line) in text.lines().enumerate() {
            let parts: Vec<&str> = match is_rust {
                _ if is_rust && line.trim_start().starts_with("//") => Vec::new(),
                true => literals.find_iter(line).map(|part| part.as_str()).collect(),
                false => vec![line],
            };
            let is_dialect = |part: &&str| dialect.is_match(&plain.replace_all(part, ""));
            if parts.iter().any(is_dialect) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The folders whose pages are read on their own.
const FOLDERS: &[&str] = &["docs", "ci", "go", "benches", "fixtures", "src"];

/// All pages of the repository, but the reports that the command writes.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let mut pages = pages_of(root, false);
    for folder in FOLDERS {
        pages.extend(pages_of(&root.join(folder), true));
    }
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

/// The files with that extension in a folder and in those in it.
fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let deeper = folders.iter().flat_map(|folder| files_of(folder, extension));
    let named = |path: &PathBuf| path.extension().is_some_and(|known| known == extension);
    files.into_iter().filter(named).chain(deeper).collect()
}

/// The pages of a folder, and of those in it if so asked. Skips hidden files.
fn pages_of(folder: &Path, deeply: bool) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = entry.path();
        let is_folder = entry.file_type().expect("a kind").is_dir();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_folder && deeply && !is_hidden {
            pages.extend(pages_of(&path, true));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages
}

/// What a page refers to, and what can be referred to in it.
#[derive(Default)]
struct Links {
    /// Where its links and pictures lead.
    targets: Vec<String>,
    /// The anchors of its headings, as GitHub makes them.
    anchors: BTreeSet<String>,
}

impl Links {
    fn of(page: &Path) -> Self {
        let text = fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        let mut links = Links::default();
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    links.targets.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => links.add_anchor(&heading.take().unwrap_or_default()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        links
    }

    /// Lower case, without punctuation, with dashes for spaces; a number tells equal headings apart.
    fn add_anchor(&mut self, heading: &str) {
        let anchor: String = heading
            .to_lowercase()
            .chars()
            .filter(|one| one.is_alphanumeric() || " -_".contains(*one))
            .map(|one| if one == ' ' { '-' } else { one })
            .collect();
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut names = std::iter::once(anchor.clone()).chain(numbered);
        let free = names.find(|name| !self.anchors.contains(name));
        self.anchors.extend(free);
    }
}

#[test]
fn every_link_leads_to_a_file_and_its_heading() {
    let mut dead = Vec::new();
    for page in pages() {
        let own = Links::of(&page);
        for target in own.targets.iter().filter(|target| !target.contains("://")) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let led_to = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let is_page = led_to.extension().is_some_and(|extension| extension == "md");
            let is_there = led_to.exists()
                && (anchor.is_empty() || !is_page || Links::of(&led_to).anchors.contains(anchor));
            if !is_there {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// Files that name a version of the suite.
const VERSIONED: &[&str] = &[
    "README.md",
    "ci/in-cluster/job.yaml",
    "ci/node/README.md",
    "docs/ci.md",
    "docs/examples/cronjob.yaml",
    "docs/examples/sonobuoy.yaml",
    "docs/install.md",
    "go/conformance/conformance.go",
];

#[test]
fn the_readme_of_the_api_server_names_its_version() {
    let readme = fs::read_to_string(Path::new(ROOT).join("src/apiserver/README.md")).expect("a README");
    let version = env!("CARGO_PKG_VERSION");
    let minor = version.rsplit_once('.').expect("a version").0;
    assert_contains(&readme, &[&format!("in-process-apiserver = \"{minor}\"")]);
}

#[test]
fn versions_agree() {
    let version =
        Regex::new(r#"(?:[@:=]v?|[-/]v|Version = "|such as `)(\d+\.\d+\.\d+)\b"#).expect("a pattern");
    for path in VERSIONED {
        let text = fs::read_to_string(Path::new(ROOT).join(path)).expect(path);
        for found in version.captures_iter(&text) {
            assert_eq!(&found[1], env!("CARGO_PKG_VERSION"), "{path}: {}", &found[0]);
        }
        assert!(version.is_match(&text), "{path} names no version");
    }
}

#[test]
fn the_rules_in_the_documents_are_those_that_are_listed() {
    let listed = expect(0, "list --format markdown");
    assert_published(&Path::new(ROOT).join("docs/rules.md"), &listed);
}

/// Compares a generated file with its text, or updates it.
#[track_caller]
pub fn assert_published(path: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    }
    let published = fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == text,
        "{} is out of date: run `just schemas`, `just rules`, or `just pictures`",
        path.display()
    );
}
