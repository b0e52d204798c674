//! A queue in reused memory: a list, and the position of its oldest item.
//!
//! Most transactions make a few requests and take the answers at once; then the list is empty again, so it
//! does not need to wrap around like a ring.

/// Waiting items, oldest first.
#[derive(Debug)]
pub struct Queue<T> {
    /// Taken items, followed by waiting ones.
    items: Vec<T>,
    first: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { items: Vec::new(), first: 0 }
    }
}

impl<T: Copy> Queue<T> {
    /// Adds an item at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.first == self.items.len() {
            self.clear();
        } else if self.items.len() == self.items.capacity() {
            self.compact();
        }
        self.items.push(item);
    }

    /// Takes the oldest item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let oldest = self.items.get(self.first).copied();
        self.first += usize::from(oldest.is_some());
        oldest
    }

    /// Removes all items.
    #[inline]
    pub fn clear(&mut self) {
        self.items.clear();
        self.first = 0;
    }

    /// Moves the waiting items to the front if more than half of the items have been taken.
    #[cold]
    fn compact(&mut self) {
        if self.first > self.items.len() / 2 {
            self.items.drain(..self.first);
            self.first = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use std::collections::VecDeque;

    #[test]
    fn the_oldest_item_comes_first() {
        let (mut queue, mut model) = (Queue::default(), VecDeque::new());
        let mut words = fastrand::Rng::with_seed(5);
        for step in 0..100_000 {
            match words.u32(..100) {
                0 => {
                    queue.clear();
                    model.clear();
                }
                1..=52 => {
                    queue.push(step);
                    model.push_back(step);
                }
                _ => assert_eq!(queue.pop(), model.pop_front()),
            }
        }
    }

    #[test]
    fn a_queue_that_is_never_empty_does_not_grow() {
        let mut queue = Queue::default();
        queue.push(0);
        for next in 1..10_000 {
            queue.push(next);
            assert_eq!(queue.pop(), Some(next - 1));
        }
        assert!(queue.items.capacity() <= 8, "{}", queue.items.capacity());
    }
}
