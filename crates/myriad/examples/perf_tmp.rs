//! Instructions of: a ping-pong of closures and of futures, a contended mutex, a select.
use myriad::channel::{bounded, rendezvous};
use myriad::sync::{Event, Map, Mutex, SingleFlight};
use std::sync::Arc;
fn main() {
    let what = std::env::args().nth(1).unwrap();
    let n: u32 = std::env::args().nth(2).unwrap().parse().unwrap();
    let rt = myriad::Builder::new().workers(1).pin_workers(false);
    let rt = if std::env::var_os("THREADS").is_some() {
        rt
    } else {
        unsafe { myriad::Builder::fibers() }.workers(1).pin_workers(false)
    };
    let rt = rt.build().unwrap();
    rt.run(|| match what.as_str() {
        "closures" => {
            let ((a, b), (c, d)) = (bounded(1), bounded(1));
            let t = myriad::spawn(move || {
                while let Ok(i) = b.recv() {
                    c.send(i).unwrap()
                }
            });
            for i in 0..n {
                a.send(i).unwrap();
                assert_eq!(d.recv(), Ok(i));
            }
            drop(a);
            t.join().unwrap();
        }
        "rendezvous" => {
            let (a, b) = rendezvous();
            let t = myriad::spawn(move || while b.recv().is_ok() {});
            for i in 0..n {
                a.send(i).unwrap();
            }
            drop(a);
            t.join().unwrap();
        }
        "futures" => {
            let ((a, b), (c, d)) = (bounded(1), bounded(1));
            let t = myriad::spawn_async(async move {
                while let Ok(i) = b.recv_async().await {
                    c.send_async(i).await.unwrap()
                }
            });
            let u = myriad::spawn_async(async move {
                for i in 0..n {
                    a.send_async(i).await.unwrap();
                    assert_eq!(d.recv_async().await, Ok(i));
                }
            });
            u.join().unwrap();
            t.join().unwrap();
        }
        "mutex" => {
            let m = Arc::new(Mutex::new(0));
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let m = m.clone();
                    myriad::spawn(move || {
                        for _ in 0..n / 4 {
                            let mut g = m.lock().unwrap();
                            *g += 1;
                            myriad::yield_now();
                            drop(g);
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|t| t.join().unwrap());
        }
        "mutex_async" => {
            let m = Arc::new(Mutex::new(0));
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let m = m.clone();
                    myriad::spawn_async(async move {
                        for _ in 0..n / 4 {
                            let mut g = m.lock_async().await.unwrap();
                            *g += 1;
                            yield_once().await;
                            drop(g);
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|t| t.join().unwrap());
        }
        "select" => {
            let ((a, b), (c, d), (_x, y)) = (bounded(1), bounded(1), bounded::<u32>(1));
            let t = myriad::spawn(move || {
                while let Ok(i) = b.recv() {
                    c.send(i).unwrap()
                }
            });
            for i in 0..n {
                a.send(i).unwrap();
                myriad::select! { r = d.recv() => { assert_eq!(r, Ok(i)); }, _ = y.recv() => unreachable!(), }
            }
            drop(a);
            t.join().unwrap();
        }
        "select_async" => {
            use myriad::select::{Order, wait_async};
            let ((a, b), (c, d)) = (bounded(1), bounded(1));
            let t = myriad::spawn_async(async move {
                while let Ok(i) = b.recv_async().await {
                    c.send_async(i).await.unwrap()
                }
            });
            let u = myriad::spawn_async(async move {
                let (_x, y) = bounded::<u32>(1);
                for i in 0..n {
                    a.send_async(i).await.unwrap();
                    _ = wait_async(Order::Biased, (d.recv_arm(), y.recv_arm())).await;
                }
            });
            u.join().unwrap();
            t.join().unwrap();
        }
        "event" => {
            let e = Arc::new((Event::auto_reset(), Event::auto_reset()));
            let f = e.clone();
            let t = myriad::spawn(move || {
                for _ in 0..n {
                    f.0.wait();
                    f.1.set();
                }
            });
            for _ in 0..n {
                e.0.set();
                e.1.wait();
            }
            t.join().unwrap();
        }
        "notify_all" => {
            let e = Arc::new((Event::new(), Event::new()));
            let f = e.clone();
            let t = myriad::spawn(move || {
                for _ in 0..n {
                    f.0.wait();
                    f.0.reset();
                    f.1.set();
                }
            });
            for _ in 0..n {
                e.0.set();
                e.1.wait();
                e.1.reset();
            }
            t.join().unwrap();
        }
        "flight" => {
            let f = SingleFlight::new();
            for i in 0..n {
                f.run(i % 100, || i);
            }
        }
        "map" => {
            let m = Map::new();
            for i in 0..n {
                m.insert(i % 100, i);
                m.get(&(i % 50));
                if i % 7 == 0 {
                    m.remove(&(i % 100));
                }
            }
        }
        _ => panic!(),
    });
}
async fn yield_once() {
    let mut y = false;
    std::future::poll_fn(move |cx| {
        if y {
            std::task::Poll::Ready(())
        } else {
            y = true;
            cx.waker().wake_by_ref();
            std::task::Poll::Pending
        }
    })
    .await
}
