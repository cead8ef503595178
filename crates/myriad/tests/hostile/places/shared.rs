//! Keys and values of maps, objects of pools.

use crate::behaviours::{Value, When};
use crate::cell::{Cx, Seen};
use myriad::sync::{Arc, Map, Pool};

/// A map of one key with such a value, which `Again` uses.
fn map_of(cx: &Cx) -> Arc<Map<u32, Value>> {
    let map = Arc::new(Map::new());
    map.insert(1, cx.value());
    let weak = Arc::downgrade(&map);
    cx.foe.on_again(move || {
        if let Some(map) = weak.upgrade() {
            _ = (map.len(), map.contains_key(&2), map.get(&1).is_some(), map.remove(&3).is_none());
        }
    });
    map
}

/// A value that is replaced.
pub(crate) fn map_replaced(cx: &Cx) -> Seen {
    let (map, wait) = (map_of(cx), cx.last_sender());
    let seen = Seen::of(|| drop(map.insert(1, cx.value())));
    wait();
    seen
}

/// A value that is removed.
pub(crate) fn map_removed(cx: &Cx) -> Seen {
    let (map, wait) = (map_of(cx), cx.last_sender());
    let seen = Seen::of(|| drop(map.remove(&1)));
    wait();
    seen
}

/// Values that are cleared away.
pub(crate) fn map_cleared(cx: &Cx) -> Seen {
    let (map, wait) = (map_of(cx), cx.last_sender());
    let seen = Seen::of(|| map.clear());
    assert!(map.is_empty() || seen != Seen::Well);
    wait();
    seen
}

/// A map goes with its values.
pub(crate) fn map_dropped(cx: &Cx) -> Seen {
    let (map, wait) = (map_of(cx), cx.last_sender());
    let seen = Seen::of(|| drop(map));
    wait();
    seen
}

/// A value that is there already: the new one is dropped.
pub(crate) fn map_refused(cx: &Cx) -> Seen {
    let (map, wait) = (map_of(cx), cx.last_sender());
    let seen = Seen::of(|| drop(map.get_or_insert(1, cx.value())));
    wait();
    seen
}

/// Keys of a map go with their entries.
pub(crate) fn map_keys(cx: &Cx) -> Seen {
    let (map, wait) = (Arc::new(Map::new()), cx.last_sender());
    let other = Arc::downgrade(&map);
    cx.foe.on_again(move || _ = other.upgrade().map(|map: Arc<Map<Value, u32>>| (map.len(), map.is_empty())));
    let seen = Seen::of(|| {
        for i in 0..3 {
            // One at a time: where one of several panics, std's own map leaks the others.
            map.insert(cx.value_when(When::Drop, i), 0);
            map.clear();
        }
    });
    wait();
    seen
}

/// A comparison of keys, which runs under the lock of its part.
pub(crate) fn map_compares(cx: &Cx) -> Seen {
    let (map, wait) = (Arc::new(Map::new()), cx.last_sender());
    let other = Arc::new(Map::new());
    cx.foe.on_again(move || _ = other.insert(1, 1));
    map.insert(cx.value_when(When::Compare, 1), 0);
    let seen = Seen::of(|| assert!(map.contains_key(&cx.value_when(When::Clone, 1))));
    assert_eq!(map.len(), 1);
    wait();
    seen
}

/// A hash of a key.
pub(crate) fn map_hashes(cx: &Cx) -> Seen {
    let (map, wait) = (Arc::new(Map::new()), cx.last_sender());
    let other = Arc::downgrade(&map);
    cx.foe.on_again(move || _ = other.upgrade().map(|map: Arc<Map<Value, u32>>| map.len()));
    let seen = Seen::of(|| _ = map.insert(cx.value_when(When::Hash, 1), 0));
    wait();
    seen
}

/// A function that makes a value.
pub(crate) fn map_makes(cx: &Cx) -> Seen {
    let (map, wait) = (Arc::new(Map::new()), cx.last_sender());
    let other = map.clone();
    cx.foe.on_again(move || _ = other.insert(1, 1));
    let seen = Seen::of(|| {
        map.get_or_insert_with(1, || {
            cx.act();
            1
        })
    });
    wait();
    seen
}

/// A function that makes an object.
pub(crate) fn pool_makes(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let pool = Arc::new(Pool::new(move || {
        inner.act();
        5
    }));
    let other = Arc::downgrade(&pool);
    cx.foe.on_again(move || _ = other.upgrade().map(|pool| pool.try_get().is_none()));
    let seen = Seen::of(|| assert_eq!(*pool.get(), 5));
    wait();
    seen
}

/// A question whether an object is kept.
pub(crate) fn pool_returns(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let pool = Arc::new(Pool::new(|| 5).on_return(move |_| {
        inner.act();
        true
    }));
    let other = Arc::downgrade(&pool);
    cx.foe.on_again(move || _ = other.upgrade().map(|pool| (pool.try_get().is_none(), pool.len())));
    let seen = Seen::of(|| drop(pool.get()));
    wait();
    seen
}

/// An object that is not kept.
pub(crate) fn pool_refuses(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let inner = cx.clone();
    let pool = Arc::new(Pool::new(move || inner.value()).on_return(|_| false));
    let other = Arc::downgrade(&pool);
    cx.foe.on_again(move || _ = other.upgrade().map(|pool| (pool.try_get().is_none(), pool.len())));
    let seen = Seen::of(|| drop(pool.get()));
    wait();
    seen
}

/// Objects that are cleared away.
pub(crate) fn pool_cleared(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let pool = Arc::new(Pool::new(|| unreachable!()));
    (0..3).for_each(|_| pool.put(cx.value()));
    let other = Arc::downgrade(&pool);
    cx.foe.on_again(move || _ = other.upgrade().map(|pool: Arc<Pool<Value>>| (pool.try_get().is_none(), pool.len())));
    let seen = Seen::of(|| pool.clear());
    wait();
    seen
}
