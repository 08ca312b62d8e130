//! Finds userinfo: the text before the `@` of a URL.

use super::{
    Grade, LeakKind,
    grade::Find,
    values::{looks_random, says_nothing},
};

/// Adds the userinfo of each URL, with or without a scheme.
pub(super) fn find(text: &str, finds: &mut Vec<Find>) {
    if !text.contains('@') {
        return;
    }
    for (slashes, _) in text.match_indices("//") {
        let start = slashes + 2;
        let rest = &text[start..];
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\\' | ',');
        let authority = &rest[..rest.find(ends).unwrap_or(rest.len())];
        if let Some((userinfo, host)) = authority.rsplit_once('@')
            && !userinfo.is_empty()
        {
            let grade = grade(userinfo, host, &text[..slashes]);
            finds.push(Find::new(
                start..start + userinfo.len(),
                LeakKind::UserInfo,
                grade,
            ));
        }
    }
}

/// Grades userinfo. A plain user name, as in `ssh://git@host`, is no secret unless it looks like a token. An image may
/// have a tag and a digest, and a password may be masked.
fn grade(userinfo: &str, host: &str, before: &str) -> Grade {
    let is_image = host.starts_with("sha256:") || host.starts_with("sha512:");
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    let is_url = before.ends_with(':') && !is_image;
    if is_url && (!says_nothing(password) || looks_random(user)) {
        Grade::Certain
    } else {
        Grade::Shaped
    }
}
