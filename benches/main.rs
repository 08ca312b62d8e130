//! The benchmarks, each of which prints a table: see `benches/README.md`.
//!
//! One program, since each links the whole suite.

mod dumps;
mod fleet;
mod hub;
mod inventory;
mod measure;
mod rules;
mod watching;

use clap::Parser;

/// Measure the suite, side by side with something else
#[derive(Parser)]
#[command(bin_name = "cargo bench --bench suite --")]
struct Cli {
    #[command(subcommand)]
    benchmark: Benchmark,
    /// Comes from cargo
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(clap::Subcommand)]
enum Benchmark {
    Dumps(dumps::Arguments),
    Hub(hub::Arguments),
    Inventory(inventory::Arguments),
    Rules(rules::Arguments),
    Watching(watching::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().benchmark {
        Benchmark::Dumps(arguments) => dumps::run(arguments),
        Benchmark::Hub(arguments) => hub::run(arguments),
        Benchmark::Inventory(arguments) => inventory::run(arguments),
        Benchmark::Rules(arguments) => Ok(rules::run(arguments)?),
        Benchmark::Watching(arguments) => watching::run(arguments),
    }
}
