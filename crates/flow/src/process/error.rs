//! What is wrong with a network.

use std::fmt;

/// A network that cannot be built. Each says which ends.
///
/// Example: [`NetworkBuilder::build`](super::NetworkBuilder::build).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NetworkError {
    /// Two processes have this name.
    SameProcess(String),
    /// Two inputs or outputs of a process have the same name.
    SamePort {
        /// The process.
        process: String,
        /// The name.
        port: String,
    },
    /// An input or output is another network's. The other end is named, if it is this one's.
    OtherNetwork(Option<String>),
    /// An output is connected to the same input twice.
    SameConnection {
        /// The output, as `process.output`.
        from: String,
        /// The input, as `process.input`.
        to: String,
    },
    /// An output is connected to several inputs, and by [`connect`](super::NetworkBuilder::connect)
    /// only, which cannot copy messages.
    NotCopied {
        /// The output, as `process.output`.
        from: String,
        /// The type of its messages.
        messages: &'static str,
        /// The inputs, as `process.input`.
        to: Vec<String>,
    },
    /// A process has no input and no source, so it would never do anything.
    NothingToDo(String),
    /// A process has inputs, and is a source.
    InputsOfASource(String),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::SameProcess(name) => {
                write!(f, "two processes are called '{name}': each needs a name of its own")
            }
            NetworkError::SamePort { process, port } => {
                write!(f, "two inputs or outputs of '{process}' are called '{port}': each needs a name of its own")
            }
            NetworkError::OtherNetwork(None) => {
                f.write_str("an end of another network is used in this one: use those that its own builder has given")
            }
            NetworkError::OtherNetwork(Some(end)) => {
                write!(f, "'{end}' is connected with an end of another network: connect ends of one builder")
            }
            NetworkError::SameConnection { from, to } => {
                write!(f, "'{from}' is connected with '{to}' twice: leave one out")
            }
            NetworkError::NotCopied { from, messages, to } => write!(
                f,
                "'{from}' has messages of type {messages} and is connected with '{}': use `connect_each`, which clones them",
                to.join("', '")
            ),
            NetworkError::NothingToDo(name) => {
                write!(f, "the process '{name}' has neither an input nor a source: give it one")
            }
            NetworkError::InputsOfASource(name) => {
                write!(f, "the process '{name}' has inputs and is a source: make two processes of it")
            }
        }
    }
}

impl std::error::Error for NetworkError {}
