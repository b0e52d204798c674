//! A witness on loopback, and disks that lose power.

use crate::disk::{
    Cut, Finding, Limit, Method, Plan, Subject, Witness, WitnessClient, WriteResult,
};
use crate::disk::{check, write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use syncline_vfs::simulated::Metadata;
use syncline_vfs::{Disk, SimulatedDisk, SyncMethod};

/// A running witness and its messages.
pub(super) struct Harness {
    pub(super) address: SocketAddr,
    /// The messages of the witness.
    pub(super) messages: Mutex<Vec<String>>,
}

/// Starts a witness whose ledger is on its own simulated disk, and stops it after the test.
pub(super) fn with_witness(test: impl FnOnce(&Harness)) {
    with_witness_on(&SimulatedDisk::new(1, Metadata::Strict), test);
}

pub(super) fn with_witness_on(disk: &SimulatedDisk, test: impl FnOnce(&Harness)) {
    let silence = Duration::from_millis(200);
    let kept = Path::new("kept");
    let witness = Witness::listen("127.0.0.1:0", disk, kept, silence).unwrap();
    let harness = Harness { address: witness.address().unwrap(), messages: Mutex::default() };
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let notify = |what: &str| harness.messages.lock().unwrap().push(what.to_owned());
        let serving = {
            let (witness, stop) = (&witness, &stop);
            scope.spawn(move || witness.serve(stop, &notify))
        };
        // A failing test stops the witness too.
        let end = StopGuard(&stop);
        test(&harness);
        drop(end);
        serving.join().unwrap().unwrap();
    });
}

struct StopGuard<'e>(&'e AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(super) fn subject(boot: &str) -> Subject {
    Subject { name: "host:/disk".to_owned(), directory: "/".into(), boot: boot.to_owned() }
}

pub(super) fn plan(method: SyncMethod) -> Plan {
    Plan {
        subject: subject("before"),
        method: Method::of(method).unwrap(),
        block_bytes: 1024,
        slots: 16,
        limit: Limit::default(),
        abandon: false,
    }
}

impl Harness {
    pub(super) fn caller(&self) -> WitnessClient {
        WitnessClient::connect(&self.address.to_string()).unwrap()
    }

    /// Writes until the disk loses power. Returns the connection still open, as a machine without power
    /// leaves it.
    pub(super) fn cut_off<D: Disk>(&self, disk: &D, plan: &Plan) -> WitnessClient {
        let mut caller = self.caller();
        let stop = AtomicBool::new(false);
        let why = write(disk, plan, &mut caller, &stop, &|_| {}).unwrap_err();
        assert!(why.to_string().contains("the power is off"), "{why}");
        caller
    }

    /// Writes up to the plan's limit.
    pub(super) fn written<D: Disk>(&self, disk: &D, plan: &Plan) -> WriteResult {
        let stop = AtomicBool::new(false);
        write(disk, plan, &mut self.caller(), &stop, &|_| {}).unwrap()
    }

    /// Checks what is left, as seen after another boot.
    pub(super) fn checked<D: Disk>(&self, disk: &D, cut: Option<Cut>) -> Finding {
        check(disk, &subject("after"), cut, &mut self.caller()).unwrap()
    }
}
