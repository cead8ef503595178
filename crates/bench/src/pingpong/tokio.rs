//! `pingpong` by tokio, with its own channels.

use tokio::spawn;
use tokio::sync::mpsc::channel;

use super::{Ball, Match, Score};
use crate::host;
use crate::host::meeting::Meeting;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, || rt.run(once(p.n, super::meeting(p))))
}

async fn once(n: u64, meeting: Meeting) -> Match {
    let (ping, mut pings) = channel::<Ball>(1);
    let (pong, mut pongs) = channel(1);
    let there = meeting.clone();
    spawn(async move {
        there.both().ok();
        while let Some(ball) = pings.recv().await {
            pong.send(ball.hit()).await.ok();
        }
    });
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
    server.await.unwrap()
}
