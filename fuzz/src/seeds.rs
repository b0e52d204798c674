//! Writes every target's seeds below the folder that is named, into one of the target's name, and prints
//! the names. Seeds are made by the encoders, so they never fall behind a change of a format.

#![allow(clippy::print_stdout, reason = "the script reads the names")]

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("name the folder for the seeds"));
    };
    for target in syncline_engine::fuzzing::TARGETS {
        let corpus = folder.join(target.name);
        fs::create_dir_all(&corpus)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(corpus.join(format!("seed-{number:02}")), seed)?;
        }
        println!("{}", target.name);
    }
    Ok(())
}
