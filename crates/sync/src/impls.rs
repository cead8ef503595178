//! Impls that are alike for many types.

/// Writes impls of std's traits that say of a type only what its own methods say. Between the
/// name and the colon stand the type's arguments, and in brackets the impl's.
///
/// | line | what it gives |
/// |---|---|
/// | `Debug for Name: opaque;` | `Name(..)` |
/// | `Debug for Name: { field: method };` | `Name { field: self.method(), .. }` |
/// | `Debug for Guard<'_, T> [T]: as T;` | that of what it dereferences to, a `T`; `Display` too |
/// | `Default for Name: Name::new();` | that value |
/// | `From for Name<T> [T]: new;` | from a `T`, by `Name::new` |
macro_rules! impls {
    () => {};
    (Debug for $name:ident $(<$($arg:tt),+>)? $([$($generics:tt)+])?: opaque; $($rest:tt)*) => {
        impl $(<$($generics)+>)? std::fmt::Debug for $name $(<$($arg),+>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
        $crate::impls::impls! { $($rest)* }
    };
    (Debug for $name:ident $(<$($arg:tt),+>)? $([$($generics:tt)+])?: { $($field:ident: $method:ident),* }; $($rest:tt)*) => {
        impl $(<$($generics)+>)? std::fmt::Debug for $name $(<$($arg),+>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$method()))*.finish_non_exhaustive()
            }
        }
        $crate::impls::impls! { $($rest)* }
    };
    ($format:ident for $name:ident<$($arg:tt),+> [$($generics:tt)+]: as $target:ident; $($rest:tt)*) => {
        impl<$($generics)+> std::fmt::$format for $name<$($arg),+>
        where
            $target: std::fmt::$format,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
        $crate::impls::impls! { $($rest)* }
    };
    (Default for $name:ident $(<$($arg:tt),+>)? $([$($generics:tt)+])?: $value:expr; $($rest:tt)*) => {
        impl $(<$($generics)+>)? Default for $name $(<$($arg),+>)? {
            fn default() -> Self {
                $value
            }
        }
        $crate::impls::impls! { $($rest)* }
    };
    (From for $name:ident<$arg:ident> [$($generics:tt)+]: new; $($rest:tt)*) => {
        impl<$($generics)+> From<$arg> for $name<$arg> {
            fn from(value: $arg) -> Self {
                $name::new(value)
            }
        }
        $crate::impls::impls! { $($rest)* }
    };
}
pub(crate) use impls;
