//! The options, variables and files, one line each.

use syncline_stores::libpq::Effect;

/// An option, a variable or a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Its names, the first of which is the long one.
    pub(super) names: &'static [&'static str],
    /// What it does here.
    pub(super) effect: Effect,
    /// Words of a command line that say it, with what it needs beside it; of a YCSB property its value.
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

const LAYOUT: &str = "how tables are laid out is the target's affair";

/// pgbench's options.
pub(super) const PGBENCH: &[Entry] = &[
    used(
        &["--initialize", "-i"],
        "-i",
        "makes the tables in a schema of ours and fills them; refused beside tables of the user's own",
    ),
    used(
        &["--init-steps", "-I"],
        "-i -I dtgvp",
        "d, t, g, G, v and p are one step here; f is refused",
    ),
    refused(&["--fillfactor", "-F"], "-i -F 90", LAYOUT),
    used(&["--no-vacuum", "-n"], "-n", "nothing is vacuumed in any case"),
    used(&["--quiet", "-q"], "-i -q", "no lines while tables are filled"),
    used(
        &["--scale", "-s"],
        "-s 2",
        "of -i; on tables of ours another scale than theirs is refused, on the user's own it is as in pgbench",
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
    used(&["--connect", "-C"], "-C", "connecting is not timed apart"),
    used(&["--define", "-D"], "-D a=1", ""),
    used(&["--jobs", "-j"], "-j 2", "worker threads; chosen by trial where it is not given"),
    used(&["--log", "-l"], "-l", ""),
    used(&["--latency-limit", "-L"], "-L 5", ""),
    used(&["--protocol", "-M"], "-M prepared", "a store without protocols takes prepared alone"),
    used(&["--progress", "-P"], "-P 1", ""),
    used(
        &["--report-per-command", "-r"],
        "-r",
        "statements alone, without commands of a backslash; where transactions failed, which statement failed is -",
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
    used(&["--random-seed"], "--random-seed=7", "seeds give other numbers than in pgbench"),
    used(&["--sampling-rate"], "-l --sampling-rate=0.5", ""),
    used(&["--show-script"], "--show-script=tpcb-like", ""),
    used(&["--verbose-errors"], "--verbose-errors", "errors are always printed"),
    // f26.
    ignored(
        &["--debug"],
        "--debug",
        "nothing more is printed; the record holds all that is known of a run",
    ),
    used(&["--dbname", "-d"], "-d x", "as of version 16, where --debug has no letter any more"),
    used(&["--host", "-h"], "-h x", ""),
    used(&["--port", "-p"], "-p 7", ""),
    used(&["--username", "-U"], "-U x", ""),
    used(&["--version", "-V"], "--version", "of this program"),
    used(&["--help", "-?"], "--help", ""),
    used(
        &["--continue-on-error"],
        "--continue-on-error",
        "of version 19; what says more of the store ends the run all the same",
    ),
    used(
        &["--exit-on-abort"],
        "--exit-on-abort",
        "of version 17; a failed client always ends the run",
    ),
];

/// Variables and files of pgbench beside libpq's.
pub(super) const PGBENCH_OUTSIDE: &[Entry] = &[
    used(&["PGBENCH_RANDOM_SEED"], "", ""),
    ignored(&["PG_COLOR"], "", "NO_COLOR decides whether messages have colours"),
    ignored(&["PG_COLORS"], "", "messages have colours of their own"),
    used(&["~/.pgpass"], "", "not read where group or others may use it, as by libpq"),
    used(&["~/.pg_service.conf, pg_service.conf"], "", "by service= or PGSERVICE"),
    used(
        &["~/.postgresql/root.crt"],
        "",
        "under sslmode=require, verify-ca and verify-full; without it the system's roots",
    ),
    refused(
        &["~/.postgresql/postgresql.crt, .key, root.crl"],
        "",
        "client certificates and revocation lists are not built in; they are not read",
    ),
    used(&["pgbench_log.PID[.N]"], "", "-l"),
];

const TABLES: &str = "how tables are made is the target's affair";
pub(super) const SERVER: &str = "becomes the URL of --on";

/// sysbench's options, of its OLTP tests too.
pub(super) const SYSBENCH: &[Entry] = &[
    used(&["--threads", "--num-threads"], "--threads=2", ""),
    used(&["--events", "--max-requests"], "--events=5", ""),
    used(&["--time", "--max-time"], "--time=5", ""),
    used(&["--forced-shutdown"], "--forced-shutdown=2", ""),
    ignored(
        &["--thread-stack-size"],
        "--thread-stack-size=64K",
        "threads have the stack that they need",
    ),
    used(&["--rate", "--tx-rate"], "--rate=5", "an open loop in which nothing is dropped"),
    used(&["--report-interval"], "--report-interval=1", ""),
    refused(&["--report-checkpoints"], "--report-checkpoints=1", "the record has intervals"),
    ignored(&["--debug"], "--debug", "the record tells all there is"),
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
    ignored(&["--verbosity"], "--verbosity=5", "the lines are those of level 3"),
    used(&["--percentile"], "--percentile=99", ""),
    used(&["--histogram"], "--histogram", ""),
    used(&["--db-driver"], "--db-driver=pgsql", SERVER),
    ignored(&["--db-ps-mode"], "--db-ps-mode=disable", "statements are prepared all the same"),
    ignored(&["--db-debug"], "--db-debug", "the record tells all there is"),
    used(&["--mysql-host"], "--mysql-host=h", SERVER),
    used(&["--mysql-port"], "--mysql-port=7", SERVER),
    used(&["--mysql-socket"], "--mysql-socket=/s", SERVER),
    used(&["--mysql-user"], "--mysql-user=u", SERVER),
    used(&["--mysql-password"], "--mysql-password=p", SERVER),
    used(&["--mysql-db"], "--mysql-db=d", SERVER),
    refused(&["--mysql-ssl"], "--mysql-ssl=on", "say it in the URL of --on"),
    refused(&["--mysql-ssl-cipher"], "--mysql-ssl-cipher=x", "say it in the URL of --on"),
    refused(&["--mysql-compression"], "--mysql-compression=on", "connections are not compressed"),
    ignored(&["--mysql-debug"], "--mysql-debug=on", "the record tells all there is"),
    ignored(
        &["--mysql-ignore-errors"],
        "--mysql-ignore-errors=1213",
        "conflicts are tried again, and any other error ends the run",
    ),
    refused(
        &["--mysql-dry-run"],
        "--mysql-dry-run=on",
        "--dry-run prints what would be done, --on=null performs nothing",
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
        "there is one kind of PostgreSQL here",
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
    ignored(
        &["--thread-init-timeout"],
        "--thread-init-timeout=5",
        "clients have as long to connect as they need",
    ),
    ignored(&["--luajit-cmd"], "--luajit-cmd=off", "there is no Lua here"),
    used(&["--warmup-time"], "--warmup-time=1", "of the development version"),
];

/// YCSB's flags.
pub(super) const YCSB: &[Entry] = &[
    used(&["-P"], "-P file", ""),
    used(&["-p"], "-p recordcount=5", ""),
    used(&["-threads"], "-threads 2", ""),
    used(&["-target"], "-target 5", "an open loop at equal distances"),
    used(&["-load"], "-load", "says the phase again; refused beside run"),
    used(&["-t"], "-t", "says the phase again; refused beside load"),
    ignored(&["-db"], "-db x", "--on names the store"),
    used(&["-s"], "-s", "progress is always shown"),
    ignored(&["-l"], "-l x", "the record holds the command line"),
    ignored(&["-jvm-args"], "-jvm-args -Xmx1g", "there is no JVM"),
    ignored(&["-cp"], "-cp x.jar", "there is no JVM"),
];
