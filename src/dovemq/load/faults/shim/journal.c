#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind {
    OPENED = 'O',
    SECTOR = 'W',
    SIZE = 'Z',
    SYNCED = 'S',
    CREATED = 'C',
    UNLINKED = 'U',
    RENAMED = 'R',
    TICK = '.',
};

struct record {
    uint8_t kind;
    uint64_t inode;
    uint64_t first;
    uint64_t second;
    uint32_t payload_bytes;
} __attribute__((packed));

/* The last record of a file, or of a directory's names, that no sync has made void yet. */
struct unsynced {
    uint64_t inode;
    uint64_t end;
};

/* Shared with whoever started the process; counts go on over restarts. */
struct effects {
    int64_t syncs_failed;
    int64_t writes_refused;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct watched files[FILES_MAX];
static char root[PATH_BYTES];
static char journal_path[PATH_BYTES];
static size_t root_length;
static int journal = -1;
static uint64_t journal_bytes;
static uint64_t journal_restarts;
static struct unsynced unsynced[UNSYNCED_MAX];
static unsigned unsynced_count;
static bool unsynced_overflow;
static struct effects *effects;
static uint64_t operations;
static uint64_t cut_at;
static uint64_t kept;
static bool sync_lies;
static unsigned sync_us;
static bool full;
static int64_t room_bytes;

static struct effects *map_effects(const char *beside)
{
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/effects", beside);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(struct effects)) != 0)
        abort();
    void *place = mmap(NULL, sizeof(struct effects), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (place == MAP_FAILED)
        abort();
    return place;
}

void shim_start(void)
{
    const char *where = getenv("POWERCUT_ROOT");
    const char *beside = getenv("POWERCUT_JOURNAL");
    if (journal >= 0 || where == NULL || beside == NULL)
        return;
    const char *at = getenv("POWERCUT_AT");
    const char *sync = getenv("POWERCUT_SYNC");
    const char *us = getenv("POWERCUT_SYNC_US");
    char path[PATH_BYTES + 16];
    snprintf(root, sizeof root, "%s", where);
    snprintf(journal_path, sizeof journal_path, "%s", beside);
    snprintf(path, sizeof path, "%s/journal", beside);
    root_length = strlen(root);
    cut_at = at ? strtoull(at, NULL, 10) : 0;
    sync_lies = sync != NULL && strcmp(sync, "lie") == 0;
    sync_us = us ? (unsigned)strtoul(us, NULL, 10) : 0;
    journal = (int)syscall(SYS_openat, AT_FDCWD, path,
                           O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    effects = map_effects(beside);
}

static bool switched(const char *name)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%s", journal_path, name);
    return access(path, F_OK) == 0;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void append(enum kind kind, uint64_t inode, uint64_t first, uint64_t second,
                   const void *payload, size_t payload_bytes)
{
    char buffer[sizeof(struct record) + 2 * PATH_BYTES];
    struct record record = {(uint8_t)kind, inode, first, second, (uint32_t)payload_bytes};
    size_t total = sizeof record + payload_bytes;
    if (total > sizeof buffer)
        abort();
    memcpy(buffer, &record, sizeof record);
    memcpy(buffer + sizeof record, payload, payload_bytes);
    if (syscall(SYS_write, journal, buffer, total) != (long)total)
        abort();
    journal_bytes += total;
}

/* To be called after a record that a sync of this inode would make void. */
static void note_unsynced(uint64_t inode)
{
    unsigned place = 0;
    while (place < unsynced_count && unsynced[place].inode != inode)
        place++;
    if (place == UNSYNCED_MAX) {
        unsynced_overflow = true;
        return;
    }
    if (place == unsynced_count)
        unsynced_count++;
    unsynced[place] = (struct unsynced){inode, journal_bytes};
}

static void note_synced(uint64_t inode, uint64_t covered)
{
    for (unsigned place = 0; place < unsynced_count; place++) {
        if (unsynced[place].inode == inode && unsynced[place].end <= covered) {
            unsynced[place] = unsynced[--unsynced_count];
            return;
        }
    }
}

/* A journal of void records alone tells nothing: it need not grow with all that is written. */
static void restart_journal(void)
{
    if (unsynced_count > 0 || unsynced_overflow || journal_bytes < JOURNAL_BYTES_MIN)
        return;
    if (syscall(SYS_ftruncate, journal, 0) != 0)
        abort();
    journal_bytes = 0;
    journal_restarts++;
}

static void tick(void)
{
    append(TICK, 0, 0, 0, "", 0);
    if (++operations == cut_at)
        die();
}

bool shim_watches_path(const char *path)
{
    if (journal < 0 || strncmp(path, root, root_length) != 0 || path[root_length] != '/')
        return false;
    size_t length = strlen(path);
    return length < 4 || strcmp(path + length - 4, "-shm") != 0;
}

struct watched *shim_file(int fd)
{
    if (journal < 0 || fd < 0 || fd >= FILES_MAX || !files[fd].on)
        return NULL;
    return &files[fd];
}

static uint64_t directory_inode(const char *path)
{
    char directory[PATH_BYTES];
    struct stat status;
    snprintf(directory, sizeof directory, "%s", path);
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        *slash = '\0';
    return stat(directory, &status) == 0 ? status.st_ino : 0;
}

void shim_opened(int fd, bool created, int flags)
{
    char link[64], path[PATH_BYTES];
    struct stat status;
    if (journal < 0 || fd < 0 || fd >= FILES_MAX)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0 || fstat(fd, &status) != 0)
        return;
    path[length] = '\0';
    bool is_root = strcmp(path, root) == 0;
    if (!(is_root || shim_watches_path(path)) ||
        !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
        return;
    pthread_mutex_lock(&lock);
    append(OPENED, status.st_ino, 0, 0, path, (size_t)length + 1);
    if (created) {
        uint64_t directory = directory_inode(path);
        append(CREATED, status.st_ino, directory, 0, path, (size_t)length + 1);
        note_unsynced(directory);
    }
    files[fd] = (struct watched){true, (flags & O_APPEND) != 0, status.st_ino};
    if (created)
        tick();
    pthread_mutex_unlock(&lock);
}

void shim_closed(int fd)
{
    struct watched *file = shim_file(fd);
    if (file != NULL)
        file->on = false;
}

static void keep_sectors(uint64_t inode, int fd, off_t offset, off_t end)
{
    char old[SECTOR_BYTES];
    uint64_t sector = (uint64_t)offset / SECTOR_BYTES;
    for (; (off_t)(sector * SECTOR_BYTES) < end; sector++) {
        ssize_t count = syscall(SYS_pread64, fd, old, SECTOR_BYTES, sector * SECTOR_BYTES);
        if (count < 0) {
            /* Opened for writing alone: look through a descriptor of our own. */
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            int reader = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
            count = syscall(SYS_pread64, reader, old, SECTOR_BYTES, sector * SECTOR_BYTES);
            syscall(SYS_close, reader);
        }
        if (count < 0)
            abort();
        append(SECTOR, inode, sector, 0, old, (size_t)count);
    }
}

static off_t size_of(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        abort();
    return status.st_size;
}

void shim_before_write(struct watched *file, int fd, off_t offset, size_t count)
{
    pthread_mutex_lock(&lock);
    off_t size = size_of(fd);
    off_t end = offset + (off_t)count;
    keep_sectors(file->inode, fd, offset, end);
    if (end > size)
        append(SIZE, file->inode, (uint64_t)size, (uint64_t)end, "", 0);
    note_unsynced(file->inode);
}

void shim_before_resize(struct watched *file, int fd, off_t size)
{
    pthread_mutex_lock(&lock);
    off_t old = size_of(fd);
    if (size < old)
        keep_sectors(file->inode, fd, size, old);
    append(SIZE, file->inode, (uint64_t)old, (uint64_t)size, "", 0);
    note_unsynced(file->inode);
    if (full && size < old)
        room_bytes += old - size;
}

/* A second name keeps the file alive, so that the cut can bring it back under its first. */
static uint64_t keep_file(const char *path)
{
    char name[PATH_BYTES + 64];
    snprintf(name, sizeof name, "%s/kept-%llu", journal_path, (unsigned long long)++kept);
    return link(path, name) == 0 ? kept : 0;
}

void shim_before_unlink(const char *path)
{
    struct stat status;
    pthread_mutex_lock(&lock);
    if (stat(path, &status) != 0)
        return;
    if (full)
        room_bytes += status.st_size;
    uint64_t directory = directory_inode(path);
    append(UNLINKED, status.st_ino, directory, keep_file(path), path, strlen(path) + 1);
    note_unsynced(directory);
}

void shim_before_rename(const char *from, const char *to)
{
    struct stat status;
    char names[2 * PATH_BYTES];
    pthread_mutex_lock(&lock);
    if (stat(from, &status) != 0)
        return;
    uint64_t inode = status.st_ino;
    uint64_t replaced = stat(to, &status) == 0 ? keep_file(to) : 0;
    int length = snprintf(names, sizeof names, "%s%c%s", from, '\0', to);
    uint64_t directory = directory_inode(to);
    append(RENAMED, inode, directory, replaced, names, (size_t)length + 1);
    note_unsynced(directory);
}

void shim_after(void)
{
    tick();
    pthread_mutex_unlock(&lock);
}

static void look_at_full(void)
{
    bool now = switched("full");
    if (now != full)
        room_bytes = 0;
    full = now;
}

bool shim_is_read_only(void)
{
    return journal >= 0 && switched("read-only");
}

bool shim_has_room(int fd, off_t size)
{
    pthread_mutex_lock(&lock);
    look_at_full();
    int64_t growth = size - size_of(fd);
    bool fits = !full || growth <= 0 || growth <= room_bytes;
    if (full && fits && growth > 0)
        room_bytes -= growth;
    if (!fits)
        effects->writes_refused++;
    pthread_mutex_unlock(&lock);
    return fits;
}

int64_t shim_free_bytes(void)
{
    if (journal < 0)
        return -1;
    pthread_mutex_lock(&lock);
    look_at_full();
    int64_t free_bytes = full ? room_bytes : -1;
    pthread_mutex_unlock(&lock);
    return free_bytes;
}

int shim_sync(struct watched *file)
{
    pthread_mutex_lock(&lock);
    uint64_t covered = journal_bytes;
    uint64_t restarts = journal_restarts;
    tick();
    pthread_mutex_unlock(&lock);
    if (sync_us > 0)
        usleep(sync_us);
    bool fails = switched("fail-sync");
    pthread_mutex_lock(&lock);
    if (fails) {
        effects->syncs_failed++;
    } else if (!sync_lies && restarts == journal_restarts) {
        append(SYNCED, file->inode, covered, 0, "", 0);
        note_synced(file->inode, covered);
        restart_journal();
    }
    pthread_mutex_unlock(&lock);
    if (fails)
        errno = EIO;
    return fails ? -1 : 0;
}
