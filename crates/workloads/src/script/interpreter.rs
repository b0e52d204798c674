//! Runs a script's steps in order, within one transaction of the run.

use super::command::{Action, Amount, Control, Handle, Request, Script, Statement, Step, Store};
use super::options::Program;
use super::shell;
use super::simple_query::SimpleQuery;
use super::value::{Scalar, VariableValue};
use super::variables::{Names, Slot, Values, is_name};
use crate::distributions::Stream;
use syncline_contract::{
    Any, Failure, FailureKind, Many, Read, Session, Several, Stop, Transaction, Value,
};

/// The state of a running script.
#[derive(Debug)]
pub(super) struct State {
    pub(super) values: Values,
    pub(super) random: Stream,
    /// For each statement with a stored answer, the variable of each column, once known; none for a column
    /// that no script uses.
    pub(super) columns: Vec<Option<Vec<Option<Slot>>>>,
    /// True between the script's own BEGIN and END.
    pub(super) begun: bool,
    /// True in a pipeline.
    pub(super) pipelined: bool,
    /// Reads in a pipeline that wait for its end.
    pub(super) waiting: Vec<Read<Many<Any>, Many<Any>>>,
    /// The statement that is sent as text.
    pub(super) text: String,
}

/// A running script.
#[derive(Clone, Copy)]
pub(super) struct Run<'p> {
    pub(super) program: &'p Program,
    pub(super) script: &'p Script,
}

impl Run<'_> {
    fn names(&self) -> &Names {
        &self.program.names
    }

    /// The failure for an error that originates in the script.
    #[cold]
    fn failed(&self, step: &Step, what: &str) -> Stop {
        let what = format!("{}:{}: {what}", self.script.name, step.line);
        Failure::new(FailureKind::Statement, what).into()
    }
}

impl State {
    /// Called before the first step.
    pub(super) fn begin(&mut self) {
        self.begun = false;
        self.pipelined = false;
        self.waiting.clear();
    }

    /// Runs the script to its end, or to an error.
    pub(super) async fn script<S: Session>(
        &mut self,
        run: Run<'_>,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let steps = &run.script.steps;
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            match &step.action {
                Action::Request(request) => self.request(run, step, request, transaction).await?,
                Action::Sleep(amount) => {
                    let length_ns = self.length_ns(run, step, *amount)?;
                    transaction.pause(length_ns).await?;
                }
                Action::EndPipeline | Action::SyncPipeline => {
                    self.pipeline(run, step)?;
                    self.take_waiting(transaction).await?;
                }
                Action::StartPipeline => self.pipeline(run, step)?,
                Action::Goto(to) => at = *to,
                Action::Unless(condition, to) => {
                    let value = condition.value(run.names(), &self.values, &mut self.random);
                    if !value.map_err(|why| run.failed(step, &why))?.holds() {
                        at = *to;
                    }
                }
                Action::Set(slot, expression) => {
                    let value = expression.value(run.names(), &self.values, &mut self.random);
                    let value = value.map_err(|why| run.failed(step, &why))?;
                    self.values.set(*slot, VariableValue::Scalar(value));
                }
                Action::Shell(words, None) => {
                    let done = shell::run(words, run.names(), &self.values);
                    done.map_err(|why| run.failed(step, &why))?;
                }
                Action::Shell(words, Some(slot)) => {
                    let result = shell::ask(words, run.names(), &self.values);
                    let result = result.map_err(|why| run.failed(step, &why))?;
                    self.values.set(*slot, VariableValue::Scalar(Scalar::Integer(result)));
                }
            }
        }
        match steps.last() {
            Some(last) if self.pipelined => {
                Err(run.failed(last, "the script ends in a pipeline: \\endpipeline is missing"))
            }
            _ => Ok(()),
        }
    }

    /// Sends the statements of a request and receives their answers; in a pipeline the answers come later.
    async fn request<S: Session>(
        &mut self,
        run: Run<'_>,
        step: &Step,
        request: &Request,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let brackets = run.program.brackets.as_ref();
        let brackets = brackets.filter(|_| request.whole && !self.begun && !self.pipelined);
        if let Some([begin, _]) = brackets {
            transaction.write(begin, Several::Values(&[]))?;
        }
        let last = request.statements.len() - 1;
        for (number, statement) in request.statements.iter().enumerate() {
            self.send(run, step, statement, number < last, transaction)?;
        }
        for (number, statement) in request.statements.iter().enumerate() {
            let prefix = match &request.store {
                Store::Nothing => None,
                Store::One(prefix) => (number == last).then_some(prefix),
                Store::Each(prefix) => Some(prefix),
            };
            let only = matches!(request.store, Store::One(_));
            match (&statement.handle, prefix) {
                (Handle::Read(question), None) if self.pipelined => self.waiting.push(*question),
                (Handle::Read(question), None) => drop(transaction.answers(question).await?),
                (Handle::Read(question), Some(prefix)) => {
                    let answer = ExpectedAnswer { question, prefix, only };
                    self.store(run, step, statement, &answer, transaction).await?;
                }
                (Handle::Write(_), Some(_)) if only => {
                    return Err(
                        run.failed(step, "\\gset needs one row, but the statement returns none")
                    );
                }
                (Handle::Write(_), _) => {}
            }
        }
        if let Some([_, commit]) = brackets {
            transaction.write(commit, Several::Values(&[]))?;
        }
        Ok(())
    }

    /// Sends a statement; `followed` says that another statement of its request follows.
    fn send<S: Session>(
        &mut self,
        run: Run<'_>,
        step: &Step,
        statement: &Statement,
        followed: bool,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        if let Some(spoken) = &statement.spoken {
            self.text.clear();
            spoken.write(&self.values, &mut self.text);
            self.text.push_str(if followed { ";" } else { "" });
            hand_over(statement, &[Value::Text(&self.text)], transaction)?;
        } else {
            self.send_values(run, step, statement, transaction)?;
        }
        match statement.control {
            Control::None => {}
            Control::Begins => self.begun = true,
            Control::Ends => self.begun = false,
        }
        Ok(())
    }

    /// Sends a statement with its variables as parameters.
    fn send_values<S: Session>(
        &self,
        run: Run<'_>,
        step: &Step,
        statement: &Statement,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        /// Most statements use at most this many variables, which need no allocation.
        const FEW: usize = 12;
        let uses = &statement.uses;
        let mut few = [Value::Null; FEW];
        let mut many = Vec::new();
        let values = if uses.len() <= FEW {
            &mut few[..uses.len()]
        } else {
            many.resize(uses.len(), Value::Null);
            &mut many[..]
        };
        for (place, slot) in values.iter_mut().zip(uses) {
            let Some(held) = self.values.get(*slot) else {
                let what = format!("the variable :{} has no value", run.names().name(*slot));
                return Err(run.failed(step, &what));
            };
            *place = held.parameter();
        }
        hand_over(statement, values, transaction)
    }

    /// Stores an answer in variables.
    async fn store<S: Session>(
        &mut self,
        run: Run<'_>,
        step: &Step,
        statement: &Statement,
        answer: &ExpectedAnswer<'_>,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let mut rows = transaction.answers(answer.question).await?;
        let count = rows.len();
        if answer.only && count != 1 {
            let what = format!("\\gset needs one row, but the statement returns {count}");
            return Err(run.failed(step, &what));
        }
        let Some(row) = rows.nth(count.wrapping_sub(1)) else {
            return Ok(());
        };
        let row = row?;
        if let Some(slots) = &self.columns[statement.number] {
            for (column, slot) in slots.iter().enumerate() {
                if let Some(slot) = slot {
                    self.values.set(*slot, VariableValue::answered(row.get(column)));
                }
            }
            return Ok(());
        }
        // Some stores know the column names only after the answer.
        let held: Vec<_> =
            (0..row.len()).map(|column| VariableValue::answered(row.get(column))).collect();
        drop(rows);
        let names = transaction.columns(answer.question);
        let slots = answer.slots(run, names).map_err(|why| run.failed(step, &why))?;
        for (slot, value) in slots.iter().zip(held) {
            if let Some(slot) = slot {
                self.values.set(*slot, value);
            }
        }
        // A text with variables may name its columns differently the next time.
        let varies = statement.spoken.as_ref().is_some_and(SimpleQuery::varies);
        self.columns[statement.number] = (!varies).then_some(slots);
        Ok(())
    }

    /// Begins, ends or synchronizes a pipeline.
    fn pipeline(&mut self, run: Run<'_>, step: &Step) -> Result<(), Stop> {
        let starts = matches!(step.action, Action::StartPipeline);
        if starts == self.pipelined {
            let what = if starts {
                "\\startpipeline is inside a pipeline"
            } else {
                "the end of a pipeline that has not started"
            };
            return Err(run.failed(step, what));
        }
        self.pipelined = !matches!(step.action, Action::EndPipeline);
        Ok(())
    }

    async fn take_waiting<S: Session>(
        &mut self,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        for question in self.waiting.drain(..) {
            drop(transaction.answers(&question).await?);
        }
        Ok(())
    }

    fn length_ns(&self, run: Run<'_>, step: &Step, amount: Amount) -> Result<u64, Stop> {
        let (slot, unit_ns) = match amount {
            Amount::Fixed(length_ns) => return Ok(length_ns),
            Amount::Times(slot, unit_ns) => (slot, unit_ns),
        };
        let name = run.names().name(slot);
        let refused = |what: String| run.failed(step, &what);
        let Some(held) = self.values.get(slot) else {
            return Err(refused(format!("the variable :{name} has no value")));
        };
        let count = held.scalar().and_then(Scalar::integer).map_err(refused)?;
        // A negative time counts as zero.
        Ok(u64::try_from(count).unwrap_or(0).saturating_mul(unit_ns))
    }
}

/// Sends a statement's operation.
fn hand_over<S: Session>(
    statement: &Statement,
    values: &[Value<'_>],
    transaction: &mut Transaction<'_, S>,
) -> Result<(), Stop> {
    match &statement.handle {
        Handle::Read(question) => transaction.ask(question, Several::Values(values)),
        Handle::Write(command) => transaction.write(command, Several::Values(values)),
    }
}

/// An answer to store in variables.
struct ExpectedAnswer<'s> {
    question: &'s Read<Many<Any>, Many<Any>>,
    prefix: &'s str,
    /// True if the answer must be one row.
    only: bool,
}

impl ExpectedAnswer<'_> {
    /// The variable of each column. Only now are the variables of an answer known, so a use in quotes is
    /// refused only here.
    fn slots(&self, run: Run<'_>, names: Option<Vec<String>>) -> Result<Vec<Option<Slot>>, String> {
        let Some(names) = names else {
            return Err("the store does not report the names of its columns".to_owned());
        };
        let slots = names.into_iter().map(|column| {
            let name = format!("{}{column}", self.prefix);
            if !is_name(&name) {
                return Err(format!(
                    "\"{name}\" is not a valid name of a variable; rename the column with AS"
                ));
            }
            let mut quoted = run.program.quoted.iter();
            match quoted.find(|(word, _)| *word == name) {
                Some((_, wrong)) => {
                    Err(format!("the answer sets the variable :{name}, but at {wrong}"))
                }
                None => Ok(run.names().find(&name)),
            }
        });
        slots.collect()
    }
}
