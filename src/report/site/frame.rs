//! What all pages of the board have: their style, policy and title, and the way to the root.

use crate::html::shared;

const STYLE: &str = include_str!("../templates/site/style.css");
const SCRIPT: &str = include_str!("../templates/site/script.js");

/// The style and the policies, made once.
pub(super) struct Frames {
    style: String,
    without_script: String,
    with_script: String,
}

/// The frame of one page.
pub(super) struct Frame<'a> {
    pub(super) policy: &'a str,
    pub(super) style: &'a str,
    pub(super) script: &'static str,
    pub(super) title: String,
    /// The way from the page to the board's root: empty, or ends with a slash.
    pub(super) root: String,
    pub(super) version: &'static str,
}

impl Frames {
    pub(super) fn new() -> Self {
        let style = shared::style(STYLE);
        Self {
            without_script: shared::policy(&style, ""),
            with_script: shared::policy(&style, SCRIPT),
            style,
        }
    }

    /// The frame of a page at that path from the board's root, without a script.
    pub(super) fn plain(&self, path: &str, title: String) -> Frame<'_> {
        Frame {
            policy: &self.without_script,
            style: &self.style,
            script: "",
            title,
            root: "../".repeat(path.matches('/').count()),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The same with the script that filters a matrix.
    pub(super) fn filtered(&self, path: &str, title: String) -> Frame<'_> {
        Frame {
            policy: &self.with_script,
            script: SCRIPT,
            ..self.plain(path, title)
        }
    }
}
