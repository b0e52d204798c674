//! The one transaction, "join", and its correct answer.

use super::schema::Join;
use super::wisconsin_rows::COLUMNS;
use syncline_contract::{
    AccessPattern, Any, Client, Ending, Many, Read, Session, Several, Stop, Transaction, Value,
};

/// What the check needs from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Wrong answers.
    pub wrong: u64,
    /// The first wrong answer, in words.
    pub first: Option<String>,
}

/// A client.
#[derive(Debug)]
pub struct JoinClient {
    join: Read<Many<Any>, Many<Any>>,
    joined: u64,
    tally: Tally,
}

/// Figures of an answer that only the correct one has.
#[derive(Debug, Default, PartialEq, Eq)]
struct AnswerFigures {
    rows: u64,
    /// Rows whose two keys are not equal.
    unequal: u64,
    /// The sums of the keys and of their squares: correct only if each key appears once.
    keys: u128,
    squares: u128,
}

impl AnswerFigures {
    fn add(&mut self, left: Value<'_>, right: Value<'_>) {
        self.rows += 1;
        match (left, right) {
            (Value::Int(left), Value::Int(right)) if left == right && left >= 0 => {
                let key = left as u128;
                self.keys += key;
                self.squares += key * key;
            }
            _ => self.unequal += 1,
        }
    }

    fn right(rows: u64) -> AnswerFigures {
        let of = u128::from(rows);
        AnswerFigures {
            rows,
            unequal: 0,
            keys: of * (of - 1) / 2,
            squares: (of - 1) * of * (2 * of - 1) / 6,
        }
    }
}

impl JoinClient {
    pub(super) fn new(of: &Join) -> JoinClient {
        JoinClient { join: of.all_rows, joined: of.joined(), tally: Tally::default() }
    }
}

impl Client for JoinClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        0
    }

    #[inline]
    fn access_pattern(&self, _kind: usize) -> AccessPattern {
        AccessPattern::Single
    }

    async fn perform<S: Session>(
        &mut self,
        _kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        transaction.ask(&self.join, Several::Values(&[]))?;
        let mut answered = AnswerFigures::default();
        for row in transaction.answers(&self.join).await? {
            let row = row?;
            if row.len() != 2 * COLUMNS {
                answered.unequal += 1;
                continue;
            }
            answered.add(row.get(0), row.get(COLUMNS));
        }
        if answered != AnswerFigures::right(self.joined) {
            self.tally.wrong += 1;
            let joined = self.joined;
            let first = || {
                format!(
                    "{} rows instead of {joined}, {} of them with unequal keys",
                    answered.rows, answered.unequal
                )
            };
            self.tally.first.get_or_insert_with(first);
        }
        Ok(())
    }

    fn ended(&mut self, _kind: usize, _ending: Ending) {}

    fn tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerFigures;
    use syncline_contract::Value;

    fn of(keys: &[(i64, i64)]) -> AnswerFigures {
        let mut answered = AnswerFigures::default();
        for (left, right) in keys {
            answered.add(Value::Int(*left), Value::Int(*right));
        }
        answered
    }

    #[test]
    fn only_the_correct_answer_is_accepted() {
        let right = AnswerFigures::right(4);
        assert_eq!(of(&[(2, 2), (0, 0), (1, 1), (3, 3)]), right);
        assert_ne!(of(&[(2, 2), (0, 0), (1, 1)]), right);
        assert_ne!(of(&[(2, 2), (0, 1), (1, 1), (3, 3)]), right);
        // Keys with the correct sum, but two are doubled and two missing.
        assert_ne!(of(&[(0, 0), (0, 0), (3, 3), (3, 3)]), right);
    }
}
