//! How many more connections a server accepts from our role, and which sessions hold the connections in
//! use.
//!
//! Three limits apply: `max_connections` of the server, less those that it reserves, and `CONNECTION
//! LIMIT` of the role and of the database, which do not bind superusers.

use super::control::Control;
use syncline_contract::TargetResult;

/// Unused connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FreeConnections {
    pub(super) count: usize,
    /// The limit that leaves the fewest, the sessions that count towards it, and how to raise it.
    pub(super) why: String,
}

/// The limits, each with its number and how much of it is in use; -1 means no limit.
const LIMITS: &str = "SELECT current_setting('max_connections')::int, \
     current_setting('superuser_reserved_connections')::int \
     + coalesce(current_setting('reserved_connections', true), '0')::int, \
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), \
     CASE WHEN r.rolsuper THEN -1 ELSE r.rolconnlimit END, \
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND usename = session_user), \
     CASE WHEN r.rolsuper THEN -1 ELSE d.datconnlimit END, \
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = \
     current_database()), r.rolname, d.datname FROM pg_roles r, pg_database d WHERE r.rolname = session_user AND \
     d.datname = current_database()";

/// The roles and programs with the maximum connections, not counting the connection that asks.
const HOLDERS: &str = "SELECT usename, coalesce(nullif(application_name, ''), 'no name'), count(*) FROM \
     pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1, 2 ORDER BY 3 \
     DESC, 1, 2 LIMIT 3";

/// Queries the limits. `None` if the server reports none.
pub(super) async fn free(control: &mut Control) -> TargetResult<Option<FreeConnections>> {
    let Some(row) = control.rows(LIMITS).await?.into_iter().next() else {
        return Ok(None);
    };
    let cells: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
    let mut holders = Vec::new();
    for row in control.rows(HOLDERS).await? {
        let cells: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
        if let [role, program, count] = &cells[..] {
            holders.push(format!("{count} by {role} ({program})"));
        }
    }
    Ok(tightest(&cells, &holders.join(", ")))
}

/// The limit that leaves the fewest connections.
fn tightest(cells: &[String], holders: &str) -> Option<FreeConnections> {
    let number = |cell: usize| cells.get(cell)?.parse::<i64>().ok();
    let (maximum, reserved, taken) = (number(0)?, number(1)?, number(2)?);
    let (role, database) = (cells.get(7)?, cells.get(8)?);
    let mut limits = vec![(
        maximum - reserved - taken,
        format!("max_connections is {maximum}, of which {reserved} are reserved and {taken} taken"),
        "end sessions that are not needed, or raise max_connections".to_owned(),
    )];
    for (limit, taken, what, name) in
        [(number(3)?, number(4)?, "role", role), (number(5)?, number(6)?, "database", database)]
    {
        if limit >= 0 {
            let statement = what.to_ascii_uppercase();
            limits.push((
                limit - taken,
                format!("{what} {name} has CONNECTION LIMIT {limit}, of which {taken} are taken"),
                format!("ALTER {statement} {name} CONNECTION LIMIT raises it"),
            ));
        }
    }
    let (count, what, advice) = limits.into_iter().min_by_key(|(count, ..)| *count)?;
    let holders = match holders {
        "" => "by this program's own question".to_owned(),
        holders => format!("{holders}, 1 by this program's own question"),
    };
    Some(FreeConnections {
        count: usize::try_from(count).unwrap_or(0),
        why: format!("{what} ({holders}); {advice}"),
    })
}

#[cfg(test)]
mod tests {
    use super::tightest;

    fn of(cells: [&str; 7], holders: &str) -> (usize, String) {
        let mut cells: Vec<String> = cells.iter().map(ToString::to_string).collect();
        cells.extend(["app".to_owned(), "shop".to_owned()]);
        let found = tightest(&cells, holders).unwrap();
        (found.count, found.why)
    }

    // B.Smaller
    #[test]
    fn the_tightest_limit_is_reported_with_the_holders_of_its_connections() {
        let (count, why) = of(["6", "3", "5", "-1", "4", "-1", "5"], "4 by app (psql)");
        assert_eq!(count, 0);
        let expected = "max_connections is 6, of which 3 are reserved and 5 taken (4 by app (psql), 1 by this \
                        program's own question); end sessions";
        assert!(why.starts_with(expected), "{why}");
        let (count, why) = of(["100", "3", "5", "7", "5", "-1", "5"], "");
        assert_eq!(count, 2);
        assert!(why.starts_with("role app has CONNECTION LIMIT 7, of which 5 are taken"), "{why}");
        assert!(why.ends_with("ALTER ROLE app CONNECTION LIMIT raises it"), "{why}");
        let (count, why) = of(["100", "3", "5", "-1", "5", "6", "5"], "");
        assert!(count == 1 && why.starts_with("database shop has CONNECTION LIMIT 6"), "{why}");
        assert!(tightest(&["not a number".to_owned()], "").is_none());
    }
}
