//! Prints: job 5 was named as the first, and began first
//!
//! Ten jobs that wait, each for another reason; what `why` says of them, and in which order they
//! began when what they waited for had come. (A job that is held is released in the end.)

use myriad::jobs::{Event, Job, Local, Waiting};
use myriad::sync::{Event as Signal, Mutex};
use std::sync::Arc;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // One worker that begins the oldest task first: so jobs that start together begin in order.
    let rt = myriad::Builder::new().workers(1).policy(myriad::Policy::SharedQueue).build()?;
    rt.run(waits)
}

fn waits() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let begun = Arc::new(Mutex::new(Vec::new()));
    let noted = begun.clone();
    let note = move |event: &Event| {
        if let Event::Started { id, .. } = event {
            noted.lock().unwrap().push(id.as_u64());
        }
    };
    let q = Local::new().cpus(6).resource("gpu", 1).group("net", 1).keep_unnamed().on_event(note).start();

    // One runs, and has the gpu, half of the processors and the only place of its group.
    let (runs, open) = (Arc::new(Signal::new()), Arc::new(Signal::new()));
    let (is_running, is_open) = (runs.clone(), open.clone());
    let first = Job::new(move || {
        is_running.set();
        is_open.wait();
    });
    q.submit(first.cpus(2).resource("gpu", 1).group("net"))?;
    runs.wait();

    let job = || Job::new(|| ());
    let held = q.submit(job().held())?; // 2
    let mut all = vec![q.submit(job().after(&held))?]; // 3
    all.push(q.submit(job().delay(Duration::from_millis(80)))?); // 4
    all.push(q.submit(job().resource("gpu", 1).priority(5))?); // 5
    all.push(q.submit(job().group("net"))?); // 6
    let many = q.submit(job().cpus(6).priority(-9).held())?; // 7
    q.set_cpus(4);
    q.release(&many)?;
    all.push(many);
    all.push(q.submit(job().cpus(4))?); // 8
    all.push(q.submit(job().cpus(3))?); // 9
    all.push(q.submit(Job::array(2, |_| ()).cpus(3))?); // 10, with 11 and 12
    all.push(q.submit(job().cpus(3).priority(-1))?); // 13
    all.insert(0, held);

    let said: Vec<_> = all.iter().map(|job| (job.id(), job.why())).collect();
    let named = said.iter().find_map(|(_, why)| match why {
        Some(Waiting::Behind { first }) => Some(*first),
        _ => None,
    });
    open.set();
    all[3].wait();
    q.set_cpus(6);
    all[0].release()?;
    q.wait_all();

    let begun = begun.lock().unwrap().clone();
    println!("{:>3}  {:<62}  began as", "job", "why it waited");
    for (id, why) in &said {
        // (Of an array its first element.)
        let place = (0..2).find_map(|more| begun.iter().position(|other| *other == id.as_u64() + more));
        let why = why.as_ref().map_or(String::new(), |why| why.to_string());
        println!("{:>3}  {why:<62}  {}", id.as_u64(), place.map_or(0, |place| place));
    }
    let named = named.ok_or("some wait behind another")?;
    let next = begun.iter().find(|id| **id > 1).ok_or("they have begun")?;
    assert_eq!(named.as_u64(), *next);
    println!("job {named} was named as the first, and began first");
    Ok(())
}
