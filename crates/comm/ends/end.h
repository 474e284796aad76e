/* What ends of a wire have in common, whatever carries their messages: the loops, the clock
 * and what is told.
 *
 *   end ROLE SIZE NANOSECONDS MOST HERTZ HOW WHERE [WHERE]
 *
 * ROLE   alone: sends on the first port and waits at the second one;
 *        stages: the same, with three times of each message instead of one: what handing
 *        it over took, what lies between, what the call took that found it;
 *        asks: sends, and waits for the answer; answers: sends back what comes;
 *        floods: sends without waiting; counts: counts what comes until nothing does.
 * SIZE   bytes of a frame, from its Ethernet header on, without its checksum; of what has
 *        none of a message.
 * HERTZ  of the processor's time-stamp counter; 0: CLOCK_MONOTONIC stands in.
 * HOW and WHERE are each carrier's own.
 *
 * An end says "ready" on a line once what is sent to it waits. At the end it writes a line,
 * "times N came C lost L cost NANOSECONDS", and N times of one way in nanoseconds, four bytes
 * each: of every one of the C messages that came, or of every so manyth where MOST are fewer.
 * One that floods or counts writes a line, "frames N rate PER_SECOND". One that answers goes
 * on until it is killed; all others end once standard input does. What goes wrong is a line on
 * standard error and exit code 4.
 *
 * A frame holds an Ethernet header, the number of the message (4 bytes), and in an
 * answer the tick at which it arrived and the one at which it was sent back (8 each).
 *
 * Who includes this says what a port is, and how it puts and takes frames. */
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
/* An answer is waited for this part of a second. */
enum { PATIENCE_PER_SECOND = 10 };
/* Rounds of asking between two looks at the clock, where asking does not sleep. */
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
/* Hands a whole frame over. */
static void put(struct port *port, const uint8_t *frame, size_t size);
/* Hands it over as many times as it can at once; how often. */
static unsigned put_many(struct port *port, const uint8_t *frame, size_t size);
/* Takes what has come; how many messages are among it, of which one is copied to `into`. */
static int take(struct port *port, uint8_t *into, size_t size);

struct order {
	const char *role, *how;
	size_t size, most;
	double seconds, hertz;
	/* Whether it has both ports; whether it times its calls. */
	int alone, stages;
	/* Whether it answers or counts: the second of two ends. */
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

/* Reads the command line; whoever started this wants nothing of it any more once gone, or
 * long after it should have ended. */
static struct order begin_order(int count, char **words)
{
	struct order order = { .spins = SPINS };

	if (count < 8)
		fail("usage: end alone|stages|asks|answers|floods|counts SIZE NANOSECONDS MOST HERTZ HOW WHERE [WHERE]");
	order.role = words[1];
	order.size = strtoul(words[2], NULL, 10);
	order.seconds = strtod(words[3], NULL) * 1e-9;
	order.most = strtoul(words[4], NULL, 10);
	order.hertz = strtod(words[5], NULL);
	order.how = words[6];
	order.where = words + 7;
	order.stages = strcmp(order.role, "stages") == 0;
	order.alone = order.stages || strcmp(order.role, "alone") == 0;
	order.second = strcmp(order.role, "answers") == 0 || strcmp(order.role, "counts") == 0;
	if (order.size < sizeof(struct message) || order.size > LONGEST)
		fail("a frame has %zu to %d bytes, found %zu", sizeof(struct message), LONGEST, order.size);
	if (count != 8 + order.alone)
		fail("expected %d ports, found %d", 1 + order.alone, count - 7);
	counts_ticks = order.hertz > 0;
	if (!counts_ticks)
		order.hertz = 1e9;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm((unsigned)order.seconds + 60);
	return order;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static uint8_t outgoing[LONGEST], incoming[LONGEST];

/* Waits for message `number`; whether it came in time. */
static int await(struct port *port, const struct order *order, uint32_t number, uint64_t until)
{
	for (;;) {
		for (int spins = 0; spins < order->spins; spins++) {
			if (take(port, incoming, order->size) && ((struct message *)incoming)->number == number)
				return 1;
		}
		if (now() > until)
			return 0;
	}
}

/* The same; when the call began that found it, 0 where none did in time. */
static uint64_t await_timed(struct port *port, const struct order *order, uint32_t number, uint64_t until)
{
	for (;;) {
		uint64_t began = now();

		if (take(port, incoming, order->size) && ((struct message *)incoming)->number == number)
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

/* How long the first frame is waited for, and after how much silence there are no more. */
static const double START = 20, SILENCE = 0.3;

static void say_stream(uint64_t frames, double rate)
{
	printf("frames %lu rate %f\n", frames, rate);
	fflush(stdout);
}

/* Sends for so long, as many at once as one may. */
static void flood(struct port *port, const struct order *order)
{
	uint64_t began = now(), end = began + (uint64_t)(order->seconds * order->hertz), frames = 0;

	while (now() < end)
		frames += put_many(port, outgoing, order->size);
	say_stream(frames, frames * order->hertz / (now() - began));
}

static void count_frames(struct port *port, const struct order *order)
{
	uint64_t waits = now(), first = waits, last = waits, frames = 0, at_first = 0;

	for (;;) {
		uint64_t came = 0;
		for (int spins = 0; spins < order->spins; spins++)
			came += take(port, incoming, order->size);
		uint64_t at = now();
		if (came && !frames) {
			at_first = came;
			first = at;
		}
		if (came) {
			frames += came;
			last = at;
		}
		if (at - last > (frames ? SILENCE : START) * order->hertz)
			break;
	}
	say_stream(frames, last > first ? (frames - at_first) * order->hertz / (last - first) : 0);
}

static double cost(double hertz)
{
	enum { READS = 10000 };
	uint64_t began = now();

	for (int i = 1; i < READS; i++)
		now();
	return (now() - began) * 1e9 / hertz / READS;
}

/* Times of messages, `group` of each, of every `each`th one. */
struct kept {
	uint32_t *times;
	size_t count, most;
	unsigned group;
	uint64_t each;
};

/* Where there is no room, every second message goes. */
static void make_room(struct kept *kept)
{
	size_t messages = kept->count / kept->group, left = 0;

	if (kept->count + kept->group <= kept->most)
		return;
	for (size_t message = 0; message < messages; message += 2, left++)
		memmove(kept->times + left * kept->group, kept->times + message * kept->group, kept->group * sizeof *kept->times);
	kept->count = left * kept->group;
	kept->each *= 2;
}

/* One message after the other, each timed; `told` is said of them beside. */
static void time_messages(struct port *sends, struct port *waits, const struct order *order, const char *told)
{
	struct message *out = (struct message *)outgoing, *in = (struct message *)incoming;
	double hertz = order->hertz;
	struct kept kept = { .times = malloc(order->most * sizeof(uint32_t)), .most = order->most, .each = 1 };
	size_t came = 0, lost = 0;

	kept.group = order->stages ? 3 : order->alone ? 1 : 2;
	if (!kept.times)
		fail("there is no room for %zu times", order->most);
	uint64_t end = now() + (uint64_t)(order->seconds * hertz), patience = hertz / PATIENCE_PER_SECOND, sent = 0;
	for (uint32_t number = 1; sent < end; number++) {
		out->number = number;
		sent = now();
		put(sends, outgoing, order->size);
		uint64_t handed = order->stages ? now() : 0;
		uint64_t began = order->stages ? await_timed(waits, order, number, sent + patience)
					      : (uint64_t)await(waits, order, number, sent + patience);
		if (!began) {
			lost++;
			continue;
		}
		uint64_t back = now();
		if (!order->stages && !order->alone && (in->arrived < sent || back < in->sent))
			fail("the processors' time-stamp counters differ");
		if (came++ % kept.each != 0)
			continue;
		if (order->stages) {
			kept.times[kept.count++] = (handed - sent) * 1e9 / hertz;
			kept.times[kept.count++] = (began - handed) * 1e9 / hertz;
			kept.times[kept.count++] = (back - began) * 1e9 / hertz;
		} else if (order->alone) {
			kept.times[kept.count++] = (back - sent) * 1e9 / hertz;
		} else {
			kept.times[kept.count++] = (in->arrived - sent) * 1e9 / hertz;
			kept.times[kept.count++] = (back - in->sent) * 1e9 / hertz;
		}
		make_room(&kept);
	}
	printf("times %zu came %zu lost %zu cost %f%s\n", kept.count, came, lost, cost(hertz), told);
	fwrite(kept.times, sizeof *kept.times, kept.count, stdout);
	fflush(stdout);
	free(kept.times);
}

/* Stays until whoever started this has heard of the other end, too, and closes standard
 * input: what was sent last is still on its way, and a driver that shares memory with the
 * other one (net_memif) takes it away in the midst of its asking. */
static void linger(void)
{
	char more;

	while (read(STDIN_FILENO, &more, 1) > 0)
		;
}

/* Does what the order says; one that has a single port sends and waits there. */
static void serve(struct port *sends, struct port *waits, const struct order *order, const char *told)
{
	struct message *out = (struct message *)outgoing;

	memset(out->to, 0xff, sizeof out->to);
	out->from[0] = 2;
	out->kind = KIND;
	if (strcmp(order->role, "answers") == 0)
		answer(waits, order->size);
	else if (strcmp(order->role, "floods") == 0)
		flood(sends, order);
	else if (strcmp(order->role, "counts") == 0)
		count_frames(waits, order);
	else
		time_messages(sends, waits, order, told);
	linger();
}
