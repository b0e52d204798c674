//! A user's statements: sent unchanged, one after the other, with the server's answers.

use crate::account_fixture::{AccountFixture, now};
use crate::server::Server;
use syncline_contract::{AccessPattern, OperationId, Plan, Session, Stop, Target, Value};

fn plan_of(statements: &[(&str, usize, bool)]) -> Plan {
    let mut plan = Plan::new();
    for (text, parameters, answers) in statements {
        let (name, text) = ((*text).to_owned(), (*text).to_owned());
        if *answers {
            plan.statement(name, text, *parameters);
        } else {
            plan.command(name, text, *parameters);
        }
    }
    plan
}

#[test]
fn statements_run_as_written_and_may_make_their_own_tables() {
    let plan = plan_of(&[
        ("CREATE TABLE own (a INT PRIMARY KEY, b VARCHAR(9), c DECIMAL(5,1))", 0, false),
        ("INSERT INTO own VALUES ($1, $2, $1)", 2, false),
        ("SELECT b, a AS number, c, NULL AS nothing FROM own WHERE a = $1", 1, true),
        ("BEGIN", 0, false),
        ("ROLLBACK", 0, false),
    ]);
    let fixture = AccountFixture::with(Server::shared(), "", plan);
    assert_eq!(fixture.target.capabilities().statements, Some("mysql"));
    let mut session = fixture.session();
    let run = async |session: &mut syncline_stores::AnySession, of: &[(usize, &[Value<'_>])]| {
        session.begin(AccessPattern::AsWritten);
        for (operation, values) in of {
            session.send(OperationId(*operation), values)?;
        }
        Ok::<_, Stop>(())
    };
    let row = [Value::Int(1), Value::Text("x")];
    fixture.run(async {
        run(&mut session, &[(0, &[])]).await.unwrap();
        session.commit().await.unwrap();
        run(&mut session, &[(1, &row), (2, &row[..1])]).await.unwrap();
        let rows = session.receive().await.unwrap();
        let got: Vec<_> = rows.row(0).values().collect();
        let ten = syncline_contract::Decimal { units: 10, scale: 1 };
        let expected = [Value::Text("x"), Value::Int(1), Value::Decimal(ten), Value::Null];
        assert_eq!(got, expected);
        session.commit().await.unwrap();
        let columns = session.columns(OperationId(2)).unwrap();
        assert_eq!(columns, ["b", "number", "c", "nothing"]);
        // Its own BEGIN, and a ROLLBACK that takes effect.
        let two = [Value::Int(2), Value::Text("y")];
        run(&mut session, &[(3, &[]), (1, &two), (4, &[]), (2, &two[..1])]).await.unwrap();
        assert_eq!(session.receive().await.unwrap().len(), 0);
        session.commit().await.unwrap();
        // A transaction that is left open is refused and rolled back.
        run(&mut session, &[(3, &[]), (1, &two)]).await.unwrap();
        let left = session.commit().await;
        assert!(matches!(left, Err(Stop::Failed(_))), "{left:?}");
        session.abort().await;
        // Statements after a failed one are not sent: they would commit alone.
        let three = [Value::Int(3), Value::Text("z")];
        run(&mut session, &[(3, &[]), (1, &row), (1, &three)]).await.unwrap();
        assert!(session.commit().await.is_err(), "key 1 is there");
        session.abort().await;
        run(&mut session, &[(2, &three[..1])]).await.unwrap();
        assert_eq!(session.receive().await.unwrap().len(), 0);
        session.commit().await.unwrap();
    });
    now(fixture.target.remove()).unwrap();
}

#[test]
fn an_invalid_statement_is_refused_by_name() {
    let plan = plan_of(&[("SELEKT 1", 0, true)]);
    let fixture = AccountFixture::with(Server::shared(), "", plan);
    let refused = fixture.run(fixture.target.connect(&fixture.plan, &fixture.worker));
    let what = refused.expect_err("it is not SQL").what;
    assert!(what.contains("SELEKT 1"), "{what}");
}
