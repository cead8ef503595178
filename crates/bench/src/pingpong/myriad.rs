//! `pingpong` by Myriad: closures that block, and futures.

use myriad::channel::bounded;
use myriad::task::{Builder, Place};
use myriad::{block_on, spawn_async};

use super::{Ball, Match, Score};
use crate::host;
use crate::host::meeting::Meeting;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn closure(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let (n, placed) = (p.n, p.form == "placed-closure");
    super::measure(p, || {
        let meeting = super::meeting(p);
        rt.run(move || closures(n, meeting, placed))
    })
}

pub(super) fn future(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || {
        let meeting = super::meeting(p);
        rt.run(move || block_on(futures(n, meeting)))
    })
}

/// `placed`: on one worker.
fn closures(n: u64, meeting: Meeting, placed: bool) -> Match {
    let place = Place::next();
    let builder = || if placed { Builder::new().place(place) } else { Builder::new() };
    let (ping, pings) = bounded::<Ball>(1);
    let (pong, pongs) = bounded(1);
    let there = meeting.clone();
    builder().spawn(move || {
        there.both().ok();
        while let Ok(ball) = pings.recv() {
            pong.send(ball.hit()).ok();
        }
    });
    let server = builder().spawn(move || {
        meeting.both()?;
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

async fn futures(n: u64, meeting: Meeting) -> Match {
    let (ping, pings) = bounded::<Ball>(1);
    let (pong, pongs) = bounded(1);
    let there = meeting.clone();
    spawn_async(async move {
        there.both().ok();
        while let Ok(ball) = pings.recv_async().await {
            pong.send_async(ball.hit()).await.ok();
        }
    });
    let server = spawn_async(async move {
        meeting.both()?;
        let mut ball = Ball::new();
        let mut score = Score::start();
        for _ in 0..n {
            ping.send_async(ball).await.unwrap();
            ball = pongs.recv_async().await.unwrap();
            score.returned(ball);
        }
        score.end(ball, n)
    });
    server.await.unwrap()
}
