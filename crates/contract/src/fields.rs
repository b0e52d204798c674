//! Typed rows: tuples of markers determine the Rust types of an operation's parameters and answers.
//!
//! `Write<(Int, Text)>` takes `(i64, &str)`; `Read<Int, (Int, Text)>` takes `i64` and returns `(i64, &str)`.
//! The plan checks markers against the schema once, when it is made, so a wrong type is detected at start-up
//! and never during a run. If the number of columns depends on options, [`Many`] takes any number of fields
//! of one type.

use crate::rows::Row;
use crate::value::{Decimal, Kind, Value};
use std::marker::PhantomData;

/// One column's or parameter's type.
pub trait Field {
    /// The Rust type.
    type Of<'a>;

    /// True if the marker fits this kind.
    fn fits(kind: Kind) -> bool;

    /// True if the marker permits null.
    const NULLABLE: bool = false;

    /// Converts to a value.
    fn put(values: Self::Of<'_>) -> Value<'_>;

    /// Converts from a value; none if the store returned another kind than the plan declares.
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
            fn put(values: Self::Of<'_>) -> Value<'_> {
                Value::$value(values)
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

/// A value of any kind: for user statements, whose kinds only the store knows.
#[derive(Clone, Copy, Debug)]
pub struct Any;

impl Field for Any {
    type Of<'a> = Value<'a>;

    fn fits(_kind: Kind) -> bool {
        true
    }

    const NULLABLE: bool = true;

    #[inline]
    fn put(values: Self::Of<'_>) -> Value<'_> {
        values
    }

    #[inline]
    fn take(value: Value<'_>) -> Option<Self::Of<'_>> {
        Some(value)
    }
}

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
    fn put(values: Self::Of<'_>) -> Value<'_> {
        values.map_or(Value::Null, F::put)
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
    /// The Rust type.
    type Of<'a>;

    /// True if the tuple has this many fields.
    fn holds(count: usize) -> bool;

    /// True if field `index` fits this kind and nullability.
    fn fits(index: usize, kind: Kind, nullable: bool) -> bool;

    /// Passes the values to `then` as a slice.
    fn put<'a, T>(values: Self::Of<'a>, then: impl FnOnce(&[Value<'a>]) -> T) -> T;

    /// Converts a row; none if a cell has another kind or the width differs.
    fn take(row: Row<'_>) -> Option<Self::Of<'_>>;
}

/// Any number of fields of one type: values as a list of values, returned as a row whose fields are read one
/// by one.
#[derive(Clone, Copy, Debug)]
pub struct Many<F>(PhantomData<F>);

/// The Rust type of [`Many`].
#[derive(Debug)]
pub enum Several<'a, F> {
    /// Values to send, all of the field's kind.
    Values(&'a [Value<'a>]),
    /// A returned row, whose kinds have been checked.
    Answered(Row<'a>, PhantomData<F>),
}

impl<'a, F: Field> Several<'a, F> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Several::Values(values) => values.len(),
            Several::Answered(row, _) => row.width(),
        }
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One value; panics beyond the end.
    #[inline]
    pub fn get(&self, index: usize) -> F::Of<'a> {
        let value = match self {
            Several::Values(values) => values[index],
            Several::Answered(row, _) => row.value(index),
        };
        F::take(value).expect("the kinds were checked")
    }
}

impl<F: Field> Fields for Many<F> {
    type Of<'a> = Several<'a, F>;

    fn holds(_count: usize) -> bool {
        true
    }

    fn fits(_index: usize, kind: Kind, nullable: bool) -> bool {
        F::fits(kind) && (!nullable || F::NULLABLE)
    }

    #[inline]
    fn put<'a, T>(values: Self::Of<'a>, then: impl FnOnce(&[Value<'a>]) -> T) -> T {
        match values {
            Several::Values(values) => then(values),
            Several::Answered(row, _) => then(&row.values().collect::<Vec<_>>()),
        }
    }

    #[inline]
    fn take(row: Row<'_>) -> Option<Self::Of<'_>> {
        row.kinds()
            .all(|kind| kind.map_or(F::NULLABLE, F::fits))
            .then_some(Several::Answered(row, PhantomData))
    }
}

macro_rules! fields {
    ($count:literal: $($field:ident $index:tt),*) => {
        impl<$($field: Field),*> Fields for ($($field,)*) {
            type Of<'a> = ($($field::Of<'a>,)*);

            fn holds(count: usize) -> bool {
                count == $count
            }

            #[allow(unused_variables, reason = "the empty tuple has no fields")]
            fn fits(index: usize, kind: Kind, nullable: bool) -> bool {
                $(if index == $index {
                    return $field::fits(kind) && (!nullable || $field::NULLABLE);
                })*
                false
            }

            #[inline]
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no value")]
            fn put<'a, T>(values: Self::Of<'a>, then: impl FnOnce(&[Value<'a>]) -> T) -> T {
                then(&[$($field::put(values.$index)),*])
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
