//! The functions by name, with their arities and results.
//!
//! A null argument makes the result null, except for `debug`, which returns its argument; arguments are
//! evaluated in any case, including random draws.

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

/// The number of arguments of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Arity {
    /// This many.
    Exactly(usize),
    /// One or more.
    Any,
    /// This many, and an optional seed, which defaults to the variable `default_seed`.
    Seeded(usize),
}

impl Function {
    /// The function with this name, in any case.
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

    /// The number of its arguments.
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

    /// Its result for valid numbers of arguments.
    pub(in crate::script) fn of(
        self,
        arguments: &[Scalar],
        random: &mut Stream,
    ) -> Result<Scalar, Refusal> {
        if self == Function::Debug {
            return Ok(arguments[0]);
        }
        if arguments.contains(&Scalar::Null) {
            return Ok(Scalar::Null);
        }
        Ok(match self {
            Function::Pi => Scalar::Double(std::f64::consts::PI),
            Function::Abs => absolute(arguments[0])?,
            Function::Debug => arguments[0],
            Function::Double => Scalar::Double(arguments[0].double()?),
            Function::Exp => Scalar::Double(arguments[0].double()?.exp()),
            Function::Ln => Scalar::Double(arguments[0].double()?.ln()),
            Function::Sqrt => Scalar::Double(arguments[0].double()?.sqrt()),
            Function::Int => Scalar::Integer(arguments[0].integer()?),
            Function::Power => Scalar::Double(arguments[0].double()?.powf(arguments[1].double()?)),
            Function::Mod => remainder(arguments[0], arguments[1])?,
            Function::Greatest => extreme(arguments, i64::max, f64::max)?,
            Function::Least => extreme(arguments, i64::min, f64::min)?,
            Function::HashFnv1a => {
                Scalar::Integer(fnv1a(arguments[0].integer()?, arguments[1].integer()?))
            }
            Function::HashMurmur2 => {
                Scalar::Integer(murmur2(arguments[0].integer()?, arguments[1].integer()?))
            }
            Function::Permute => permutation(arguments)?,
            Function::Random
            | Function::RandomExponential
            | Function::RandomGaussian
            | Function::RandomZipfian => self.random_value(arguments, random)?,
        })
    }

    fn random_value(self, arguments: &[Scalar], random: &mut Stream) -> Result<Scalar, Refusal> {
        let interval = Interval::new(arguments[0].integer()?, arguments[1].integer()?)?;
        Ok(Scalar::Integer(match self {
            Function::RandomExponential => interval.exponential(arguments[2].double()?, random)?,
            Function::RandomGaussian => interval.gaussian(arguments[2].double()?, random)?,
            Function::RandomZipfian => interval.zipfian(arguments[2].double()?, random)?,
            _ => interval.even(random),
        }))
    }
}

/// The remainder of an integer division, with the dividend's sign.
pub(in crate::script) fn remainder(dividend: Scalar, divisor: Scalar) -> Result<Scalar, Refusal> {
    let (dividend, divisor) = (dividend.integer()?, divisor.integer()?);
    if divisor == 0 {
        return Err("division by zero".to_owned());
    }
    // By -1 the remainder is zero, even if the quotient overflows.
    Ok(Scalar::Integer(dividend.wrapping_rem(divisor)))
}

/// The smallest integer stays negative, as in pgbench.
fn absolute(arguments: Scalar) -> Result<Scalar, Refusal> {
    match arguments {
        Scalar::Integer(value) => Ok(Scalar::Integer(value.wrapping_abs())),
        other => Ok(Scalar::Double(other.double()?.abs())),
    }
}

/// The result is a double if any argument is one.
fn extreme(
    arguments: &[Scalar],
    of_integers: fn(i64, i64) -> i64,
    of_doubles: fn(f64, f64) -> f64,
) -> Result<Scalar, Refusal> {
    let double = arguments.iter().any(|one| matches!(one, Scalar::Double(_)));
    if double {
        let first = arguments[0].double()?;
        let all = arguments[1..].iter();
        let extreme = all
            .map(|one| one.double())
            .try_fold(first, |extreme, one| one.map(|one| of_doubles(extreme, one)));
        extreme.map(Scalar::Double)
    } else {
        let first = arguments[0].integer()?;
        let all = arguments[1..].iter();
        let extreme = all
            .map(|one| one.integer())
            .try_fold(first, |extreme, one| one.map(|one| of_integers(extreme, one)));
        extreme.map(Scalar::Integer)
    }
}

fn permutation(arguments: &[Scalar]) -> Result<Scalar, Refusal> {
    let (value, size, seed) =
        (arguments[0].integer()?, arguments[1].integer()?, arguments[2].integer()?);
    if size <= 0 {
        return Err(format!("the size of permute is {size}; it must be above zero"));
    }
    Ok(Scalar::Integer(permuted(value, size, seed)))
}
