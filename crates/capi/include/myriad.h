// The C interface of Myriad: tasks that wait without holding up a thread, parallel loops, channels,
// locks.
//
// myriad_start first, myriad_stop at the end; everything else from tasks (myriad_run, myriad_spawn)
// and from any other thread. Functions return a myriad_status, MYRIAD_OK or what was wrong;
// myriad_last_error has the text. All may be called from several threads at a time. The guide:
// docs/C.md.
//
// Written from the sources, crates/capi/src/*.rs, by crates/capi/tests/header.rs. Do not edit.

#ifndef MYRIAD_H
#define MYRIAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// For myriad_channel_new: a channel that is never full.
#define MYRIAD_UNBOUNDED SIZE_MAX


// What a function of Myriad returns: MYRIAD_OK is 0. myriad_error_message has a sentence for each,
// myriad_last_error the details.
typedef enum myriad_status {
    // Done.
    MYRIAD_OK = 0,
    // A pointer that must not be NULL is NULL.
    MYRIAD_ERROR_NULL = 1,
    // A number or a text that is not allowed; myriad_last_error says which ones are.
    MYRIAD_ERROR_INVALID = 2,
    // There is no runtime: call myriad_start first.
    MYRIAD_ERROR_NOT_STARTED = 3,
    // The runtime runs already.
    MYRIAD_ERROR_STARTED = 4,
    // This cannot be done by a task: the call would wait for its own caller.
    MYRIAD_ERROR_IN_TASK = 5,
    // After myriad_stop: tasks have not ended, or were dropped; myriad_last_error names them.
    MYRIAD_ERROR_UNFINISHED = 6,
    // The task never ran, because the runtime was stopped.
    MYRIAD_ERROR_SHUTDOWN = 7,
    // The channel is closed (and empty, for who receives).
    MYRIAD_ERROR_CLOSED = 8,
    // A try to send: the channel is full, or nobody waits at the rendezvous.
    MYRIAD_ERROR_FULL = 9,
    // A try to receive: nothing is there. A try of several cases: none is ready.
    MYRIAD_ERROR_EMPTY = 10,
    // The time is over; the operation had no effect.
    MYRIAD_ERROR_TIMEOUT = 11,
    // The lock is taken.
    MYRIAD_ERROR_LOCKED = 12,
    // The lock is not locked.
    MYRIAD_ERROR_NOT_LOCKED = 13,
    // A gang inside a job of a gang.
    MYRIAD_ERROR_NESTED = 14,
    // The system refused: no memory, no threads; or this platform cannot do it. myriad_last_error
    // says what.
    MYRIAD_ERROR_SYSTEM = 15,
    // Something inside of Myriad failed; myriad_last_error says what.
    MYRIAD_ERROR_PANIC = 16,
    // The calling task was cancelled: the wait has ended without an effect. For who joins: the
    // task was cancelled before it began.
    MYRIAD_ERROR_CANCELLED = 17,
    // A handle that is no longer valid: its task was joined or detached, its channel or lock was
    // freed; or that never was one.
    MYRIAD_ERROR_STALE = 18,
} myriad_status;

// How a task waits.
typedef enum myriad_mode {
    // A task that waits keeps its thread of the system, and another thread goes on as the worker:
    // right for any code.
    MYRIAD_THREADS = 0,
    // A task that waits is set aside with its stack, and its thread runs the next one: a thousand
    // times cheaper. For code that never waits (in functions of Myriad) while it holds a lock of
    // the system, inside a catch block or a destructor of C++ that runs because of an exception,
    // or while it has a thread-local variable changed that it will change back.
    MYRIAD_FIBERS = 1,
} myriad_mode;

// What a case of myriad_select does.
typedef enum myriad_operation {
    // Receives, into `item`.
    MYRIAD_RECV = 0,
    // Sends a copy of `item`.
    MYRIAD_SEND = 1,
} myriad_operation;

// A channel of items of a fixed size, for any number of senders and receivers: tasks and threads.
typedef struct myriad_channel myriad_channel;

// A lock that sets tasks aside, instead of holding up their workers. May be held over any wait,
// and unlocked by another task than the one that locked it.
typedef struct myriad_mutex myriad_mutex;

// A task that somebody may wait for: see myriad_spawn.
typedef struct myriad_task myriad_task;

// The settings of a runtime. Get them from myriad_settings_default, then change what you like.
typedef struct myriad_settings {
    // The size of this struct, for later versions that have more.
    size_t size;
    // Threads that run tasks. By default as many as the process may use processors. At least 1.
    size_t workers;
    // A myriad_mode. By default MYRIAD_THREADS.
    int32_t mode;
    // Bytes of a task's stack, rounded up to a power of two; only what is touched becomes memory.
    // 0: 256 KiB with fibers, 2 MiB with threads. A task has at least half of a fiber (a quarter
    // of a thread's stack), as it may run on top of one that waits for it. The C compiler must not
    // let a function jump over the guard page: -fstack-clash-protection.
    size_t stack_size;
    // How threads are called: NAME-0, NAME-1 ... NULL: myriad.
    const char *name;
} myriad_settings;

// A function that is run as a task: its argument, and its result, are the program's business. It
// may call everything of Myriad.
//
// It must return: not be left by longjmp, pthread_exit, or the cancellation of its thread. A C++
// exception that leaves it ends the process.
typedef void *(*myriad_function)(void *argument);

// A part of a loop: the numbers from `begin` on, before `end`.
typedef void (*myriad_body)(size_t begin, size_t end, void *argument);

// An operation on a channel, one of several: see myriad_select.
typedef struct myriad_case {
    // NULL: this case is never ready. (So a loop can switch one off.)
    const struct myriad_channel *channel;
    // An item of the channel's size, or room for one; NULL only for items of no bytes.
    void *item;
    // MYRIAD_RECV or MYRIAD_SEND.
    int32_t operation;
} myriad_case;

// Job `index` of a gang.
typedef void (*myriad_job)(size_t index, void *argument);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// A sentence for a status, in static memory: never NULL, also for a number that is none.
//
// Never blocks. From any thread.
const char *myriad_error_message(int32_t status);

// The text of the last function of Myriad that failed on the calling thread; "" if none has.
//
// A buffer of the thread's own, always at the same address, which the next function that fails on
// this thread writes anew. So printf("%d %s", myriad_stop(0), myriad_last_error()) is right,
// whichever argument is first. A text longer than 4095 bytes is cut, between two characters, and
// ends with "...".
//
// Read it before anything that waits: another task of the same thread may fail meanwhile. The
// buffer goes with its thread.
//
// Never blocks.
const char *myriad_last_error(void);

// The default settings.
//
// Never blocks.
struct myriad_settings myriad_settings_default(void);

// Starts the runtime of this process. NULL: with the default settings.
//
// Blocks for some 100 microseconds. May be called again after myriad_stop.
//
// Errors: MYRIAD_ERROR_STARTED; MYRIAD_ERROR_INVALID (no workers, too many, a stack too small or
// too large, an unknown mode, a name that is no UTF-8, settings of another version);
// MYRIAD_ERROR_SYSTEM (no threads, no memory, no fibers on this platform).
//
// # Safety
// `settings` is NULL or points to settings, whose name is NULL or a string.
enum myriad_status myriad_start(const struct myriad_settings *settings);

// Ends the runtime: waits until all tasks have ended, at most for so many nanoseconds (UINT64_MAX:
// for ever), and stops its threads.
//
// Tasks that have not begun then are dropped, and their joiners get MYRIAD_ERROR_SHUTDOWN. Tasks
// that still wait or run cannot be ended from outside: they stay as they are, until the process
// ends.
//
// Blocks until then, and a moment more if tasks are running.
//
// Errors: MYRIAD_ERROR_UNFINISHED: tasks have not ended, or were dropped; the runtime is stopped
// all the same, and myriad_last_error has a line for each. MYRIAD_ERROR_NOT_STARTED (also when it
// has been stopped); MYRIAD_ERROR_IN_TASK.
enum myriad_status myriad_stop(uint64_t timeout_ns);

// How many workers the runtime has, that of the calling task or the one that was started; 0 if
// there is none.
//
// Never blocks.
size_t myriad_workers(void);

// Is the caller a task?
//
// Never blocks.
bool myriad_in_task(void);

// The version of the library: "0.1.0".
//
// Never blocks.
const char *myriad_version(void);

// Calls `function(argument)` as a task, and waits for it: what a main function does first. In a
// task it is a plain call.
//
// Blocks until the function has returned. `result`, unless NULL, gets what it returns.
//
// Errors: MYRIAD_ERROR_NULL (the function), MYRIAD_ERROR_NOT_STARTED. The function was not called
// then.
//
// # Safety
// The function may be called with this argument on another thread. `result` is NULL or points to
// room for a pointer.
enum myriad_status myriad_run(myriad_function function, void *argument, void **result);

// Starts a task that calls `function(argument)`. `task` gets it, for myriad_join or myriad_detach,
// one of which must be called; NULL: nobody waits for it.
//
// Never blocks; some 100 nanoseconds. In the calling task's runtime, or the one that was started.
//
// Errors: MYRIAD_ERROR_NULL (the function), MYRIAD_ERROR_NOT_STARTED. If the runtime is being
// stopped the task may be dropped, which its joiner is told.
//
// # Safety
// The function may be called with this argument on another thread, at any time until it was
// joined. `task` is NULL or points to room for a pointer.
enum myriad_status myriad_spawn(myriad_function function, void *argument, struct myriad_task **task);

// As myriad_spawn, with a name: that of the task in the text of myriad_stop, and where a stack
// overflows.
//
// Errors: as myriad_spawn; MYRIAD_ERROR_NULL (the name), MYRIAD_ERROR_INVALID (it is no UTF-8).
//
// # Safety
// The function may be called with this argument on another thread, at any time until it was
// joined. `task` is NULL or points to room for a pointer. `name` is a string, which is copied.
enum myriad_status myriad_spawn_named(const char *name,
                                      myriad_function function,
                                      void *argument,
                                      struct myriad_task **task);

// Waits for a task, and frees it: it must not be used again. `result`, unless NULL, gets what its
// function has returned.
//
// Blocks until the task has ended: the calling task is set aside, a thread that is no worker
// sleeps. If it has not begun it may run on the caller's stack.
//
// Errors: MYRIAD_ERROR_NULL; MYRIAD_ERROR_SHUTDOWN: it never ran; MYRIAD_ERROR_CANCELLED: it was
// cancelled before it began, or the caller was (myriad_is_cancelled tells), and then so was the
// task, and it has ended; MYRIAD_ERROR_IN_TASK: it is the caller itself; MYRIAD_ERROR_PANIC: no
// memory to wait. The task is freed in any case. MYRIAD_ERROR_STALE: it was joined or detached
// already, or another thread joins it just now.
//
// # Safety
// `result` is NULL or points to room for a pointer.
enum myriad_status myriad_join(struct myriad_task *task, void **result);

// As myriad_join, but blocks for at most so many nanoseconds.
//
// Errors: as myriad_join; MYRIAD_ERROR_TIMEOUT: it has not ended, and was not freed. If the caller
// is cancelled the task is detached, and not cancelled too.
//
// # Safety
// `result` is NULL or points to room for a pointer.
enum myriad_status myriad_join_timeout(struct myriad_task *task, void **result, uint64_t timeout_ns);

// Gives up a task that nobody will wait for: it goes on. It must not be used again.
//
// Never blocks. Errors: MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
enum myriad_status myriad_detach(struct myriad_task *task);

// Has the task ended? Then myriad_join does not wait. False for NULL, for a task that was joined
// or detached, and while another thread joins it.
//
// Never blocks.
bool myriad_is_finished(const struct myriad_task *task);

// Lets other tasks of this worker go first; on a thread that is no worker, other threads.
//
// Blocks only as long as they take. Errors: MYRIAD_ERROR_CANCELLED.
enum myriad_status myriad_yield(void);

// Sleeps for so many nanoseconds, and not less.
//
// Blocks: the calling task is set aside, a thread that is no worker sleeps. Errors:
// MYRIAD_ERROR_CANCELLED: less than that.
enum myriad_status myriad_sleep(uint64_t nanoseconds);

// Calls `function(argument)` on a thread where it may hold up the thread: for calls of the system,
// and libraries that wait by themselves. On a thread that is no worker it is a plain call.
//
// Blocks until the function has returned: the calling task is set aside, and its worker goes on.
// `result`, unless NULL, gets what it returns.
//
// Errors: MYRIAD_ERROR_NULL.
//
// # Safety
// The function may be called with this argument on another thread. `result` is NULL or points to
// room for a pointer.
enum myriad_status myriad_blocking(myriad_function function, void *argument, void **result);

// Calls `function(argument)` right here, so that nothing in it sets the task aside: what waits in
// it keeps the thread. For code that waits while it holds a lock of the system, or has changed a
// thread-local variable for a while.
//
// Blocks until the function has returned; a cancellation of the calling task arrives behind it. In
// fiber mode tasks that wait on this worker wait until then; if the function waits for one of
// them, both do for ever.
//
// Errors: MYRIAD_ERROR_NULL.
//
// # Safety
// The function may be called with this argument. `result` is NULL or points to room for a pointer.
enum myriad_status myriad_keep_thread(myriad_function function, void *argument, void **result);

// Cancels a task. If it has not begun it never does, and who joins gets MYRIAD_ERROR_CANCELLED. If
// it has, each of its waits ends at once, with that status and without an effect, also those to
// come; so its function finds out, cleans up (see myriad_shield), and returns. Nothing ends it
// from outside: what it returns goes to who joins, as always. One that computes asks
// myriad_is_cancelled.
//
// In a cancelled task myriad_join, myriad_parallel_for and myriad_run pass it on to what they wait
// for, and return when that has ended.
//
// Nothing happens if the task has ended. It must still be joined or detached.
//
// Never blocks; it does not wait for the task. Errors: MYRIAD_ERROR_NULL; MYRIAD_ERROR_STALE: the
// task was joined or detached, or another thread joins it just now.
enum myriad_status myriad_cancel(const struct myriad_task *task);

// Is the calling task cancelled? For one that computes and does not wait. False on a thread that
// is no worker, and in myriad_shield.
//
// Never blocks.
bool myriad_is_cancelled(void);

// Calls `function(argument)`, in which no wait is ended because the task is cancelled: for
// clean-up that waits, and for steps that are to be done as a whole. The cancellation arrives
// behind it.
//
// Blocks until the function has returned. `result`, unless NULL, gets what it returns. Errors:
// MYRIAD_ERROR_NULL.
//
// # Safety
// The function may be called with this argument. `result` is NULL or points to room for a pointer.
enum myriad_status myriad_shield(myriad_function function, void *argument, void **result);

// Calls `body` for parts that together are the numbers from `begin` on, before `end`; in parallel,
// on the workers.
//
// A part has at most `grain` numbers; 0: as many as take about a microsecond, found by measuring.
// Parts are the caller's or are taken by workers that have nothing to do, so a loop in a loop, or
// in many tasks at a time, has no more threads than workers. Parts may wait for each other only if
// they would also end one after the other.
//
// Blocks until all parts have ended: a calling task is set aside if others have taken some.
//
// Errors: MYRIAD_ERROR_NULL (the body), MYRIAD_ERROR_NOT_STARTED: the body was not called then.
// MYRIAD_ERROR_CANCELLED: the calling task was cancelled, and some parts were left out; none runs
// any more. If `end` is not larger than `begin` nothing is to be done.
//
// # Safety
// The body may be called with this argument on other threads, several times at a time.
enum myriad_status myriad_parallel_for(size_t begin, size_t end, size_t grain, myriad_body body, void *argument);

// Makes a channel of items of `item_size` bytes (which may be 0: then only that something was sent
// is known). `capacity`: so many may wait in it; 0: none, senders and receivers meet;
// MYRIAD_UNBOUNDED. `channel` gets it, for myriad_channel_free.
//
// Items are copied as memcpy does: in C++ they are trivially copyable. What is larger or has an
// owner goes by a pointer to it.
//
// Never blocks. Errors: MYRIAD_ERROR_NULL; MYRIAD_ERROR_INVALID: items larger than 1 MiB, or a
// capacity of which there is no memory.
//
// # Safety
// `channel` is NULL or points to room for a pointer.
enum myriad_status myriad_channel_new(size_t item_size, size_t capacity, struct myriad_channel **channel);

// Sends a copy of the item.
//
// Blocks while the channel is full (at a rendezvous: until somebody receives): the calling task is
// set aside, a thread that is no worker sleeps.
//
// Errors: MYRIAD_ERROR_CLOSED, also if it is closed meanwhile; MYRIAD_ERROR_CANCELLED;
// MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE: the item was not sent.
//
// # Safety
// `item` points to an item of the channel's size.
enum myriad_status myriad_send(const struct myriad_channel *channel, const void *item);

// As myriad_send, but never blocks.
//
// Errors: MYRIAD_ERROR_FULL, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_NULL: the item was not sent.
//
// # Safety
// `item` points to an item of the channel's size.
enum myriad_status myriad_try_send(const struct myriad_channel *channel, const void *item);

// As myriad_send, but blocks for at most so many nanoseconds.
//
// Errors: MYRIAD_ERROR_TIMEOUT, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL:
// the item was not sent.
//
// # Safety
// `item` points to an item of the channel's size.
enum myriad_status myriad_send_timeout(const struct myriad_channel *channel, const void *item, uint64_t timeout_ns);

// Receives an item, into `item`.
//
// Blocks while the channel is empty: the calling task is set aside, a thread that is no worker
// sleeps.
//
// Errors: MYRIAD_ERROR_CLOSED, when it is closed and what was in it has been received;
// MYRIAD_ERROR_CANCELLED; MYRIAD_ERROR_NULL. `item` is unchanged then, and nothing was received.
//
// # Safety
// `item` points to room for an item of the channel's size.
enum myriad_status myriad_recv(const struct myriad_channel *channel, void *item);

// As myriad_recv, but never blocks.
//
// Errors: MYRIAD_ERROR_EMPTY, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_NULL: `item` is unchanged.
//
// # Safety
// `item` points to room for an item of the channel's size.
enum myriad_status myriad_try_recv(const struct myriad_channel *channel, void *item);

// As myriad_recv, but blocks for at most so many nanoseconds.
//
// Errors: MYRIAD_ERROR_TIMEOUT, MYRIAD_ERROR_CLOSED, MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL:
// `item` is unchanged, and nothing was received.
//
// # Safety
// `item` points to room for an item of the channel's size.
enum myriad_status myriad_recv_timeout(const struct myriad_channel *channel, void *item, uint64_t timeout_ns);

// Closes it: from now on nothing is sent; what is in it can be received. Who waits to send is told
// now, who waits to receive when it is empty. Again: nothing happens.
//
// Never blocks. Errors: MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
enum myriad_status myriad_channel_close(const struct myriad_channel *channel);

// How many items are in it just now; 0 for NULL, and for one that was freed.
//
// Never blocks.
size_t myriad_channel_length(const struct myriad_channel *channel);

// Frees a channel, with what is in it. NULL: nothing. Who waits in it is told that it is closed;
// who uses it later gets MYRIAD_ERROR_STALE, as does who frees it again (in myriad_last_error).
//
// Never blocks.
void myriad_channel_free(struct myriad_channel *channel);

// Waits until one of the cases can be done, does that one and no other, and tells its number by
// `chosen` (unless that is NULL). Of several that are ready each has the same chance.
//
// A case whose channel is closed (and empty, if it receives) is ready: it is chosen, with
// MYRIAD_ERROR_CLOSED. Set its channel to NULL to go on with the others.
//
// Blocks until a case is ready: the calling task is set aside, a thread that is no worker sleeps.
//
// Errors: MYRIAD_ERROR_CLOSED, with `chosen`. Without: MYRIAD_ERROR_CANCELLED; MYRIAD_ERROR_NULL;
// MYRIAD_ERROR_INVALID: an operation that is none, or no case has a channel. Nothing was sent or
// received then.
//
// # Safety
// `cases` points to `count` of them, each with an item of its channel's size (MYRIAD_SEND), or
// room for one (MYRIAD_RECV). `chosen` is NULL or points to room for a number.
enum myriad_status myriad_select(const struct myriad_case *cases, size_t count, size_t *chosen);

// As myriad_select, but never blocks.
//
// Errors: as myriad_select; MYRIAD_ERROR_EMPTY: no case is ready.
//
// # Safety
// `cases` points to `count` of them, each with an item of its channel's size (MYRIAD_SEND), or
// room for one (MYRIAD_RECV). `chosen` is NULL or points to room for a number.
enum myriad_status myriad_try_select(const struct myriad_case *cases, size_t count, size_t *chosen);

// As myriad_select, but blocks for at most so many nanoseconds.
//
// Errors: as myriad_select; MYRIAD_ERROR_TIMEOUT: no case was ready in that time.
//
// # Safety
// `cases` points to `count` of them, each with an item of its channel's size (MYRIAD_SEND), or
// room for one (MYRIAD_RECV). `chosen` is NULL or points to room for a number.
enum myriad_status myriad_select_timeout(const struct myriad_case *cases,
                                         size_t count,
                                         size_t *chosen,
                                         uint64_t timeout_ns);

// Makes a lock. `mutex` gets it, for myriad_mutex_free.
//
// Never blocks. Errors: MYRIAD_ERROR_NULL.
//
// # Safety
// `mutex` is NULL or points to room for a pointer.
enum myriad_status myriad_mutex_new(struct myriad_mutex **mutex);

// Locks it.
//
// Blocks until nobody has it: the calling task is set aside, a thread that is no worker sleeps.
// Who has it already waits for ever.
//
// Errors: MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE: the caller does not have
// it.
enum myriad_status myriad_mutex_lock(struct myriad_mutex *mutex);

// Locks it if nobody has it.
//
// Never blocks. Errors: MYRIAD_ERROR_LOCKED, MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
enum myriad_status myriad_mutex_try_lock(struct myriad_mutex *mutex);

// Unlocks it; who waits longest may be next.
//
// Never blocks. Errors: MYRIAD_ERROR_NOT_LOCKED (it is the caller's to know that he has it),
// MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
enum myriad_status myriad_mutex_unlock(struct myriad_mutex *mutex);

// Frees a lock. NULL: nothing.
//
// Never blocks. Errors: MYRIAD_ERROR_LOCKED: somebody has it or waits for it, and it stays;
// MYRIAD_ERROR_STALE.
enum myriad_status myriad_mutex_free(struct myriad_mutex *mutex);

// Calls `job(0, argument)` ... `job(n - 1, argument)` all at the same time, each on a thread of
// the system of its own that does nothing else until its job ends. For jobs that wait for each
// other by looking at memory; everything else is better off with myriad_parallel_for. The caller's
// thread is one of them.
//
// All gangs of the process together get as many threads as there are processors; the next one
// waits for its turn. Inside a job nothing sets it aside: it waits as a thread does. Needs no
// runtime.
//
// Blocks first until it is this gang's turn, where a calling task is set aside; then until all
// jobs have ended, where it keeps its thread.
//
// Errors: MYRIAD_ERROR_NULL (the job); MYRIAD_ERROR_NESTED in a job of a gang;
// MYRIAD_ERROR_INVALID (n is over 4096); MYRIAD_ERROR_SYSTEM (not enough threads);
// MYRIAD_ERROR_CANCELLED, while it waited for its turn. No job has begun then.
//
// # Safety
// The job may be called with these indices on other threads at the same time.
enum myriad_status myriad_gang(size_t n, myriad_job job, void *argument);

// For FFTW 3.3.9 and later: `fftw_threads_set_callback(myriad_fftw_loop, NULL)`, after
// fftw_init_threads, for each precision that the program uses. Its loops are tasks then; plan with
// two to four times as many threads as workers.
//
// Blocks until all jobs have ended: a calling task is set aside. Without a runtime the jobs run
// one after the other.
//
// # Safety
// `work` may be called once for each of `njobs` elements of `elsize` bytes at `jobdata`, in any
// order, on any threads, at the same time: as FFTW says.
void myriad_fftw_loop(void *(*work)(char*), char *jobdata, size_t elsize, int njobs, void *data);

// For OpenBLAS 0.3.28 and later: `openblas_set_threads_callback_function(myriad_openblas_gang)`,
// before its first call, and myriad_openblas_threads, or openblas_set_num_threads, with at most
// the number of processors. Its calls are gangs then, one at a time in the process.
//
// Blocks until all parts have ended; the caller keeps its thread. Needs no runtime. If there are
// no threads it ends the process with a message: OpenBLAS cannot be told.
//
// # Safety
// `dojob(i, jobdata + i * jobdata_elsize, dojob_data)` may be called once for each `i` below
// `numjobs`, on any threads, at the same time: as OpenBLAS says.
void myriad_openblas_gang(int sync,
                          void (*dojob)(int, void*, int),
                          int numjobs,
                          size_t jobdata_elsize,
                          void *jobdata,
                          int dojob_data);

// Instead of `openblas_set_num_threads(threads)`: sets that number, and from now on sets it to 1
// in a stream of calls that keeps all workers busy, so that calls from as many tasks run at the
// same time; and back when one has nothing to do. `set_num_threads` is openblas_set_num_threads,
// of a build with threads of its own (not of OpenMP) and without affinity (the default).
//
// It is not lowered while there are more `threads` than workers, nor by calls from other threads.
// 1 thread: nothing changes any more.
//
// Never blocks. Errors: MYRIAD_ERROR_NULL (the function); MYRIAD_ERROR_INVALID: less than 1
// thread.
//
// # Safety
// Nobody is in OpenBLAS meanwhile. The function may be called from any thread, at any time from
// now on.
enum myriad_status myriad_openblas_threads(void (*set_num_threads)(int), int threads);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MYRIAD_H */
