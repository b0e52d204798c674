//! The latencies of every operation, kept a client and kind in histograms, as YCSB keeps them: of
//! committed ones, from their first try (service) and from when they were due (intended).

use hdrhistogram::Histogram;
use std::sync::{Mutex, MutexGuard, PoisonError};
use syncline_runner::{Fate, Followed, Follower};

/// The latencies of one kind of operation, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) service: Histogram<u64>,
    pub(super) intended: Histogram<u64>,
}

impl Times {
    fn none() -> Times {
        let empty = Histogram::new(3).expect("three digits are kept");
        Times {
            service: empty.clone(),
            intended: empty,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Watch {
    /// A client's kinds; none until it has committed something, since a histogram takes 16 KiB.
    clients: Vec<Mutex<Vec<Times>>>,
    kinds: usize,
}

impl Watch {
    /// Of so many clients and kinds of operations.
    pub(super) fn new(clients: usize, kinds: usize) -> Watch {
        Watch {
            clients: (0..clients).map(|_| Mutex::default()).collect(),
            kinds,
        }
    }

    /// What all clients together took for a kind.
    pub(super) fn times(&self, kind: usize) -> Times {
        let mut all = Times::none();
        for client in &self.clients {
            let client = lock(client);
            let Some(times) = client.get(kind) else {
                continue;
            };
            for (sum, one) in [
                (&mut all.service, &times.service),
                (&mut all.intended, &times.intended),
            ] {
                sum.add(one)
                    .expect("a histogram grows to whatever is added");
            }
        }
        all
    }
}

impl Follower for Watch {
    fn ended(&self, one: &Followed) {
        let (Fate::Committed, Some(kind)) = (one.fate, one.kind) else {
            return;
        };
        let mut client = lock(&self.clients[one.client]);
        if client.is_empty() {
            client.resize(self.kinds, Times::none());
        }
        let times = &mut client[kind];
        for (histogram, from) in [
            (&mut times.service, one.started),
            (&mut times.intended, one.due),
        ] {
            let recorded = histogram.record(one.ended.saturating_sub(from));
            recorded.expect("a histogram grows to whatever it is given");
        }
    }
}

fn lock(client: &Mutex<Vec<Times>>) -> MutexGuard<'_, Vec<Times>> {
    client.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::Watch;
    use syncline_runner::{Fate, Followed, Follower};

    #[test]
    fn committed_operations_are_kept_by_kind_from_both_beginnings() {
        let watch = Watch::new(2, 2);
        let one = Followed {
            client: 0,
            kind: Some(1),
            due: 1_000,
            started: 3_000,
            ended: 5_000,
            fate: Fate::Committed,
            tries: 1,
            late: false,
        };
        watch.ended(&one);
        watch.ended(&Followed {
            client: 1,
            ended: 9_000,
            ..one
        });
        watch.ended(&Followed {
            fate: Fate::Aborted,
            ..one
        });
        let times = watch.times(1);
        assert_eq!((times.service.len(), times.intended.len()), (2, 2));
        assert_eq!((times.service.min(), times.intended.min()), (2_000, 4_000));
        assert_eq!(watch.times(0).service.len(), 0);
    }
}
