/* The most that one core does: fused multiply-adds on registers, in twelve independent chains, which two units of four
 * clocks' latency need eight of. Built with -O2 -march=native. Prints floating-point operations a second, in 10^9. */
#include <stdio.h>
#include <time.h>

#ifdef __AVX512F__
#define WIDTH 8
#elif defined(__AVX__)
#define WIDTH 4
#else
#define WIDTH 2
#endif
#define CHAINS 12
#define ROUNDS 100000000L

typedef double vector __attribute__((vector_size(8 * WIDTH)));

/* Chains that began alike would be one. */
#define ALL(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7) do(8) do(9) do(10) do(11)
#define BEGIN(i) vector chain##i = one + i;
#define STEP(i) chain##i = chain##i * half + one;
#define SUM(i) sum += chain##i;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(void) {
    volatile double unknown = 1;
    vector one = (vector){0} + unknown, half = one / 2, sum = {0};
    ALL(BEGIN)
    double begin = now();
    for (long round = 0; round < ROUNDS; round++) {
        ALL(STEP)
    }
    double seconds = now() - begin;
    ALL(SUM)
    /* Each chain tends to 2: a sum that is another is of other operations. */
    if (sum[0] != 2 * CHAINS || sum[WIDTH - 1] != 2 * CHAINS) return 1;
    printf("%.2f\n", 2.0 * WIDTH * CHAINS * ROUNDS / seconds * 1e-9);
    return 0;
}
