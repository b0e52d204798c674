//! Axes: range, linear or logarithmic scale, and ticks.

use syncline_record::units;

/// One axis of a chart.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// The quantity, with its unit.
    pub(super) title: String,
    /// True if equal distances are equal ratios.
    pub(super) log: bool,
    /// The range, in values.
    pub(super) least: f64,
    pub(super) most: f64,
    /// The labelled values.
    pub(super) ticks: Vec<Tick>,
    /// The text of a value between ticks; `None` for an axis of names.
    pub(super) show: Option<fn(f64) -> String>,
}

/// A labelled value on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) text: String,
}

impl Axis {
    /// A logarithmic axis that includes all values, with a tick at each decade, and at 2 and 5 if there are
    /// few decades. Values that are not above zero are ignored.
    pub(super) fn log(title: &str, values: &[f64], show: fn(f64) -> String) -> Axis {
        let fit: Vec<f64> =
            values.iter().copied().filter(|value| value.is_finite() && *value > 0.0).collect();
        let least = fit.iter().copied().fold(f64::INFINITY, f64::min);
        let (least, most) = if fit.is_empty() {
            (1.0, 10.0)
        } else {
            (least, fit.iter().copied().fold(0.0, f64::max))
        };
        // A margin, so that no mark touches the frame, and at least a third of a decade.
        let (least, most) = (least / 1.25, (most * 1.25).max(least * 2.0));
        let wide = most / least > 300.0;
        let decades = (least.log10().floor() as i32)..=(most.log10().ceil() as i32);
        let within = |steps: &[f64]| -> Vec<Tick> {
            let all = decades
                .clone()
                .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
            all.filter(|at| (least..=most).contains(at))
                .map(|at| Tick { at, text: show(at) })
                .collect()
        };
        let mut ticks = within(if wide { &[1.0] } else { &[1.0, 2.0, 5.0] });
        // A single label shows neither the direction nor the scale of an axis.
        if ticks.len() < 3 {
            ticks = within(&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]);
        }
        Axis { title: title.to_owned(), log: true, least, most, ticks, show: Some(show) }
    }

    /// A logarithmic axis with ticks at the given values only.
    pub(super) fn log_at(title: &str, values: &[f64], show: fn(f64) -> String) -> Axis {
        let mut axis = Axis::log(title, values, show);
        axis.ticks.clear();
        for at in values {
            // The labels of two nearly equal values would overlap.
            if axis.ticks.iter().all(|tick| (tick.at / at).ln().abs() > 0.15) {
                axis.ticks.push(Tick { at: *at, text: show(*at) });
            }
        }
        axis
    }

    /// A linear axis from zero with about five ticks.
    pub(super) fn linear(title: &str, most: f64, show: fn(f64) -> String) -> Axis {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let rough = most / 5.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * decade)
            .find(|step| *step >= rough)
            .unwrap_or(decade * 10.0);
        let count = (most / step).floor() as u32;
        let ticks = (0..=count)
            .map(|number| f64::from(number) * step)
            .map(|at| Tick { at, text: show(at) })
            .collect();
        Axis { title: title.to_owned(), log: false, least: 0.0, most, ticks, show: Some(show) }
    }

    /// An axis of names at 0, 1, 2 and so on, with a margin of one half at both ends.
    pub(super) fn names(title: &str, names: &[String]) -> Axis {
        let ticks = names.iter().zip(0_u32..);
        Axis {
            title: title.to_owned(),
            log: false,
            least: -0.5,
            most: names.len() as f64 - 0.5,
            ticks: ticks.map(|(name, at)| Tick { at: f64::from(at), text: name.clone() }).collect(),
            show: None,
        }
    }

    /// A value as text: "8 clients", "p99".
    pub(super) fn text(&self, value: f64) -> String {
        if let Some(show) = self.show {
            let text = format!("{} {}", show(value), self.title);
            return text.trim_end().to_owned();
        }
        let near = |tick: &&Tick| (tick.at - value).abs() < 0.25;
        let tick = self.ticks.iter().find(near);
        tick.map_or_else(String::new, |tick| tick.text.clone())
    }

    /// The position of a value: its logarithm on a logarithmic axis.
    pub(super) fn position(&self, value: f64) -> f64 {
        if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value }
    }
}

/// A time on an axis, without trailing zeros.
pub(super) fn short_span(ns: f64) -> String {
    short(&units::span(ns))
}

/// A rate on an axis, without trailing zeros.
pub(super) fn short_count(value: f64) -> String {
    short(&units::count(value))
}

/// "1.00k" as "1k", "100 us" as it is.
fn short(text: &str) -> String {
    let end = text
        .find(|character: char| character != '.' && !character.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.contains('.') {
        format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Axis, short_count, short_span};

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|tick| tick.text.as_str()).collect()
    }

    #[test]
    fn wide_axes_have_decades_and_narrow_ones_steps() {
        let wide = Axis::log("rate", &[900.0, 2_000_000.0], short_count);
        assert_eq!(texts(&wide), ["1k", "10k", "100k", "1M"]);
        let narrow = Axis::log("time", &[80_000.0, 400_000.0], short_span);
        assert_eq!(texts(&narrow), ["100 us", "200 us", "500 us"]);
        assert!(narrow.least < 80_000.0 && narrow.most > 400_000.0);
    }

    // D12
    #[test]
    fn an_axis_of_nearly_equal_values_has_several_ticks() {
        for value in [5_000.0, 1_000.0, 73_000.0] {
            let axis = Axis::log("rate", &[value, value * 1.1], short_count);
            assert!(axis.ticks.len() >= 3, "{value}: {:?}", texts(&axis));
        }
    }

    #[test]
    fn an_axis_of_nothing_or_of_one_value_has_a_width() {
        for values in [vec![], vec![0.0, f64::NAN, -3.0], vec![5.0]] {
            let axis = Axis::log("x", &values, short_count);
            assert!(axis.least > 0.0 && axis.most > axis.least && axis.most.is_finite());
        }
        let axis = Axis::linear("x", f64::NAN, short_count);
        assert!(axis.most > 0.0 && axis.ticks.len() > 1);
    }

    #[test]
    fn linear_ticks_are_round() {
        assert_eq!(texts(&Axis::linear("x", 9_300.0, short_count)), ["0", "2k", "4k", "6k", "8k"]);
        let given = Axis::log_at("clients", &[1.0, 8.0, 64.0, 1_000.0], short_count);
        assert_eq!(texts(&given), ["1", "8", "64", "1k"]);
    }
}
