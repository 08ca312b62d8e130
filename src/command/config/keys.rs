//! The keys of the file: made from the flags of `run`.

use std::any::TypeId;

use clap::{Arg, ArgAction, Command, ValueHint};

/// Its `apiVersion`.
pub const API_VERSION: &str = "conformance.clusterprofile/v1";
/// Its `kind`.
pub const KIND: &str = "Configuration";
/// The keys without a flag: who made what is judged, who submits the report, and what was real.
pub const ABOUT: [&str; 3] = ["implementation", "submittedBy", "environment"];

/// Values of path flags that are no paths.
pub const WORDS: [&str; 4] = ["-", "from-secrets", "none", "reference"];

/// Flags without a key, for a single call.
const NO_KEYS: [&str; 6] = ["config", "print_config", "clean", "color", "help", "version"];

/// Flags whose names would be ambiguous in a file.
const RENAMED: [(&str, &str); 1] = [("api_version", "profileApiVersion")];

/// A key, and the flag that it stands for.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// The flag, or the argument without a flag.
    pub arg: Arg,
}

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A number that is not negative.
    Number,
    /// One text.
    Text,
    /// Any number of texts.
    List,
}

impl Key {
    fn of(arg: &Arg) -> Self {
        let is_number = [TypeId::of::<u64>(), TypeId::of::<usize>()]
            .iter()
            .any(|number| arg.get_value_parser().type_id() == *number);
        let id = arg.get_id().as_str();
        let renamed = RENAMED.iter().find(|(flag, _)| *flag == id);
        Self {
            name: match renamed {
                Some((_, name)) => (*name).to_owned(),
                None => camel_case(arg.get_long().unwrap_or(id)),
            },
            kind: match arg.get_action() {
                ArgAction::SetTrue => Kind::Switch,
                ArgAction::Append => Kind::List,
                _ if is_number => Kind::Number,
                _ => Kind::Text,
            },
            arg: arg.clone(),
        }
    }

    /// The argument's id in clap's matches.
    pub fn id(&self) -> &str {
        self.arg.get_id().as_str()
    }

    /// Whether its values are files or folders.
    pub fn is_path(&self) -> bool {
        matches!(
            self.arg.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath | ValueHint::ExecutablePath
        )
    }
}

/// Lists the keys for a command's arguments, in the order of its help.
pub fn keys(command: &Command) -> Vec<Key> {
    let is_key = |arg: &&Arg| !is_for_one_call(arg.get_id().as_str());
    command.get_arguments().filter(is_key).map(Key::of).collect()
}

/// Whether an argument is for a single call, so that it has no key.
pub fn is_for_one_call(id: &str) -> bool {
    NO_KEYS.contains(&id)
}

/// `no-probe` and `no_probe` become `noProbe`.
pub fn camel_case(name: &str) -> String {
    let mut words = name.split(['-', '_']);
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        name + &head.to_uppercase() + tail
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::command::cli::Cli;

    #[test]
    fn every_flag_of_run_has_a_key_of_its_own() {
        let whole = Cli::command();
        let run = whole.find_subcommand("run").expect("it is there");
        let keys = keys(run);
        let names: BTreeSet<&str> = keys
            .iter()
            .map(|key| &*key.name)
            .chain(["apiVersion", "kind"])
            .chain(ABOUT)
            .collect();
        assert_eq!(names.len(), keys.len() + 2 + ABOUT.len(), "{names:?}");
        let for_one_call = run.get_arguments().count() - keys.len();
        assert_eq!(for_one_call, 3, "--config, --print-config and --clean");
        let kind = |name: &str| keys.iter().find(|key| key.name == name).map(|key| key.kind);
        assert_eq!(kind("allowMutations"), Some(Kind::Switch));
        assert_eq!(kind("nodeTolerance"), Some(Kind::Number));
        assert_eq!(kind("expectProfiles"), Some(Kind::Number));
        assert_eq!(kind("clusterManagerAgent"), Some(Kind::List));
        assert_eq!(kind("clusterManager"), Some(Kind::Text));
        assert_eq!(kind("auditLog"), Some(Kind::List));
        assert_eq!(kind("filters"), Some(Kind::List));
        let paths = [
            "driver",
            "members",
            "providerFile",
            "auditLog",
            "kubeconfig",
            "from",
            "junit",
            "waivers",
        ];
        for name in paths {
            assert!(keys.iter().any(|key| key.name == name && key.is_path()), "{name}");
        }
        assert!(!keys.iter().any(|key| key.name == "context" && key.is_path()));
    }
}
