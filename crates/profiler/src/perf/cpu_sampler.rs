//! Samples processors while they work for the store, at a fixed frequency.
//!
//! A sample in the kernel counts as kernel time, any other as user time. Each sample represents the time
//! since the previous one, and more if samples were lost.

use super::event_source::{Kind, Source};
use super::events::Reach;
use super::refusal::{kernel_hidden, refusal};
use super::sampler::{Fields, Sampler};
use super::sampler_output::SamplerOutput;
use super::stack_counts::Detail;
use crate::account::all_missing;
use crate::collector::{Collector, OpenResult};
use crate::profiler::ProfilerOptions;
use crate::subject::Subject;
use std::io;
use std::slice;
use syncline_profile::{Account, Metric, Precision, ProfileBuilder};

const COLLECTOR: &str = "cpu by perf events";
const METRICS: [Metric; 2] = [Metric::CpuUser, Metric::CpuKernel];
/// The ways to sample, best first: the reach of the events, and whether the kernel's side is visible.
const WAYS: [(Reach, bool); 3] =
    [(Reach::Machine, true), (Reach::Tasks, true), (Reach::Tasks, false)];

#[derive(Debug)]
struct Cpu {
    sampler: Sampler,
    sampling: Sampling,
}

#[derive(Clone, Copy, Debug)]
struct Sampling {
    per_s: u32,
    period: u64,
    with_kernel: bool,
}

/// Opens the best way to sample that this user may use.
pub(crate) fn open(subject: &Subject, options: &ProfilerOptions) -> OpenResult {
    let source = Source::clock(options.samples_per_s);
    let mut last = None;
    for (reach, with_kernel) in WAYS {
        match Sampler::open(
            subject,
            slice::from_ref(&source),
            reach,
            with_kernel,
            Fields::default(),
        ) {
            Ok(sampler) => {
                return Ok(Box::new(Cpu {
                    sampler,
                    sampling: Sampling {
                        per_s: options.samples_per_s,
                        period: source.period,
                        with_kernel,
                    },
                }));
            }
            Err(error) => {
                let denied = error.kind() == io::ErrorKind::PermissionDenied;
                last = Some(error);
                if !denied {
                    break;
                }
            }
        }
    }
    let why = last.map_or_else(String::new, |error| refusal("processors at work", &error));
    Err(refused(&why))
}

fn refused(why: &str) -> Vec<Account> {
    all_missing(&METRICS, COLLECTOR, why)
}

impl Sampling {
    fn put(self, mut outcome: SamplerOutput, profile: &mut ProfileBuilder) {
        let weight = self.period as f64 * outcome.scale(Kind::Clock);
        outcome.put(profile, |seen| match seen.detail {
            Detail::User => Some((Metric::CpuUser, weight)),
            Detail::Kernel => Some((Metric::CpuKernel, weight)),
            Detail::Call(_) | Detail::Voluntary(_) => None,
        });
        for metric in METRICS {
            let hidden = metric == Metric::CpuKernel && !self.with_kernel;
            let how = if hidden {
                Precision::NotAttributable(kernel_hidden())
            } else {
                Precision::Sampled(format!("{} samples/s per CPU", self.per_s))
            };
            profile.account(Account {
                metric,
                collector: COLLECTOR.to_owned(),
                how,
                lost: outcome.lost(Kind::Clock),
                total: None,
            });
        }
    }
}

impl Collector for Cpu {
    fn takes(&self) -> &[Metric] {
        &METRICS
    }

    fn prepare(&mut self) -> Result<(), String> {
        self.sampler.prepare()
    }

    fn start(&mut self) -> Result<(), String> {
        self.sampler.start()
    }

    fn stop(&mut self) -> Result<(), String> {
        self.sampler.stop()
    }

    fn hand_over(self: Box<Self>, profile: &mut ProfileBuilder) {
        match self.sampler.finish() {
            Ok(outcome) => self.sampling.put(outcome, profile),
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
