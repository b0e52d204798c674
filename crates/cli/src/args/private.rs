//! `syncline private`.

use clap::Args;
use std::path::PathBuf;
use syncline_contract::{Durability, OptionForm};
use syncline_launcher::{ByteSize, JvmOptions, ProcessorList, Product};

/// Start a temporary server on loopback from what is installed; Ctrl-C stops and removes it.
#[derive(Args, Debug)]
#[command(
    before_help = "Examples:\n  syncline private postgres\n  syncline private mariadb --durability os --cache 512m --cpus 0\n  syncline private derby --jvm -XX:TieredStopAtLevel=1"
)]
pub(crate) struct PrivateArgs {
    /// postgres, mariadb, redis, etcd or derby
    #[arg(value_name = "PRODUCT", value_parser = product)]
    pub(crate) product: ProductArg,

    /// Durability of its commits: none, os, data or full
    #[arg(long, value_name = "WORD", value_parser = durability, default_value = "data")]
    pub(crate) durability: DurabilityArg,

    /// Size of its cache, such as 512m or 2g; default: the product's own
    #[arg(long, value_name = "BYTES", value_parser = size)]
    pub(crate) cache: Option<u64>,

    /// Processors it may use, such as 0 or 0-1
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub(crate) cpus: Option<String>,

    /// Options of the JVM that runs Derby, such as -XX:TieredStopAtLevel=1
    #[arg(long, value_name = "OPTION,...", value_parser = jvm, allow_hyphen_values = true)]
    pub(crate) jvm: Vec<JvmArg>,

    /// The parent directory of its data directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Derby's jar files; default: those of the local Maven repository
    #[arg(long, value_name = "JAR,...", value_delimiter = ',')]
    pub(crate) jars: Vec<PathBuf>,
}

/// A product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductArg(pub(crate) Product);

/// Options of a JVM.
#[derive(Clone, Debug)]
pub(crate) struct JvmArg(pub(crate) Vec<String>);

/// A durability level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DurabilityArg(pub(crate) Durability);

fn product(typed: &str) -> Result<ProductArg, String> {
    let known = Product::ALL.map(Product::word).join(", ");
    let product = Product::from_word(typed);
    product.map(ProductArg).ok_or_else(|| format!("the products are {known}"))
}

fn durability(typed: &str) -> Result<DurabilityArg, String> {
    let durability = Durability::from_word(typed);
    durability.map(DurabilityArg).ok_or_else(|| "the levels are none, os, data and full".to_owned())
}

fn size(typed: &str) -> Result<u64, String> {
    ByteSize::read(typed).ok_or_else(|| "write a number of bytes, or 512k, 512m, 2g".to_owned())
}

fn jvm(typed: &str) -> Result<JvmArg, String> {
    let options = JvmOptions::read(typed);
    options
        .map(JvmArg)
        .ok_or_else(|| "write options that begin with -X or -D, separated by commas".to_owned())
}

fn cpus(typed: &str) -> Result<String, String> {
    ProcessorList::read(typed).ok_or_else(|| "write 0, 0-1 or 0,2".to_owned())
}
