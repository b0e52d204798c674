/* Loaded before a program (LD_PRELOAD), this adds a known cost to every so many calls of fsync and fdatasync:
 *   PLANTED=none             nothing
 *   PLANTED=syncs EVERY=50   another sync
 *   PLANTED=calls EVERY=5    another system call
 *   PLANTED=bytes EVERY=15   another direct write of 4 KiB, to the file "planted" in the current directory
 *   PLANTED=cpu NS=1000      processor time, in each call
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum planted { NONE, SYNCS, CALLS, BYTES, CPU };

static enum planted planted;
static long every = 1, spin_ns;
static int file = -1;
static void *block;
static atomic_long calls;

static long number(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

__attribute__((constructor)) static void begin(void) {
  static const char *names[] = {"none", "syncs", "calls", "bytes", "cpu"};
  const char *name = getenv("PLANTED");
  for (int at = 0; name && at < 5; at++)
    if (strcmp(name, names[at]) == 0)
      planted = at;
  every = number("EVERY", 1);
  spin_ns = number("NS", 0);
  if (planted == BYTES) {
    file = open("planted", O_CREAT | O_WRONLY | O_DIRECT, 0600);
    if (file < 0 || posix_memalign(&block, 4096, 4096) != 0)
      abort();
    memset(block, 1, 4096);
    if (pwrite(file, block, 4096, 0) != 4096 || syscall(SYS_fsync, file) != 0)
      abort();
  }
}

static long now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int synced(int fd, long number) {
  long call = atomic_fetch_add(&calls, 1);
  if (planted == CPU)
    for (long until = now_ns() + spin_ns; now_ns() < until;)
      ;
  if (call % every == 0) {
    if (planted == SYNCS)
      syscall(number, fd);
    if (planted == CALLS)
      syscall(SYS_getppid);
    if (planted == BYTES && pwrite(file, block, 4096, 0) != 4096)
      abort();
  }
  return syscall(number, fd);
}

int fsync(int fd) { return synced(fd, SYS_fsync); }

int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }
