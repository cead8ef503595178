// Everything of the interface, used badly: an error that says what to do, each time. Argument: threads or fibers.
#include <stdatomic.h>

#include "check.h"

#define FAILS(call, status, words)                                        \
    do {                                                                  \
        CHECK((call) == (status));                                        \
        CHECK(strstr(myriad_last_error(), (words)) != NULL);              \
        CHECK(strlen(myriad_error_message(status)) > 5);                  \
    } while (0)

static atomic_int spins;

static void *never(void *argument) {
    atomic_store(&spins, 1);
    while (atomic_load(&spins)) {
    }
    return argument;
}

static void *nothing(void *argument) { return argument; }

static void *stops(void *argument) {
    FAILS(myriad_stop(0), MYRIAD_ERROR_IN_TASK, "wait for itself");
    return argument;
}

static void *joins_itself(void *argument) {
    myriad_channel *c = argument;
    myriad_task *me;
    OK(myriad_recv(c, &me));
    FAILS(myriad_join(me, NULL), MYRIAD_ERROR_IN_TASK, "itself");
    return NULL;
}

static void *joins_itself_for_long(void *argument) {
    myriad_channel *c = argument;
    myriad_task *me;
    OK(myriad_recv(c, &me));
    FAILS(myriad_join_timeout(me, NULL, UINT64_MAX), MYRIAD_ERROR_IN_TASK, "itself");
    return NULL;
}

static void before_start(void) {
    myriad_task *task = NULL;
    CHECK(strcmp(myriad_last_error(), "") == 0);
    FAILS(myriad_spawn(nothing, NULL, &task), MYRIAD_ERROR_NOT_STARTED, "myriad_start");
    FAILS(myriad_run(nothing, NULL, NULL), MYRIAD_ERROR_NOT_STARTED, "myriad_start");
    FAILS(myriad_parallel_for(0, 1, 0, NULL, NULL), MYRIAD_ERROR_NULL, "body");
    FAILS(myriad_stop(0), MYRIAD_ERROR_NOT_STARTED, "not started");
    CHECK(task == NULL && myriad_workers() == 0);
}

static void settings(void) {
    myriad_settings s = myriad_settings_default();
    CHECK(s.workers >= 1);
    s.workers = 0;
    FAILS(myriad_start(&s), MYRIAD_ERROR_INVALID, "at least 1 worker");
    s.workers = 1u << 30;
    FAILS(myriad_start(&s), MYRIAD_ERROR_INVALID, "too many");
    s = myriad_settings_default();
    s.mode = 7;
    FAILS(myriad_start(&s), MYRIAD_ERROR_INVALID, "MYRIAD_FIBERS");
    s = myriad_settings_default();
    s.stack_size = 1;
    FAILS(myriad_start(&s), MYRIAD_ERROR_INVALID, "too small");
    s = myriad_settings_default();
    s.size = 1;
    FAILS(myriad_start(&s), MYRIAD_ERROR_INVALID, "myriad_settings_default");
    s = myriad_settings_default();
    s.name = "\xff";
    FAILS(myriad_start(&s), MYRIAD_ERROR_INVALID, "UTF-8");
}

static void nulls(void) {
    FAILS(myriad_spawn(NULL, NULL, NULL), MYRIAD_ERROR_NULL, "function");
    FAILS(myriad_spawn_named(NULL, nothing, NULL, NULL), MYRIAD_ERROR_NULL, "name");
    FAILS(myriad_spawn_named("\xff", nothing, NULL, NULL), MYRIAD_ERROR_INVALID, "UTF-8");
    FAILS(myriad_run(NULL, NULL, NULL), MYRIAD_ERROR_NULL, "function");
    FAILS(myriad_blocking(NULL, NULL, NULL), MYRIAD_ERROR_NULL, "function");
    FAILS(myriad_keep_thread(NULL, NULL, NULL), MYRIAD_ERROR_NULL, "function");
    FAILS(myriad_join(NULL, NULL), MYRIAD_ERROR_NULL, "task");
    FAILS(myriad_detach(NULL), MYRIAD_ERROR_NULL, "task");
    CHECK(!myriad_is_finished(NULL));
    FAILS(myriad_parallel_for(0, 10, 0, NULL, NULL), MYRIAD_ERROR_NULL, "body");
    FAILS(myriad_gang(2, NULL, NULL), MYRIAD_ERROR_NULL, "job");
    FAILS(myriad_channel_new(4, 1, NULL), MYRIAD_ERROR_NULL, "pointer");
    FAILS(myriad_send(NULL, NULL), MYRIAD_ERROR_NULL, "channel");
    FAILS(myriad_recv(NULL, NULL), MYRIAD_ERROR_NULL, "channel");
    FAILS(myriad_channel_close(NULL), MYRIAD_ERROR_NULL, "channel");
    CHECK(myriad_channel_length(NULL) == 0);
    myriad_channel_free(NULL);
    myriad_channel *c;
    OK(myriad_channel_new(4, 1, &c));
    FAILS(myriad_send(c, NULL), MYRIAD_ERROR_NULL, "item");
    FAILS(myriad_try_recv(c, NULL), MYRIAD_ERROR_NULL, "item");
    myriad_channel_free(c);
    FAILS(myriad_channel_new((size_t)1 << 40, 1, &c), MYRIAD_ERROR_INVALID, "pointers");
    FAILS(myriad_channel_new(4, (size_t)1 << 40, &c), MYRIAD_ERROR_INVALID, "MYRIAD_UNBOUNDED");
    FAILS(myriad_mutex_new(NULL), MYRIAD_ERROR_NULL, "lock");
    FAILS(myriad_mutex_lock(NULL), MYRIAD_ERROR_NULL, "lock");
    FAILS(myriad_mutex_try_lock(NULL), MYRIAD_ERROR_NULL, "lock");
    FAILS(myriad_mutex_unlock(NULL), MYRIAD_ERROR_NULL, "lock");
    OK(myriad_mutex_free(NULL));
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(strcmp(myriad_error_message(-1), "not a status of Myriad") == 0);
    CHECK(strlen(myriad_version()) >= 5);
    before_start();
    settings();
    nulls();
    start(argv[1], 1);
    FAILS(myriad_start(NULL), MYRIAD_ERROR_STARTED, "myriad_stop");
    OK(myriad_run(stops, NULL, NULL));
    FAILS(myriad_gang(1u << 20, NULL, NULL), MYRIAD_ERROR_NULL, "job");
    nulls();

    myriad_channel *c;
    myriad_task *task, *late;
    OK(myriad_channel_new(sizeof task, 1, &c));
    OK(myriad_spawn(joins_itself, c, &task));
    OK(myriad_send(c, &task));
    OK(myriad_spawn(joins_itself_for_long, c, &task));
    OK(myriad_send(c, &task));
    // (They have joined, and so freed, their own handles.)
    OK(myriad_stop(20 * SECOND));
    FAILS(myriad_stop(0), MYRIAD_ERROR_NOT_STARTED, "has been stopped");
    myriad_channel_free(c);

    // A callback that does not return while the runtime stops is named.
    myriad_settings s = myriad_settings_default();
    s.workers = 1;
    s.mode = strcmp(argv[1], "fibers") == 0 ? MYRIAD_FIBERS : MYRIAD_THREADS;
    OK(myriad_start(&s));
    OK(myriad_spawn_named("spins for ever", never, NULL, &task));
    while (!atomic_load(&spins)) {
    }
    FAILS(myriad_stop(1000000), MYRIAD_ERROR_UNFINISHED, "task 'spins for ever': still runs");
    FAILS(myriad_spawn(nothing, NULL, &late), MYRIAD_ERROR_NOT_STARTED, "myriad_start");
    atomic_store(&spins, 0);
    OK(myriad_join(task, NULL));
    puts("all is well");
    return 0;
}
