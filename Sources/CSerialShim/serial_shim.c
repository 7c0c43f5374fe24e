#define _GNU_SOURCE
#include "serial_shim.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/termios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/serial.h>
#include <stdlib.h>
#include <unistd.h>

/* <sys/ioctl.h> would drag in definitions that clash with <asm/termbits.h>. */
extern int ioctl(int descriptor, unsigned long request, ...);

static void put_rate(struct termios2 *settings, uint32_t bits_per_second) {
  settings->c_cflag &= ~((tcflag_t)CBAUD | ((tcflag_t)CBAUD << IBSHIFT));
  settings->c_cflag |= (tcflag_t)BOTHER | ((tcflag_t)BOTHER << IBSHIFT);
  settings->c_ispeed = bits_per_second;
  settings->c_ospeed = bits_per_second;
}

int serial_shim_set_raw(int descriptor, uint32_t bits_per_second) {
  struct termios2 settings;
  if (ioctl(descriptor, TCGETS2, &settings) != 0) {
    return -errno;
  }
  settings.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | IGNPAR | PARMRK | INPCK | ISTRIP | INLCR | IGNCR | ICRNL | IUCLC
                                  | IXON | IXANY | IXOFF);
  settings.c_oflag &= ~(tcflag_t)OPOST;
  settings.c_lflag &= ~(tcflag_t)(ECHO | ECHOE | ECHOK | ECHONL | ICANON | ISIG | IEXTEN | TOSTOP);
  settings.c_cflag &= ~(tcflag_t)(CSIZE | CSTOPB | PARENB | PARODD | CMSPAR | HUPCL | CRTSCTS);
  settings.c_cflag |= (tcflag_t)(CS8 | CREAD | CLOCAL);
  /* VMIN must not be 0: a non-blocking read would then return 0, which means "disconnected". */
  settings.c_cc[VMIN] = 1;
  settings.c_cc[VTIME] = 0;
  put_rate(&settings, bits_per_second);
  return ioctl(descriptor, TCSETS2, &settings) == 0 ? 0 : -errno;
}

int serial_shim_set_rate(int descriptor, uint32_t bits_per_second) {
  struct termios2 settings;
  if (ioctl(descriptor, TCGETS2, &settings) != 0) {
    return -errno;
  }
  put_rate(&settings, bits_per_second);
  return ioctl(descriptor, TCSETS2, &settings) == 0 ? 0 : -errno;
}

int serial_shim_get_rate(int descriptor, uint32_t *input, uint32_t *output) {
  struct termios2 settings;
  if (ioctl(descriptor, TCGETS2, &settings) != 0) {
    return -errno;
  }
  *input = settings.c_ispeed;
  *output = settings.c_ospeed;
  return 0;
}

int serial_shim_set_lines(int descriptor, int dtr, int rts) {
  int lines = 0;
  if (ioctl(descriptor, TIOCMGET, &lines) != 0) {
    return -errno;
  }
  lines &= ~(TIOCM_DTR | TIOCM_RTS);
  lines |= (dtr ? TIOCM_DTR : 0) | (rts ? TIOCM_RTS : 0);
  return ioctl(descriptor, TIOCMSET, &lines) == 0 ? 0 : -errno;
}

int serial_shim_get_lines(int descriptor, int *dtr, int *rts) {
  int lines = 0;
  if (ioctl(descriptor, TIOCMGET, &lines) != 0) {
    return -errno;
  }
  *dtr = (lines & TIOCM_DTR) != 0;
  *rts = (lines & TIOCM_RTS) != 0;
  return 0;
}

int serial_shim_set_low_latency(int descriptor, int on) {
  struct serial_struct settings;
  if (ioctl(descriptor, TIOCGSERIAL, &settings) != 0) {
    return -errno;
  }
  int flags = on ? settings.flags | ASYNC_LOW_LATENCY : settings.flags & ~ASYNC_LOW_LATENCY;
  if (flags == settings.flags) {
    return 1;
  }
  settings.flags = flags;
  return ioctl(descriptor, TIOCSSERIAL, &settings) == 0 ? 0 : -errno;
}

int serial_shim_open_master(void) {
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (master < 0) {
    return -errno;
  }
  if (grantpt(master) != 0 || unlockpt(master) != 0) {
    int cause = errno;
    (void)close(master);
    return -cause;
  }
  return master;
}

int serial_shim_slave_path(int master, char *path, size_t size_bytes) {
  return -ptsname_r(master, path, size_bytes);
}
