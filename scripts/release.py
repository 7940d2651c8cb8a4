#!/usr/bin/env python3
"""Everything that a release needs but the push.

    scripts/release.py address https://github.com/OWNER/carob   put the real address in place of the placeholder
    scripts/release.py build                                    sdist and wheel in dist/, if the name is free or ours
    scripts/release.py prove                                    install both on every Python there is, and try them
    scripts/release.py VERSION                                  all of it: version, changelog, tests, build, proofs, tag

It needs a clean checkout and `make setup`. `VERSION --rehearse` does the same, and then undoes the commit and the tag.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PLACEHOLDER = "https://carob.example"
WITH_ADDRESS = ("pyproject.toml", "docs/ci.md", "clients/typescript/package.json", "clients/typescript/README.md")
NPM_FILES = ("clients/typescript/package.json", "clients/typescript/package-lock.json")
VERSION_FILE, CHANGELOG = "src/carob/version.py", "CHANGELOG.md"
UNRELEASED = "## Unreleased\n"
INDEX = "https://pypi.org"


def run(*command: str) -> None:
    print("$", *command, flush=True)
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit(f"release: {' '.join(command)} failed")


def read_git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def set_address(url: str) -> None:
    """Put the address of the repository wherever the placeholder is."""
    found = re.fullmatch(r"https://[\w.-]+/([\w.-]+/[\w.-]+?)/?", url)
    if not found:
        sys.exit(f"release: {url!r} is not the address of a repository, such as https://github.com/OWNER/carob")
    for name in WITH_ADDRESS:
        file = ROOT / name
        text = file.read_text("utf-8").replace("https://github.com/OWNER/carob", url.rstrip("/"))
        file.write_text(text.replace(PLACEHOLDER, url.rstrip("/")).replace("OWNER/carob", found[1]), "utf-8")


def change_version(text: str, version: str) -> str:
    """The module of the version with another one."""
    changed, count = re.subn(r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"', text)
    if count != 1:
        sys.exit(f"release: {VERSION_FILE} has no line __version__")
    return changed


def change_npm_version(text: str, version: str) -> str:
    """The file of the npm package with another version, which npm writes 1.0.0-rc.1 for 1.0.0rc1."""
    before = json.loads(text)["version"]
    after = re.sub(r"(\d)(a|b|rc)(\d+)$", r"\1-\2.\3", version)
    return text.replace(f'"version": "{before}"', f'"version": "{after}"', text.count('"name": "carob"'))


def change_changelog(text: str, version: str, today: str) -> str:
    """The changelog in which what was unreleased belongs to a version."""
    if text.count(UNRELEASED) != 1 or f"## {version} " in text:
        sys.exit(f"release: {CHANGELOG} needs one {UNRELEASED.strip()!r}, and none for {version}")
    if not text.partition(UNRELEASED)[2].partition("\n## ")[0].strip():
        sys.exit(f"release: {CHANGELOG} says nothing of what is unreleased")
    return text.replace(UNRELEASED, f"{UNRELEASED}\n## {version} - {today}\n")


def check_name() -> None:
    """Refuse to build under a name that belongs to somebody else on the public index, or may."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    name, homepage = project["name"], project["urls"]["Homepage"]
    try:
        with urllib.request.urlopen(f"{INDEX}/pypi/{name}/json", timeout=30) as response:
            urls = json.load(response)["info"]["project_urls"] or {}
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return
        sys.exit(
            f"release: {INDEX} answers {error.code} for {name!r}, so whose name it is is unknown. Try again later."
        )
    except (OSError, ValueError, LookupError) as error:
        sys.exit(f"release: {INDEX} cannot be asked whose name {name!r} is: {error}. Build where it can be reached.")
    if homepage not in urls.values():
        sys.exit(
            f"release: {name!r} on {INDEX} is another project: no address of it is {homepage}. Choose another name."
        )


def build() -> None:
    check_name()
    for old in DIST.glob("carob-*"):
        old.unlink()
    run(".tools/bin/uv", "build", "--quiet", "--out-dir", str(DIST), ".")
    attest()


def attest() -> None:
    """Build a second time, refuse files that come out different, and write down their digests."""
    lines = []
    with tempfile.TemporaryDirectory() as again:
        run(".tools/bin/uv", "build", "--quiet", "--out-dir", again, ".")
        for file in sorted(DIST.glob("carob-*")):
            digest = sha256(file.read_bytes()).hexdigest()
            if digest != sha256(Path(again, file.name).read_bytes()).hexdigest():
                sys.exit(f"release: {file.name} comes out different each time, so it cannot be checked")
            lines.append(f"{digest}  {file.name}\n")
            print(f"  {file.name}  {file.stat().st_size >> 10} KiB  sha256 {digest}")
    (DIST / "SHA256SUMS").write_text("".join(lines), "utf-8")


def prove() -> None:
    """pip, uv tool and pipx in empty environments, on every Python that is here."""
    os.environ["CAROB_DIST"] = str(DIST)
    run(".venv/bin/pytest", "-q", "-m", "counterpart", "tests/counterparts/test_release.py")


def release(version: str, *, rehearse: bool) -> None:
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        sys.exit(f"release: {version!r} is not a version such as 0.2.0 or 0.2.0rc1")
    if read_git("status", "--porcelain"):
        sys.exit("release: the checkout has changes. Commit them first.")
    if f"v{version}" in read_git("tag", "--list").split():
        sys.exit(f"release: there is a tag v{version} already")
    if not rehearse and PLACEHOLDER in (ROOT / "pyproject.toml").read_text():
        sys.exit("release: the address of the repository is a placeholder. Set it: scripts/release.py address URL")
    before, today = read_git("rev-parse", "HEAD"), f"{datetime.now(UTC):%Y-%m-%d}"
    version_file, changelog = ROOT / VERSION_FILE, ROOT / CHANGELOG
    log = change_changelog(changelog.read_text("utf-8"), version, today)
    version_file.write_text(change_version(version_file.read_text("utf-8"), version), "utf-8")
    changelog.write_text(log, "utf-8")
    for npm in (ROOT / name for name in NPM_FILES):
        npm.write_text(change_npm_version(npm.read_text("utf-8"), version), "utf-8")
    try:
        run(".tools/bin/uv", "lock", "--quiet")
        if not rehearse:
            run("make", "test")
        build()
        prove()
        run("git", "commit", "--quiet", "--all", "--message", f"Release {version}")
        run("git", "tag", "--annotate", f"v{version}", "--message", f"Carob {version}")
    except SystemExit:
        run("git", "reset", "--quiet", "--hard", before)
        raise
    if rehearse:
        run("git", "tag", "--delete", f"v{version}")
        run("git", "reset", "--quiet", "--hard", before)
        return
    print(f"Ready. Now: git push --follow-tags && .tools/bin/uv publish dist/carob-{version}*")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["address", url]:
            set_address(url)
        case ["build"]:
            build()
        case ["prove"]:
            prove()
        case [version] | [version, "--rehearse"] if version[:1].isdigit():
            release(version, rehearse=len(arguments) == 2)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
