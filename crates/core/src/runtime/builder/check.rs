//! What a builder was told, looked through: settings that can be used, or an error that says what
//! is allowed.

use super::{Builder, LEAST_FIBER, LEAST_THREAD, MOST_STACK, MOST_WORKERS, THREAD_STACK};
use crate::queue::policy::scheduler::{Hosted, Places, PoolInfo};
use crate::queue::policy::{Policy, UnknownPolicy};
use crate::runtime::pools;
use crate::sched::pool::{Config, MOST_SPARES};
use crate::sched::rescue::stuck::OnStuck;
use crate::sched::worker;
use myriad_base::stack::FIBERS_SUPPORTED;
use myriad_base::stack::pool::{DEFAULT_STACK, limit_from_environment};
use myriad_base::sys::thread::{self, Cores, Topology};
use std::io;
use std::sync::Arc;

impl Builder {
    /// The settings of the main workers.
    pub(super) fn check(&self) -> io::Result<Config> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let workers = self.workers.unwrap_or_else(|| cores().workers);
        if workers == 0 {
            return invalid("a runtime needs at least 1 worker; leave `workers` out for one on each core".into());
        }
        if workers > MOST_WORKERS {
            return invalid(format!(
                "{workers} workers are too many; the most is {MOST_WORKERS}, one on each core is best"
            ));
        }
        if self.fibers && !FIBERS_SUPPORTED {
            let text = "fiber mode is not supported on this platform; use `Builder::new()` (threads mode)";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let asked = self.stack_size.unwrap_or(if self.fibers { DEFAULT_STACK } else { THREAD_STACK });
        let least = if self.fibers { LEAST_FIBER } else { LEAST_THREAD };
        if asked < least {
            return invalid(format!("a stack of {asked} bytes is too small; the least is {least}"));
        }
        if asked > MOST_STACK {
            return invalid(format!("a stack of {asked} bytes is too large; the most is {MOST_STACK}"));
        }
        if self.max_stacks < 2 {
            return invalid("`max_stacks` must be at least 2: one to run on, one that waits".into());
        }
        let mut cpus = cores().cpus;
        let roam = worker::current().is_some().then(|| cpus.clone());
        let cpus = (self.pin && cpus.len() == workers).then(|| std::mem::take(&mut cpus));
        let places = self.places(workers, cpus.as_deref())?;
        if self.spares > MOST_SPARES {
            return invalid(format!("{} spare workers are too many; the most is {MOST_SPARES}", self.spares));
        }
        if self.name.contains('\0') {
            return invalid("a name cannot contain a zero byte: the system's names of threads end there".into());
        }
        Ok(Config {
            workers,
            fibers: self.fibers,
            stack_size: asked.next_power_of_two(),
            max_stacks: self.max_stacks.min(limit_from_environment()),
            name: self.name.clone(),
            cpus,
            roam,
            unhandled: self.unhandled.clone(),
            manual_clock: self.manual_clock,
            spares: self.spares,
            stuck: self.stuck.clone().unwrap_or_else(OnStuck::from_environment),
            threads: self.threads.clone(),
            latency: self.latency,
            scheduler: self.make_scheduler(pools::DEFAULT.into(), workers, places.clone()),
            nearest_first: places.and_then(|places| places.topology.nearest_first(&places.cpus)),
            policy: match self.policy {
                Some(Policy::Custom) if self.scheduler.is_none() => {
                    return invalid(
                        "`Policy::Custom` needs a scheduler: say `scheduler(..)` instead of `policy(..)`".into(),
                    );
                }
                Some(policy) => policy,
                None => {
                    policy_from_environment().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?
                }
            },
        })
    }
}

/// What `MYRIAD_POLICY` names; the default if it is not set, or empty.
fn policy_from_environment() -> Result<Policy, String> {
    let name = std::env::var_os("MYRIAD_POLICY").unwrap_or_default();
    match name.to_string_lossy().as_ref() {
        "" => Ok(Policy::default()),
        name => name.parse().map_err(|error: UnknownPolicy| format!("MYRIAD_POLICY: {error}")),
    }
}

impl Builder {
    /// The processors of the main workers, if it is known on which each runs, and how far these are
    /// from each other.
    fn places(&self, workers: usize, pinned: Option<&[usize]>) -> io::Result<Option<Arc<Places>>> {
        let Some(topology) = &self.topology else {
            // Of two workers each has one other. (The system is asked once in a process.)
            let pinned = pinned.filter(|cpus| cpus.len() > 2 || self.scheduler.is_some());
            let places = |cpus: &[usize]| Places { cpus: cpus.to_vec(), topology: Topology::of_machine().clone() };
            return Ok(pinned.map(|cpus| Arc::new(places(cpus))));
        };
        if topology.cpus().len() == 0 {
            let text = "a topology needs at least 1 processor; leave `topology` out for that of the machine";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let cpus: Vec<usize> = topology.cpus().collect();
        let cpus = cpus.iter().copied().cycle().take(workers).collect();
        Ok(Some(Arc::new(Places { cpus, topology: topology.clone() })))
    }

    /// The scheduler of a pool, if it has one of the program's own.
    fn make_scheduler(&self, name: Arc<str>, workers: usize, places: Option<Arc<Places>>) -> Option<Arc<Hosted>> {
        let make = self.scheduler.as_ref()?;
        let pool = PoolInfo { name, workers, places };
        Some(Arc::new(Hosted { scheduler: (make.0)(&pool), pool }))
    }

    /// The settings of all pools, the default one's first.
    pub(super) fn check_pools(&self, main: Config) -> io::Result<Vec<(Arc<str>, Config)>> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        let mut all: Vec<(Arc<str>, Config)> = vec![(pools::DEFAULT.into(), main)];
        for (name, workers) in &self.pools {
            if name.is_empty() || name.contains('\0') {
                return invalid(format!("a pool needs a name without zero bytes, not {name:?}: its threads have it"));
            }
            if name == pools::DEFAULT {
                return invalid("the pool 'default' is that of the main workers: say `workers(n)` for it".into());
            }
            if all.iter().any(|pool| *pool.0 == **name) {
                return invalid(format!("there are two pools '{name}': name each once"));
            }
            if *workers == 0 {
                return invalid(format!(
                    "the pool '{name}' needs at least 1 worker: tasks that are spawned there would wait for ever"
                ));
            }
            if *workers > MOST_WORKERS {
                return invalid(format!(
                    "{workers} workers in the pool '{name}' are too many; the most is {MOST_WORKERS}"
                ));
            }
            let main = &all[0].1;
            let config = Config {
                workers: *workers,
                name: format!("{}-{name}", main.name),
                // If the main ones are pinned, whoever starts the threads (a runtime in a task) may
                // be pinned too.
                roam: main.roam.clone(),
                cpus: None,
                scheduler: self.make_scheduler(name.as_str().into(), *workers, None),
                nearest_first: None,
                ..main.clone()
            };
            all.push((name.as_str().into(), config));
        }
        Ok(all)
    }
}

/// What the process may use, as it was at the first question: later the asking thread may be a
/// pinned worker, which sees one core.
fn cores() -> Cores {
    if worker::current().is_some() { thread::processors().clone() } else { thread::processors_now() }
}
