//! A node's name.

use std::borrow::Cow;
use std::ops::Deref;

/// Given, or that of a body's type, which is made readable when somebody reads it: most names are
/// not read.
#[derive(Debug)]
pub(crate) enum Name {
    Given(Cow<'static, str>),
    OfType(&'static str),
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Name::Given(name) => name,
            Name::OfType(path) => short(path),
        }
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Name::Given(Cow::Owned(name))
    }
}

/// Of a function its name without path and parameters; of a closure that of the function in which
/// it is, and that it is one.
fn short(path: &str) -> &str {
    const CLOSURE: &str = "::{{closure}}";
    // (The type of a method may begin with a bracket.)
    let mut path = path.split('<').next().filter(|plain| !plain.is_empty()).unwrap_or(path);
    while let Some(outer) = path.strip_suffix(CLOSURE)
        && outer.ends_with(CLOSURE)
    {
        path = outer;
    }
    let function = path.strip_suffix(CLOSURE).unwrap_or(path);
    &path[function.rfind("::").map_or(0, |at| at + 2)..]
}

#[cfg(test)]
mod test {
    use super::*;

    fn plain() {}
    fn generic<T>() {}

    fn of<F>(_: F) -> String {
        Name::OfType(std::any::type_name::<F>()).to_string()
    }

    #[test]
    fn names_of_functions() {
        assert_eq!(of(plain), "plain");
        assert_eq!(of(generic::<Vec<u8>>), "generic");
        assert_eq!(of(String::len), "len");
        assert_eq!(of(|| ()), "names_of_functions::{{closure}}");
        let inner = || of(|| ());
        assert_eq!(inner(), "names_of_functions::{{closure}}");
    }
}
