/* The wall clock with an offset that may change while the process runs.
 *
 * Covers what libc offers for the time of day; monotonic clocks are left alone, as a step of the
 * time of day leaves them alone too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000LL

static const volatile int64_t *offset_ns;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void find_offset(void)
{
    real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("SKEW_FILE");
    if (path == NULL)
        return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        abort();
    void *place = mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (place == MAP_FAILED)
        abort();
    offset_ns = place;
}

static int64_t real_ns(clockid_t which)
{
    struct timespec time;
    /* Another library's constructor may ask before ours has run. */
    if (real_clock_gettime != NULL)
        real_clock_gettime(which, &time);
    else
        syscall(SYS_clock_gettime, which, &time);
    return time.tv_sec * SECOND_NS + time.tv_nsec;
}

static int64_t wall_ns(clockid_t which)
{
    return real_ns(which) + (offset_ns != NULL ? *offset_ns : 0);
}

int clock_gettime(clockid_t which, struct timespec *time)
{
    if (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE && which != CLOCK_TAI) {
        if (real_clock_gettime != NULL)
            return real_clock_gettime(which, time);
        return (int)syscall(SYS_clock_gettime, which, time);
    }
    int64_t now = wall_ns(which);
    *time = (struct timespec){now / SECOND_NS, now % SECOND_NS};
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    (void)zone;
    int64_t now = wall_ns(CLOCK_REALTIME);
    *time = (struct timeval){now / SECOND_NS, now % SECOND_NS / 1000};
    return 0;
}

time_t time(time_t *place)
{
    time_t now = wall_ns(CLOCK_REALTIME) / SECOND_NS;
    if (place != NULL)
        *place = now;
    return now;
}
