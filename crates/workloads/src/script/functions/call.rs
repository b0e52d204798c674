//! The functions by name: how many arguments each takes, and what it answers.
//!
//! Null among the arguments makes the answer null, but for `debug`, which answers its argument; the
//! arguments, random draws too, are computed all the same.

use super::hash::{fnv1a, murmur2};
use super::permute::permuted;
use super::random::Interval;
use crate::distributions::Stream;
use crate::script::value::{Refusal, Scalar};

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Function {
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Arity {
    /// So many.
    Exactly(usize),
    /// One or more.
    Any,
    /// So many, and a seed, for which the variable `default_seed` stands in.
    Seeded(usize),
}

impl Function {
    /// The function of a name, in whatever case.
    pub(in crate::script) fn named(name: &str) -> Option<Function> {
        Some(match name.to_ascii_lowercase().as_str() {
            "abs" => Function::Abs,
            "debug" => Function::Debug,
            "double" => Function::Double,
            "exp" => Function::Exp,
            "greatest" => Function::Greatest,
            "hash" | "hash_murmur2" => Function::HashMurmur2,
            "hash_fnv1a" => Function::HashFnv1a,
            "int" => Function::Int,
            "least" => Function::Least,
            "ln" => Function::Ln,
            "mod" => Function::Mod,
            "permute" => Function::Permute,
            "pi" => Function::Pi,
            "pow" | "power" => Function::Power,
            "random" => Function::Random,
            "random_exponential" => Function::RandomExponential,
            "random_gaussian" => Function::RandomGaussian,
            "random_zipfian" => Function::RandomZipfian,
            "sqrt" => Function::Sqrt,
            _ => return None,
        })
    }

    /// How many arguments it takes.
    pub(in crate::script) fn arity(self) -> Arity {
        match self {
            Function::Pi => Arity::Exactly(0),
            Function::Abs
            | Function::Debug
            | Function::Double
            | Function::Exp
            | Function::Int
            | Function::Ln
            | Function::Sqrt => Arity::Exactly(1),
            Function::Mod | Function::Power | Function::Random => Arity::Exactly(2),
            Function::RandomExponential | Function::RandomGaussian | Function::RandomZipfian => {
                Arity::Exactly(3)
            }
            Function::Greatest | Function::Least => Arity::Any,
            Function::HashFnv1a | Function::HashMurmur2 => Arity::Seeded(1),
            Function::Permute => Arity::Seeded(2),
        }
    }

    /// Its answer to as many arguments as it takes.
    pub(in crate::script) fn of(
        self,
        given: &[Scalar],
        random: &mut Stream,
    ) -> Result<Scalar, Refusal> {
        if self == Function::Debug {
            return Ok(given[0]);
        }
        if given.contains(&Scalar::Null) {
            return Ok(Scalar::Null);
        }
        Ok(match self {
            Function::Pi => Scalar::Double(std::f64::consts::PI),
            Function::Abs => absolute(given[0])?,
            Function::Debug => given[0],
            Function::Double => Scalar::Double(given[0].double()?),
            Function::Exp => Scalar::Double(given[0].double()?.exp()),
            Function::Ln => Scalar::Double(given[0].double()?.ln()),
            Function::Sqrt => Scalar::Double(given[0].double()?.sqrt()),
            Function::Int => Scalar::Integer(given[0].integer()?),
            Function::Power => Scalar::Double(given[0].double()?.powf(given[1].double()?)),
            Function::Mod => remainder(given[0], given[1])?,
            Function::Greatest => extreme(given, i64::max, f64::max)?,
            Function::Least => extreme(given, i64::min, f64::min)?,
            Function::HashFnv1a => Scalar::Integer(fnv1a(given[0].integer()?, given[1].integer()?)),
            Function::HashMurmur2 => {
                Scalar::Integer(murmur2(given[0].integer()?, given[1].integer()?))
            }
            Function::Permute => permutation(given)?,
            Function::Random
            | Function::RandomExponential
            | Function::RandomGaussian
            | Function::RandomZipfian => self.drawn(given, random)?,
        })
    }

    fn drawn(self, given: &[Scalar], random: &mut Stream) -> Result<Scalar, Refusal> {
        let interval = Interval::new(given[0].integer()?, given[1].integer()?)?;
        Ok(Scalar::Integer(match self {
            Function::RandomExponential => interval.exponential(given[2].double()?, random)?,
            Function::RandomGaussian => interval.gaussian(given[2].double()?, random)?,
            Function::RandomZipfian => interval.zipfian(given[2].double()?, random)?,
            _ => interval.even(random),
        }))
    }
}

/// The rest of an integer division, of the dividend's sign.
pub(in crate::script) fn remainder(dividend: Scalar, divisor: Scalar) -> Result<Scalar, Refusal> {
    let (dividend, divisor) = (dividend.integer()?, divisor.integer()?);
    if divisor == 0 {
        return Err("division by zero".to_owned());
    }
    // By -1 nothing is left over, also where the quotient would be no integer.
    Ok(Scalar::Integer(dividend.wrapping_rem(divisor)))
}

/// The least integer stays negative, as pgbench has it.
fn absolute(given: Scalar) -> Result<Scalar, Refusal> {
    match given {
        Scalar::Integer(value) => Ok(Scalar::Integer(value.wrapping_abs())),
        other => Ok(Scalar::Double(other.double()?.abs())),
    }
}

/// A double if any argument is one.
fn extreme(
    given: &[Scalar],
    of_integers: fn(i64, i64) -> i64,
    of_doubles: fn(f64, f64) -> f64,
) -> Result<Scalar, Refusal> {
    let double = given.iter().any(|one| matches!(one, Scalar::Double(_)));
    if double {
        let first = given[0].double()?;
        let all = given[1..].iter();
        let extreme = all
            .map(|one| one.double())
            .try_fold(first, |extreme, one| one.map(|one| of_doubles(extreme, one)));
        extreme.map(Scalar::Double)
    } else {
        let first = given[0].integer()?;
        let all = given[1..].iter();
        let extreme = all
            .map(|one| one.integer())
            .try_fold(first, |extreme, one| one.map(|one| of_integers(extreme, one)));
        extreme.map(Scalar::Integer)
    }
}

fn permutation(given: &[Scalar]) -> Result<Scalar, Refusal> {
    let (value, size, seed) = (given[0].integer()?, given[1].integer()?, given[2].integer()?);
    if size <= 0 {
        return Err(format!("the size of permute is {size}; it must be above zero"));
    }
    Ok(Scalar::Integer(permuted(value, size, seed)))
}
