"""`python -m notibot` is the program."""

import os
import sys

from notibot._program import program

os.execv(program(), ["notibot", *sys.argv[1:]])
