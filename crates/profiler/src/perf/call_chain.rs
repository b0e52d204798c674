//! Joins the two sources of a stack: the addresses from unwind tables, and the kernel's call chain by frame
//! pointers.
//!
//! Unwinding is correct in code without frame pointers, but ends with the copy of the stack. The call chain
//! reaches the outermost frame, provided that every function on the way keeps a frame pointer. So unwinding
//! comes first, and if it ends early, the call chain continues from there:
//!
//! - The chain's next return address is above the frame pointer at which unwinding ended. The frame pointers
//!   that the kernel followed are found again in the copy, and counted.
//! - If that frame pointer is not one of them, the last unwound address is searched for in the chain.
//!
//! If neither works, the unwound addresses are the result.

use super::unwinder::{Copy, UnwoundStack};

/// The addresses of a stack, the instruction first. `chain` also begins with the instruction, where `first`
/// was the frame pointer. Addresses from the chain end at the first that `is_code` rejects.
pub(crate) fn join(
    unwound: UnwoundStack,
    chain: &[u64],
    first: u64,
    copy: Copy<'_>,
    is_code: impl Fn(u64) -> bool,
) -> Vec<u64> {
    let mut addresses = unwound.addresses;
    if unwound.ended {
        return addresses;
    }
    let rest = followed(unwound.frame, first, chain.len(), copy)
        .or_else(|| Some(chain.iter().rposition(|address| addresses.last() == Some(address))? + 1))
        .and_then(|next| chain.get(next..));
    let rest = rest.unwrap_or_default().iter().copied();
    addresses.extend(rest.take_while(|address| is_code(address.wrapping_sub(1))));
    addresses
}

/// The index, in a chain of `chain` addresses, of the return address above the frame pointer `wanted`;
/// `first` is the innermost frame pointer.
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

    /// The bytes of a stack copy with these words from address 0x1000 upwards.
    fn copied(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn unwound(addresses: &[u64], frame: u64) -> UnwoundStack {
        UnwoundStack { addresses: addresses.to_vec(), ended: false, frame }
    }

    fn joined(unwound: UnwoundStack, chain: &[u64], first: u64, words: &[u64]) -> Vec<u64> {
        let bytes = copied(words);
        let copy = Copy { begin: 0x1000, bytes: &bytes };
        join(unwound, chain, first, copy, |address| address < 0x900)
    }

    #[test]
    fn the_chain_continues_where_the_copy_ends() {
        // In a function without a frame pointer: the first caller, 15, is missing from the chain.
        let chain = [10, 20, 30, 40, 50];
        // Frame pointers: 0x1010 -> 0x1020 -> outside the copy.
        let words = [0, 15, 0x1020, 20, 0x2000, 30];
        let stack = unwound(&[10, 15, 20, 30], 0x2000);
        assert_eq!(joined(stack, &chain, 0x1010, &words), [10, 15, 20, 30, 40, 50]);
        let stack = unwound(&[10, 15], 0x1010);
        assert_eq!(joined(stack, &chain, 0x1010, &words), [10, 15, 20, 30, 40, 50]);
    }

    #[test]
    fn a_common_address_joins_them_if_no_frame_pointer_does() {
        let chain = [10, 30, 40, 0x999, 50];
        assert_eq!(joined(unwound(&[10, 20, 30], 7), &chain, 0x5000, &[]), [10, 20, 30, 40]);
        assert_eq!(joined(unwound(&[10, 20], 7), &chain, 0x5000, &[]), [10, 20]);
    }

    #[test]
    fn a_completely_unwound_stack_is_not_extended() {
        let mut whole = unwound(&[10, 20], 0x1000);
        whole.ended = true;
        assert_eq!(joined(whole, &[10, 20, 30], 0x1000, &[]), [10, 20]);
    }

    #[test]
    fn frame_pointers_in_a_circle_end() {
        let chain = vec![10; 127];
        let words = [0x1008, 0x1000];
        assert_eq!(joined(unwound(&[10], 7), &chain, 0x1000, &words).len(), 1);
    }
}
