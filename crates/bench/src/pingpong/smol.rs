//! `pingpong` by smol, with its own channels.

use smol::channel::bounded;

use super::{Ball, Match, Score};
use crate::host;
use crate::host::meeting::Meeting;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::smol::start(p);
    super::measure(p, || pool.run(once(p.n, super::meeting(p))))
}

async fn once(n: u64, meeting: Meeting) -> Match {
    let (ping, pings) = bounded::<Ball>(1);
    let (pong, pongs) = bounded(1);
    let there = meeting.clone();
    spawn(async move {
        there.both().ok();
        while let Ok(ball) = pings.recv().await {
            pong.send(ball.hit()).await.ok();
        }
    })
    .detach();
    let server = spawn(async move {
        meeting.both()?;
        let mut ball = Ball::new();
        let mut score = Score::start();
        for _ in 0..n {
            ping.send(ball).await.unwrap();
            ball = pongs.recv().await.unwrap();
            score.returned(ball);
        }
        score.end(ball, n)
    });
    server.await
}
