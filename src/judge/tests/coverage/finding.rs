//! What the finder takes for a sentence, and which differences `ci/coverage` reports.

use std::fs;

use rstest::rstest;
use tempfile::TempDir;

use super::{
    document::Document,
    map::Map,
    tool::{self, Failure},
};

/// Sections and texts of the sentences that a document has.
fn sentences(name: &str, text: &str) -> Vec<(String, String)> {
    let document = Document::read(name, text);
    let sentences = document.sentences.into_iter();
    sentences
        .map(|sentence| (sentence.section, sentence.text))
        .collect()
}

/// The one sentence of a document.
fn one(text: &str) -> super::document::Sentence {
    let sentences = Document::read("a.md", text).sentences;
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    sentences.into_iter().next().expect("one")
}

#[test]
fn prose_is_cut_into_sentences_under_their_headings() {
    let text = "\
# The birds

<!-- toc -->
- [Songs must be loud](#songs)
<!-- /toc -->
A bird sings. Each song, e.g. that of
a *finch*, MUST be heard! ![a song](song.svg)

## Songs
<!-- It must not be read. -->
```yaml
must: never be read
```
### Loud ones
- **Owl**: a bird of the night. It may hoot.
  - It needs to see `mice.` in the dark
- [x] a finch

| when | what |
|---|---|
| at noon | It SHOULD rest. |

## Nests
> A nest is round: it shall hold.
";
    let expected = [
        ("", "A bird sings"),
        ("", "Each song, e.g. that of a finch, MUST be heard!"),
        ("Songs › Loud ones › Owl", "Owl: a bird of the night"),
        ("Songs › Loud ones › Owl", "It may hoot"),
        ("Songs › Loud ones", "It needs to see mice. in the dark"),
        ("Songs › Loud ones", "a finch"),
        ("Songs › Loud ones", "when"),
        ("Songs › Loud ones", "what"),
        ("Songs › Loud ones", "at noon"),
        ("Songs › Loud ones", "It SHOULD rest"),
        ("Nests", "A nest is round: it shall hold"),
    ];
    let expected = expected.map(|(section, text)| (section.to_owned(), text.to_owned()));
    assert_eq!(sentences("birds.md", text), expected);
    assert_eq!(Document::read("birds.md", text).title, "The birds");
}

#[test]
fn comments_of_go_stand_under_what_they_document() {
    let text = "\
/*
Licensed to the birds.
*/

package birds

// A Bird sings.
// It must have a name.
type Bird struct {
\t// Name is immutable.
\t// +required
\tName string `json:\"name\"`

\tAge int
}

const (
\t// Loud is how
\t// a finch sings.
\tLoud = \"loud\"
)
";
    let expected = [
        ("Bird", "A Bird sings"),
        ("Bird", "It must have a name"),
        ("Bird.Name", "Name is immutable"),
        ("Loud", "Loud is how a finch sings"),
    ];
    let expected = expected.map(|(section, text)| (section.to_owned(), text.to_owned()));
    assert_eq!(sentences("birds.go", text), expected);
    assert_eq!(Document::read("birds.go", text).title, "package birds");
}

#[rstest]
#[case::strong("A nest MUST NOT fall, and must be round", &["MUST NOT", "must"])]
#[case::phrase("It is required that it needs to hold", &["is required", "needs to"])]
#[case::once("It should, or should", &["should"])]
#[case::negated("It cannot fall and is supposed to hold", &["cannot", "supposed to"])]
#[case::none("Mustard and a mayor: a necessity", &[])]
fn keywords_are_found_as_they_are_written(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(one(text).keywords, expected);
}

#[rstest]
#[case::markup("A **nest** MUST be `round`.", true)]
#[case::wrapped("A nest\nMUST be\n  round", true)]
#[case::linked("A [nest](nest.md) MUST be round:", true)]
#[case::case("A nest must be round", false)]
#[case::word("A nest MUST be square", false)]
fn a_digest_knows_words_and_case_only(#[case] text: &str, #[case] same: bool) {
    assert_eq!(one(text).digest == one("A nest MUST be round").digest, same);
    assert_eq!(one("It's \"round\"").digest, one("It’s “round”").digest);
}

const BIRDS: &str = "\
# Birds
## Nests
A nest MUST be round. A nest is a home.
## Songs
A song should be loud. A finch may rest.
";

/// A map of the document above.
fn map() -> Map {
    let digest = |text: &str| one(text).digest;
    let yaml = format!(
        "\
document: The birds
titles: [Birds]
cited: [Birds]
texts: [{{name: old, from: here, editions: [standard]}}, {{name: new, from: here, editions: [standard]}}]
sections:
  - section: Nests
    sentences:
      - {{digest: \"{}\", keyword: MUST, rules: [nests/round]}}
      - {{digest: \"{}\", rules: [nests/home]}}
  - section: Songs
    reason: nobody listens
    sentences:
      - {{digest: \"{}\", keyword: should, rules: [songs/loud]}}
      - {{digest: \"{}\", keyword: may, texts: [new]}}
",
        digest("A nest MUST be round"),
        digest("A nest is a home"),
        digest("A song should be loud"),
        digest("A finch may rest"),
    );
    serde_saphyr::from_str(&yaml).expect("a map")
}

/// What the tool prints about a document, and the number of differences.
fn compared(text: &str, arguments: &[&str]) -> Result<(String, usize), Failure> {
    compared_with(&[map()], text, arguments)
}

/// What the tool prints about a document that may be of several maps, and the number of differences.
fn compared_with(maps: &[Map], text: &str, arguments: &[&str]) -> Result<(String, usize), Failure> {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("birds.md");
    fs::write(&path, text).expect("written");
    let mut all = vec![path.to_str().expect("UTF-8").to_owned()];
    all.extend(arguments.iter().map(|&argument| argument.to_owned()));
    let mut printed = Vec::new();
    let differences = tool::run(&all, maps, &mut printed)?;
    Ok((String::from_utf8(printed).expect("UTF-8"), differences))
}

#[test]
fn a_document_as_it_is_mapped_has_no_difference() {
    let (printed, differences) = compared(BIRDS, &[]).expect("compared");
    assert_eq!(differences, 0, "{printed}");
    assert!(
        printed.contains("The birds, compared with its text new"),
        "{printed}"
    );
}

#[rstest]
#[case::new("A song should be loud.", "A song should be loud. It must end.", &["new: Songs", "line 5: It must end"], "none")]
#[case::changed("MUST be round", "MUST be square", &["changed: Nests", "A nest MUST be square"], "nests/round")]
#[case::definition_gone("A nest is a home.", "", &["gone: Nests"], "nests/home")]
#[case::sentence_gone("A finch may rest.", "", &["gone: Songs", "no rule, since nobody listens"], "none")]
#[case::moved("## Songs", "## Chants", &["moved: Chants, from Songs"], "songs/loud")]
fn differences_tell_the_rules_that_they_touch(
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &[&str],
    #[case] rules: &str,
) {
    let (printed, differences) = compared(&BIRDS.replace(from, to), &[]).expect("compared");
    assert!(differences > 0, "{printed}");
    for part in expected {
        assert!(printed.contains(part), "{part} is not in: {printed}");
    }
    let last = format!("differences: {differences}; rules that they touch: {rules}\n");
    assert!(printed.ends_with(&last), "{printed}");
}

#[test]
fn keywords_that_the_map_tells_otherwise_are_a_difference() {
    let mut map = map();
    map.sections[0].sentences[0].keyword = Some("SHOULD".to_owned());
    let document = Document::read("birds.md", BIRDS);
    let differences = super::compare::compare(&map, "new", &document);
    let told: Vec<String> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("other keywords: Nests"), "{told:?}");
}

#[test]
fn a_text_can_be_chosen_and_all_sentences_be_listed() {
    let (printed, differences) = compared(BIRDS, &["--text", "old"]).expect("compared");
    assert_eq!(differences, 1, "{printed}");
    assert!(printed.contains("new: Songs"), "{printed}");
    let text = BIRDS.replace("A nest is a home.", "A nest is a home. A home is warm.");
    let (printed, differences) = compared(&text, &["--all"]).expect("compared");
    assert_eq!(differences, 0, "{printed}");
    assert!(
        printed.contains("no keyword: Nests\n    line 3: A home is warm\n"),
        "{printed}"
    );
    assert!(!printed.contains("A nest is a home"), "{printed}");
}

#[test]
fn documents_of_one_title_are_told_apart_by_their_sentences() {
    let mut nests = map();
    nests.document = "The nests".to_owned();
    nests.sections.truncate(1);
    let mut songs = map();
    songs.document = "The songs".to_owned();
    songs.sections.remove(0);
    let maps = [nests, songs];
    let document_of = |text: &str| compared_with(&maps, text, &[]).expect("compared").0;
    let printed = document_of("# Birds\n## Nests\nA nest MUST be round. It must be warm.");
    assert!(printed.contains("The nests, compared"), "{printed}");
    let printed = document_of("# Birds\n## Songs\nA song should be loud. It must be warm.");
    assert!(printed.contains("The songs, compared"), "{printed}");
}

#[test]
fn bad_usage_is_no_difference() {
    let failure =
        |text: &str, arguments: &[&str]| compared(text, arguments).expect_err("bad usage").to_string();
    assert!(failure(BIRDS, &["--txt"]).contains("usage: ci/coverage DOCUMENT"));
    assert!(failure(BIRDS, &["--text"]).contains("usage: ci/coverage DOCUMENT"));
    assert!(failure(BIRDS, &["another.md"]).contains("usage: ci/coverage DOCUMENT"));
    assert_eq!(
        failure(BIRDS, &["--text", "older"]),
        "The birds has no text \"older\"; its texts are \"old\", \"new\""
    );
    assert_eq!(
        failure("# Bees", &[]),
        "no map has the title \"Bees\"; the known titles are \"Birds\""
    );
    let missing = tool::run(&["no/such.md".to_owned()], &[map()], &mut Vec::new()).expect_err("no file");
    assert_eq!(missing.to_string(), "failed to read no/such.md");
}
