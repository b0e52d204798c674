//! The options, variables and files, one entry each.

use syncline_stores::libpq::Effect;

/// An option, a variable or a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Its names, the first of which is the long one.
    pub(super) names: &'static [&'static str],
    /// Its effect here.
    pub(super) effect: Effect,
    /// A command line that uses it, with the options it requires; for a YCSB property, its value.
    pub(super) sample: &'static str,
}

const fn used(names: &'static [&'static str], sample: &'static str, how: &'static str) -> Entry {
    Entry { names, effect: Effect::Used(how), sample }
}

const fn refused(names: &'static [&'static str], sample: &'static str, why: &'static str) -> Entry {
    Entry { names, effect: Effect::Refused(why), sample }
}

const fn ignored(names: &'static [&'static str], sample: &'static str, why: &'static str) -> Entry {
    Entry { names, effect: Effect::Ignored(why), sample }
}

const LAYOUT: &str = "the target decides the layout of its tables";

/// pgbench's options.
pub(super) const PGBENCH: &[Entry] = &[
    used(
        &["--initialize", "-i"],
        "-i",
        "creates and fills the tables in Syncline's own schema; refused if the user's own tables are there",
    ),
    used(
        &["--init-steps", "-I"],
        "-i -I dtgvp",
        "d, t, g, G, v and p are one step here; f is refused",
    ),
    refused(&["--fillfactor", "-F"], "-i -F 90", LAYOUT),
    used(&["--no-vacuum", "-n"], "-n", "nothing is vacuumed anyway"),
    used(&["--quiet", "-q"], "-i -q", "no lines while tables are filled"),
    used(
        &["--scale", "-s"],
        "-s 2",
        "with -i; on tables that Syncline made, a different scale is refused; on the user's own, as in pgbench",
    ),
    refused(&["--foreign-keys"], "-i --foreign-keys", LAYOUT),
    refused(&["--index-tablespace"], "-i --index-tablespace=x", LAYOUT),
    refused(&["--partition-method"], "-i --partition-method=hash", LAYOUT),
    refused(&["--partitions"], "-i --partitions=2", LAYOUT),
    refused(&["--tablespace"], "-i --tablespace=x", LAYOUT),
    refused(&["--unlogged-tables"], "-i --unlogged-tables", LAYOUT),
    used(&["--builtin", "-b"], "-b select-only@2", "in the order of the command line"),
    used(&["--file", "-f"], "-f x.sql@2", "in the order of the command line; - is standard input"),
    used(&["--skip-some-updates", "-N"], "-N", ""),
    used(&["--select-only", "-S"], "-S", ""),
    used(&["--client", "-c"], "-c 2", ""),
    used(&["--connect", "-C"], "-C", "connecting is not timed separately"),
    used(&["--define", "-D"], "-D a=1", ""),
    used(&["--jobs", "-j"], "-j 2", "worker threads; chosen by trial if it is not given"),
    used(&["--log", "-l"], "-l", ""),
    used(&["--latency-limit", "-L"], "-L 5", ""),
    used(&["--protocol", "-M"], "-M prepared", "a store without protocols accepts only prepared"),
    used(&["--progress", "-P"], "-P 1", ""),
    used(
        &["--report-per-command", "-r"],
        "-r",
        "statements only, without backslash commands; if transactions failed, failures of single statements are unknown and shown as -",
    ),
    used(&["--rate", "-R"], "-R 10", ""),
    used(&["--transactions", "-t"], "-t 5", ""),
    used(&["--time", "-T"], "-T 5", ""),
    ignored(&["--vacuum-all", "-v"], "-v", "nothing is vacuumed here"),
    used(&["--aggregate-interval"], "-l --aggregate-interval=1 -T 2", ""),
    used(&["--failures-detailed"], "--failures-detailed", ""),
    used(&["--log-prefix"], "-l --log-prefix=x", ""),
    used(&["--max-tries"], "--max-tries=3", ""),
    used(&["--progress-timestamp"], "-P 1 --progress-timestamp", ""),
    used(&["--random-seed"], "--random-seed=7", "a seed gives other numbers than in pgbench"),
    used(&["--sampling-rate"], "-l --sampling-rate=0.5", ""),
    used(&["--show-script"], "--show-script=tpcb-like", ""),
    used(&["--verbose-errors"], "--verbose-errors", "errors are always printed"),
    // f26.
    ignored(
        &["--debug"],
        "--debug",
        "nothing more is printed; the record holds everything known about a run",
    ),
    used(
        &["--dbname", "-d"],
        "-d x",
        "as in version 16 and later, where --debug has no short form",
    ),
    used(&["--host", "-h"], "-h x", ""),
    used(&["--port", "-p"], "-p 7", ""),
    used(&["--username", "-U"], "-U x", ""),
    used(&["--version", "-V"], "--version", "of this program"),
    used(&["--help", "-?"], "--help", ""),
    used(
        &["--continue-on-error"],
        "--continue-on-error",
        "from version 19; an error other than a refused statement still ends the run",
    ),
    used(
        &["--exit-on-abort"],
        "--exit-on-abort",
        "from version 17; a failed client always ends the run",
    ),
];

/// Variables and files of pgbench, in addition to libpq's.
pub(super) const PGBENCH_OUTSIDE: &[Entry] = &[
    used(&["PGBENCH_RANDOM_SEED"], "", ""),
    ignored(&["PG_COLOR"], "", "NO_COLOR decides whether messages have colours"),
    ignored(&["PG_COLORS"], "", "messages use fixed colours"),
    used(&["~/.pgpass"], "", "not read if group or others have access to it, as in libpq"),
    used(&["~/.pg_service.conf, pg_service.conf"], "", "by service= or PGSERVICE"),
    used(
        &["~/.postgresql/root.crt"],
        "",
        "for sslmode=require, verify-ca and verify-full; without it, the system's roots",
    ),
    refused(
        &["~/.postgresql/postgresql.crt, .key, root.crl"],
        "",
        "not read: client certificates and revocation lists are not supported",
    ),
    used(&["pgbench_log.PID[.N]"], "", "-l"),
];

const TABLES: &str = "the target decides how its tables are created";
pub(super) const SERVER: &str = "becomes the URL of --on";

/// sysbench's options, including those of its OLTP tests.
pub(super) const SYSBENCH: &[Entry] = &[
    used(&["--threads", "--num-threads"], "--threads=2", ""),
    used(&["--events", "--max-requests"], "--events=5", ""),
    used(&["--time", "--max-time"], "--time=5", ""),
    used(&["--forced-shutdown"], "--forced-shutdown=2", ""),
    ignored(
        &["--thread-stack-size"],
        "--thread-stack-size=64K",
        "the stack size of threads is fixed",
    ),
    used(&["--rate", "--tx-rate"], "--rate=5", "an open loop in which nothing is dropped"),
    used(&["--report-interval"], "--report-interval=1", ""),
    refused(
        &["--report-checkpoints"],
        "--report-checkpoints=1",
        "the record holds intervals instead",
    ),
    ignored(&["--debug"], "--debug", "the record already holds everything"),
    used(&["--validate"], "--validate", "rows are always checked"),
    used(&["--help"], "--help", ""),
    used(&["--version"], "--version", "of the imitated version and this program"),
    used(&["--config-file"], "--config-file=options", ""),
    used(&["--rand-type"], "--rand-type=uniform", ""),
    used(&["--rand-spec-iter"], "--rand-spec-iter=5", ""),
    used(&["--rand-spec-pct"], "--rand-spec-pct=5", ""),
    used(&["--rand-spec-res"], "--rand-spec-res=5", ""),
    used(&["--rand-seed"], "--rand-seed=5", ""),
    used(&["--rand-pareto-h"], "--rand-pareto-h=0.3", ""),
    used(&["--rand-zipfian-exp"], "--rand-zipfian-exp=0.9", "of the development version"),
    ignored(&["--verbosity"], "--verbosity=5", "the output is always that of level 3"),
    used(&["--percentile"], "--percentile=99", ""),
    used(&["--histogram"], "--histogram", ""),
    used(&["--db-driver"], "--db-driver=pgsql", SERVER),
    ignored(&["--db-ps-mode"], "--db-ps-mode=disable", "statements are prepared anyway"),
    ignored(&["--db-debug"], "--db-debug", "the record already holds everything"),
    used(&["--mysql-host"], "--mysql-host=h", SERVER),
    used(&["--mysql-port"], "--mysql-port=7", SERVER),
    used(&["--mysql-socket"], "--mysql-socket=/s", SERVER),
    used(&["--mysql-user"], "--mysql-user=u", SERVER),
    used(&["--mysql-password"], "--mysql-password=p", SERVER),
    used(&["--mysql-db"], "--mysql-db=d", SERVER),
    refused(&["--mysql-ssl"], "--mysql-ssl=on", "set it in the URL of --on"),
    refused(&["--mysql-ssl-cipher"], "--mysql-ssl-cipher=x", "set it in the URL of --on"),
    refused(&["--mysql-compression"], "--mysql-compression=on", "connections are not compressed"),
    ignored(&["--mysql-debug"], "--mysql-debug=on", "the record already holds everything"),
    ignored(
        &["--mysql-ignore-errors"],
        "--mysql-ignore-errors=1213",
        "conflicts are retried, and any other error ends the run",
    ),
    refused(
        &["--mysql-dry-run"],
        "--mysql-dry-run=on",
        "--dry-run prints what would be done; --on=null does no work",
    ),
    used(&["--pgsql-host"], "--pgsql-host=h", SERVER),
    used(&["--pgsql-port"], "--pgsql-port=7", SERVER),
    used(&["--pgsql-user"], "--pgsql-user=u", SERVER),
    used(&["--pgsql-password"], "--pgsql-password=p", SERVER),
    used(&["--pgsql-db"], "--pgsql-db=d", SERVER),
    used(&["--pgsql-sslmode"], "--pgsql-sslmode=require", SERVER),
    used(&["--auto-inc"], "--auto-inc=off", ""),
    used(&["--create-secondary"], "--create-secondary=off", ""),
    used(&["--delete-inserts"], "--delete-inserts=2", ""),
    used(&["--distinct-ranges"], "--distinct-ranges=2", ""),
    used(&["--index-updates"], "--index-updates=2", ""),
    refused(&["--mysql-storage-engine"], "--mysql-storage-engine=rocksdb", TABLES),
    used(&["--non-index-updates"], "--non-index-updates=2", ""),
    used(&["--order-ranges"], "--order-ranges=2", ""),
    refused(
        &["--pgsql-variant"],
        "--pgsql-variant=redshift",
        "only standard PostgreSQL is supported",
    ),
    used(&["--point-selects"], "--point-selects=2", ""),
    used(&["--range-selects"], "--range-selects=off", ""),
    used(&["--range-size"], "--range-size=2", ""),
    used(&["--secondary"], "--secondary=on", ""),
    used(&["--simple-ranges"], "--simple-ranges=2", ""),
    used(&["--skip-trx"], "--skip-trx=on", ""),
    used(&["--sum-ranges"], "--sum-ranges=2", ""),
    used(&["--table-size"], "--table-size=50", ""),
    used(&["--tables"], "--tables=2", ""),
    refused(&["--reconnect"], "--reconnect=5", "clients keep their connections until the run ends"),
    refused(&["--create-table-options"], "--create-table-options=x", TABLES),
    refused(&["--mysql-table-options"], "--mysql-table-options=x", TABLES),
    ignored(&["--thread-init-timeout"], "--thread-init-timeout=5", "connecting has no time limit"),
    ignored(&["--luajit-cmd"], "--luajit-cmd=off", "there is no Lua here"),
    used(&["--warmup-time"], "--warmup-time=1", "of the development version"),
];

/// YCSB's flags.
pub(super) const YCSB: &[Entry] = &[
    used(&["-P"], "-P file", ""),
    used(&["-p"], "-p recordcount=5", ""),
    used(&["-threads"], "-threads 2", ""),
    used(&["-target"], "-target 5", "an open loop at equal intervals"),
    used(&["-load"], "-load", "repeats the phase; refused with run"),
    used(&["-t"], "-t", "repeats the phase; refused with load"),
    ignored(&["-db"], "-db x", "--on names the store"),
    used(&["-s"], "-s", "progress is always shown"),
    ignored(&["-l"], "-l x", "the record holds the command line"),
    ignored(&["-jvm-args"], "-jvm-args -Xmx1g", "there is no JVM"),
    ignored(&["-cp"], "-cp x.jar", "there is no JVM"),
];
