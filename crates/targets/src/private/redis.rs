//! Redis with its append-only file. No configuration file is read.

use super::ground::Ground;
use super::recipe::{CONNECTIONS, Recipe, program, words};
use super::wanted::Wanted;
use syncline_contract::Durability;

pub(super) fn recipe(wanted: &Wanted, ground: &Ground) -> Result<Recipe, String> {
    if wanted.cache_bytes.is_some() {
        return Err("cache: Redis keeps everything in memory and has no cache to size".to_owned());
    }
    let server = program(&["redis-server"], "redis-server")?;
    let (append, sync) = match wanted.durability {
        Durability::None => ("no", "no"),
        Durability::Os => ("yes", "no"),
        Durability::Data => ("yes", "always"),
        Durability::Full => {
            return Err(wanted.refused("Redis syncs data only; the most is data"));
        }
    };
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
        urls: vec![format!(
            "redis://127.0.0.1:{}/{}",
            ground.port,
            wanted.options("?")
        )],
        ready: None,
    })
}
