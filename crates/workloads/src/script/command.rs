//! What a script does, step by step, once it is read.

use super::expression::Expression;
use super::simple_query::SimpleQuery;
use super::variables::Slot;
use syncline_contract::{Any, Many, Read, Write};

/// A script.
#[derive(Debug)]
pub(super) struct Script {
    /// Its file, or the name of a built-in one.
    pub(super) name: String,
    /// How often it is chosen, compared with the others.
    pub(super) weight: u64,
    /// What it does.
    pub(super) steps: Vec<Step>,
}

/// A step and the line that it stands in.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) action: Action,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Action {
    /// Sends statements and takes their answers.
    Request(Request),
    /// `\set`.
    Set(Slot, Expression),
    /// `\if` and `\elif`: goes on with another step unless the condition holds.
    Unless(Expression, usize),
    /// The end of a branch: goes on behind its `\endif`.
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
    /// True if it is one transaction, several statements none of which begins or ends one.
    pub(super) whole: bool,
}

/// A statement.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) handle: Handle,
    /// The variable of each parameter.
    pub(super) uses: Vec<Slot>,
    /// Its text, if its values are put into that and it has no parameters.
    pub(super) spoken: Option<SimpleQuery>,
    pub(super) control: Control,
    /// Its place in the client's memory of column names.
    pub(super) number: usize,
}

/// A statement's operation in the plan.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handle {
    /// It answers rows.
    Read(Read<Many<Any>, Many<Any>>),
    /// It does not.
    Write(Write<Many<Any>>),
}

/// What a statement does to the transaction that the script writes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    None,
    Begins,
    Ends,
}

/// Which answers go to variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// None.
    Nothing,
    /// `\gset`: the only row of the last statement.
    One(String),
    /// `\aset`: the last row of each statement.
    Each(String),
}

/// How long a script sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    /// Nanoseconds.
    Fixed(u64),
    /// So many of so many nanoseconds.
    Times(Slot, u64),
}

/// A part of a command of the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Text(String),
    Variable(Slot),
}
