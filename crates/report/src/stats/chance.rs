//! How often ranges of equal things lie apart by chance.
//!
//! If two settings are equal, every order of their repetitions is equally likely. One of the
//! `C(a + b, a)` ways to deal them has all of the first below all of the second. With three
//! repetitions a side that is one in twenty, with two one in six: the reason to repeat.

/// The chance that all of `first` equal repetitions lie below all of `second`.
pub fn chance_of_separation(first: usize, second: usize) -> f64 {
    let ways: f64 = (1..=first)
        .map(|step| (second + step) as f64 / step as f64)
        .product();
    1.0 / ways
}

#[cfg(test)]
mod tests {
    use super::chance_of_separation;

    #[test]
    fn three_a_side_is_one_in_twenty() {
        assert!((chance_of_separation(3, 3) - 1.0 / 20.0).abs() < 1e-12);
        assert!((chance_of_separation(2, 2) - 1.0 / 6.0).abs() < 1e-12);
        assert!((chance_of_separation(1, 1) - 0.5).abs() < 1e-12);
        assert!((chance_of_separation(5, 3) - chance_of_separation(3, 5)).abs() < 1e-12);
    }
}
