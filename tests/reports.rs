//! Reports, as those who read them read them: parsers, schemas, runners of workflows, and people.

mod formats;
