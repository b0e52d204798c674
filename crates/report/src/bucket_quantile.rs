//! The 99th percentile of a store's own operations, from a histogram that the store counts in buckets.
//!
//! A bucket is a counter named as in Prometheus, `NAME_seconds_bucket{le="BOUND"}`: the number of operations
//! that took at most BOUND seconds. Its increase over a span belongs to the histogram of that span, so the
//! quantile is known to within the distance of two bounds.

use syncline_record::CounterFigures;

/// The quantile that is shown.
const SHARE: f64 = 0.99;

/// A quantile of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BucketQuantile {
    /// The histogram's name, without the suffix of its counters.
    pub(crate) name: String,
    /// The bound of the bucket that holds the quantile; `None` if nothing was counted, or if it lies above
    /// all bounds.
    pub(crate) at_most_ns: Option<f64>,
    /// A note on the value, or why there is none.
    pub(crate) note: String,
}

/// The quantile of each histogram among the counters, in their order.
pub(crate) fn quantiles(counters: &[CounterFigures]) -> Vec<BucketQuantile> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in counters.iter().filter_map(|counter| bucket(&counter.name)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| quantile(name, counters)).collect()
}

fn quantile(name: &str, counters: &[CounterFigures]) -> BucketQuantile {
    let buckets = counters.iter().filter_map(|counter| {
        let (of, bound_s) = bucket(&counter.name)?;
        (of == name).then_some((bound_s, counter.grown?))
    });
    let mut buckets: Vec<(f64, u64)> = buckets.collect();
    buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
    let all = buckets.last().map_or(0, |(_, count)| *count);
    let enough = |(_, count): &&(f64, u64)| *count as f64 >= SHARE * all as f64;
    let found = buckets.iter().find(enough).map(|(bound_s, _)| *bound_s);
    let largest = buckets.iter().rev().find(|(bound_s, _)| bound_s.is_finite());
    let at_most_ns = found.filter(|bound_s| all > 0 && bound_s.is_finite());
    let note = match (all, at_most_ns, largest) {
        (0, ..) => "not available: nothing was counted in it".to_owned(),
        (_, None, Some((largest_s, _))) => format!("more than its largest bound, {largest_s} s"),
        _ => format!("the bound of its bucket; {all} counted"),
    };
    BucketQuantile {
        name: name.to_owned(),
        at_most_ns: at_most_ns.map(|bound_s| bound_s * 1e9),
        note,
    }
}

/// A bucket's histogram and its bound in seconds.
fn bucket(name: &str) -> Option<(&str, f64)> {
    let (name, bound) = name.split_once("_seconds_bucket{le=\"")?;
    let bound = match bound.strip_suffix("\"}")? {
        "+Inf" => f64::INFINITY,
        bound => bound.parse().ok()?,
    };
    Some((name, bound))
}

#[cfg(test)]
mod tests {
    use super::quantiles;
    use syncline_record::CounterFigures;

    fn counter(name: &str, grown: u64) -> CounterFigures {
        CounterFigures {
            meaning: "other".to_owned(),
            name: name.to_owned(),
            unit: "count".to_owned(),
            before: Some(0),
            after: Some(grown),
            grown: Some(grown),
            reason: None,
            said_by: "/metrics".to_owned(),
        }
    }

    fn histogram(counts: [u64; 4]) -> Vec<CounterFigures> {
        let bounds = ["0.001", "0.008", "8.192", "+Inf"];
        let buckets = bounds.iter().zip(counts);
        buckets
            .map(|(bound, count)| counter(&format!("sync_seconds_bucket{{le=\"{bound}\"}}"), count))
            .collect()
    }

    // B.F19
    #[test]
    fn the_quantile_is_the_bound_of_its_bucket() {
        let of = |counts| {
            let mut counters = vec![counter("sync_seconds_count", 100)];
            counters.extend(histogram(counts));
            let found = quantiles(&counters);
            assert_eq!((found.len(), found[0].name.as_str()), (1, "sync"));
            (found[0].at_most_ns, found[0].note.clone())
        };
        assert_eq!(of([99, 99, 100, 100]).0, Some(1e6));
        assert_eq!(of([98, 99, 100, 100]).0, Some(8e6));
        let (above, why) = of([90, 95, 98, 100]);
        assert_eq!(above, None);
        assert_eq!(why, "more than its largest bound, 8.192 s");
        let (none, why) = of([0, 0, 0, 0]);
        assert_eq!(none, None);
        assert!(why.contains("nothing was counted"), "{why}");
        assert_eq!(quantiles(&[counter("commits", 7)]), []);
    }
}
