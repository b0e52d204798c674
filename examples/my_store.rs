//! A store of your own under the laboratory: a map in memory behind a log file that is synced.
//!
//! `cargo run --example my_store -- run insert --check get` puts a load on it;
//! `cargo run --example my_store -- survey` places it on the line of this disk beside the built-in
//! stores. What each function promises stands in `crates/contract/src/session.rs`.

#![allow(clippy::disallowed_methods, reason = "a stranger's store brings its own file access")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use syncline_contract::{
    Action, Capabilities, Durability, Evidence, Failure, FailureKind, Isolation, LogPlace,
    OperationId, Plan, Replies, Rows, Session, Shape, Stop, Target, TargetResult, Value,
};

const LOG: &str = "my_store.log";

#[derive(Default)]
struct Store {
    log: Option<File>,
    rows: BTreeMap<i64, String>,
}

#[derive(Clone, Default)]
struct MyStore(Arc<Mutex<Store>>);

struct MySession {
    store: MyStore,
    plan: Plan,
    new_rows: Vec<(i64, String)>,
    replies: Replies,
}

fn failed(error: &io::Error) -> Failure {
    Failure::new(FailureKind::Storage, format!("{LOG}: {error}"))
}

fn refused(operation: OperationId) -> Stop {
    let what = "this store inserts and gets rows of one integer and one text";
    Failure::new(FailureKind::Statement, what).in_operation(operation).into()
}

impl Target for MyStore {
    type Session = MySession;
    type Worker = ();

    fn name(&self) -> String {
        "my store".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::least()
    }

    fn log_place(&self) -> LogPlace {
        LogPlace::Directory(".".into())
    }

    async fn create(&self, _plan: &Plan) -> TargetResult<()> {
        let log = Some(File::create_new(LOG).map_err(|error| failed(&error))?);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Store { log, ..Store::default() };
        Ok(())
    }

    async fn evidence(&self) -> TargetResult<Evidence> {
        Ok(Evidence {
            product: self.name(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            durability: Durability::Data,
            durability_evidence: "each commit calls fdatasync on its log".to_owned(),
            isolation: Isolation::NoneClaimed,
            settings: Vec::new(),
        })
    }

    fn worker(&self) -> TargetResult<()> {
        Ok(())
    }

    async fn connect(&self, plan: &Plan, _worker: &()) -> TargetResult<MySession> {
        let (store, plan) = (self.clone(), plan.clone());
        Ok(MySession { store, plan, new_rows: Vec::new(), replies: Replies::default() })
    }

    async fn remove(&self) -> TargetResult<()> {
        let made = self.0.lock().unwrap_or_else(PoisonError::into_inner).log.take();
        made.map_or(Ok(()), |_log| fs::remove_file(LOG)).map_err(|error| failed(&error))
    }
}

impl Session for MySession {
    fn begin(&mut self, _shape: Shape) {
        self.new_rows.clear();
    }

    fn send(&mut self, operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
        match (&self.plan.operation(operation).action, values) {
            (Action::Insert { .. }, [Value::Int(key), Value::Text(text)]) => {
                self.new_rows.push((*key, (*text).to_owned()));
            }
            (Action::Get { .. }, [Value::Int(key)]) => {
                let store = self.store.0.lock().unwrap_or_else(PoisonError::into_inner);
                let reply = self.replies.push(2);
                if let Some(text) = store.rows.get(key) {
                    reply.push_row(&[Value::Int(*key), Value::Text(text)]);
                }
            }
            _ => return Err(refused(operation)),
        }
        Ok(())
    }

    async fn receive(&mut self) -> Result<&Rows, Stop> {
        Ok(self.replies.receive().expect("the laboratory receives only what it asked for"))
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        if self.new_rows.is_empty() {
            return Ok(());
        }
        let mut store = self.store.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: String = self.new_rows.iter().map(|(key, text)| format!("{key} {text}\n")).collect();
        let log = store.log.as_mut().expect("created before anyone connects");
        let synced = log.write_all(lines.as_bytes()).and_then(|()| log.sync_data());
        synced.map_err(|error| failed(&error))?;
        store.rows.extend(self.new_rows.drain(..));
        Ok(())
    }

    async fn abort(&mut self) {
        self.new_rows.clear();
        self.replies.clear();
    }
}

fn main() -> ExitCode {
    syncline_cli::main_with("mine", MyStore::default())
}
