//! A private server for a test, and a way to query it without the target.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Durability, Int, Kind, Lock, OperationId, Plan, Read, Row, Rows, Session, Set,
    Stop, Table, TableId, Target, Value, Write,
};
use syncline_launcher::{LaunchSpec, Product};
use syncline_stores::AnyTarget;
use syncline_testkit::{TestServer, password_of, port_of, url_option};

/// A server, in a directory of its own.
pub(crate) struct Server(pub(crate) TestServer);

impl Server {
    /// With the settings for that durability.
    pub(crate) fn start(durability: Durability) -> Server {
        Server(TestServer::start(LaunchSpec { durability, ..LaunchSpec::new(Product::Postgres) }))
    }

    /// The URL over TCP (first) or the socket, with more options.
    pub(crate) fn url(&self, number: usize, options: &str) -> String {
        let url = &self.0.private.urls()[number];
        let sign = if url.contains('?') { '&' } else { '?' };
        if options.is_empty() { url.clone() } else { format!("{url}{sign}{options}") }
    }

    /// The target over the socket.
    pub(crate) fn target(&self, options: &str) -> AnyTarget {
        AnyTarget::open(&self.url(1, options)).unwrap()
    }

    /// The port over TCP.
    pub(crate) fn port(&self) -> u16 {
        port_of(self.0.private.url())
    }

    /// The password of its superuser.
    pub(crate) fn password(&self) -> String {
        password_of(self.0.private.url())
    }

    /// The directory of its Unix socket.
    pub(crate) fn socket_directory(&self) -> String {
        url_option(&self.url(1, ""), "socket").unwrap().replace("%2F", "/")
    }

    /// The directory of its data.
    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.0.private.directory().join("data")
    }

    /// Gives a file to the server's user.
    pub(crate) fn own(&self, path: &Path) {
        own(path, &self.data());
    }

    /// Writes a file that the server's user owns and no other user may read.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.data().join(name);
        std::fs::write(&path, text).unwrap();
        own(&path, &self.data());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    }

    /// Runs a statement by itself, as a user of psql would.
    pub(crate) fn run(&self, statement: &str) -> Vec<String> {
        let mut plan = Plan::new();
        plan.statement("statement", statement.to_owned(), 0);
        let target = self.target("live=yes");
        let worker = target.worker().unwrap();
        block_on(&worker, async {
            let mut session = target.connect(&plan, &worker).await.unwrap();
            session.begin(AccessPattern::AsWritten);
            session.send(OperationId(0), &[]).unwrap();
            let cells = {
                let rows = session.receive().await.unwrap();
                let first = |row: Row<'_>| match row.value(0) {
                    Value::Text(text) => text.to_owned(),
                    Value::Int(number) => number.to_string(),
                    other => format!("{other:?}"),
                };
                // A command returns a row without columns.
                let wide = rows.width() > 0;
                let cells: Vec<String> = rows.iter().filter(|_| wide).map(first).collect();
                cells
            };
            session.commit().await.unwrap();
            cells
        })
    }

    /// The managed schemas in it.
    pub(crate) fn schemas(&self) -> Vec<String> {
        self.run("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'syncline%'")
    }
}

/// Gives a file the owner of another.
fn own(path: &Path, like: &Path) {
    let of = std::fs::metadata(like).unwrap();
    std::os::unix::fs::chown(path, Some(of.uid()), Some(of.gid())).unwrap();
}

/// A table of numbers and its operations.
pub(crate) struct Numbers {
    pub(crate) plan: Plan,
    pub(crate) table: TableId,
    pub(crate) get: Read<(Int,), (Int,)>,
    pub(crate) get_for_update: Read<(Int,), (Int,)>,
    pub(crate) add: Write<(Int, Int)>,
    pub(crate) insert: Write<(Int, Int)>,
}

impl Numbers {
    pub(crate) fn new() -> Numbers {
        let mut plan = Plan::new();
        let table = plan.table(
            Table::new("numbers").column("id", Kind::Int).column("number", Kind::Int).key(&["id"]),
        );
        Numbers {
            table,
            get: plan.get("get number", table, &["number"], Lock::None),
            get_for_update: plan.get("lock number", table, &["number"], Lock::Update),
            add: plan.update("add to number", table, &[("number", Set::Add)]),
            insert: plan.insert("insert number", table),
            plan,
        }
    }

    /// Rows 1 to 100, all zero.
    pub(crate) async fn fill<S: Session>(&self, session: &mut S) -> Result<(), Stop> {
        let mut rows = Rows::new(2);
        for id in 1..=100 {
            rows.push_row(&[Value::Int(id), Value::Int(0)]);
        }
        session.load(self.table, &rows).await
    }
}
