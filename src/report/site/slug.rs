//! Names of files and folders, made from other people's text.

use std::collections::BTreeSet;

/// The longest slug, in bytes, without the number that makes it unique.
const LONGEST: usize = 60;

/// The slugs of one folder. Letters are lower-case, so that they differ on every file system.
#[derive(Clone, Debug, Default)]
pub(super) struct Slugs(BTreeSet<String>);

impl Slugs {
    /// The slugs of a folder that has such files already.
    pub(super) fn beside<const N: usize>(files: [&str; N]) -> Self {
        Self(files.map(str::to_owned).into())
    }

    /// Makes a slug that the folder does not have. It consists of `a-z`, `0-9`, `-`, `_` and `.`, and begins and ends
    /// with a letter or digit.
    pub(super) fn add(&mut self, text: &str) -> String {
        let slug = slug(text);
        let numbered = (2..).map(|number| format!("{slug}-{number}"));
        let free = std::iter::once(slug.clone())
            .chain(numbered)
            .find(|slug| !self.0.contains(slug))
            .unwrap_or(slug);
        self.0.insert(free.clone());
        free
    }
}

fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if slug.len() >= LONGEST {
            break;
        }
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => slug.push(c),
            // Two dots would lead to the folder above.
            c @ ('.' | '_') if !slug.ends_with(['.', '_', '-']) => slug.push(c),
            _ if !slug.ends_with(['.', '_', '-']) => slug.push('-'),
            _ => {}
        }
    }
    let slug = slug.trim_matches(['.', '_', '-']);
    if slug.is_empty() {
        "unnamed".to_owned()
    } else {
        slug.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_plain_and_unique() {
        let mut slugs = Slugs::beside(["index.html"]);
        assert_eq!(
            slugs.add("Fleet Manager v1.2.0+build_7"),
            "fleet-manager-v1.2.0-build_7"
        );
        assert_eq!(slugs.add("../../etc/passwd"), "etc-passwd");
        assert_eq!(slugs.add("a..b"), "a.b");
        assert_eq!(slugs.add(".."), "unnamed");
        assert_eq!(slugs.add("日本"), "unnamed-2");
        assert_eq!(slugs.add("INDEX.html"), "index.html-2");
        assert_eq!(slugs.add("x-2"), "x-2");
        assert_eq!(
            (slugs.add("x"), slugs.add("X")),
            ("x".to_owned(), "x-3".to_owned())
        );
    }

    proptest::proptest! {
        #[test]
        fn no_slug_leaves_its_folder(texts in proptest::collection::vec(".{0,80}|[./\\\\a]{0,8}", 1..12)) {
            let mut slugs = Slugs::default();
            let mut made = BTreeSet::new();
            for text in &texts {
                let slug = slugs.add(text);
                let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
                assert!(slug.chars().all(is_plain) && slug.len() < 70, "{slug}");
                assert!(slug.starts_with(|c: char| c.is_ascii_alphanumeric()) && !slug.contains(".."), "{slug}");
                assert!(made.insert(slug));
            }
        }
    }
}
