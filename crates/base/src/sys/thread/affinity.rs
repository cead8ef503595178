//! The processors that a thread may run on, as the system keeps them for each thread.

/// A set of processors: the first 1,024, as many as C's `cpu_set_t` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Affinity([usize; 1024 / usize::BITS as usize]);

impl Affinity {
    /// One processor. `None`: its number is too large.
    pub fn only(cpu: usize) -> Option<Affinity> {
        let mut set = [0; 1024 / usize::BITS as usize];
        *set.get_mut(cpu / usize::BITS as usize)? |= 1 << (cpu % usize::BITS as usize);
        Some(Affinity(set))
    }

    /// All processors of `other`, and more?
    pub fn has_more_than(&self, other: &Affinity) -> bool {
        self != other && self.0.iter().zip(other.0).all(|(mine, other)| mine & other == other)
    }

    /// That of a thread of this process, by the system's number; 0 is the calling one. `None`: not
    /// known here.
    pub fn of(thread: u32) -> Option<Affinity> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let mut set = Affinity([0; 1024 / usize::BITS as usize]);
            let (size, to) = (size_of_val(&set.0), set.0.as_mut_ptr().cast());
            // SAFETY: the kernel writes as many bytes as we say, and the set has them.
            let read = unsafe { libc::sched_getaffinity(thread as libc::pid_t, size, to) } == 0;
            read.then_some(set)
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        {
            _ = thread;
            None
        }
    }

    /// From now on that of a thread of this process, by the system's number; 0 is the calling one.
    /// False: the system refuses or cannot.
    pub fn set(&self, thread: u32) -> bool {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let (size, from) = (size_of_val(&self.0), self.0.as_ptr().cast());
            // SAFETY: the kernel reads as many bytes as we say, and the set has them.
            let set = unsafe { libc::sched_setaffinity(thread as libc::pid_t, size, from) };
            set == 0
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        {
            _ = thread;
            false
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod test {
    use super::Affinity;
    use crate::sys::thread;
    use std::sync::mpsc::channel;

    #[test]
    fn that_of_another_thread() {
        let (tell, told) = channel();
        let (end, ends) = channel::<()>();
        let other = std::thread::spawn(move || {
            tell.send(thread::id()).unwrap();
            ends.recv().unwrap_err();
            Affinity::of(0)
        });
        let number = told.recv().unwrap();
        let all = Affinity::of(number).unwrap();
        assert_eq!(Affinity::of(0), Some(all));
        let first = Affinity::only(thread::available().cpus[0]).unwrap();
        assert!(first.set(number));
        assert_eq!(Affinity::of(number), Some(first));
        assert_eq!(all.has_more_than(&first), thread::available().cpus.len() > 1);
        assert!(!first.has_more_than(&all) && !first.has_more_than(&first));
        assert_eq!(Affinity::of(0), Some(all));
        drop(end);
        assert_eq!(other.join().unwrap(), Some(first));
        assert_eq!(Affinity::only(1 << 20), None);
        assert!(!Affinity::only(1023).unwrap().set(0), "there is no such processor");
    }
}
