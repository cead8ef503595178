//! Prints: 10 jobs: 7 done, 2 failed, 1 skipped
//!
//! What a machine does at night, as jobs: an import, six shards that need its end and share three
//! processors, a report that fails, what depends on the report, and a program with a time limit.
//! Standard error shows how far they are; then come a table, a chart, and the same chart as a
//! picture (`cargo run -p myriad-rt --features jobs --example nightly_jobs jobs.svg`).

use myriad::jobs::{Job, Local};
use myriad::time::sleep;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let q = Local::new().cpus(3).keep_unnamed().start();

    let import = q.submit(Job::new(|| sleep(Duration::from_millis(60))).name("import"))?;
    for shard in 0..6 {
        let work = move || sleep(Duration::from_millis(40 + 20 * shard));
        // The longest begins first.
        q.submit(Job::new(work).name(format!("shard {shard}")).priority(shard as i32).after(&import))?;
    }
    let report = q.submit(Job::fallible(|| Err::<(), _>("no figures")).name("report").after(&import))?;
    q.submit(Job::new(|| ()).name("mail the report").after(&report))?;
    let backup = Job::command(["sleep", "10"]).name("backup").wall_time(Duration::from_millis(150));
    q.submit(backup)?;

    q.wait_all_shown();
    println!("{}\n{}", q.table(), q.gantt(60));
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(&file, q.gantt_svg())?;
    }
    let now = q.progress();
    println!("{} jobs: {} done, {} failed, {} skipped", now.all(), now.done, now.failed, now.cancelled);
    Ok(())
}
