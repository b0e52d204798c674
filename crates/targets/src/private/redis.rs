//! Redis with its append-only file. No configuration file is read.

use super::ground::Ground;
use super::recipe::{CONNECTIONS, Recipe, program, words};
use super::wanted::Wanted;
use syncline_contract::Durability;

/// The URL of one that listens there.
pub(super) fn url(wanted: &Wanted, port: u16) -> String {
    format!("redis://127.0.0.1:{port}/{}", wanted.options("?"))
}

/// `appendonly` and `appendfsync` for what is wanted, or why it cannot be.
pub(super) fn appends(wanted: &Wanted) -> Result<(&'static str, &'static str), String> {
    if wanted.cache_bytes.is_some() {
        return Err("cache: Redis keeps everything in memory and has no cache to size".to_owned());
    }
    match wanted.durability {
        Durability::None => Ok(("no", "no")),
        Durability::Os => Ok(("yes", "no")),
        Durability::Data => Ok(("yes", "always")),
        Durability::Full => Err(wanted.refused("Redis syncs data only; the most is data")),
    }
}

pub(super) fn recipe(wanted: &Wanted, ground: &Ground) -> Result<Recipe, String> {
    let (append, sync) = appends(wanted)?;
    let server = program(&["redis-server"], "redis-server")?;
    let mut serves = words(&server, ["--port".to_owned(), ground.port.to_string()]);
    let settings = [
        ("--bind", "127.0.0.1"),
        ("--dir", &ground.text("")),
        ("--save", ""),
        ("--appendonly", append),
        ("--appendfsync", sync),
        ("--maxclients", &CONNECTIONS.to_string()),
        ("--daemonize", "no"),
    ];
    for (name, value) in settings {
        serves.extend([name.into(), value.into()]);
    }
    Ok(Recipe {
        prepares: Vec::new(),
        serves,
        stop: "KILL",
        urls: vec![url(wanted, ground.port)],
        ready: None,
    })
}
