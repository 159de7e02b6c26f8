/* The libc calls that change files, each bracketed by the journal. */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void)
{
    shim_start();
}

/* The absolute path of a name whose parent exists; the name itself may be missing. */
static bool resolve(int at, const char *path, char *resolved)
{
    char joined[2 * PATH_BYTES], link[64], place[PATH_BYTES];
    if (path[0] == '/') {
        snprintf(joined, sizeof joined, "%s", path);
    } else if (at == AT_FDCWD) {
        if (getcwd(place, sizeof place) == NULL)
            return false;
        snprintf(joined, sizeof joined, "%s/%s", place, path);
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", at);
        ssize_t length = readlink(link, place, sizeof place - 1);
        if (length < 0)
            return false;
        place[length] = '\0';
        snprintf(joined, sizeof joined, "%s/%s", place, path);
    }
    char *slash = strrchr(joined, '/');
    char name[PATH_BYTES];
    snprintf(name, sizeof name, "%s", slash + 1);
    slash[slash == joined ? 1 : 0] = '\0';
    if (realpath(joined, place) == NULL)
        return false;
    return snprintf(resolved, PATH_BYTES, "%s/%s", place, name) < PATH_BYTES;
}

static int resize(int fd, off_t size);

static bool refuses_change(int at, const char *path)
{
    char resolved[PATH_BYTES];
    if (!shim_is_read_only() || !resolve(at, path, resolved) || !shim_watches_path(resolved))
        return false;
    errno = EROFS;
    return true;
}

static int open_watched(int at, const char *path, int flags, mode_t mode)
{
    char resolved[PATH_BYTES];
    struct stat status;
    bool created = (flags & O_CREAT) && fstatat(at, path, &status, 0) != 0;
    if ((created || (flags & O_ACCMODE) != O_RDONLY) && refuses_change(at, path))
        return -1;
    bool empties = (flags & O_TRUNC) && !created && resolve(at, path, resolved) &&
                   shim_watches_path(resolved);
    if (empties)
        flags &= ~O_TRUNC;
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (fd < 0)
        return fd;
    shim_opened(fd, created, flags);
    if (empties)
        resize(fd, 0);
    return fd;
}

static mode_t mode_of(int flags, va_list rest)
{
    return (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name)                                                                                \
    int name(const char *path, int flags, ...)                                                    \
    {                                                                                             \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode_t mode = mode_of(flags, rest);                                                       \
        va_end(rest);                                                                             \
        return open_watched(AT_FDCWD, path, flags, mode);                                         \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                              \
    int name(int at, const char *path, int flags, ...)                                            \
    {                                                                                             \
        va_list rest;                                                                             \
        va_start(rest, flags);                                                                    \
        mode_t mode = mode_of(flags, rest);                                                       \
        va_end(rest);                                                                             \
        return open_watched(at, path, flags, mode);                                               \
    }
OPENAT(openat)
OPENAT(openat64)

int creat(const char *path, mode_t mode)
{
    return open_watched(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int close(int fd)
{
    shim_closed(fd);
    return (int)syscall(SYS_close, fd);
}

static ssize_t write_at(int fd, const struct iovec *parts, int count, off_t offset)
{
    return syscall(SYS_pwritev, fd, parts, (long)count, (long)offset, 0L);
}

static ssize_t write_watched(int fd, const struct iovec *parts, int count, off_t offset,
                             bool moves)
{
    struct watched *file = shim_file(fd);
    struct stat status;
    size_t total = 0;
    for (int part = 0; part < count; part++)
        total += parts[part].iov_len;
    if (moves && file->appends && fstat(fd, &status) == 0)
        offset = status.st_size;
    else if (moves)
        offset = lseek(fd, 0, SEEK_CUR);
    if (!shim_has_room(fd, offset + (off_t)total)) {
        errno = ENOSPC;
        return -1;
    }
    shim_before_write(file, fd, offset, total);
    ssize_t done = moves ? syscall(SYS_writev, fd, parts, (long)count)
                         : write_at(fd, parts, count, offset);
    int error = errno;
    shim_after();
    errno = error;
    return done;
}

ssize_t write(int fd, const void *data, size_t count)
{
    if (shim_file(fd) == NULL)
        return syscall(SYS_write, fd, data, count);
    struct iovec part = {(void *)data, count};
    return write_watched(fd, &part, 1, 0, true);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (shim_file(fd) == NULL)
        return syscall(SYS_writev, fd, parts, (long)count);
    return write_watched(fd, parts, count, 0, true);
}

#define PWRITE(name)                                                                              \
    ssize_t name(int fd, const void *data, size_t count, off_t offset)                            \
    {                                                                                             \
        if (shim_file(fd) == NULL)                                                                \
            return syscall(SYS_pwrite64, fd, data, count, offset);                                \
        struct iovec part = {(void *)data, count};                                                \
        return write_watched(fd, &part, 1, offset, false);                                        \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define PWRITEV(name)                                                                             \
    ssize_t name(int fd, const struct iovec *parts, int count, off_t offset)                      \
    {                                                                                             \
        if (shim_file(fd) == NULL)                                                                \
            return write_at(fd, parts, count, offset);                                            \
        return write_watched(fd, parts, count, offset, false);                                    \
    }
PWRITEV(pwritev)
PWRITEV(pwritev64)

static int resize(int fd, off_t size)
{
    struct watched *file = shim_file(fd);
    if (file == NULL)
        return (int)syscall(SYS_ftruncate, fd, size);
    shim_before_resize(file, fd, size);
    int result = (int)syscall(SYS_ftruncate, fd, size);
    int error = errno;
    shim_after();
    errno = error;
    return result;
}

int ftruncate(int fd, off_t size)
{
    return resize(fd, size);
}

int ftruncate64(int fd, off_t size)
{
    return resize(fd, size);
}

static int resize_path(const char *path, off_t size)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int result = resize(fd, size);
    int error = errno;
    close(fd);
    errno = error;
    return result;
}

int truncate(const char *path, off_t size)
{
    return resize_path(path, size);
}

int truncate64(const char *path, off_t size)
{
    return resize_path(path, size);
}

static int allocate(int fd, off_t offset, off_t length)
{
    struct watched *file = shim_file(fd);
    if (file == NULL)
        return (int)syscall(SYS_fallocate, fd, 0, offset, length) == 0 ? 0 : errno;
    if (!shim_has_room(fd, offset + length))
        return ENOSPC;
    struct stat status;
    if (fstat(fd, &status) != 0 || offset + length <= status.st_size)
        return 0;
    return resize(fd, offset + length) == 0 ? 0 : errno;
}

int posix_fallocate(int fd, off_t offset, off_t length)
{
    return allocate(fd, offset, length);
}

int posix_fallocate64(int fd, off_t offset, off_t length)
{
    return allocate(fd, offset, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length)
{
    if (shim_file(fd) == NULL)
        return (int)syscall(SYS_fallocate, fd, mode, offset, length);
    if (mode != 0) {
        errno = EOPNOTSUPP;
        return -1;
    }
    errno = allocate(fd, offset, length);
    return errno == 0 ? 0 : -1;
}

int fsync(int fd)
{
    struct watched *file = shim_file(fd);
    return file == NULL ? (int)syscall(SYS_fsync, fd) : shim_sync(file);
}

int fdatasync(int fd)
{
    struct watched *file = shim_file(fd);
    return file == NULL ? (int)syscall(SYS_fdatasync, fd) : shim_sync(file);
}

int unlinkat(int at, const char *path, int flags)
{
    char resolved[PATH_BYTES];
    if (refuses_change(at, path))
        return -1;
    if ((flags & AT_REMOVEDIR) || !resolve(at, path, resolved) || !shim_watches_path(resolved))
        return (int)syscall(SYS_unlinkat, at, path, flags);
    shim_before_unlink(resolved);
    int result = (int)syscall(SYS_unlinkat, at, path, flags);
    int error = errno;
    shim_after();
    errno = error;
    return result;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int remove(const char *path)
{
    int result = unlinkat(AT_FDCWD, path, 0);
    return result != 0 && errno == EISDIR ? rmdir(path) : result;
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    char old[PATH_BYTES], new[PATH_BYTES];
    if (refuses_change(to_at, to))
        return -1;
    if (!resolve(from_at, from, old) || !resolve(to_at, to, new) || !shim_watches_path(new))
        return (int)syscall(SYS_renameat, from_at, from, to_at, to);
    shim_before_rename(old, new);
    int result = (int)syscall(SYS_renameat, from_at, from, to_at, to);
    int error = errno;
    shim_after();
    errno = error;
    return result;
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

#define STATVFS(name, kind, real)                                                                 \
    int name(kind place, struct statvfs *status)                                                  \
    {                                                                                             \
        int (*next)(kind, struct statvfs *) = dlsym(RTLD_NEXT, real);                             \
        int result = next(place, status);                                                         \
        int64_t free_bytes = shim_free_bytes();                                                   \
        if (result == 0 && free_bytes >= 0)                                                       \
            status->f_bfree = status->f_bavail = (fsblkcnt_t)free_bytes / status->f_frsize;       \
        return result;                                                                            \
    }
STATVFS(statvfs, const char *, "statvfs")
STATVFS(fstatvfs, int, "fstatvfs")
#define AS_STATVFS64(name, kind)                                                                  \
    int name##64(kind place, struct statvfs64 *status)                                            \
    {                                                                                             \
        return name(place, (struct statvfs *)status);                                             \
    }
AS_STATVFS64(statvfs, const char *)
AS_STATVFS64(fstatvfs, int)
