//! What a client in another process found out about a server.

use serde::{Deserialize, Serialize};

/// Of a server at work. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Served {
    /// The requests that count.
    pub requests: u64,
    /// Processor time of the server's process for each; unknown where others compute in it.
    pub cpu_seconds_per_request: Option<f64>,
    /// Half of the requests took no longer.
    pub p50: f64,
    /// 75 of 100.
    pub p75: f64,
    /// 90 of 100.
    pub p90: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1,000.
    pub p999: f64,
    /// The longest.
    pub worst: f64,
    /// Where requests have planned times: how late the client itself saw 99 of 100 at most. It is
    /// in the percentiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_late: Option<f64>,
}

/// Of a server whose clients are silent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Silent {
    /// How long.
    pub seconds: f64,
    /// How often a thread of the server ran meanwhile.
    pub wakes: u64,
    /// How long its threads ran.
    pub cpu_seconds: f64,
}
