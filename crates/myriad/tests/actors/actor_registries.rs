//! Registries of one's own: keys of any type, one actor for a key, or several.

use crate::common::{Rng, catch, plan, quiet, wait_until};
use crate::*;
use myriad::actor::{NameError, Registry, kill};
use std::hash::{Hash, Hasher};
use std::sync::atomic::AtomicBool;

#[test]
fn a_key_has_one_actor_and_an_actor_any_number_of_keys() {
    each_runtime(|| {
        let registry = Registry::unique();
        let (a, b) = (actor::spawn(forever::<u8>), actor::spawn(forever::<u8>));
        registry.register((1, 'x'), &a).unwrap();
        registry.register((2, 'x'), &a).unwrap();
        assert_eq!(registry.register((1, 'x'), &b), Err(NameError::Taken(a.pid())));
        assert_eq!((registry.whereis(&(2, 'x')), registry.whereis(&(3, 'x'))), (Some(a.clone()), None));
        assert!(!registry.unregister(&(1, 'x'), &b) && registry.unregister(&(1, 'x'), &a));
        assert!(registry.send(&(1, 'x'), 5).is_err_and(|refused| refused.0 == 5));
        registry.register((1, 'x'), &b).unwrap();
        assert_eq!(registry.len(), 2);
        kill(&a);
        assert_eq!(end_of(&a), Reason::Killed);
        assert_eq!((registry.len(), registry.whereis(&(1, 'x'))), (1, Some(b.clone())));
        assert_eq!(registry.register((2, 'x'), &a), Err(NameError::NoProcess));
        assert_eq!(registry.len(), 1, "nothing is left of it");
        assert_eq!(format!("{registry:?}"), "Registry { keys: 1, unique: true }");
        kill(&b);
        end_of(&b);
        assert!(registry.is_empty());
    });
}

#[test]
fn a_key_for_several_has_an_actor_as_often_as_it_was_registered() {
    each_runtime(|| {
        let registry: Registry<&str, u8> = Registry::duplicate();
        let sum = Arc::new(AtomicUsize::new(0));
        let adds = || {
            let sum = sum.clone();
            actor::spawn(move |mut mail: Mailbox<u8>| {
                loop {
                    sum.fetch_add(mail.receive().into(), SeqCst);
                }
            })
        };
        let (a, b) = (adds(), adds());
        for actor in [&a, &b, &a] {
            registry.register("key", actor).unwrap();
        }
        assert_eq!(registry.send_to_all(&"key", 5), 3);
        wait_until(|| sum.load(SeqCst) == 15);
        assert!(registry.unregister(&"key", &a));
        assert_eq!(registry.members(&"key").len(), 2);
        kill(&a);
        end_of(&a);
        assert_eq!(registry.members(&"key"), vec![b.clone()]);
        kill(&b);
        end_of(&b);
        assert_eq!((registry.send_to_all(&"key", 1), registry.len()), (0, 0));
    });
}

/// A registry that has gone does not keep an actor from its end, nor the other way round.
#[test]
fn either_may_go_first() {
    each_runtime(|| {
        let actor = actor::spawn(forever::<u8>);
        let registry = Registry::unique();
        registry.register(1, &actor).unwrap();
        drop(registry);
        kill(&actor);
        assert_eq!(end_of(&actor), Reason::Killed);
    });
}

/// A key whose comparison panics when it is told to.
#[derive(Clone, Debug)]
struct Bad(u32, Arc<AtomicBool>);

impl PartialEq for Bad {
    fn eq(&self, other: &Bad) -> bool {
        if self.1.load(SeqCst) {
            plan("a comparison of keys");
        }
        self.0 == other.0
    }
}

impl Eq for Bad {}

impl Hash for Bad {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The comparison panics at the actor's end, and of whoever asks: the actor ends all the same, and
/// the key is free for the next one.
#[test]
fn keys_that_panic() {
    quiet();
    each_runtime(|| {
        let panics = Arc::new(AtomicBool::new(false));
        let key = || Bad(1, panics.clone());
        let (a, b) = (actor::spawn(forever::<u8>), actor::spawn(forever::<u8>));
        let registry = Registry::unique();
        registry.register(key(), &a).unwrap();
        panics.store(true, SeqCst);
        drop(catch(|| registry.register(key(), &b)));
        drop(catch(|| registry.whereis(&key())));
        kill(&a);
        assert_eq!(end_of(&a), Reason::Killed);
        panics.store(false, SeqCst);
        assert_eq!(registry.whereis(&key()), None);
        registry.register(key(), &b).unwrap();
        assert_eq!((registry.len(), registry.whereis(&key())), (1, Some(b.clone())));
        kill(&b);
        end_of(&b);
        assert!(registry.is_empty());
    });
}

/// Actors come, register, and end at random, by few keys: each key has at most one that is alive,
/// and none is left.
#[test]
fn many_come_and_go() {
    each(&[1, 2], |rt| {
        let registry: Registry<u64, u8> = Registry::unique();
        let lines: Vec<_> = (0..4)
            .map(|seed| {
                let registry = registry.clone();
                rt.spawn(move || {
                    let mut random = Rng(seed + 1);
                    for _ in 0..300 {
                        let actor = actor::spawn_async(async |mut mail: Mailbox<u8>| _ = mail.receive_async().await);
                        let key = random.below(3);
                        match registry.register(key, &actor) {
                            Ok(()) => {
                                let others = registry.whereis(&key);
                                assert!(others.is_some_and(|found| found == actor), "the key is ours until the end");
                                match random.below(3) {
                                    0 => assert!(registry.unregister(&key, &actor)),
                                    1 => kill(&actor),
                                    _ => actor.cast(0),
                                }
                            }
                            Err(NameError::Taken(pid)) => assert_ne!(pid, actor.pid()),
                            Err(error) => panic!("{error}"),
                        }
                        kill(&actor);
                        actor::monitor(&actor).wait();
                    }
                })
            })
            .collect();
        lines.into_iter().for_each(|line| line.join().unwrap());
        assert!(registry.is_empty(), "{registry:?}");
    });
}
