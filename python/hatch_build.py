"""Puts a program into a wheel, and the folder share next to it. NOTIBOT_BINARY names it:
scripts/dev package links it."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        if version == "editable":
            return  # The package then finds $NOTIBOT, or notibot on PATH.
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux_2_34_x86_64"
        program = os.environ["NOTIBOT_BINARY"]
        build_data["shared_scripts"] = {program: os.path.basename(program)}
        folder = os.path.dirname(program)
        shared = [os.path.join(root, name) for root, _, names in os.walk(f"{folder}/share") for name in names]
        build_data["shared_data"] = {path: os.path.relpath(path, folder) for path in shared}
