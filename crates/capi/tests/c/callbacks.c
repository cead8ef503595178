// Functions of the program that the library calls, and that call it back: each place with each call. Argument: threads or fibers.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

static const char *place;
static atomic_int calls;
// The task that runs the place's function, if it is one that can be cancelled.
static myriad_task *_Atomic own;

static void *same(void *argument) { return argument; }
static void counts(size_t begin, size_t end, void *argument) { atomic_fetch_add((atomic_size_t *)argument, end - begin); }
static void count_one(size_t index, void *argument) { counts(index, index + 1, argument); }

// ------------------------------------------------------------------------------------ what is called

static void spawns_and_joins(void) {
    myriad_task *task;
    void *result;
    OK(myriad_spawn(same, &task, &task));
    OK(myriad_join(task, &result));
    CHECK(result == &task);
    CHECK(myriad_join(task, &result) == MYRIAD_ERROR_STALE);
}

static void joins_for_a_time(void) {
    myriad_task *task;
    OK(myriad_spawn(same, NULL, &task));
    OK(myriad_join_timeout(task, NULL, 60 * SECOND));
}

static void cancels_another(void) {
    myriad_task *task;
    OK(myriad_spawn(same, NULL, &task));
    OK(myriad_cancel(task));
    myriad_status status = myriad_join(task, NULL);
    CHECK(status == MYRIAD_OK || status == MYRIAD_ERROR_CANCELLED);
}

static void runs(void) {
    void *result = NULL;
    OK(myriad_run(same, &result, &result));
    CHECK(result == &result);
}

static void loops(void) {
    atomic_size_t sum = 0;
    OK(myriad_parallel_for(0, 1000, 10, counts, &sum));
    CHECK(sum == 1000);
}

static void gangs(void) {
    atomic_size_t sum = 0;
    myriad_status status = myriad_gang(2, count_one, &sum);
    if (strcmp(place, "gang") == 0) CHECK(status == MYRIAD_ERROR_NESTED && sum == 0);
    else CHECK(status == MYRIAD_OK && sum == 2);
}

static void blocks(void) {
    void *result;
    OK(myriad_blocking(same, &result, &result));
    OK(myriad_keep_thread(same, &result, &result));
    OK(myriad_shield(same, &result, &result));
    OK(myriad_sleep(1000));
    OK(myriad_yield());
}

static void sends(void) {
    myriad_channel *c;
    long item = 7, got = 0;
    OK(myriad_channel_new(sizeof item, 1, &c));
    OK(myriad_send(c, &item));
    CHECK(myriad_send_timeout(c, &item, 1000) == MYRIAD_ERROR_TIMEOUT);
    OK(myriad_recv(c, &got));
    CHECK(got == 7);
    myriad_channel_free(c);
    CHECK(myriad_send(c, &item) == MYRIAD_ERROR_STALE);
}

static void stops(void) {
    if (myriad_in_task()) CHECK(myriad_stop(0) == MYRIAD_ERROR_IN_TASK);
    CHECK(myriad_start(NULL) == MYRIAD_ERROR_STARTED);
}

static void (*const actions[])(void) = {spawns_and_joins, joins_for_a_time, cancels_another, runs, loops, gangs, blocks, sends, stops};
enum { ACTIONS = sizeof actions / sizeof *actions };

// ------------------------------------------------------------------------------------ where

static void *all(void *argument) {
    for (int i = 0; i < ACTIONS; i++) actions[i]();
    atomic_fetch_add(&calls, 1);
    return argument;
}

static void all_of_a_part(size_t begin, size_t end, void *argument) {
    for (size_t i = begin; i < end; i++) all(argument);
}

static void all_of_a_job(size_t index, void *argument) {
    (void)index;
    all(argument);
}

static void in_run(void) { OK(myriad_run(all, NULL, NULL)); }
static void in_blocking(void) { OK(myriad_blocking(all, NULL, NULL)); }
static void in_keep_thread(void) { OK(myriad_keep_thread(all, NULL, NULL)); }
static void in_shield(void) { OK(myriad_shield(all, NULL, NULL)); }
static void in_a_loop(void) { OK(myriad_parallel_for(0, 3, 1, all_of_a_part, NULL)); }
static void in_a_gang(void) { OK(myriad_gang(2, all_of_a_job, NULL)); }

static const struct {
    const char *name;
    void (*call)(void);
    int calls;
} places[] = {
    {"run", in_run, 1},       {"blocking", in_blocking, 1}, {"keep_thread", in_keep_thread, 1},
    {"shield", in_shield, 1}, {"loop", in_a_loop, 3},       {"gang", in_a_gang, 2},
};
enum { PLACES = sizeof places / sizeof *places };

static void *in_a_task(void *number) {
    places[(size_t)number].call();
    return NULL;
}

// For a build with AddressSanitizer: at a thread's end the C library itself loses a few bytes for each destructor that is registered there.
const char *__lsan_default_suppressions(void) { return "leak:__cxa_thread_atexit_impl"; }

// A thread's own data, when it ends.
static void at_an_end(void *argument) { all(argument); }

static void *ends(void *key) {
    CHECK(pthread_setspecific(*(pthread_key_t *)key, key) == 0);
    return NULL;
}

// ------------------------------------------------------------------------------------ cancelled in the middle

static void *cancels_itself(void *argument) {
    while (!atomic_load(&own)) OK(myriad_yield());
    OK(myriad_cancel(atomic_load(&own)));
    CHECK(myriad_is_cancelled());
    CHECK(myriad_sleep(3600 * SECOND) == MYRIAD_ERROR_CANCELLED);
    return argument;
}

static void cancels_in_a_part(size_t begin, size_t end, void *argument) {
    (void)end;
    if (begin == 0) {
        while (!atomic_load(&own)) OK(myriad_yield());
        OK(myriad_cancel(atomic_load(&own)));
        myriad_sleep(3600 * SECOND);
    }
    atomic_fetch_add((atomic_int *)argument, 1);
}

static void *loops_and_is_cancelled(void *argument) {
    CHECK(myriad_parallel_for(0, 100000, 1, cancels_in_a_part, argument) == MYRIAD_ERROR_CANCELLED);
    int parts = atomic_load((atomic_int *)argument);
    // None runs any more.
    void *result = NULL;
    OK(myriad_shield(same, argument, &result));
    CHECK(result == argument && atomic_load((atomic_int *)argument) == parts);
    return argument;
}

// Nothing sets it aside there, so nothing ends a wait there, either: the cancellation arrives behind it.
static void *cancels_itself_while_kept(void *argument) {
    while (!atomic_load(&own)) OK(myriad_yield());
    OK(myriad_cancel(atomic_load(&own)));
    CHECK(!myriad_is_cancelled());
    OK(myriad_sleep(1000));
    return argument;
}

static void *keeps_its_thread(void *argument) {
    void *result = NULL;
    OK(myriad_keep_thread(cancels_itself_while_kept, argument, &result));
    CHECK(result == argument);
    CHECK(myriad_sleep(3600 * SECOND) == MYRIAD_ERROR_CANCELLED);
    return result;
}

static void cancelled(myriad_function function, void *argument) {
    myriad_task *task;
    void *result = NULL;
    atomic_store(&own, NULL);
    OK(myriad_spawn(function, argument, &task));
    atomic_store(&own, task);
    while (!myriad_is_finished(task)) OK(myriad_yield());
    OK(myriad_join(task, &result));
    CHECK(result == argument);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    for (size_t workers = 1; workers <= 2; workers++) {
        start(argv[1], workers);
        for (size_t i = 0; i < PLACES; i++) {
            place = places[i].name;
            atomic_store(&calls, 0);
            places[i].call();
            CHECK(atomic_load(&calls) == places[i].calls);
            OK(myriad_run(in_a_task, (void *)i, NULL));
            CHECK(atomic_load(&calls) == 2 * places[i].calls);
        }
        place = "a thread's end";
        pthread_key_t key;
        pthread_t thread;
        CHECK(pthread_key_create(&key, at_an_end) == 0);
        CHECK(pthread_create(&thread, NULL, ends, &key) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(pthread_key_delete(key) == 0);
        atomic_int parts = 0;
        cancelled(cancels_itself, &parts);
        cancelled(loops_and_is_cancelled, &parts);
        cancelled(keeps_its_thread, &parts);
        OK(myriad_stop(UINT64_MAX));
    }
    puts("all is well");
    return 0;
}
