//! A profile of the Java program, by threads and methods.

use super::java_program::{Done, JavaProgram};
use syncline_host::Process;
use syncline_profile::{Account, Frame, Metric, Name, Precision, Profile, Sample, Space};
use syncline_profiler::{Profiler, ProfilerOptions, Subject};

/// The profile of a window, and the work done in it.
pub(crate) struct JvmProfile {
    pub(crate) profile: Profile,
    pub(crate) done: Done,
}

impl JvmProfile {
    /// Profiles the program for a number of its waits.
    pub(crate) fn of(known: &mut JavaProgram, waits: u64) -> JvmProfile {
        let subject = Subject::of(Process::Other(known.pid()));
        let mut meter = Profiler::open(&subject, &ProfilerOptions::default());
        meter.prepare();
        meter.start(&|| 0);
        let before = known.after_waits(1);
        let after = known.after_waits(waits);
        meter.stop(&|| 0);
        JvmProfile { profile: meter.finish(), done: after.since(before) }
    }

    /// The weight of a metric in threads with a name, on stacks that contain a method of the program; without
    /// a method, on any stack.
    pub(crate) fn sum(&self, metric: Metric, thread: &str, method: Option<&str>) -> u64 {
        let wanted = |sample: &&Sample| {
            let named = self.profile.thread(sample.thread).name == thread || thread.is_empty();
            let mut frames = self.profile.stack(sample.stack);
            let on_stack = method.is_none_or(|method| frames.any(|frame| is_method(frame, method)));
            sample.metric == metric && named && on_stack
        };
        let samples = self.profile.samples().iter();
        samples.filter(wanted).map(|sample| sample.weight).sum()
    }

    pub(crate) fn account(&self, metric: Metric) -> &Account {
        let mut accounts = self.profile.accounts().iter();
        let found = accounts.find(|account| account.metric == metric);
        found.unwrap_or_else(|| panic!("no account of {metric:?}"))
    }

    /// Why a metric is missing; fails if it is not.
    pub(crate) fn refusal(&self, metric: Metric) -> &str {
        let account = self.account(metric);
        let Precision::NotAttributable(why) = &account.how else {
            panic!("{account:?}");
        };
        assert_eq!(self.sum(metric, "", None), 0, "{metric:?}");
        why
    }
}

/// True if a figure equals a known one within some percent.
pub(crate) fn is_about(figure: u64, known: u64, percent: u64) -> bool {
    figure.abs_diff(known) * 100 <= known * percent
}

fn is_method(frame: &Frame, method: &str) -> bool {
    let named = matches!(&frame.name, Name::Function(name) if name == method);
    frame.space == Space::Java && frame.object == "Known" && named
}
