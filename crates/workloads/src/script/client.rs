//! A client: chooses a script and runs it as one transaction of the run.
//!
//! The script's own BEGIN and END are sent as written; a statement outside them is a transaction of the
//! store. When a transaction is retried, variables and random numbers are restored to the start of the
//! script, so that it draws the same values.

use super::builtin::Moves;
use super::interpreter::{Run, State};
use super::options::Program;
use super::value::{Scalar, VariableValue};
use super::variables::Values;
use crate::distributions::{Stream, mixed};
use std::sync::Arc;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction};

/// What the checks need from a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Acknowledged transactions that wrote a row of history.
    pub written: u64,
    /// The same with unknown outcomes.
    pub unknown: u64,
}

/// A client.
#[derive(Debug)]
pub struct ScriptClient {
    program: Arc<Program>,
    chooser: Stream,
    state: State,
    /// Variables and random numbers at the start of the drawn script.
    before: (Values, Stream),
    /// True once the drawn script has run.
    tried: bool,
    tally: Tally,
}

impl ScriptClient {
    pub(super) fn new(
        program: &Arc<Program>,
        scale: u64,
        number: usize,
        seed: u64,
    ) -> ScriptClient {
        let mut values = Values::none_of(&program.names);
        let automatic = [
            ("client_id", number as i64),
            ("default_seed", mixed(seed) as i64),
            ("random_seed", seed as i64),
            ("scale", scale as i64),
        ];
        let automatic =
            automatic.map(|(name, value)| (name, VariableValue::Scalar(Scalar::Integer(value))));
        let given = program.given.iter();
        let given = given.map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in automatic.into_iter().chain(given) {
            if let Some(slot) = program.names.find(name) {
                values.set(slot, value);
            }
        }
        let random = Stream::of_client(seed, number, "script");
        ScriptClient {
            program: Arc::clone(program),
            chooser: Stream::of_client(seed, number, "choice of script"),
            before: (values.clone(), random.clone()),
            state: State {
                values,
                random,
                columns: vec![None; program.statements],
                begun: false,
                pipelined: false,
                waiting: Vec::new(),
                text: String::new(),
            },
            tried: false,
            tally: Tally::default(),
        }
    }
}

impl Client for ScriptClient {
    type Tally = Tally;

    fn draw(&mut self) -> usize {
        self.before.0.restore(&self.state.values);
        self.before.1 = self.state.random.clone();
        self.tried = false;
        if self.program.scripts.len() == 1 {
            return 0;
        }
        let mut left = self.chooser.below(self.program.weight);
        let chosen = self.program.scripts.iter().position(|script| {
            let here = left < script.weight;
            left = left.wrapping_sub(script.weight);
            here
        });
        chosen.expect("the weights add up")
    }

    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        AccessPattern::AsWritten
    }

    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        if self.tried {
            self.state.values.restore(&self.before.0);
            self.state.random = self.before.1.clone();
        }
        self.tried = true;
        self.state.begin();
        let run = Run { program: &self.program, script: &self.program.scripts[kind] };
        self.state.script(run, transaction).await
    }

    fn ended(&mut self, kind: usize, ending: Ending) {
        if matches!(self.program.moves[kind], Some(Moves::All | Moves::Accounts)) {
            self.tally.written += u64::from(ending == Ending::Committed);
            self.tally.unknown += u64::from(ending == Ending::Unknown);
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::ScriptClient;
    use crate::script::schema::Scripts;
    use crate::script::{Options, Tally};
    use syncline_contract::conformance::block_on;
    use syncline_contract::{
        AccessPattern, Client, Ending, OperationId, OptionArgs, RequestTracker, Rows, Session,
        Stop, Transaction, Value, Workload,
    };

    /// Records what it is sent, and answers each read with one row of one number.
    #[derive(Default)]
    struct RecordingSession {
        sent: Vec<Vec<String>>,
        rows: Rows,
    }

    impl Session for RecordingSession {
        fn begin(&mut self, pattern: AccessPattern) {
            assert_eq!(pattern, AccessPattern::AsWritten);
        }

        fn send(&mut self, _operation: OperationId, values: &[Value<'_>]) -> Result<(), Stop> {
            let values = values.iter().map(|value| format!("{value:?}"));
            self.sent.push(values.collect());
            Ok(())
        }

        async fn receive(&mut self) -> Result<&Rows, Stop> {
            self.rows.reset(1);
            self.rows.push(Value::Int(5));
            Ok(&self.rows)
        }

        async fn commit(&mut self) -> Result<(), Stop> {
            Ok(())
        }

        async fn abort(&mut self) {}

        fn columns(&self, _operation: OperationId) -> Option<Vec<String>> {
            Some(vec!["n".to_owned()])
        }
    }

    fn client(text: &str, define: &str) -> ScriptClient {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sql");
        std::fs::write(&path, text).unwrap();
        let pairs = [("file", path.display().to_string()), ("define", define.to_owned())];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
        let given =
            OptionArgs::new("workload script".to_owned(), Options::LISTING, &pairs).unwrap();
        Scripts::new(Options::parse(&given).unwrap()).client(0, 1, 3)
    }

    /// The values that one try sends.
    fn tried(client: &mut ScriptClient, kind: usize) -> Vec<Vec<String>> {
        let (mut session, mut requests) = (RecordingSession::default(), RequestTracker::new(false));
        session.begin(client.access_pattern(kind));
        let mut transaction = Transaction::new(&mut session, &mut requests);
        block_on(&(), client.perform(kind, &mut transaction)).unwrap();
        session.sent
    }

    #[test]
    fn a_retry_draws_the_same_values_and_variables() {
        let text = "\\set n :n + 1
\\set r random(1, 1000000000)
SELECT :n, :r;
SELECT 1 AS n \\gset
SELECT :n;";
        let mut client = client(text, "n=0");
        let kind = client.draw();
        let first = tried(&mut client, kind);
        assert_eq!(first[0][0], "Int(1)");
        assert_eq!(first[2], ["Int(5)"], "the stored value");
        assert_eq!(tried(&mut client, kind), first);
        assert_eq!(tried(&mut client, kind), first);
        client.ended(kind, Ending::Committed);
        let kind = client.draw();
        let second = tried(&mut client, kind);
        assert_eq!(second[0][0], "Int(6)", "variables persist");
        assert_ne!(second[0][1], first[0][1], "and so does the random stream");
        assert_eq!(client.tally(), Tally::default());
    }

    #[test]
    fn a_stored_column_that_is_also_used_in_quotes_is_refused() {
        for (select, name) in [
            ("SELECT 1 AS n \\gset", "n"),
            ("SELECT 1 AS n \\gset p_", "p_n"),
            ("SELECT 1 AS n \\aset", "n"),
        ] {
            let mut client = client(&format!("{select}\nINSERT INTO t VALUES (':{name}');"), "m=0");
            let kind = client.draw();
            let (mut session, mut requests) =
                (RecordingSession::default(), RequestTracker::new(false));
            session.begin(client.access_pattern(kind));
            let mut transaction = Transaction::new(&mut session, &mut requests);
            let stopped = block_on(&(), client.perform(kind, &mut transaction));
            let Err(Stop::Failed(failure)) = stopped else {
                panic!("{select}: {stopped:?}");
            };
            let message = format!("the variable :{name} is in quotes");
            assert!(failure.what.contains(&message), "{failure:?}");
            assert!(failure.what.contains("a.sql:2:"), "{failure:?}");
            assert_eq!(session.sent.len(), 1, "the insert is not sent");
        }
        // A word that is not a column of an answer is only a word.
        let mut other = client("SELECT 1 AS n \\gset\nINSERT INTO t VALUES (':x');", "m=0");
        let kind = other.draw();
        assert_eq!(tried(&mut other, kind).len(), 2);
    }

    #[test]
    fn many_variables_are_sent_in_order() {
        let uses: Vec<_> = (0..40).map(|_| ":n").collect();
        let mut client = client(&format!("SELECT {};", uses.join(", ")), "n=7");
        let kind = client.draw();
        assert_eq!(tried(&mut client, kind), [vec!["Int(7)"; 40]]);
    }
}
