/* Eight short benchmarks for ab.py: prints the time of each selected one in the format of Tidemark.
 *
 * TIDEMARK_BENCHMARKS selects benchmarks, one per line. With SLOWER=NAME, this benchmark runs 3 % more loops on the side `new`.
 * NOISE is a standard deviation, as a share of the time, of noise that is added to every time. RECORD names a file to
 * which the side, the name and the time of every benchmark are added.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Executions of a benchmark per run; one more is 3 %. */
#define LOOPS 34
#define COUNT 2048

static uint32_t input[COUNT], sorted[COUNT], work[COUNT / 4];
static char text[COUNT * 4];
static volatile uint64_t sink;

static int ascending(const void *left, const void *right) {
    uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
    return (one > other) - (one < other);
}

static void sort(void) {
    memcpy(work, input, sizeof work);
    qsort(work, COUNT / 4, sizeof *work, ascending);
    sink += work[0];
}

static void sum(void) {
    uint64_t total = 0;
    for (int repeat = 0; repeat < 8; repeat++)
        for (int index = 0; index < COUNT; index++) total += input[index] ^ total << 1;
    sink += total;
}

static void hash(void) {
    uint64_t state = 14695981039346656037u;
    for (size_t index = 0; index < sizeof text; index++) state = (state ^ (unsigned char)text[index]) * 1099511628211u;
    sink += state;
}

static void search(void) {
    uint64_t found = 0;
    for (int index = 0; index < COUNT / 4; index++)
        found += bsearch(&input[index], sorted, COUNT, sizeof *sorted, ascending) != NULL;
    sink += found;
}

static void format(void) {
    char line[32];
    for (int index = 0; index < 64; index++) sink += snprintf(line, sizeof line, "%08u", input[index]);
}

static void parse(void) {
    char *end = text;
    for (int index = 0; index < 256; index++) sink += strtoul(end, &end, 10);
}

static void matrix(void) {
    static double left[20][20], right[20][20];
    for (int row = 0; row < 20; row++)
        for (int column = 0; column < 20; column++) {
            double total = 0;
            for (int index = 0; index < 20; index++) total += (left[row][index] + 1) * (right[index][column] + 2);
            sink += (uint64_t)total;
        }
}

static void allocate(void) {
    void *all[128];
    for (int index = 0; index < 128; index++) all[index] = malloc(16 + input[index] % 512);
    for (int index = 0; index < 128; index++) sink += all[index] != NULL, free(all[index]);
}

static const struct {
    const char *name;
    void (*run)(void);
} benchmarks[] = {
    {"sort", sort},     {"sum", sum},     {"hash", hash},     {"search", search},
    {"format", format}, {"parse", parse}, {"matrix", matrix}, {"allocate", allocate},
};

static uint64_t random_bits(void) {
    static uint64_t state;
    if (!state) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        state = (uint64_t)now.tv_nsec * 6364136223846793005u ^ (uint64_t)getpid() << 32 ^ (uint64_t)now.tv_sec;
    }
    state += 0x9e3779b97f4a7c15u;
    uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

/* A standard normal value by the method of Box and Muller. */
static double normal(void) {
    double one = ((random_bits() >> 11) + 1) / 9007199254740993.0, other = (random_bits() >> 11) / 9007199254740992.0;
    return sqrt(-2 * log(one)) * cos(2 * M_PI * other);
}

static int is_selected(const char *name) {
    const char *names = getenv("TIDEMARK_BENCHMARKS");
    size_t length = strlen(name);
    while (names && strncmp(names, name, length) + (names[length] != '\n' && names[length] != '\0')) {
        names = strchr(names, '\n');
        if (!names) return 0;
        names++;
    }
    return 1;
}

int main(void) {
    const char *side = getenv("TIDEMARK_SIDE"), *slower = getenv("SLOWER"), *noise = getenv("NOISE");
    const char *record = getenv("RECORD");
    FILE *file = record ? fopen(record, "a") : NULL;
    double deviation = noise ? atof(noise) : 0;
    for (uint32_t index = 0, state = 7; index < COUNT; index++) input[index] = state = state * 1664525 + 1013904223;
    memcpy(sorted, input, sizeof sorted);
    qsort(sorted, COUNT, sizeof *sorted, ascending);
    for (int index = 0, end = 0; index < 512; index++) end += snprintf(text + end, 12, "%u ", input[index] % 10000000);
    const char *separator = "{";
    for (size_t index = 0; index < sizeof benchmarks / sizeof *benchmarks; index++) {
        const char *name = benchmarks[index].name;
        if (!is_selected(name)) continue;
        int is_slower = slower && side && !strcmp(slower, name) && !strcmp(side, "new");
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int loop = 0; loop < LOOPS + is_slower; loop++) benchmarks[index].run();
        clock_gettime(CLOCK_MONOTONIC, &end);
        double time = ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / LOOPS;
        time *= exp(deviation * normal());
        printf("%s\"%s\":{\"latency\":{\"value\":%.3f}}", separator, name, time);
        separator = ",";
        if (file) fprintf(file, "%s %s %.3f\n", side ? side : "-", name, time);
    }
    puts("}");
    if (file) fclose(file);
    return 0;
}
