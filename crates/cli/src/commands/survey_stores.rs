//! The stores of a survey, their directories and their numbers of clients.

use super::environment;
use super::live_option::with_live_option;
use crate::args::SurveyArgs;
use crate::recording_mount;
use crate::registry::TargetRegistry;
use std::path::{Path, PathBuf};
use syncline_console::{CannotRun, terminal};
use syncline_contract::encoded;
use syncline_contract::{ClientModel, LogLocation, Target};

/// With more threads the scheduler is measured; higher numbers of clients run with queue and futures only.
const THREADS_MAX: usize = 100;

/// A store with one setting and client model.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its name in messages.
    pub(super) name: String,
    pub(super) url: String,
    /// The store's name in records, instead of its product and version.
    pub(super) alias: Option<String>,
    /// Its name in tables.
    pub(super) target: String,
    /// The requested durability.
    pub(super) durability: String,
    pub(super) model: ClientModel,
    pub(super) log_location: LogLocation,
    /// The numbers of clients to run.
    pub(super) client_counts: Vec<usize>,
    /// The numbers of clients not to run, and why.
    pub(super) not_run: Vec<(usize, String)>,
}

/// Chooses the directories to probe and the stores to run in them.
pub(super) fn choose<S: TargetRegistry>(
    args: &SurveyArgs,
    registry: &S,
) -> Result<(Vec<PathBuf>, Vec<Entry>), CannotRun> {
    let mut directories = Vec::new();
    for directory in &args.dir {
        environment::must_be_directory(directory)?;
        recording_mount::refuse_recording_mount(directory)?;
        let real = environment::real(directory)?;
        if !directories.contains(&real) {
            directories.push(real);
        }
    }
    let mut entries = Vec::new();
    for (number, directory) in directories.iter().enumerate() {
        for url in built_in(directory, number) {
            entries.push(entry(args, registry, &url, None)?);
        }
    }
    let named = args.on.iter().map(|url| with_live_option(url, args.live));
    for url in named.chain(registry.own().map(str::to_owned)) {
        if is_built_in(&url) && !directories.is_empty() {
            terminal::note(&format!(
                "--on {url} is ignored, since every survey includes it in each directory; give options or a path \
                 to add another configuration"
            ));
            continue;
        }
        // The engine and SQLite have no product name to withhold.
        let entry = entry(args, registry, &url, args.alias.clone())?;
        if let LogLocation::Directory(directory) = &entry.log_location
            && !directories.contains(directory)
        {
            directories.push(directory.clone());
        }
        entries.push(entry);
    }
    Ok((directories, entries))
}

/// The URLs of the stores that every survey includes, with private paths.
fn built_in(directory: &Path, number: usize) -> Vec<String> {
    let private = |store: &str| {
        let name = format!(".syncline-survey-{}-{number}-{store}", std::process::id());
        encoded(&directory.join(name).display().to_string())
    };
    let mut urls = Vec::new();
    if syncline_stores::listings().any(|listing| listing.name == "engine") {
        urls.push(format!("engine:{}?durability=data", private("engine")));
    }
    let sqlite = private("sqlite.db");
    urls.push(format!("sqlite:{sqlite}?durability=data"));
    urls.push(format!("sqlite:{sqlite}?durability=data&client=queue"));
    urls
}

/// True for the bare name of a store that every survey includes.
fn is_built_in(url: &str) -> bool {
    built_in(Path::new(""), 0).iter().any(|known| known.split(':').next() == Some(url))
}

fn entry<S: TargetRegistry>(
    args: &SurveyArgs,
    registry: &S,
    url: &str,
    alias: Option<String>,
) -> Result<Entry, CannotRun> {
    let target = registry.open_checked(url)?;
    let can = target.capabilities();
    let model = can.client_model;
    let (mut client_counts, mut not_run) = (Vec::new(), Vec::new());
    for clients in &args.clients {
        match refusal(model, can.clients_max, *clients) {
            None => client_counts.push(*clients),
            Some(why) => not_run.push((*clients, why)),
        }
    }
    Ok(Entry {
        name: format!("{} ({})", target.name(), model.word()),
        url: url.to_owned(),
        alias,
        target: target.name(),
        durability: durability(url),
        model,
        log_location: real(target.log_location()),
        client_counts,
        not_run,
    })
}

fn refusal(model: ClientModel, clients_max: Option<usize>, clients: usize) -> Option<String> {
    if clients_max.is_some_and(|most| clients > most) {
        return Some("more clients than the store allows".to_owned());
    }
    let threads = model == ClientModel::Threads && clients > THREADS_MAX;
    threads.then(|| format!("{clients} threads would measure the scheduler"))
}

fn durability(url: &str) -> String {
    let asked = url.split(['?', '&']).find_map(|part| part.strip_prefix("durability="));
    asked.unwrap_or("data").to_owned()
}

fn real(place: LogLocation) -> LogLocation {
    match place {
        // A path that cannot be resolved is kept as given; probing it reports the error.
        LogLocation::Directory(path) => {
            LogLocation::Directory(std::fs::canonicalize(&path).unwrap_or(path))
        }
        nowhere @ LogLocation::Nowhere(_) => nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::{THREADS_MAX, durability, encoded, is_built_in, refusal};
    use syncline_contract::ClientModel;

    #[test]
    fn threads_end_at_the_limit_of_the_scheduler() {
        assert!(refusal(ClientModel::Threads, None, THREADS_MAX).is_none());
        assert!(refusal(ClientModel::Threads, None, 1_000).is_some_and(|why| why.contains("1000")));
        assert!(refusal(ClientModel::Queue, None, 1_000).is_none());
        assert!(refusal(ClientModel::Queue, Some(10), 11).is_some());
    }

    #[test]
    fn only_a_bare_name_is_a_built_in_store() {
        assert!(is_built_in("sqlite") && is_built_in("engine"));
        for other in ["sqlite?durability=os", "sqlite:x.db", "null", "engine:e"] {
            assert!(!is_built_in(other), "{other}");
        }
    }

    #[test]
    fn urls_keep_their_meaning() {
        assert_eq!(encoded("/a?b&c%d"), "/a%3Fb%26c%25d");
        assert_eq!(durability("sqlite?client=queue&durability=os"), "os");
        assert_eq!(durability("sqlite"), "data");
    }
}
