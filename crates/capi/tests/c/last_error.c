// The text of what failed last: where it is, how long it stays, and what becomes of a long one. Argument: threads or fibers.
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { ROOM = 4096 };

static myriad_status fails(void) { return myriad_join(NULL, NULL); }

// Compilers take arguments in any order: whichever it is, the text is that of the call.
static void as_an_argument(void) {
    char line[ROOM + 20];
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "%d %s", (int)fails(), myriad_last_error());
        CHECK(strcmp(line, "1 the task is NULL") == 0);
        snprintf(line, sizeof line, "%d %s", (int)myriad_stop(0), myriad_last_error());
        CHECK(strncmp(line, "3 there is no runtime to stop", 29) == 0);
        snprintf(line, sizeof line, "%s %d", myriad_last_error(), (int)fails());
        CHECK(strcmp(line, "the task is NULL 1") == 0);
    }
}

static void it_stays_where_it_is(void) {
    const char *text = myriad_last_error();
    for (int i = 0; i < 1000; i++) {
        CHECK(fails() == MYRIAD_ERROR_NULL && myriad_last_error() == text);
        CHECK(myriad_channel_new(0, 1, NULL) == MYRIAD_ERROR_NULL && strstr(text, "pointer") != NULL);
    }
    OK(myriad_mutex_free(NULL));
    CHECK(strstr(text, "pointer") != NULL);
}

static void *of_a_thread(void *argument) {
    CHECK(myriad_last_error() != argument && strcmp(myriad_last_error(), "") == 0);
    CHECK(fails() == MYRIAD_ERROR_NULL);
    return NULL;
}

static void each_thread_has_its_own(void) {
    const char *mine = myriad_last_error();
    CHECK(myriad_channel_new(0, 1, NULL) == MYRIAD_ERROR_NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, of_a_thread, (void *)mine) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(strstr(mine, "pointer") != NULL);
}

// When the thread's other data have gone.
static atomic_int at_the_end;

static void late(void *argument) {
    CHECK(fails() == MYRIAD_ERROR_NULL && strcmp(myriad_last_error(), "the task is NULL") == 0);
    // Again, after the others of this round.
    if (atomic_fetch_add(&at_the_end, 1) < 2) CHECK(pthread_setspecific(*(pthread_key_t *)argument, argument) == 0);
}

static void *ends(void *key) {
    CHECK(pthread_setspecific(*(pthread_key_t *)key, key) == 0);
    return NULL;
}

static void at_a_threads_end(void) {
    pthread_key_t key;
    pthread_t thread;
    CHECK(pthread_key_create(&key, late) == 0);
    CHECK(pthread_create(&thread, NULL, ends, &key) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(atomic_load(&at_the_end) == 3);
}

// No more than whole characters, and the sign that there was more.
static void whole(const char *text) {
    size_t length = strlen(text);
    CHECK(length < ROOM && length > ROOM - 10);
    CHECK(strcmp(text + length - 3, "...") == 0);
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        for (size_t k = 1; k < n; k++) CHECK(((unsigned char)text[i + k] & 0xc0) == 0x80);
        i += n;
    }
}

static atomic_int spins;

static void *spinner(void *argument) {
    atomic_store(&spins, 1);
    while (atomic_load(&spins)) {
    }
    return argument;
}

static void a_long_text(const char *mode, int shift) {
    // Names of 1,200 characters of three bytes each, beginning at any of the three.
    static char name[4000];
    size_t length = 0;
    for (int i = 0; i < shift; i++) name[length++] = 'x';
    for (int i = 0; i < 1200; i++) {
        memcpy(name + length, "\xe2\x82\xac", 3);
        length += 3;
    }
    name[length] = 0;
    start(mode, 1);
    myriad_task *spinning, *tasks[3];
    OK(myriad_spawn(spinner, NULL, &spinning));
    while (!atomic_load(&spins)) {
    }
    for (int i = 0; i < 3; i++) OK(myriad_spawn_named(name, spinner, NULL, &tasks[i]));
    CHECK(myriad_stop(0) == MYRIAD_ERROR_UNFINISHED);
    whole(myriad_last_error());
    atomic_store(&spins, 0);
    OK(myriad_join(spinning, NULL));
    // On a busy machine a spare may have begun one: then it has ended by now, or does.
    for (int i = 0; i < 3; i++) {
        int status = myriad_join(tasks[i], NULL);
        CHECK(status == MYRIAD_ERROR_SHUTDOWN || status == MYRIAD_OK);
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(strcmp(myriad_last_error(), "") == 0);
    as_an_argument();
    it_stays_where_it_is();
    each_thread_has_its_own();
    at_a_threads_end();
    for (int shift = 0; shift < 3; shift++) a_long_text(argv[1], shift);
    puts("all is well");
    return 0;
}
