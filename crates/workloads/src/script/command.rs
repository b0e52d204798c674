//! The parsed form of a script: its steps.

use super::expression::Expression;
use super::simple_query::SimpleQuery;
use super::variables::Slot;
use syncline_contract::{Any, Many, Read, Write};

/// A script.
#[derive(Debug)]
pub(super) struct Script {
    /// Its file, or the name of a built-in script.
    pub(super) name: String,
    /// Its weight relative to the other scripts.
    pub(super) weight: u64,
    /// Its steps.
    pub(super) steps: Vec<Step>,
}

/// A step and its line.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) action: Action,
}

/// The action of a step.
#[derive(Debug)]
pub(super) enum Action {
    /// Sends statements and receives their answers.
    Request(Request),
    /// `\set`.
    Set(Slot, Expression),
    /// `\if` and `\elif`: jumps to another step unless the condition holds.
    Unless(Expression, usize),
    /// The end of a branch: jumps behind its `\endif`.
    Goto(usize),
    /// `\sleep`.
    Sleep(Amount),
    /// `\shell`, and `\setshell` into a variable.
    Shell(Vec<Word>, Option<Slot>),
    /// `\startpipeline`.
    StartPipeline,
    /// `\syncpipeline`.
    SyncPipeline,
    /// `\endpipeline`.
    EndPipeline,
}

/// Statements that are sent together.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) statements: Vec<Statement>,
    pub(super) store: Store,
    /// True if it is one transaction: several statements, none of which begins or ends one.
    pub(super) whole: bool,
}

/// A statement.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) handle: Handle,
    /// The variable of each parameter.
    pub(super) uses: Vec<Slot>,
    /// Its text, if the values are inserted into the text instead of sent as parameters.
    pub(super) spoken: Option<SimpleQuery>,
    pub(super) control: Control,
    /// Its index in the client's cache of column names.
    pub(super) number: usize,
}

/// A statement's operation in the plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handle {
    /// It returns rows.
    Read(Read<Many<Any>, Many<Any>>),
    /// It returns no rows.
    Write(Write<Many<Any>>),
}

/// The effect of a statement on a transaction that the script itself controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    None,
    Begins,
    Ends,
}

/// The answers to store in variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// None.
    Nothing,
    /// `\gset`: the only row of the last statement.
    One(String),
    /// `\aset`: the last row of each statement.
    Each(String),
}

/// The duration of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// Nanoseconds.
    Fixed(u64),
    /// A variable times this many nanoseconds.
    Times(Slot, u64),
}

/// A part of a shell command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Text(String),
    Variable(Slot),
}
