//! What a task is made from.

/// A closure without arguments: what [`spawn`](fn@crate::spawn) takes. Every such closure and
/// function is one, and nothing else. (It is a trait of its own for the sake of what the compiler
/// says of a future.)
///
/// # Examples
/// ```
/// use myriad::task::TaskClosure;
/// fn twice<T: Send + 'static>(f: impl TaskClosure<T> + Clone + Send + 'static) -> [T; 2] {
///     [myriad::spawn(f.clone()), myriad::spawn(f)].map(|task| task.join().unwrap())
/// }
/// assert_eq!(twice(|| 7), [7, 7]);
/// ```
#[diagnostic::on_unimplemented(
    message = "a task is made from a closure without arguments, and this is `{Self}`",
    label = "no closure without arguments",
    note = "`spawn_async(future)` makes a task from a future; `spawn(|| async {{ .. }})` compiles, and runs nothing \
            of the future"
)]
pub trait TaskClosure<T>: FnOnce() -> T {}

#[diagnostic::do_not_recommend]
impl<F: FnOnce() -> T, T> TaskClosure<T> for F {}
