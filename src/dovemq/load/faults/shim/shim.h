/* A disk that fails and a clock that is wrong, for an unsuspecting process, by LD_PRELOAD.
 *
 * Writes go through to the real files. What a power cut could still undo is kept in a journal
 * beside them: the old contents of every 512-byte sector, old sizes, and the names that were
 * created, unlinked or renamed. A sync of a file (or of its directory, for names) makes the
 * earlier records of it void; a journal of void records alone starts anew once it is long. After
 * the process has died, powercut.py turns the files into one of the states that the disk could
 * have been in.
 *
 * Not covered: memory-mapped writes (SQLite maps only its -shm file, which is left alone here
 * and garbled by powercut.py), hard links and mkdir (taken as durable).
 *
 * Environment
 *   POWERCUT_ROOT     directory whose files are watched; must be resolved
 *   POWERCUT_JOURNAL  directory of the journal, on the same file system, outside of the root
 *   POWERCUT_AT       die at the N-th watched operation; 0 or absent: never
 *   POWERCUT_SYNC     honest (default) or lie: a sync answers success and does nothing
 *   POWERCUT_SYNC_US  how long a sync takes
 *   SKEW_FILE         8 bytes, added to the wall clock as nanoseconds; see clock.c
 *
 * Switches, files in the journal directory that may come and go while the process runs
 *   fail-sync         syncs fail with EIO
 *   read-only         opening for writing, unlinking and renaming fail with EROFS
 *   full              the disk has no free space beyond what the process itself gives back
 *
 * The file `effects` there counts what came of the switches: syncs that failed, writes refused.
 */
#ifndef POWERCUT_SHIM_H
#define POWERCUT_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SECTOR_BYTES 512
#define FILES_MAX 65536
#define PATH_BYTES 4096
#define UNSYNCED_MAX 64
#define JOURNAL_BYTES_MIN (8 << 20)

struct watched {
    bool on;
    bool appends;
    uint64_t inode;
};

void shim_start(void);
bool shim_watches_path(const char *path);
struct watched *shim_file(int fd);

void shim_opened(int fd, bool created, int flags);
void shim_closed(int fd);

/* Each pair brackets one operation and holds the lock between its halves. */
void shim_before_write(struct watched *file, int fd, off_t offset, size_t count);
void shim_before_resize(struct watched *file, int fd, off_t size);
void shim_before_unlink(const char *path);
void shim_before_rename(const char *from, const char *to);
void shim_after(void);

bool shim_is_read_only(void);
/* Whether the disk can take a file of this size; reserves the space if so. */
bool shim_has_room(int fd, off_t size);
/* Free bytes that statvfs should tell, or -1 to tell the truth. */
int64_t shim_free_bytes(void);
int shim_sync(struct watched *file);

#endif
