"""Prints the bill of materials of a program as SPDX 2.3, SwiftPM's packages and libraries:
packaging/sbom.py PROGRAM VERSION [TRAIT]"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

# Not SwiftPM's: name, supplier, licence. Their versions are those of the system that links.
LINKED = [
    ("swift-runtime", "Organization: Apple Inc.", "Apache-2.0 WITH Swift-exception"),
    ("icu", "Organization: Unicode, Inc.", "Unicode-3.0"),
    ("libusb", "Organization: libusb", "LGPL-2.1-or-later"),
    ("sqlite", "Organization: SQLite", "blessing"),
    ("boringssl", "Organization: Google LLC", "Apache-2.0"),
    ("libstdc++", "Organization: Free Software Foundation", "GPL-3.0-or-later WITH GCC-exception-3.1"),
]
LICENSES = [("Apache License", "Apache-2.0"), ("MIT License", "MIT"), ("Permission is hereby granted, free", "MIT")]


def license_of(folder: pathlib.Path) -> str:
    for file in sorted(folder.glob("LICENSE*")):
        text = file.read_text(encoding="utf-8", errors="replace")
        for mark, name in LICENSES:
            if mark in text:
                return name
    return "NOASSERTION"


def dependencies(traits: list[str]) -> dict[str, dict]:
    """Every package below this one, by name."""
    options = [word for trait in traits for word in ("--traits", trait)]
    command = ["swift", "package", *options, "show-dependencies", "--format", "json"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, dict] = {}
    waiting = json.loads(text[text.index("{") :])["dependencies"]
    while waiting:
        package = waiting.pop()
        found[package["name"]] = package
        waiting += package["dependencies"]
    # Compiled for the documentation only.
    return {name: package for name, package in found.items() if not name.startswith("swift-docc")}


def entry(name: str, version: str, supplier: str, licence: str, place: str) -> dict:
    return {
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name),
        "name": name,
        "versionInfo": version,
        "supplier": supplier,
        "downloadLocation": place,
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }


def main() -> None:
    program, version, *traits = sys.argv[1:]
    date = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    packages = [entry(program, version, "Organization: Notibot", "Apache-2.0", "NOASSERTION")]
    for name, package in sorted(dependencies(traits).items()):
        licence = license_of(pathlib.Path(package["path"]))
        packages.append(entry(name, package["version"], "NOASSERTION", licence, f"git+{package['url']}"))
    linked = [row for row in LINKED if traits or row[0] != "boringssl"]
    packages += [entry(name, "NOASSERTION", who, licence, "NOASSERTION") for name, who, licence in linked]
    root = packages[0]["SPDXID"]
    related = [
        {"spdxElementId": root, "relationshipType": "CONTAINS", "relatedSpdxElement": package["SPDXID"]}
        for package in packages[1:]
    ]
    described = {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": root}
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{program}-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/{program}-{version}-{int(date.timestamp())}",
        "creationInfo": {
            "created": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: notibot-rig packaging/sbom.py"],
        },
        "packages": packages,
        "relationships": [described, *related],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
