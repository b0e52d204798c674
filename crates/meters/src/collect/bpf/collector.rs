//! The collector: a life around the programs in the kernel.

use super::climbs::Climbs;
use super::counts::Counts;
use super::hand_over::{self, METRICS, NAME, Seen};
use super::load::Programs;
use super::timing::Timing;
use super::tree;
use crate::collect::collector::{Collector, Opened};
use crate::collect::meter::MeterOptions;
use crate::collect::spent::Timed;
use crate::collect::subject::Subject;
use rustix::time::{ClockId, clock_gettime};
use syncline_metering::Nanos;
use syncline_profile::{Account, How, ProfileBuilder};

/// Loads the programs; refused where the kernel does not take them from this user.
pub(in crate::collect) fn open(subject: &Subject, _options: &MeterOptions) -> Opened {
    match Programs::load() {
        Ok(programs) => Ok(Box::new(Bpf {
            subject: *subject,
            programs,
            climbs: None,
            timed: None,
            since: 0,
            until: 0,
        })),
        Err(why) => Err(refused(&why)),
    }
}

#[derive(Debug)]
struct Bpf {
    subject: Subject,
    programs: Programs,
    climbs: Option<Climbs>,
    timed: Option<Timed>,
    since: Nanos,
    until: Nanos,
}

impl Collector for Bpf {
    fn prepare(&mut self) -> Result<(), String> {
        let climbs = Climbs::start(&self.subject, self.programs.take_copies()?)?;
        self.programs.attach()?;
        tree::enter(&mut self.programs, self.subject.process)?;
        tree::leave_out(&mut self.programs, climbs.number)?;
        self.climbs = Some(climbs);
        Ok(())
    }

    fn start(&mut self) -> Result<(), String> {
        self.since = monotonic();
        self.programs.count_since(self.since)?;
        if let Some(climbs) = &self.climbs {
            climbs.time(Timing::begin(self.programs.paths()));
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        self.until = monotonic();
        self.timed = self.climbs.as_ref().and_then(Climbs::timed);
        self.programs.count_until(self.until)
    }

    fn programs(&self) -> Option<Timed> {
        self.timed
    }

    fn hand_over(mut self: Box<Self>, profile: &mut ProfileBuilder) {
        match self.seen() {
            Ok(seen) => hand_over::put(seen, profile),
            Err(why) => {
                for account in refused(&why) {
                    profile.account(account);
                }
            }
        }
    }

    fn failed(&self, why: &str) -> Vec<Account> {
        refused(why)
    }
}

impl Bpf {
    fn seen(&mut self) -> Result<Seen, String> {
        self.programs.detach()?;
        let climbs = self.climbs.take();
        let climbs = climbs.ok_or_else(|| "it was not prepared".to_owned())?;
        let mut counts = Counts::read(&mut self.programs)?;
        counts.add_sleepers(self.since, self.until);
        let climbed = climbs.finish()?;
        Ok(Seen { counts, climbed })
    }
}

/// None of the metrics is to be had, for that reason.
fn refused(why: &str) -> Vec<Account> {
    let of_metric = |metric: &_| Account {
        metric: *metric,
        collector: NAME.to_owned(),
        how: How::NotAttributable(why.to_owned()),
        lost: 0,
        total: None,
    };
    METRICS.iter().map(of_metric).collect()
}

/// Now, by the clock that the programs read.
pub(super) fn monotonic() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the machine's time since it started");
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).expect("less than a second")
}
