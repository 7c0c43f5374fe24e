#include "build_note.h"

__attribute__((weak)) const char *notibot_build_note(void) { return ""; }
