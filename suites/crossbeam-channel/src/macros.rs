//! `select!` and `select_biased!`: what is written becomes a tuple of Myriad's arms. One case after
//! the other is read (`@read`), as `{name, end, kind (arguments) pattern body}`; then the ends are
//! evaluated (`@ends`); then comes the select (`@select`).

/// Selects from a set of operations.
#[macro_export]
macro_rules! select {
    ($($cases:tt)*) => {{
        const _IS_BIASED: bool = false;
        $crate::crossbeam_channel_internal!($($cases)*)
    }};
}

/// Selects the first operation of a set that is ready.
#[macro_export]
macro_rules! select_biased {
    ($($cases:tt)*) => {{
        const _IS_BIASED: bool = true;
        $crate::crossbeam_channel_internal!($($cases)*)
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! crossbeam_channel_internal {
    // ---- the cases
    (@read $read:tt $default:tt $names:tt) => { $crate::crossbeam_channel_internal!(@ends $read $default []) };
    (@read $read:tt $default:tt $names:tt default => $($rest:tt)+) => {
        $crate::crossbeam_channel_internal!(@default $read [] $names $($rest)+)
    };
    (@read $read:tt $default:tt $names:tt default() => $($rest:tt)+) => {
        $crate::crossbeam_channel_internal!(@default $read [] $names $($rest)+)
    };
    (@read $read:tt $default:tt $names:tt default($timeout:expr $(,)?) => $($rest:tt)+) => {
        $crate::crossbeam_channel_internal!(@default $read [$timeout] $names $($rest)+)
    };
    (@read $read:tt $default:tt $names:tt $kind:ident $arguments:tt -> $result:pat => $body:block, $($rest:tt)*) => {
        $crate::crossbeam_channel_internal!(@case $read $default $names [$kind $arguments $result, $body] $($rest)*)
    };
    (@read $read:tt $default:tt $names:tt $kind:ident $arguments:tt -> $result:pat => $body:block $($rest:tt)*) => {
        $crate::crossbeam_channel_internal!(@case $read $default $names [$kind $arguments $result, $body] $($rest)*)
    };
    (@read $read:tt $default:tt $names:tt $kind:ident $arguments:tt -> $result:pat => $body:expr $(, $($rest:tt)*)?) => {
        $crate::crossbeam_channel_internal!(@case $read $default $names [$kind $arguments $result, $body] $($($rest)*)?)
    };
    (@case [$($read:tt)*] $default:tt [[$name:ident $end:ident] $($names:tt)*] [$($case:tt)+] $($rest:tt)*) => {
        $crate::crossbeam_channel_internal!(@read [$($read)* [$name $end $($case)+]] $default [$($names)*] $($rest)*)
    };
    (@default $read:tt $timeout:tt $names:tt $body:block, $($rest:tt)*) => {
        $crate::crossbeam_channel_internal!(@read $read [$timeout $body] $names $($rest)*)
    };
    (@default $read:tt $timeout:tt $names:tt $body:block $($rest:tt)*) => {
        $crate::crossbeam_channel_internal!(@read $read [$timeout $body] $names $($rest)*)
    };
    (@default $read:tt $timeout:tt $names:tt $body:expr $(, $($rest:tt)*)?) => {
        $crate::crossbeam_channel_internal!(@read $read [$timeout $body] $names $($($rest)*)?)
    };

    // ---- the ends, evaluated once each, and kept until all is over
    (@ends [[$name:ident $end:ident recv($r:expr $(,)?) $result:pat, $body:expr] $($read:tt)*] $default:tt [$($arms:tt)*]) => {
        match $r {
            ref end => {
                let $end: &$crate::Receiver<_> = end;
                $crate::crossbeam_channel_internal!(
                    @ends [$($read)*] $default [$($arms)* [$name received ($end.recv_arm()) $result, $body]]
                )
            }
        }
    };
    (@ends [[$name:ident $end:ident send($s:expr, $m:expr $(,)?) $result:pat, $body:expr] $($read:tt)*] $default:tt [$($arms:tt)*]) => {
        match $s {
            ref end => {
                let $end: &$crate::Sender<_> = end;
                $crate::crossbeam_channel_internal!(
                    @ends [$($read)*] $default [$($arms)* [$name sent ($end.send_arm($m)) $result, $body]]
                )
            }
        }
    };
    (@ends [] $default:tt $arms:tt) => { $crate::crossbeam_channel_internal!(@select $default $arms) };

    // ---- the select
    (@select [] [$([$name:ident $made:ident ($arm:expr) $result:pat, $body:expr])+]) => {{
        let won = $crate::internal::wait($crate::crossbeam_channel_internal!(@order), ($($arm,)+));
        match won {
            $($crate::internal::Won::$name(output) => {
                let $result = $crate::internal::$made(output);
                $body
            })+
        }
    }};
    (@select [[] $default:expr] [$([$name:ident $made:ident ($arm:expr) $result:pat, $body:expr])*]) => {{
        let won = $crate::internal::try_wait($crate::crossbeam_channel_internal!(@order), ($($arm,)*));
        match won {
            $(Some($crate::internal::Won::$name(output)) => {
                let $result = $crate::internal::$made(output);
                $body
            })*
            None => $default,
        }
    }};
    (@select [[$timeout:expr] $default:expr] [$([$name:ident $made:ident ($arm:expr) $result:pat, $body:expr])*]) => {{
        let won = $crate::internal::wait_timeout($crate::crossbeam_channel_internal!(@order), $timeout, ($($arm,)*));
        match won {
            $(Some($crate::internal::Won::$name(output)) => {
                let $result = $crate::internal::$made(output);
                $body
            })*
            None => $default,
        }
    }};
    (@order) => { if _IS_BIASED { $crate::internal::Order::Biased } else { $crate::internal::Order::Fair } };

    // ---- what is written
    () => { compile_error!("empty `select!` block") };
    ($($cases:tt)+) => {
        $crate::crossbeam_channel_internal!(
            @read [] []
            [
                [A0 _end0] [A1 _end1] [A2 _end2] [A3 _end3] [A4 _end4] [A5 _end5] [A6 _end6] [A7 _end7]
                [A8 _end8] [A9 _end9] [A10 _end10] [A11 _end11] [A12 _end12] [A13 _end13] [A14 _end14] [A15 _end15]
                [A16 _end16] [A17 _end17] [A18 _end18] [A19 _end19] [A20 _end20] [A21 _end21] [A22 _end22] [A23 _end23]
                [A24 _end24] [A25 _end25] [A26 _end26] [A27 _end27] [A28 _end28] [A29 _end29] [A30 _end30] [A31 _end31]
            ]
            $($cases)+
        )
    };
}
