// FFTW's loops as tasks, from C. Argument: threads or fibers.
#include <fftw3.h>
#include <math.h>

#include "check.h"

enum { SIDE = 128, SIZE = SIDE * SIDE, MANY = 8 };

static fftw_plan serial, parallel;
static fftw_complex *input[MANY], *output[MANY], *expected[MANY];

static void transform(size_t begin, size_t end, void *argument) {
    (void)argument;
    for (size_t i = begin; i < end; i++) fftw_execute_dft(parallel, input[i], output[i]);
}

static void compare(void) {
    for (int k = 0; k < MANY; k++) {
        for (int i = 0; i < SIZE; i++) {
            CHECK(fabs(output[k][i][0] - expected[k][i][0]) < 1e-9 && fabs(output[k][i][1] - expected[k][i][1]) < 1e-9);
        }
        memset(output[k], 0, SIZE * sizeof(fftw_complex));
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(fftw_init_threads());
    fftw_threads_set_callback(myriad_fftw_loop, NULL);
    for (int k = 0; k < MANY; k++) {
        input[k] = fftw_malloc(SIZE * sizeof(fftw_complex));
        output[k] = fftw_malloc(SIZE * sizeof(fftw_complex));
        expected[k] = fftw_malloc(SIZE * sizeof(fftw_complex));
        for (int i = 0; i < SIZE; i++) {
            input[k][i][0] = sin(0.37 * i * (k + 1));
            input[k][i][1] = cos(0.11 * i + k);
        }
    }
    fftw_plan_with_nthreads(1);
    serial = fftw_plan_dft_2d(SIDE, SIDE, input[0], expected[0], FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan_with_nthreads(6);
    parallel = fftw_plan_dft_2d(SIDE, SIDE, input[0], output[0], FFTW_FORWARD, FFTW_ESTIMATE);
    for (int k = 0; k < MANY; k++) fftw_execute_dft(serial, input[k], expected[k]);
    // Without a runtime.
    transform(0, MANY, NULL);
    compare();
    for (size_t workers = 1; workers <= 3; workers++) {
        start(argv[1], workers);
        // From a thread that is no worker; from tasks, each in a part of a loop.
        transform(0, MANY, NULL);
        compare();
        OK(myriad_parallel_for(0, MANY, 1, transform, NULL));
        compare();
        OK(myriad_stop(20 * SECOND));
    }
    fftw_destroy_plan(serial);
    fftw_destroy_plan(parallel);
    for (int k = 0; k < MANY; k++) {
        fftw_free(input[k]);
        fftw_free(output[k]);
        fftw_free(expected[k]);
    }
    puts("all is well");
    return 0;
}
