//! A run for viewers of traces.

use super::trace::Trace;
use std::fmt::Write;
use std::time::Duration;

impl Trace {
    /// The trace in Chrome's format of events, which <https://ui.perfetto.dev> and
    /// `chrome://tracing` show. A body is an event with its beginning and length; each worker is a
    /// thread.
    pub fn to_perfetto(&self) -> String {
        let micros = |at: Duration| format!("{}.{:03}", at.as_micros(), at.subsec_nanos() % 1000);
        let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        let mut separator = "\n";
        for (thread, (worker, spans)) in self.rows().into_iter().enumerate() {
            let name = worker.map_or("elsewhere".to_owned(), |worker| format!("worker {worker}"));
            // (Nothing fails that writes into a string.)
            _ = write!(
                text,
                "{separator}{{\"ph\":\"M\",\"pid\":1,\"tid\":{thread},\"name\":\"thread_name\",\"args\":{{\"name\":\"{name}\"}}}}"
            );
            separator = ",\n";
            for span in spans {
                let (begin, length) = (micros(span.begin), micros(span.end - span.begin));
                let name = escaped(&span.name);
                _ = write!(
                    text,
                    ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{thread},\"ts\":{begin},\"dur\":{length},\"name\":\"{name}\"}}"
                );
            }
        }
        text.push_str("\n]}\n");
        text
    }
}

/// As the inside of a string of JSON.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out
}
