//! `policies`: the rules as admission policies.

use std::fmt::Write as _;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use evidence::{
    Claim, Scope,
    api::{Edition, Feature, Role},
    policies::LABEL_EDITION,
};
use judge::{
    policies::{self, Options},
    rules::Level,
};

use crate::command::{
    flags::{scope, selection::SelectionFlags},
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Print the rules as ValidatingAdmissionPolicies, for `kubectl apply -f -`: the hub then warns about each write that
/// breaks one (Kubernetes 1.30 and newer)
#[derive(Debug, Args)]
pub struct PrintPolicies {
    /// The edition of the documents: standard, 2026-07 or 2026-09
    #[arg(long, default_value_t)]
    edition: Edition,
    /// The lowest level of the rules to print: must, should or may
    #[arg(long, value_name = "LEVEL", default_value = "may")]
    level: LevelName,
    /// Have the hub deny writes that break rules of this level, which can only be must. A denied status write keeps the
    /// inventory from telling what happens to its member
    #[arg(long, value_name = "LEVEL", value_parser = must)]
    deny: Option<LevelName>,
    /// A feature that the implementation claims, such as consumer-secrets
    #[arg(long = "feature", value_name = "FEATURE")]
    features: Vec<Feature>,
    #[command(flatten)]
    selection: SelectionFlags,
    /// Judge only writes to this namespace (repeatable)
    #[arg(short = 'n', long = "namespace", value_name = "NS", value_parser = scope::namespace, help_heading = "Scope")]
    namespaces: Vec<String>,
    /// Judge only writes to the profiles of this cluster manager, and no Secrets: they do not say whose they are
    #[arg(long, value_name = "NAME", value_parser = scope::manager, help_heading = "Scope")]
    cluster_manager: Option<String>,
}

/// A level, as the command line spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LevelName {
    /// MUST rules only
    Must,
    /// MUST and SHOULD rules
    Should,
    /// All rules
    May,
}

/// Reads the value of `--deny`.
fn must(given: &str) -> Result<LevelName, String> {
    match LevelName::from_str(given, true) {
        Ok(LevelName::Must) => Ok(LevelName::Must),
        Ok(_) => {
            Err("only must can be denied: managers may have reasons to break a SHOULD or a MAY".to_owned())
        }
        Err(_) => Err("there is no such level: the only one that can be denied is must".to_owned()),
    }
}

const OUTAGE: &str = "a denied status write is an outage of the inventory: the profile then tells nothing new of its \
                      member. Watch the warnings for a while before you deny";

impl PrintPolicies {
    /// Prints the policies and their bindings as a stream of YAML documents.
    ///
    /// # Errors
    /// When no rule is left, or standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        if self.edition.role() != Role::Manager {
            return Err(Failure::usage(anyhow!(
                "edition {} is for the role {}: policies are made from rules on ClusterProfiles only; choose standard, \
                 2026-07 or 2026-09",
                self.edition,
                self.edition.role()
            )));
        }
        let claim = Claim {
            edition: self.edition,
            ..Claim::default()
        };
        let options = Options {
            edition: self.edition,
            level: Some(self.level.into()),
            denies: self.deny.is_some(),
            features: self.features,
            selection: self.selection.resolve(&claim)?,
            scope: Scope {
                namespaces: self.namespaces,
                cluster_manager: self.cluster_manager,
                ..Scope::default()
            },
        };
        let manifests = policies::manifests(&options);
        if manifests.is_empty() {
            return Err(Failure::usage(anyhow!(
                "none of these rules can be a policy: `list --format json` tells which can, and --cluster-manager leaves out \
                 those on Secrets"
            )));
        }
        if options.denies {
            anstream::eprintln!("warning: {OUTAGE}");
        }
        let mut text = head(&options);
        for manifest in manifests {
            let yaml_options = serde_saphyr::ser_options! { prefer_block_scalars: false };
            let document = serde_saphyr::to_string_with_options(&manifest, yaml_options)
                .map_err(|error| Failure::could_not_run(anyhow!(error)))?;
            text.push_str("---\n");
            text.push_str(&document);
        }
        print(&text).map(|()| Exit::Success)
    }
}

/// What a reader of the file must know.
fn head(options: &Options) -> String {
    let rules: Vec<_> = policies::rules_of(options).collect();
    let whole = rules.iter().filter(|(_, facts)| facts.is_whole()).count();
    let mut text = format!(
        "# Rules of edition {} as admission policies: {whole} whole, {} in part. They judge each write on its own.\n\
         # Made by clusterprofile-conformance {} policies. Needs Kubernetes 1.30.\n\
         # Remove: kubectl delete validatingadmissionpolicybindings,validatingadmissionpolicies -l {}\n",
        options.edition,
        rules.len() - whole,
        env!("CARGO_PKG_VERSION"),
        LABEL_EDITION,
    );
    if options.denies {
        let _ = writeln!(text, "# WARNING: {OUTAGE}.");
    }
    text
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Must => Level::Must,
            LevelName::Should => Level::Should,
            LevelName::May => Level::May,
        }
    }
}
