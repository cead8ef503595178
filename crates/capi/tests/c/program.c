// Everything of the interface, used well. Argument: threads or fibers.
#include <stdatomic.h>

#include "check.h"

static void *add(void *argument) {
    int *pair = argument;
    pair[0] += pair[1];
    return &pair[0];
}

static void *fib(void *argument) {
    intptr_t n = (intptr_t)argument;
    if (n < 2) return (void *)n;
    myriad_task *task;
    void *a, *b;
    OK(myriad_spawn(fib, (void *)(n - 1), &task));
    b = fib((void *)(n - 2));
    OK(myriad_join(task, &a));
    return (void *)((intptr_t)a + (intptr_t)b);
}

static void tasks(void) {
    int pair[2] = {40, 2};
    myriad_task *task;
    void *result;
    OK(myriad_spawn_named("adder", add, pair, &task));
    OK(myriad_join(task, &result));
    CHECK(result == pair && pair[0] == 42);
    OK(myriad_run(fib, (void *)15, &result));
    CHECK((intptr_t)result == 610);
    OK(myriad_spawn(add, pair, &task));
    while (!myriad_is_finished(task)) OK(myriad_yield());
    OK(myriad_join(task, NULL));
    CHECK(pair[0] == 44);
}

struct stage {
    myriad_channel *in, *out;
};

static void *stage(void *argument) {
    struct stage *s = argument;
    long long number;
    while (myriad_recv(s->in, &number) == MYRIAD_OK) {
        CHECK(myriad_in_task());
        number += 1;
        OK(myriad_send(s->out, &number));
    }
    OK(myriad_channel_close(s->out));
    return NULL;
}

// Numbers through ten stages, each a task; from this thread, which is none.
static void pipeline(size_t capacity) {
    enum { STAGES = 10, NUMBERS = 500 };
    myriad_channel *channels[STAGES + 1];
    struct stage stages[STAGES];
    myriad_task *workers[STAGES], *sender;
    for (int i = 0; i <= STAGES; i++) OK(myriad_channel_new(sizeof(long long), i == STAGES ? MYRIAD_UNBOUNDED : capacity, &channels[i]));
    for (int i = 0; i < STAGES; i++) {
        stages[i] = (struct stage){channels[i], channels[i + 1]};
        OK(myriad_spawn(stage, &stages[i], &workers[i]));
    }
    sender = workers[0];
    for (long long n = 0; n < NUMBERS; n++) OK(myriad_send(channels[0], &n));
    OK(myriad_channel_close(channels[0]));
    for (long long n = 0, got; n < NUMBERS; n++) {
        OK(myriad_recv(channels[STAGES], &got));
        CHECK(got == n + STAGES);
    }
    CHECK(sender == workers[0]);
    for (int i = 0; i < STAGES; i++) OK(myriad_join(workers[i], NULL));
    for (int i = 0; i <= STAGES; i++) myriad_channel_free(channels[i]);
}

struct large {
    char text[1000];
};

static void *wait_and_take(void *argument) {
    struct large large;
    OK(myriad_recv(argument, &large));
    CHECK(strcmp(large.text, "large") == 0);
    return NULL;
}

static void channels(void) {
    myriad_channel *c;
    int number = 7, got = 0;
    OK(myriad_channel_new(sizeof(int), 1, &c));
    CHECK(myriad_try_recv(c, &got) == MYRIAD_ERROR_EMPTY);
    CHECK(myriad_recv_timeout(c, &got, 1000) == MYRIAD_ERROR_TIMEOUT);
    OK(myriad_try_send(c, &number));
    CHECK(myriad_channel_length(c) == 1);
    CHECK(myriad_try_send(c, &number) == MYRIAD_ERROR_FULL);
    CHECK(myriad_send_timeout(c, &number, 1000) == MYRIAD_ERROR_TIMEOUT);
    OK(myriad_channel_close(c));
    CHECK(myriad_send(c, &number) == MYRIAD_ERROR_CLOSED);
    CHECK(myriad_try_send(c, &number) == MYRIAD_ERROR_CLOSED);
    CHECK(myriad_send_timeout(c, &number, SECOND) == MYRIAD_ERROR_CLOSED);
    OK(myriad_recv_timeout(c, &got, SECOND));
    CHECK(got == 7);
    CHECK(myriad_recv(c, &got) == MYRIAD_ERROR_CLOSED);
    CHECK(myriad_try_recv(c, &got) == MYRIAD_ERROR_CLOSED);
    CHECK(myriad_recv_timeout(c, &got, SECOND) == MYRIAD_ERROR_CLOSED);
    myriad_channel_free(c);

    // Larger items, at a rendezvous; and items of no bytes.
    struct large large = {"large"};
    myriad_task *task;
    OK(myriad_channel_new(sizeof large, 0, &c));
    OK(myriad_spawn(wait_and_take, c, &task));
    OK(myriad_send(c, &large));
    OK(myriad_join(task, NULL));
    myriad_channel_free(c);
    OK(myriad_channel_new(0, MYRIAD_UNBOUNDED, &c));
    for (int i = 0; i < 100; i++) OK(myriad_send(c, NULL));
    for (int i = 0; i < 100; i++) OK(myriad_recv(c, NULL));
    CHECK(myriad_channel_length(c) == 0);
    myriad_channel_free(c);
}

static void square(size_t begin, size_t end, void *argument) {
    long *numbers = argument;
    for (size_t i = begin; i < end; i++) numbers[i] = (long)(i * i);
}

static void *loops(void *argument) {
    static long numbers[10000];
    size_t grains[] = {0, 1, 7, 20000};
    for (int g = 0; g < 4; g++) {
        memset(numbers, 0, sizeof numbers);
        OK(myriad_parallel_for(1, 10000, grains[g], square, numbers));
        for (long i = 0; i < 10000; i++) CHECK(numbers[i] == i * i);
    }
    OK(myriad_parallel_for(5, 5, 0, square, numbers));
    OK(myriad_parallel_for(6, 5, 0, square, numbers));
    return argument;
}

struct counter {
    myriad_mutex *mutex;
    int count;
};

static void *count(void *argument) {
    struct counter *counter = argument;
    for (int i = 0; i < 100; i++) {
        OK(myriad_mutex_lock(counter->mutex));
        int before = counter->count;
        if (i % 10 == 0) OK(myriad_sleep(1000));
        counter->count = before + 1;
        OK(myriad_mutex_unlock(counter->mutex));
    }
    return NULL;
}

static void mutexes(void) {
    struct counter counter = {NULL, 0};
    OK(myriad_mutex_new(&counter.mutex));
    myriad_task *tasks[8];
    for (int i = 0; i < 8; i++) OK(myriad_spawn(count, &counter, &tasks[i]));
    for (int i = 0; i < 8; i++) OK(myriad_join(tasks[i], NULL));
    CHECK(counter.count == 800);
    OK(myriad_mutex_try_lock(counter.mutex));
    CHECK(myriad_mutex_try_lock(counter.mutex) == MYRIAD_ERROR_LOCKED);
    CHECK(myriad_mutex_free(counter.mutex) == MYRIAD_ERROR_LOCKED);
    OK(myriad_mutex_unlock(counter.mutex));
    CHECK(myriad_mutex_unlock(counter.mutex) == MYRIAD_ERROR_NOT_LOCKED);
    OK(myriad_mutex_free(counter.mutex));
}

enum { GANG = 4 };

static void meet(size_t index, void *argument) {
    atomic_int *here = argument;
    CHECK(index < GANG);
    atomic_fetch_add(here, 1);
    // The machine may have fewer processors than this gang has jobs: in a job this yields to other threads.
    while (atomic_load(here) < GANG) OK(myriad_yield());
    CHECK(myriad_gang(2, meet, argument) == MYRIAD_ERROR_NESTED);
}

static void *gangs(void *argument) {
    atomic_int here = 0;
    OK(myriad_gang(GANG, meet, &here));
    CHECK(here == GANG);
    return argument;
}

static atomic_int number;

static void set_number(int n) { atomic_store(&number, n); }

static void part(int i, void *data, int more) {
    (void)i, (void)data, (void)more;
}

static void *a_divided_call(void *argument) {
    myriad_openblas_gang(1, part, 2, 0, NULL, 0);
    return argument;
}

// What OpenBLAS would do: one thread while all workers are busy. (With 1 worker it is always busy when it calls, and 1 thread is never lowered.)
static void openblas(int workers) {
    CHECK(myriad_openblas_threads(NULL, 1) == MYRIAD_ERROR_NULL);
    CHECK(myriad_openblas_threads(set_number, 0) == MYRIAD_ERROR_INVALID);
    OK(myriad_openblas_threads(set_number, workers));
    CHECK(number == workers);
    OK(myriad_run(a_divided_call, NULL, NULL));
    while (atomic_load(&number) != workers) {
    }
    OK(myriad_openblas_threads(set_number, 1));
    CHECK(number == 1);
}

static void *sleeps(void *argument) {
    OK(myriad_sleep(1000000));
    return argument;
}

static void *waits_elsewhere(void *argument) {
    void *result;
    OK(myriad_blocking(sleeps, argument, &result));
    CHECK(result == argument);
    OK(myriad_keep_thread(sleeps, argument, &result));
    CHECK(result == argument);
    return argument;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(!myriad_in_task() && myriad_workers() == 0);
    // Started, stopped, and started again.
    for (size_t workers = 1; workers <= 3; workers += 2) {
        start(argv[1], workers);
        CHECK(myriad_workers() == workers);
        tasks();
        channels();
        pipeline(0);
        pipeline(3);
        pipeline(MYRIAD_UNBOUNDED);
        loops(NULL);
        mutexes();
        gangs(NULL);
        OK(myriad_run(loops, NULL, NULL));
        OK(myriad_run(gangs, NULL, NULL));
        OK(myriad_run(waits_elsewhere, argv, NULL));
        openblas((int)workers);
        // Detached, in either way.
        myriad_task *task;
        int pair[2] = {1, 1}, pair2[2] = {1, 1};
        OK(myriad_spawn(add, pair, &task));
        OK(myriad_detach(task));
        OK(myriad_spawn(add, pair2, NULL));
        OK(myriad_stop(20 * SECOND));
        CHECK(pair[0] == 2 && pair2[0] == 2);
    }
    puts("all is well");
    return 0;
}
