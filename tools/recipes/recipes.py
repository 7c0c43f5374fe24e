#!/usr/bin/env python3
"""Runs the recipes of docs/CI.md: each job of its YAML, with action.yml and ci/gitlab.yml, each of
its commands and transcripts. `scripts/dev recipes-test` starts it.

It stands in for the runners of GitHub and GitLab: steps, inputs, conditions, the files for PATH and
summary, artifacts. Emulators stand in for boards."""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import yaml

from tools.esptool_matrix import images

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/CI.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")
OWN_ACTION = re.compile(r"^\w+/notibot-rig@")
# Where the page has the boards of a bench; and how they are started. One has nothing in its flash.
BOARDS = "/tmp/bench"
STARTS = {"one": "", "two": "", "blank": "--chip esp32c3 --flash-size 4MB --flash-file flash.bin"}
RULES = "/etc/udev/rules.d/59-notibot.rules"
# What stands for what a bench has, and a bare system has not.
STAND_INS = {"usb:303a:1001": f"{BOARDS}/one", "/dev/serial/by-path/pci-0000:00:14.0-usb-0:2:1.0": f"{BOARDS}/blank"}


class Failure(Exception):
    """A recipe does not do what the page says."""


class System:
    """Where recipes run: a bare system below `root`, or this one; with its own environment."""

    def __init__(self, root, folder, packages):
        self.root, self.folder, self.packages = root, folder, packages
        # In this system the folder of the boards must not collide with another run's.
        self.boards = BOARDS if root else f"{folder}/boards"
        # Where `notibot flash` installs esptool.
        self.data = f"{folder}/data"
        self.path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    def fewer(self, arguments, separator):
        """Arguments of `notibot test` in this system: all cases take a board half a minute."""
        is_whole = not self.root and "--filter" not in arguments
        return f"{arguments}{separator}--filter=^ATT-[1-9]/" if is_whole else arguments

    def outside(self, path):
        """A path of the system, as this program sees it."""
        return pathlib.Path(self.root, path.lstrip("/")) if self.root else pathlib.Path(path)

    def workspace(self, name):
        place = f"{self.folder}/{name}"
        self.outside(place).mkdir(parents=True)
        return place

    def words(self, script, workspace, more):
        environment = {
            "HOME": self.folder,
            "PATH": self.path,
            "PIP_FIND_LINKS": self.packages,
            "PIP_NO_INDEX": "1",
            "XDG_DATA_HOME": self.data,
            **more,
        }
        words = ["env", "-i", *(f"{key}={value}" for key, value in environment.items())]
        words += ["bash", "-eo", "pipefail", "-c", f"cd {shlex.quote(workspace)}\n{script}"]
        return (["chroot", self.root] if self.root else []) + words

    def run(self, script, workspace, more=None):
        """Exit code and output, both streams in one."""
        done = subprocess.run(
            self.words(script, workspace, more or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.returncode, done.stdout

    def start(self, script, workspace):
        """A program that runs on; its output comes line by line."""
        words = self.words(f"exec {script}", workspace, {})
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def must(result, what):
    code, output = result
    if code != 0:
        raise Failure(f"{what}: exit {code}\n{output[-3000:]}")
    return output


def require_reports(folder):
    """The reports of a run that passed."""
    suites = xml.parse(folder / "junit.xml").getroot()
    if not list(suites.iter("testcase")) or list(suites.iter("failure")) or list(suites.iter("error")):
        raise Failure("junit.xml has no case, or one that did not pass")
    for name in ("report.json", "report.html"):
        if not (folder / name).stat().st_size:
            raise Failure(f"{name} is empty")


class GitHub:
    """One job on a stand-in for GitHub's runner."""

    def __init__(self, system, name):
        self.system = system
        self.workspace = system.workspace(name)
        self.files = {
            key: f"{self.workspace}-{key.lower()}" for key in ("GITHUB_PATH", "GITHUB_STEP_SUMMARY", "RUNNER_TEMP")
        }
        system.outside(self.files["RUNNER_TEMP"]).mkdir()
        for key in ("GITHUB_PATH", "GITHUB_STEP_SUMMARY"):
            system.outside(self.files[key]).touch()
        self.failure = None

    def run(self, job, prepare):
        for step in job["steps"]:
            self.step(step, {}, prepare)
        if self.failure:
            raise self.failure

    def step(self, step, inputs, prepare):
        condition = step.get("if", "success()")
        if condition.startswith("inputs."):
            name, value = re.fullmatch(r"inputs\.(\w+) != '(.*)'", condition).groups()
            condition = "success()" if inputs[name] != value else "false"
        if condition == "false" or (condition == "success()" and self.failure):
            return
        try:
            self.use(step, inputs, prepare) if "uses" in step else self.shell(step, inputs, prepare)
        except Failure as failure:
            self.failure = self.failure or failure

    def filled(self, text, inputs):
        return INPUT.sub(lambda match: inputs[match[1]], str(text))

    def use(self, step, inputs, prepare):
        given = {key: self.filled(value, inputs) for key, value in step.get("with", {}).items()}
        if OWN_ACTION.match(step["uses"]):
            action = yaml.safe_load((ROOT / "action.yml").read_text())
            unknown = given.keys() - action["inputs"].keys()
            if unknown:
                raise Failure(f"action.yml has no input {', '.join(sorted(unknown))}")
            inputs = {key: str(value["default"]) for key, value in action["inputs"].items()} | given
            inputs["arguments"] = self.system.fewer(inputs["arguments"], "\n")
            for inner in action["runs"]["steps"]:
                self.step(inner, inputs, prepare)
            if self.failure:
                return
            require_reports(self.system.outside(self.workspace) / inputs["reports"])
            if not self.system.outside(self.files["GITHUB_STEP_SUMMARY"]).read_text():
                raise Failure("the step has no summary")
        elif step["uses"].startswith("actions/upload-artifact@"):
            for pattern in given["path"].split():
                if not list(self.system.outside(self.workspace).glob(pattern)):
                    raise Failure(f"no file matches {pattern}: the artifact would lack it")
        elif not step["uses"].startswith("actions/checkout@"):
            raise Failure(f"no stand-in for {step['uses']}")

    def shell(self, step, inputs, prepare):
        prepare(step["run"], self.system.outside(self.workspace))
        added = self.system.outside(self.files["GITHUB_PATH"]).read_text().split()
        environment = {key: self.filled(value, inputs) for key, value in step.get("env", {}).items()}
        environment |= {**self.files, "GITHUB_ACTIONS": "true", "PATH": ":".join([*reversed(added), self.system.path])}
        must(self.system.run(step["run"], self.workspace, environment), step.get("name", step["run"]))


class Reference(list):
    """GitLab's `!reference [JOB, KEY]`."""


yaml.SafeLoader.add_constructor("!reference", lambda loader, node: Reference(loader.construct_sequence(node)))


def flat(lines, jobs):
    """A script's lines, with those that it refers to."""
    found = []
    for line in lines:
        found += jobs[line[0]][line[1]] if isinstance(line, Reference) else [line]
    return found


def gitlab(system, page, name):
    """Each job of a GitLab page."""
    included = {}
    for entry in page.pop("include", []):
        included |= yaml.safe_load((ROOT / entry["file"]).read_text())
    for job_name, job in page.items():
        base = included.get(job.get("extends"), {})
        variables = base.get("variables", {}) | job.get("variables", {})
        variables["NOTIBOT_ARGUMENTS"] = system.fewer(variables["NOTIBOT_ARGUMENTS"], " ")
        merged = {**base, **job}
        workspace = system.workspace(f"{name}-{job_name}")
        lines = flat(merged.get("before_script", []), included) + merged["script"]
        environment = {key: str(value) for key, value in variables.items()} | {"GITLAB_CI": "true", "CI": "true"}
        must(system.run("\n".join(lines), workspace, environment), f"GitLab job {job_name}")
        artifacts = merged["artifacts"]
        for path in [*artifacts["paths"], artifacts["reports"]["junit"]]:
            if not (system.outside(workspace) / path).exists():
                raise Failure(f"GitLab job {job_name} leaves no {path}")
        require_reports(system.outside(workspace))


def install_idf(system, folder):
    """Makes an idf.py that leaves a build of ESP-IDF for an ESP32-C3, without compiling it."""
    program, build = system.outside(f"{folder}/idf.py"), system.outside(f"{folder}/build")
    build.mkdir()
    files = {"0x0": images.boot_loader("esp32c3"), "0x8000": images.partition_table(), "0x10000": images.app("esp32c3")}
    for offset, content in files.items():
        (build / f"{offset}.bin").write_bytes(content)
    arguments = {
        "flash_files": {offset: f"{offset}.bin" for offset in files},
        "flash_settings": {"flash_size": "4MB"},
        "extra_esptool_args": {"chip": "esp32c3"},
    }
    (build / "flasher_args.json").write_text(json.dumps(arguments))
    program.write_text(f'#!/bin/sh\n[ "$*" = build ] && cp -r {folder}/build build\n')
    program.chmod(0o755)


def install_udevadm(system):
    """A bare system has no udevd to talk to: this udevadm only knows the commands of the page."""
    program = system.outside("/usr/local/bin/udevadm")
    program.write_text('#!/bin/sh\ncase "$*" in "control --reload" | trigger) ;; *) exit 2 ;; esac\n')
    program.chmod(0o755)
    system.outside(RULES).parent.mkdir(parents=True, exist_ok=True)


class Bench:
    """Two emulators at /tmp/bench, with `notibot` on PATH as on a bench's runner."""

    def __init__(self, system):
        self.system, self.programs = system, []
        self.workspace = system.workspace("bench")
        must(system.run("python3 -m venv env && env/bin/pip install --quiet notibot-rig", self.workspace), "pip")
        install_idf(system, self.workspace)
        system.path = f"{self.workspace}:{self.workspace}/env/bin:{system.path}"
        must(system.run(f"mkdir -p {system.boards}", self.workspace), "mkdir")
        for name, options in STARTS.items():
            place = f"{system.boards}/{name}"
            command = f"notibot emulate --link {place} --control {place}.control {options} --json"
            program = system.start(command, self.workspace)
            self.programs.append(program)
            if not program.stdout.readline().startswith("{"):
                raise Failure(f"no emulator at {place}")

    def close(self):
        for program in self.programs:
            program.terminate()
        for program in self.programs:
            program.wait()


def settled(line):
    """A line of a transcript without what differs from run to run."""
    return re.sub("no such port; .*", "no such port", re.sub(r"\d+", "0", line)).strip()


def transcript(system, block, workspace):
    """Runs the command of a transcript and compares the last line of its output."""
    command, *shown = block.strip().splitlines()
    command = command.removeprefix("$ ")
    if not command.startswith("notibot monitor"):
        _, output = system.run(command, workspace)
        lines = output.splitlines()
    else:
        program = system.start(command, workspace)
        lines = []
        for line in program.stdout:
            lines.append(line)
            if " is open at " in line:
                must(system.run(f"notibot control --socket {system.boards}/one.control reboot", workspace), "control")
        program.wait()
    last = lines[-1] if lines else ""
    if settled(last) != settled(shown[-1]):
        raise Failure(f"`{command}` ends with\n  {last.strip()}\nand the page says\n  {shown[-1]}")


def prepare(script, workspace):
    """What a step finds from an earlier run: the report of the main branch."""
    if "report compare old.json" in script:
        (workspace / "old.json").write_bytes((workspace / "new.json").read_bytes())


def stand_in(text, system):
    for real, replacement in STAND_INS.items():
        text = text.replace(real, replacement)
    return text.replace(BOARDS, system.boards)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", required=True, help="folder of the wheel, as the system sees it")
    parser.add_argument("--root", help="a bare system to change into")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(
        prefix="notibot-recipes.", dir=f"{chosen.root}/tmp" if chosen.root else None
    ) as made:
        folder = made.removeprefix(chosen.root.rstrip("/")) if chosen.root else made
        system = System(chosen.root, folder, chosen.packages)
        if system.root:
            install_udevadm(system)
        bench = Bench(system)
        ran, left = 0, []
        try:
            for number, (language, block) in enumerate(BLOCK.findall(PAGE.read_text()), 1):
                first = block.strip().splitlines()[0]
                name = f"block {number} ({first})"
                if "udevadm" in block and not system.root:
                    left.append(name)
                    continue
                block = stand_in(block, system)
                page = yaml.safe_load(block) if language == "yaml" else None
                if page and "jobs" in page:
                    for job_name, job in page["jobs"].items():
                        GitHub(system, f"{number}-{job_name}").run(job, prepare)
                elif page:
                    gitlab(system, page, str(number))
                elif block.startswith("$ "):
                    transcript(system, block, bench.workspace)
                else:
                    must(system.run(block, system.workspace(str(number))), name)
                if "udevadm" in block and not system.outside(RULES).stat().st_size:
                    raise Failure(f"{RULES} is empty")
                ran += 1
                print(f"passed  {name}", flush=True)
        except Failure as failure:
            print(f"FAILED  {name}: {failure}", file=sys.stderr)
            return 1
        finally:
            bench.close()
    print(f"{ran} blocks of docs/CI.md ran" + (f"; left out here: {', '.join(left)}" if left else ""))
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
