/* What a process is preloaded with so that its N-th write, sync or truncation of certain files fails.

   CONCERTO_FAULT is KIND:N:SEED, CONCERTO_FAULT_FILES the beginning of the paths that count, CONCERTO_FAULT_LOG a file that gets a line
   for each of their operations: its name, whether the file is the write-ahead log, and the size of that after it. Kinds: none, kill (in
   front of the N-th), after (behind it), torn (behind a part of it), once (EIO for the N-th), io (EIO from the N-th on), full (ENOSPC
   from the N-th on), file (nothing can be opened for writing), folder (no file can be made). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char kind[16] = "none";
static long at = -1, seed, count;
static int log_file = -1;

__attribute__((constructor)) static void begin(void) {
    const char *said = getenv("CONCERTO_FAULT"), *log = getenv("CONCERTO_FAULT_LOG");
    if (said) sscanf(said, "%15[^:]:%ld:%ld", kind, &at, &seed);
    if (log) log_file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static int counts_path(const char *path) {
    const char *files = getenv("CONCERTO_FAULT_FILES");
    return files && path && !strncmp(path, files, strlen(files));
}

static int path_of(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return counts_path(path);
}

static void note(const char *name, int fd, const char *path) {
    char line[64];
    struct stat about;
    size_t length = strlen(path);
    int is_log = length > 4 && !strcmp(path + length - 4, "-wal");
    if (log_file < 0 || fstat(fd, &about)) return;
    int size = snprintf(line, sizeof line, "%s %d %lld\n", name, is_log, (long long)about.st_size);
    if (((ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(log_file, line, size) < 0) abort();
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

/* Whether the operation is to fail; errno says how. Kills the process where that is what is to happen in front of it. */
static int fails(void) {
    long now = count++;
    if (now < at) return 0;
    if (now == at && !strcmp(kind, "kill")) die();
    if ((now == at && !strcmp(kind, "once")) || !strcmp(kind, "io")) { errno = EIO; return 1; }
    if (!strcmp(kind, "full")) { errno = ENOSPC; return 1; }
    return 0;
}

static void behind(void) { if (count - 1 == at && !strcmp(kind, "after")) die(); }

static int is_torn(void) { return count - 1 == at && !strcmp(kind, "torn"); }

#define WRITING(NAME, OFFSET)                                                                                          \
    ssize_t NAME(int fd, const void *data, size_t size, OFFSET offset) {                                               \
        static ssize_t (*real)(int, const void *, size_t, OFFSET);                                                     \
        char path[4096];                                                                                               \
        if (!real) real = dlsym(RTLD_NEXT, #NAME);                                                                     \
        if (!path_of(fd, path, sizeof path)) return real(fd, data, size, offset);                                      \
        if (fails()) return -1;                                                                                        \
        if (is_torn()) { real(fd, data, size ? seed % size : 0, offset); die(); }                                      \
        ssize_t done = real(fd, data, size, offset);                                                                   \
        note("write", fd, path);                                                                                       \
        behind();                                                                                                      \
        return done;                                                                                                   \
    }
WRITING(pwrite, off_t)
WRITING(pwrite64, off64_t)

ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    char path[4096];
    if (!real) real = dlsym(RTLD_NEXT, "write");
    if (!path_of(fd, path, sizeof path)) return real(fd, data, size);
    if (fails()) return -1;
    if (is_torn()) { ssize_t part = real(fd, data, size ? seed % size : 0); (void)part; die(); }
    ssize_t done = real(fd, data, size);
    note("write", fd, path);
    behind();
    return done;
}

#define SYNCING(NAME)                                                                                                  \
    int NAME(int fd) {                                                                                                 \
        static int (*real)(int);                                                                                       \
        char path[4096];                                                                                               \
        if (!real) real = dlsym(RTLD_NEXT, #NAME);                                                                     \
        if (!path_of(fd, path, sizeof path)) return real(fd);                                                          \
        if (strcmp(kind, "full") ? fails() : (count++, 0)) return -1;                                                  \
        if (is_torn()) die();                                                                                          \
        int done = real(fd);                                                                                           \
        note("sync", fd, path);                                                                                        \
        behind();                                                                                                      \
        return done;                                                                                                   \
    }
SYNCING(fsync)
SYNCING(fdatasync)

#define CUTTING(NAME, OFFSET)                                                                                          \
    int NAME(int fd, OFFSET size) {                                                                                    \
        static int (*real)(int, OFFSET);                                                                               \
        char path[4096];                                                                                               \
        if (!real) real = dlsym(RTLD_NEXT, #NAME);                                                                     \
        if (!path_of(fd, path, sizeof path)) return real(fd, size);                                                    \
        if (fails()) return -1;                                                                                        \
        if (is_torn()) die();                                                                                          \
        int done = real(fd, size);                                                                                     \
        note("cut", fd, path);                                                                                         \
        behind();                                                                                                      \
        return done;                                                                                                   \
    }
CUTTING(ftruncate, off_t)
CUTTING(ftruncate64, off64_t)

static int is_refused(const char *path, int flags) {
    if (!counts_path(path)) return 0;
    if (!strcmp(kind, "file") && (flags & O_ACCMODE) != O_RDONLY) { errno = EACCES; return 1; }
    if (!strcmp(kind, "folder") && (flags & O_CREAT) && access(path, F_OK)) { errno = EACCES; return 1; }
    return 0;
}

#define OPENING(NAME)                                                                                                  \
    int NAME(const char *path, int flags, ...) {                                                                       \
        static int (*real)(const char *, int, ...);                                                                    \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = va_arg(more, mode_t);                                                                            \
        va_end(more);                                                                                                  \
        if (!real) real = dlsym(RTLD_NEXT, #NAME);                                                                     \
        if (is_refused(path, flags)) return -1;                                                                        \
        return real(path, flags, mode);                                                                                \
    }
OPENING(open)
OPENING(open64)
