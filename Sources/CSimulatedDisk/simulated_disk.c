#include "simulated_disk.h"
