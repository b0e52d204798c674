//! The products, each read from its data file under `products/`.
//!
//! A file that cannot be read, or that lacks a source, is a mistake in the program: the tests read them all.

use crate::FileState;
use serde::Deserialize;
use std::sync::OnceLock;
use syncline_vfs::SyncMethod;

/// The data files, in the order in which they are listed and measured.
const FILES: [&str; 9] = [
    include_str!("../../products/etcd.toml"),
    include_str!("../../products/k3s.toml"),
    include_str!("../../products/openshift.toml"),
    include_str!("../../products/postgres.toml"),
    include_str!("../../products/mariadb.toml"),
    include_str!("../../products/redis.toml"),
    include_str!("../../products/tikv.toml"),
    include_str!("../../products/nats.toml"),
    include_str!("../../products/hana.toml"),
];

/// A product that syncs to a directory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Product {
    /// The name on the command line.
    pub name: String,
    /// The product's own name.
    pub title: String,
    /// What one operation of the first shape is to its user: "commit".
    pub operation: String,
    /// A setting of the product that makes it less sensitive to slow syncs, with its price.
    pub tuning: String,
    /// The ways in which it writes; the first one decides the consequence.
    #[serde(rename = "shape")]
    pub shapes: Vec<Shape>,
    /// Times after which something happens that users notice, shortest first.
    #[serde(rename = "deadline", default)]
    pub deadlines: Vec<Deadline>,
}

/// One way in which a product writes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// A short name.
    pub name: String,
    /// What the product does, and what is repeated here.
    pub about: String,
    /// Where the product does so.
    pub source: String,
    /// The state of the blocks.
    #[serde(deserialize_with = "file_state")]
    pub file_state: FileState,
    /// The writes of one operation, in order.
    #[serde(rename = "step")]
    pub steps: Vec<WriteStep>,
    /// The published limits.
    #[serde(rename = "threshold", default)]
    pub thresholds: Vec<Threshold>,
}

/// Some writes of equal size and the sync that makes them stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteStep {
    /// The number of writes before the sync.
    #[serde(default = "one")]
    pub writes: usize,
    /// Bytes of one write; a direct method rounds them up to a whole block of the device.
    pub write_bytes: usize,
    /// The position of each write.
    pub at: Position,
    /// The method.
    #[serde(deserialize_with = "sync_method")]
    pub sync: SyncMethod,
}

/// The position of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Position {
    /// After the one before.
    Next,
    /// At a random multiple of 4 KiB.
    Random,
    /// At the start of the file.
    First,
}

/// A published limit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Threshold {
    /// "p99", "mean" or "rate".
    pub statistic: String,
    /// The limit: an upper one for times, a lower one for rates.
    pub value: f64,
    /// "ms", "us" or "per second".
    pub unit: String,
    /// False for a recommendation, which makes nothing unfit.
    #[serde(default = "yes")]
    pub required: bool,
    /// Where it is published.
    pub source: String,
}

/// A time after which something happens that users notice.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deadline {
    /// The time in milliseconds.
    pub ms: u64,
    /// What happens if a sync takes longer.
    pub missed: String,
    /// What that means if no sync does.
    pub kept: String,
    /// Where the time comes from.
    pub source: String,
}

/// All products.
pub fn products() -> &'static [Product] {
    static PRODUCTS: OnceLock<Vec<Product>> = OnceLock::new();
    PRODUCTS.get_or_init(|| {
        FILES.map(|text| toml::from_str(text).expect("the data files were tested")).into()
    })
}

/// The product of that name.
pub fn product(name: &str) -> Option<&'static Product> {
    products().iter().find(|product| product.name == name)
}

impl Shape {
    /// The writes of one operation in words: "8 x 4096 B at random places, fdatasync; ...".
    pub(crate) fn in_words(&self) -> String {
        let steps = self.steps.iter().map(|step| {
            let count = if step.writes > 1 { format!("{} x ", step.writes) } else { String::new() };
            let at = match step.at {
                Position::Next => "",
                Position::Random => " at random places",
                Position::First => " at the start",
            };
            format!("{count}{} B{at}, {}", step.write_bytes, step.sync.name())
        });
        steps.collect::<Vec<_>>().join("; ")
    }

    /// Bytes that one operation writes.
    pub(crate) fn bytes(&self) -> usize {
        self.steps.iter().map(|step| step.writes * step.write_bytes).sum()
    }

    /// True if both repeat the same writes, so that one measurement serves both.
    pub(crate) fn writes_like(&self, other: &Shape) -> bool {
        self.file_state == other.file_state && self.steps == other.steps
    }
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

fn file_state<'d, D: serde::Deserializer<'d>>(text: D) -> Result<FileState, D::Error> {
    let name = String::deserialize(text)?;
    let found = FileState::ALL.into_iter().find(|state| state.name() == name);
    found.ok_or_else(|| serde::de::Error::custom(format!("\"{name}\" is not a file state")))
}

fn sync_method<'d, D: serde::Deserializer<'d>>(text: D) -> Result<SyncMethod, D::Error> {
    let name = String::deserialize(text)?;
    let found = SyncMethod::from_name(&name);
    found.ok_or_else(|| serde::de::Error::custom(format!("\"{name}\" is not a sync method")))
}
