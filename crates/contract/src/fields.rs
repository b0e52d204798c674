//! Typed rows: tuples of markers give an operation's parameters and answers their Rust types.
//!
//! `Write<(Int, Text)>` takes `(i64, &str)`; `Read<Int, (Int, Text)>` is asked with `i64` and answers
//! `(i64, &str)`. The plan checks markers against the schema once, when it is made, so that a wrong
//! type shows at start-up and never in a run.

use crate::rows::Row;
use crate::value::{Decimal, Kind, Value};
use std::marker::PhantomData;

/// One column's or parameter's type.
pub trait Field {
    /// What Rust code gives and takes.
    type Of<'a>;

    /// True if the schema's kind is this marker's.
    fn fits(kind: Kind) -> bool;

    /// True if the marker takes null.
    const NULLABLE: bool = false;

    /// As a value.
    fn put(given: Self::Of<'_>) -> Value<'_>;

    /// From a value; none if the store answered another kind than the plan declares.
    fn take(value: Value<'_>) -> Option<Self::Of<'_>>;
}

macro_rules! field {
    ($(#[$doc:meta])* $marker:ident, $of:ty, $kind:pat, $value:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $marker;

        impl Field for $marker {
            type Of<'a> = $of;

            fn fits(kind: Kind) -> bool {
                matches!(kind, $kind)
            }

            #[inline]
            fn put(given: Self::Of<'_>) -> Value<'_> {
                Value::$value(given)
            }

            #[inline]
            fn take(value: Value<'_>) -> Option<Self::Of<'_>> {
                match value {
                    Value::$value(taken) => Some(taken),
                    _ => None,
                }
            }
        }
    };
}

field!(/// A signed 64-bit integer.
    Int, i64, Kind::Int, Int);
field!(/// A 64-bit floating point number.
    Float, f64, Kind::Float, Float);
field!(/// An exact number; its scale is the column's.
    Exact, Decimal, Kind::Decimal { .. }, Decimal);
field!(/// Text.
    Text, &'a str, Kind::Text, Text);
field!(/// Bytes.
    Bytes, &'a [u8], Kind::Bytes, Bytes);
field!(/// Microseconds since 1970.
    Timestamp, i64, Kind::Timestamp, Timestamp);

/// A column that may be null.
#[derive(Clone, Copy, Debug)]
pub struct Nullable<F>(PhantomData<F>);

impl<F: Field> Field for Nullable<F> {
    type Of<'a> = Option<F::Of<'a>>;

    fn fits(kind: Kind) -> bool {
        F::fits(kind)
    }

    const NULLABLE: bool = true;

    #[inline]
    fn put(given: Self::Of<'_>) -> Value<'_> {
        given.map_or(Value::Null, F::put)
    }

    #[inline]
    fn take(value: Value<'_>) -> Option<Self::Of<'_>> {
        match value {
            Value::Null => Some(None),
            value => F::take(value).map(Some),
        }
    }
}

/// A tuple of fields: the parameters of an operation, or a row of its answer.
pub trait Fields {
    /// What Rust code gives and takes.
    type Of<'a>;

    /// How many.
    const COUNT: usize;

    /// True if field `index` fits that kind and nullability.
    fn fits(index: usize, kind: Kind, nullable: bool) -> bool;

    /// Lends the values as a slice.
    fn put<'a, T>(given: Self::Of<'a>, then: impl FnOnce(&[Value<'a>]) -> T) -> T;

    /// Takes a row apart; none if a cell is of another kind or the width differs.
    fn take(row: Row<'_>) -> Option<Self::Of<'_>>;
}

macro_rules! fields {
    ($count:literal: $($field:ident $index:tt),*) => {
        impl<$($field: Field),*> Fields for ($($field,)*) {
            type Of<'a> = ($($field::Of<'a>,)*);
            const COUNT: usize = $count;

            #[allow(unused_variables, reason = "the empty tuple has no field to ask")]
            fn fits(index: usize, kind: Kind, nullable: bool) -> bool {
                $(if index == $index {
                    return $field::fits(kind) && (!nullable || $field::NULLABLE);
                })*
                false
            }

            #[inline]
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no value")]
            fn put<'a, T>(given: Self::Of<'a>, then: impl FnOnce(&[Value<'a>]) -> T) -> T {
                then(&[$($field::put(given.$index)),*])
            }

            #[inline]
            fn take(row: Row<'_>) -> Option<Self::Of<'_>> {
                if row.width() != $count {
                    return None;
                }
                Some(($($field::take(row.value($index))?,)*))
            }
        }
    };
}

fields!(0:);
fields!(1: A 0);
fields!(2: A 0, B 1);
fields!(3: A 0, B 1, C 2);
fields!(4: A 0, B 1, C 2, D 3);
fields!(5: A 0, B 1, C 2, D 3, E 4);
fields!(6: A 0, B 1, C 2, D 3, E 4, F 5);
fields!(7: A 0, B 1, C 2, D 3, E 4, F 5, G 6);
fields!(8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
fields!(9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
fields!(10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
fields!(11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
fields!(12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
fields!(13: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12);
fields!(14: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13);
fields!(15: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14);
fields!(16: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15);
fields!(17: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
    Q 16);
fields!(18: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
    Q 16, R 17);
fields!(19: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
    Q 16, R 17, S 18);
fields!(20: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
    Q 16, R 17, S 18, T0 19);
fields!(21: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15,
    Q 16, R 17, S 18, T0 19, U 20);
