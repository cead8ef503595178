// What the test programs share.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "myriad.h"

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, myriad_last_error()); \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

#define OK(call) CHECK((call) == MYRIAD_OK)

static const uint64_t SECOND = 1000000000u;

// Starts a runtime: "threads" or "fibers" is the program's argument.
static inline void start(const char *mode, size_t workers) {
    myriad_settings settings = myriad_settings_default();
    settings.mode = strcmp(mode, "fibers") == 0 ? MYRIAD_FIBERS : MYRIAD_THREADS;
    settings.workers = workers;
    settings.name = "ctest";
    OK(myriad_start(&settings));
}

#endif
