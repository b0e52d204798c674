//! Small runs of tpcc: every profile and option that changes its work, and a proof for each check that it
//! finds its kind of damage.
//!
//! Damage is done through the target itself: the workload's plan with a few additional operations that no
//! transaction of the workload contains.

use crate::run_on::{plan, run_on, runs_everywhere, workload};
use syncline_contract::conformance::block_on;
use syncline_contract::{
    AccessPattern, Check, CheckOutcome, Client, Decimal, Ending, Exact, Int, Nullable, Plan,
    RequestTracker, Rows, Session, Set, Stop, TableId, Target, Text, Timestamp, Transaction,
    Workload, Write,
};
use syncline_stores::{AnySession, AnyTarget};
use syncline_workloads::{AnyTally, AnyWorkload};

/// Few enough rows to be loaded many times.
const SMALL: [(&str, &str); 3] = [("warehouses", "2"), ("items", "100"), ("customers", "20")];

const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const DELIVERY: usize = 3;

fn small(options: &[(&'static str, &'static str)]) -> AnyWorkload {
    let all: Vec<_> = SMALL.iter().chain(options).copied().collect();
    workload("tpcc", &all)
}

#[test]
fn it_runs_by_the_rules_of_the_source() {
    runs_everywhere(&small(&[]), 4, 400);
}

#[test]
fn it_runs_by_the_rules_of_k2() {
    let options = [("profile", "k2"), ("weights", "20,10,30,30,10")];
    runs_everywhere(&small(&options), 4, 400);
}

#[test]
fn deliveries_wait_for_the_next_transaction_and_go_in_batches() {
    let options =
        [("delivery", "deferred"), ("delivery_batch", "3"), ("weights", "30,10,10,40,10")];
    runs_everywhere(&small(&options), 4, 400);
    runs_everywhere(&small(&[("weights", "0,0,0,1,0"), options[0]]), 2, 50);
}

#[test]
fn one_warehouse_has_no_other_and_every_loaded_order_can_be_delivered() {
    let options = [("warehouses", "1"), ("items", "100"), ("customers", "10")];
    let options = [&options[..], &[("weights", "1,1,1,20,1")]].concat();
    runs_everywhere(&workload("tpcc", &options), 3, 200);
}

#[test]
fn an_unknown_item_rolls_back_without_a_failure_or_a_retry() {
    let only_new_orders = small(&[("weights", "1,0,0,0,0")]);
    let result = run_on("engine:{}?durability=none", &only_new_orders, &plan(1, 3_000));
    let outcomes = &result.outcomes;
    assert!((10..70).contains(&outcomes.aborted), "{outcomes:?}");
    assert_eq!(outcomes.committed + outcomes.aborted, 3_000, "{outcomes:?}");
    let figure = |name: &str| {
        let found = result.figures.iter().find(|figure| figure.name == name);
        found.unwrap_or_else(|| panic!("{name} is a figure")).value
    };
    let (committed, all) =
        (figure("new orders/min"), figure("new orders/min, rolled-back ones included"));
    assert!(all > committed && committed > 0.0, "{committed} of {all}");
}

#[test]
fn terminals_key_and_think() {
    let waiting = small(&[("think", "spec")]);
    let mut client = waiting.client(0, 1, 7);
    for _ in 0..100 {
        let kind = client.draw();
        let keying_s = [18, 3, 2, 2, 2][kind];
        let waits = client.waits(kind);
        assert_eq!(waits.before_ns, keying_s * 1_000_000_000);
        assert!(waits.after_ns > 0);
    }
    let mut hasty = small(&[]).client(0, 1, 7);
    let kind = hasty.draw();
    assert_eq!(hasty.waits(kind).after_ns, 0);
}

#[test]
fn keying_and_thinking_of_a_deferred_delivery_come_before_the_next_transaction() {
    let options = [("think", "spec"), ("delivery", "deferred"), ("weights", "1,0,0,1,0")];
    let waiting = small(&options);
    let mut client = waiting.client(0, 1, 7);
    let (mut queued, mut thought) = (0_u64, 0);
    for _ in 0..200 {
        let kind = client.draw();
        let waits = client.waits(kind);
        if kind == DELIVERY {
            // It is run while the user of the previous transaction thinks.
            assert_eq!(waits.before_ns, 0);
        } else {
            queued += u64::from(waits.before_ns > 18_000_000_000);
            assert!(waits.before_ns >= 18_000_000_000);
        }
        thought += u64::from(waits.after_ns > 0);
    }
    assert!(queued > 20, "{queued}");
    assert!((60..140).contains(&thought), "{thought} of 200");
}

type HistoryRow = (Int, Int, Int, Int, Int, Timestamp, Exact, Text);

/// The operations that damage a store.
struct Damage {
    warehouse: Write<(Int, Exact)>,
    district: Write<(Int, Int, Exact)>,
    next_order: Write<(Int, Int, Int)>,
    balance: Write<(Int, Int, Int, Exact)>,
    paid: Write<(Int, Int, Int, Exact)>,
    line_count: Write<(Int, Int, Int, Int)>,
    carrier: Write<(Int, Int, Int, Nullable<Int>)>,
    date: Write<(Int, Int, Int, Int, Nullable<Timestamp>)>,
    lose_order: Write<(Int, Int, Int)>,
    lose_new_order: Write<(Int, Int, Int)>,
    lose_line: Write<(Int, Int, Int, Int)>,
    lose_customer: Write<(Int, Int, Int)>,
    pay: Write<HistoryRow>,
}

impl Damage {
    fn declare(plan: &mut Plan) -> Damage {
        let table = |plan: &Plan, name: &str| {
            let found = plan.tables().iter().position(|table| table.name == name);
            TableId(found.unwrap_or_else(|| panic!("{name} is a table")))
        };
        let [warehouse, district, customer] =
            ["warehouse", "district", "customer"].map(|name| table(plan, name));
        let [orders, new_order, lines, history] =
            ["orders", "new_order", "order_line", "history"].map(|name| table(plan, name));
        Damage {
            warehouse: plan.update("harm", warehouse, &[("w_ytd", Set::Add)]),
            district: plan.update("harm", district, &[("d_ytd", Set::Add)]),
            next_order: plan.update("harm", district, &[("d_next_o_id", Set::Add)]),
            balance: plan.update("harm", customer, &[("c_balance", Set::Add)]),
            paid: plan.update("harm", customer, &[("c_ytd_payment", Set::Add)]),
            line_count: plan.update("harm", orders, &[("o_ol_cnt", Set::Add)]),
            carrier: plan.update("harm", orders, &[("o_carrier_id", Set::To)]),
            date: plan.update("harm", lines, &[("ol_delivery_d", Set::To)]),
            lose_order: plan.delete("harm", orders),
            lose_new_order: plan.delete("harm", new_order),
            lose_line: plan.delete("harm", lines),
            lose_customer: plan.delete("harm", customer),
            pay: plan.insert("harm", history),
        }
    }
}

/// One hundredth.
const CENT: Decimal = Decimal { units: 1, scale: 2 };

/// Loads the data, runs some transactions of each type, does the damage, and returns the checks that find it,
/// by the beginning of their names.
fn finds(
    url: &str,
    harm: impl Fn(&Damage, &mut Transaction<'_, AnySession>) -> Result<(), Stop>,
) -> Vec<String> {
    let checks = checks_after(url, &small(&[]), &[120], harm, |ending| ending);
    let violated = checks.into_iter().filter_map(|check| match check.outcome {
        CheckOutcome::Violated(_) => Some(short(&check.name)),
        CheckOutcome::Held | CheckOutcome::NotApplicable(_) => None,
    });
    violated.collect()
}

/// "condition 7", or the first two words of another check.
fn short(name: &str) -> String {
    let name = name.split(':').next().unwrap_or_default();
    name.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn checks_after(
    url: &str,
    workload: &AnyWorkload,
    transactions: &[u64],
    harm: impl Fn(&Damage, &mut Transaction<'_, AnySession>) -> Result<(), Stop>,
    outcome: impl Fn(Ending) -> Ending,
) -> Vec<Check> {
    let folder = tempfile::tempdir().expect("a folder for the store");
    let path = folder.path().join("store");
    let url = url.replace("{}", &path.display().to_string());
    let target = AnyTarget::open(&url).unwrap_or_else(|error| panic!("{error}"));
    let mut plan = workload.plan().clone();
    let damage = Damage::declare(&mut plan);
    block_on(&(), target.create(&plan)).expect("tables are made");
    let worker = target.worker().expect("a worker's part");
    block_on(&worker, async {
        let session = target.connect(&plan, &worker).await;
        let mut session = session.unwrap_or_else(|failure| panic!("{failure}"));
        workload.run_begins(0);
        load(workload, &plan, &mut session).await.expect("rows are loaded");
        let mut tallies = Vec::new();
        for (number, count) in transactions.iter().enumerate() {
            let mut client = workload.client(number, transactions.len(), 42);
            for _ in 0..*count {
                one(&mut session, &mut client, &outcome).await;
            }
            tallies.push(client.tally());
        }
        let mut asked = RequestTracker::default();
        session.begin(AccessPattern::Several);
        let done = harm(&damage, &mut Transaction::new(&mut session, &mut asked));
        done.expect("damage is done");
        session.commit().await.expect("damage is kept");
        read_state(workload, tallies, &mut session).await
    })
}

async fn read_state(
    workload: &AnyWorkload,
    tallies: Vec<AnyTally>,
    session: &mut AnySession,
) -> Vec<Check> {
    let checks = workload.check(tallies, session).await;
    checks.unwrap_or_else(|stop| panic!("{stop:?}"))
}

async fn load(workload: &AnyWorkload, plan: &Plan, session: &mut AnySession) -> Result<(), Stop> {
    for load in workload.loads() {
        let mut rows = Rows::new(plan.tables()[load.table.0].columns.len());
        for unit in 0..load.units {
            workload.load_unit(load.table, unit, &mut rows);
        }
        session.load(load.table, &rows).await?;
    }
    Ok(())
}

async fn one<C: Client>(
    session: &mut AnySession,
    client: &mut C,
    outcome: impl Fn(Ending) -> Ending,
) {
    let kind = client.draw();
    let mut asked = RequestTracker::default();
    session.begin(client.access_pattern(kind));
    let performed = {
        let mut transaction = Transaction::new(session, &mut asked);
        client.perform(kind, &mut transaction).await
    };
    match performed {
        Ok(()) => {
            session.commit().await.expect("nobody is in the way");
            client.ended(kind, outcome(Ending::Committed));
        }
        Err(Stop::Abort) => {
            session.abort().await;
            client.ended(kind, Ending::Undone);
        }
        Err(stop) => panic!("{stop:?}"),
    }
}

const STORES: [&str; 2] = ["engine:{}?durability=none", "sqlite:{}?durability=os"];

#[test]
fn without_damage_every_check_holds_and_with_unknown_endings_too() {
    let (nothing, twice) = (|_: &Damage, _: &mut Transaction<'_, AnySession>| Ok(()), [60, 60]);
    for url in STORES {
        for unknown in [false, true] {
            let outcome = |ending| if unknown { Ending::Unknown } else { ending };
            let checks = checks_after(url, &small(&[]), &twice, nothing, outcome);
            assert_eq!(checks.len(), 15);
            for check in checks {
                assert_eq!(check.outcome, CheckOutcome::Held, "{url}: {}", check.name);
            }
        }
    }
}

#[test]
fn right_after_the_load_every_condition_holds() {
    let checks = checks_after(STORES[0], &small(&[]), &[], |_, _| Ok(()), |ending| ending);
    assert!(checks.iter().all(|check| check.outcome == CheckOutcome::Held));
}

/// Loaded orders of a small district: 20, of which 14 are delivered.
const DELIVERED: i64 = 3;
const NEW: i64 = 19;

#[test]
fn wrong_sums_are_found_by_the_conditions_on_them() {
    for url in STORES {
        let found = finds(url, |damage, to| to.write(&damage.warehouse, (1, CENT)));
        assert_eq!(found, ["condition 1", "condition 8"]);
        let found = finds(url, |damage, to| to.write(&damage.district, (2, 7, CENT)));
        assert_eq!(found, ["condition 1", "condition 9"]);
        // A wrong sum may agree with its districts.
        let found = finds(url, |damage, to| {
            to.write(&damage.district, (2, 7, CENT))?;
            to.write(&damage.warehouse, (2, CENT))
        });
        assert_eq!(found, ["condition 8", "condition 9"]);
        let found = finds(url, |damage, to| to.write(&damage.balance, (1, 1, 1, CENT)));
        assert_eq!(found, ["condition 10", "condition 12"]);
        let found = finds(url, |damage, to| to.write(&damage.paid, (1, 1, 1, CENT)));
        assert_eq!(found, ["condition 12"]);
        let found = finds(url, |damage, to| {
            to.write(&damage.balance, (1, 1, 1, CENT))?;
            let less = Decimal { units: -1, scale: 2 };
            to.write(&damage.paid, (1, 1, 1, less))
        });
        assert_eq!(found, ["condition 10"]);
    }
}

#[test]
fn orders_out_of_number_are_found() {
    for url in STORES {
        let found = finds(url, |damage, to| to.write(&damage.next_order, (1, 4, 1)));
        assert_eq!(found, ["condition 2"]);
        let found = finds(url, |damage, to| to.write(&damage.lose_new_order, (1, 2, NEW)));
        assert_eq!(found, ["condition 3", "condition 5", "condition 11"]);
        let found = finds(url, |damage, to| to.write(&damage.lose_order, (1, 2, DELIVERED)));
        let all = ["4", "6", "11"].map(|number| format!("condition {number}"));
        assert_eq!(found[..3], all);
        assert_eq!(found[3..], ["every acknowledged", "the loaded"]);
    }
}

#[test]
fn lines_and_carriers_that_do_not_fit_are_found() {
    for url in STORES {
        let found = finds(url, |damage, to| to.write(&damage.lose_line, (2, 3, DELIVERED, 2)));
        assert_eq!(found, ["condition 4", "condition 6"]);
        // Another order may compensate for it in the sum.
        let found = finds(url, |damage, to| {
            to.write(&damage.line_count, (2, 3, DELIVERED, 1))?;
            to.write(&damage.line_count, (2, 3, DELIVERED + 1, -1))
        });
        assert_eq!(found, ["condition 6"]);
        let found = finds(url, |damage, to| to.write(&damage.date, (2, 3, DELIVERED, 1, None)));
        assert_eq!(found, ["condition 7"]);
        let found = finds(url, |damage, to| to.write(&damage.carrier, (2, 3, DELIVERED, None)));
        assert_eq!(found, ["condition 5", "condition 7", "the loaded"]);
    }
}

#[test]
fn a_lost_customer_and_a_payment_of_nobody_are_found() {
    for url in STORES {
        let found = finds(url, |damage, to| to.write(&damage.lose_customer, (1, 1, 5)));
        assert_eq!(found, ["condition 10"]);
        let found = finds(url, |damage, to| {
            let nothing = Decimal { units: 0, scale: 2 };
            to.write(&damage.pay, (99, 1, 1, 1, 1, 0, nothing, "nobody"))
        });
        assert_eq!(found, ["condition 10", "history has"]);
    }
}

/// A store that loses whole transactions satisfies every condition, but contradicts the clients'
/// acknowledgements.
#[test]
fn lost_acknowledged_transactions_are_found() {
    let (new_orders, payments, deliveries) = ("1,0,0,0,0", "0,1,0,0,0", "0,0,0,1,0");
    for (weights, check) in
        [(new_orders, "every acknowledged"), (payments, "history has"), (deliveries, "the loaded")]
    {
        let only = small(&[("weights", weights)]);
        let nowhere = AnyTarget::open("null").unwrap_or_else(|error| panic!("{error}"));
        let worker = nowhere.worker().expect("a worker's part");
        // The null target acknowledges transactions that no store has.
        let lost = block_on(&worker, async {
            let session = nowhere.connect(only.plan(), &worker).await;
            let mut session = session.expect("the null target connects");
            let mut client = only.client(0, 1, 42);
            one(&mut session, &mut client, &|ending| ending).await;
            client.tally()
        });
        let folder = tempfile::tempdir().expect("a folder for the store");
        let url = format!("sqlite:{}?durability=os", folder.path().join("s").display());
        let target = AnyTarget::open(&url).unwrap_or_else(|error| panic!("{error}"));
        block_on(&(), target.create(only.plan())).expect("tables are made");
        let worker = target.worker().expect("a worker's part");
        let checks = block_on(&worker, async {
            let session = target.connect(only.plan(), &worker).await;
            let mut session = session.unwrap_or_else(|failure| panic!("{failure}"));
            only.run_begins(0);
            load(&only, only.plan(), &mut session).await.expect("rows are loaded");
            read_state(&only, vec![lost], &mut session).await
        });
        let violated =
            checks.iter().filter(|check| matches!(check.outcome, CheckOutcome::Violated(_)));
        let violated: Vec<_> = violated.map(|check| short(&check.name)).collect();
        assert_eq!(violated, [check], "{weights}");
    }
}

#[test]
fn a_run_continues_from_an_earlier_one_whose_counts_are_unknown() {
    let folder = tempfile::tempdir().expect("a folder for the store");
    let url = format!("sqlite:{}?durability=os", folder.path().join("kept").display());
    let load = small(&[]);
    let plan = syncline_runner::RunPlan { reuse: true, ..plan(2, 100) };
    for kept in [false, true] {
        let target = AnyTarget::open(&url).unwrap_or_else(|error| panic!("{error}"));
        let stop = std::sync::atomic::AtomicBool::new(false);
        let result = syncline_runner::run(&target, &load, &plan, &stop, &());
        let result = result.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(result.head.workload.rows_kept, kept);
        for check in &result.checks {
            let is_counted = ["history has", "the loaded"].contains(&short(&check.name).as_str());
            match &check.outcome {
                CheckOutcome::Held => assert!(!(kept && is_counted), "{}", check.name),
                CheckOutcome::NotApplicable(_) => assert!(kept && is_counted, "{}", check.name),
                CheckOutcome::Violated(found) => panic!("{}: {found}", check.name),
            }
        }
    }
}

#[test]
fn names_of_transactions_are_in_the_order_of_the_source() {
    let names = small(&[]).transactions();
    assert_eq!(
        (names[NEW_ORDER], names[PAYMENT], names[DELIVERY]),
        ("new-order", "payment", "delivery")
    );
}
