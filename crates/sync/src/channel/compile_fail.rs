//! What must not compile.
//!
//! An end of a channel whose messages may not change threads stays on its thread:
//! ```compile_fail,E0277
//! let (tx, _rx) = myriad::channel::unbounded::<std::rc::Rc<u8>>();
//! std::thread::spawn(move || drop(tx));
//! ```
//! ```compile_fail,E0277
//! let (_tx, rx) = myriad::channel::bounded::<*const u8>(1);
//! myriad::spawn(move || drop(rx));
//! ```
//! So do its futures:
//! ```compile_fail,E0277
//! fn must_be_send<T: Send>(_: T) {}
//! let (tx, _rx) = myriad::channel::unbounded();
//! must_be_send(tx.send_async(std::rc::Rc::new(1)));
//! ```
//! ```compile_fail,E0277
//! fn must_be_send<T: Send>(_: T) {}
//! let (_tx, rx) = myriad::channel::unbounded::<std::sync::MutexGuard<'static, u8>>();
//! must_be_send(rx.recv_async());
//! ```
//! A future does not outlive the end that made it:
//! ```compile_fail,E0505
//! let (tx, rx) = myriad::channel::bounded::<u8>(1);
//! let future = rx.recv_async();
//! drop(rx);
//! myriad::block_on(future);
//! ```
//! and is not moved once it was polled, so it must be pinned:
//! ```compile_fail,E0277
//! use std::pin::Pin;
//! let (tx, rx) = myriad::channel::bounded::<u8>(1);
//! let mut future = rx.recv_async();
//! Pin::new(&mut future);
//! ```
//! A message does not outlive what it borrows:
//! ```compile_fail,E0597
//! let (tx, rx) = myriad::channel::unbounded();
//! {
//!     let text = String::from("short");
//!     tx.send(text.as_str()).unwrap();
//! }
//! println!("{:?}", rx.recv());
//! ```
//! not even by a sender that was made for shorter ones:
//! ```compile_fail
//! use myriad::channel::Sender;
//! fn shorter<'long: 'short, 'short>(tx: Sender<&'long str>) -> Sender<&'short str> {
//!     tx
//! }
//! ```
//! Nor do the arms of a select, so a future of a select has them in itself:
//! ```compile_fail,E0277
//! use myriad::select::{Order, wait_async};
//! let (_tx, rx) = myriad::channel::bounded::<u8>(1);
//! let mut arms = (rx.recv_arm(),);
//! let future = Box::pin(wait_async(Order::Fair, &mut arms));
//! std::mem::forget(future);
//! let _moved = arms;
//! ```
//! A message that a select was to send is gone, unless it was lent:
//! ```compile_fail,E0382
//! let (tx, _rx) = myriad::channel::bounded::<String>(1);
//! let message = String::new();
//! myriad::select! { _ = tx.send(message) => (), default => println!("{message}") }
//! ```
