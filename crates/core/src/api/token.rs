//! Tokens: a tree of things to cancel that belong together.

use super::until::Until;
use crate::runtime::pools;
use crate::sched::cancel::cancel_scope::{self, CancelScope, DueRequest};
use crate::sched::pool::Handle;
use crate::sched::unwind;
use crate::sched::user_code::{self, StoredWaker, UserValue};
use myriad_base::sys::clock::Instant;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::mem::needs_drop;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll};

/// Cancels whatever was given it: pieces of code that run [in](Token::run) it, tasks that are
/// [built](crate::task::Builder::token) with it, its [children](Token::child).
///
/// A clone is the same token. Dropping it cancels nothing.
///
/// # Examples
/// ```
/// use myriad::{cancel::Token, time};
/// use std::time::Duration;
/// let token = Token::new();
/// let tasks: Vec<_> = (0..10)
///     .map(|_| {
///         let token = token.child();
///         myriad::spawn(move || token.run(|| time::sleep(Duration::from_secs(3600))))
///     })
///     .collect();
/// token.cancel();
/// for task in tasks {
///     assert!(task.join().unwrap().is_err());
/// }
/// ```
#[doc(alias = "Context")]
#[doc(alias = "AbortController")]
#[doc(alias = "StopToken")]
#[doc(alias = "CancellationToken")]
#[derive(Clone)]
pub struct Token(Arc<Inner>);

struct Inner {
    cancelled: AtomicBool,
    /// Why; written before `cancelled`. Dropped through the door: its destructor is user code.
    cause: OnceLock<KeptCause>,
    state: Mutex<TokenState>,
    /// Keeps it: a child hears of its parent as long as it lives.
    parent: Option<Token>,
}

/// Why a token was cancelled: see [`Token::cancel_with`].
pub type Cause = Arc<dyn std::error::Error + Send + Sync>;

type KeptCause = UserValue<Cause>;

/// What a token keeps of the user's, some of it under its lock: its end runs no user code.
const _: () = assert!(!needs_drop::<(KeptCause, Entered, StoredWaker, TokenCall)>());

/// Under the lock: who is to be told. Empty once it is cancelled.
#[derive(Default)]
struct TokenState {
    children: HashMap<usize, Weak<Inner>>,
    regions: HashMap<usize, Entered>,
    wakers: HashMap<u64, StoredWaker>,
    calls: HashMap<u64, TokenCall>,
}

/// What [`Token::on_cancel`] is given, and the runtime that it will run in.
struct TokenCall {
    home: Handle,
    location: &'static Location<'static>,
    f: UserValue<Box<dyn FnOnce() + Send>>,
}

impl TokenCall {
    /// Starts it as a task.
    fn start(self) {
        drop(crate::api::spawn::spawn_on(self.home, self.f.give(), self.location));
    }
}

/// A number for a waker or a call.
fn number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    // Relaxed: only that no number comes twice.
    NUMBER.fetch_add(1, Relaxed)
}

struct Entered(*const CancelScope);
// SAFETY: followed under the token's lock, under which its task leaves the cancel scope.
unsafe impl Send for Entered {}

/// The token was cancelled before the work was done.
///
/// # Examples
/// ```
/// use myriad::cancel::{Token, TokenCancelled};
/// let token = Token::new();
/// token.cancel();
/// let work = token.run(|| myriad::time::sleep(std::time::Duration::from_secs(3600)));
/// assert_eq!(work, Err(TokenCancelled));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenCancelled;

impl fmt::Display for TokenCancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the token was cancelled")
    }
}

impl std::error::Error for TokenCancelled {}

impl Token {
    /// A token of its own.
    pub fn new() -> Token {
        Token::below(None)
    }

    fn below(parent: Option<Token>) -> Token {
        let (cancelled, cause, state) = (AtomicBool::new(false), OnceLock::new(), Mutex::default());
        Token(Arc::new(Inner { cancelled, cause, state, parent }))
    }

    /// A token that is cancelled with this one, or alone.
    #[doc(alias = "child_token")]
    pub fn child(&self) -> Token {
        let child = Token::below(Some(self.clone()));
        let mut state = self.lock();
        if self.was_told() {
            child.tell_cause(self.0.cause());
            child.0.cancelled.store(true, Release);
        } else {
            state.children.insert(Arc::as_ptr(&child.0).addr(), Arc::downgrade(&child.0));
        }
        drop(state);
        child
    }

    fn lock(&self) -> MutexGuard<'_, TokenState> {
        // Nothing foreign runs under it.
        self.0.state.lock()
    }

    /// Was it cancelled, or one above it?
    pub fn is_cancelled(&self) -> bool {
        self.cancelled_at().is_some()
    }

    /// The first on the way up that knows that it is cancelled. Who cancels goes down from token to
    /// token: so one above may have been heard of while this one is not told yet.
    fn cancelled_at(&self) -> Option<&Token> {
        let mut token = self;
        while !token.was_told() {
            token = token.0.parent.as_ref()?;
        }
        Some(token)
    }

    fn was_told(&self) -> bool {
        // Acquire: pairs with the Release in `tell`.
        self.0.cancelled.load(Acquire)
    }

    /// Cancels it, and those below it: for good.
    ///
    /// # Blocking
    /// Never blocks: what is cancelled ends at its next blocking point.
    pub fn cancel(&self) {
        self.cancel_for(None);
    }

    /// The same, and says why: [`cause`](Self::cause) tells it, of this token and of those below
    /// it. The first to cancel a token has said why, or has not.
    ///
    /// # Examples
    /// ```
    /// use myriad::cancel::Token;
    /// let token = Token::new();
    /// let child = token.child();
    /// token.cancel_with("the disk is full");
    /// token.cancel_with("too late");
    /// assert_eq!(child.cause().unwrap().to_string(), "the disk is full");
    /// ```
    pub fn cancel_with(&self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) {
        self.cancel_for(Some(Arc::from(cause.into())));
    }

    /// Why it was cancelled; `None` if it was not, or nobody has said why.
    pub fn cause(&self) -> Option<Cause> {
        self.cancelled_at()?.0.cause().cloned()
    }

    fn tell_cause(&self, cause: Option<&Cause>) {
        if let Some(cause) = cause {
            // (Its first one: under its lock, before it is cancelled.)
            if let Err(known) = self.0.cause.set(UserValue::new(cause.clone())) {
                // (No user code: not the last handle.)
                drop(known.give());
            }
        }
    }

    /// In three rounds: all below are told, and what they know is collected; then wakers are woken;
    /// then calls are started. Only the first is of the engine alone. A waker may wait for whatever
    /// the cancellation lets go on, in a child of a child too; and nothing that panics keeps others
    /// from being told.
    fn cancel_for(&self, cause: Option<Cause>) {
        // If one above it was the first, that one's canceller is about to tell this one.
        let above = self.cancelled_at().map(|token| UserValue::new(token.0.cause().cloned()));
        let cause = UserValue::new(cause);
        let why = above.as_ref().unwrap_or(&cause).peek().as_ref();
        // Each handle stays until the end: the last one drops causes and closures, user code.
        let mut tokens = vec![UserValue::new(self.clone())];
        let (mut wakers, mut calls) = (Vec::new(), Vec::new());
        let mut next = 0;
        while let Some(token) = tokens.get(next) {
            let told = token.peek().tell(why);
            next += 1;
            wakers.extend(told.wakers.into_values());
            calls.extend(told.calls.into_values());
            let children = told.children.into_values().filter_map(|child| child.upgrade());
            tokens.extend(children.map(|child| UserValue::new(Token(child))));
        }
        wakers.into_iter().for_each(StoredWaker::wake);
        // The first panic is the caller's: its process may have no workers to start a call.
        let mut first = Ok(());
        for call in calls {
            if let Err(payload) = user_code::call(|| call.start()) {
                match first {
                    Ok(()) => first = Err(payload),
                    Err(_) => unwind::discard(payload),
                }
            }
        }
        tokens.into_iter().for_each(|token| token.discard("what the last handle of a token holds"));
        above.into_iter().chain([cause]).for_each(|cause| cause.discard("a token's cause"));
        if let Err(payload) = first {
            unwind::resume(payload);
        }
    }

    /// Marks this token alone as cancelled, and ends what runs in it. Who else is to be told comes
    /// back; nobody, if it was cancelled before. Runs no user code.
    fn tell(&self, cause: Option<&Cause>) -> TokenState {
        let mut state = self.lock();
        if self.was_told() {
            return TokenState::default();
        }
        self.tell_cause(cause);
        // Release: pairs with the Acquire in `was_told`: the cause, and what the canceller did
        // before.
        self.0.cancelled.store(true, Release);
        let mut told = std::mem::take(&mut *state);
        // SAFETY: under the lock that its task takes before it leaves the cancel scope.
        let cancel = |region: Entered| unsafe { CancelScope::cancel(region.0) };
        let requests: Vec<DueRequest> = std::mem::take(&mut told.regions).into_values().map(cancel).collect();
        drop(state);
        requests.into_iter().for_each(DueRequest::send);
        told
    }

    /// Has `f` called when the token is cancelled, as a task of its own; at once if it was before.
    /// Never more than once.
    ///
    /// It runs in the caller's runtime (from a foreign thread: in the global one).
    ///
    /// # Blocking
    /// Never blocks; nor does [`cancel`](Self::cancel), which starts the task.
    ///
    /// # Panics
    /// A panic of `f` is that of a detached task.
    ///
    /// # Examples
    /// ```
    /// use myriad::cancel::Token;
    /// use std::sync::mpsc::channel;
    /// let (token, (tx, rx)) = (Token::new(), channel());
    /// let says = token.on_cancel(move || tx.send("over").unwrap());
    /// let never = token.on_cancel(|| unreachable!("it was stopped"));
    /// assert!(never.stop());
    /// token.cancel();
    /// assert_eq!(rx.recv().unwrap(), "over");
    /// assert!(!says.stop(), "too late");
    /// ```
    #[track_caller]
    pub fn on_cancel(&self, f: impl FnOnce() + Send + 'static) -> OnCancel {
        let home = pools::here();
        let (number, call) =
            (number(), TokenCall { home, location: Location::caller(), f: UserValue::new(Box::new(f)) });
        let mut state = self.lock();
        if self.is_cancelled() {
            drop(state);
            call.start();
        } else {
            state.calls.insert(number, call);
        }
        OnCancel { token: self.clone(), number }
    }

    /// Runs `f` in the calling task or thread; if the token is cancelled, it unwinds from its next
    /// blocking point up to here.
    ///
    /// # Blocking
    /// As `f`. A computation is not interrupted.
    ///
    /// # Cancellation
    /// As of [`timeout`](crate::time::timeout).
    ///
    /// # Panics
    /// If `f` does.
    ///
    /// # Errors
    /// The token was cancelled first; if it was before the call, `f` is not called. If `f` is done
    /// in spite of that, its result is returned.
    pub fn run<R>(&self, f: impl FnOnce() -> R) -> Result<R, TokenCancelled> {
        if self.is_cancelled() {
            return Err(TokenCancelled);
        }
        self.run_or(f, |_| Err(TokenCancelled))
    }

    /// The same; if the token is cancelled already, `too_late` gets the closure.
    fn run_or<R, F: FnOnce() -> R>(
        &self,
        f: F,
        too_late: impl FnOnce(F) -> Result<R, TokenCancelled>,
    ) -> Result<R, TokenCancelled> {
        let mut cancel_scope = CancelScope::new(false, Instant::NEVER);
        cancel_scope.enter();
        let cancel_scope = &cancel_scope;
        let mut state = self.lock();
        if self.is_cancelled() {
            drop(state);
            cancel_scope.leave();
            return too_late(f);
        }
        state.regions.insert(std::ptr::from_ref(cancel_scope).addr(), Entered(cancel_scope));
        drop(state);
        let result = user_code::body(f);
        self.lock().regions.remove(&std::ptr::from_ref(cancel_scope).addr());
        cancel_scope.leave();
        cancel_scope::ended(cancel_scope, result).map_err(|_| TokenCancelled)
    }

    /// The body of a task that was built with the token.
    pub(crate) fn run_task<R>(&self, f: impl FnOnce() -> R) -> R {
        let result = if cfg!(panic = "abort") {
            // A task can only be asked, and it has begun.
            self.run_or(f, |f| Ok(f()))
        } else {
            self.run(f)
        };
        result.unwrap_or_else(|_| crate::sched::cancel::checkpoint::unwind_cancelled())
    }

    /// Runs a future until it is ready, or until the token is cancelled: then it is dropped.
    ///
    /// # Examples
    /// ```
    /// use myriad::{block_on, cancel::Token};
    /// let token = Token::new();
    /// let waits = token.run_async(std::future::pending::<()>());
    /// token.cancel();
    /// assert!(block_on(waits).is_err());
    /// assert!(block_on(Token::new().run_async(async { 42 })).is_ok_and(|x| x == 42));
    /// ```
    pub fn run_async<F: Future>(&self, future: F) -> RunAsync<F> {
        RunAsync(Until::new(future, self.cancelled()))
    }

    /// Waits until it is cancelled.
    ///
    /// # Blocking
    /// Until then; a task is set aside, a foreign thread sleeps.
    ///
    /// # Panics
    /// If there is no memory for a stack.
    ///
    /// # Examples
    /// ```
    /// use myriad::cancel::Token;
    /// let token = Token::new();
    /// let waits = token.clone();
    /// let task = myriad::spawn(move || waits.wait());
    /// token.cancel();
    /// task.join().unwrap();
    /// ```
    #[track_caller]
    pub fn wait(&self) {
        if !self.is_cancelled() {
            crate::api::block_on(self.cancelled());
        }
    }

    /// A future that is ready when the token is cancelled.
    pub fn cancelled(&self) -> WaitCancelled {
        WaitCancelled { token: self.clone(), number: 0, registered: (0, 0) }
    }
}

impl Inner {
    fn cause(&self) -> Option<&Cause> {
        self.cause.get().map(UserValue::peek)
    }

    /// The last handle: nobody is there to be told. (Who waits has a handle, so there are no
    /// wakers.) Takes the parent out, whose last handle this may be. `address` is its name there.
    fn end(&mut self, address: usize) -> Option<Token> {
        let TokenState { calls, wakers, .. } = std::mem::take(self.state.get_mut());
        let parent = self.parent.take();
        if let Some(parent) = &parent {
            parent.lock().children.remove(&address);
        }
        wakers.into_values().for_each(StoredWaker::discard);
        calls.into_values().for_each(|call| call.f.discard("what a closure of `on_cancel` holds"));
        self.cause.take().into_iter().for_each(|cause| cause.discard("a token's cause"));
        parent
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Not by recursion: a chain of children may be longer than a stack is deep.
        let mut above = self.end(std::ptr::from_ref(self).addr());
        while let Some(token) = above {
            let address = Arc::as_ptr(&token.0).addr();
            above = Arc::into_inner(token.0).and_then(|mut inner| inner.end(address));
        }
    }
}

impl Default for Token {
    fn default() -> Self {
        Token::new()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// What [`Token::cancelled`] returns.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct WaitCancelled {
    token: Token,
    /// Its place among the wakers; 0: none yet.
    number: u64,
    /// The data and the table of the waker there. (As long as it stands there these are no
    /// other's.)
    registered: (usize, usize),
}

impl Future for WaitCancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = (cx.waker().data().addr(), std::ptr::from_ref(cx.waker().vtable()).addr());
        if self.number != 0 && self.registered == waker && !self.token.is_cancelled() {
            // Whoever cancels it from now on finds the waker that stands there.
            return Poll::Pending;
        }
        self.registered = waker;
        // Cloned and dropped without the lock: wakers are user code.
        let waker = StoredWaker::clone_of(cx.waker());
        if self.number == 0 {
            self.number = number();
        }
        let mut state = self.token.lock();
        let cancelled = self.token.is_cancelled();
        let old = if cancelled { Some(waker) } else { state.wakers.insert(self.number, waker) };
        drop(state);
        old.into_iter().for_each(StoredWaker::discard);
        if cancelled { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for WaitCancelled {
    fn drop(&mut self) {
        if self.number != 0 {
            let waker = self.token.lock().wakers.remove(&self.number);
            waker.into_iter().for_each(StoredWaker::discard);
        }
    }
}

/// What [`Token::on_cancel`] returns. Dropping it changes nothing.
#[derive(Debug)]
pub struct OnCancel {
    token: Token,
    number: u64,
}

impl OnCancel {
    /// The closure is not called any more, and dropped. False: it has been started.
    pub fn stop(self) -> bool {
        // Dropped without the lock: user code, whose panic is the caller's.
        let call = self.token.lock().calls.remove(&self.number);
        call.map(|call| drop(call.f.give())).is_some()
    }
}

/// What [`Token::run_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct RunAsync<F>(Until<F, WaitCancelled>);

impl<F> fmt::Debug for RunAsync<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show("RunAsync", f)
    }
}

impl<F: Future> Future for RunAsync<F> {
    type Output = Result<F::Output, TokenCancelled>;

    /// # Panics
    /// If polled again after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the field is pinned as the whole is.
        let until = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        until.poll_stop_first(cx).map(|output| output.ok_or(TokenCancelled))
    }
}
