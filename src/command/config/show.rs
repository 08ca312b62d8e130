//! `--print-config`: the effective configuration, as a file that can be read again.

use std::{fmt::Write as _, path::absolute};

use anyhow::{Context as _, anyhow};
use clap::{ArgMatches, Command, parser::ValueSource};
use evidence::About;
use report::yaml::flow;
use serde_json::{Value, json};

use super::keys::{ABOUT, API_VERSION, KIND, Key, Kind, WORDS, keys};
use crate::command::terminal::exit::Failure;

/// Writes the text of the file. Paths are absolute, so that it can be moved; defaults are comments.
///
/// # Errors
/// When a value is not UTF-8.
pub fn shown(command: &Command, flags: &ArgMatches, about: &About) -> Result<String, Failure> {
    let mut text = format!("apiVersion: {API_VERSION}\nkind: {KIND}\n");
    for key in keys(command) {
        let source = flags.value_source(key.id());
        // Each replay names its own evidence.
        let is_key = key.arg.get_long().is_some() || key.kind == Kind::List;
        if let Some(source) = source.filter(|_| is_key)
            && let Some(value) = value(&key, flags)?
        {
            let margin = match source {
                ValueSource::DefaultValue => "# ",
                _ => "",
            };
            _ = write!(text, "{margin}{}: {}", key.name, in_one_line(&value));
        }
    }
    let about = json!(about);
    for key in ABOUT {
        if let Some(Value::Object(parts)) = about.get(key) {
            _ = writeln!(text, "{key}:");
            for (part, value) in parts {
                _ = write!(text, "  {part}: {}", in_one_line(value));
            }
        }
    }
    Ok(text)
}

fn value(key: &Key, flags: &ArgMatches) -> Result<Option<Value>, Failure> {
    if key.kind == Kind::Switch {
        return Ok(flags.get_flag(key.id()).then_some(Value::Bool(true)));
    }
    let mut texts = Vec::new();
    for raw in flags.get_raw(key.id()).into_iter().flatten() {
        let given = raw.to_str().ok_or_else(|| {
            Failure::usage(anyhow!(
                "a value of `{}` is not UTF-8, so it cannot be in a file",
                key.name
            ))
        })?;
        texts.push(if key.is_path() && !WORDS.contains(&given) {
            absolute(given)
                .context("failed to find the current folder")
                .map_err(Failure::could_not_run)?
                .display()
                .to_string()
        } else {
            given.to_owned()
        });
    }
    Ok(match key.kind {
        Kind::List => Some(json!(texts)),
        Kind::Number => texts
            .pop()
            .and_then(|text| text.parse::<u64>().ok())
            .map(Value::from),
        Kind::Switch | Kind::Text => texts.pop().map(Value::from),
    })
}

fn in_one_line(value: &Value) -> String {
    flow(value) + "\n"
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use evidence::{Environment, Implementation, Realness};
    use proptest::{collection, prelude::*};

    use super::*;
    use crate::command::{cli::Cli, config::file::File};

    proptest! {
        #[test]
        fn what_is_shown_is_read_as_it_was_given(
            context in "\\PC{1,20}|true|null|1e3|~|- a|a: b",
            skip in collection::vec("[ -~]{1,12}|no|0x1f", 1..4),
            project in "\\PC{0,20}",
        ) {
            let whole = Cli::command();
            let run = whole.find_subcommand("run").expect("it is there");
            let mut given = vec!["suite".to_owned(), "run".to_owned(), format!("--context={context}")];
            given.extend(skip.iter().map(|skip| format!("--skip={skip}")));
            let matches = Cli::command().try_get_matches_from(given).expect("flags");
            let (_, flags) = matches.subcommand().expect("run");
            let about = About {
                implementation: Some(Implementation { project, ..Implementation::default() }),
                environment: Some(Environment {
                    hub: Some(Realness::Real),
                    agents: Some(Realness::Imitated("a script: it writes".to_owned())),
                    ..Environment::default()
                }),
                ..About::default()
            };
            let text = shown(run, flags, &about).expect("all of it can stand in a file");
            let file = File::parse(&text, &keys(run)).unwrap_or_else(|flaw| panic!("{flaw}\n{text}"));
            prop_assert_eq!(file.about, about);
            let values: Vec<_> = file.settings.into_iter().map(|setting| setting.values).collect();
            prop_assert_eq!(values, [skip, vec![context]]);
        }
    }
}
