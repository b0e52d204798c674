//! Readable names of metrics.

/// The readable name of a record's metric; an unknown metric keeps its own name.
pub(crate) fn words(metric: &str) -> &str {
    match metric {
        "cpu_user" => "user CPU",
        "cpu_kernel" => "kernel CPU",
        "cpu_by_tag" => "CPU by tag",
        "wall" => "wall clock",
        "off_cpu" => "time off the processor",
        "system_calls" => "system calls",
        "sync_calls" => "sync calls",
        "voluntary_switches" => "voluntary switches",
        "involuntary_switches" => "involuntary switches",
        "sync_writes" => "synchronous writes",
        "async_writes" => "asynchronous writes",
        "written_bytes" => "bytes written",
        "flushes" => "flushes",
        "allocated_bytes" => "bytes allocated",
        "allocated_objects" => "objects allocated",
        "contentions" => "contended locks",
        "contention_wait" => "wait for contended locks",
        "sleeps" => "sleeps",
        "garbage_collection" => "garbage collection",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::words;
    use std::collections::BTreeSet;
    use syncline_profile::Metric;

    #[test]
    fn every_metric_has_words_of_its_own() {
        let all: BTreeSet<&str> = Metric::ALL.iter().map(|one| words(one.name())).collect();
        assert_eq!(all.len(), Metric::ALL.len());
        assert!(all.iter().all(|words| !words.contains('_')), "{all:?}");
    }
}
