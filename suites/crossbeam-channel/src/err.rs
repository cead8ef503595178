//! The errors, with crossbeam-channel's names and texts.

use std::fmt;

/// The channel is disconnected; the message comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

/// Why `try_send` did not send; the message comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// The channel is full, or nobody waits at the rendezvous.
    Full(T),
    /// The channel is disconnected.
    Disconnected(T),
}

/// Why a send with a time limit did not send; the message comes back.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendTimeoutError<T> {
    /// The time has passed.
    Timeout(T),
    /// The channel is disconnected.
    Disconnected(T),
}

/// The channel is empty and disconnected.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct RecvError;

/// Why `try_recv` brought nothing.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// Nothing is there now.
    Empty,
    /// The channel is empty and disconnected.
    Disconnected,
}

/// Why a receive with a time limit brought nothing.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum RecvTimeoutError {
    /// The time has passed.
    Timeout,
    /// The channel is empty and disconnected.
    Disconnected,
}

/// Nothing could be selected at once.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TrySelectError;

/// Nothing could be selected in time.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct SelectTimeoutError;

/// Nothing is ready.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct TryReadyError;

/// Nothing was ready in time.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub struct ReadyTimeoutError;

impl<T> SendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        self.0
    }
}

macro_rules! with_a_message {
    ($name:ident, $other:ident, $is_other:ident) => {
        impl<T> $name<T> {
            /// The message.
            pub fn into_inner(self) -> T {
                match self {
                    $name::$other(message) | $name::Disconnected(message) => message,
                }
            }
            /// Was it this?
            pub fn $is_other(&self) -> bool {
                matches!(self, $name::$other(_))
            }
            /// Is the channel disconnected?
            pub fn is_disconnected(&self) -> bool {
                matches!(self, $name::Disconnected(_))
            }
        }
        impl<T> From<SendError<T>> for $name<T> {
            fn from(error: SendError<T>) -> Self {
                $name::Disconnected(error.0)
            }
        }
    };
}
with_a_message!(TrySendError, Full, is_full);
with_a_message!(SendTimeoutError, Timeout, is_timeout);

macro_rules! without_a_message {
    ($name:ident, $other:ident, $is_other:ident) => {
        impl $name {
            /// Was it this?
            pub fn $is_other(&self) -> bool {
                *self == $name::$other
            }
            /// Is the channel empty and disconnected?
            pub fn is_disconnected(&self) -> bool {
                *self == $name::Disconnected
            }
        }
        impl From<RecvError> for $name {
            fn from(_: RecvError) -> Self {
                $name::Disconnected
            }
        }
    };
}
without_a_message!(TryRecvError, Empty, is_empty);
without_a_message!(RecvTimeoutError, Timeout, is_timeout);

macro_rules! texts {
    ($($name:ident $(<$t:ident>)? { $($pattern:pat => $text:literal $($debug:literal)?),+ })+) => {
        $(
            impl $(<$t>)? fmt::Display for $name $(<$t>)? {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(match self { $($pattern => $text),+ })
                }
            }
            impl $(<$t: Send>)? std::error::Error for $name $(<$t>)? {}
            texts!(@debug $name $(<$t>)? { $($pattern => $($debug)?),+ });
        )+
    };
    (@debug $name:ident<$t:ident> { $($pattern:pat => $debug:literal),+ }) => {
        impl<$t> fmt::Debug for $name<$t> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $($pattern => $debug),+ })
            }
        }
    };
    (@debug $name:ident $rest:tt) => {};
}
texts! {
    SendError<T> { SendError(_) => "sending on a disconnected channel" "SendError(..)" }
    TrySendError<T> {
        TrySendError::Full(_) => "sending on a full channel" "Full(..)",
        TrySendError::Disconnected(_) => "sending on a disconnected channel" "Disconnected(..)"
    }
    SendTimeoutError<T> {
        SendTimeoutError::Timeout(_) => "timed out waiting on send operation" "SendTimeoutError(..)",
        SendTimeoutError::Disconnected(_) => "sending on a disconnected channel" "SendTimeoutError(..)"
    }
    RecvError { RecvError => "receiving on an empty and disconnected channel" }
    TryRecvError {
        TryRecvError::Empty => "receiving on an empty channel",
        TryRecvError::Disconnected => "receiving on an empty and disconnected channel"
    }
    RecvTimeoutError {
        RecvTimeoutError::Timeout => "timed out waiting on receive operation",
        RecvTimeoutError::Disconnected => "channel is empty and disconnected"
    }
    TrySelectError { TrySelectError => "all operations in select would block" }
    SelectTimeoutError { SelectTimeoutError => "timed out waiting on select" }
    TryReadyError { TryReadyError => "all operations in select would block" }
    ReadyTimeoutError { ReadyTimeoutError => "timed out waiting on select" }
}
