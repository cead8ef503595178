//! Ends that bring about further ends, along a chain of any length: a destructor that drops the
//! last handle of the next thing of its kind, and so on.

use super::running::UnderWay;
use std::cell::RefCell;
use std::collections::VecDeque;

/// So many stand on top of each other in a task. (More than one: an end may wait for another one.)
const DEEP: usize = 4;

/// The ends that stand in one task of this thread, or in the thread.
struct Standing {
    task: UnderWay,
    depth: usize,
    /// What comes after the deepest one.
    rest: VecDeque<Box<dyn FnOnce()>>,
}

thread_local! {
    /// Of tasks that are set aside, too: a closure stays on its thread. (Few at a time.)
    static STANDING: RefCell<Vec<Standing>> = const { RefCell::new(Vec::new()) };
}

/// Calls `end` here; or, where four such calls stand on top of each other in the calling task, when
/// the deepest of these is over. `end` does not unwind.
pub fn call_nested(end: impl FnOnce() + 'static) {
    let here = UnderWay::here();
    let mut end = Some(end);
    let put_off = |standing: &mut Standing| {
        if standing.depth == DEEP
            && let Some(end) = end.take()
        {
            standing.rest.push_back(Box::new(end));
        }
        standing.depth += usize::from(standing.depth < DEEP);
        standing.depth
    };
    let depth = with(here, put_off);
    let Some(end) = end else { return };
    end();
    while depth == Some(DEEP)
        && let Some(next) = with(here, |standing| standing.rest.pop_front()).flatten()
    {
        next();
    }
    if depth.is_some() {
        _ = with(here, |standing| standing.depth -= 1);
    }
}

/// What stands in the calling task, which is `here`. `f` is short, and runs no user code. `None`:
/// at the very end of a thread there is no list any more.
fn with<R>(here: UnderWay, f: impl FnOnce(&mut Standing) -> R) -> Option<R> {
    let within = |all: &RefCell<Vec<Standing>>| {
        let mut all = all.borrow_mut();
        let at = all.iter().position(|standing| standing.task == here).unwrap_or(all.len());
        if at == all.len() {
            all.push(Standing { task: here, depth: 0, rest: VecDeque::new() });
        }
        let result = f(&mut all[at]);
        if all[at].depth == 0 {
            all.swap_remove(at);
        }
        result
    };
    STANDING.try_with(within).ok()
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn a_chain_of_any_length_stands_four_deep() {
        struct Link(usize, Rc<RefCell<(usize, usize, usize)>>);
        impl Link {
            fn end(self) {
                let mut seen = self.1.borrow_mut();
                (seen.0, seen.2) = (seen.0 + 1, seen.2 + 1);
                seen.1 = seen.1.max(seen.0);
                drop(seen);
                if self.0 > 0 {
                    let next = Link(self.0 - 1, self.1.clone());
                    call_nested(move || next.end());
                }
                self.1.borrow_mut().0 -= 1;
            }
        }
        let seen = Rc::new(RefCell::new((0, 0, 0)));
        let first = Link(100_000, seen.clone());
        call_nested(move || first.end());
        assert_eq!(*seen.borrow(), (0, DEEP, 100_001));
        assert!(STANDING.with_borrow(Vec::is_empty));
    }
}
