//! Groups: any number of actors under one name.

use crate::address::Address;
use crate::life::{AtEnd, number};
use crate::link::NoProcess;
use crate::pid::{AsPid, Pid};
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

struct Member {
    pid: Pid,
    /// Its `Address<M>`.
    address: Arc<dyn Any + Send + Sync>,
    /// The number of what takes this out at the actor's end.
    at_end: u64,
}

type Groups = HashMap<Arc<str>, Vec<Member>>;

/// As the table of names: taken before the lock of a life.
fn groups() -> MutexGuard<'static, Groups> {
    static GROUPS: LazyLock<Mutex<Groups>> = LazyLock::new(Mutex::default);
    GROUPS.lock()
}

/// Puts an actor into a group, until it ends or [leaves](leave_group). One that joins twice is
/// there twice.
///
/// # Blocking
/// Never.
///
/// # Errors
/// The actor has ended, or is ending.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox};
/// let (tx, rx) = myriad::channel::unbounded();
/// for _ in 0..3 {
///     let tx = tx.clone();
///     let room = actor::spawn(move |mut mail: Mailbox<&str>| tx.send(mail.receive()));
///     actor::join_group("doc-room", &room).unwrap();
/// }
/// assert_eq!(actor::send_to_group("doc-room", "hello"), 3);
/// assert_eq!((0..3).map(|_| rx.recv().unwrap()).collect::<String>(), "hellohellohello");
/// ```
pub fn join_group<M: Send + 'static>(group: &str, actor: &Address<M>) -> Result<(), NoProcess> {
    let (group, pid): (Arc<str>, Pid) = (Arc::from(group), actor.pid());
    let member = Member { pid: pid.clone(), address: Arc::new(actor.clone()), at_end: number() };
    let (at_end, left) = (member.at_end, group.clone());
    let mut table = groups();
    let left =
        AtEnd { id: at_end, group: Some(left.clone()), leave: Box::new(move |pid: &Pid| drop(take(&left, pid))) };
    let given = pid.life().extra(false, |extra| extra.at_end.push(left));
    given.ok_or(NoProcess)?;
    table.entry(group).or_default().push(member);
    Ok(())
}

/// Takes one membership of this actor out.
fn take(group: &str, pid: &Pid) -> Option<Member> {
    let mut table = groups();
    let members = table.get_mut(group)?;
    let at = members.iter().position(|member| member.pid == *pid)?;
    let member = members.swap_remove(at);
    if members.is_empty() {
        table.remove(group);
    }
    Some(member)
}

/// Takes an actor out of a group: one of its memberships, if it has several. False: it is not
/// there.
///
/// # Complexity
/// In the number of members.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox};
/// let forever = |mut mail: Mailbox<u32>| loop { mail.receive(); };
/// let (a, b) = (actor::spawn(forever), actor::spawn(forever));
/// actor::join_group("doc-pair", &a).unwrap();
/// actor::join_group("doc-pair", &b).unwrap();
/// assert!(actor::leave_group("doc-pair", &a));
/// assert_eq!(actor::group_members::<u32>("doc-pair"), [b]);
/// ```
pub fn leave_group(group: &str, actor: &impl AsPid) -> bool {
    let pid = actor.pid();
    let Some(member) = take(group, &pid) else { return false };
    let left = pid.life().with_extra(|extra| {
        extra.at_end.iter().position(|at_end| at_end.id == member.at_end).map(|at| extra.at_end.swap_remove(at))
    });
    drop(left);
    true
}

/// The members of a group whose messages are of this type, in no order. Example: [`leave_group`].
pub fn group_members<M: Send + 'static>(group: &str) -> Vec<Address<M>> {
    let table = groups();
    let members = table.get(group).map_or(&[][..], Vec::as_slice);
    members.iter().filter_map(|member| member.address.downcast_ref::<Address<M>>().cloned()).collect()
}

/// Sends a copy to each member of a group whose messages are of this type, and does not wait: see
/// [`Address::cast`]. To how many it was. Example: [`join_group`].
pub fn send_to_group<M: Clone + Send + 'static>(group: &str, message: M) -> usize {
    let members = group_members::<M>(group);
    members.iter().for_each(|member| member.cast(message.clone()));
    members.len()
}
