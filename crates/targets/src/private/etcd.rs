//! etcd, one member that is its own cluster.

use super::ground::{Ground, free_port};
use super::recipe::{Recipe, program, words};
use super::wanted::Wanted;
use syncline_contract::Durability;

/// The URL of one that listens there.
pub(super) fn url(wanted: &Wanted, port: u16) -> String {
    format!("etcd://127.0.0.1:{port}/{}", wanted.options("?"))
}

/// Refuses what it has no settings for.
pub(super) fn fits(wanted: &Wanted) -> Result<(), String> {
    if wanted.cache_bytes.is_some() {
        return Err("cache: etcd maps its file and has no cache to size".to_owned());
    }
    if wanted.durability != Durability::Data {
        return Err(
            wanted.refused("etcd syncs the data of its log before it answers, and only that")
        );
    }
    Ok(())
}

pub(super) fn recipe(wanted: &Wanted, ground: &Ground) -> Result<Recipe, String> {
    fits(wanted)?;
    let server = program(&["etcd"], "etcd-server")?;
    let clients = format!("http://127.0.0.1:{}", ground.port);
    let peers = format!("http://127.0.0.1:{}", free_port()?);
    let serves = words(
        &server,
        [
            "--name=private".to_owned(),
            format!("--data-dir={}", ground.text("data")),
            format!("--listen-client-urls={clients}"),
            format!("--advertise-client-urls={clients}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=private={peers}"),
        ],
    );
    Ok(Recipe {
        prepares: Vec::new(),
        serves,
        stop: "KILL",
        urls: vec![url(wanted, ground.port)],
        ready: None,
    })
}
