"""Puts the program into the wheel, and the folder share next to it. NOTIBOT_BINARY names it:
scripts/package links it."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        if version == "editable":
            return  # The package then finds $NOTIBOT, or notibot on PATH.
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux_2_34_x86_64"
        program = os.environ["NOTIBOT_BINARY"]
        build_data["shared_scripts"] = {program: "notibot"}
        build_data["shared_data"] = {os.path.join(os.path.dirname(program), "share"): "share"}
