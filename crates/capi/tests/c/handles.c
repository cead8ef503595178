// Handles that are no longer valid, used again in every function: an error with a text, and nothing else happens.
// Argument: threads or fibers.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

#define STALE(call, words)                                    \
    do {                                                      \
        CHECK((call) == MYRIAD_ERROR_STALE);                  \
        CHECK(strstr(myriad_last_error(), (words)) != NULL);  \
    } while (0)

static void *same(void *argument) { return argument; }

static void *counts(void *argument) {
    atomic_fetch_add((atomic_int *)argument, 1);
    return argument;
}

static void no_task(myriad_task *task, const char *words) {
    void *result = &result;
    STALE(myriad_join(task, &result), words);
    STALE(myriad_join_timeout(task, &result, 0), words);
    STALE(myriad_detach(task), words);
    STALE(myriad_cancel(task), words);
    CHECK(!myriad_is_finished(task));
    CHECK(result == &result);
}

static void tasks(void) {
    static const char WORDS[] = "joined or detached";
    myriad_task *joined, *detached, *timed, *new;
    void *result;
    OK(myriad_spawn(same, &result, &joined));
    OK(myriad_join(joined, NULL));
    no_task(joined, WORDS);
    OK(myriad_spawn(same, NULL, &detached));
    OK(myriad_detach(detached));
    no_task(detached, WORDS);
    OK(myriad_spawn(same, NULL, &timed));
    OK(myriad_join_timeout(timed, NULL, 60 * SECOND));
    no_task(timed, WORDS);
    // A new task, which has the memory of an old one perhaps, is not hit by the old one's handle.
    atomic_int calls = 0;
    for (int i = 0; i < 1000; i++) {
        OK(myriad_spawn(counts, &calls, &new));
        CHECK(new != joined && new != detached && new != timed);
        STALE(myriad_cancel(joined), WORDS);
        STALE(myriad_detach(detached), WORDS);
        OK(myriad_join(new, NULL));
    }
    CHECK(calls == 1000);
}

// A time limit that was too short leaves the handle as it was.
static void a_join_that_was_given_up(void) {
    myriad_channel *gate;
    myriad_task *task;
    void *result;
    OK(myriad_channel_new(0, 0, &gate));
    extern void *passes(void *);
    OK(myriad_spawn(passes, gate, &task));
    for (int i = 0; i < 3; i++) CHECK(myriad_join_timeout(task, &result, 1000) == MYRIAD_ERROR_TIMEOUT);
    CHECK(!myriad_is_finished(task));
    OK(myriad_send(gate, NULL));
    OK(myriad_join(task, &result));
    CHECK(result == gate);
    no_task(task, "joined");
    myriad_channel_free(gate);
}

void *passes(void *gate) {
    OK(myriad_recv(gate, NULL));
    return gate;
}

static void no_channel(myriad_channel *channel, const char *words) {
    long item = 5;
    size_t chosen = 7;
    myriad_case cases[] = {{channel, &item, MYRIAD_RECV}};
    STALE(myriad_send(channel, &item), words);
    STALE(myriad_try_send(channel, &item), words);
    STALE(myriad_send_timeout(channel, &item, 0), words);
    STALE(myriad_recv(channel, &item), words);
    STALE(myriad_try_recv(channel, &item), words);
    STALE(myriad_recv_timeout(channel, &item, 0), words);
    STALE(myriad_channel_close(channel), words);
    STALE(myriad_select(cases, 1, &chosen), words);
    STALE(myriad_try_select(cases, 1, &chosen), words);
    STALE(myriad_select_timeout(cases, 1, &chosen, 0), words);
    CHECK(myriad_channel_length(channel) == 0);
    myriad_channel_free(channel);
    CHECK(strstr(myriad_last_error(), words) != NULL);
    CHECK(item == 5 && chosen == 7);
}

static void channels(void) {
    myriad_channel *freed, *new;
    long item = 3;
    OK(myriad_channel_new(sizeof item, 4, &freed));
    OK(myriad_send(freed, &item));
    myriad_channel_free(freed);
    no_channel(freed, "was freed");
    OK(myriad_channel_new(sizeof item, 4, &new));
    no_channel(freed, "was freed");
    OK(myriad_send(new, &item));
    CHECK(myriad_channel_length(new) == 1);
    myriad_channel_free(new);
}

struct waiter {
    myriad_channel *channel;
    atomic_int begun;
    myriad_status status;
};

static void *waits(void *argument) {
    struct waiter *w = argument;
    long item;
    atomic_store(&w->begun, 1);
    w->status = myriad_recv(w->channel, &item);
    return NULL;
}

static void *selects(void *argument) {
    struct waiter *w = argument;
    long item;
    myriad_case cases[] = {{w->channel, &item, MYRIAD_RECV}, {w->channel, &item, MYRIAD_RECV}};
    atomic_store(&w->begun, 1);
    w->status = myriad_select(cases, 2, NULL);
    return NULL;
}

// Freed while somebody is in it: that ends as if it had been closed.
static void a_channel_that_is_in_use(void) {
    for (int i = 0; i < 100; i++) {
        struct waiter w[2] = {{0}, {0}};
        myriad_task *tasks[2];
        OK(myriad_channel_new(sizeof(long), 1, &w[0].channel));
        w[1].channel = w[0].channel;
        OK(myriad_spawn(waits, &w[0], &tasks[0]));
        OK(myriad_spawn(selects, &w[1], &tasks[1]));
        if (i % 2) {
            while (!atomic_load(&w[0].begun) || !atomic_load(&w[1].begun)) OK(myriad_yield());
        }
        myriad_channel_free(w[0].channel);
        for (int k = 0; k < 2; k++) {
            OK(myriad_join(tasks[k], NULL));
            CHECK(w[k].status == MYRIAD_ERROR_CLOSED || w[k].status == MYRIAD_ERROR_STALE);
        }
    }
}

static void *locks(void *mutex) {
    OK(myriad_mutex_lock(mutex));
    OK(myriad_mutex_unlock(mutex));
    return NULL;
}

static void no_mutex(myriad_mutex *mutex, const char *words) {
    STALE(myriad_mutex_lock(mutex), words);
    STALE(myriad_mutex_try_lock(mutex), words);
    STALE(myriad_mutex_unlock(mutex), words);
    STALE(myriad_mutex_free(mutex), words);
}

static void mutexes(void) {
    myriad_mutex *mutex, *new;
    myriad_task *task;
    OK(myriad_mutex_new(&mutex));
    OK(myriad_mutex_lock(mutex));
    OK(myriad_spawn(locks, mutex, &task));
    for (int i = 0; i < 100; i++) {
        CHECK(myriad_mutex_free(mutex) == MYRIAD_ERROR_LOCKED);
        OK(myriad_yield());
    }
    OK(myriad_mutex_unlock(mutex));
    CHECK(myriad_mutex_unlock(mutex) == MYRIAD_ERROR_NOT_LOCKED || !myriad_is_finished(task));
    OK(myriad_join(task, NULL));
    OK(myriad_mutex_free(mutex));
    no_mutex(mutex, "was freed");
    OK(myriad_mutex_new(&new));
    no_mutex(mutex, "was freed");
    OK(myriad_mutex_free(new));
}

// What was never a handle, or is one of something else.
static void strangers(void) {
    long here = 0;
    myriad_channel *channel;
    myriad_task *task;
    OK(myriad_channel_new(0, 1, &channel));
    OK(myriad_spawn(same, NULL, &task));
    void *strange[] = {&here, (void *)8, (void *)UINTPTR_MAX, (void *)channels};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        no_task(strange[i], "never");
        no_channel(strange[i], "never");
        no_mutex(strange[i], "never");
    }
    no_task((void *)channel, "never");
    no_mutex((void *)task, "never");
    no_channel((void *)task, "never");
    OK(myriad_join(task, NULL));
    myriad_channel_free(channel);
}

struct race {
    myriad_task *task;
    atomic_int won, lost, others;
};

static void *joins(void *argument) {
    struct race *r = argument;
    void *result = NULL;
    myriad_status status = myriad_join(r->task, &result);
    if (status == MYRIAD_OK) {
        CHECK(result == r);
        atomic_fetch_add(&r->won, 1);
    } else {
        CHECK(status == MYRIAD_ERROR_STALE);
        atomic_fetch_add(&r->lost, 1);
    }
    return NULL;
}

static void *asks(void *argument) {
    struct race *r = argument;
    for (int i = 0; i < 20; i++) {
        myriad_is_finished(r->task);
        myriad_status status = myriad_join_timeout(r->task, NULL, 0);
        if (status == MYRIAD_OK) atomic_fetch_add(&r->won, 1);
        CHECK(status == MYRIAD_OK || status == MYRIAD_ERROR_TIMEOUT || status == MYRIAD_ERROR_STALE);
    }
    atomic_fetch_add(&r->others, 1);
    return NULL;
}

// Two tasks and two threads want the same one.
static void races(void) {
    for (int i = 0; i < 200; i++) {
        struct race r = {0};
        myriad_task *joiners[2];
        pthread_t threads[2];
        OK(myriad_spawn(same, &r, &r.task));
        OK(myriad_spawn(joins, &r, &joiners[0]));
        OK(myriad_spawn(joins, &r, &joiners[1]));
        CHECK(pthread_create(&threads[0], NULL, asks, &r) == 0);
        CHECK(pthread_create(&threads[1], NULL, joins, &r) == 0);
        for (int k = 0; k < 2; k++) {
            OK(myriad_join(joiners[k], NULL));
            CHECK(pthread_join(threads[k], NULL) == 0);
        }
        // (Who comes while another one waits for at most a time is told that it is taken, so nobody may have won.)
        if (r.won == 0) OK(myriad_join(r.task, NULL));
        else CHECK(r.won == 1);
        no_task(r.task, "joined");
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    start(argv[1], 2);
    tasks();
    a_join_that_was_given_up();
    channels();
    a_channel_that_is_in_use();
    mutexes();
    strangers();
    races();
    OK(myriad_stop(UINT64_MAX));
    puts("all is well");
    return 0;
}
