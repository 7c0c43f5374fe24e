"""`python -m notibot` is the program, with one command of the package: `labgrid-export`."""

import os
import sys

from notibot import exporter
from notibot._program import NotibotError, program

if sys.argv[1:2] == ["labgrid-export"]:
    exporter.main(sys.argv[2:])
else:
    try:
        os.execv(program(), ["notibot", *sys.argv[1:]])
    except (NotibotError, OSError) as error:
        print(f"notibot: {error}", file=sys.stderr)
        sys.exit(getattr(error, "code", 18))
