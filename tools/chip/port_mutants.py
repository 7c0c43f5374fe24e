"""Builds the image for ESP32-C3 with one fault of esp32c3.mutants at a time: the check of the
firmware on the model that the fault names must fail."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from tools.mutants import mutant_files

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def is_detected(mutant, folder):
    """Builds the images in this copy of the repository, and runs the check."""
    fixtures = folder / "firmware-fixtures"
    for path, text in mutant_files.mutated(mutant, fixtures).items():
        (fixtures / path).write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHON_ENVIRONMENT": str(ROOT / ".build/python"), "NOTIBOT_NO_INSTALL": "1"}
    build = fixtures / "ports/esp32c3/build"
    subprocess.run([build, "images"], check=True, stdout=subprocess.DEVNULL, env=environment)
    checks = "display" if mutant.case.startswith("Display") else "firmware"
    done = subprocess.run(
        [sys.executable, HERE / f"{checks}_checks.py", mutant.case],
        capture_output=True,
        timeout=120,
        env={**os.environ, "CHIP_IMAGES": str(folder / "images")},
    )
    return done.returncode != 0 and b"FAILED" in done.stderr


def main():
    mutants, survivors = mutant_files.read_all(mutant_files.ESP32C3), 0
    for mutant in mutants:
        with tempfile.TemporaryDirectory() as name:
            for part in ("firmware-fixtures/core", "firmware-fixtures/ports", "tools/dev"):
                shutil.copytree(ROOT / part, pathlib.Path(name, part))
            if not is_detected(mutant, pathlib.Path(name)):
                survivors += 1
                print(f"{mutant.name} ({mutant.what}): {mutant.case} does not fail", file=sys.stderr)
    print(f"{len(mutants) - survivors} of {len(mutants)} faults of the port are detected on the model")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
