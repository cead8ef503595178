//! The macros. They only sort what is written: each arm becomes a call of a public function that
//! makes an arm, all together a tuple, and the bodies the arms of a `match` on which of them has
//! won (so `return`, `?` and `break` mean what they mean there).

/// Waits for several things at once, and does exactly one of them: see [the
/// module](mod@crate::select).
///
/// ```text
/// select! {
///     biased;                                  // optional: the first that is ready wins
///     message = rx.recv() => ..,               // Result<T, RecvError>
///     result = tx.send(value) => ..,           // Result<(), SendError<T>>; else `value` is dropped
///     result = tx.send_from(&mut slot) => ..,  // from an Option, which else keeps the value
///     result = handle.join() => ..,            // Result<T, JoinError>; the handle is `mut`
///     after(duration) => ..,
///     at(instant) => ..,
///     output = future => ..,                   // any other expression is a future
///     message = rx.recv(), if condition => .., // an arm that is there only if `condition`
///     default => ..,                           // optional: at one moment nothing was ready
/// }
/// ```
/// Up to 32 arms; [`Select`](crate::select::Select) has any number. The expressions are evaluated
/// once, in their order, before anything is waited for. The value is that of the body.
///
/// # Blocking
/// Until an arm is ready, if there is no `default`. In a future write
/// [`select_async!`](crate::select_async).
///
/// With `default` it waits for nothing, and takes that only if at one moment none of the arms was
/// ready: as [`try_wait`](crate::select::try_wait), also in what each 256th time in a row does.
///
/// # Examples
/// ```
/// use myriad::{channel::unbounded, select};
/// use std::time::Duration;
/// let (numbers, rx) = unbounded();
/// let (_words, rx2) = unbounded::<String>();
/// numbers.send(1).unwrap();
/// let said = select! {
///     number = rx.recv() => format!("{number:?}"),
///     word = rx2.recv() => word.unwrap(),
///     after(Duration::from_secs(1)) => "nothing".to_string(),
/// };
/// assert_eq!(said, "Ok(1)");
/// ```
#[macro_export]
macro_rules! select {
    (biased; $($arms:tt)*) => { $crate::__select!(@next [Biased blocking] [] [A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A24 A25 A26 A27 A28 A29 A30 A31] $($arms)*) };
    ($($arms:tt)*) => { $crate::__select!(@next [Fair blocking] [] [A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A24 A25 A26 A27 A28 A29 A30 A31] $($arms)*) };
}

/// [`select!`](crate::select!) for futures: the same, but it awaits instead of blocking.
///
/// # Cancellation
/// As of [`wait_async`](crate::select::wait_async).
///
/// # Examples
/// ```
/// use myriad::{channel::unbounded, select_async};
/// let (tx, rx) = unbounded();
/// tx.send(1).unwrap();
/// let task = myriad::spawn_async(async move {
///     select_async! {
///         number = rx.recv() => number.unwrap(),
///         _ = std::future::pending::<()>() => 0,
///     }
/// });
/// assert_eq!(task.join().unwrap(), 1);
/// ```
#[macro_export]
macro_rules! select_async {
    (biased; $($arms:tt)*) => { $crate::__select!(@next [Biased awaiting] [] [A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A24 A25 A26 A27 A28 A29 A30 A31] $($arms)*) };
    ($($arms:tt)*) => { $crate::__select!(@next [Fair awaiting] [] [A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 A13 A14 A15 A16 A17 A18 A19 A20 A21 A22 A23 A24 A25 A26 A27 A28 A29 A30 A31] $($arms)*) };
}

/// The sorting. `@next [order how] [arms so far] [names left] what is written..`, where an arm is
/// `{name} {pattern} {arm} {body}`.
#[doc(hidden)]
#[macro_export]
macro_rules! __select {
    // ---- all are read
    (@next $how:tt $arms:tt $names:tt) => { $crate::__select!(@emit $how $arms) };
    (@next $how:tt $arms:tt $names:tt default => $body:block $(,)?) => { $crate::__select!(@emit $how $arms $body) };
    (@next $how:tt $arms:tt $names:tt default => $body:expr $(,)?) => { $crate::__select!(@emit $how $arms $body) };
    (@next $how:tt $arms:tt $names:tt default => $($rest:tt)*) => {
        compile_error!("`default` is the last arm of a `select!`, and there is one only")
    };
    (@next $how:tt $arms:tt [] $($rest:tt)+) => {
        compile_error!("a `select!` has at most 32 arms; `Select` takes any number")
    };
    // ---- what is written most often, in one step, so that 32 arms stay below the compiler's limit
    // of 128
    (@next $how:tt $arms:tt $names:tt $p:ident = $c:ident . recv () => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names [$p] [$c.recv_arm()] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt _ = $c:ident . recv () => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names [_] [$c.recv_arm()] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt $c:ident . recv () => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names [_] [$c.recv_arm()] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt $p:ident = $c:ident . send ($x:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names [$p] [$c.send_arm($x)] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt _ = $c:ident . send ($x:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names [_] [$c.send_arm($x)] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt $c:ident . send ($x:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names [_] [$c.send_arm($x)] $($rest)+)
    };
    // ---- what other libraries' selects have, and this one has otherwise
    (@next $how:tt $arms:tt $names:tt _ => $($rest:tt)*) => {
        compile_error!("a `select!` has no arm `_ =>`: `default => ..` runs if nothing is ready")
    };
    (@next $how:tt $arms:tt $names:tt else => $($rest:tt)*) => {
        compile_error!(
            "a `select!` has no arm `else =>`: `default => ..` runs if nothing is ready; a closed channel is the `Err` of its `recv()`"
        )
    };
    (@next $how:tt $arms:tt $names:tt recv ($($r:tt)*) -> $($rest:tt)*) => {
        compile_error!(concat!("a message is received by the arm `message = ", stringify!($($r)*), ".recv() => ..`, without an arrow"))
    };
    (@next $how:tt $arms:tt $names:tt send ($s:expr, $x:expr) -> $($rest:tt)*) => {
        compile_error!(concat!(
            "a message is sent by the arm `result = ", stringify!($s), ".send(", stringify!($x), ") => ..`, without an arrow"
        ))
    };
    (@next $how:tt $arms:tt $names:tt default ($($d:tt)*) => $($rest:tt)*) => {
        compile_error!(concat!("a time limit of a `select!` is the arm `after(", stringify!($($d)*), ") => ..`"))
    };
    // ---- the pattern, where it is easy to see
    (@next $how:tt $arms:tt $names:tt $p:ident = $($rest:tt)+) => {
        $crate::__select!(@arm $how $arms $names [$p] [] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt _ = $($rest:tt)+) => {
        $crate::__select!(@arm $how $arms $names [_] [] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt $a:ident . $($rest:tt)+) => {
        $crate::__select!(@arm $how $arms $names [_] [$a .] $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt after ($d:expr) $($rest:tt)+) => {
        $crate::__select!(@arm $how $arms $names [_] [] after ($d) $($rest)+)
    };
    (@next $how:tt $arms:tt $names:tt $($rest:tt)+) => {
        $crate::__select!(@pattern $how $arms $names [] [$($rest)+] $($rest)+)
    };
    // ---- the pattern is what stands before `=`, if it stands before `=>`
    (@pattern $how:tt $arms:tt $names:tt [$($p:tt)+] $all:tt = $($rest:tt)+) => {
        $crate::__select!(@arm $how $arms $names [$($p)+] [] $($rest)+)
    };
    (@pattern $how:tt $arms:tt $names:tt $p:tt [$($all:tt)+] => $($rest:tt)+) => {
        $crate::__select!(@arm $how $arms $names [_] [] $($all)+)
    };
    (@pattern $how:tt $arms:tt $names:tt [$($p:tt)*] $all:tt $t:tt $($rest:tt)*) => {
        $crate::__select!(@pattern $how $arms $names [$($p)* $t] $all $($rest)*)
    };
    (@pattern $how:tt $arms:tt $names:tt [$($p:tt)*] $all:tt) => {
        compile_error!(concat!("an arm of a `select!` is `pattern = operation => body`, not `", stringify!($($p)*), "`"))
    };
    // ---- the operation ends with `=>`, or with `, if condition =>`
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)+] recv () => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [$($on)+ recv_arm()] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)+] recv () , if $c:expr => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [if $c { ::std::option::Option::Some($($on)+ recv_arm()) } else { ::std::option::Option::None }] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)+] send ($x:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [$($on)+ send_arm($x)] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)+] send ($x:expr) , if $c:expr => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [if $c { ::std::option::Option::Some($($on)+ send_arm($x)) } else { ::std::option::Option::None }] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)+] send_from ($x:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [$($on)+ send_from_arm($x)] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)+] send_from ($x:expr) , if $c:expr => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [if $c { ::std::option::Option::Some($($on)+ send_from_arm($x)) } else { ::std::option::Option::None }] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [] $h:ident . join () => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [$crate::select::join(&mut $h)] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [] $h:ident . join () , if $c:expr => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [if $c { ::std::option::Option::Some($crate::select::join(&mut $h)) } else { ::std::option::Option::None }] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($h:tt)+] join () => $($rest:tt)+) => {
        $crate::__select!(@join $how $arms $names $p [] [$($h)+] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [] $f:ident ($d:expr) => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [$crate::__select!(@call $f $d)] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [] $f:ident ($d:expr) , if $c:expr => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [if $c { ::std::option::Option::Some($crate::__select!(@call $f $d)) } else { ::std::option::Option::None }] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($f:tt)+] => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [$crate::select::future($($f)+)] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($f:tt)+] , if $c:expr => $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [if $c { ::std::option::Option::Some($crate::select::future($($f)+)) } else { ::std::option::Option::None }] $($rest)+)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)*] $t:tt $($rest:tt)*) => {
        $crate::__select!(@arm $how $arms $names $p [$($on)* $t] $($rest)*)
    };
    (@arm $how:tt $arms:tt $names:tt $p:tt [$($on:tt)*]) => {
        compile_error!(concat!("`=> body` is missing after `", stringify!($($on)*), "`"))
    };
    // A handle that is more than a name: `a.b.join()`, without its last dot.
    (@join $how:tt $arms:tt $names:tt $p:tt [$($h:tt)+] [.] $($rest:tt)+) => {
        $crate::__select!(@body $how $arms $names $p [$crate::select::join(&mut $($h)+)] $($rest)+)
    };
    (@join $how:tt $arms:tt $names:tt $p:tt [$($h:tt)*] [$t:tt $($left:tt)+] $($rest:tt)+) => {
        $crate::__select!(@join $how $arms $names $p [$($h)* $t] [$($left)+] $($rest)+)
    };
    (@call after $d:expr) => { $crate::select::after($d) };
    (@call at $d:expr) => { $crate::select::at($d) };
    (@call $f:ident $d:expr) => { $crate::select::future($f($d)) };
    // ---- the body
    (@body $how:tt [$($arms:tt)*] [$name:ident $($names:tt)*] $p:tt $arm:tt $body:block $(, $($rest:tt)*)?) => {
        $crate::__select!(@next $how [$($arms)* {$name $p $arm $body}] [$($names)*] $($($rest)*)?)
    };
    (@body $how:tt [$($arms:tt)*] [$name:ident $($names:tt)*] $p:tt $arm:tt $body:block $($rest:tt)+) => {
        $crate::__select!(@next $how [$($arms)* {$name $p $arm $body}] [$($names)*] $($rest)+)
    };
    (@body $how:tt [$($arms:tt)*] [$name:ident $($names:tt)*] $p:tt $arm:tt $body:expr $(, $($rest:tt)*)?) => {
        $crate::__select!(@next $how [$($arms)* {$name $p $arm $body}] [$($names)*] $($($rest)*)?)
    };
    // ---- what comes out
    (@emit $how:tt [$({$name:ident [$($p:tt)+] [$($arm:tt)+] $body:expr})*]) => {
        match {
            // By name, so that what the arms borrow for a moment is given back before the body
            // runs.
            let won = $crate::__select!(@wait $how ($($($arm)+,)*));
            won
        } {
            // (By a `let`, so that of a pattern which does not always match it is said just that.)
            $($crate::select::Won::$name(won) => {
                let ($($p)+) = won;
                $body
            })*
        }
    };
    (@emit [$order:ident $how:ident] [$({$name:ident [$($p:tt)+] [$($arm:tt)+] $body:expr})*] $default:expr) => {
        match {
            let won = $crate::select::try_wait($crate::select::Order::$order, ($($($arm)+,)*));
            won
        } {
            $(::std::option::Option::Some($crate::select::Won::$name(won)) => {
                let ($($p)+) = won;
                $body
            })*
            ::std::option::Option::None => $default,
        }
    };
    (@wait [$order:ident blocking] $arms:expr) => { $crate::select::wait($crate::select::Order::$order, $arms) };
    (@wait [$order:ident awaiting] $arms:expr) => {
        $crate::select::wait_async($crate::select::Order::$order, $arms).await
    };
}
