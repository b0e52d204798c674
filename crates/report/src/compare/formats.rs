//! A comparison as JSON and as Markdown, for gates and for comments on a change.

use super::comparison::{Comparison, Row, Spread};
use super::rule::{Rule, RuleOutcome};
use crate::table::{COMPARED, compared_cells, compared_rows};
use serde_json::{Value, json};

/// The comparison and the outcomes of rules as one JSON object.
pub fn json(comparison: &Comparison, rules: &[(Rule, RuleOutcome)]) -> Value {
    let [a, b] = &comparison.titles;
    json!({
        "a": a,
        "b": b,
        "differences": comparison.differences,
        "basis": comparison.basis,
        "figures": compared_rows(comparison).map(figure).collect::<Vec<_>>(),
        "rules": rules.iter().map(rule).collect::<Vec<_>>(),
        "regression": comparison.regression,
        "too_short": comparison.too_short,
        "conclusion": comparison.conclusion(),
    })
}

fn figure(row: &Row) -> Value {
    let side = |spread: Option<Spread>| {
        spread.map(|spread| {
            json!({ "median": spread.median, "least": spread.range.least, "most": spread.range.most })
        })
    };
    let verdict = row.verdict_words();
    json!({
        "key": row.key,
        "name": row.name,
        "a": side(row.first),
        "b": side(row.second),
        "ratio": row.ratio().map(|ratio| ratio.median),
        "interval": row.interval.map(|interval| [interval.least, interval.most]),
        "least_effect": row.least_effect,
        "verdict": if verdict.is_empty() { "not judged" } else { verdict },
    })
}

fn rule((rule, outcome): &(Rule, RuleOutcome)) -> Value {
    let (word, detail) = words(outcome);
    json!({ "rule": rule.to_string(), "outcome": word, "detail": detail })
}

/// The outcome in a word, with its detail.
fn words(outcome: &RuleOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        RuleOutcome::Holds => ("holds", None),
        RuleOutcome::Fails(change) => ("fails", Some(change)),
        RuleOutcome::Unknown(why) => ("unknown", Some(why)),
    }
}

/// The sentence of each rule: what became of it.
pub fn rule_sentences(rules: &[(Rule, RuleOutcome)]) -> Vec<String> {
    let sentences = rules.iter().map(|(rule, outcome)| match words(outcome) {
        (word, Some(detail)) => format!("{rule}: {word}: {detail}"),
        (word, None) => format!("{rule}: {word}"),
    });
    sentences.collect()
}

/// The comparison as Markdown: verdict, table, rules, and what they rest on.
pub fn markdown(comparison: &Comparison, rules: &[(Rule, RuleOutcome)]) -> String {
    let [a, b] = &comparison.titles;
    let mut text = format!("**{}**\n\n", comparison.conclusion());
    text += &format!("A: {}  \nB: {}\n\n", escaped(a), escaped(b));
    let heads = COMPARED.map(|head| if head.is_empty() { "figure" } else { head });
    text += &row_of(&heads.map(str::to_owned));
    let last = COMPARED.len() - 1;
    let rule = |(at, _)| if at == 0 || at == last { ":---" } else { "---:" }.to_owned();
    text += &row_of(&COMPARED.iter().enumerate().map(rule).collect::<Vec<_>>());
    for row in compared_rows(comparison) {
        text += &row_of(&compared_cells(row).map(|cell| escaped(&cell)));
    }
    text += "\n";
    for sentence in rule_sentences(rules) {
        text += &format!("- `{}`\n", sentence.replace('`', "'"));
    }
    if !rules.is_empty() {
        text += "\n";
    }
    for sentence in comparison.sentences() {
        if sentence != comparison.conclusion() {
            text += &format!("{}\n", escaped(&sentence));
        }
    }
    text
}

fn row_of(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Names in records may come from anywhere: they must not end a cell, nor be markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => escaped.extend(['\\', sign]),
            '<' => escaped += "&lt;",
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(sign),
        }
    }
    escaped
}
