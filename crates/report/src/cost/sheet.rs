//! The cost of a transaction as a table: a row per module, a column per metric or combination of metrics.
//!
//! 1. Rows are in the order of [`Module::ALL`]; a module without amounts is left out, the row of unknown code
//!    never is.
//! 2. A cell is a figure, zero, or not available, and the three are never confused. A metric that was not
//!    requested has no column; a metric that could not be split by module has one if its sum is known.
//! 3. Shares are of the shown threads, and add up to one. Waiting for a request is excluded from the shares
//!    of wall clock time.

use syncline_profile::{Module, View};
use syncline_record::stats;
use syncline_record::{Cost, CostRow, MetricCost};

/// The threads whose rows are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CostThreads {
    /// Threads that serve clients, or run the client of a store in this process; all threads if none is known
    /// to.
    #[default]
    Serving,
    /// Threads of one class; for a view of stacks also a pattern of their names.
    Class(String),
    /// All threads.
    All,
}

impl CostThreads {
    /// Every class of threads, by its name in records.
    pub const CLASSES: [&str; 5] = CLASSES;
}

/// The shown part of a cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostChoice {
    /// The module to which a stack of several modules is charged.
    pub view: View,
    /// The threads whose rows are shown.
    pub threads: CostThreads,
}

/// The content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Figure {
    /// Nanoseconds per transaction.
    Time(f64),
    /// Events or objects per transaction.
    Count(f64),
    /// Bytes per transaction.
    Bytes(f64),
    /// A part of the column.
    Share(f64),
    /// The 95 % confidence interval of the share.
    Between(f64, f64),
    /// The number of samples.
    Samples(u64),
    /// Excluded: waiting for a request, from the shares of wall clock time.
    LeftOut,
    /// Not available, or not meaningful in this row.
    None,
}

/// The content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heading {
    /// A metric by its name.
    Metric(&'static str),
    /// Its part of the column.
    Share(&'static str),
    /// User and kernel CPU together.
    Cpu,
    /// Their part of all; if one of them could not be split, the other's is a [`Heading::Share`].
    CpuShare,
    /// The confidence interval of that part.
    CpuRange,
    /// The part of wall clock time.
    WallShare,
    /// Samples of the processors.
    Samples,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SheetRow {
    /// The module's heading, or the name of another row.
    pub(crate) name: String,
    /// The module; `None` for sums and for unknown code.
    pub(crate) module: Option<Module>,
    /// In the order of the headings.
    pub(crate) cells: Vec<Figure>,
}

/// The table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sheet {
    /// The shown threads, in words.
    pub(crate) threads: String,
    pub(crate) headings: Vec<Heading>,
    /// Modules, and last the row of unknown code.
    pub(crate) modules: Vec<SheetRow>,
    /// Their sum.
    pub(crate) sum: SheetRow,
    /// The sums of the other classes.
    pub(crate) others: Vec<SheetRow>,
    /// The totals of the whole store by other counts, if there are any.
    pub(crate) whole: Option<SheetRow>,
}

/// Columns of times, in their order.
const TIMES: [Heading; 9] = [
    Heading::Metric(USER),
    Heading::Metric(KERNEL),
    Heading::Cpu,
    Heading::CpuShare,
    Heading::CpuRange,
    Heading::Samples,
    Heading::Share(TAG),
    Heading::Metric(OFF),
    Heading::WallShare,
];
/// Columns of events, in their order.
const EVENTS: [&str; 13] = [
    "system_calls",
    "sync_calls",
    "voluntary_switches",
    "involuntary_switches",
    "sync_writes",
    "async_writes",
    "written_bytes",
    "flushes",
    "allocated_bytes",
    "allocated_objects",
    "contentions",
    "contention_wait",
    "sleeps",
];
pub(super) const USER: &str = "cpu_user";
pub(super) const KERNEL: &str = "cpu_kernel";
pub(super) const TAG: &str = "cpu_by_tag";
const WALL: &str = "wall";
const OFF: &str = "off_cpu";
const SERVING: [&str; 2] = ["connection", "client"];
/// Every class of threads, in the order of rows.
pub(crate) const CLASSES: [&str; 5] = ["connection", "client", "background", "runtime", "unknown"];

impl SheetRow {
    /// True if a cell holds a figure above zero.
    pub(crate) fn holds_anything(&self) -> bool {
        self.cells.iter().any(|cell| match cell {
            Figure::Time(figure)
            | Figure::Count(figure)
            | Figure::Bytes(figure)
            | Figure::Share(figure) => *figure > 0.0,
            Figure::Samples(samples) => *samples > 0,
            Figure::Between(..) | Figure::LeftOut | Figure::None => false,
        })
    }
}

impl Sheet {
    /// The table of a cost, with every available column.
    pub(crate) fn of(cost: &Cost, choice: &CostChoice) -> Sheet {
        Sheet::build(cost, choice, None)
    }

    /// The table with these columns and every module, whether they have figures or not.
    pub(crate) fn with(cost: &Cost, choice: &CostChoice, headings: &[Heading]) -> Sheet {
        Sheet::build(cost, choice, Some(headings.to_vec()))
    }

    fn build(cost: &Cost, choice: &CostChoice, headings: Option<Vec<Heading>>) -> Sheet {
        let present: Vec<&str> =
            CLASSES.into_iter().filter(|class| has_class(cost, choice.view, class)).collect();
        let shown = shown_classes(&present, &choice.threads);
        let slice = |classes: Vec<&'static str>| Slice { cost, view: choice.view, classes };
        let own = slice(shown.clone());
        let lines = match headings {
            Some(_) => Module::ALL.into_iter().map(Some).chain([None]).collect(),
            None => own.modules(),
        };
        let headings = headings.unwrap_or_else(|| own.headings());
        let modules = lines.into_iter().map(|module| SheetRow {
            name: module.map_or("unknown", Module::heading).to_owned(),
            module,
            cells: own.cells(&headings, Some(module)),
        });
        let others = present.iter().filter(|class| !shown.contains(*class));
        Sheet {
            threads: threads_in_words(&shown),
            modules: modules.collect(),
            sum: SheetRow {
                name: "sum".to_owned(),
                module: None,
                cells: own.cells(&headings, None),
            },
            others: others
                .map(|class| SheetRow {
                    name: format!("{class} threads"),
                    module: None,
                    cells: without_shares(slice(vec![class]).cells(&headings, None), &headings),
                })
                .collect(),
            whole: totals_row(cost, &headings),
            headings,
        }
    }
}

fn has_class(cost: &Cost, view: View, class: &str) -> bool {
    cost.metrics
        .iter()
        .flat_map(|metric| metric.rows(view))
        .any(|row| row.threads == class && row.amount > 0)
}

fn shown_classes(present: &[&'static str], threads: &CostThreads) -> Vec<&'static str> {
    let among = |wanted: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
        CLASSES.into_iter().filter(|class| wanted(class)).collect()
    };
    match threads {
        CostThreads::All => among(&|class| present.contains(&class)),
        CostThreads::Class(class) => among(&|one| one == class),
        CostThreads::Serving => {
            let serving = among(&|class| SERVING.contains(&class) && present.contains(&class));
            if serving.is_empty() { among(&|class| present.contains(&class)) } else { serving }
        }
    }
}

fn threads_in_words(classes: &[&str]) -> String {
    match classes {
        [] => "no threads".to_owned(),
        ["unknown"] => "all threads, since the map knows none of them".to_owned(),
        _ => format!("{} threads", classes.join(", ")),
    }
}

/// Clears the shares of threads that are not shown, since those would be parts of another whole.
fn without_shares(mut cells: Vec<Figure>, headings: &[Heading]) -> Vec<Figure> {
    for (cell, heading) in cells.iter_mut().zip(headings) {
        if matches!(
            heading,
            Heading::Share(_) | Heading::CpuShare | Heading::CpuRange | Heading::WallShare
        ) {
            *cell = Figure::None;
        }
    }
    cells
}

/// The totals of the whole store by other counts; `None` if there are none.
fn totals_row(cost: &Cost, headings: &[Heading]) -> Option<SheetRow> {
    let total = |name: &str| {
        cost.metrics
            .iter()
            .filter(|one| one.metric == name)
            .find_map(|one| one.total.as_ref()?.per_transaction)
    };
    let cells: Vec<Figure> = headings
        .iter()
        .map(|heading| match heading {
            Heading::Metric(name) => figure(name, total(name)),
            Heading::Cpu => match (total(USER), total(KERNEL)) {
                (Some(user), Some(kernel)) => Figure::Time(user + kernel),
                _ => Figure::None,
            },
            _ => Figure::None,
        })
        .collect();
    cells.iter().any(|cell| *cell != Figure::None).then(|| SheetRow {
        name: "cross-check".to_owned(),
        module: None,
        cells,
    })
}

fn figure(metric: &str, amount: Option<f64>) -> Figure {
    let Some(amount) = amount else {
        return Figure::None;
    };
    match metric {
        USER | KERNEL | TAG | WALL | OFF | "contention_wait" | "garbage_collection" => {
            Figure::Time(amount)
        }
        "written_bytes" | "allocated_bytes" => Figure::Bytes(amount),
        _ => Figure::Count(amount),
    }
}

/// The part of a cost that belongs to some classes of threads.
struct Slice<'c> {
    cost: &'c Cost,
    view: View,
    classes: Vec<&'static str>,
}

/// One module, or unknown code (`Some(None)`); `None` is the sum of all.
type Line = Option<Option<Module>>;

impl Slice<'_> {
    /// Modules that have amounts, in their order, and last the row of unknown code.
    fn modules(&self) -> Vec<Option<Module>> {
        Module::ALL
            .into_iter()
            .filter(|module| {
                self.cost
                    .metrics
                    .iter()
                    .flat_map(|metric| self.rows(metric))
                    .any(|row| row.module.as_deref() == Some(module.name()) && row.amount > 0)
            })
            .map(Some)
            .chain([None])
            .collect()
    }

    fn headings(&self) -> Vec<Heading> {
        let split = |name: &str| self.split_metric(name).is_some();
        let times = TIMES
            .into_iter()
            .filter(|heading| match heading {
                Heading::Metric(name) => self.is_known(name),
                Heading::Share(name) => split(name),
                Heading::Cpu => split(USER) && split(KERNEL),
                Heading::CpuShare => split(USER) || split(KERNEL),
                Heading::CpuRange | Heading::Samples => {
                    self.is_sampled(USER) || self.is_sampled(KERNEL)
                }
                Heading::WallShare => !self.wall().is_empty(),
            })
            .map(|heading| match heading {
                Heading::CpuShare => self.cpu_share(),
                other => other,
            });
        let events = EVENTS.into_iter().filter(|name| self.is_known(name));
        times.chain(events.map(Heading::Metric)).collect()
    }

    /// The share of all processor time, or of user or kernel time if only that could be split.
    fn cpu_share(&self) -> Heading {
        match (self.split_metric(USER), self.split_metric(KERNEL)) {
            (Some(_), None) => Heading::Share(USER),
            (None, Some(_)) => Heading::Share(KERNEL),
            _ => Heading::CpuShare,
        }
    }

    /// True if it was split, or if at least its sum is known.
    fn is_known(&self, name: &str) -> bool {
        self.cost
            .metrics
            .iter()
            .filter(|one| one.metric == name)
            .any(|one| one.is_split() || one.total.is_some())
    }

    fn is_sampled(&self, name: &str) -> bool {
        self.split_metric(name).is_some_and(|one| one.how == "sampled")
    }

    fn split_metric(&self, name: &str) -> Option<&MetricCost> {
        self.cost.metric(name).filter(|metric| metric.is_split())
    }

    /// The metrics that make up wall clock time: itself if it was sampled, else on-CPU and off-CPU time.
    fn wall(&self) -> &'static [&'static str] {
        let all = |names: &[&str]| names.iter().all(|name| self.split_metric(name).is_some());
        let choices: [&[&str]; 2] = [&[WALL], &[USER, KERNEL, OFF]];
        choices.into_iter().find(|names| all(names)).unwrap_or_default()
    }

    fn rows<'m>(&'m self, metric: &'m MetricCost) -> impl Iterator<Item = &'m CostRow> {
        metric.rows(self.view).iter().filter(|row| self.classes.contains(&row.threads.as_str()))
    }

    fn cells(&self, headings: &[Heading], line: Line) -> Vec<Figure> {
        headings.iter().map(|heading| self.cell(*heading, line)).collect()
    }

    fn cell(&self, heading: Heading, line: Line) -> Figure {
        let cpu: &[&str] = &[USER, KERNEL];
        match heading {
            Heading::Metric(name) => figure(name, self.per_transaction(&[name], line)),
            Heading::Cpu => figure(USER, self.per_transaction(cpu, line)),
            Heading::Share(name) => self.share(&[name], line).map_or(Figure::None, Figure::Share),
            Heading::CpuShare if self.cpu_share() != heading => Figure::None,
            Heading::CpuShare => self.share(cpu, line).map_or(Figure::None, Figure::Share),
            Heading::CpuRange => {
                let (share, all) = (self.share(cpu, line), self.samples(cpu, None));
                let range = share.and_then(|share| stats::share_range(share, all));
                range
                    .filter(|_| line.is_some())
                    .map_or(Figure::None, |range| Figure::Between(range.least, range.most))
            }
            Heading::WallShare if line == Some(Some(Module::WaitingForRequest)) => Figure::LeftOut,
            Heading::WallShare => self.wall_share(line).map_or(Figure::None, Figure::Share),
            Heading::Samples => Figure::Samples(self.samples(cpu, line)),
        }
    }

    /// The sum of those metrics that could be split; `None` if none could.
    fn amount(&self, names: &[&str], wanted: &dyn Fn(&CostRow) -> bool) -> Option<f64> {
        let split: Vec<&MetricCost> =
            names.iter().filter_map(|name| self.split_metric(name)).collect();
        let sum: u64 = split
            .iter()
            .flat_map(|metric| self.rows(metric))
            .filter(|row| wanted(row))
            .map(|row| row.amount)
            .sum();
        (!split.is_empty()).then_some(sum as f64)
    }

    fn per_transaction(&self, names: &[&str], line: Line) -> Option<f64> {
        let commits = self.cost.commits;
        let amount = self.amount(names, &|row| is_in_line(row, line))?;
        (commits > 0).then(|| amount / commits as f64)
    }

    fn share(&self, names: &[&str], line: Line) -> Option<f64> {
        ratio(self.amount(names, &|row| is_in_line(row, line))?, self.amount(names, &|_| true)?)
    }

    fn wall_share(&self, line: Line) -> Option<f64> {
        let names = self.wall();
        ratio(
            self.amount(names, &|row| is_in_line(row, line) && !row.waits_for_request())?,
            self.amount(names, &|row| !row.waits_for_request())?,
        )
    }

    fn samples(&self, names: &[&str], line: Line) -> u64 {
        let split = names.iter().filter_map(|name| self.split_metric(name));
        split
            .flat_map(|metric| self.rows(metric))
            .filter(|row| is_in_line(row, line))
            .map(|row| row.count)
            .sum()
    }
}

fn is_in_line(row: &CostRow, line: Line) -> bool {
    line.is_none_or(|module| row.module.as_deref() == module.map(Module::name))
}

fn ratio(amount: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| amount / of)
}
