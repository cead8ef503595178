//! What is known of jobs, for other programs.

use super::queue::Queue;
use super::view::JobInfo;
use crate::machine::State;
use myriad_base::json::{OrNull, Quoted};
use std::fmt::{self, Write};

impl Queue {
    /// What the queue has, and the jobs that it knows, those of the history too, as one JSON object
    /// with a line for each job:
    ///
    /// ```text
    /// {"version": 1, "cpus": {"used": 0, "all": 4}, "memory": {"used": 0, "all": 0}, "running": 0,
    ///  "jobs": [
    /// {"id": 1, "name": null | "..", "user": null | "..", "state": "pending", "because_of": null | 0,
    ///  "why": null | "..", "reason": null | "..", "priority": 0, "group": null | "..", "cpus": 0,
    ///  "memory": 0, "resources": {"..": 0}, "wall_time_ms": null | 0, "starts_in_ms": null | 0,
    ///  "attempts": 0, "retries": 0, "after": [0], "array": null | 0,
    ///  "elements": null | {"ended": 0, "all": 0}, "waited_ms": 0, "ran_ms": 0, "peak_memory": 0, "cpu_time_ms": 0}
    /// ]}
    /// ```
    /// `state` is [`State::word`]; `because_of` the job that has made this one be skipped; `why`
    /// says what a pending job waits for, `reason` why one did not end well. Memory is in bytes.
    /// The version grows when something is taken out, or means something else.
    ///
    /// It takes time and memory for each job, and the queue stands still meanwhile.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().cpus(4).start();
    /// q.submit(Job::new(|| ()).name("\"prep\"").user("ada").held())?;
    /// let json = q.to_json();
    /// assert!(json.contains(r#""id": 1, "name": "\"prep\"", "user": "ada", "state": "pending""#), "{json}");
    /// assert!(json.contains(r#""why": "held""#), "{json}");
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn to_json(&self) -> String {
        let (cpus, memory) = (self.cpus(), self.memory());
        let mut text = format!(
            "{{\"version\": 1, \"cpus\": {{\"used\": {}, \"all\": {}}}, \"memory\": {{\"used\": {}, \"all\": {}}}, \"running\": {}, \
             \"jobs\": [",
            cpus.0,
            cpus.1,
            memory.0,
            memory.1,
            self.running()
        );
        for (i, job) in self.jobs().iter().enumerate() {
            text.push_str(if i == 0 { "\n" } else { ",\n" });
            let why = match job.state {
                State::Pending => self.why(job.id).ok().flatten(),
                _ => None,
            };
            _ = job.json(&mut text, why.map(|why| why.to_string()).as_deref());
        }
        text + "\n]}\n"
    }
}

impl JobInfo {
    fn json(&self, out: &mut String, why: Option<&str>) -> fmt::Result {
        let because_of = match self.state {
            State::Skipped(by) => Some(by),
            _ => None,
        };
        let group = Some(&*self.group).filter(|group| !group.is_empty());
        let resources = self.resources.iter().map(|(name, amount)| format!("{}: {amount}", Quoted(name)));
        let resources: Vec<String> = resources.collect();
        let after: Vec<String> = self.after.iter().map(ToString::to_string).collect();
        write!(
            out,
            "{{\"id\": {}, \"name\": {}, \"user\": {}, \"state\": \"{}\", \"because_of\": {}, \"why\": {}, ",
            self.id,
            OrNull(self.name.as_deref().map(Quoted)),
            OrNull(self.user.as_deref().map(Quoted)),
            self.state.word(),
            OrNull(because_of),
            OrNull(why.map(Quoted)),
        )?;
        write!(
            out,
            "\"reason\": {}, \"priority\": {}, \"group\": {}, \"cpus\": {}, \"memory\": {}, \"resources\": {{{}}}, ",
            OrNull(self.reason.as_deref().map(Quoted)),
            self.priority,
            OrNull(group.map(Quoted)),
            self.cpus,
            self.memory,
            resources.join(", "),
        )?;
        write!(
            out,
            "\"wall_time_ms\": {}, \"starts_in_ms\": {}, \"attempts\": {}, \"retries\": {}, \"after\": [{}], \
             \"array\": {}, ",
            OrNull(self.wall_time.map(|time| time.as_millis())),
            OrNull(self.starts_in.map(|time| time.as_millis())),
            self.attempts,
            self.retries,
            after.join(", "),
            OrNull(self.array),
        )?;
        let elements = self.elements.map(|(ended, all)| format!("{{\"ended\": {ended}, \"all\": {all}}}"));
        write!(
            out,
            "\"elements\": {}, \"waited_ms\": {}, \"ran_ms\": {}, \"peak_memory\": {}, \"cpu_time_ms\": {}}}",
            OrNull(elements),
            self.waited.as_millis(),
            self.ran.as_millis(),
            self.peak_memory,
            self.cpu_time.as_millis(),
        )
    }
}
