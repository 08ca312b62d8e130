//! The documentation: pages that are generated, links, and versions.

use std::path::PathBuf;

use anstyle_svg::{Term, WIN10_CONSOLE};

use super::*;

/// A run without anything that depends on the time.
const SHOWN: &str =
    "run --hub lab --manager reference=access/no-secrets,version/well-formed version/ access/";

#[test]
fn the_picture_of_the_terminal_is_that_of_a_run() {
    let mut run = command(SHOWN);
    run.envs([("CLICOLOR_FORCE", "1"), ("COLUMNS", "100")])
        .env_remove("NO_COLOR");
    let done = done(&mut run);
    assert_eq!(done.code, Some(1), "{}", done.err);
    // How many rules there are besides is not shown.
    let out = replaced(&done.out, r"\d+ were not selected", "… were not selected");
    let out = replaced(&out, r"\d+ of \d+ MUST rules judged", "…");
    let typed = SHOWN.replace("--manager", "\\\n    --manager");
    let shown = format!("$ clusterprofile-conformance {typed}\n{}", out.trim_end());
    let terminal = Term::new().palette(WIN10_CONSOLE).min_width_px(0);
    let picture = terminal.render_svg(&shown);
    assert_published(&Path::new(ROOT).join("docs/pictures/terminal.svg"), &picture);
}

/// The text with the one place that fits the pattern replaced.
fn replaced(text: &str, pattern: &str, by: &str) -> String {
    let pattern = Regex::new(pattern).expect("a pattern");
    assert_eq!(pattern.find_iter(text).count(), 1, "{pattern} in: {text}");
    pattern.replace(text, by).into_owned()
}

/// Words of an earlier writing style.
const DIALECT: &str = r"(?i)\b(told|untold|nobody|whoever|anew|is no)\b";
/// Plain texts that contain them: ids of rules and faults, and names in examples.
const PLAIN: &str = r"(?i)there is no|is no longer|: nobody|server-told|args-as-told|\{\w*\}";

#[test]
fn pages_rules_and_messages_are_in_plain_words() {
    let [dialect, plain, literal] =
        [DIALECT, PLAIN, r#""(?:[^"\\]|\\.)*""#].map(|pattern| Regex::new(pattern).expect("a pattern"));
    let root = Path::new(ROOT);
    let mut texts = pages();
    texts.extend(files_of(&root.join("suites"), "yaml"));
    texts.extend(files_of(&root.join("src"), "rs"));
    texts.retain(|path| !path.components().any(|part| part.as_os_str() == "tests"));
    let mut found = Vec::new();
    for path in texts {
        let text = fs::read_to_string(&path).expect("text");
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        for (number, line) in text.lines().enumerate() {
            // Of code, only literals are printed.
            let printed: Vec<&str> = if !is_rust {
                vec![line]
            } else if line.trim_start().starts_with("//") {
                Vec::new()
            } else {
                literal.find_iter(line).map(|part| part.as_str()).collect()
            };
            let is_dialect = |part: &&str| dialect.is_match(&plain.replace_all(part, ""));
            if printed.iter().any(is_dialect) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// All pages of the repository, but the reports that the command writes.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let entries = fs::read_dir(root).expect("the repository");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    for folder in ["docs", "ci", "go", "benches", "fixtures", "src"] {
        pages.extend(files_of(&root.join(folder), "md"));
    }
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

/// The files with that extension in a folder and in those in it, without hidden folders.
pub fn files_of(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files = Vec::new();
    for entry in entries.map(|entry| entry.expect("an entry")) {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().expect("a kind").is_dir() {
            if !name.to_string_lossy().starts_with('.') {
                files.extend(files_of(&path, extension));
            }
        } else if path.extension().is_some_and(|known| known == extension) {
            files.push(path);
        }
    }
    files
}

/// The anchors of a page's headings, as GitHub makes them: lower case, without punctuation, with dashes for spaces.
fn anchors(page: &str) -> Vec<String> {
    let headings = page
        .lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' '));
    let is_kept = |letter: &char| letter.is_alphanumeric() || "-_".contains(*letter);
    let anchor = |heading: &str| -> String {
        let heading = heading.to_lowercase().replace(' ', "-");
        heading.chars().filter(is_kept).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_to_a_file_and_its_heading() {
    let link = Regex::new(r"\]\(([^()\s]+)\)").expect("a pattern");
    let mut dead = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).expect("text");
        let targets = link.captures_iter(&text).map(|link| link[1].to_owned());
        for target in targets.filter(|target| !target.contains("://")) {
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = match path {
                "" => page.clone(),
                path => page.parent().expect("a folder").join(path),
            };
            let has_anchor = |text: &str| anchors(text).iter().any(|known| known == anchor);
            let is_page = file.extension().is_some_and(|extension| extension == "md");
            let is_alive = if is_page && !anchor.is_empty() {
                fs::read_to_string(&file).is_ok_and(|text| has_anchor(&text))
            } else {
                file.exists()
            };
            if !is_alive {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links:\n{}", dead.join("\n"));
}

/// Files that name a version of the suite.
const VERSIONED: &str = "
README.md ci/in-cluster/job.yaml ci/node/README.md docs/ci.md docs/examples/cronjob.yaml
docs/examples/sonobuoy.yaml docs/install.md go/conformance/conformance.go";

#[test]
fn versions_agree() {
    let version = r#"(?:[@:=]v?|[-/]v|Version = "|for example `)(\d+\.\d+\.\d+)\b"#;
    let version = Regex::new(version).expect("a pattern");
    for path in VERSIONED.split_whitespace() {
        let text = fs::read_to_string(Path::new(ROOT).join(path)).expect(path);
        for found in version.captures_iter(&text) {
            assert_eq!(&found[1], env!("CARGO_PKG_VERSION"), "{path}: {}", &found[0]);
        }
        assert!(version.is_match(&text), "{path} names no version");
    }
    let readme = fs::read_to_string(Path::new(ROOT).join("src/apiserver/README.md")).expect("a README");
    let (minor, _) = env!("CARGO_PKG_VERSION").rsplit_once('.').expect("a version");
    assert_contains(&readme, &[&format!("in-process-apiserver = \"{minor}\"")]);
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
    let path = path.display();
    let advice = "run `just schemas`, `just rules`, or `just pictures`";
    assert!(published == text, "{path} is out of date: {advice}");
}
