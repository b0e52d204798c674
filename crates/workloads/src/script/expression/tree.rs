//! The tree of an expression.

use crate::script::functions::Function;
use crate::script::value::Scalar;
use crate::script::variables::Slot;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::script) enum Expression {
    Constant(Scalar),
    Variable(Slot),
    Not(Box<Expression>),
    And(Box<[Expression; 2]>),
    Or(Box<[Expression; 2]>),
    /// True if the value has the same kind and value as a constant, null included.
    Is(Box<Expression>, Scalar),
    Binary(Operator, Box<[Expression; 2]>),
    /// Conditions with their values, and the value if none holds.
    Case(Vec<[Expression; 2]>, Box<Expression>),
    Call(Function, Vec<Expression>),
}

/// An operator of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::script) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}
