//! Chooses the next transaction by weights, with one uniform draw each.

use crate::distributions::Stream;
use syncline_contract::OptionForm;

/// The transactions, in the order of TPC-C; their numbers are positions in `transactions()`.
pub(super) const NAMES: [&str; 5] =
    ["new-order", "payment", "order-status", "delivery", "stock-level"];
pub(super) const NEW_ORDER: usize = 0;
pub(super) const PAYMENT: usize = 1;
pub(super) const ORDER_STATUS: usize = 2;
pub(super) const DELIVERY: usize = 3;
pub(super) const STOCK_LEVEL: usize = 4;

/// The largest weight.
const WEIGHT_MAX: u64 = 10_000;

/// The order in which a profile lists its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order([usize; 5]);

/// The weight of each transaction, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weights([u64; 5]);

impl Order {
    pub(super) const SPEC: Order = Order([NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL]);
    pub(super) const K2: Order = Order([PAYMENT, ORDER_STATUS, DELIVERY, NEW_ORDER, STOCK_LEVEL]);

    /// The weights of a list in this order.
    pub(super) fn read(self, list: Weights) -> Weights {
        let mut weights = list;
        for (kind, weight) in self.0.into_iter().zip(list.0) {
            weights.0[kind] = weight;
        }
        weights
    }

    /// Weights as a list in this order.
    pub(super) fn written(self, weights: Weights) -> Weights {
        Weights(self.0.map(|kind| weights.0[kind]))
    }
}

/// A list of weights, in whatever order.
impl OptionForm<Weights> for Weights {
    const TAKES: &'static str = "five whole numbers up to 10000 with commas, not all zero";

    fn read(text: &str) -> Option<Weights> {
        let mut weights = [0; 5];
        let mut given = text.split(',');
        for weight in &mut weights {
            *weight = given.next()?.trim().parse().ok()?;
        }
        let fits = weights.iter().all(|weight| *weight <= WEIGHT_MAX);
        let some = weights.iter().any(|weight| *weight > 0);
        (given.next().is_none() && fits && some).then_some(Weights(weights))
    }

    fn text(value: &Weights) -> String {
        value.0.map(|weight| weight.to_string()).join(",")
    }
}

impl Weights {
    /// 45 new-orders, 43 payments and 4 of each other transaction, as both sources publish.
    #[cfg(test)]
    pub(super) const PUBLISHED: Weights = Weights([45, 43, 4, 4, 4]);

    /// True if this transaction has a weight.
    pub(super) fn has(&self, kind: usize) -> bool {
        self.0[kind] > 0
    }

    /// The number of the next transaction.
    #[inline]
    pub(super) fn draw(&self, stream: &mut Stream) -> usize {
        let mut left = stream.below(self.0.iter().sum());
        for (kind, weight) in self.0.iter().enumerate() {
            if left < *weight {
                return kind;
            }
            left -= weight;
        }
        unreachable!("the draw is below the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use super::{NEW_ORDER, Order, PAYMENT, Weights};
    use crate::distributions::Stream;
    use syncline_contract::OptionForm;

    #[test]
    fn weights_are_read_in_the_order_of_their_profile() {
        let read = |order: Order, text| Some(order.read(Weights::read(text)?));
        let spec = read(Order::SPEC, "45,43,4,4,4").unwrap();
        let published = read(Order::K2, "43, 4, 4, 45, 4").unwrap();
        assert_eq!((spec, published), (Weights::PUBLISHED, Weights::PUBLISHED));
        assert_eq!(Weights::text(&Order::K2.written(spec)), "43,4,4,45,4");
        let other = read(Order::K2, "50,0,0,50,0").unwrap();
        assert!(other.has(NEW_ORDER) && other.has(PAYMENT) && !other.has(2));
        for text in ["", "1,2,3,4", "1,2,3,4,5,6", "0,0,0,0,0", "1,1,1,1,-1", "1,1,1,1,10001"] {
            assert_eq!(read(Order::SPEC, text), None, "{text}");
        }
    }

    #[test]
    fn draws_have_the_shares_of_the_weights() {
        let mut stream = Stream::of_load("mix", 3);
        let mut counts = [0_u32; 5];
        for _ in 0..1_000_000 {
            counts[Weights::PUBLISHED.draw(&mut stream)] += 1;
        }
        for (count, weight) in counts.iter().zip([45.0, 43.0, 4.0, 4.0, 4.0]) {
            let share = f64::from(*count) / 10_000.0;
            assert!((share - weight).abs() < 0.25, "{share} is not {weight} %");
        }
        let only = Weights([0, 0, 0, 0, 7]);
        assert!((0..100).all(|_| only.draw(&mut stream) == 4));
    }
}
