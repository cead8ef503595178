//! `pingpong` by may. Its channels are unbounded, which makes no difference to a single ball.

use may::coroutine::spawn;
use may::sync::mpsc::channel;

use super::{Ball, Match, Score};
use crate::host;
use crate::host::meeting::Meeting;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let may = host::may::start(p);
    let n = p.n;
    super::measure(p, || {
        let meeting = super::meeting(p);
        may.run(move || once(n, meeting))
    })
}

fn once(n: u64, meeting: Meeting) -> Match {
    let (ping, pings) = channel::<Ball>();
    let (pong, pongs) = channel();
    let there = meeting.clone();
    let answerer = move || {
        there.both().ok();
        while let Ok(ball) = pings.recv() {
            pong.send(ball.hit()).ok();
        }
    };
    let server = move || {
        meeting.both()?;
        let mut ball = Ball::new();
        let mut score = Score::start();
        for _ in 0..n {
            ping.send(ball).unwrap();
            ball = pongs.recv().unwrap();
            score.returned(ball);
        }
        score.end(ball, n)
    };
    // SAFETY: no thread-local value is kept, no deep calls (host/may.rs).
    unsafe { spawn(answerer) };
    // SAFETY: no thread-local value is kept, no deep calls (host/may.rs).
    let server = unsafe { spawn(server) };
    server.join().unwrap()
}
