// Children of a process whose other threads are in the library all the time. What needs no worker works in a child.
#define _POSIX_C_SOURCE 200809L // fork
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

// More threads than the library has lists of free handles: so each list is used by one of them.
#define THREADS 17
#define CHILDREN 100

static void *busy(void *nothing) {
    for (;;) {
        myriad_channel *channel;
        OK(myriad_channel_new(sizeof(long), 1, &channel));
        myriad_channel_free(channel);
        CHECK(myriad_workers() == 1);
    }
    return nothing;
}

static atomic_bool over;
static const char *mode;

static void *starts(void *nothing) {
    while (!over) {
        start(mode, 1);
        OK(myriad_stop(UINT64_MAX));
    }
    return nothing;
}

// The parent is starting a runtime, has one, or has none: the child starts its own, or is told that there is one.
static void starts_in_child(void) {
    alarm(20);
    myriad_status status = myriad_start(NULL);
    CHECK(status == MYRIAD_OK || status == MYRIAD_ERROR_STARTED);
    _exit(0);
}

static void in_child(void) {
    // Ends a hang; nothing waits for it.
    alarm(20);
    myriad_channel *channel;
    myriad_mutex *mutex;
    OK(myriad_channel_new(sizeof(long), 1, &channel));
    OK(myriad_mutex_new(&mutex));
    long number = 7;
    OK(myriad_send(channel, &number));
    OK(myriad_mutex_lock(mutex));
    OK(myriad_recv(channel, &number));
    OK(myriad_mutex_unlock(mutex));
    OK(myriad_mutex_free(mutex));
    myriad_channel_free(channel);
    myriad_workers();
    _exit(0);
}

static void children(void (*child_does)(void)) {
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) child_does();
        int status;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(int argc, char **arguments) {
    CHECK(argc == 2);
    mode = arguments[1];
    pthread_t starter;
    CHECK(pthread_create(&starter, NULL, starts, NULL) == 0);
    children(starts_in_child);
    over = true;
    CHECK(pthread_join(starter, NULL) == 0);
    start(mode, 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
    }
    children(in_child);
    printf("all is well\n");
    fflush(stdout);
    _exit(0);
}
