//! `crd`, `rbac` and `schema`: print files that users apply, or check files with.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use collect::{Grants, ServiceAccount, driver::DriverFile, member_manifest, members_schema};
use evidence::{api::Role, json_schema};
use judge::Waivers;
use lab::crd;
use schemars::Schema;
use serde_json::{Map, Value};

use crate::command::{Exit, Failure, bail_usage, config, flags::target::namespace, print, role_parser};

/// Print the CustomResourceDefinitions, for `kubectl apply -f -` (Kubernetes 1.30 and newer)
#[derive(Debug, Args)]
pub struct Crd {}

impl Crd {
    /// Prints them as a stream of YAML documents.
    pub fn execute(self) -> Result<Exit, Failure> {
        print(&crd::yaml())
    }
}

/// Print the minimal RBAC role for a run, for `kubectl apply -f -`
#[derive(Debug, Args)]
pub struct Rbac {
    /// Grant access to this namespace only, by a Role instead of a ClusterRole (repeatable)
    #[arg(short = 'n', long = "namespace", value_name = "NS", value_parser = namespace)]
    namespaces: Vec<String>,
    /// Who is judged: manager, scheduler, or both, with a comma between them, or consumer
    #[arg(long = "role", value_name = "ROLE", value_delimiter = ',', default_value = "manager", value_parser = role_parser())]
    roles: Vec<Role>,
    /// Grant what a run with this driver file needs besides: a namespace of its own with --allow-mutations; for a consumer,
    /// its decisions, and reading what it makes
    #[arg(long, value_name = "FILE")]
    driver: Option<PathBuf>,
    /// Grant no access to consumer Secrets: the rules that need them are skipped
    #[arg(long)]
    no_secrets: bool,
    /// Grant no dry-run writes, which RBAC cannot distinguish from real writes
    #[arg(long)]
    no_probe: bool,
    /// Grant the writes of `run --allow-mutations`: to profiles of members that it joined and to one of its own; with
    /// `--role scheduler`, to slices instead
    #[arg(long)]
    allow_mutations: bool,
    /// Print the role for reading a member instead (`run --members`)
    #[arg(long, conflicts_with_all = ["namespaces", "roles", "driver", "no_secrets", "no_probe", "allow_mutations"])]
    members: bool,
    /// Print also this ServiceAccount, and the binding of the role to it. The names of role and binding have those of the
    /// account, so that accounts share nothing. To take it all away, pipe the same into `kubectl delete -f -`
    #[arg(long, value_name = "NAMESPACE:NAME")]
    bind: Option<ServiceAccount>,
}

impl Rbac {
    pub fn execute(self) -> Result<Exit, Failure> {
        let judges = |role| self.roles.contains(&role);
        let file = self.driver_file()?;
        let consumer = file.consumer.unwrap_or_default();
        let reads_placements = consumer.claims().reads_placements();
        // Without its own profiles, a run shows a consumer nothing.
        let roles = Role::ALL
            .into_iter()
            .filter(|role| judges(*role) && (self.allow_mutations || *role == Role::Consumer))
            .chain(reads_placements.then_some(Role::Scheduler));
        let grants = Grants {
            namespaces: self.namespaces,
            placements: judges(Role::Scheduler) || reads_placements,
            // No rule on placements needs Secrets or dry runs.
            secrets: !self.no_secrets && judges(Role::Manager),
            probe: !self.no_probe && judges(Role::Manager),
            mutations: roles.collect(),
            own_namespace: self.allow_mutations && file.own_namespace.is_some(),
            outputs: consumer.outputs,
        };
        let account = self.bind.as_ref();
        let manifest = if self.members {
            member_manifest(account)
        } else {
            grants.manifest(account)
        };
        print(&manifest)
    }

    /// The driver file, which may ask for more; an empty one without the flag.
    fn driver_file(&self) -> Result<DriverFile, Failure> {
        let Some(path) = &self.driver else {
            return Ok(DriverFile::default());
        };
        let mut file = DriverFile::read(path).map_err(Failure::usage)?;
        if !self.roles.contains(&Role::Consumer) && file.own_namespace.is_none() {
            bail_usage!("--driver is for a consumer, or for a file with `ownNamespace`: add --role consumer");
        }
        if !self.roles.contains(&Role::Consumer) {
            file.consumer = None;
        }
        Ok(file)
    }
}

/// Print the JSON Schema of a file, for example for an editor
#[derive(Debug, Args)]
pub struct PrintSchema {
    /// The file
    #[arg(value_parser = PossibleValuesParser::new(TABLE.iter().map(|published| published.name)))]
    name: String,
}

/// A published schema, which is also in docs/schemas.
struct PublishedSchema {
    /// Its name, and that of its file.
    name: &'static str,
    title: &'static str,
    /// The version of the file's format, and so of the schema.
    version: &'static str,
    /// Who reads or writes that file.
    description: &'static str,
    make: fn() -> Schema,
}

/// All schemas. To add one, add an entry and run `just schemas`.
const TABLE: [PublishedSchema; 6] = [
    PublishedSchema {
        name: "configuration",
        title: "Configuration",
        version: "v1",
        description: "What `run` and `replay` read with --config: flags, and who made the implementation",
        make: config::schema,
    },
    PublishedSchema {
        name: "waivers",
        title: "Waivers",
        version: "v1",
        description: "What `run` and `replay` read with --waivers: known violations, each with a reason and a last day",
        make: json_schema::of_input::<Waivers>,
    },
    PublishedSchema {
        name: "driver",
        title: "Driver file",
        version: "v1",
        description: "What `run` reads with --driver: how to drive an implementation",
        make: DriverFile::schema,
    },
    PublishedSchema {
        name: "members",
        title: "Members",
        version: "v1",
        description: "What `run` reads with --members: for each profile, as namespace/name, a kubeconfig of its member",
        make: members_schema,
    },
    PublishedSchema {
        name: "evidence",
        title: "Record of an evidence file",
        version: "v3",
        description: "One line of what `run` writes with --record: an object whose only key names the record's kind",
        make: evidence::file::schema,
    },
    PublishedSchema {
        name: "json-report",
        title: "JSON report",
        version: "v1",
        description: "What `run` and `replay` write with --json",
        make: report::json::schema,
    },
];

impl PrintSchema {
    pub fn execute(self) -> Result<Exit, Failure> {
        let published = TABLE.iter().find(|published| published.name == self.name);
        // The names are those that clap takes.
        let text = published.map(PublishedSchema::text).unwrap_or_default();
        print(&text)
    }
}

impl PublishedSchema {
    /// The schema with its metadata first.
    fn text(&self) -> String {
        let mut schema = (self.make)();
        let id = format!(
            "urn:clusterprofile-conformance:schema:{}:{}",
            self.name, self.version
        );
        let mut whole = Map::new();
        for (key, value) in [
            ("$schema", schemars::consts::meta_schemas::DRAFT2020_12),
            ("$id", &id),
            ("title", self.title),
            ("description", self.description),
        ] {
            whole.insert(key.to_owned(), value.into());
            schema.remove(key);
        }
        whole.extend(schema.ensure_object().clone());
        let mut whole = Value::Object(whole);
        unwrap_lines(&mut whole);
        format!("{whole:#}\n")
    }
}

/// Joins the lines of descriptions, which were wrapped for the source file.
fn unwrap_lines(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            map.values_mut().for_each(unwrap_lines);
        }
        Value::Array(list) => list.iter_mut().for_each(unwrap_lines),
        _ => {}
    }
}
