/* Work of one kind, in rounds: foreground work that is timed, or background work without end.
 *
 *   load KIND [-t THREADS] [-b BYTES] [-r ROUNDS | -s SECONDS] [-f FILE] [-c COUNTER]
 *
 * Ends after so many rounds (dealt to the threads as they come for them) or seconds, and prints
 * {"seconds": …, "rounds": …}; else when it is killed. COUNTER is a file whose first 8 bytes count
 * rounds as they are done. What a round needs (memory, a file's pages) is there before time begins.
 *
 *   KIND     a round                                            BYTES
 *   compute  100,000 steps of a generator of random numbers     –
 *   chase    10,000 loads, each of which depends on the last    of the ring
 *   stream   1 MiB copied                                       from and to, of each thread
 *   pages    64 random pages of FILE read                       of the file that are read
 *   scan     1 MiB of FILE read, in order                       of the file that are read
 *   touch    64 random pages of memory written                  of memory
 *   sweep    1 MiB of memory written, in order                  of memory
 *   disk     1 MiB written to FILE-N and handed to the device   –
 *   fetch    64 KiB of FILE read from the device, at random     of the file that are read
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define CHECK(holds) do { if (!(holds)) { perror(#holds); exit(1); } } while (0)
#define PAGE 4096ul
#define MIB (1ul << 20)
#define LINE 64ul
#define FETCHED (64 * 1024ul)

enum kind { COMPUTE, CHASE, STREAM, PAGES, SCAN, TOUCH, SWEEP, DISK, FETCH, KINDS };
static const char *names[KINDS] = { "compute", "chase", "stream", "pages", "scan", "touch", "sweep", "disk",
	"fetch" };

static enum kind kind;
static size_t threads = 1, bytes;
static uint64_t rounds = UINT64_MAX;
static double seconds;
static const char *file;
static _Atomic uint64_t own_counter, *counter = &own_counter, dealt;
static _Atomic int over;
static _Atomic uint64_t began, ended;
static pthread_barrier_t ready;

/* Nanoseconds. */
static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static uint64_t random_of(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 20;
}

/* Huge pages would make it another kind of work on each machine. */
static char *memory(size_t length)
{
	char *at = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	madvise(at, length, MADV_NOHUGEPAGE);
	memset(at, 1, length);
	return at;
}

/* A ring through all lines, in random order (Fisher and Yates 1938). */
static char *ring(size_t length, uint64_t *state)
{
	size_t lines = length / LINE, *order = malloc(lines * sizeof *order);
	char *at = memory(length);

	CHECK(order);
	for (size_t line = 0; line < lines; line++)
		order[line] = line;
	for (size_t line = lines - 1; line > 0; line--) {
		size_t other = random_of(state) % (line + 1), kept = order[line];
		order[line] = order[other];
		order[other] = kept;
	}
	for (size_t line = 0; line < lines; line++)
		*(char **)(at + order[line] * LINE) = at + order[(line + 1) % lines] * LINE;
	free(order);
	return at;
}

static void read_at(int descriptor, char *into, size_t length, size_t offset)
{
	CHECK(pread(descriptor, into, length, offset) == (ssize_t)length);
}

static void *work(void *argument)
{
	uintptr_t number = (uintptr_t)argument;
	uint64_t state = number + 1, round = 0;
	int descriptor = -1;
	char *at = NULL, *to = NULL;
	/* Whole pages, as direct I/O takes them (open(2)). */
	static _Thread_local char block[MIB] __attribute__((aligned(PAGE)));

	switch (kind) {
	case CHASE: at = ring(bytes, &state); break;
	case STREAM: at = memory(bytes); to = memory(bytes); break;
	case TOUCH: case SWEEP: at = memory(bytes); break;
	case PAGES: case SCAN:
		CHECK((descriptor = open(file, O_RDONLY)) >= 0);
		/* The kernel is not to guess what follows. */
		posix_fadvise(descriptor, 0, 0, kind == PAGES ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
		for (size_t offset = 0; kind == PAGES && offset + MIB <= bytes; offset += MIB)
			read_at(descriptor, block, MIB, offset);
		break;
	case DISK: {
		char path[4096];
		snprintf(path, sizeof path, "%s-%zu", file, (size_t)number);
		CHECK((descriptor = open(path, O_WRONLY | O_CREAT, 0600)) >= 0);
		break;
	}
	case FETCH: CHECK((descriptor = open(file, O_RDONLY | O_DIRECT)) >= 0); break;
	default: break;
	}
	pthread_barrier_wait(&ready);
	/* The first says when it began, the last when it ended: the main thread may have to wait for a
	 * processor. */
	uint64_t none = 0;
	atomic_compare_exchange_strong(&began, &none, now());
	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		if (atomic_fetch_add(&dealt, 1) >= rounds)
			break;
		size_t part = bytes ? round * MIB % (bytes / MIB * MIB) : 0;
		switch (kind) {
		case COMPUTE: {
			uint64_t sum = 0;
			for (int step = 0; step < 100000; step++)
				sum ^= random_of(&state);
			__asm__ volatile("" : : "r"(sum));
			break;
		}
		case CHASE:
			for (int step = 0; step < 10000; step++)
				at = *(char *volatile *)at;
			break;
		case STREAM:
			memcpy(to + part, at + part, MIB);
			__asm__ volatile("" : : "r"(to) : "memory");
			break;
		case PAGES:
			for (int page = 0; page < 64; page++)
				read_at(descriptor, block, PAGE, random_of(&state) % (bytes / PAGE) * PAGE);
			break;
		case SCAN: read_at(descriptor, block, MIB, part); break;
		case TOUCH:
			for (int page = 0; page < 64; page++)
				((volatile char *)at)[random_of(&state) % (bytes / PAGE) * PAGE]++;
			break;
		case SWEEP:
			for (size_t offset = part; offset < part + MIB; offset += PAGE)
				((volatile char *)at)[offset]++;
			break;
		case DISK:
			CHECK(pwrite(descriptor, block, MIB, round % 64 * MIB) == MIB);
			CHECK(fdatasync(descriptor) == 0);
			break;
		case FETCH:
			read_at(descriptor, block, FETCHED, random_of(&state) % (bytes / FETCHED) * FETCHED);
			break;
		default: break;
		}
		round++;
		atomic_fetch_add(counter, 1);
	}
	atomic_store(&ended, now());
	return NULL;
}

int main(int count, char **words)
{
	for (kind = 0; count > 1 && kind < KINDS && strcmp(words[1], names[kind]); kind++)
		;
	if (count < 2 || kind == KINDS)
		return 2;
	words++, count--;
	for (int option; (option = getopt(count, words, "t:b:r:s:f:c:")) != -1;) {
		switch (option) {
		case 't': threads = strtoul(optarg, NULL, 10); break;
		case 'b': bytes = strtoul(optarg, NULL, 10); break;
		case 'r': rounds = strtoull(optarg, NULL, 10); break;
		case 's': seconds = strtod(optarg, NULL); break;
		case 'f': file = optarg; break;
		case 'c': {
			int descriptor = open(optarg, O_RDWR | O_CREAT, 0600);
			CHECK(descriptor >= 0 && ftruncate(descriptor, sizeof *counter) == 0);
			counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
			CHECK(counter != MAP_FAILED);
			break;
		}
		default: return 2;
		}
	}
	int wants_memory = kind != COMPUTE && kind != DISK;
	int wants_file = kind == PAGES || kind == SCAN || kind == DISK || kind == FETCH;
	if (!threads || (wants_memory && bytes < MIB) || (wants_file && !file))
		return 2;
	pthread_t *crew = calloc(threads, sizeof *crew);
	CHECK(crew && pthread_barrier_init(&ready, NULL, threads + 1) == 0);
	for (size_t number = 0; number < threads; number++)
		CHECK(pthread_create(&crew[number], NULL, work, (void *)(uintptr_t)number) == 0);
	uint64_t before = atomic_load(counter);
	pthread_barrier_wait(&ready);
	if (seconds > 0) {
		struct timespec time = { (time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9) };
		nanosleep(&time, NULL);
		atomic_store(&over, 1);
	}
	for (size_t number = 0; number < threads; number++)
		pthread_join(crew[number], NULL);
	printf("{\"seconds\": %.6f, \"rounds\": %llu}\n", (ended - began) * 1e-9,
	       (unsigned long long)(atomic_load(counter) - before));
	return 0;
}
