//! Prints: hello from 1, 2, 3 and 4; task 'five' spawned here panicked: I am shy
//!
//! Tasks and handles. What Go's `go f()` starts has no result and takes the process down when it
//! panics; here a handle brings the result, or says why there is none.

fn main() {
    // `run` makes this closure a task, and waits for it. The runtime starts by itself, with a
    // worker for each core.
    let line = myriad::run(|| {
        let handles: Vec<_> = (1..=4).map(|i| myriad::spawn(move || i)).collect();
        // A handle that is joined runs its task on the spot, if nobody else has begun with it.
        let names: Vec<u32> = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
        let [first @ .., last] = &names[..] else { unreachable!("there are four") };
        let first: Vec<_> = first.iter().map(u32::to_string).collect();

        // A panic stops at the task, and reaches whoever joins it. (Std's hook prints its usual
        // message to stderr.)
        let five = myriad::task::Builder::new().name("five").spawn(|| panic!("I am shy"));
        let error = five.join().unwrap_err();
        assert!(error.is_panic());
        let error = error.to_string().replace(&format!("at {}", error.spawned_at()), "here");

        format!("hello from {} and {last}; {error}", first.join(", "))
    });
    println!("{line}");
}
