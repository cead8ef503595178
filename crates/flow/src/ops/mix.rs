//! Inputs that come, go, and are muted while it runs.

use super::ended::{self, Ended, EndedFuture, Operation, Why};
use super::give::give;
use super::inputs::{Change, Input, Inputs, Mode, SoloMode};
use myriad_sync::channel::{Receiver, Sender, unbounded};
use std::fmt;
use std::future::IntoFuture;

/// Gives what comes from any of several [inputs](Mix::add) to a channel, in a task of its own.
/// Inputs are added, removed, muted, paused and soloed by the handle while it runs.
///
/// Of several inputs that have an item each is as likely the next. While the channel is full
/// nothing is taken, also from an input that is muted. An input that has ended is let go of; the
/// operation goes on without inputs.
///
/// **End.** It ends when the handle is gone (by [`join`](Mix::join), [`detach`](Mix::detach) or a
/// drop), because then no more inputs can come, and all inputs have ended. Inputs that are paused
/// then, and that nothing can make play again, are let go of with what is in their channels. It
/// ends sooner when it is [cancelled](Mix::cancel), or when nobody receives what it gives, which is
/// seen when it has taken an item. Then it drops its sender, which closes the channel if that was
/// the last.
///
/// An item costs a [select](mod@myriad_sync::select) over all inputs that are not paused, so as
/// much time as there are of these; a change of any kind as much as there are inputs.
///
/// # Panics
/// A panic of an item's destructor ends the operation, and comes back from [`join`](Mix::join).
///
/// # Examples
/// ```
/// use myriad::channel::{bounded, unbounded};
/// use myriad::flow::{self, ops::Mode};
/// let (tx, out) = bounded(10);
/// let news = flow::mix(tx);
/// let ((weather_tx, weather), (sports_tx, sports)) = (unbounded(), unbounded());
/// let (weather, sports) = (news.add(weather), news.add(sports));
/// sports_tx.send("1:0").unwrap();
/// assert_eq!(out.recv(), Ok("1:0"));
/// // All at once: there is no item between these two.
/// news.set([(sports, Mode::Mute), (weather, Mode::Play)]);
/// sports_tx.send("2:0").unwrap();
/// drop((weather_tx, sports_tx));
/// let ended = news.join();
/// assert_eq!((ended.taken, ended.given), (2, 1));
/// assert!(out.recv().is_err());
/// ```
#[doc(alias = "merge")]
#[doc(alias = "admix")]
pub fn mix<T: Send + 'static>(to: Sender<T>) -> Mix<T> {
    let (changes, new) = unbounded();
    let operation = Operation::start(move |token| {
        let (mut given, mut in_hand) = (0, None);
        // (Outside of what unwinds, as the item is.)
        let mut inputs = Inputs::new(new);
        let mut why = ended::run(token, || {
            let mut put = |item, is_heard| {
                in_hand = Some(item);
                // (A loop over items that nobody is to hear may never wait, so it asks.)
                let is_open = if is_heard { give(&to, &mut in_hand) } else { !to.is_closed() };
                if !is_open {
                    return Err(Why::TargetClosed);
                }
                given += u64::from(is_heard);
                in_hand = None;
                if token.is_cancelled() { Err(Why::Cancelled) } else { Ok(()) }
            };
            loop {
                let taken = inputs.take(&mut put);
                // (First: who cancels it may drop the handle next, and that is an end, too.)
                if token.is_cancelled() {
                    return Why::Cancelled;
                }
                if let Err(why) = taken {
                    return why;
                }
            }
        });
        let (taken, held) = inputs.release(&mut why);
        ended::release(&mut why, to);
        Ended { why, taken, given, left: in_hand.into_iter().chain(held).collect() }
    });
    Mix { changes, operation }
}

/// The handle of [`mix`]. When it is gone, the operation ends with its inputs.
#[must_use = "without a handle there will be no inputs"]
pub struct Mix<T> {
    changes: Sender<Change<T>>,
    operation: Operation<T>,
}

impl<T: Send + 'static> Mix<T> {
    /// From now on items are taken from this channel, too. A channel that is added twice is two
    /// inputs, between which its items are divided.
    ///
    /// If the operation has ended, the receiver is dropped at once.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn add(&self, from: Receiver<T>) -> Input {
        self.add_as(from, Mode::Play)
    }

    /// As [`add`](Self::add), in this mode from the beginning: no item passes before.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn add_as(&self, from: Receiver<T>, mode: Mode) -> Input {
        let input = Input::new();
        self.change(Change::Add(input, from, mode));
        input
    }

    /// Lets go of an input. Nothing that is sent to it after this call is given. Its receiver is
    /// dropped before the next item is taken; who wants to receive the rest keeps a clone.
    ///
    /// An item that had been taken is given; or, if it was not yet known whether the input was to
    /// be heard, comes back from [`join`](Self::join). Of an input that has ended, or is another
    /// mix's, nothing happens.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::unbounded, flow};
    /// let ((tx, out), (news_tx, news)) = (unbounded(), unbounded());
    /// let mix = flow::mix(tx);
    /// let news = mix.add(news);
    /// news_tx.send("heard").unwrap();
    /// assert_eq!(out.recv(), Ok("heard"));
    /// mix.remove(news);
    /// // An error, where the receiver has gone by now.
    /// _ = news_tx.send("not heard");
    /// assert_eq!(mix.join().given, 1);
    /// assert!(out.recv().is_err());
    /// ```
    pub fn remove(&self, input: Input) {
        self.change(Change::Remove(input));
    }

    /// Changes the modes of several inputs at once: no item is judged by some of these and not by
    /// the others. What is sent after this call is treated as they say. Of two modes of one input
    /// the last counts; inputs that have ended, or are another mix's, are skipped.
    ///
    /// An item that had been taken before may still be given. Of an input that is paused by this
    /// call one item may be taken, at the most: it is the first that is given when the input plays
    /// again, and comes back from [`join`](Self::join) if it does not.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::unbounded;
    /// use myriad::flow::{self, ops::{Mode, SoloMode}};
    /// let (tx, out) = unbounded();
    /// let mix = flow::mix(tx);
    /// let inputs: Vec<_> = (0..3).map(|n| {
    ///     let (tx, rx) = unbounded();
    ///     (tx, mix.add_as(rx, Mode::Pause), n)
    /// }).collect();
    /// inputs.iter().for_each(|(tx, _, n)| tx.send(*n).unwrap());
    /// // The one is heard alone, and the others wait.
    /// mix.solo_mode(SoloMode::Pause);
    /// mix.set(inputs.iter().map(|(_, input, n)| (*input, if *n == 1 { Mode::Solo } else { Mode::Play })));
    /// assert_eq!(out.recv(), Ok(1));
    /// // When it has ended, they play.
    /// drop(inputs);
    /// let mut rest: Vec<_> = out.iter().take(2).collect();
    /// rest.sort();
    /// assert_eq!(rest, [0, 2]);
    /// assert!(mix.join().is_complete());
    /// ```
    #[doc(alias = "toggle")]
    pub fn set(&self, modes: impl IntoIterator<Item = (Input, Mode)>) {
        self.change(Change::Set(modes.into_iter().collect()));
    }

    /// What becomes of inputs that are not soloed while others are: [`SoloMode::Mute`] at first.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn solo_mode(&self, mode: SoloMode) {
        self.change(Change::SoloMode(mode));
    }

    /// Gives up the handle, and waits until the inputs have ended: see [`mix`](fn@mix). `taken`
    /// counts also what was muted. An end by the inputs is [`Why::SourceEnded`], also if some were
    /// paused; then `left` may have an item of each of these.
    ///
    /// # Blocking
    /// As [`Operation::join`].
    pub fn join(self) -> Ended<T> {
        self.into_operation().join()
    }

    /// Gives up the handle: there will be no more inputs and changes, and the operation ends with
    /// its inputs. Returns it as one that can still be joined, awaited and cancelled.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::unbounded, flow};
    /// use std::time::Duration;
    /// let ((tx, out), (news_tx, news)) = (unbounded(), unbounded());
    /// let mix = flow::mix(tx);
    /// mix.add(news);
    /// let mix = mix.into_operation();
    /// news_tx.send("1:0").unwrap();
    /// assert_eq!(out.recv(), Ok("1:0"));
    /// // It runs, as its input is open.
    /// let mix = mix.join_timeout(Duration::from_millis(1)).unwrap_err();
    /// drop(news_tx);
    /// assert!(mix.join().is_complete());
    /// ```
    pub fn into_operation(self) -> Operation<T> {
        self.operation
    }

    /// As [`Operation::cancel`].
    pub fn cancel(&self) {
        self.operation.cancel();
    }

    /// As [`Operation::detach`]: the operation ends with its inputs.
    pub fn detach(self) {}

    fn change(&self, change: Change<T>) {
        // (An error has the change, and with it the receiver, which is dropped.)
        _ = self.changes.send(change);
    }
}

/// Gives up the handle, and awaits the end, as [`join`](Mix::join) waits for it.
impl<T: Send + 'static> IntoFuture for Mix<T> {
    type Output = Ended<T>;
    type IntoFuture = EndedFuture<T>;

    fn into_future(self) -> EndedFuture<T> {
        self.into_operation().into_future()
    }
}

impl<T> fmt::Debug for Mix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mix").field("operation", &self.operation).finish_non_exhaustive()
    }
}
