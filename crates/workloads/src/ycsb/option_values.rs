//! The words that options take.

/// One of YCSB's workloads: a short cut that sets weights and distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardWorkload {
    /// None of them: the defaults of YCSB's code.
    Core,
    /// Half reads, half updates.
    A,
    /// Reads, and one update in twenty.
    B,
    /// Reads alone.
    C,
    /// Reads of what is new, and one insert in twenty.
    D,
    /// Short scans, and one insert in twenty.
    E,
    /// Half reads, half read-modify-writes.
    F,
}

impl StandardWorkload {
    /// Every one.
    pub const ALL: [StandardWorkload; 7] = [
        StandardWorkload::Core,
        StandardWorkload::A,
        StandardWorkload::B,
        StandardWorkload::C,
        StandardWorkload::D,
        StandardWorkload::E,
        StandardWorkload::F,
    ];

    /// The word of the option.
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

/// Whose table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// YCSB's: a key and ten fields of 100 bytes.
    Ycsb,
    /// K2's: ten fields of 10 bytes, of which the first is the key.
    K2,
}

impl Profile {
    /// Every one.
    pub const ALL: [Profile; 2] = [Profile::Ycsb, Profile::K2];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Profile::Ycsb => "ycsb",
            Profile::K2 => "k2",
        }
    }
}

/// Which keys are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Each as likely.
    Uniform,
    /// True Zipf.
    Zipfian,
    /// YCSB's zipfian.
    Scrambled,
    /// The newest the most frequent.
    Latest,
    /// Some get most.
    Hotspot,
    /// One after another.
    Sequential,
    /// Falling off from the newest.
    Exponential,
}

impl Distribution {
    /// Every one.
    pub const ALL: [Distribution; 7] = [
        Distribution::Uniform,
        Distribution::Zipfian,
        Distribution::Scrambled,
        Distribution::Latest,
        Distribution::Hotspot,
        Distribution::Sequential,
        Distribution::Exponential,
    ];

    /// The word of the option.
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

/// How long something is, between its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Always the most.
    Constant,
    /// Each length as likely.
    Uniform,
    /// The least the most frequent, by YCSB's Zipf.
    Zipfian,
    /// As often as a histogram counts each length; of fields only.
    Histogram,
}

impl Lengths {
    /// Those that need nothing besides.
    pub const PLAIN: [Lengths; 3] = [Lengths::Constant, Lengths::Uniform, Lengths::Zipfian];

    /// Every one.
    pub const ALL: [Lengths; 4] =
        [Lengths::Constant, Lengths::Uniform, Lengths::Zipfian, Lengths::Histogram];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Lengths::Constant => "constant",
            Lengths::Uniform => "uniform",
            Lengths::Zipfian => "zipfian",
            Lengths::Histogram => "histogram",
        }
    }
}

/// What a key says of its row's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOrder {
    /// Its hash: new rows fall anywhere.
    Hashed,
    /// The number itself: new rows fall at the end.
    Ordered,
}

impl InsertOrder {
    /// Every one.
    pub const ALL: [InsertOrder; 2] = [InsertOrder::Hashed, InsertOrder::Ordered];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            InsertOrder::Hashed => "hashed",
            InsertOrder::Ordered => "ordered",
        }
    }
}

/// How much of a read row is verified in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verify {
    /// That it is there.
    Presence,
    /// One of its fields, in turn.
    Field,
    /// All that was read.
    Row,
}

impl Verify {
    /// Every one.
    pub const ALL: [Verify; 3] = [Verify::Presence, Verify::Field, Verify::Row];

    /// The word of the option.
    pub fn word(self) -> &'static str {
        match self {
            Verify::Presence => "presence",
            Verify::Field => "field",
            Verify::Row => "row",
        }
    }
}
