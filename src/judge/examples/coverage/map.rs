//! The map of the documents: each sentence by its digest, with the rules that judge it or the reason why none does.

use std::{
    fs,
    path::{Path, PathBuf},
};

use evidence::api::Edition;
use serde::Deserialize;

/// One document, a file of `fixtures/documents`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentMap {
    /// What we call it.
    pub document: String,
    /// What rules call it in their `source`.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests look at it"))]
    pub cited: Vec<String>,
    /// Where its newest text can be read, if anywhere.
    pub newest: Option<String>,
    /// What a reader of the map needs to know of it.
    pub note: Option<String>,
    /// Its texts, oldest first.
    pub texts: Vec<DocumentText>,
    /// Its sections, in their order.
    pub sections: Vec<Section>,
}

/// One text of a document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentText {
    /// What we call it.
    pub name: String,
    /// Repository, path and commit.
    pub from: String,
    /// The suite's editions that judge by it.
    pub editions: Vec<Edition>,
}

/// One section.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its headings, and the term that its list item defines.
    pub section: String,
    /// What rules call it in their `source`, if they use other words.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests look at it"))]
    pub cited: Vec<String>,
    /// Why no rule judges the sentences that name neither rules nor a reason of their own.
    pub reason: Option<String>,
    /// Its sentences.
    pub sentences: Vec<MappedSentence>,
}

/// One sentence.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappedSentence {
    /// The beginning of the SHA-256 of its normalized text.
    pub digest: String,
    /// Its keywords; a sentence without one says what is, and rules build on it.
    pub keyword: Option<String>,
    /// The texts that have it, if not all.
    pub texts: Option<Vec<String>>,
    /// The rules that judge it.
    #[serde(default)]
    pub rules: Vec<String>,
    /// Why no rule judges it, or not all of it.
    pub reason: Option<String>,
}

impl DocumentMap {
    /// All maps, in the order of their files' names.
    pub fn all() -> Vec<DocumentMap> {
        let files = fs::read_dir(super::in_repository("fixtures/documents")).expect("fixtures/documents");
        let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
        paths.sort();
        let read = |path: &PathBuf| DocumentMap::read(path).unwrap_or_else(|failure| panic!("{failure}"));
        paths.iter().map(read).collect()
    }

    /// The map of a file.
    pub fn read(path: &Path) -> Result<DocumentMap, String> {
        let failed = |why: &dyn std::error::Error| format!("failed to read {}: {why}", path.display());
        let text = fs::read_to_string(path).map_err(|error| failed(&error))?;
        serde_saphyr::from_str(&text).map_err(|error| failed(&error))
    }

    /// All entries, with their sections.
    pub fn all_entries(&self) -> impl Iterator<Item = (&Section, &MappedSentence)> {
        let sections = self.sections.iter();
        sections.flat_map(|section| section.sentences.iter().map(move |entry| (section, entry)))
    }
}

impl DocumentText {
    /// Whether an edition judges by it: an edition of consumers by the texts of managers, and by what is named of it besides.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests ask it"))]
    pub fn is_of(&self, edition: Edition) -> bool {
        self.editions.contains(&edition) || self.editions.contains(&edition.documents())
    }

    /// The names of its editions.
    pub fn editions(&self) -> String {
        let names: Vec<&str> = self.editions.iter().map(|edition| edition.name()).collect();
        names.join(", ")
    }
}

impl Section {
    /// Why no rule judges an entry of this section, if there is a reason.
    pub fn reason<'a>(&'a self, entry: &'a MappedSentence) -> Option<&'a str> {
        let of_the_section = self.reason.as_deref().filter(|_| entry.rules.is_empty());
        entry.reason.as_deref().or(of_the_section)
    }
}

impl MappedSentence {
    /// Whether a text has the sentence.
    pub fn is_in(&self, text: &str) -> bool {
        let texts = self.texts.as_ref();
        texts.is_none_or(|texts| texts.iter().any(|one| one == text))
    }
}
