//! Sockets beside workers that are stuck, and after that.

use crate::common::{MODES, case};
use myriad::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

/// A spare comes while the only worker is stuck, sleeps in the reactor, and goes off duty; the
/// worker, which has come to sleep elsewhere, is to take its place.
#[test]
fn a_spare_hands_the_reactor_over_when_it_goes_off_duty() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b,
            |rt| {
                let listener = TcpListener::bind("127.0.0.1:0").unwrap();
                let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let server = rt.spawn(move || {
                    let mut stream = listener.accept().unwrap().0;
                    let mut byte = [0];
                    while stream.read(&mut byte).unwrap() > 0 {
                        stream.write_all(&byte).unwrap();
                    }
                });
                let mut ask = |byte: u8| {
                    client.write_all(&[byte]).unwrap();
                    let mut answer = [0];
                    client.read_exact(&mut answer).unwrap();
                    assert_eq!(answer, [byte]);
                };
                ask(0);
                for round in 1..=3 {
                    let stuck = rt.spawn(|| thread::sleep(Duration::from_millis(40)));
                    let waits = rt.spawn(|| ());
                    waits.join().unwrap();
                    stuck.join().unwrap();
                    // At one of these moments the spare rests.
                    for _ in 0..40 {
                        ask(round);
                        thread::sleep(Duration::from_millis(5));
                    }
                }
                drop(client);
                server.join().unwrap();
            },
        );
    }
}
