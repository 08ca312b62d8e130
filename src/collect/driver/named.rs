//! Which objects a hook names in its output.

use evidence::ObjectKey;

/// The objects that the last lines of their form have named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// By `profile: NAMESPACE/NAME`.
    pub profile: Option<ObjectKey>,
    /// By `decision: NAMESPACE/KEY`.
    pub decision: Option<ObjectKey>,
}

impl Named {
    /// Reads one line. One of another form changes nothing.
    pub fn read(&mut self, line: &str) {
        let named = |what: &str| line.trim().strip_prefix(what).and_then(profile_key);
        self.profile = named("profile:").or(self.profile.take());
        self.decision = named("decision:").or(self.decision.take());
    }
}

/// Reads `namespace/name`, where the name may be a label's value.
pub(super) fn profile_key(text: &str) -> Option<ObjectKey> {
    let (namespace, name) = text.trim().split_once('/')?;
    let fits = |part: &str| {
        let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        !part.is_empty() && part.len() <= 253 && part.chars().all(fit)
    };
    (fits(namespace) && fits(name)).then(|| ObjectKey {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(lines: &[&str]) -> [Option<String>; 2] {
        let mut named = Named::default();
        lines.iter().for_each(|line| named.read(line));
        [named.profile, named.decision].map(|key| key.map(|key| format!("{}/{}", key.namespace, key.name)))
    }

    #[test]
    fn the_last_line_of_each_form_counts() {
        let some = |key: &str| Some(key.to_owned());
        let profiles = ["profile: fleet/a", "  profile: fleet/b  ", "profile: none"];
        assert_eq!(named(&profiles), [some("fleet/b"), None]);
        assert_eq!(named(&["the profile: fleet/a", "profile: a b/c"]), [None, None]);
        assert_eq!(
            named(&["profile: fleet/a", "decision: fleet/web"]),
            [some("fleet/a"), some("fleet/web")]
        );
    }
}
