//! OS threads and processors: how many, which, how their stacks lie.
//!
//! [`cores`] finds out what the process may use, [`Topology`] which processors are near each other.
//! Nothing here keeps state.

mod affinity;
pub mod cores;
mod topology;
pub mod waits;

pub use affinity::Affinity;
pub use cores::{Cores, available, processors, processors_now};
pub use topology::{Distance, Topology};

use super::say::say;
use std::ops::Range;
use std::thread::JoinHandle;

/// Says what has gone wrong where going on would corrupt memory, and aborts.
#[cold]
pub fn abort_with(message: &str) -> ! {
    say!("myriad: fatal: {message}");
    std::process::abort()
}

/// A number that no other thread has as long as this one lives; never 0. One instruction.
#[inline(always)]
pub fn here() -> usize {
    #[cfg(loom)]
    return super::atomic::me() + 1;
    #[cfg(not(loom))]
    {
        thread_local!(static PLACE: u8 = const { 0 });
        // (Nothing is dropped at a thread's end, so it is there always.)
        PLACE.with(|place| std::ptr::from_ref(place).addr())
    }
}

/// Lets another thread run.
pub fn yield_now() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// In a loop that waits for another processor: lets this one rest for a moment (4 to 45 ns, so
/// count time, not turns).
#[inline(always)]
pub fn relax() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// The processor that the calling thread is on, which may be another one at once. `None`: not known
/// here.
pub fn processor() -> Option<usize> {
    #[cfg(target_os = "linux")]
    // SAFETY: takes no pointers.
    return usize::try_from(unsafe { libc::sched_getcpu() }).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Asks for this memory, which another processor has used last, to be written here, so that its
/// cache lines arrive side by side and not one after another. A hint.
pub fn prefetch(at: *const u8, bytes: usize) {
    const LINE: usize = 64;
    for offset in (0..bytes).step_by(LINE) {
        let at = at.wrapping_add(offset);
        // SAFETY: a prefetch changes nothing that the program sees, and ignores an address that is
        // not there. (Old processors of Intel do nothing.) Not `_mm_prefetch`, which the compiler
        // makes a prefetch for reading where the processor is not known.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }
}

/// Keeps the calling thread on one processor. False if the system refuses or cannot.
pub fn pin_to_cpu(cpu: usize) -> bool {
    unpin(&[cpu])
}

/// Lets the calling thread run on these processors. False if the system refuses or cannot.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn unpin(cpus: &[usize]) -> bool {
    let Some(&last) = cpus.iter().max() else { return false };
    // (For as many processors as C's `cpu_set_t` has.)
    let mut few = [0 as libc::c_ulong; 1024 / cores::BITS];
    let mut many = Vec::new();
    let words = last / cores::BITS + 1;
    let mask = if words <= few.len() {
        &mut few[..]
    } else {
        many.resize(words, 0);
        &mut many[..]
    };
    for cpu in cpus {
        mask[cpu / cores::BITS] |= 1 << (cpu % cores::BITS);
    }
    // To ask costs a third of setting. A thread has what the thread had that started it.
    let mut now = [0 as libc::c_ulong; 1024 / cores::BITS];
    // SAFETY: the kernel writes as many bytes as we say, and the mask has them.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&now), now.as_mut_ptr().cast()) == 0 };
    if known && now == *mask {
        return true;
    }
    // SAFETY: the kernel reads as many bytes as we say, and the mask has them.
    unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) == 0 }
}
/// Lets the calling thread run on these processors. False if the system refuses or cannot.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn unpin(_cpus: &[usize]) -> bool {
    false
}

/// The system's number of the calling thread; 0 where it has none.
pub fn id() -> u32 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: takes no pointers.
    return unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    0
}

/// Does this thread of the process wait in the system (and not run, nor wait for a processor)?
/// `None`: the system does not say, or there is no such thread. Some 10 µs.
pub fn is_blocked(id: u32) -> Option<bool> {
    if cfg!(not(any(target_os = "linux", target_os = "android"))) {
        return None;
    }
    let stat = std::fs::read(format!("/proc/self/task/{id}/stat")).ok()?;
    // "12 (a name, perhaps with brackets) S ...".
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    Some(*stat.get(end + 2)? != b'R')
}

/// Does a debugger trace this process? False where the system does not say. Some 20 µs.
pub fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Joins a thread that is gone. `Err`: it is not.
///
/// That std calls a thread finished says less: destructors of its thread-locals may be running yet.
/// They are code of users, and may wait for whatever they like. Where the system tells no more than
/// std, such a thread comes back in `Ok`, and who joins it waits for that code.
pub fn try_join(thread: JoinHandle<()>) -> Result<Option<JoinHandle<()>>, JoinHandle<()>> {
    if !thread.is_finished() {
        return Err(thread);
    }
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use std::os::unix::thread::JoinHandleExt;
        // SAFETY: the thread was neither joined nor detached, for its handle would be gone. If it
        // is joined here, `into_pthread_t` takes it out of the handle, which then does neither.
        let gone = unsafe { libc::pthread_tryjoin_np(thread.as_pthread_t(), std::ptr::null_mut()) } == 0;
        if !gone {
            return Err(thread);
        }
        _ = thread.into_pthread_t();
        Ok(None)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    Ok(Some(thread))
}

/// Names the calling thread for the system's tools; Linux keeps the first 15 bytes.
pub fn set_name(name: &str) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let mut bytes = [0u8; 16];
        let n = (0..=name.len().min(15)).rev().find(|n| name.is_char_boundary(*n)).unwrap_or(0);
        bytes[..n].copy_from_slice(&name.as_bytes()[..n]);
        // SAFETY: PR_SET_NAME reads a string that ends with 0, and the last of the 16 bytes is 0.
        unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = name;
}

/// Where the calling OS thread's own stack lies, lowest usable address first. Wrong on a fiber: it
/// tells the stack of the thread that runs it. `None` where the system does not say.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn current_stack_bounds() -> Option<Range<usize>> {
    Some(stack_and_guard()?.0)
}

/// The thread's stack, and how many bytes of guard the system put below it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn stack_and_guard() -> Option<(Range<usize>, usize)> {
    let mut attr = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: fills `attr` for the calling thread.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr()) } != 0 {
        return None;
    }
    let (mut low, mut size, mut guard) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: `attr` was filled above; the outputs are locals.
    let got = unsafe { libc::pthread_attr_getstack(attr.as_ptr(), &mut low, &mut size) } == 0;
    // SAFETY: `attr` was filled above; the output is a local.
    unsafe { libc::pthread_attr_getguardsize(attr.as_ptr(), &mut guard) };
    // SAFETY: filled above, and not used any more.
    unsafe { libc::pthread_attr_destroy(attr.as_mut_ptr()) };
    (got && size > 0).then(|| (low.addr()..low.addr() + size, guard))
}

/// Where the calling OS thread's own stack lies, lowest usable address first. Wrong on a fiber: it
/// tells the stack of the thread that runs it. `None` where the system does not say.
#[cfg(target_vendor = "apple")]
pub fn current_stack_bounds() -> Option<Range<usize>> {
    // SAFETY: asks about the calling thread.
    let top = unsafe { libc::pthread_get_stackaddr_np(libc::pthread_self()) }.addr();
    // SAFETY: asks about the calling thread.
    let size = unsafe { libc::pthread_get_stacksize_np(libc::pthread_self()) };
    Some(top - size..top)
}
/// Where the calling OS thread's own stack lies. `None`: the system does not say.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub fn current_stack_bounds() -> Option<Range<usize>> {
    None
}
/// The thread's stack, and how many bytes of guard the system put below it.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
#[cfg_attr(any(loom, miri), allow(dead_code))] // only the handler of overflows asks
pub(crate) fn stack_and_guard() -> Option<(Range<usize>, usize)> {
    Some((current_stack_bounds()?, super::map::page_size()))
}

#[cfg(all(test, not(loom)))]
mod test {
    /// A thread whose thread-locals are being destroyed is not gone.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn a_thread_is_joined_when_it_is_gone() {
        use std::cell::RefCell;
        use std::sync::mpsc::{Receiver, channel};
        struct Waits(Receiver<()>);
        impl Drop for Waits {
            fn drop(&mut self) {
                self.0.recv().unwrap();
            }
        }
        thread_local! { static LAST: RefCell<Option<Waits>> = const { RefCell::new(None) } }
        let (go, goes) = channel();
        let mut thread = std::thread::spawn(move || LAST.set(Some(Waits(goes))));
        while !thread.is_finished() {
            std::thread::yield_now();
        }
        for _ in 0..10 {
            thread = super::try_join(thread).unwrap_err();
        }
        go.send(()).unwrap();
        loop {
            match super::try_join(thread) {
                Ok(left) => return assert!(left.is_none()),
                Err(other) => thread = other,
            }
            std::thread::yield_now();
        }
    }

    #[test]
    #[cfg_attr(miri, ignore)]
    fn stack_bounds_hold_a_local() {
        let here = 0u8;
        for _ in 0..2 {
            let bounds = super::current_stack_bounds().unwrap();
            assert!(bounds.contains(&(&raw const here).addr()), "{bounds:x?}");
        }
        std::thread::Builder::new()
            .stack_size(123 << 10)
            .spawn(|| {
                let here = 0u8;
                let bounds = super::current_stack_bounds().unwrap();
                assert!(bounds.contains(&(&raw const here).addr()) && bounds.len() >= 100 << 10, "{bounds:x?}");
            })
            .unwrap()
            .join()
            .unwrap();
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore)]
    fn tells_whether_a_thread_waits() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            super::set_name("a ) R name");
            tell.send(super::id()).unwrap();
            _ = ended.recv();
        });
        let id = told.recv().unwrap();
        while super::is_blocked(id) != Some(true) {
            std::thread::yield_now();
        }
        assert_eq!(super::is_blocked(super::id()), Some(false));
        drop(end);
        thread.join().unwrap();
        assert_eq!(super::is_blocked(u32::MAX), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore)]
    fn pins_and_unpins() {
        std::thread::spawn(|| {
            let all = super::available().cpus;
            assert!(super::pin_to_cpu(all[0]));
            assert_eq!(super::available().cpus, [all[0]]);
            assert!(super::unpin(&all));
            assert_eq!(super::available().cpus, all);
            assert!(!super::unpin(&[]));
            super::set_name("fünfzehn-bytesäöü");
            let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
            assert_eq!(name.trim_end(), "fünfzehn-bytes");
        })
        .join()
        .unwrap();
    }
}
