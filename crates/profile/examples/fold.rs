//! Folds a stacks file by the map of a product, or by one's own, and prints each metric by module:
//! `fold STACKS PRODUCT VERSION` or `fold STACKS MAP.toml`.

#![allow(clippy::print_stdout, reason = "an example speaks to the terminal")]

use std::fs::{File, read_to_string};
use std::io::BufReader;
use syncline_profile::{Depth, Map, MetricCost, Profile, View, fold, functions};

const USAGE: &str = "usage: fold STACKS PRODUCT VERSION, or fold STACKS MAP.toml";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (stacks, map) = match arguments.as_slice() {
        [stacks, path] => {
            let text = read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
            let map = Map::parse(&text, path).map_err(|error| error.to_string())?;
            (stacks, map)
        }
        [stacks, product, version] => {
            let map = Map::for_product(product, version);
            (stacks, map.ok_or_else(|| format!("no map of {product}"))?)
        }
        _ => return Err(USAGE.to_owned()),
    };
    let file = File::open(stacks).map_err(|error| format!("{stacks}: {error}"))?;
    let profile = Profile::read(&mut BufReader::new(file)).map_err(|error| error.to_string())?;
    let cost = fold(&profile, &map, View::Innermost);
    for warning in &cost.warnings {
        println!("{warning}");
    }
    for metric in &cost.metrics {
        print(metric);
    }
    println!("\nstacks of no module, by the innermost function outside of the system");
    let rows = functions(&profile, &map, Depth::OutsideSystem, |_, _| true);
    for row in rows.iter().filter(|row| row.module.is_none()).take(25) {
        println!(
            "{:8.2} ms {:8.2} ms waiting  {} in {} < {}",
            row.cpu_ns as f64 / 1e6,
            row.wait_ns as f64 / 1e6,
            row.function.as_deref().unwrap_or("-"),
            row.object,
            row.caller.as_deref().unwrap_or("-")
        );
    }
    Ok(())
}

fn print(metric: &MetricCost) {
    let all: u64 = metric.charges.iter().map(|charge| charge.weight).sum();
    let looks: u64 = metric.charges.iter().map(|charge| charge.count).sum();
    let share = |weight: u64| 100.0 * weight as f64 / all.max(1) as f64;
    println!(
        "\n{}: {:?}; {all} by {looks} looks, {:.1} % by a guess",
        metric.metric.name(),
        metric.how,
        share(metric.guessed)
    );
    for charge in &metric.charges {
        let module = charge.module.map_or("unknown", |module| module.name());
        println!(
            "{:>6.1} %  {:?} {module}",
            share(charge.weight),
            charge.class
        );
    }
}
