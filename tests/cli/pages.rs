//! What the documentation shows of the command: its picture of the terminal, and the lines that it quotes.

use anstyle_svg::{Term, WIN10_CONSOLE};
use regex::Regex;

use super::*;

/// A run that shows what matters, and nothing that depends on the time.
const SHOWN: &[&str] = &[
    "run",
    "--hub",
    "lab",
    "--manager",
    "reference=access/no-secrets,version/well-formed",
    "version/",
    "access/",
];

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
    // Certificates are new in each run, and not of one length.
    let size = Regex::new(r"\d+\.\d kB of answers").expect("a pattern");
    assert!(size.is_match(&out), "{out}");
    let out = size.replace(&out, "594.0 kB of answers");
    let typed = SHOWN.join(" ").replace("--manager", "\\\n    --manager");
    let shown = format!("$ clusterprofile-conformance {typed}\n{}", out.trim_end());
    let picture = Term::new()
        .palette(WIN10_CONSOLE)
        .min_width_px(0)
        .render_svg(&shown);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures/terminal.svg");
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(&path, &picture).expect("written");
    }
    let drawn = fs::read_to_string(&path).expect("the picture is there");
    assert!(
        drawn == picture,
        "docs/pictures/terminal.svg is out of date: renew it with `just pictures`"
    );
}

#[test]
fn colours_are_for_terminals_and_for_those_who_insist() {
    let coloured = |variables: &[(&str, &str)]| {
        let done = command(SHOWN)
            .env_remove("CLICOLOR_FORCE")
            .env_remove("NO_COLOR")
            .envs(variables.iter().copied())
            .output()
            .expect("the command runs");
        done.stdout.contains(&0x1b)
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

/// The pages that quote what a command prints.
const QUOTING: &[&str] = &["README.md", "docs/verdicts.md"];

/// Each command that a page quotes the output of, with those lines.
fn quoted(page: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let mut quotes = Vec::new();
    let mut typed = None;
    for block in page.split("```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').unwrap_or_default();
        match kind {
            "sh" => typed = text.lines().next().and_then(|line| line.rsplit_once(" run ")),
            "text" => {
                let (_, arguments) = typed.expect("a command stands before what it prints");
                let arguments = arguments.split_whitespace().map(str::to_owned);
                let lines = text
                    .lines()
                    .filter(|line| !line.trim().is_empty() && *line != "…");
                quotes.push((
                    std::iter::once("run".to_owned()).chain(arguments).collect(),
                    lines.map(str::to_owned).collect(),
                ));
            }
            _ => {}
        }
    }
    quotes
}

#[test]
fn what_the_pages_quote_is_printed() {
    let folder = Folder::new();
    for page in QUOTING {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect("it is there");
        let quotes = quoted(&text);
        assert!(!quotes.is_empty(), "{page} quotes nothing");
        for (arguments, lines) in quotes {
            is_printed(page, &folder, &arguments, &lines);
        }
    }
}

fn is_printed(page: &str, folder: &Folder, arguments: &[String], lines: &[String]) {
    let arguments = arguments.iter().map(|argument| match argument.as_str() {
        report if report.starts_with("report.") => folder.flag(report),
        other => other.to_owned(),
    });
    let arguments: Vec<String> = arguments.collect();
    let done = call(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let mut printed = done.out.lines();
    for line in lines {
        assert!(
            printed.any(|printed| printed == line),
            "{page}: {arguments:?} does not print, at that place: {line}\n{}",
            done.out
        );
    }
}

/// The pages that people read first, and all below docs.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).expect("docs");
    let mut pages: Vec<PathBuf> = docs.map(|entry| entry.expect("an entry").path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.extend(["README.md", "CONTRIBUTING.md", "ci/managers/README.md"].map(|page| root.join(page)));
    pages
}

/// Where the links of a page lead within the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

#[test]
fn every_link_leads_to_a_file() {
    for page in pages() {
        let text = fs::read_to_string(&page).expect("it is there");
        let folder = page.parent().expect("a folder");
        for link in links(&text) {
            assert!(folder.join(link).exists(), "{}: {link}", page.display());
        }
    }
}

#[test]
fn the_index_names_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let index = fs::read_to_string(docs.join("README.md")).expect("it is there");
    for page in pages() {
        let name = page.file_name().and_then(|name| name.to_str()).expect("a name");
        if page.parent() == Some(&docs) && name != "README.md" {
            assert!(
                index.contains(&format!("]({name})")),
                "docs/README.md lacks {name}"
            );
        }
    }
}
