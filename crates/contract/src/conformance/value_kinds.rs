//! Cases for values: every kind comes back unchanged, and answers have the kinds that the plan declares.

use super::fixture::Fixture;
use super::outcome::{CaseFailure, Verdict, same};
use super::test_schema::cents;
use crate::operation::OperationId;
use crate::plan::Plan;
use crate::session::{AccessPattern, Session};
use crate::target::Target;
use crate::value::{Decimal, Kind, Value};

/// Ordinary and extreme values of every kind come back as written.
pub(super) fn come_back<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let wide = "ø".repeat(50);
    let bytes: Vec<u8> = (0..200).collect();
    let rows = [
        (0, 0, 0.0, cents(0), "", &[][..], 0, None, None),
        (
            1,
            -1,
            -0.5,
            cents(-1),
            "a 'quoted' \"name\"; -- \\ % _",
            &[0, 0, 0][..],
            1,
            Some(""),
            Some(0),
        ),
        (
            i64::MAX,
            i64::MAX,
            1e300,
            cents(999_999_999_999_999),
            wide.as_str(),
            bytes.as_slice(),
            4_102_444_800_000_001,
            Some("null"),
            Some(i64::MAX),
        ),
        (
            i64::MIN,
            i64::MIN,
            f64::MIN_POSITIVE,
            cents(-999_999_999_999_999),
            "\t\n 日本 ",
            &[255, 0, 39, 92][..],
            1_735_689_600_123_456,
            None,
            Some(i64::MIN),
        ),
    ];
    fixture.run(async {
        let mut client = fixture.client().await?;
        for row in rows {
            client
                .commits(AccessPattern::Single, async |tx| tx.write(&fixture.scene.insert, row))
                .await?;
        }
        for row in rows {
            let mut tx = client.begin(AccessPattern::Single);
            let got = tx.read(&fixture.scene.get, (row.0,)).await?;
            same(got, row, &format!("the row with key {}", row.0))?;
            client.session.commit().await?;
        }
        Ok(())
    })
}

/// With parameters of the declared kinds, every answer has the declared width and kinds.
pub(super) fn are_declared<T: Target>(fixture: &Fixture<'_, T>) -> Verdict {
    let plan = &fixture.scene.plan;
    fixture.run(async {
        let mut client = fixture.client().await?;
        client
            .commits(AccessPattern::Several, async |tx| {
                fixture.scene.plain(tx, 1, 1)?;
                fixture.scene.fill(tx)
            })
            .await?;
        for (position, operation) in plan.operations().iter().enumerate() {
            let answer = plan.answer(&operation.action);
            if answer.is_empty() {
                continue;
            }
            client.session.begin(AccessPattern::Single);
            client.session.send(OperationId(position), &parameters(plan, position))?;
            let rows = client.session.receive().await?;
            same(rows.width(), answer.len(), &format!("the width of \"{}\"", operation.name))?;
            for row in rows.iter() {
                for (value, (kind, nullable)) in row.values().zip(&answer) {
                    let fits = value.kind().map_or(*nullable, |got| got == *kind);
                    if !fits {
                        let name = &operation.name;
                        let what = format!("\"{name}\" returns {value:?} instead of {kind:?}");
                        return Err(CaseFailure(what));
                    }
                }
            }
            client.session.commit().await?;
        }
        Ok(())
    })
}

fn parameters(plan: &Plan, position: usize) -> Vec<Value<'static>> {
    let action = &plan.operations()[position].action;
    let kinds = plan.parameters(action).into_iter();
    kinds.map(|(kind, _)| value(kind)).collect()
}

fn value(kind: Kind) -> Value<'static> {
    match kind {
        Kind::Int => Value::Int(1),
        Kind::Float => Value::Float(1.0),
        Kind::Decimal { scale } => Value::Decimal(Decimal { units: 1, scale }),
        Kind::Text => Value::Text("red"),
        Kind::Bytes => Value::Bytes(b"red"),
        Kind::Timestamp => Value::Timestamp(1),
    }
}
