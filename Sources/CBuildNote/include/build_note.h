#ifndef BUILD_NOTE_H
#define BUILD_NOTE_H

/* What `--version` prints behind the version: commit and date of a package, with a leading blank;
   empty in a build from source. packaging/link replaces it. Never null. */
const char *notibot_build_note(void);

#endif
