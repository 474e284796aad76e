/* What all endpoints of a wire have in common: the loops, the clock and the output.
 *
 *   end ROLE SIZE NANOSECONDS MOST HERTZ HOW WHERE [WHERE]
 *
 * ROLE   alone: sends on the first port and receives on the second one;
 *        stages: the same, with three times of each message instead of one: of the send call,
 *        of the time between, and of the receive call that returned it;
 *        asks: sends, and waits for the answer; answers: sends back what it receives;
 *        floods: sends without waiting; counts: counts frames until no more arrive.
 * SIZE   bytes of a frame, from its Ethernet header on, without its checksum; without
 *        Ethernet, bytes of a message.
 * MOST   the largest number of times that are written.
 * HERTZ  frequency of the processor's time-stamp counter; 0: CLOCK_MONOTONIC is used.
 * HOW and WHERE are each program's own.
 *
 * An endpoint prints "ready" on a line once it can receive. At the end it prints a line,
 * "times N came C lost L cost NANOSECONDS", and N one-way times in nanoseconds, four bytes
 * each: of each of the C messages that arrived, or of every 2nd, 4th ... if C exceeds MOST.
 * One that floods or counts prints a line, "frames N rate PER_SECOND". One that answers runs
 * until it is killed; all others exit when standard input ends. An error is a line on
 * standard error and exit code 4.
 *
 * A frame holds an Ethernet header, the number of the message (4 bytes), and in an
 * answer the ticks at which it arrived and was sent back (8 bytes each).
 *
 * The file that includes this defines what a port is, and how it sends and receives frames. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { LONGEST = 1514, HEADER = 14 };
/* An answer is waited for 1/10 of a second. */
enum { TIMEOUTS_PER_SECOND = 10 };
/* Polls between two readings of the clock, if polling does not sleep. */
enum { SPINS = 64 };

struct __attribute__((packed)) message {
	uint8_t to[6], from[6];
	uint16_t kind;
	uint32_t number;
	uint64_t arrived, sent;
};

/* Local experiments: IEEE 802, ethertype 0x88B5. */
static const uint16_t KIND = 0xB588;

struct port;
/* Sends a frame. */
static void put(struct port *port, const uint8_t *frame, size_t size);
/* Sends a frame as many times as fit at once; returns how often. */
static unsigned put_many(struct port *port, const uint8_t *frame, size_t size);
/* Receives all frames that have arrived; returns the number of messages among them. One is copied to `into`. */
static int take(struct port *port, uint8_t *into, size_t size);

struct settings {
	const char *role, *how;
	size_t size, most;
	double seconds, hertz;
	/* Whether it has both ports; whether it times its calls (role stages). */
	int alone, stages;
	/* Whether it answers or counts: the second of two endpoints. */
	int second;
	int spins;
	char **where;
};

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *what, ...)
{
	va_list words;

	va_start(words, what);
	vfprintf(stderr, what, words);
	va_end(words);
	fputc('\n', stderr);
	exit(4);
}

static int counts_ticks;

static inline uint64_t now(void)
{
	unsigned processor;
	struct timespec time;

	if (counts_ticks)
		return __rdtscp(&processor);
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Reads the command line. The program is killed when its parent ends, or 60 s after it should
 * have ended. */
static struct settings read_settings(int count, char **words)
{
	struct settings settings = { .spins = SPINS };

	if (count < 8)
		fail("usage: end alone|stages|asks|answers|floods|counts SIZE NANOSECONDS MOST HERTZ HOW WHERE [WHERE]");
	settings.role = words[1];
	settings.size = strtoul(words[2], NULL, 10);
	settings.seconds = strtod(words[3], NULL) * 1e-9;
	settings.most = strtoul(words[4], NULL, 10);
	settings.hertz = strtod(words[5], NULL);
	settings.how = words[6];
	settings.where = words + 7;
	settings.stages = strcmp(settings.role, "stages") == 0;
	settings.alone = settings.stages || strcmp(settings.role, "alone") == 0;
	settings.second = strcmp(settings.role, "answers") == 0 || strcmp(settings.role, "counts") == 0;
	if (settings.size < sizeof(struct message) || settings.size > LONGEST)
		fail("a frame has %zu to %d bytes, found %zu", sizeof(struct message), LONGEST, settings.size);
	if (count != 8 + settings.alone)
		fail("expected %d ports, found %d", 1 + settings.alone, count - 7);
	counts_ticks = settings.hertz > 0;
	if (!counts_ticks)
		settings.hertz = 1e9;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm((unsigned)settings.seconds + 60);
	return settings;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static uint8_t outgoing[LONGEST], incoming[LONGEST];

/* Waits for message `number`; returns whether it arrived in time. */
static int await(struct port *port, const struct settings *settings, uint32_t number, uint64_t until)
{
	for (;;) {
		for (int spins = 0; spins < settings->spins; spins++) {
			if (take(port, incoming, settings->size) && ((struct message *)incoming)->number == number)
				return 1;
		}
		if (now() > until)
			return 0;
	}
}

/* The same; returns when the call began that received it, 0 if none did in time. */
static uint64_t await_timed(struct port *port, const struct settings *settings, uint32_t number, uint64_t until)
{
	for (;;) {
		uint64_t began = now();

		if (take(port, incoming, settings->size) && ((struct message *)incoming)->number == number)
			return began;
		if (began > until)
			return 0;
	}
}

static void answer(struct port *port, size_t size)
{
	struct message *in = (struct message *)incoming;

	for (;;) {
		if (!take(port, incoming, size))
			continue;
		in->arrived = now();
		memcpy(outgoing, incoming, size);
		((struct message *)outgoing)->sent = now();
		put(port, outgoing, size);
	}
}

/* Seconds to wait for the first frame, and seconds without a frame after which counting ends. */
static const double START = 20, SILENCE = 0.3;

static void say_stream(uint64_t frames, double rate)
{
	printf("frames %lu rate %f\n", frames, rate);
	fflush(stdout);
}

/* Sends as fast as possible for the given time. */
static void flood(struct port *port, const struct settings *settings)
{
	uint64_t began = now(), end = began + (uint64_t)(settings->seconds * settings->hertz), frames = 0;

	while (now() < end)
		frames += put_many(port, outgoing, settings->size);
	say_stream(frames, frames * settings->hertz / (now() - began));
}

static void count_frames(struct port *port, const struct settings *settings)
{
	uint64_t waits = now(), first = waits, last = waits, frames = 0, at_first = 0;

	for (;;) {
		uint64_t came = 0;
		for (int spins = 0; spins < settings->spins; spins++)
			came += take(port, incoming, settings->size);
		uint64_t at = now();
		if (came && !frames) {
			at_first = came;
			first = at;
		}
		if (came) {
			frames += came;
			last = at;
		}
		if (at - last > (frames ? SILENCE : START) * settings->hertz)
			break;
	}
	say_stream(frames, last > first ? (frames - at_first) * settings->hertz / (last - first) : 0);
}

static double cost(double hertz)
{
	enum { READS = 10000 };
	uint64_t began = now();

	for (int i = 1; i < READS; i++)
		now();
	return (now() - began) * 1e9 / hertz / READS;
}

/* Times of messages: `group` times of every `each`th message. */
struct samples {
	uint32_t *times;
	size_t count, most;
	unsigned group;
	uint64_t each;
};

/* If there is no room, drops every second message. */
static void make_room(struct samples *kept)
{
	size_t messages = kept->count / kept->group, left = 0;

	if (kept->count + kept->group <= kept->most)
		return;
	for (size_t message = 0; message < messages; message += 2, left++)
		memmove(kept->times + left * kept->group, kept->times + message * kept->group, kept->group * sizeof *kept->times);
	kept->count = left * kept->group;
	kept->each *= 2;
}

/* Sends and times one message after the other; `extra` is appended to the line of output. */
static void time_messages(struct port *sends, struct port *waits, const struct settings *settings, const char *extra)
{
	struct message *out = (struct message *)outgoing, *in = (struct message *)incoming;
	double hertz = settings->hertz;
	struct samples kept = { .times = malloc(settings->most * sizeof(uint32_t)), .most = settings->most, .each = 1 };
	size_t came = 0, lost = 0;

	kept.group = settings->stages ? 3 : settings->alone ? 1 : 2;
	if (!kept.times)
		fail("there is no room for %zu times", settings->most);
	uint64_t end = now() + (uint64_t)(settings->seconds * hertz), timeout = hertz / TIMEOUTS_PER_SECOND, sent = 0;
	for (uint32_t number = 1; sent < end; number++) {
		out->number = number;
		sent = now();
		put(sends, outgoing, settings->size);
		uint64_t handed = settings->stages ? now() : 0;
		uint64_t began = settings->stages ? await_timed(waits, settings, number, sent + timeout)
					      : (uint64_t)await(waits, settings, number, sent + timeout);
		if (!began) {
			lost++;
			continue;
		}
		uint64_t back = now();
		if (!settings->stages && !settings->alone && (in->arrived < sent || back < in->sent))
			fail("the processors' time-stamp counters differ");
		if (came++ % kept.each != 0)
			continue;
		if (settings->stages) {
			kept.times[kept.count++] = (handed - sent) * 1e9 / hertz;
			kept.times[kept.count++] = (began - handed) * 1e9 / hertz;
			kept.times[kept.count++] = (back - began) * 1e9 / hertz;
		} else if (settings->alone) {
			kept.times[kept.count++] = (back - sent) * 1e9 / hertz;
		} else {
			kept.times[kept.count++] = (in->arrived - sent) * 1e9 / hertz;
			kept.times[kept.count++] = (back - in->sent) * 1e9 / hertz;
		}
		make_room(&kept);
	}
	printf("times %zu came %zu lost %zu cost %f%s\n", kept.count, came, lost, cost(hertz), extra);
	fwrite(kept.times, sizeof *kept.times, kept.count, stdout);
	fflush(stdout);
	free(kept.times);
}

/* Waits until the parent closes standard input, after both endpoints have ended: the last message
 * may still be on its way, and a driver with shared memory (net_memif) would remove the memory
 * that the other endpoint polls. */
static void await_end_of_input(void)
{
	char more;

	while (read(STDIN_FILENO, &more, 1) > 0)
		;
}

/* Plays its role. With a single port, `sends` and `waits` are the same. */
static void serve(struct port *sends, struct port *waits, const struct settings *settings, const char *extra)
{
	struct message *out = (struct message *)outgoing;

	memset(out->to, 0xff, sizeof out->to);
	out->from[0] = 2;
	out->kind = KIND;
	if (strcmp(settings->role, "answers") == 0)
		answer(waits, settings->size);
	else if (strcmp(settings->role, "floods") == 0)
		flood(sends, settings);
	else if (strcmp(settings->role, "counts") == 0)
		count_frames(waits, settings);
	else
		time_messages(sends, waits, settings, extra);
	await_end_of_input();
}
