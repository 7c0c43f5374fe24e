#include "serial_shim.h"
