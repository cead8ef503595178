// A program that opens the library by itself, and closes it again: when all its threads have ended, or ("live") before.
// Arguments: threads or fibers, the library, ended or live.
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

#define GET(name)                                      \
    __typeof__(&myriad_##name) name = NULL;            \
    *(void **)&name = dlsym(library, "myriad_" #name); \
    if (!name) fprintf(stderr, "%s\n", dlerror()), exit(1)

#define IS(call, expected)                                                                            \
    do {                                                                                              \
        if ((call) != (expected)) fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call), exit(1); \
    } while (0)

static void *doubles(void *argument) { return (void *)(2 * (intptr_t)argument); }

static void job(size_t index, void *argument) {
    (void)index;
    (void)argument;
}

static __typeof__(&myriad_sleep) sleeps_for;
static atomic_int is_closed;

static void *sleeps(void *argument) {
    while (!atomic_load(&is_closed)) sleeps_for(1000000);
    return argument;
}

// For a build with AddressSanitizer: tasks that a stopped runtime leaves as they are count as lost memory.
int __lsan_is_turned_off(void) { return 1; }

struct round {
    void *library;
    const char *mode;
    bool live;
};

// Not in the main thread, which then has nothing of the library's in its own memory.
static void *uses_it(void *argument) {
    struct round *round = argument;
    void *library = round->library;
    GET(settings_default);
    GET(start);
    GET(stop);
    GET(run);
    GET(spawn);
    GET(sleep);
    GET(blocking);
    GET(gang);
    sleeps_for = sleep;
    myriad_settings settings = settings_default();
    settings.mode = strcmp(round->mode, "fibers") == 0 ? MYRIAD_FIBERS : MYRIAD_THREADS;
    settings.workers = 2;
    IS(start(&settings), MYRIAD_OK);
    void *result = NULL;
    IS(run(doubles, (void *)21, &result), MYRIAD_OK);
    IS(result == (void *)42, 1);
    IS(blocking(doubles, (void *)4, &result), MYRIAD_OK);
    if (round->live) {
        // Its threads stay for some seconds.
        IS(gang(2, job, NULL), MYRIAD_OK);
        // They are in the middle of it when the library is closed.
        atomic_store(&is_closed, 0);
        for (int i = 0; i < 20; i++) IS(spawn(sleeps, NULL, NULL), MYRIAD_OK);
        IS(stop(0), MYRIAD_ERROR_UNFINISHED);
    } else {
        IS(stop(UINT64_MAX), MYRIAD_OK);
    }
    return NULL;
}

static void expected(int signal) {
    (void)signal;
    static const char text[] = "all is well\n";
    _exit(write(1, text, sizeof text - 1) == sizeof text - 1 ? 0 : 1);
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    struct sigaction action = {.sa_handler = expected};
    IS(sigaction(SIGSEGV, &action, NULL), 0);
    for (int i = 0; i < 4; i++) {
        struct round round = {dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), argv[1], strcmp(argv[3], "live") == 0};
        if (!round.library) fprintf(stderr, "%s\n", dlerror()), exit(1);
        pthread_t thread;
        IS(pthread_create(&thread, NULL, uses_it, &round), 0);
        IS(pthread_join(thread, NULL), 0);
        IS(dlclose(round.library), 0);
        atomic_store(&is_closed, 1);
        // What was unmapped would be missed meanwhile: sleepers go on.
        struct timespec moment = {0, 100000000};
        nanosleep(&moment, NULL);
    }
    // The library has a handler of its own, which passes on what is not its overflow: it has to be there still.
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
    return 1;
}
