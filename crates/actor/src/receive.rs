//! The macros for selective receive.

/// Receives the oldest message that fits one of the patterns, and puts the others off: they keep
/// their order, and later receives find them.
///
/// The arms are those of a `match`, tried for each message, oldest message first. In a guard the
/// names of the pattern are references, as in `matches!(&message, ..)`; in the expression they are
/// the values. The last arm may be `after DURATION => ..`, for when no message has fitted for so
/// long; all messages were looked at then, also `after Duration::ZERO`. `receive!(mail, from mark,
/// {..})` looks only at messages that came after a [`Mark`](crate::Mark).
///
/// # Blocking
/// Until a message fits, or the time is over. In a future say
/// [`receive_async!`](crate::receive_async!).
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reason, receive};
/// use std::time::Duration;
/// enum Message { Line(String), Ack(u64), Bye }
///
/// let client = actor::spawn(|mut mail: Mailbox<Message>| {
///     let wanted = 7;
///     loop {
///         receive!(mail, {
///             Message::Ack(n) if *n == wanted => break,             // before the line that came first
///             Message::Bye => return Err(Reason::of("gone")),
///             after Duration::from_secs(60) => return Err(Reason::of("no ack")),
///         });
///     }
///     receive!(mail, { Message::Line(text) => assert_eq!(text, "hello") });
///     Ok(())
/// });
/// let end = actor::monitor(&client);
/// client.cast(Message::Line("hello".into()));
/// client.cast(Message::Ack(6));
/// client.cast(Message::Ack(7));
/// assert!(end.wait().reason.is_normal());
/// ```
#[macro_export]
macro_rules! receive {
    ($mail:expr, from $mark:expr, { $($arms:tt)* }) => {
        $crate::__receive!(@munch [$mail, ::core::option::Option::Some($mark), select, ()] [] (0usize) $($arms)*)
    };
    ($mail:expr, { $($arms:tt)* }) => {
        $crate::__receive!(@munch [$mail, ::core::option::Option::None, select, ()] [] (0usize) $($arms)*)
    };
}

/// [`receive!`](crate::receive!) in a future: awaits instead of blocking.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, receive_async};
/// let pair = actor::spawn_async(async |mut mail: Mailbox<(u8, u8)>| {
///     let n = receive_async!(mail, { (1, n) => n });
///     assert_eq!((n, mail.receive_async().await), (5, (0, 4)));
/// });
/// let end = actor::monitor(&pair);
/// pair.cast((0, 4));
/// pair.cast((1, 5));
/// assert!(end.wait().reason.is_normal());
/// ```
#[macro_export]
macro_rules! receive_async {
    ($mail:expr, from $mark:expr, { $($arms:tt)* }) => {
        $crate::__receive!(@munch [$mail, ::core::option::Option::Some($mark), select_async, await] [] (0usize) $($arms)*)
    };
    ($mail:expr, { $($arms:tt)* }) => {
        $crate::__receive!(@munch [$mail, ::core::option::Option::None, select_async, await] [] (0usize) $($arms)*)
    };
}

/// What the two expand to: the first match gives the number of the arm that fits, for a message
/// behind a reference; the second one runs it.
#[doc(hidden)]
#[macro_export]
macro_rules! __receive {
    (@munch $to:tt $done:tt ($n:expr) after $limit:expr => $e:expr $(,)?) => {
        $crate::__receive!(@write $to $done ::core::option::Option::Some($crate::now() + $limit), $e)
    };
    (@munch $to:tt [$($done:tt)*] ($n:expr) $p:pat if $g:expr => $e:block, $($rest:tt)*) => {
        $crate::__receive!(@munch $to [$($done)* ($n, $p, $g, $e)] ($n + 1) $($rest)*)
    };
    (@munch $to:tt [$($done:tt)*] ($n:expr) $p:pat => $e:block, $($rest:tt)*) => {
        $crate::__receive!(@munch $to [$($done)* ($n, $p, true, $e)] ($n + 1) $($rest)*)
    };
    (@munch $to:tt [$($done:tt)*] ($n:expr) $p:pat if $g:expr => $e:block $($rest:tt)*) => {
        $crate::__receive!(@munch $to [$($done)* ($n, $p, $g, $e)] ($n + 1) $($rest)*)
    };
    (@munch $to:tt [$($done:tt)*] ($n:expr) $p:pat => $e:block $($rest:tt)*) => {
        $crate::__receive!(@munch $to [$($done)* ($n, $p, true, $e)] ($n + 1) $($rest)*)
    };
    (@munch $to:tt [$($done:tt)*] ($n:expr) $p:pat if $g:expr => $e:expr $(, $($rest:tt)*)?) => {
        $crate::__receive!(@munch $to [$($done)* ($n, $p, $g, $e)] ($n + 1) $($($rest)*)?)
    };
    (@munch $to:tt [$($done:tt)*] ($n:expr) $p:pat => $e:expr $(, $($rest:tt)*)?) => {
        $crate::__receive!(@munch $to [$($done)* ($n, $p, true, $e)] ($n + 1) $($($rest)*)?)
    };
    (@munch $to:tt $done:tt ($n:expr)) => {
        $crate::__receive!(@write $to $done ::core::option::Option::None, ::core::unreachable!())
    };
    (@write [$mail:expr, $mark:expr, $select:ident, $how:tt] [$(($n:expr, $p:pat, $g:expr, $e:expr))*] $deadline:expr, $after:expr) => {{
        #[allow(unreachable_patterns, unused_variables, clippy::match_single_binding, clippy::redundant_guards)]
        let received = $crate::__receive!(@wait $how $mail.$select($mark, $deadline, |message| match message {
            $($p if $g => ::core::option::Option::Some($n),)*
            _ => ::core::option::Option::None,
        }));
        #[allow(unreachable_patterns, unreachable_code, clippy::diverging_sub_expression)]
        match received {
            ::core::option::Option::Some((message, arm)) => match message {
                $($p if arm == $n => $e,)*
                _ => ::core::unreachable!("an arm fitted a moment ago"),
            },
            ::core::option::Option::None => $after,
        }
    }};
    (@wait () $e:expr) => { $e };
    (@wait await $e:expr) => { $e.await };
}
