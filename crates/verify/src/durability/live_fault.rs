//! A fault for a store under load: armed, and waited for.

use crate::power::{Class, Fault, FaultRule, Mount};
use std::time::Duration;
use syncline_instrument::clock;

/// How long to wait for a fault; one that has not struck by then is not exercised.
const STRIKES_WITHIN: Duration = Duration::from_millis(1500);

/// What happens to a running store.
#[derive(Clone, Copy, Debug)]
pub(super) enum LiveFault {
    /// No fault.
    None,
    /// The fault strikes files of this class, once.
    Fault(Fault, Class),
}

/// Lets the load run until the condition holds; returns why its clients stopped earlier, if they did.
pub(super) type Until<'u> = dyn FnMut(&dyn Fn() -> bool) -> Option<String> + 'u;

impl LiveFault {
    /// Arms the fault and waits until it has struck; returns why the clients stopped meanwhile, if they did.
    pub(super) fn strike(self, mount: &Mount, until: &mut Until<'_>) -> Option<String> {
        let LiveFault::Fault(fault, class) = self else {
            return None;
        };
        mount.arm(FaultRule { fault, class: Some(class), skip: 2, times: 1 });
        if matches!(fault, Fault::ReadError | Fault::FlippedBit) {
            // Otherwise the kernel answers most reads from its cache.
            mount.forget(class);
        }
        let end = clock::now() + clock::nanos(STRIKES_WITHIN);
        until(&|| clock::now() >= end || !mount.fault_counts().is_empty())
    }
}
