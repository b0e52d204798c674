//! The values of options.

/// One of YCSB's workloads: a shortcut that sets weights and distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardWorkload {
    /// None of them: the defaults in YCSB's code.
    Core,
    /// Half reads, half updates.
    A,
    /// Reads, with one update in twenty.
    B,
    /// Reads only.
    C,
    /// Reads of new rows, with one insert in twenty.
    D,
    /// Short scans, with one insert in twenty.
    E,
    /// Half reads, half read-modify-writes.
    F,
}

impl StandardWorkload {
    /// All values.
    pub const ALL: [StandardWorkload; 7] = [
        StandardWorkload::Core,
        StandardWorkload::A,
        StandardWorkload::B,
        StandardWorkload::C,
        StandardWorkload::D,
        StandardWorkload::E,
        StandardWorkload::F,
    ];

    /// The option's value.
    pub fn word(self) -> &'static str {
        match self {
            StandardWorkload::Core => "core",
            StandardWorkload::A => "a",
            StandardWorkload::B => "b",
            StandardWorkload::C => "c",
            StandardWorkload::D => "d",
            StandardWorkload::E => "e",
            StandardWorkload::F => "f",
        }
    }
}

/// The source of the table's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// YCSB: a key and ten fields of 100 bytes.
    Ycsb,
    /// K2: ten fields of 10 bytes; the first is the key.
    K2,
}

impl Profile {
    /// All values.
    pub const ALL: [Profile; 2] = [Profile::Ycsb, Profile::K2];

    /// The option's value.
    pub fn word(self) -> &'static str {
        match self {
            Profile::Ycsb => "ycsb",
            Profile::K2 => "k2",
        }
    }
}

/// The distribution of requested keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// All equally likely.
    Uniform,
    /// Exact Zipf.
    Zipfian,
    /// YCSB's zipfian.
    Scrambled,
    /// The newest key is the most frequent.
    Latest,
    /// A few keys get most requests.
    Hotspot,
    /// One key after another.
    Sequential,
    /// Falls off from the newest key.
    Exponential,
}

impl Distribution {
    /// All values.
    pub const ALL: [Distribution; 7] = [
        Distribution::Uniform,
        Distribution::Zipfian,
        Distribution::Scrambled,
        Distribution::Latest,
        Distribution::Hotspot,
        Distribution::Sequential,
        Distribution::Exponential,
    ];

    /// The option's value.
    pub fn word(self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Zipfian => "zipfian",
            Distribution::Scrambled => "scrambled",
            Distribution::Latest => "latest",
            Distribution::Hotspot => "hotspot",
            Distribution::Sequential => "sequential",
            Distribution::Exponential => "exponential",
        }
    }
}

/// How a length varies between its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Always the maximum.
    Constant,
    /// All lengths equally likely.
    Uniform,
    /// The minimum is the most frequent, by YCSB's Zipf.
    Zipfian,
    /// By a histogram; for fields only.
    Histogram,
}

impl Lengths {
    /// Those that need no further option.
    pub const PLAIN: [Lengths; 3] = [Lengths::Constant, Lengths::Uniform, Lengths::Zipfian];

    /// All values.
    pub const ALL: [Lengths; 4] =
        [Lengths::Constant, Lengths::Uniform, Lengths::Zipfian, Lengths::Histogram];

    /// The option's value.
    pub fn word(self) -> &'static str {
        match self {
            Lengths::Constant => "constant",
            Lengths::Uniform => "uniform",
            Lengths::Zipfian => "zipfian",
            Lengths::Histogram => "histogram",
        }
    }
}

/// How a key is derived from its row's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOrder {
    /// As a hash: new rows are scattered.
    Hashed,
    /// As the number itself: new rows are at the end.
    Ordered,
}

impl InsertOrder {
    /// All values.
    pub const ALL: [InsertOrder; 2] = [InsertOrder::Hashed, InsertOrder::Ordered];

    /// The option's value.
    pub fn word(self) -> &'static str {
        match self {
            InsertOrder::Hashed => "hashed",
            InsertOrder::Ordered => "ordered",
        }
    }
}

/// How much of a read row is verified during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// Only that the row exists.
    Presence,
    /// One of its fields, in rotation.
    Field,
    /// All fields that were read.
    Row,
}

impl Verify {
    /// All values.
    pub const ALL: [Verify; 3] = [Verify::Presence, Verify::Field, Verify::Row];

    /// The option's value.
    pub fn word(self) -> &'static str {
        match self {
            Verify::Presence => "presence",
            Verify::Field => "field",
            Verify::Row => "row",
        }
    }
}
