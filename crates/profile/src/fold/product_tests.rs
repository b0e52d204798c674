//! Stacks of real products under the built-in maps.

use super::fold;
use crate::{
    Frame, Map, Metric, Name, Precision, ProfileBuilder, Space, Thread, ThreadClass, View,
    profile::Account,
};
use syncline_instrument::Module;

/// A frame in short form: `object!function`, `object!before|after` for a function without a name,
/// `class.method` of Java after `java:`, and of the kernel after `kernel:`.
fn frame(text: &str) -> Frame {
    let (space, object, name) = if let Some(name) = text.strip_prefix("kernel:") {
        (Space::Kernel, "kernel", name)
    } else if let Some(name) = text.strip_prefix("java:") {
        let (class, method) = name.rsplit_once('.').unwrap();
        (Space::Java, class, method)
    } else {
        let (object, name) = text.split_once('!').unwrap();
        (Space::Native, object, name)
    };
    let name = match name.split_once('|') {
        Some((before, after)) => {
            Name::Between { before: Some(before.to_owned()), after: Some(after.to_owned()) }
        }
        None => Name::Function(name.to_owned()),
    };
    let object = object.to_owned();
    Frame { space, object, name, offset: 0, inlined: false }
}

type SampleCharge = (ThreadClass, Option<Module>, bool);

/// Charges a stack, given from the innermost frame outwards, by the product's map.
fn charge_of(
    product: &str,
    thread: (&str, Option<&str>),
    metric: Metric,
    stack: &str,
) -> SampleCharge {
    let map = Map::built_in().into_iter().find(|map| map.is_for(product));
    let mut builder = ProfileBuilder::default();
    let thread =
        builder.thread(Thread { name: thread.0.to_owned(), title: thread.1.map(str::to_owned) });
    let stack = builder.stack(stack.split(" < ").map(frame));
    builder.add(metric, thread, stack, 5, 1);
    builder.account(Account {
        metric,
        collector: "test".to_owned(),
        how: Precision::Exact,
        lost: 0,
        total: None,
    });
    let cost = fold(&builder.finish(1), &map.unwrap(), View::Innermost);
    let cost_of_metric = cost.metrics.iter().find(|it| it.metric == metric).unwrap();
    let charge = cost_of_metric.charges[0];
    (charge.class, charge.module, cost_of_metric.guessed > 0)
}

fn check(product: &str, thread: (&str, Option<&str>), cases: &[(Metric, &str, SampleCharge)]) {
    for (metric, stack, expected) in cases {
        let charged = charge_of(product, thread, *metric, stack);
        assert_eq!(charged, *expected, "{product}: {stack}");
    }
}

use Metric::{CpuKernel, CpuUser, OffCpu, SyncCalls, VoluntarySwitches};
use ThreadClass::{Background, Client, Connection, Runtime, Unknown};

fn sure(class: ThreadClass, module: Module) -> SampleCharge {
    (class, Some(module), false)
}

#[test]
fn postgresql() {
    let backend = ("postgres", Some("postgres: client backend"));
    let idle = "kernel:do_epoll_wait < libc.so.6!epoll_wait < \
                postgres!CreateWaitEventSet|WaitEventSetWait < postgres!WaitEventSetWait < \
                postgres!secure_read < postgres!pq_getbyte < postgres!PostgresMain";
    let cases = [
        (
            SyncCalls,
            "kernel:do_fsync < libc.so.6!fdatasync < postgres!pg_fdatasync < \
             postgres!issue_xlog_fsync < postgres!XLogFlush < postgres!PostgresMain",
            sure(Connection, Module::Logging),
        ),
        (
            CpuUser,
            "libc.so.6!memcpy < postgres!hash_search < postgres!BufTableLookup < \
             postgres!ReadBuffer < postgres!heap_update < postgres!PortalRun",
            sure(Connection, Module::BufferManager),
        ),
        (
            CpuUser,
            "postgres!int4eq < postgres!ExecScan < postgres!PortalRun",
            sure(Connection, Module::Execution),
        ),
        (
            OffCpu,
            "kernel:futex < libc.so.6!sem_wait < postgres!PGSemaphoreLock < \
             postgres!LWLockAcquire < postgres!XLogFlush",
            sure(Connection, Module::LockManager),
        ),
        // A static function of nbtinsert.c, and a function of which only the neighbours are known.
        (
            CpuUser,
            "postgres!_bt_doinsert|_bt_finish_split < postgres!btinsert",
            sure(Connection, Module::Access),
        ),
        (
            CpuUser,
            "postgres!heap_update|PortalRun < postgres!PostgresMain",
            (Connection, Some(Module::Access), true),
        ),
        (OffCpu, idle, sure(Connection, Module::WaitingForRequest)),
        (CpuUser, idle, sure(Connection, Module::NetworkServer)),
        (CpuUser, "kernel:do_exit", (Connection, None, false)),
    ];
    check("PostgreSQL", backend, &cases);
    let writer = ("postgres", Some("postgres: walwriter"));
    let asleep = "libc.so.6!epoll_wait < postgres!WaitLatch < postgres!WalWriterMain";
    let cases = [
        (OffCpu, asleep, sure(Background, Module::WaitingForRequest)),
        (CpuUser, "kernel:x", sure(Background, Module::Logging)),
    ];
    check("PostgreSQL", writer, &cases);
}

#[test]
fn mariadb() {
    let inside =
        |path: &str| format!("mariadbd!./storage/innobase/{path}|./storage/innobase/{path}");
    let outer = "mariadbd!handler::ha_write_row < mariadbd!mysql_execute_command < \
                 mariadbd!dispatch_command < mariadbd!do_command";
    let log = format!("{} < {outer}", inside("log/log0log.cc"));
    let tree = format!("libc.so.6!memcpy < {} < {outer}", inside("btr/btr0cur.cc"));
    let pages = format!("{} < {outer}", inside("buf/buf0buf.cc"));
    let lump = format!("mariadbd!wsrep_notify_status|tpool::create_simulated_aio < {outer}");
    let cases = [
        (SyncCalls, log.as_str(), sure(Connection, Module::Logging)),
        (CpuUser, &tree, sure(Connection, Module::Access)),
        (CpuUser, &pages, sure(Connection, Module::BufferManager)),
        (CpuUser, &lump, sure(Connection, Module::Access)),
        (CpuUser, "mariadbd!bitmap_init < mariadbd!my_alloc", (Unknown, None, false)),
        // Truncated stacks without the function with which all clients' threads begin.
        (
            CpuUser,
            "mariadbd!ha_commit_trans < mariadbd!trans_commit < mariadbd!mysql_execute_command",
            sure(Connection, Module::TransactionControl),
        ),
        (
            CpuUser,
            "kernel:tcp_sendmsg < libc.so.6!send < mariadbd!vio_write < mariadbd!net_real_write < \
             mariadbd!Protocol::net_send_ok < mariadbd!Protocol::end_statement",
            sure(Connection, Module::NetworkServer),
        ),
        (
            CpuUser,
            "kernel:futex < libc.so.6!pthread_cond_signal < mariadbd!thd_decrement_pending_ops < \
             mariadbd!buf_flush_page_cleaner",
            sure(Background, Module::Execution),
        ),
        (
            CpuUser,
            "mariadbd!Item_func_plus::int_op < mariadbd!JOIN::exec < mariadbd!do_command",
            sure(Connection, Module::Execution),
        ),
        (
            CpuUser,
            "mariadbd!MYSQL_BIN_LOG::write_event < mariadbd!do_command",
            sure(Connection, Module::Logging),
        ),
        (
            VoluntarySwitches,
            "libc.so.6!poll < mariadbd!vio_io_wait < mariadbd!vio_read < \
             mariadbd!my_net_read_packet_reallen < mariadbd!do_command",
            sure(Connection, Module::WaitingForRequest),
        ),
        (
            OffCpu,
            "libc.so.6!pthread_cond_wait < mariadbd!tpool::thread_pool_generic::wait_for_tasks < \
             mariadbd!tpool::thread_pool_generic::worker_main",
            sure(Background, Module::WaitingForRequest),
        ),
    ];
    check("MariaDB", ("mariadbd", None), &cases);
}

#[test]
fn derby() {
    let run = "java:org.apache.derby.impl.drda.DRDAConnThread.run";
    let read = format!(
        "java:sun.nio.ch.Net.poll < java:sun.nio.ch.NioSocketImpl.implRead < \
         java:org.apache.derby.impl.drda.DDMReader.fill < \
         java:org.apache.derby.impl.drda.DDMReader.ensureALayerDataInBuffer < \
         java:org.apache.derby.impl.drda.DDMReader.readDssHeader < {run}"
    );
    let sync = format!(
        "kernel:do_fsync < libc.so.6!fdatasync < libnio.so!Java_sun_nio_ch_FileDispatcherImpl_force0 < \
         java:org.apache.derby.impl.store.raw.log.LogToFile.flush < {run}"
    );
    let locks =
        format!("java:org.apache.derby.impl.services.locks.ConcurrentLockSet.lockObject < {run}");
    let plan = format!("java:org.apache.derby.exe.ac5.e0 < {run}");
    let page = format!(
        "java:java.util.zip.CRC32.update < java:org.apache.derby.impl.store.raw.data.StoredPage.fetch < {run}"
    );
    let cases = [
        (OffCpu, read.as_str(), sure(Connection, Module::WaitingForRequest)),
        (CpuUser, &read, sure(Connection, Module::NetworkServer)),
        (SyncCalls, &sync, sure(Connection, Module::Logging)),
        (CpuUser, &locks, sure(Connection, Module::LockManager)),
        (CpuUser, &plan, sure(Connection, Module::Execution)),
        (CpuUser, &page, sure(Connection, Module::DataStore)),
    ];
    check("Apache Derby", ("DRDAConnThread_", None), &cases);
    let cases = [(CpuUser, "libjvm.so!G1ParScan", sure(Runtime, Module::Other))];
    check("Derby", ("GC Thread#0", None), &cases);
}

#[test]
fn stores_in_the_process_of_their_client() {
    let worker = ("worker 0", None);
    let outer = "syncline!syncline_stores::sqlite::session::run < \
                 syncline!syncline_runner::drive::executor::run_loop::Drive::run";
    let wal = format!("libc.so.6!pwrite64 < syncline!unixWrite < syncline!walWriteToLog < {outer}");
    let tree = format!("syncline!sqlite3BtreeInsert < syncline!sqlite3VdbeExec < {outer}");
    let cases = [
        (CpuUser, wal.as_str(), sure(Client, Module::Logging)),
        (CpuUser, &tree, sure(Client, Module::Access)),
        (
            CpuUser,
            "syncline!core::hash::write < syncline!syncline_workloads::insert::client::Client::draw",
            sure(Client, Module::Laboratory),
        ),
    ];
    check("SQLite", worker, &cases);
    let drive = "syncline!syncline_runner::drive::executor::run_loop::Executor<F,P>::drive";
    let parked = format!(
        "libc.so.6!syscall < syncline!syncline_runner::drive::executor::run_loop::Executor<F,P>::wait < {drive}"
    );
    let written = format!(
        "libc.so.6!pwrite64 < syncline!syncline_engine::log::job::Job<F>::perform < {drive}"
    );
    let cases = [
        (
            CpuUser,
            "syncline!<syncline_engine::txn::record::Operations as core::iter::Iterator>::next < \
             syncline!syncline_engine::database::engine::commit",
            sure(Client, Module::TransactionControl),
        ),
        (
            OffCpu,
            "syncline!std::thread::park < syncline!syncline_engine::log::wait::block",
            sure(Client, Module::Logging),
        ),
        (OffCpu, parked.as_str(), sure(Client, Module::WaitingForRequest)),
        (CpuKernel, &parked, sure(Client, Module::Laboratory)),
        (OffCpu, &written, sure(Client, Module::Logging)),
    ];
    check("syncline-engine", worker, &cases);
    let cases = [
        (
            CpuUser,
            "librocksdb.so.7.8!rocksdb::MemTable::Add < \
             librocksdb.so.7.8!rocksdb::DBImpl::WriteImpl < syncline!rocksdb::db::put",
            sure(Client, Module::Access),
        ),
        (
            OffCpu,
            "librocksdb.so.7.8!rocksdb::WriteThread::JoinBatchGroup",
            sure(Client, Module::Logging),
        ),
    ];
    check("RocksDB", worker, &cases);
}

/// A database in the JVM of this process: native frames identify what Java's frames do not show.
#[test]
fn embedded_in_a_jvm() {
    let outer = "syncline!syncline_runner::drive::client_loop::client_loop::{{closure}} < \
                 syncline!syncline_runner::drive::worker::WorkerTask<T,W>::work";
    let jni = "libjvm.so!jni_CallVoidMethodA < \
                  syncline!jni::wrapper::jnienv::JNIEnv::call_method_unchecked < \
                  syncline!syncline_stores::jdbc::jvm::call::Java::call";
    let profiler = "libc.so.6!syscall < libasyncProfiler.so!Profiler::recordSample < \
                     libasyncProfiler.so!WallClock::signalHandler";
    for (product, engine, module) in [
        (
            "Apache Derby",
            "java:org.apache.derby.impl.store.raw.data.StoredPage.fetch",
            Module::DataStore,
        ),
        ("H2", "java:org.h2.mvstore.tx.TransactionMap.put", Module::TransactionControl),
        ("HSQLDB", "java:org.hsqldb.persist.Log.writeCommitStatement", Module::Logging),
    ] {
        let cases = [
            (CpuUser, engine.to_owned(), sure(Client, module)),
            (CpuUser, format!("{jni} < {outer}"), sure(Client, Module::ClientApi)),
            (
                CpuUser,
                format!("[vdso]!__vdso_clock_gettime < {outer}"),
                sure(Client, Module::Laboratory),
            ),
            (VoluntarySwitches, format!("{profiler} < {engine}"), sure(Client, Module::Laboratory)),
            (
                VoluntarySwitches,
                format!(
                    "libc.so.6!pthread_cond_broadcast < libjvm.so!CompileBroker::compile_method_base < {engine}"
                ),
                sure(Client, Module::Other),
            ),
        ];
        for (metric, stack, expected) in cases {
            let charged = charge_of(product, ("worker 3", None), metric, &stack);
            assert_eq!(charged, expected, "{product}: {stack}");
        }
    }
    let writes = "java:org.h2.mvstore.Page$NonLeaf.writeUnsaved";
    let expected = sure(Background, Module::Access);
    let serializer = ("H2-serialization", None);
    assert_eq!(charge_of("H2", serializer, CpuUser, writes), expected);
}
