// Cancelling tasks, and waiting for one of several things. Argument: threads or fibers.
#include <stdatomic.h>

#include "check.h"

enum { HOUR = 3600 };

// ---------------------------------------------------------------------------------------------- cancelling

struct waiter {
    myriad_channel *never, *out;
    myriad_mutex *taken;
    atomic_int begun;
    int waits;
};

static void *cleans_up(void *argument) {
    struct waiter *w = argument;
    int done = 7;
    CHECK(!myriad_is_cancelled());
    // A wait that is really one: at a rendezvous.
    OK(myriad_send(w->out, &done));
    return w;
}

static void *waits(void *argument) {
    struct waiter *w = argument;
    int item = 5;
    atomic_store(&w->begun, 1);
    CHECK(myriad_recv(w->never, &item) == MYRIAD_ERROR_CANCELLED);
    CHECK(strstr(myriad_last_error(), "cancelled") != NULL && item == 5);
    // It arrives at each wait, of whatever kind, and none has an effect.
    myriad_case cases[] = {{w->never, &item, MYRIAD_RECV}};
    CHECK(myriad_is_cancelled());
    CHECK(myriad_recv_timeout(w->never, &item, HOUR * SECOND) == MYRIAD_ERROR_CANCELLED);
    CHECK(myriad_send(w->never, &item) == MYRIAD_ERROR_CANCELLED);
    CHECK(myriad_select(cases, 1, NULL) == MYRIAD_ERROR_CANCELLED);
    CHECK(myriad_mutex_lock(w->taken) == MYRIAD_ERROR_CANCELLED);
    CHECK(myriad_sleep(HOUR * SECOND) == MYRIAD_ERROR_CANCELLED);
    CHECK(myriad_yield() == MYRIAD_ERROR_CANCELLED);
    void *result;
    OK(myriad_shield(cleans_up, w, &result));
    CHECK(result == w && myriad_is_cancelled());
    CHECK(myriad_sleep(HOUR * SECOND) == MYRIAD_ERROR_CANCELLED);
    w->waits = 1;
    return &w->waits;
}

static void a_task_that_waits(void) {
    struct waiter w = {0};
    OK(myriad_channel_new(sizeof(int), 0, &w.never));
    OK(myriad_channel_new(sizeof(int), 0, &w.out));
    OK(myriad_mutex_new(&w.taken));
    OK(myriad_mutex_lock(w.taken));
    myriad_task *task;
    OK(myriad_spawn(waits, &w, &task));
    while (!atomic_load(&w.begun)) OK(myriad_yield());
    OK(myriad_cancel(task));
    OK(myriad_cancel(task));
    int got = 0;
    OK(myriad_recv(w.out, &got));
    CHECK(got == 7);
    // It has returned, and its result is there.
    void *result;
    OK(myriad_join(task, &result));
    CHECK(result == &w.waits && w.waits == 1);
    OK(myriad_mutex_unlock(w.taken));
    OK(myriad_mutex_free(w.taken));
    myriad_channel_free(w.never);
    myriad_channel_free(w.out);
}

static void *counts(void *argument) {
    atomic_fetch_add((atomic_int *)argument, 1);
    return NULL;
}

// On one worker, which is the caller's: it cannot have begun.
static void *cancels_before_it_begins(void *argument) {
    atomic_int calls = 0;
    myriad_task *task;
    void *result = argument;
    OK(myriad_spawn(counts, &calls, &task));
    OK(myriad_cancel(task));
    CHECK(myriad_join(task, &result) == MYRIAD_ERROR_CANCELLED);
    CHECK(calls == 0 && result == argument && !myriad_is_cancelled());
    // One that has ended already has its result.
    OK(myriad_spawn(counts, &calls, &task));
    while (!myriad_is_finished(task)) OK(myriad_yield());
    OK(myriad_cancel(task));
    OK(myriad_join(task, NULL));
    CHECK(calls == 1);
    return NULL;
}

static void *computes(void *argument) {
    atomic_int *begun = argument;
    atomic_store(begun, 1);
    while (!myriad_is_cancelled()) {
    }
    return argument;
}

static void *sleeps(void *argument) {
    atomic_store((atomic_int *)argument, 1);
    CHECK(myriad_sleep(HOUR * SECOND) == MYRIAD_ERROR_CANCELLED);
    atomic_store((atomic_int *)argument, 2);
    return NULL;
}

static void *joins(void *argument) {
    myriad_task *task;
    OK(myriad_spawn(sleeps, argument, &task));
    // It is passed on, and returns when the other one has ended: with its result, if that one has run on this stack.
    myriad_status status = myriad_join(task, NULL);
    CHECK(status == MYRIAD_OK || status == MYRIAD_ERROR_CANCELLED);
    CHECK(atomic_load((atomic_int *)argument) == 2 && myriad_is_cancelled());
    return NULL;
}

static void tasks_that_compute_and_join(void) {
    atomic_int state = 0;
    myriad_task *task;
    void *result;
    OK(myriad_spawn(computes, &state, &task));
    while (!atomic_load(&state)) OK(myriad_yield());
    OK(myriad_cancel(task));
    OK(myriad_join(task, &result));
    CHECK(result == &state && !myriad_is_cancelled());
    state = 0;
    OK(myriad_spawn(joins, &state, &task));
    while (!atomic_load(&state)) OK(myriad_yield());
    OK(myriad_cancel(task));
    OK(myriad_join(task, NULL));
    CHECK(state == 2);
}

// ---------------------------------------------------------------------------------------------- joining in time

static void *returns_what_it_gets(void *argument) {
    void *got = NULL;
    return myriad_recv(argument, &got) == MYRIAD_OK ? got : NULL;
}

static void *joins_in_time(void *argument) {
    myriad_task *task = argument;
    CHECK(myriad_join_timeout(task, NULL, HOUR * SECOND) == MYRIAD_ERROR_CANCELLED);
    return NULL;
}

static void joining_in_time(void) {
    myriad_channel *c;
    myriad_task *task, *joiner;
    void *result = &c, *item = &task;
    OK(myriad_channel_new(sizeof item, 0, &c));
    OK(myriad_spawn(returns_what_it_gets, c, &task));
    CHECK(myriad_join_timeout(task, &result, 0) == MYRIAD_ERROR_TIMEOUT);
    CHECK(myriad_join_timeout(task, &result, 1000000) == MYRIAD_ERROR_TIMEOUT);
    CHECK(result == &c && !myriad_is_finished(task));
    OK(myriad_send(c, &item));
    OK(myriad_join_timeout(task, &result, HOUR * SECOND));
    CHECK(result == item);
    // Who is cancelled while he waits leaves the other one behind.
    OK(myriad_spawn(returns_what_it_gets, c, &task));
    OK(myriad_spawn(joins_in_time, task, &joiner));
    OK(myriad_sleep(1000000));
    if (!myriad_is_finished(joiner)) OK(myriad_cancel(joiner));
    myriad_status status = myriad_join(joiner, NULL);
    // (If it had not begun, the task has lost its owner.)
    CHECK(status == MYRIAD_OK || status == MYRIAD_ERROR_CANCELLED);
    OK(myriad_send(c, &item));
    if (status == MYRIAD_ERROR_CANCELLED) OK(myriad_join(task, NULL));
    myriad_channel_free(c);
}

// ---------------------------------------------------------------------------------------------- one of several

struct source {
    myriad_channel *to;
    int from, count;
};

static void *sends(void *argument) {
    struct source *s = argument;
    for (int i = 0; i < s->count; i++) {
        int item = s->from + i;
        OK(myriad_send(s->to, &item));
    }
    OK(myriad_channel_close(s->to));
    return NULL;
}

// Receives from three until all are closed.
static void *merges(void *argument) {
    enum { SOURCES = 3, ITEMS = 200 };
    struct source sources[SOURCES];
    myriad_task *tasks[SOURCES];
    myriad_case cases[SOURCES];
    int items[SOURCES], next[SOURCES], open = SOURCES;
    size_t capacities[SOURCES] = {0, 3, MYRIAD_UNBOUNDED};
    for (int i = 0; i < SOURCES; i++) {
        sources[i] = (struct source){NULL, 1000 * i, ITEMS};
        OK(myriad_channel_new(sizeof(int), capacities[i], &sources[i].to));
        cases[i] = (myriad_case){sources[i].to, &items[i], MYRIAD_RECV};
        next[i] = 1000 * i;
        OK(myriad_spawn(sends, &sources[i], &tasks[i]));
    }
    while (open > 0) {
        size_t i = SOURCES;
        myriad_status status = myriad_select(cases, SOURCES, &i);
        CHECK(i < SOURCES);
        if (status == MYRIAD_OK) {
            CHECK(items[i] == next[i]++);
        } else {
            CHECK(status == MYRIAD_ERROR_CLOSED && next[i] == 1000 * (int)i + ITEMS);
            cases[i].channel = NULL;
            open--;
        }
    }
    for (int i = 0; i < SOURCES; i++) {
        OK(myriad_join(tasks[i], NULL));
        myriad_channel_free(sources[i].to);
    }
    return argument;
}

struct large {
    char text[100];
};

static void one_of_several(void) {
    myriad_channel *ints, *texts, *flags;
    int number = 1;
    struct large text = {"text"};
    size_t chosen = 9;
    OK(myriad_channel_new(sizeof number, 1, &ints));
    OK(myriad_channel_new(sizeof text, 1, &texts));
    OK(myriad_channel_new(0, 1, &flags));
    myriad_case receive[] = {{ints, &number, MYRIAD_RECV}, {texts, &text, MYRIAD_RECV}, {flags, NULL, MYRIAD_RECV}};
    CHECK(myriad_try_select(receive, 3, &chosen) == MYRIAD_ERROR_EMPTY);
    CHECK(myriad_select_timeout(receive, 3, &chosen, 1000000) == MYRIAD_ERROR_TIMEOUT);
    CHECK(chosen == 9 && number == 1 && strcmp(text.text, "text") == 0);
    // Sending: each once, then all are full; whichever is chosen, the others were not sent.
    myriad_case send[] = {{ints, &number, MYRIAD_SEND}, {texts, &text, MYRIAD_SEND}, {flags, NULL, MYRIAD_SEND}};
    int sent[3] = {0};
    for (int i = 0; i < 3; i++) {
        OK(myriad_select(send, 3, &chosen));
        sent[chosen]++;
        CHECK(myriad_channel_length(ints) + myriad_channel_length(texts) + myriad_channel_length(flags) == (size_t)i + 1);
    }
    CHECK(sent[0] == 1 && sent[1] == 1 && sent[2] == 1);
    CHECK(myriad_try_select(send, 3, NULL) == MYRIAD_ERROR_EMPTY);
    number = 0;
    memset(&text, 0, sizeof text);
    for (int i = 0; i < 3; i++) OK(myriad_select_timeout(receive, 3, NULL, SECOND));
    CHECK(number == 1 && strcmp(text.text, "text") == 0);
    // Closed, for both; of others nothing is done.
    OK(myriad_channel_close(texts));
    CHECK(myriad_select(receive, 3, &chosen) == MYRIAD_ERROR_CLOSED && chosen == 1);
    CHECK(myriad_try_select(send + 1, 1, &chosen) == MYRIAD_ERROR_CLOSED && chosen == 0);
    // Without a channel: never ready.
    myriad_case off[] = {{NULL, NULL, MYRIAD_RECV}, {ints, &number, MYRIAD_SEND}};
    OK(myriad_select(off, 2, &chosen));
    CHECK(chosen == 1 && myriad_channel_length(ints) == 1);
    CHECK(myriad_try_select(off, 1, NULL) == MYRIAD_ERROR_EMPTY);
    CHECK(myriad_select_timeout(NULL, 0, NULL, 1000) == MYRIAD_ERROR_TIMEOUT);
    CHECK(myriad_select(off, 1, NULL) == MYRIAD_ERROR_INVALID);
    CHECK(strstr(myriad_last_error(), "for ever") != NULL);
    CHECK(myriad_select(NULL, 0, NULL) == MYRIAD_ERROR_INVALID);
    CHECK(myriad_select(NULL, 2, NULL) == MYRIAD_ERROR_NULL);
    CHECK(myriad_select(off, (size_t)-1, NULL) == MYRIAD_ERROR_INVALID && strstr(myriad_last_error(), "cases") != NULL);
    myriad_case bad[] = {{ints, &number, MYRIAD_RECV}, {ints, NULL, MYRIAD_RECV}, {ints, &number, 7}};
    CHECK(myriad_select(bad, 2, NULL) == MYRIAD_ERROR_NULL && strstr(myriad_last_error(), "case 1") != NULL);
    CHECK(myriad_select(bad + 2, 1, NULL) == MYRIAD_ERROR_INVALID && strstr(myriad_last_error(), "MYRIAD_SEND") != NULL);
    CHECK(myriad_channel_length(ints) == 1);
    myriad_channel_free(ints);
    myriad_channel_free(texts);
    myriad_channel_free(flags);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(myriad_cancel(NULL) == MYRIAD_ERROR_NULL && myriad_join_timeout(NULL, NULL, 0) == MYRIAD_ERROR_NULL);
    CHECK(myriad_shield(NULL, NULL, NULL) == MYRIAD_ERROR_NULL && !myriad_is_cancelled());
    for (size_t workers = 1; workers <= 3; workers += 2) {
        start(argv[1], workers);
        if (workers == 1) OK(myriad_run(cancels_before_it_begins, NULL, NULL));
        for (int i = 0; i < 20; i++) {
            a_task_that_waits();
            tasks_that_compute_and_join();
            joining_in_time();
            one_of_several();
            merges(NULL);
            OK(myriad_run(merges, NULL, NULL));
        }
        OK(myriad_stop(20 * SECOND));
    }
    puts("all is well");
    return 0;
}
