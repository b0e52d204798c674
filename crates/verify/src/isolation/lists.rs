//! Lists in rows, for any store: a key and its values as text. An append reads the list and writes it back
//! longer, so it appears in the history as a read and an append.

use syncline_contract::{
    AccessPattern, Int, Kind, Lock, Plan, Read, RequestTracker, Session, Stop, Table, Text,
    Transaction, Write,
};
use syncline_history::Operation;

/// Appends that a key takes before it is left.
pub(crate) const VALUES_MAX: i64 = 48;

/// The longest text: a value takes up to 12 characters and a space.
const TEXT_BYTES_MAX: u32 = 13 * 2 * VALUES_MAX as u32;

/// The plan and its operations.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) plan: Plan,
    get: Read<(Int,), (Text,)>,
    put: Write<(Int, Text)>,
}

impl Lists {
    pub(crate) fn new() -> Lists {
        let mut plan = Plan::new();
        let lists = Table::new("syncline_lists").column("id", Kind::Int);
        let lists = plan.table(lists.text("items", TEXT_BYTES_MAX).key(&["id"]));
        Lists {
            get: plan.get("get list", lists, &["items"], Lock::None),
            put: plan.put("put list", lists),
            plan,
        }
    }

    /// Performs a transaction, adding what it reads, and commits it.
    pub(super) async fn perform<S: Session>(
        &self,
        session: &mut S,
        operations: &mut Vec<Operation>,
    ) -> Result<(), Stop> {
        let writes = operations.iter().any(|one| matches!(one, Operation::Append { .. }));
        session.begin(if writes { AccessPattern::Several } else { AccessPattern::ReadOnly });
        let mut requests = RequestTracker::new(false);
        let mut transaction = Transaction::new(session, &mut requests);
        for operation in std::mem::take(operations) {
            let (Operation::Append { key, .. } | Operation::Read { key, .. }) = operation;
            let mut values = self.read(&mut transaction, key).await?;
            operations.push(Operation::Read { key, values: Some(values.clone()) });
            if let Operation::Append { value, .. } = operation {
                values.push(value);
                let text = text_of(&values);
                transaction.write(&self.put, (key, &text))?;
                operations.push(operation);
            }
        }
        session.commit().await
    }

    /// Reads the lists of all keys below `keys`, in one transaction.
    pub(crate) async fn read_all<S: Session>(
        &self,
        session: &mut S,
        keys: i64,
    ) -> Result<Vec<Vec<i64>>, Stop> {
        session.begin(AccessPattern::ReadOnly);
        let mut requests = RequestTracker::new(false);
        let mut transaction = Transaction::new(session, &mut requests);
        let mut lists = Vec::new();
        for key in 0..keys {
            lists.push(self.read(&mut transaction, key).await?);
        }
        session.commit().await?;
        Ok(lists)
    }

    async fn read<S: Session>(
        &self,
        transaction: &mut Transaction<'_, S>,
        key: i64,
    ) -> Result<Vec<i64>, Stop> {
        let list = transaction.read_if_any(&self.get, (key,)).await?;
        let items = list.map_or("", |(items,)| items).split_whitespace();
        Ok(items.filter_map(|item| item.parse().ok()).collect())
    }
}

fn text_of(values: &[i64]) -> String {
    let words: Vec<_> = values.iter().map(i64::to_string).collect();
    words.join(" ")
}
