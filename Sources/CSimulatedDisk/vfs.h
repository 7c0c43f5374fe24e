#ifndef VFS_H
#define VFS_H

#include <stdbool.h>

/* Makes this the default VFS, once; false if that fails. */
bool sd_install(void);

#endif
