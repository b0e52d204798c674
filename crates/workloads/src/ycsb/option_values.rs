//! The values of options.

use syncline_contract::words;

words! {
    /// One of YCSB's workloads: a shortcut that sets weights and distribution.
    pub enum StandardWorkload {
        /// None of them: the defaults in YCSB's code.
        Core = "core",
        /// Half reads, half updates.
        A = "a",
        /// Reads, with one update in twenty.
        B = "b",
        /// Reads only.
        C = "c",
        /// Reads of new rows, with one insert in twenty.
        D = "d",
        /// Short scans, with one insert in twenty.
        E = "e",
        /// Half reads, half read-modify-writes.
        F = "f",
    }
}

words! {
    /// The source of the table's format.
    pub enum Profile {
        /// YCSB: a key and ten fields of 100 bytes.
        Ycsb = "ycsb",
        /// K2: ten fields of 10 bytes; the first is the key.
        K2 = "k2",
    }
}

words! {
    /// The distribution of requested keys.
    pub enum Distribution {
        /// All equally likely.
        Uniform = "uniform",
        /// Exact Zipf.
        Zipfian = "zipfian",
        /// YCSB's zipfian.
        Scrambled = "scrambled",
        /// The newest key is the most frequent.
        Latest = "latest",
        /// A few keys get most requests.
        Hotspot = "hotspot",
        /// One key after another.
        Sequential = "sequential",
        /// Falls off from the newest key.
        Exponential = "exponential",
    }
}

words! {
    /// How a length varies between its bounds.
    pub enum Lengths {
        /// Always the maximum.
        Constant = "constant",
        /// All lengths equally likely.
        Uniform = "uniform",
        /// The minimum is the most frequent, by YCSB's Zipf.
        Zipfian = "zipfian",
        /// By a histogram; for fields only.
        Histogram = "histogram",
    }
}

words! {
    /// How a key is derived from its row's number.
    pub enum InsertOrder {
        /// As a hash: new rows are scattered.
        Hashed = "hashed",
        /// As the number itself: new rows are at the end.
        Ordered = "ordered",
    }
}

words! {
    /// How much of a read row is verified during the run.
    pub enum Verify {
        /// Only that the row exists.
        Presence = "presence",
        /// One of its fields, in rotation.
        Field = "field",
        /// All fields that were read.
        Row = "row",
    }
}
