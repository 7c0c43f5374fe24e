/* realpath() of umockdev 0.17.16 writes past its result for a terminal, which is a link out of the
   testbed. This function handles those: the name of a mocked terminal is its own. Preloaded before
   umockdev; can be removed when a release of umockdev fixes it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *realpath(const char *path, char *resolved) {
  if (strncmp(path, "/dev/ttyUSB", 11) != 0) {
    char *(*next)(const char *, char *) = (char *(*)(const char *, char *))dlsym(RTLD_NEXT, "realpath");
    return next(path, resolved);
  }
  struct stat status;
  if (lstat(path, &status) != 0) {
    return NULL;
  }
  return resolved ? strcpy(resolved, path) : strdup(path);
}
