// A disk in memory for SQLite that may lose what was not synced. Files whose name begins with "/simulated/" are on it.
#ifndef SIMULATED_DISK_H
#define SIMULATED_DISK_H
#endif
