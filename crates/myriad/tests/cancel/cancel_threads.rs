//! Foreign threads that are cancelled just as they begin to wait.

use crate::common::{Rng, watch};
use myriad::cancel::Token;
use myriad::channel::bounded;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// A cancellation between two looks of the thread at its region counted as one that could not end
/// the wait: it slept for ever.
#[test]
fn as_it_begins_to_wait() {
    const ROUNDS: usize = 30_000;
    let _watch = watch("foreign threads");
    // (Where more threads want to run than there are processors a round may take milliseconds.)
    let until = Instant::now() + Duration::from_secs(10);
    let mut rng = Rng(1);
    let tokens: Vec<Token> = (0..ROUNDS).map(|_| Token::new()).collect();
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            for (round, token) in tokens.iter().enumerate() {
                while begun.load(SeqCst) <= round {
                    thread::yield_now();
                }
                let (_never, rx) = bounded::<()>(1);
                assert!(token.run(|| rx.recv()).is_err(), "nobody sends");
                ended.store(round + 1, SeqCst);
            }
        });
        for (round, token) in tokens.iter().enumerate() {
            if Instant::now() > until {
                // The rest all at once.
                tokens.iter().for_each(Token::cancel);
                begun.store(ROUNDS, SeqCst);
                break;
            }
            begun.store(round + 1, SeqCst);
            // It needs about as long to begin.
            (0..rng.below(200)).for_each(|_| std::hint::spin_loop());
            token.cancel();
            while ended.load(SeqCst) <= round {
                thread::yield_now();
            }
        }
    });
}
