//! The suite: the list of cases with the abilities that they need, and running one case.

use super::block_on::block_on;
use super::fixture::Fixture;
use super::outcome::{CaseFailure, Conformance, Finding, Verdict};
use super::test_schema::TestSchema;
use super::{
    aggregates, concurrency, lifecycle, point_operations, scans, transactions, value_kinds,
};
use crate::capabilities::{Capabilities, Isolation};
use crate::target::Target;

/// Runs every case whose abilities the target claims, each on a store freshly made by `make`, created before
/// the case and removed after it.
pub fn conforms<T: Target>(make: impl Fn() -> T) -> Conformance {
    let mut suite = Suite { can: make().capabilities(), make, outcome: Conformance::default() };
    suite.values_and_rows();
    suite.scans_and_aggregates();
    suite.transactions();
    suite.lifecycle();
    suite.outcome
}

struct Suite<M> {
    make: M,
    can: Capabilities,
    outcome: Conformance,
}

/// An ability that a case needs: whether it is claimed, and the text for a target without it.
type Need = (bool, &'static str);

impl<T: Target, M: Fn() -> T> Suite<M> {
    fn values_and_rows(&mut self) {
        let rows = (self.can.keeps_rows, "it keeps no rows");
        self.case("answers have the declared kinds", &[], value_kinds::are_declared);
        self.case("values come back as written", &[rows], value_kinds::come_back);
        self.case("get hits and misses", &[rows], point_operations::get_hits_and_misses);
        self.case(
            "a duplicate key is refused",
            &[rows],
            point_operations::duplicate_key_is_refused,
        );
        self.case("update sets and adds", &[rows], point_operations::update_sets_and_adds);
        self.case("absent rows are refused", &[rows], point_operations::absent_rows_are_refused);
        self.case(
            "put and remove take either",
            &[rows],
            point_operations::put_and_remove_take_either,
        );
        self.case("a change takes either", &[rows], point_operations::change_takes_either);
        self.case("delete frees the key", &[rows], point_operations::delete_frees_the_key);
    }

    fn scans_and_aggregates(&mut self) {
        let rows = (self.can.keeps_rows, "it keeps no rows");
        let scanning = (self.can.scans, "it cannot scan");
        let indexes = (self.can.indexes, "it has no secondary indexes");
        let joins = (self.can.joins, "it cannot join");
        let aggregates = (self.can.aggregates, "it cannot aggregate");
        self.case("scans by key", &[rows, scanning], scans::by_key);
        self.case("sorted answers", &[rows, scanning], scans::sorted);
        self.case("a table without a key", &[rows, scanning], scans::without_key);
        self.case("scans by index", &[rows, scanning, indexes], scans::by_index);
        self.case("a unique index refuses", &[rows, indexes], scans::unique_index_refuses);
        self.case("joins", &[rows, joins], aggregates::joins);
        self.case("aggregates", &[rows, aggregates], aggregates::aggregates);
        self.case("aggregates over no rows", &[rows, aggregates], aggregates::over_no_rows);
    }

    fn transactions(&mut self) {
        use transactions as of;
        let rows = (self.can.keeps_rows, "it keeps no rows");
        let aborts = (self.can.aborts, "its aborts do not roll back");
        let indexes = (self.can.indexes && self.can.scans, "it cannot scan by index");
        self.case("answers keep the order of asking", &[rows, aborts], of::answers_keep_order);
        self.case("own writes are read", &[rows, aborts], of::own_writes_are_read);
        self.case("abort undoes", &[rows, aborts], of::abort_undoes);
        let entries = "abort undoes index entries";
        self.case(entries, &[rows, aborts, indexes], of::abort_undoes_index_entries);
        self.case("the session survives errors", &[rows, aborts], of::session_survives_errors);
        self.case("a commit is visible", &[rows], of::commit_is_visible);
        let dropped = "a dropped session leaves nothing";
        self.case(dropped, &[rows, aborts], of::dropped_session_leaves_nothing);
        let isolated = (self.can.keeps_rows && self.is_isolated(), "it claims no isolation");
        self.case(
            "uncommitted rows are hidden",
            &[isolated, aborts],
            concurrency::uncommitted_is_hidden,
        );
        self.case("no update is lost", &[isolated, aborts], concurrency::no_update_is_lost);
    }

    fn lifecycle(&mut self) {
        let rows = (self.can.keeps_rows, "it keeps no rows");
        let loads = (self.can.loads, "it has no bulk load");
        let keys = (self.can.keys_by_server, "it cannot generate keys");
        let scanning = (self.can.scans, "it cannot scan");
        self.case("settings are reported", &[], lifecycle::settings_are_reported);
        self.case("batches are loaded", &[rows, loads], lifecycle::loads);
        let given = "keys given by the store are distinct";
        self.case(given, &[rows, keys, scanning], lifecycle::given_keys_are_distinct);
        let clear = "keys given by the store keep clear of loaded ones";
        self.case(clear, &[rows, keys, loads], lifecycle::given_keys_keep_clear_of_loaded);
        self.case("remove and create again", &[rows], lifecycle::remove_and_create_again);
        self.removes_nothing();
    }

    fn case(&mut self, name: &'static str, needs: &[Need], case: fn(&Fixture<'_, T>) -> Verdict) {
        if let Some((_, lacking)) = needs.iter().find(|(claimed, _)| !claimed) {
            self.outcome.skipped.push((name, lacking));
            return;
        }
        self.outcome.tested.push(name);
        let target = (self.make)();
        let ran = on_fresh_store(&target, &self.can, case);
        let removed = block_on(&(), target.remove());
        self.find(name, ran);
        self.find(
            name,
            removed.map_err(|failure| CaseFailure(format!("removing failed: {failure}"))),
        );
    }

    /// Removing a store that was never created must succeed and do nothing.
    fn removes_nothing(&mut self) {
        let name = "remove without create";
        self.outcome.tested.push(name);
        let removed = block_on(&(), (self.make)().remove());
        self.find(name, removed.map_err(CaseFailure::from));
    }

    fn find(&mut self, case: &'static str, verdict: Verdict) {
        if let Err(CaseFailure(what)) = verdict {
            self.outcome.findings.push(Finding { case, what });
        }
    }

    fn is_isolated(&self) -> bool {
        let claimed = |fixture: &Fixture<'_, T>| {
            let reported = fixture.run(fixture.target.reported_settings())?;
            if reported.isolation == Isolation::NoneClaimed {
                return Err(CaseFailure(String::new()));
            }
            Ok(())
        };
        let target = (self.make)();
        let isolated = on_fresh_store(&target, &self.can, claimed).is_ok();
        // The cases report failures to remove.
        drop(block_on(&(), target.remove()));
        isolated
    }
}

fn on_fresh_store<T: Target>(
    target: &T,
    can: &Capabilities,
    case: impl FnOnce(&Fixture<'_, T>) -> Verdict,
) -> Verdict {
    let scene = &TestSchema::new(can);
    block_on(&(), target.create(&scene.plan))?;
    let worker = &target.worker()?;
    case(&Fixture { target, worker, scene })
}
