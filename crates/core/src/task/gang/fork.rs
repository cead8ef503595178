//! `fork`: the child has the memory of gangs, and none of their threads.
//!
//! What is shared is held by nobody else while the process is copied: the forking thread takes both locks before and gives them
//! back after, in the parent and in the child. Whose state it is then says the process's number, in [`super::admission`] and
//! [`super::helpers`]. Only the forking thread takes both, so the order does not matter.

use super::{admission, helpers};
use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static HELD: RefCell<Option<(admission::Lock, helpers::Lock)>> = const { RefCell::new(None) };
}

/// From now on forks are seen. The first call counts.
pub(super) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: functions that stay, and do not unwind: they lock and unlock.
        #[cfg(all(unix, not(miri)))]
        unsafe {
            libc::pthread_atfork(Some(before), Some(after), Some(after));
        }
        #[cfg(not(all(unix, not(miri))))]
        let _ = (before as extern "C" fn(), after as extern "C" fn());
    });
}

extern "C" fn before() {
    _ = HELD.try_with(|held| held.replace(Some((admission::lock(), helpers::lock()))));
}

extern "C" fn after() {
    _ = HELD.try_with(|held| held.replace(None));
}
