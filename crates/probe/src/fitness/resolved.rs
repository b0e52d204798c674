//! Percentiles of a histogram, each only if the samples resolve it.

use hdrhistogram::Histogram;
use syncline_record::ResolvedLatency;
use syncline_record::stats::{quantile_interval, samples_for_quantile};

/// The distribution; a percentile that the samples do not resolve is `None`.
pub(crate) fn resolved(histogram: &Histogram<u64>) -> ResolvedLatency {
    let samples = histogram.len();
    let at = |quantile: f64| {
        (samples >= samples_for_quantile(quantile)).then(|| histogram.value_at_quantile(quantile))
    };
    let interval = quantile_interval(0.99, samples);
    let end = |quantile: f64| histogram.value_at_quantile(quantile);
    let any = samples > 0;
    ResolvedLatency {
        samples,
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p99_least: interval.map(|(least, _)| end(least)),
        p99_most: interval.map(|(_, most)| end(most)),
        p999: at(0.999),
        p9999: at(0.9999),
        max: any.then(|| histogram.max()),
        mean: any.then(|| histogram.mean()),
    }
}
