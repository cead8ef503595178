//! Scoped values that are bound around a future.

use super::ScopedValue;
use super::bindings::{Binding, Chain, bind, current};
use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A value that several bindings hold, one for each list that it was put in front of.
pub(super) struct SharedValue<T>(Arc<T>);

impl<T: Send + Sync + 'static> SharedValue<T> {
    /// The value of a binding.
    pub(super) fn of(value: &(dyn Any + Send + Sync)) -> Option<&T> {
        value.downcast_ref::<T>().or_else(|| value.downcast_ref::<SharedValue<T>>().map(|shared| &*shared.0))
    }
}

/// A future with a scoped value: [`ScopedValue::with_value_async`] makes it.
#[must_use = "futures do nothing unless they are polled"]
pub struct Bound<T: 'static, F> {
    key: &'static ScopedValue<T>,
    value: Arc<T>,
    /// The binding of the last poll; most often it is that of the next, too.
    last: Chain,
    future: F,
}

impl<T, F> fmt::Debug for Bound<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").finish_non_exhaustive()
    }
}

impl<T, F> Bound<T, F> {
    pub(super) fn new(key: &'static ScopedValue<T>, value: T, future: F) -> Bound<T, F> {
        Bound { key, value: Arc::new(value), last: None, future }
    }
}

fn same(a: &Chain, b: &Chain) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b)),
        _ => false,
    }
}

impl<T: Send + Sync + 'static, F: Future> Future for Bound<T, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned with the whole, and is not moved; the others are not pinned.
        // There is no `Drop`.
        let this = unsafe { self.get_unchecked_mut() };
        let parent = current();
        let binding = match &this.last {
            Some(last) if same(&last.parent, &parent) => last.clone(),
            _ => Arc::new(Binding::new(this.key.key(), parent, SharedValue(this.value.clone()))),
        };
        this.last = Some(binding.clone());
        let _bound = bind(binding);
        // SAFETY: the future is a part of what is pinned, and is not moved out of it.
        unsafe { Pin::new_unchecked(&mut this.future) }.poll(cx)
    }
}
