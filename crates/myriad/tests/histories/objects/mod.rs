//! The objects under test, one in each file with its model.

mod barrier;
mod broadcast;
pub(crate) mod channel;
mod condition;
mod condvar;
mod countdown;
mod event;
mod join;
mod kept;
mod map;
mod mutex;
mod once;
mod promise;
mod reentrant;
mod rwlock;
mod semaphore;
mod single_flight;
mod token;
mod watch;

use crate::check::Subject;
pub(crate) use channel::model::Full;
use channel::{Channel, Mix};

pub(crate) use channel::model::Channels;
pub(crate) use channel::{Arm, Ends, Form, Op as ChannelOp};
pub(crate) use semaphore::{Op as SemaphoreOp, State as Semaphores};

/// All of them.
pub(crate) fn all() -> Vec<Box<dyn Subject>> {
    let mut all: Vec<Box<dyn Subject>> = Vec::new();
    for mix in [Mix::Plain, Mix::Close, Mix::Peek, Mix::Select] {
        for capacity in [0, 1, 2, usize::MAX] {
            all.push(Box::new(Channel { mix, full: Full::Wait, capacity }));
        }
    }
    for mix in [Mix::Plain, Mix::Close] {
        for (full, capacity) in [(Full::DropOldest, 1), (Full::DropOldest, 2), (Full::DropNewest, 1)] {
            all.push(Box::new(Channel { mix, full, capacity }));
        }
    }
    let others: [Box<dyn Subject>; 29] = [
        Box::new(Channel { mix: Mix::Closing, full: Full::Wait, capacity: 0 }),
        Box::new(Channel { mix: Mix::Closing, full: Full::Wait, capacity: 1 }),
        Box::new(Channel { mix: Mix::Kept, full: Full::Wait, capacity: 0 }),
        Box::new(Channel { mix: Mix::Default, full: Full::Wait, capacity: 2 }),
        Box::new(Channel { mix: Mix::Once, full: Full::Wait, capacity: 1 }),
        Box::new(Channel { mix: Mix::Stream, full: Full::Wait, capacity: 0 }),
        Box::new(Channel { mix: Mix::Stream, full: Full::Wait, capacity: 1 }),
        Box::new(watch::Watch),
        Box::new(broadcast::Broadcast),
        Box::new(promise::Promise),
        Box::new(mutex::Locks),
        Box::new(reentrant::Reentrant),
        Box::new(rwlock::ReadWrite),
        Box::new(semaphore::Permits { n: 1 }),
        Box::new(semaphore::Permits { n: 3 }),
        Box::new(event::Events { auto: false }),
        Box::new(event::Events { auto: true }),
        Box::new(barrier::Meeting { parties: 2 }),
        Box::new(barrier::Meeting { parties: 3 }),
        Box::new(countdown::Countdown { latch: true }),
        Box::new(countdown::Countdown { latch: false }),
        Box::new(once::Cells),
        Box::new(once::Turns),
        Box::new(condvar::Conditional),
        Box::new(condition::Notified),
        Box::new(map::Shared),
        Box::new(join::Joined),
        Box::new(token::Tokens),
        Box::new(single_flight::Flights),
    ];
    all.extend(others);
    all
}
