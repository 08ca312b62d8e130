//! `schema`: the JSON Schemas of the suite's files.

use clap::{Args, builder::PossibleValuesParser};
use collect::{driver::DriverFile, members_schema};
use evidence::json_schema;
use judge::Waivers;
use schemars::Schema;
use serde_json::{Map, Value};

use crate::command::{
    config,
    terminal::{
        exit::{Exit, Failure},
        print::print,
    },
};

/// Print the JSON Schema of a file, for example for an editor
#[derive(Debug, Args)]
pub struct PrintSchema {
    /// The file
    #[arg(value_parser = PossibleValuesParser::new(TABLE.iter().map(|published| published.name)))]
    name: String,
}

/// A published schema, which is also in docs/schemas.
struct Published {
    /// Its name, and that of its file.
    name: &'static str,
    /// The file that it describes.
    title: &'static str,
    /// The version of the file's format, and so of the schema.
    version: &'static str,
    /// Who reads or writes that file.
    description: &'static str,
    /// Makes it.
    make: fn() -> Schema,
}

/// All schemas. To add one, add an entry and run `just schemas`.
const TABLE: [Published; 6] = [
    Published {
        name: "configuration",
        title: "Configuration",
        version: "v1",
        description: "What `run` and `replay` read with --config: flags, and who made the implementation",
        make: config::schema,
    },
    Published {
        name: "waivers",
        title: "Waivers",
        version: "v1",
        description: "What `run` and `replay` read with --waivers: known violations, each with a reason and a last day",
        make: json_schema::read::<Waivers>,
    },
    Published {
        name: "driver",
        title: "Driver file",
        version: "v1",
        description: "What `run` reads with --driver: how to drive an implementation",
        make: DriverFile::schema,
    },
    Published {
        name: "members",
        title: "Members",
        version: "v1",
        description: "What `run` reads with --members: for each profile, as namespace/name, a kubeconfig of its member",
        make: members_schema,
    },
    Published {
        name: "evidence",
        title: "Record of an evidence file",
        version: "v3",
        description: "One line of what `run` writes with --record: an object whose only key names the record's kind",
        make: evidence::file::schema,
    },
    Published {
        name: "json-report",
        title: "JSON report",
        version: "v1",
        description: "What `run` and `replay` write with --json",
        make: report::json::schema,
    },
];

impl PrintSchema {
    /// Prints it.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn execute(self) -> Result<Exit, Failure> {
        let published = TABLE.iter().find(|published| published.name == self.name);
        // The names are those that clap takes.
        let text = published.map(Published::text).unwrap_or_default();
        print(&text).map(|()| Exit::Success)
    }
}

impl Published {
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
