//! `syncline private PRODUCT`: a temporary server that runs until Ctrl-C.

use super::environment;
use crate::args::PrivateArgs;
use crate::{interrupt, private_servers};
use std::time::Duration;
use syncline_console::{CannotRun, Outcome, Verdict, terminal};
use syncline_launcher::{LaunchSpec, PrivateServer};

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Starts a server, prints its URLs, and keeps it running until it is stopped.
pub(crate) fn private(args: &PrivateArgs) -> Outcome {
    if let Some(directory) = &args.dir {
        environment::must_be_directory(directory)?;
    }
    // Installed before the server starts, so that every signal stops it.
    interrupt::stop_flag();
    let server = PrivateServer::start(&launch_spec(args))?;
    terminal::note(&private_servers::started(&server));
    if let Some(why) = server.fallback() {
        terminal::warn(why);
    }
    terminal::print(&(server.urls().join("\n") + "\n"))?;
    terminal::note("Ctrl-C stops and removes it");
    while !interrupt::stopped() {
        if server.has_ended() {
            return Err(CannotRun::because("the server ended unexpectedly; its data is gone"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    drop(server);
    terminal::note("stopped and removed");
    Ok(Verdict::Holds)
}

fn launch_spec(args: &PrivateArgs) -> LaunchSpec {
    LaunchSpec {
        durability: args.durability.0,
        cache_bytes: args.cache,
        cpus: args.cpus.clone(),
        directory: args.dir.clone(),
        jvm: args.jvm.iter().flat_map(|one| one.0.clone()).collect(),
        jars: args.jars.clone(),
        ..LaunchSpec::new(args.product.0)
    }
}
