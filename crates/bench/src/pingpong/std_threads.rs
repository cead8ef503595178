//! `pingpong` by OS threads and the channels of the standard library.

use std::sync::mpsc::sync_channel;
use std::thread::spawn;

use super::{Ball, Match, Score};
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure_threads(p, || once(p.n))
}

fn once(n: u64) -> Match {
    let (ping, pings) = sync_channel::<Ball>(1);
    let (pong, pongs) = sync_channel(1);
    spawn(move || {
        while let Ok(ball) = pings.recv() {
            pong.send(ball.hit()).ok();
        }
    });
    let server = spawn(move || {
        let mut ball = Ball::new();
        let mut score = Score::start();
        for _ in 0..n {
            ping.send(ball).unwrap();
            ball = pongs.recv().unwrap();
            score.returned(ball);
        }
        score.end(ball, n)
    });
    server.join().unwrap()
}
