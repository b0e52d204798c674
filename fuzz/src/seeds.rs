//! Writes every target's seeds to a folder of its name below the given folder, and prints the names. The
//! encoders make the seeds, so they always follow changes of a format.

#![allow(clippy::print_stdout, reason = "the script reads the names")]

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("pass the folder for the seeds"));
    };
    let engine = syncline_engine::fuzzing::TARGETS;
    let engine = engine.map(|target| (target.name, (target.seeds)()));
    let servers = syncline_stores::fuzzing::TARGETS;
    let servers = servers.map(|target| (target.name, (target.seeds)()));
    for (name, seeds) in engine.into_iter().chain(servers) {
        let corpus = folder.join(name);
        fs::create_dir_all(&corpus)?;
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(corpus.join(format!("seed-{number:02}")), seed)?;
        }
        println!("{name}");
    }
    Ok(())
}
