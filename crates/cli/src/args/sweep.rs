//! `--sweep NAME=VALUE,VALUE...`: runs once per value of a setting.
//!
//! `clients`, `rate`, `retries` and `pipeline` are settings of the run; any other name is an option of the
//! workload. Commas separate values, or semicolons if a value itself contains commas.

/// A setting and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// Parses `NAME=VALUE,VALUE`.
pub(super) fn sweep(typed: &str) -> Result<Sweep, String> {
    let Some((name, values)) = typed.split_once('=') else {
        return Err(format!("\"{typed}\" is not of the form clients=1,8,64"));
    };
    let between = if values.contains(';') { ';' } else { ',' };
    let values: Vec<String> = values.split(between).map(|value| value.trim().to_owned()).collect();
    if name.trim().is_empty() || values.iter().any(String::is_empty) {
        return Err(format!("\"{typed}\" has an empty name or value"));
    }
    let name = name.trim().replace('-', "_");
    Ok(Sweep { name, values })
}

/// Every combination of one value per sweep, the last sweep changing fastest; one empty combination without
/// sweeps.
pub(crate) fn choices(sweeps: &[Sweep]) -> Vec<Vec<(String, String)>> {
    let mut choices = vec![Vec::new()];
    for sweep in sweeps {
        let longer = choices.iter().flat_map(|choice| {
            sweep.values.iter().map(move |value| {
                let mut longer = choice.clone();
                longer.push((sweep.name.clone(), value.clone()));
                longer
            })
        });
        choices = longer.collect();
    }
    choices
}

#[cfg(test)]
mod tests {
    use super::{choices, sweep};

    #[test]
    fn commas_or_semicolons_separate_values() {
        let plain = sweep("commit-every=1,10, 100").unwrap();
        assert_eq!((plain.name.as_str(), plain.values.len()), ("commit_every", 3));
        let lists = sweep("weights=45,43,4,4,4;50,50,0,0,0").unwrap();
        assert_eq!(lists.values, ["45,43,4,4,4", "50,50,0,0,0"]);
        for invalid in ["clients", "=1", "clients=", "clients=1,,2"] {
            assert!(sweep(invalid).is_err(), "{invalid} is refused");
        }
    }

    #[test]
    fn sweeps_multiply() {
        let both = [sweep("a=1,2").unwrap(), sweep("b=x,y,z").unwrap()];
        let all = choices(&both);
        assert_eq!(all.len(), 6);
        let third: Vec<_> = all[2].iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(third, ["1", "z"]);
        assert_eq!(choices(&[]), [[]]);
    }
}
