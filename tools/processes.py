"""What /proc reports of a process."""

import os


def processor_seconds(pid: int) -> float:
    """Of a process and its threads since its start."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_kib(pid: int, name: str = "VmRSS") -> int:
    """Resident memory; with the name VmHWM its peak."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{name}:"))
