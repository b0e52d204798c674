//! A queue in reused memory: a list, and where its oldest stands.
//!
//! Most transactions ask a question or a few and take the answers at once; then the list is empty again, and
//! nothing ever has to turn round as in a ring.

/// What waits, oldest first.
#[derive(Debug)]
pub struct Queue<T> {
    /// What was taken, then what waits.
    items: Vec<T>,
    first: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { items: Vec::new(), first: 0 }
    }
}

impl<T: Copy> Queue<T> {
    /// Adds one behind the others.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.first == self.items.len() {
            self.clear();
        } else if self.items.len() == self.items.capacity() {
            self.close_up();
        }
        self.items.push(item);
    }

    /// Takes the oldest.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let oldest = self.items.get(self.first).copied();
        self.first += usize::from(oldest.is_some());
        oldest
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.items.clear();
        self.first = 0;
    }

    /// Those that wait move to where taken ones stood, if those are many.
    #[cold]
    fn close_up(&mut self) {
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
    fn the_oldest_comes_first_whatever_waits() {
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
    fn one_that_is_never_empty_does_not_grow() {
        let mut queue = Queue::default();
        queue.push(0);
        for next in 1..10_000 {
            queue.push(next);
            assert_eq!(queue.pop(), Some(next - 1));
        }
        assert!(queue.items.capacity() <= 8, "{}", queue.items.capacity());
    }
}
