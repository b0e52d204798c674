/* The programs that run in the kernel while a store is profiled. They count system calls, context switches,
 * time off the processor and block requests of one process tree, by thread and call site.
 *
 * A site is the user's instruction, stack pointer and frame pointer (if it points to a frame), hashed to one
 * number: three loads, where following a chain of frame pointers costs more than all the rest. Calls from the
 * same instruction at the same depth nearly always have the same callers; for the others, copies of the stacks
 * of some events of each site show the shares.
 *
 * scripts/build-bpf compiles this file into program.o, which the loader embeds. It includes no header and
 * carries no BTF, so that any clang 14 makes the same bytes and kernels without BTF load them (Linux 5.8 or
 * later, for the ring buffer).
 *
 * Rules:
 * 1. A thread of the tree is stored in the slot of its number, in an array, where a lookup costs next to
 *    nothing. If another thread occupies that slot, it is in the hash map `threads`. `crowded` shows for which
 *    slots that may be the case, so that a switch of a thread outside of the tree needs no hash lookup either.
 *    `processors` holds which processors run a thread of the tree. Nothing is stored about other threads.
 * 2. Nothing is counted outside of `window`; system calls and switches are counted only in its *sampling
 *    windows*, during which their two programs are attached. Where the programs are cheap, one sampling window
 *    covers the whole window. Time off the processor is measured by the *sampling clock*, which runs only in
 *    sampling windows. A thread that was off when a sampling window ended, and is seen in a later one when it
 *    comes back or runs, was off in all of those between. A thread that ran, and left its processor between
 *    sampling windows, is charged at the site where it was last seen to leave.
 * 3. No event is lost because its site is unknown: it is counted under NO_SITE, for which `counts` reserves
 *    entries. What does not fit into a map is counted in `losses`.
 * 4. Every system call is counted, by thread. Sites are read for the first thousands at each processor, and
 *    then for one in SPARSE on average, which also represents those that were passed over. Syncs are counted a
 *    second time, each with its site, in all of the window.
 * 5. A key of `counts` contains its thread, so that no two processors write to one value at a time: its sums
 *    need no atomic operations. Block requests are the exception (any thread may issue another thread's
 *    request): theirs are atomic.
 * 6. The most frequent voluntary switches of a thread in a slot are summed in *seats* of the slot. A seat is a
 *    cached sum of `counts`: while a site occupies it, the seat is valid and the entry in `counts` is old.
 * 7. Some kernels hide threads of their own and do not report a switch away from one. The thread that runs
 *    next is not seen coming, but is seen when it makes a system call or leaves. So a leaving thread is looked
 *    up whatever `processors` contains, and so is a calling thread where another came last. It was off at
 *    least until the last reported switch at its processor; where it may have been off for much longer,
 *    `losses` counts it.
 * 8. The stack of the first event of a key is copied, and then of some events, within two quotas of copies per
 *    processor, which the ring holds. An event that is refused is tried again.
 *
 * The layouts of keys, values and records are the same here and in map_types.rs, in the same order.
 */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

/* The kernel's interface: numbers of maps, helpers and flags, which never change. */

#define MAP_HASH 1
#define MAP_ARRAY 2
#define MAP_PER_CPU_ARRAY 6
#define MAP_LRU_HASH 9
#define MAP_RINGBUF 27

#define ANY 0
#define NO_EXIST 1
#define USER_STACK (1ULL << 8)
#define NO_WAKEUP 1

struct map {
	u32 type;
	u32 key_size;
	u32 value_size;
	u32 entries;
	u32 flags;
};

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define HELPER(number) = (void *)number

static void *(*const lookup)(void *map, const void *key) HELPER(1);
static long (*const update)(void *map, const void *key, const void *value, u64 flags) HELPER(2);
static long (*const delete)(void *map, const void *key) HELPER(3);
static u64 (*const now)(void) HELPER(5);
static u32 (*const random)(void) HELPER(7);
static u64 (*const current)(void) HELPER(14);
static u64 (*const current_task)(void) HELPER(35);
static long (*const current_name)(void *to, u32 size) HELPER(16);
static long (*const read_user)(void *to, u32 size, const void *from) HELPER(112);
static long (*const read_kernel)(void *to, u32 size, const void *from) HELPER(113);
static long (*const frames_of)(void *context, void *to, u32 size, u64 flags) HELPER(67);
static void *(*const reserve)(void *ring, u64 size, u64 flags) HELPER(131);
static void (*const submit)(void *record, u64 flags) HELPER(132);

const char licence[] SECTION("license") = "Dual MIT/GPL";
/* The digest of the source and the command of this object, for the test `source_and_object_agree`. */
const char source_digest[] SECTION("source") = "source sha256 " SOURCE_DIGEST;

/* Offsets of fields, which differ between kernels and machines; set by the loader, then constant. */

/* In struct pt_regs. */
const volatile u32 AT_INSTRUCTION = 128;
const volatile u32 AT_STACK = 152;
const volatile u32 AT_FRAME = 32;
const volatile u32 AT_LINK = 0xffffffff; /* no such register here */
/* The numbers of the system calls that are syncs. */
const volatile u32 SYNC_A = 0xffffffff;
const volatile u32 SYNC_B = 0xffffffff;
const volatile u32 SYNC_C = 0xffffffff;
const volatile u32 SYNC_D = 0xffffffff;
/* 1 if syncs have tracepoints of their own on this kernel. */
const volatile u32 SYNCS_APART = 0;
/* In the records of tracepoints, by their `format` files. */
const volatile u32 AT_PREV_STATE = 32;
const volatile u32 AT_NEXT_PID = 56;
const volatile u32 AT_PARENT_PID = 12;
const volatile u32 AT_CHILD_PID = 20;
const volatile u32 AT_QUEUE_SECTOR = 16;
const volatile u32 AT_QUEUE_FLAGS = 28;
const volatile u32 AT_ISSUE_DEVICE = 8;
const volatile u32 AT_ISSUE_SECTOR = 16;
const volatile u32 AT_ISSUE_SECTORS = 24;
const volatile u32 AT_ISSUE_FLAGS = 34;
const volatile u32 AT_REQUEUE_DEVICE = 8;
const volatile u32 AT_REQUEUE_SECTOR = 16;
const volatile u32 AT_REQUEUE_SECTORS = 24;
const volatile u32 AT_REQUEUE_FLAGS = 28;

/* What is counted: the kind of a key; below KIND_SWITCH the number of a system call. */
#define KIND_SYNC 0xffff
#define KIND_VOLUNTARY 0x10000
#define KIND_INVOLUNTARY 0x10001
#define KIND_SYNC_WRITE 0x20000
#define KIND_ASYNC_WRITE 0x20001
#define KIND_FLUSH 0x20002
#define KIND_QUEUED 0x20003 /* a submitted write: not a request yet, and not a metric */

#define NO_SITE 0
/* Thread numbers for requests that no thread of the tree issued: kernel threads and other processes. */
#define ISSUED_BY_KERNEL 0xfffffffe
#define ISSUED_BY_OTHERS 0xffffffff

/* The state of a processor. */
struct processor {
	u32 thread; /* of the tree; NOT_KNOWN or OTHERS */
	u32 passed; /* system calls to pass over before the next sample */
	u64 weight; /* the number of calls that the next sample represents */
	u64 sampled; /* the number of calls that all samples represent */
	u64 firsts; /* the time up to which its quota of first copies is used */
	u64 copies; /* the same for other copies */
	u32 came;   /* the last thread that came, of the tree or not, as the kernel reported */
	u32 unused;
	u64 attached; /* when the programs were attached; the above expires when they are attached again */
	u64 calls;    /* of the tree, in sampling windows */
	u64 switches;
	u64 last_switch; /* when the last switch was reported */
};

#define NOT_KNOWN 0
#define OTHERS 0xffffffff

/* The first DENSE system calls at a processor are sampled, then one in SPARSE on average. */
#define DENSE 4096
#define SPARSE 16

struct thread {
	u32 number;    /* 0: the slot is free */
	u32 moves;     /* it was entered by the loader, and moves to its slot when it is seen */
	u64 calls;     /* system calls in the window */
	u64 off_since; /* when it left its processor; 0: it runs, or nothing is known of it */
	u64 registers; /* where the kernel keeps its user registers; 0: not known yet */
	u32 process;   /* 0: not known yet */
	u32 parent;    /* the thread that started it; 0: it was there before */
	u64 site;     /* where it left its processor */
	u32 kind;      /* how it left */
	u32 sampled;   /* its leaving was sampled, so its return is recorded */
	u32 executed;  /* it has started another program since it was first seen */
	u32 unused;
	u64 off_sampled; /* when it left its processor, by the sampling clock */
};

struct key {
	u32 thread;
	u32 kind;
	u64 site; /* the device, for requests issued outside of the tree */
};

struct sum {
	u64 count;
	u64 amount; /* nanoseconds off the processor, or bytes; the number of samples of system calls */
	u64 next;   /* at which count a copy of the stack is taken next */
	u64 copied; /* at which count one was taken last */
};

/* A cached sum of `counts`, of voluntary switches at a site. */
struct seat {
	u64 site; /* NO_SITE: the seat is free */
	struct sum sum;
};

#define SEATS 8

struct slot {
	struct thread thread;
	struct sum preempted; /* of involuntary switches; added to the sum in `counts` */
	struct seat seats[SEATS];
};

#define SLOTS 8192

struct ended {
	u32 process;
	u32 parent;
	u32 executed;
	char name[16];
};

struct submitted {
	u32 thread;
	u32 unused;
	u64 site;
};

#define COPY 2048
#define CHAIN 48

struct record {
	struct key key;
	u64 weight; /* events that it represents; in a record of a return: nanoseconds off */
	u64 instruction;
	u64 stack_pointer;
	u64 frame_pointer;
	u64 link;
	u32 process;
	u32 bytes; /* filled bytes of the copy */
	u64 chain_bytes; /* filled bytes of the frame pointer chain */
	u64 chain[CHAIN];
	u8 copy[COPY];
};

struct returned {
	struct key key;
	u64 weight;
};

/* The window and its current sampling window; 0: not begun, or not ended. */
struct window {
	u64 since;
	u64 until;
	u64 attached;    /* since when system calls and switches are reported; 0: they are not */
	u64 sampled;     /* the sampling clock at the start of the sampling window, or between two */
	u64 sampling_since;
	u64 sampling_until;
};

#define LOST_CALLS 0     /* `counts` is full: by the upper half of the kind */
#define LOST_SWITCHES 1
#define LOST_REQUESTS 2
#define LOST_THREADS 3   /* `threads` is full */
#define LOST_SITES 4     /* `counts` takes no further site: counted without one */
#define LOST_COPIES 5    /* `copies` is full */
#define DEVICE_FLUSHES 6 /* flushes that devices received, from any thread */
#define CALLS_OF_ENDED 7 /* system calls in the window of threads that have ended */
#define LOST_RETURNS 8   /* unreported switches to a thread, without a reported one shortly before */
#define SITES 9          /* keys with a site in `counts` */
#define LOSSES 10

/* Keys of `counts`, and how many of them may have a site; the others are for events without a site. */
#define KEYS 65536
#define KEYS_WITH_SITES 57344

#define FOUND_WANTED 0
#define FOUND_PLACE 1
#define FOUND_TIMES 2
#define FOUND_STACK 3     /* the field of that structure that points to the thread's kernel stack */
#define FOUND_REGISTERS 4 /* the offset of the user's registers from there */
#define FOUND_STACKS 5
#define FOUND 6

struct map slots SECTION("maps") = {MAP_ARRAY, 4, sizeof(struct slot), SLOTS, 0};
struct map crowded SECTION("maps") = {MAP_ARRAY, 4, 8, SLOTS, 0};
struct map threads SECTION("maps") = {MAP_HASH, 4, sizeof(struct thread), 32768, 0};
struct map processors SECTION("maps") = {MAP_PER_CPU_ARRAY, 4, sizeof(struct processor), 1, 0};
struct map ended SECTION("maps") = {MAP_LRU_HASH, 4, sizeof(struct ended), 8192, 0};
struct map counts SECTION("maps") = {MAP_HASH, sizeof(struct key), sizeof(struct sum), KEYS, 0};
struct map submitted SECTION("maps") = {MAP_LRU_HASH, 8, sizeof(struct submitted), 8192, 0};
struct map devices SECTION("maps") = {MAP_HASH, 4, 8, 256, 0};
struct map window SECTION("maps") = {MAP_ARRAY, 4, sizeof(struct window), 1, 0};
struct map losses SECTION("maps") = {MAP_ARRAY, 4, 8, LOSSES, 0};
struct map lengths SECTION("maps") = {MAP_PER_CPU_ARRAY, 4, 8, 64, 0};
struct map found SECTION("maps") = {MAP_ARRAY, 4, 8, FOUND, 0};
struct map copies SECTION("maps") = {MAP_RINGBUF, 0, 0, 4 << 20, 0};

INLINE void add(void *map, u32 place)
{
	u64 *sum = lookup(map, &place);
	if (sum)
		__sync_fetch_and_add(sum, 1);
}

/* Adds one to a sum of this processor. */
INLINE void tally(void *map, u32 place)
{
	u64 *sum = lookup(map, &place);
	if (sum)
		++*sum;
}

INLINE struct window *the_window(void)
{
	u32 only = 0;
	return lookup(&window, &only);
}

INLINE u32 counting(void)
{
	volatile struct window *window = the_window();
	return window && window->since && !window->until;
}

/* True while system calls and switches are counted. */
INLINE u32 in_sampling_window(volatile struct window *window)
{
	return window->sampling_since && !window->sampling_until;
}

/* The sampling clock at a time. */
INLINE u64 sampling_clock(volatile struct window *window, u64 at)
{
	u64 since = window->sampling_since, until = window->sampling_until;
	if (until)
		at = until;
	return window->sampled + (since && at > since ? at - since : 0);
}

/* The field of a tracepoint's record. */
INLINE u32 field(void *context, u32 at)
{
	u32 value = 0;
	read_kernel(&value, sizeof(value), (u8 *)context + at);
	return value;
}

INLINE u64 field64(void *context, u32 at)
{
	u64 value = 0;
	read_kernel(&value, sizeof(value), (u8 *)context + at);
	return value;
}

/* The user's registers that say where a thread is. */
struct where {
	u64 instruction;
	u64 stack_pointer;
	u64 frame_pointer;
};

/* The maximum distance of a frame pointer from the stack pointer. */
#define FRAME_MAX 65536

INLINE u64 site_of(u64 registers, struct where *where)
{
	if (!registers)
		return NO_SITE;
	where->instruction = field64((void *)registers, AT_INSTRUCTION);
	where->stack_pointer = field64((void *)registers, AT_STACK);
	where->frame_pointer = field64((void *)registers, AT_FRAME);
	/* If a function keeps another value there, as C libraries do, each call would be a site of its own. */
	u64 frame = where->frame_pointer - where->stack_pointer < FRAME_MAX ? where->frame_pointer : 0;
	u64 site = where->instruction * 0x9e3779b97f4a7c15ULL;
	site = (site ^ where->stack_pointer) * 0xbf58476d1ce4e5b9ULL;
	site = (site ^ site >> 29 ^ frame) * 0x94d049bb133111ebULL;
	return site | 1;
}

/* Reserves an entry for one more key with a site. */
INLINE u32 reserve_site(void)
{
	u32 at = SITES;
	u64 *sites = lookup(&losses, &at);
	if (!sites || *(volatile u64 *)sites >= KEYS_WITH_SITES)
		return 0;
	__sync_fetch_and_add(sites, 1);
	return 1;
}

/* The sum under a key, created if absent; under the key without its site if the map is full. */
INLINE struct sum *sum_of(struct key *key)
{
	struct sum *sum = lookup(&counts, key);
	if (sum)
		return sum;
	/* For requests issued outside of the tree, the site is a device. */
	if (key->site && key->thread < ISSUED_BY_KERNEL && !reserve_site()) {
		add(&losses, LOST_SITES);
		key->site = NO_SITE;
		sum = lookup(&counts, key);
		if (sum)
			return sum;
	}
	struct sum fresh = {};
	update(&counts, key, &fresh, NO_EXIST);
	sum = lookup(&counts, key);
	if (!sum)
		add(&losses, key->kind >> 16);
	return sum;
}

INLINE struct slot *slot_of(u32 number)
{
	u32 at = number & (SLOTS - 1);
	return lookup(&slots, &at);
}

INLINE u32 is_crowded(u32 number)
{
	u32 at = number & (SLOTS - 1);
	u64 *is = lookup(&crowded, &at);
	return is && *(volatile u64 *)is;
}

/* A thread of the tree that has no slot. */
INLINE struct thread *without_slot(u32 number)
{
	return is_crowded(number) ? lookup(&threads, &number) : 0;
}

/* A thread of the tree. */
INLINE struct thread *known(u32 number)
{
	struct slot *slot = slot_of(number);
	return slot && slot->thread.number == number ? &slot->thread : without_slot(number);
}

/* Puts a thread into a free slot. */
INLINE void seat(struct slot *slot, struct thread *thread, u32 number)
{
	struct sum nothing = {};
	slot->thread = *thread;
	slot->preempted = nothing;
	for (u32 i = 0; i < SEATS; i++)
		slot->seats[i].site = NO_SITE;
	slot->thread.number = number;
}

/* The thread that runs here, leaves or comes. A thread that the loader entered moves to its slot, if that is
 * free. */
INLINE struct thread *find(u32 number)
{
	struct slot *slot = slot_of(number);
	if (slot && slot->thread.number == number)
		return &slot->thread;
	struct thread *thread = without_slot(number);
	if (!thread || !slot || slot->thread.number || !thread->moves)
		return thread;
	seat(slot, thread, number);
	delete(&threads, &number);
	return &slot->thread;
}

/* Writes the sum of a seat back to `counts`. */
static __attribute__((noinline)) u32 put_back(u32 number, struct seat *seat)
{
	if (!seat)
		return 0;
	struct key key = {.thread = number, .kind = KIND_VOLUNTARY, .site = seat->site};
	struct sum *sum = sum_of(&key);
	if (!sum)
		return 0;
	if (key.site) {
		*sum = seat->sum;
		return 0;
	}
	sum->count += seat->sum.count;
	sum->amount += seat->sum.amount;
	return 0;
}

/* A thread has ended: writes the sums of its slot back to `counts`, and frees the slot. */
static __attribute__((noinline)) u32 leave_slot(u32 number)
{
	struct slot *slot = slot_of(number);
	if (!slot || slot->thread.number != number)
		return 0;
	for (u32 i = 0; i < SEATS; i++)
		if (slot->seats[i].site)
			put_back(number, &slot->seats[i]);
	if (slot->preempted.count || slot->preempted.amount) {
		struct key key = {.thread = number, .kind = KIND_INVOLUNTARY, .site = NO_SITE};
		struct sum *sum = sum_of(&key);
		if (sum) {
			sum->count += slot->preempted.count;
			sum->amount += slot->preempted.amount;
		}
	}
	slot->thread.number = 0;
	return 1;
}

/* The sum for switches of a thread at a site; none without a slot or a site. */
INLINE struct sum *seat_of(u32 number, u32 kind, u64 site)
{
	struct slot *slot = slot_of(number);
	if (!slot || slot->thread.number != number)
		return 0;
	if (kind == KIND_INVOLUNTARY)
		return &slot->preempted;
	if (!site)
		return 0;
	struct seat *seat = &slot->seats[site >> 32 & (SEATS - 1)];
	if (seat->site == site)
		return &seat->sum;
	if (seat->site)
		put_back(number, seat);
	struct key key = {.thread = number, .kind = kind, .site = site};
	struct sum nothing = {}, *before = lookup(&counts, &key);
	seat->sum = before ? *before : nothing;
	seat->site = site;
	return &seat->sum;
}

/* Copies the registers, the frame pointer chain and the top of the stack of an event that represents
 * `weight` events. */
static __attribute__((noinline)) u32 copy(void *context, struct key *key, struct where *where, u64 registers,
					  u64 weight)
{
	if (!context || !key || !where)
		return 0;
	struct record *record = reserve(&copies, sizeof(struct record), 0);
	if (!record) {
		add(&losses, LOST_COPIES);
		return 0;
	}
	record->key = *key;
	record->weight = weight;
	record->process = current() >> 32;
	record->instruction = where->instruction;
	record->stack_pointer = where->stack_pointer;
	record->frame_pointer = where->frame_pointer;
	record->link = AT_LINK == 0xffffffff ? 0 : field64((void *)registers, AT_LINK);
	long chain = frames_of(context, record->chain, sizeof(record->chain), USER_STACK);
	record->chain_bytes = chain > 0 ? chain : 0;
	/* The stack may end within the copy: try smaller sizes. */
	void *top = (void *)where->stack_pointer;
	record->bytes = COPY;
	if (read_user(record->copy, COPY, top)) {
		record->bytes = COPY / 4;
		if (read_user(record->copy, COPY / 4, top)) {
			record->bytes = COPY / 16;
			if (read_user(record->copy, COPY / 16, top))
				record->bytes = 0;
		}
	}
	submit(record, NO_WAKEUP);
	return 1;
}

INLINE struct processor *this_processor(void)
{
	u32 here = 0;
	return lookup(&processors, &here);
}

/* A processor's quotas of copies: one per interval in nanoseconds, and bursts from unused quota. First copies
 * of keys have a quota of their own (300 at once and 3,300 per second), because otherwise a store with many
 * threads and sites would fill the ring at the start of the window. */
#define FIRST_COPY_NS 300000
#define FIRST_COPY_BURST_NS 90000000
#define COPY_NS 4000000
#define BURST 500000000

INLINE u32 is_left_of(u64 *used_up, u64 interval, u64 burst)
{
	u64 at = now();
	if (*used_up > at + burst)
		return 0;
	*used_up = (*used_up > at ? *used_up : at) + interval;
	return 1;
}

INLINE u32 may_copy(u32 is_first)
{
	struct processor *here = this_processor();
	if (!here)
		return 0;
	return is_first ? is_left_of(&here->firsts, FIRST_COPY_NS, FIRST_COPY_BURST_NS)
			: is_left_of(&here->copies, COPY_NS, BURST);
}

/* Copies the stack of the first event of a sum, and then of one in about `gap`: 31 with a site, 15 without,
 * and more if there are thousands. If the quota is used up or the ring is full, the next event is copied
 * instead. */
INLINE u32 copy_if_due(void *context, struct key *key, struct sum *sum, u64 count, struct where *where,
		       u64 registers)
{
	u64 due = sum->next, before = sum->copied;
	if (count < due || !registers || !may_copy(!before))
		return 0;
	u64 gap = key->site ? count >> 4 : count >> 6;
	u64 least = key->site ? 31 : 15;
	if (gap < least)
		gap = least;
	if (gap > 0x7fffffff)
		gap = 0x7fffffff;
	/* Random between 0.5 and 1.5 times the gap, so that copies do not keep step with the load. */
	sum->next = count + (gap >> 1) + random() % (u32)gap + 1;
	sum->copied = count;
	if (copy(context, key, where, registers, count - before))
		return 1;
	sum->next = due;
	sum->copied = before;
	return 0;
}

/* Counts an event under a key that several threads may update. */
INLINE void count(void *context, struct key *key, struct where *where, u64 registers)
{
	struct sum *sum = sum_of(key);
	if (!sum)
		return;
	__sync_fetch_and_add(&sum->count, 1);
	copy_if_due(context, key, sum, *(volatile u64 *)&sum->count, where, registers);
}

/* Copies the stack of a new key outside of sampling windows: the thread may sleep there for the whole
 * window. */
INLINE u32 copy_if_new(void *context, struct key *key, struct where *where, u64 registers)
{
	if (!registers || lookup(&counts, key) || !may_copy(1))
		return 0;
	return sum_of(key) ? copy(context, key, where, registers, 0) : 0;
}

INLINE u32 is_sync(u32 call)
{
	return call == SYNC_A || call == SYNC_B || call == SYNC_C || call == SYNC_D;
}

/* Samples a system call that represents `events` calls. */
static __attribute__((noinline)) u32 sample_call(u64 *context, u32 number, u64 events)
{
	if (!context)
		return 0;
	struct where where = {};
	struct key key = {.thread = number, .kind = context[1] & 0xffff, .site = site_of(context[0], &where)};
	struct sum *sum = sum_of(&key);
	if (!sum)
		return 0;
	sum->count += events;
	sum->amount++;
	copy_if_due(context, &key, sum, sum->count, &where, context[0]);
	return 0;
}

/* Adds time off the processor, by the sampling clock, at the site where the thread left. */
INLINE struct sum *add_off_time(struct thread *thread, u32 number, struct key *key, u64 off)
{
	key->thread = number;
	key->kind = thread->kind ? thread->kind : KIND_VOLUNTARY;
	key->site = thread->site;
	struct sum *sum = seat_of(number, key->kind, key->site);
	if (!sum)
		sum = sum_of(key);
	if (sum)
		sum->amount += off;
	return sum;
}

INLINE u32 power_of_two(u64 value)
{
	u32 power = 0;
	if (value >> 32) {
		value >>= 32;
		power += 32;
	}
	if (value >> 16) {
		value >>= 16;
		power += 16;
	}
	if (value >> 8) {
		value >>= 8;
		power += 8;
	}
	if (value >> 4) {
		value >>= 4;
		power += 4;
	}
	if (value >> 2) {
		value >>= 2;
		power += 2;
	}
	if (value >> 1)
		power += 1;
	return power;
}

INLINE void come_back(u32 number, struct thread *thread, u64 at)
{
	u64 since = thread->off_since;
	volatile struct window *window = the_window();
	thread->off_since = 0;
	if (!window)
		return;
	u64 sampled_ns = sampling_clock(window, at);
	/* If it is unknown when the thread left, it did not run at the start of the sampling window. */
	u64 from = since ? thread->off_sampled : window->sampled;
	if (sampled_ns <= from)
		return;
	if (since && since >= window->attached && in_sampling_window(window))
		tally(&lengths, power_of_two(at - since));
	struct key key = {};
	add_off_time(thread, number, &key, sampled_ns - from);
	if (!since || !thread->sampled)
		return;
	struct returned *record = reserve(&copies, sizeof(struct returned), 0);
	if (!record) {
		add(&losses, LOST_COPIES);
		return;
	}
	record->key = key;
	record->weight = sampled_ns - from;
	submit(record, NO_WAKEUP);
}

/* An uncertainty above this part of a thread's time off is counted in `losses`. */
#define KNOWN_WITHIN 16

/* A thread is seen running. If it left in another sampling window, it came back between the two; otherwise
 * its return was not reported, and was later than the last reported switch at its processor. */
static __attribute__((noinline)) u32 note_return(struct thread *thread, u32 number, struct processor *here)
{
	volatile struct window *window = the_window();
	if (!thread || !window || !thread->off_since)
		return 0;
	u64 since = thread->off_since, from = thread->off_sampled, until = window->sampled;
	if (since < window->attached || !window->attached) {
		struct key key = {};
		thread->off_since = 0;
		if (!window->attached)
			until = sampling_clock(window, window->sampling_until);
		if (until > from)
			add_off_time(thread, number, &key, until - from);
		return 0;
	}
	u64 last = here && here->last_switch > since ? here->last_switch : since;
	if (in_sampling_window(window) && now() - last > (last - since) / KNOWN_WITHIN)
		add(&losses, LOST_RETURNS);
	come_back(number, thread, last);
	return 0;
}

/* The user's registers of the thread that runs here. */
INLINE u64 registers_of(struct thread *thread)
{
	if (thread->registers)
		return thread->registers;
	u32 at_stack = FOUND_STACK, at_registers = FOUND_REGISTERS, at_stacks = FOUND_STACKS;
	u64 *stack = lookup(&found, &at_stack);
	u64 *behind = lookup(&found, &at_registers);
	u64 *stacks = lookup(&found, &at_stacks);
	if (stack && behind && stacks && *stacks == 1)
		thread->registers = field64((void *)(current_task() + *stack), 0) + *behind;
	return thread->registers;
}

/* A sync of a thread of the tree. */
INLINE void sync(void *context, struct thread *thread, u32 number)
{
	struct where where = {};
	u64 registers = registers_of(thread);
	struct key key = {.thread = number, .kind = KIND_SYNC, .site = site_of(registers, &where)};
	count(context, &key, &where, registers);
}

/* The result of a program at a tracepoint of perf: other counters there, such as the runner's, see it too. */
#define PASS_ON 1

/* Syncs have tracepoints of their own on most kernels, attached in all of the window. */
SECTION("tracepoint/syscalls/sys_enter_fsync") int sync_call(void *context)
{
	u64 id = current();
	struct thread *thread = find((u32)id);
	if (!thread || !counting())
		return PASS_ON;
	if (!thread->process)
		thread->process = id >> 32;
	sync(context, thread, (u32)id);
	return PASS_ON;
}

/* The calling thread, if it is unknown whether it belongs to the tree. */
static __attribute__((noinline)) u32 calling_thread(struct processor *here, u64 registers)
{
	u64 id = current();
	u32 number = (u32)id;
	struct thread *thread = find(number);
	if (!here)
		return OTHERS;
	here->came = number;
	if (!thread) {
		here->thread = OTHERS;
		return OTHERS;
	}
	note_return(thread, number, here);
	if (!thread->registers) {
		thread->registers = registers;
		thread->process = id >> 32;
	}
	here->thread = number;
	return number;
}

/* Forgets which thread ran at a processor before the programs were attached again. */
INLINE void expire(struct processor *here, volatile struct window *window)
{
	u64 attached = window->attached;
	if (here->attached == attached)
		return;
	here->attached = attached;
	here->thread = NOT_KNOWN;
	here->came = 0;
	here->last_switch = 0;
}

/* System calls: context[0] is the registers, context[1] the number. */
SECTION("raw_tracepoint/sys_enter") int system_call(u64 *context)
{
	struct processor *here = this_processor();
	volatile struct window *window = the_window();
	if (!here || !window)
		return 0;
	expire(here, window);
	u32 number = here->thread;
	if (number == NOT_KNOWN || (number == OTHERS && here->came != (u32)current()))
		number = calling_thread(here, context[0]);
	if (number == OTHERS || !in_sampling_window(window))
		return 0;
	struct thread *thread = known(number);
	if (!thread)
		return 0;
	thread->calls++;
	here->calls++;
	if (!SYNCS_APART && is_sync(context[1]))
		sync(context, thread, number);
	if (here->passed) {
		here->passed--;
		return 0;
	}
	u64 weight = here->weight ? here->weight : 1;
	here->sampled += weight;
	/* Random between one and nearly twice the mean, so that samples do not keep step with the load. */
	u32 next = here->sampled < DENSE ? 1 : 1 + random() % (2 * SPARSE - 1);
	here->weight = next;
	here->passed = next - 1;
	sample_call(context, number, weight);
	return 0;
}

/* A thread has ended. */
static __attribute__((noinline)) u32 forget(struct thread *thread, u32 number)
{
	u32 place = CALLS_OF_ENDED;
	u64 *calls = lookup(&losses, &place);
	if (calls && thread)
		__sync_fetch_and_add(calls, thread->calls);
	if (!leave_slot(number))
		delete(&threads, &number);
	return 0;
}

/* How a thread leaves its processor. */
#define PREEMPTED 0
#define WAITS 1
#define ENDS 2

INLINE void leave(void *context, struct processor *here, u32 number, struct thread *thread, u64 at, u32 how)
{
	volatile struct window *window = the_window();
	if (!window)
		return;
	u32 kind = how == PREEMPTED ? KIND_INVOLUNTARY : KIND_VOLUNTARY;
	struct where where = {};
	struct key key = {.thread = number, .kind = kind};
	note_return(thread, number, here);
	u64 registers = registers_of(thread);
	u64 site = site_of(registers, &where);
	/* A preempted thread may be at any instruction: nearly every event would be a new site. */
	if (kind == KIND_VOLUNTARY)
		key.site = site;
	u32 sampled = 0;
	if (in_sampling_window(window)) {
		here->switches++;
		struct sum *sum = seat_of(number, kind, key.site);
		if (!sum)
			sum = sum_of(&key);
		if (sum) {
			sum->count++;
			sampled = copy_if_due(context, &key, sum, sum->count, &where, registers);
		}
	} else {
		sampled = copy_if_new(context, &key, &where, registers);
	}
	if (how == ENDS) {
		forget(thread, number);
		return;
	}
	thread->site = key.site;
	thread->kind = kind;
	thread->sampled = sampled;
	thread->off_since = at;
	thread->off_sampled = sampling_clock(window, at);
}

INLINE void switched(void *context, u32 coming, u32 how)
{
	u64 id = current();
	u32 leaving = (u32)id;
	struct processor *here = this_processor();
	volatile struct window *window = the_window();
	if (!here || !window)
		return;
	expire(here, window);
	struct thread *thread = leaving ? find(leaving) : 0;
	u64 at = now();
	if (thread) {
		if (!thread->process)
			thread->process = id >> 32;
		leave(context, here, leaving, thread, at, how);
	}
	struct thread *next = coming ? find(coming) : 0;
	/* Its first system call shows where its registers are. */
	here->came = coming;
	here->thread = !next ? OTHERS : next->registers ? coming : NOT_KNOWN;
	if (next)
		come_back(coming, next, at);
	here->last_switch = at;
}

/* The state of a thread that has ended. */
#define DEAD 0x80

/* A switch. context: true if the thread is preempted, the leaving thread, the coming thread, and the state of
 * the leaving one (Linux 5.18 or later; 0: it can continue). A raw tracepoint builds no record, which would
 * cost about as much as the counting. */
SECTION("raw_tracepoint/sched_switch") int task_switch(u64 *context)
{
	u32 at = FOUND_PLACE;
	u64 *place = lookup(&found, &at);
	if (!place)
		return 0;
	u32 state = context[0] & 1 ? 0 : context[3];
	switched(context, field((void *)context[2], *place),
		 !state ? PREEMPTED : state & DEAD ? ENDS : WAITS);
	return 0;
}

/* States in a record of a switch: a bit above those of tasks means preempted, and no state at all means that
 * the thread can continue. */
#define STATES 0xff
#define RECORDED_DEAD 0x30

/* The same on kernels without the state in the raw tracepoint. */
SECTION("tracepoint/sched/sched_switch") int task_switch_by_record(void *context)
{
	u32 state = field(context, AT_PREV_STATE) & 0xffff;
	switched(context, field(context, AT_NEXT_PID),
		 !state || state > STATES ? PREEMPTED : state & RECORDED_DEAD ? ENDS : WAITS);
	return 0;
}

/* Finds two offsets in the kernel's structure of a thread: of its number, which that of its process follows,
 * and of the pointer to its kernel stack, at whose far end a system call keeps the user's registers. Searches
 * the structure of the calling thread, if the loader has written its numbers to `found`; writes the offsets
 * and the numbers of matches. */
#define PIECE 32
#define PIECES 512
#define PAGE 4095
#define STACK_MAX 65536
INLINE void note_found(u32 at, u64 what)
{
	u64 *place = lookup(&found, &at);
	if (place)
		*place = what;
}

SECTION("raw_tracepoint/find_number") int find_number(u64 *context)
{
	u32 at_wanted = FOUND_WANTED, at_place = FOUND_PLACE, at_times = FOUND_TIMES;
	u64 *wanted = lookup(&found, &at_wanted);
	u64 *place = lookup(&found, &at_place);
	u64 *times = lookup(&found, &at_times);
	if (!wanted || !place || !times || !*wanted || *times || current() != *wanted)
		return 0;
	u64 task = current_task(), id = *wanted, last = 0, many = 0;
	u64 registers = context[0], stack = 0, behind = 0, stacks = 0;
	for (u32 piece = 0; piece < PIECES; piece++) {
		u64 bytes[PIECE / 8];
		if (read_kernel(bytes, PIECE, (void *)(task + piece * PIECE)))
			break;
		for (u32 word = 0; word < PIECE / 8; word++)
			if (bytes[word] == id) {
				last = piece * PIECE + word * 8;
				many++;
			} else if (!(bytes[word] & PAGE) && registers - bytes[word] < STACK_MAX) {
				stack = piece * PIECE + word * 8;
				behind = registers - bytes[word];
				stacks++;
			}
	}
	note_found(FOUND_STACK, stack);
	note_found(FOUND_REGISTERS, behind);
	note_found(FOUND_STACKS, stacks);
	*place = last;
	*times = many;
	return 0;
}

SECTION("tracepoint/sched/sched_process_fork") int task_fork(void *context)
{
	u32 parent = field(context, AT_PARENT_PID);
	u32 child = field(context, AT_CHILD_PID);
	/* The number may be that of an ended thread of the tree. */
	if (!leave_slot(child) && is_crowded(child))
		delete(&threads, &child);
	if (!known(parent))
		return 0;
	/* It waits for its first processor from now on, at a site that only the parent knows. */
	struct thread fresh = {};
	fresh.parent = parent;
	fresh.kind = KIND_INVOLUNTARY;
	fresh.off_since = now();
	volatile struct window *window = the_window();
	if (window)
		fresh.off_sampled = sampling_clock(window, fresh.off_since);
	struct slot *slot = slot_of(child);
	/* Threads started at the same time have adjacent numbers, so not the same slot. */
	if (slot && !slot->thread.number && !is_crowded(child)) {
		seat(slot, &fresh, child);
		return 0;
	}
	u32 at = child & (SLOTS - 1);
	u64 yes = 1;
	update(&crowded, &at, &yes, ANY);
	if (update(&threads, &child, &fresh, ANY))
		add(&losses, LOST_THREADS);
	return 0;
}

SECTION("tracepoint/sched/sched_process_exec") int task_exec(void *context)
{
	u32 number = (u32)current();
	struct thread *thread = find(number);
	if (thread)
		thread->executed = 1;
	return 0;
}

SECTION("tracepoint/sched/sched_process_exit") int task_exit(void *context)
{
	u64 id = current();
	u32 number = (u32)id;
	struct thread *thread = find(number);
	if (!thread)
		return 0;
	/* It stays in its map until it leaves its processor for the last time. */
	struct ended last = {.process = id >> 32, .parent = thread->parent, .executed = thread->executed};
	current_name(last.name, sizeof(last.name));
	update(&ended, &number, &last, ANY);
	/* No program will report that it leaves its processor. */
	volatile struct window *window = the_window();
	if (window && !window->attached) {
		note_return(thread, number, 0);
		forget(thread, number);
	}
	return 0;
}

/* The letters that the kernel writes for the flags of a request: F before the operation is a flush,
 * W the operation, and then F (to the medium), A (ahead), S (a thread waits for it), M (metadata), in
 * this order. */
struct flags {
	u32 flush;
	u32 write;
	u32 waited_for;
};

INLINE void read_flags(void *context, u32 at, struct flags *flags)
{
	char letters[8] = {};
	read_kernel(letters, sizeof(letters), (u8 *)context + at);
	flags->flush = letters[0] == 'F';
	u32 operation = flags->flush;
	flags->write = operation ? letters[1] == 'W' : letters[0] == 'W';
	flags->waited_for = 0;
	for (u32 i = 1; i < sizeof(letters); i++) {
		if (!letters[i])
			break;
		if (i > operation && (letters[i] == 'S' || letters[i] == 'F'))
			flags->waited_for = 1;
	}
}

/* The current thread, if it belongs to the tree. The start of io_uring worker threads is not reported: they
 * are recognized by their process. */
INLINE struct thread *thread_of_tree(u32 *number)
{
	u64 id = current();
	*number = (u32)id;
	struct thread *thread = known(*number);
	if (thread)
		return thread;
	*number = id >> 32;
	return known(*number);
}

/* A thread hands a write to the block layer: the only point at which the requesting thread is certain. */
SECTION("tracepoint/block/block_bio_queue") int block_queue(void *context)
{
	u32 number;
	u64 sector = field64(context, AT_QUEUE_SECTOR);
	struct thread *thread = thread_of_tree(&number);
	if (!thread) {
		/* Another program writes this sector: the earlier submission is obsolete. */
		delete(&submitted, &sector);
		return 0;
	}
	if (!counting())
		return 0;
	struct flags flags;
	read_flags(context, AT_QUEUE_FLAGS, &flags);
	if (!flags.flush && !flags.write)
		return 0;
	struct where where = {};
	/* An io_uring worker thread has no site: the registers are another thread's. */
	u64 registers = number == (u32)current() ? thread->registers : 0;
	struct key key = {.thread = number, .kind = KIND_FLUSH, .site = site_of(registers, &where)};
	if (flags.flush)
		count(context, &key, &where, registers);
	if (flags.write) {
		struct submitted requester = {.thread = number, .site = key.site};
		update(&submitted, &sector, &requester, ANY);
		key.kind = KIND_QUEUED;
		count(context, &key, &where, registers);
	}
	return 0;
}

/* Notes that the tree wrote to a device. */
INLINE void note_device(u32 device)
{
	u64 *requests = lookup(&devices, &device);
	if (requests) {
		__sync_fetch_and_add(requests, 1);
		return;
	}
	u64 first = 1;
	update(&devices, &device, &first, NO_EXIST);
}

/* The thread and the site that requested it. */
INLINE void requester_of(void *context, u64 sector, u32 device, struct key *key)
{
	struct submitted *requester = lookup(&submitted, &sector);
	if (requester) {
		key->thread = requester->thread;
		key->site = requester->site;
		note_device(device);
		return;
	}
	u32 number;
	struct thread *thread = thread_of_tree(&number);
	if (thread) {
		struct where where;
		key->thread = number;
		key->site = site_of(number == (u32)current() ? thread->registers : 0, &where);
		note_device(device);
		return;
	}
	/* Kernel threads have no user stack. */
	u64 frame;
	u32 is_kernel = frames_of(context, &frame, sizeof(frame), USER_STACK) < 0;
	key->thread = is_kernel ? ISSUED_BY_KERNEL : ISSUED_BY_OTHERS;
	key->site = device;
}

INLINE void request(void *context, u32 device, u64 sector, u32 sectors, u32 flags_at, u64 sign)
{
	if (!counting())
		return;
	struct flags flags;
	read_flags(context, flags_at, &flags);
	if (!flags.write) {
		if (flags.flush) {
			u32 place = DEVICE_FLUSHES;
			u64 *sum = lookup(&losses, &place);
			if (sum)
				__sync_fetch_and_add(sum, sign);
		}
		return;
	}
	struct key key = {.kind = flags.waited_for ? KIND_SYNC_WRITE : KIND_ASYNC_WRITE};
	requester_of(context, sector, device, &key);
	struct sum *sum = sum_of(&key);
	if (!sum)
		return;
	__sync_fetch_and_add(&sum->count, sign);
	__sync_fetch_and_add(&sum->amount, sign * 512 * sectors);
}

/* A device receives a request. */
SECTION("tracepoint/block/block_rq_issue") int block_issue(void *context)
{
	request(context, field(context, AT_ISSUE_DEVICE), field64(context, AT_ISSUE_SECTOR),
		field(context, AT_ISSUE_SECTORS), AT_ISSUE_FLAGS, 1);
	return 0;
}

/* A device could not take it: it will be issued again, and then counted again. */
SECTION("tracepoint/block/block_rq_requeue") int block_requeue(void *context)
{
	request(context, field(context, AT_REQUEUE_DEVICE), field64(context, AT_REQUEUE_SECTOR),
		field(context, AT_REQUEUE_SECTORS), AT_REQUEUE_FLAGS, -1ULL);
	return 0;
}
