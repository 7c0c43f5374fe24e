#ifndef NOTIBOT_LIBUDEV_SHIM_H
#define NOTIBOT_LIBUDEV_SHIM_H

#include <libudev.h>

#endif
