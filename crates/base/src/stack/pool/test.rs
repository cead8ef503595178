use super::*;
use crate::stack::overflow;
use std::collections::HashSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

/// Runs the calling test again in a process of its own with these variables, and returns what came
/// out; in that process, runs `body` and exits.
fn in_child(test: &str, env: &[(&str, &str)], body: impl FnOnce()) -> Output {
    if std::env::var_os("MYRIAD_TEST_CHILD").is_some() {
        body();
        std::process::exit(0);
    }
    Command::new(std::env::current_exe().unwrap())
        .args([
            concat!(module_path!(), "::").split_once("::").unwrap().1.to_string() + test,
            "--exact".into(),
            "--nocapture".into(),
        ])
        .env("MYRIAD_TEST_CHILD", "1")
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

#[track_caller]
fn assert_success(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn stacks_are_apart_and_aligned_and_coloured() {
    for size in [MIN_STACK, DEFAULT_STACK, 1 << 20] {
        let mut pool = StackPool::new(size, 2000);
        let size = pool.stack_size();
        let (mut starts, mut colours) = (HashSet::new(), HashSet::new());
        for _ in 0..1000 {
            let top = pool.take().unwrap().top.addr();
            assert_eq!(top % 64, 0);
            let start = (top - 1) / size * size;
            assert!(starts.insert(start));
            colours.insert(start + size - top);
            let region = registry::find(top - 1).unwrap();
            assert_eq!((region.start, region.size, region.in_guard), (start, size, false));
            assert!(registry::find(start).unwrap().in_guard);
            assert!(!registry::find(start + map::page_size()).unwrap().in_guard);
        }
        assert_eq!(colours, (0..24).map(|k| k * 64).collect());
        assert_eq!((pool.made(), pool.taken()), (1000, 1000));
        let slab = pool.slabs[3].start.addr().get();
        assert!(registry::find(slab).is_some());
        drop(pool);
        // (Another test may have mapped a slab at the same place in between.)
        assert!(registry::find(slab).is_none_or(|region| region.start == slab));
    }
}

#[test]
fn sizes_are_rounded_up() {
    assert_eq!(StackPool::new(1, 1).stack_size(), MIN_STACK.max(4 * map::page_size()));
    assert_eq!(StackPool::new(100 << 10, 1).stack_size(), 128 << 10);
}

#[test]
fn the_last_put_back_is_the_first_taken() {
    let mut pool = StackPool::new(MIN_STACK, 8);
    let stacks: Vec<_> = (0..8).map(|_| pool.take().unwrap()).collect();
    // SAFETY: nobody is on them; a pointer into the stack is as good as its top.
    unsafe {
        pool.put(stacks[3].top);
        pool.put(stacks[5].top.wrapping_sub(1000));
    }
    assert_eq!(pool.taken(), 6);
    assert_eq!(pool.take().unwrap(), stacks[5]);
    assert_eq!(pool.take().unwrap(), stacks[3]);
    assert!(pool.take().is_err());
}

/// Resident memory of a range, in pages.
fn resident(start: *mut u8, len: usize) -> usize {
    let page = map::page_size();
    let mut pages = vec![0u8; len / page];
    // SAFETY: fills one byte for each page.
    assert_eq!(unsafe { libc::mincore(start.cast(), len, pages.as_mut_ptr()) }, 0);
    pages.iter().filter(|p| **p & 1 == 1).count()
}

fn dirty(pool: &StackPool, stack: Stack) -> *mut u8 {
    let len = pool.size - map::page_size() - 2048;
    let low = stack.top.wrapping_sub(len);
    // SAFETY: within the stack, which is ours, and above its guard.
    unsafe { low.write_bytes(1, len) };
    low
}

#[test]
#[cfg(target_os = "linux")]
fn trimming_gives_back_memory_and_keeps_guards() {
    let output = in_child("trimming_gives_back_memory_and_keeps_guards", &[], || {
        let mut pool = StackPool::new(MIN_STACK, usize::MAX);
        let stacks: Vec<_> = (0..1000).map(|_| pool.take().unwrap()).collect();
        for &stack in &stacks {
            dirty(&pool, stack);
            // SAFETY: nobody is on it.
            unsafe { pool.put(stack.top) };
        }
        let held = |pool: &StackPool| {
            pool.slabs.iter().map(|slab| resident(slab.start.as_ptr(), slab.stacks * pool.size)).sum::<usize>()
        };
        assert!(held(&pool) >= 3000);
        assert_eq!(pool.trim(), 512);
        assert_eq!(pool.trim(), 1000 - 512 - 64);
        assert_eq!(pool.trim(), 0);
        assert!((64 * 3..=64 * 4).contains(&held(&pool)), "{}", held(&pool));
        for _ in 0..1000 {
            let stack = pool.take().unwrap();
            dirty(&pool, stack);
        }
        let last = dirty(&pool, stacks[0]);
        assert_eq!(pool.made(), 1000);
        // SAFETY: not at all: it is the guard.
        unsafe { last.wrapping_sub(4096).write_volatile(1) };
    });
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn memory_below_a_suspended_stack_is_released() {
    let mut pool = StackPool::new(DEFAULT_STACK, 1);
    let stack = pool.take().unwrap();
    let low = dirty(&pool, stack);
    let page = map::page_size();
    let start = low.map_addr(|low| low & !(pool.size - 1));
    let usable = start.wrapping_add(page);
    assert_eq!(resident(usable, pool.size - page), pool.size / page - 1);
    // SAFETY: nobody uses what is below.
    unsafe { pool.release_below(start.wrapping_add(pool.size - 3 * page + 8)) };
    assert_eq!(resident(usable, pool.size - page), 3);
    // SAFETY: nobody uses what is below.
    unsafe { pool.release_below(usable.wrapping_add(8)) };
    assert_eq!(resident(usable, pool.size - page), 3);
}

#[test]
fn guards_fault() {
    for env in [("MYRIAD_NO_GUARD_INSTALL", "0"), ("MYRIAD_NO_GUARD_INSTALL", "1")] {
        for nth in [1, 3, 40] {
            let nth_text = nth.to_string();
            let output = in_child("guards_fault", &[env, ("MYRIAD_TEST_NTH", &nth_text)], || {
                let nth: usize = std::env::var("MYRIAD_TEST_NTH").unwrap().parse().unwrap();
                let mut pool = StackPool::new(MIN_STACK, usize::MAX);
                let stack = (0..nth).map(|_| pool.take().unwrap()).last().unwrap();
                let low = dirty(&pool, stack).map_addr(|low| low & !(pool.size - 1)).wrapping_add(map::page_size());
                // SAFETY: the lowest usable byte.
                unsafe { low.write_volatile(1) };
                println!("so far, so good");
                // SAFETY: not at all: it is the guard.
                unsafe { low.wrapping_sub(1).write_volatile(1) };
            });
            assert!(String::from_utf8_lossy(&output.stdout).contains("so far, so good"), "{output:?}");
            // SIGBUS on some systems.
            assert!(matches!(output.status.signal(), Some(libc::SIGSEGV | libc::SIGBUS)), "{env:?} {nth}: {output:?}");
        }
    }
}

#[test]
fn the_number_of_stacks_is_limited() {
    let output = in_child("the_number_of_stacks_is_limited", &[("MYRIAD_MAX_STACKS", "2")], || {
        let mut pool = StackPool::new(MIN_STACK, 10);
        assert!(pool.take().is_ok() && pool.take().is_ok() && pool.take().is_err());
    });
    assert_success(&output);

    let mut pool = StackPool::new(MIN_STACK, 3);
    let stacks: Vec<_> = (0..3).map(|_| pool.take().unwrap()).collect();
    let error = pool.take().unwrap_err();
    assert_eq!(error.stacks(), 3);
    assert!(error.to_string().contains("this worker has 3, and 3 are allowed"), "{error}");
    // SAFETY: nobody is on it.
    unsafe { pool.put(stacks[0].top) };
    assert!(pool.take().is_ok());
}

#[test]
#[cfg(target_os = "linux")]
fn mappings_run_out_with_a_clear_error() {
    let output = in_child("mappings_run_out_with_a_clear_error", &[("MYRIAD_NO_GUARD_INSTALL", "1")], || {
        if map::split_limit() > 100_000 {
            // The limit has been raised here; filling it would take long.
            println!("vm.max_map_count = futures");
            return;
        }
        assert_eq!(map::guard_kind(), GuardKind::Mprotect);
        let mut pool = StackPool::new(MIN_STACK, usize::MAX);
        let error = loop {
            match pool.take() {
                Ok(_) => assert!(pool.made() <= map::split_limit()),
                Err(error) => break error,
            }
        };
        assert_eq!(error.stacks(), map::split_limit());
        println!("{error}");
        // The program itself still lives, and the mappings come back.
        let more: Vec<_> = (0..500).map(|_| map::reserve(map::page_size(), 1).unwrap()).collect();
        drop(pool);
        assert!(StackPool::new(MIN_STACK, usize::MAX).take().is_ok());
        assert_eq!(more.len(), 500);
    });
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("vm.max_map_count = ") && text.contains("future"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn address_space_runs_out_with_a_clear_error() {
    let output = in_child("address_space_runs_out_with_a_clear_error", &[], || {
        let limit = libc::rlimit { rlim_cur: 1 << 30, rlim_max: 1 << 30 };
        // SAFETY: reads the structure.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
        let mut pool = StackPool::new(1 << 20, usize::MAX);
        let error = loop {
            if let Err(error) = pool.take() {
                break error;
            }
        };
        assert!(pool.made() >= 16);
        println!("{error}");
    });
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the system refuses more") && text.contains("ulimit"), "{text}");
}

/// Where guards are mappings, threads that come and go once lost two mappings each, until no thread
/// could be started.
#[test]
#[cfg(target_os = "linux")]
fn threads_give_their_mappings_back() {
    let output = in_child("threads_give_their_mappings_back", &[("MYRIAD_NO_GUARD_INSTALL", "1")], || {
        assert_eq!(map::guard_kind(), GuardKind::Mprotect);
        let before = map::taken();
        for _ in 0..10 {
            map::thread_starts().unwrap();
            assert_eq!(map::taken(), before + map::mappings_of_thread());
            std::thread::spawn(|| {
                overflow::enter_thread();
                // SAFETY: in the body of the thread.
                unsafe { overflow::leave_thread() };
            })
            .join()
            .unwrap();
            map::thread_ended();
            assert_eq!(map::taken(), before);
        }
    });
    assert_success(&output);
}
