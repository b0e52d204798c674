//! Joins the two ways out of a stack: the climb by unwind tables, and the chain by frame pointers that
//! the kernel followed.
//!
//! The climb is right where code keeps no frame pointers, and ends with the copy of the stack. The chain
//! leads to the outermost frame, as long as every function on the way kept frame pointers. So the climb
//! goes first, and where it ends too early the chain goes on from there:
//!
//! - The chain's next return address stands above the frame pointer at which the climb stands. The
//!   frame pointers that the kernel followed are found again in the copy, and counted.
//! - If the climb's frame pointer is none of them, the last climbed address is looked for in the chain.
//!
//! Without either, the climb is all there is.

use super::unwinder::{Copy, UnwoundStack};

/// The addresses of a stack, the instruction first. `chain` opens with the instruction as well; `first`
/// was the frame pointer there. What the chain adds ends where `is_code` does not know an address.
pub(crate) fn join(
    climb: UnwoundStack,
    chain: &[u64],
    first: u64,
    copy: Copy<'_>,
    is_code: impl Fn(u64) -> bool,
) -> Vec<u64> {
    let mut addresses = climb.addresses;
    if climb.ended {
        return addresses;
    }
    let rest = followed(climb.frame, first, chain.len(), copy)
        .or_else(|| Some(chain.iter().rposition(|address| addresses.last() == Some(address))? + 1))
        .and_then(|next| chain.get(next..));
    let rest = rest.unwrap_or_default().iter().copied();
    addresses.extend(rest.take_while(|address| is_code(address.wrapping_sub(1))));
    addresses
}

/// Where in a chain of so many addresses the return address above the frame pointer `wanted` stands,
/// `first` being the innermost frame pointer.
fn followed(wanted: u64, first: u64, chain: usize, copy: Copy<'_>) -> Option<usize> {
    let mut frame = first;
    for place in 1..chain {
        if frame == wanted {
            return Some(place);
        }
        frame = copy.read(frame)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::join;
    use crate::perf::unwinder::{Copy, UnwoundStack};

    /// A copy of words from address 0x1000 up.
    fn copied(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn climb(addresses: &[u64], frame: u64) -> UnwoundStack {
        UnwoundStack { addresses: addresses.to_vec(), ended: false, frame }
    }

    fn joined(climb: UnwoundStack, chain: &[u64], first: u64, words: &[u64]) -> Vec<u64> {
        let bytes = copied(words);
        let copy = Copy { begin: 0x1000, bytes: &bytes };
        join(climb, chain, first, copy, |address| address < 0x900)
    }

    #[test]
    fn the_chain_goes_on_where_the_copy_ends() {
        // In a function without a frame pointer: the first caller, 15, is missing from the chain.
        let chain = [10, 20, 30, 40, 50];
        // Frame pointers: 0x1010 -> 0x1020 -> outside of the copy.
        let words = [0, 15, 0x1020, 20, 0x2000, 30];
        let stood = climb(&[10, 15, 20, 30], 0x2000);
        assert_eq!(joined(stood, &chain, 0x1010, &words), [10, 15, 20, 30, 40, 50]);
        let stood = climb(&[10, 15], 0x1010);
        assert_eq!(joined(stood, &chain, 0x1010, &words), [10, 15, 20, 30, 40, 50]);
    }

    #[test]
    fn an_address_that_both_know_joins_them_where_no_frame_pointer_does() {
        let chain = [10, 30, 40, 0x999, 50];
        assert_eq!(joined(climb(&[10, 20, 30], 7), &chain, 0x5000, &[]), [10, 20, 30, 40]);
        assert_eq!(joined(climb(&[10, 20], 7), &chain, 0x5000, &[]), [10, 20]);
    }

    #[test]
    fn a_climb_that_ended_is_whole() {
        let mut whole = climb(&[10, 20], 0x1000);
        whole.ended = true;
        assert_eq!(joined(whole, &[10, 20, 30], 0x1000, &[]), [10, 20]);
    }

    #[test]
    fn frame_pointers_in_a_circle_end() {
        let chain = vec![10; 127];
        let words = [0x1008, 0x1000];
        assert_eq!(joined(climb(&[10], 7), &chain, 0x1000, &words).len(), 1);
    }
}
