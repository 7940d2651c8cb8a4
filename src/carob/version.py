"""The version of Carob, in a module that loads nothing: journals, the command line and the release read it."""

__version__ = "1.0.0rc1"


def commit() -> str:
    """The commit that this Carob was built from, or the one that is checked out; empty where neither is known."""
    from contextlib import suppress
    from pathlib import Path

    with suppress(OSError):
        return Path(__file__).with_name("COMMIT").read_text("utf-8").strip()
    return commit_of_checkout()


def commit_of_checkout() -> str:
    """The commit of the checkout around this file, with `-dirty` after it if files were changed."""
    import subprocess
    from pathlib import Path

    checkout = Path(__file__).parents[2]
    if not (checkout / ".git").exists():
        return ""
    command = [
        "git",
        "--no-optional-locks",
        "-C",
        str(checkout),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
