//! What holds for an agent beside its value: validator, watches, and what becomes of errors.
//!
//! The rules are a value that is replaced as a whole. Whoever uses them has them as they were at
//! one moment, without a lock.

use crate::agent::Agent;
use crate::error::{AgentError, text_of};
use crate::kept::Kept;
use myriad_core::engine::unwind::drop_quietly;
use myriad_core::engine::user_code;
use std::sync::Arc;

/// What becomes of an agent when an action has failed.
///
/// # Examples
/// ```
/// use myriad::agent::{Agent, ErrorMode};
/// let agent = Agent::new(1);
/// agent.set_error_mode(ErrorMode::Continue);
/// agent.set_error_handler(|agent, error| println!("{} stays, for {error}", agent.get()));
/// agent.send(|_| panic!("no"))?;
/// agent.send(|n| *n += 1)?;
/// agent.wait().unwrap();
/// assert_eq!(agent.get(), 2);
/// # Ok::<(), myriad::agent::AgentError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorMode {
    /// It has failed: it takes no sends, and its queue waits for a [restart](Agent::restart).
    #[default]
    Fail,
    /// It goes on with the next action, as if the failed one had not been.
    Continue,
}

type Handler<T> = Arc<dyn Fn(&Agent<T>, &AgentError) + Send + Sync>;
type Validator<T> = Arc<dyn Fn(&T) -> bool + Send + Sync>;
type Watch<T> = Arc<dyn Fn(&T, &T) + Send + Sync>;

/// See the module's header.
pub(crate) struct Rules<T: 'static> {
    pub(crate) mode: ErrorMode,
    handler: Option<Handler<T>>,
    validator: Option<Validator<T>>,
    watches: Vec<(Arc<str>, Watch<T>)>,
}

impl<T: 'static> Default for Rules<T> {
    fn default() -> Self {
        Rules { mode: ErrorMode::Fail, handler: None, validator: None, watches: Vec::new() }
    }
}

impl<T: 'static> Clone for Rules<T> {
    fn clone(&self) -> Self {
        Rules {
            mode: self.mode,
            handler: self.handler.clone(),
            validator: self.validator.clone(),
            watches: self.watches.clone(),
        }
    }
}

impl<T: 'static> Rules<T> {
    /// Drops rules of which these may be the last, each by itself: two destructors that panic at
    /// once would end the process.
    pub(crate) fn end(rules: Arc<Self>) {
        if let Some(Rules { handler, validator, watches, .. }) = Arc::into_inner(rules) {
            drop_quietly(handler);
            drop_quietly(validator);
            watches.into_iter().for_each(drop_quietly);
        }
    }
}

impl<T: Send + Sync + 'static> Rules<T> {
    /// May this be the agent's value?
    pub(crate) fn validate(&self, value: &T) -> Result<(), AgentError> {
        let Some(validator) = &self.validator else { return Ok(()) };
        match user_code::call(|| validator(value)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(AgentError::Refused),
            Err(payload) => Err(AgentError::Validator(text_of(payload))),
        }
    }

    /// Tells all watches of a change; the first that panics is the error.
    pub(crate) fn tell(&self, old: &T, new: &T) -> Result<(), AgentError> {
        let mut result = Ok(());
        for (key, watch) in &self.watches {
            if let Err(payload) = user_code::call(|| watch(old, new)) {
                let text = text_of(payload);
                result = result.and(Err(AgentError::Watch(key.clone(), text)));
            }
        }
        result
    }

    pub(crate) fn handle(&self, cell: &Kept<T>, error: &AgentError) {
        if let Some(handler) = &self.handler {
            let agent = Agent(cell.clone());
            user_code::run("the error handler of an agent", || handler(&agent, error));
        }
    }
}

impl<T: Send + Sync + 'static> Agent<T> {
    /// Which values the agent may have: an action whose result is none of them fails.
    ///
    /// The validator runs where the action does. It is asked about the value of now first.
    ///
    /// # Errors
    /// The value of now is not allowed; then nothing has changed.
    ///
    /// # Examples
    /// ```
    /// use myriad::agent::{Agent, AgentError};
    /// let agent = Agent::new(1);
    /// assert_eq!(agent.set_validator(|n| *n > 1), Err(AgentError::Refused));
    /// agent.set_validator(|n| *n > 0)?;
    /// agent.clear_validator();
    /// # Ok::<(), AgentError>(())
    /// ```
    #[doc(alias = "set-validator!")]
    pub fn set_validator(&self, is_valid: impl Fn(&T) -> bool + Send + Sync + 'static) -> Result<(), AgentError> {
        let validator: Validator<T> = Arc::new(is_valid);
        let rules = Rules { validator: Some(validator.clone()), ..Rules::default() };
        rules.validate(&self.snapshot())?;
        self.0.change_rules(|rules| rules.validator = Some(validator.clone()));
        Ok(())
    }

    /// Any value is allowed from now on.
    pub fn clear_validator(&self) {
        self.0.change_rules(|rules| rules.validator = None);
    }

    /// Tells of each change, with the old and the new value: within the action that made it, before
    /// what the action has sent goes out. A watch of the same key is replaced.
    ///
    /// Called for each action that succeeds, under no lock. If it panics the action fails, with
    /// [`AgentError::Watch`]; the value has changed all the same, and the other watches are told.
    /// One that holds a handle of its own agent keeps the agent until it [goes](Self::unwatch).
    ///
    /// # Examples
    /// ```
    /// use myriad::agent::Agent;
    /// let (tx, changes) = myriad::channel::unbounded();
    /// let agent = Agent::new(1);
    /// agent.watch("log", move |old, new| tx.send((*old, *new)).unwrap());
    /// agent.send(|n| *n += 1).unwrap();
    /// assert_eq!(changes.recv(), Ok((1, 2)));
    /// assert!(agent.unwatch("log"));
    /// ```
    #[doc(alias = "add-watch")]
    pub fn watch(&self, key: &str, watch: impl Fn(&T, &T) + Send + Sync + 'static) {
        let entry: (Arc<str>, Watch<T>) = (Arc::from(key), Arc::new(watch));
        self.0.change_rules(|rules| match rules.watches.iter_mut().find(|(known, _)| **known == *key) {
            Some(known) => *known = entry.clone(),
            None => rules.watches.push(entry.clone()),
        });
    }

    /// Ends a watch. False: there is none of this key. An action that is under way may tell it once
    /// more.
    #[doc(alias = "remove-watch")]
    pub fn unwatch(&self, key: &str) -> bool {
        let mut found = false;
        self.0.change_rules(|rules| {
            let before = rules.watches.len();
            rules.watches.retain(|(known, _)| **known != *key);
            found = rules.watches.len() < before;
        });
        found
    }

    /// What becomes of the agent when an action fails. [`ErrorMode::Fail`] at first, also for an
    /// agent with a handler (in Clojure such a one continues).
    ///
    /// # Examples
    /// ```
    /// use myriad::agent::{Agent, ErrorMode};
    /// let (agent, refused) = (Agent::new(1), Agent::new(0));
    /// let count = refused.clone();
    /// agent.set_error_mode(ErrorMode::Continue);
    /// agent.set_error_handler(move |_, _| count.send(|n| *n += 1).unwrap());
    /// agent.send(|_| panic!("no"))?;
    /// agent.wait().unwrap();
    /// refused.wait().unwrap();
    /// assert_eq!((agent.get(), refused.get()), (1, 1));
    /// # Ok::<(), myriad::agent::AgentError>(())
    /// ```
    #[doc(alias = "set-error-mode!")]
    pub fn set_error_mode(&self, mode: ErrorMode) {
        self.0.change_rules(|rules| rules.mode = mode);
    }

    /// What becomes of the agent when an action fails.
    pub fn error_mode(&self) -> ErrorMode {
        self.0.rules().map_or(ErrorMode::Fail, |rules| rules.mode)
    }

    /// Is told of each action that fails, where the action ran, whatever the mode. What it sends is
    /// not held. If it panics that is reported as the panic of a detached task, and nothing else
    /// changes.
    #[doc(alias = "set-error-handler!")]
    pub fn set_error_handler(&self, handler: impl Fn(&Agent<T>, &AgentError) + Send + Sync + 'static) {
        let handler: Handler<T> = Arc::new(handler);
        self.0.change_rules(|rules| rules.handler = Some(handler.clone()));
    }
}
