//! Names are looked up by the system's resolver, on threads for calls that hold up their thread.

use super::error::operation;
use myriad_base::sys::fact::Fact;
use myriad_base::sys::fork;
use myriad_core::blocking_async;
use myriad_sync::lock::Semaphore;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// So many look-ups of tasks at a time: a resolver that does not answer, of which each holds up a
/// thread for half a minute, leaves threads for other calls.
const MOST: usize = 64;

/// Those of one process: a child of a fork has nobody who would give its parent's permits back.
struct Places {
    era: u32,
    free: Semaphore,
}

fn places() -> &'static Semaphore {
    static PLACES: Fact<Places> = Fact::new();
    let era = fork::era();
    let places = PLACES.get_if(|places| places.era == era, || Places { era, free: Semaphore::new(MOST) });
    &places.free
}

/// For a task: its worker is not held up. A future that is dropped leaves the thread to its call.
pub(super) async fn resolve_async(name: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    in_turn(move || resolve(&name, port)).await
}

async fn in_turn<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    // (Forks are seen from here on.)
    fork::watch();
    let place = places().acquire_async().await;
    blocking_async(move || {
        let _place = place;
        call()
    })
    .await
}

/// The addresses of this name, with this port; the thread waits for them.
pub(super) fn resolve(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = (name, port).to_socket_addrs().map(Vec::from_iter);
    let none = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let found = found.and_then(|found| if found.is_empty() { Err(none()) } else { Ok(found) });
    found.map_err(|reason| operation("look up", Some(name), reason))
}

#[cfg(test)]
mod test {
    use super::*;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex};

    /// More look-ups than places, of which no resolver answers any: no more than that many threads
    /// wait, other calls go on, and those whose future was dropped leave their places.
    #[test]
    fn a_dead_resolver_leaves_threads_for_others() {
        myriad::Builder::new().workers(2).build().unwrap().run(|| {
            let (began, begins) = channel();
            let (answer, answers) = channel::<()>();
            let answers = Arc::new(Mutex::new(answers));
            let look_up = || {
                let (began, answers) = (began.clone(), answers.clone());
                in_turn(move || {
                    began.send(()).unwrap();
                    _ = answers.lock().unwrap().recv();
                })
            };
            let tasks: Vec<_> = (0..MOST + 10).map(|_| myriad::spawn_async(look_up())).collect();
            (0..MOST).for_each(|_| begins.recv().unwrap());
            assert_eq!(myriad::blocking(|| 7), 7);
            assert!(begins.try_recv().is_err(), "{MOST} are in the resolver already");
            let (given_up, waits): (Vec<_>, Vec<_>) = tasks.into_iter().enumerate().partition(|(i, _)| i % 2 == 0);
            given_up.iter().for_each(|(_, task)| task.cancel());
            // Each answer lets the next begin.
            drop(answer);
            waits.into_iter().for_each(|(_, task)| task.join().unwrap());
            drop(given_up);
        });
        // All places come back, when the last call has ended.
        while places().available() < MOST {
            std::thread::yield_now();
        }
    }
}
