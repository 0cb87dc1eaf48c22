/*
 * A library for LD_PRELOAD that stands between a program and the files below one folder. It makes chosen calls fail,
 * and it records what reaches the files, in the order in which it happens. It needs no special rights.
 *
 * INTERPOSE_ROOT    absolute path; only files below it count
 * INTERPOSE_FAULT   "CALL ERRNO NTH COUNT PATTERN": of the calls of this kind (open, write, sync, rename, link, unlink,
 *                   read) whose path contains PATTERN, number NTH and the next COUNT - 1 fail with ERRNO. ERRNO 0: they
 *                   report success and do nothing, as a disk that lies. Of a write that fails with ENOSPC, the first
 *                   half reaches the file.
 * INTERPOSE_SWITCH  calls fail, and are counted, only while this file exists
 * INTERPOSE_HITS    file that gets a line for each call that failed
 * INTERPOSE_TRACE   file that gets a record of each call that changed something, see `record`
 *
 * LevelDB writes with stdio, whose own calls of write(2) cannot be replaced. So its streams are opened unbuffered, and
 * fwrite counts as a write.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#undef fwrite_unlocked

#define MAX_FILES 65536
#define REAL(name)                                                                                                    \
  static __typeof__(&name) real;                                                                                      \
  if (real == NULL) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

enum { CREATE = 1, WRITE, SYNC, SYNC_FOLDER, RENAME, LINK, UNLINK, MKDIR, RMDIR, TRUNCATE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *paths[MAX_FILES];
static const char *root;
static size_t root_length;
static const char *switch_path;
static int trace_file = -1;
static int hits_file = -1;
static char fault_call[16], fault_pattern[256];
static int fault_errno = -1;
static long fault_nth, fault_count, matching_calls;

/* The system's own syscall(2), because the one below counts calls of the program. */
static long raw_call(long number, long a, long b, long c, long d) {
  static long (*real)(long, ...);
  if (real == NULL) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  return real(number, a, b, c, d);
}

static int open_log(const char *name) {
  const char *path = getenv(name);
  if (path == NULL) return -1;
  return (int)raw_call(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void start(void) {
  root = getenv("INTERPOSE_ROOT");
  if (root == NULL) return;
  root_length = strlen(root);
  switch_path = getenv("INTERPOSE_SWITCH");
  trace_file = open_log("INTERPOSE_TRACE");
  hits_file = open_log("INTERPOSE_HITS");
  const char *fault = getenv("INTERPOSE_FAULT");
  if (fault != NULL)
    sscanf(fault, "%15s %d %ld %ld %255s", fault_call, &fault_errno, &fault_nth, &fault_count, fault_pattern);
}

static int is_ours(const char *path) {
  return root != NULL && path != NULL && strncmp(path, root, root_length) == 0 &&
         (path[root_length] == '/' || path[root_length] == 0);
}

static const char *path_of(int file) { return file >= 0 && file < MAX_FILES ? paths[file] : NULL; }

static void remember(int file, const char *path) {
  if (file < 0 || file >= MAX_FILES) return;
  free(paths[file]);
  paths[file] = strdup(path);
}

static void forget(int file) {
  if (path_of(file) == NULL) return;
  free(paths[file]);
  paths[file] = NULL;
}

/* Returns whether this call fails. `fault_errno` then says how. */
static int fails(const char *call, const char *path) {
  if (fault_errno < 0 || strcmp(call, fault_call) != 0 || strstr(path, fault_pattern) == NULL) return 0;
  if (switch_path != NULL && raw_call(SYS_access, (long)switch_path, F_OK, 0, 0) != 0) return 0;
  matching_calls += 1;
  if (matching_calls < fault_nth || matching_calls >= fault_nth + fault_count) return 0;
  char line[512];
  int length = snprintf(line, sizeof line, "%s %d %s\n", call, fault_errno, path);
  if (hits_file >= 0) raw_call(SYS_write, hits_file, (long)line, length, 0);
  return 1;
}

struct __attribute__((packed)) header {
  uint8_t operation;
  uint32_t first_length, second_length;
  uint64_t file, offset;
};

/* Appends one record: the header, then a path, then bytes or another path. */
static void record(int operation, uint64_t file, uint64_t offset, const char *path, const void *bytes, size_t length) {
  if (trace_file < 0) return;
  struct header header = {(uint8_t)operation, path ? (uint32_t)strlen(path) : 0, (uint32_t)length, file, offset};
  struct iovec parts[] = {{&header, sizeof header}, {(void *)path, header.first_length}, {(void *)bytes, length}};
  raw_call(SYS_writev, trace_file, (long)parts, 3, 0);
}

static uint64_t inode_of(int file) {
  struct stat info;
  return fstat(file, &info) == 0 ? info.st_ino : 0;
}

static int exists(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

/* -- opening and closing */

#define OPEN(name)                                                                                                    \
  int name(const char *path, int flags, ...) {                                                                        \
    REAL(name);                                                                                                       \
    mode_t mode = 0;                                                                                                  \
    if (flags & (O_CREAT | __O_TMPFILE)) {                                                                            \
      va_list more;                                                                                                   \
      va_start(more, flags);                                                                                          \
      mode = va_arg(more, mode_t);                                                                                    \
      va_end(more);                                                                                                   \
    }                                                                                                                 \
    if (!is_ours(path)) return real(path, flags, mode);                                                               \
    pthread_mutex_lock(&lock);                                                                                        \
    int is_write = (flags & (O_CREAT | O_WRONLY | O_RDWR)) != 0;                                                      \
    int can_fail = fault_errno == EROFS || fault_errno == ENOSPC ? is_write : fault_errno != 0;                       \
    if (can_fail && fails("open", path)) {                                                                            \
      pthread_mutex_unlock(&lock);                                                                                    \
      errno = fault_errno;                                                                                            \
      return -1;                                                                                                      \
    }                                                                                                                 \
    int existed = exists(path);                                                                                       \
    int file = real(path, flags, mode);                                                                               \
    int error = errno;                                                                                                \
    opened(file, path, existed, (flags & O_TRUNC) != 0);                                                              \
    pthread_mutex_unlock(&lock);                                                                                      \
    errno = error;                                                                                                    \
    return file;                                                                                                      \
  }

static void opened(int file, const char *path, int existed, int truncates) {
  if (file < 0) return;
  remember(file, path);
  if (!existed) record(CREATE, inode_of(file), 0, path, NULL, 0);
  else if (truncates) record(TRUNCATE, inode_of(file), 0, NULL, NULL, 0);
}

OPEN(open)
OPEN(open64)

#define FOPEN(name)                                                                                                   \
  FILE *name(const char *path, const char *mode) {                                                                    \
    REAL(name);                                                                                                       \
    if (!is_ours(path)) return real(path, mode);                                                                      \
    pthread_mutex_lock(&lock);                                                                                        \
    if (fault_errno != 0 && fails("open", path)) {                                                                    \
      pthread_mutex_unlock(&lock);                                                                                    \
      errno = fault_errno;                                                                                            \
      return NULL;                                                                                                    \
    }                                                                                                                 \
    int existed = exists(path);                                                                                       \
    FILE *stream = real(path, mode);                                                                                  \
    int error = errno;                                                                                                \
    if (stream != NULL) {                                                                                             \
      if (mode[0] != 'r') setvbuf(stream, NULL, _IONBF, 0);                                                           \
      opened(fileno(stream), path, existed, mode[0] == 'w');                                                          \
    }                                                                                                                 \
    pthread_mutex_unlock(&lock);                                                                                      \
    errno = error;                                                                                                    \
    return stream;                                                                                                    \
  }

FOPEN(fopen)
FOPEN(fopen64)

int close(int file) {
  REAL(close);
  if (path_of(file) == NULL) return real(file);
  pthread_mutex_lock(&lock);
  forget(file);
  int result = real(file);
  pthread_mutex_unlock(&lock);
  return result;
}

/* libuv closes files with this. */
long syscall(long number, ...) {
  static long (*real)(long, ...);
  if (real == NULL) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  va_list more;
  va_start(more, number);
  long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long);
  long d = va_arg(more, long), e = va_arg(more, long), f = va_arg(more, long);
  va_end(more);
  if (number != SYS_close || path_of((int)a) == NULL) return real(number, a, b, c, d, e, f);
  pthread_mutex_lock(&lock);
  forget((int)a);
  long result = real(number, a);
  pthread_mutex_unlock(&lock);
  return result;
}

int fclose(FILE *stream) {
  REAL(fclose);
  int file = fileno(stream);
  if (path_of(file) == NULL) return real(stream);
  pthread_mutex_lock(&lock);
  forget(file);
  int result = real(stream);
  pthread_mutex_unlock(&lock);
  return result;
}

/* -- writing */

static uint64_t position_of(int file) {
  int flags = fcntl(file, F_GETFL);
  struct stat info;
  if (flags >= 0 && (flags & O_APPEND) && fstat(file, &info) == 0) return (uint64_t)info.st_size;
  return (uint64_t)lseek(file, 0, SEEK_CUR);
}

/* How many bytes of a write reach the file. `*failed`: the call fails, with `errno` set. */
static size_t admitted(int file, size_t length, int *failed) {
  *failed = fails("write", paths[file]);
  return !*failed ? length : fault_errno == ENOSPC ? length / 2 : 0;
}

/* What a write returns after `written` bytes of `length` reached the file. */
static ssize_t write_result(int failed, ssize_t written, size_t length) {
  if (!failed) return written;
  if (fault_errno == 0) return (ssize_t)length;
  if (written > 0) return written;
  errno = fault_errno;
  return -1;
}

ssize_t write(int file, const void *bytes, size_t length) {
  REAL(write);
  if (path_of(file) == NULL) return real(file, bytes, length);
  pthread_mutex_lock(&lock);
  int failed;
  size_t allowed = admitted(file, length, &failed);
  uint64_t offset = position_of(file);
  ssize_t written = failed && allowed == 0 ? 0 : real(file, bytes, allowed);
  if (written > 0) record(WRITE, inode_of(file), offset, NULL, bytes, (size_t)written);
  ssize_t result = write_result(failed, written, length);
  pthread_mutex_unlock(&lock);
  return result;
}

#define PWRITE(name, offset_type)                                                                                     \
  ssize_t name(int file, const void *bytes, size_t length, offset_type offset) {                                      \
    REAL(name);                                                                                                       \
    if (path_of(file) == NULL) return real(file, bytes, length, offset);                                              \
    pthread_mutex_lock(&lock);                                                                                        \
    int failed;                                                                                                       \
    size_t allowed = admitted(file, length, &failed);                                                                 \
    ssize_t written = failed && allowed == 0 ? 0 : real(file, bytes, allowed, offset);                                \
    if (written > 0) record(WRITE, inode_of(file), (uint64_t)offset, NULL, bytes, (size_t)written);                   \
    ssize_t result = write_result(failed, written, length);                                                           \
    pthread_mutex_unlock(&lock);                                                                                      \
    return result;                                                                                                    \
  }

PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

/* A vector is written buffer by buffer. A short result is allowed, and the caller repeats the rest. */
ssize_t writev(int file, const struct iovec *buffers, int count) {
  REAL(writev);
  if (path_of(file) == NULL) return real(file, buffers, count);
  return count == 0 ? 0 : write(file, buffers[0].iov_base, buffers[0].iov_len);
}

ssize_t pwritev64(int file, const struct iovec *buffers, int count, off64_t offset) {
  REAL(pwritev64);
  if (path_of(file) == NULL) return real(file, buffers, count, offset);
  return count == 0 ? 0 : pwrite64(file, buffers[0].iov_base, buffers[0].iov_len, offset);
}

#define FWRITE(name)                                                                                                  \
  size_t name(const void *bytes, size_t size, size_t count, FILE *stream) {                                           \
    REAL(name);                                                                                                       \
    int file = fileno(stream);                                                                                        \
    if (path_of(file) == NULL) return real(bytes, size, count, stream);                                               \
    pthread_mutex_lock(&lock);                                                                                        \
    int failed;                                                                                                       \
    size_t allowed = admitted(file, size * count, &failed);                                                           \
    uint64_t offset = position_of(file);                                                                              \
    size_t written = allowed == 0 ? 0 : real(bytes, 1, allowed, stream);                                              \
    if (written > 0) record(WRITE, inode_of(file), offset, NULL, bytes, written);                                     \
    if (failed && fault_errno == 0) written = size * count;                                                           \
    pthread_mutex_unlock(&lock);                                                                                      \
    if (failed) errno = fault_errno;                                                                                  \
    return size == 0 ? 0 : written / size;                                                                            \
  }

FWRITE(fwrite)
FWRITE(fwrite_unlocked)

#define TRUNCATE_FILE(name, offset_type)                                                                              \
  int name(int file, offset_type length) {                                                                            \
    REAL(name);                                                                                                       \
    if (path_of(file) == NULL) return real(file, length);                                                             \
    pthread_mutex_lock(&lock);                                                                                        \
    int result = real(file, length);                                                                                  \
    if (result == 0) record(TRUNCATE, inode_of(file), (uint64_t)length, NULL, NULL, 0);                               \
    pthread_mutex_unlock(&lock);                                                                                      \
    return result;                                                                                                    \
  }

TRUNCATE_FILE(ftruncate, off_t)
TRUNCATE_FILE(ftruncate64, off64_t)

#define FILE_SYNC(name)                                                                                               \
  int name(int file) {                                                                                                \
    REAL(name);                                                                                                       \
    if (path_of(file) == NULL) return real(file);                                                                     \
    pthread_mutex_lock(&lock);                                                                                        \
    int failed = fails("sync", paths[file]);                                                                          \
    int result = failed ? (fault_errno == 0 ? 0 : -1) : real(file);                                                   \
    struct stat info;                                                                                                 \
    if (!failed && result == 0 && fstat(file, &info) == 0)                                                            \
      record(S_ISDIR(info.st_mode) ? SYNC_FOLDER : SYNC, info.st_ino, 0, paths[file], NULL, 0);                       \
    pthread_mutex_unlock(&lock);                                                                                      \
    if (failed) errno = fault_errno;                                                                                  \
    return result;                                                                                                    \
  }

FILE_SYNC(fsync)
FILE_SYNC(fdatasync)

/* -- reading */

#define READ_FAILS(file)                                                                                              \
  pthread_mutex_lock(&lock);                                                                                          \
  int failed = fault_errno > 0 && fails("read", paths[file]);                                                         \
  pthread_mutex_unlock(&lock);                                                                                        \
  if (failed) {                                                                                                       \
    errno = fault_errno;                                                                                              \
    return -1;                                                                                                        \
  }

ssize_t read(int file, void *bytes, size_t length) {
  REAL(read);
  if (path_of(file) == NULL) return real(file, bytes, length);
  READ_FAILS(file)
  return real(file, bytes, length);
}

ssize_t pread64(int file, void *bytes, size_t length, off64_t offset) {
  REAL(pread64);
  if (path_of(file) == NULL) return real(file, bytes, length, offset);
  READ_FAILS(file)
  return real(file, bytes, length, offset);
}

/* -- names */

#define NAMES(call, code, first, second, invoke)                                                                      \
  pthread_mutex_lock(&lock);                                                                                          \
  int failed = fault_errno != 0 && fails(call, second);                                                               \
  int result = failed ? -1 : invoke;                                                                                  \
  int error = failed ? fault_errno : errno;                                                                           \
  if (result == 0) record(code, 0, 0, first, second, strlen(second));                                                 \
  pthread_mutex_unlock(&lock);                                                                                        \
  errno = error;                                                                                                      \
  return result;

int rename(const char *from, const char *to) {
  REAL(rename);
  if (!is_ours(to)) return real(from, to);
  NAMES("rename", RENAME, from, to, real(from, to))
}

int link(const char *from, const char *to) {
  REAL(link);
  if (!is_ours(to)) return real(from, to);
  NAMES("link", LINK, from, to, real(from, to))
}

int unlink(const char *path) {
  REAL(unlink);
  if (!is_ours(path)) return real(path);
  NAMES("unlink", UNLINK, path, path, real(path))
}

int rmdir(const char *path) {
  REAL(rmdir);
  if (!is_ours(path)) return real(path);
  NAMES("rmdir", RMDIR, path, path, real(path))
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  if (!is_ours(path)) return real(path, mode);
  NAMES("mkdir", MKDIR, path, path, real(path, mode))
}
