"""`python -m benchmarks.published.promptfoo_runs --npm FOLDER --from FOLDER`: configurations, run and judged twice.

promptfoo, installed in the folder that `--npm` names, runs each configuration that is found against a scripted agent
and writes its results as JSON, JSON lines and CSV. Carob reads the same configuration, replays each of the three files
and judges them itself. Verdicts are compared case by case: every difference has a class, or the exit code is 1.
Configurations are files whose name holds `promptfoo`, and the YAML blocks with `tests` of Markdown files.
"""

from __future__ import annotations

import argparse
import json
import re
import select
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import carob
from carob.errors import CarobError
from carob.features.importers.promptfoo.suite import user_messages
from carob.model.suite import Case, Suite
from carob.model.verdict import CheckResult, Status

Row = dict[str, Any]
REPEAT = 3
MOST_ROWS = 300
SECONDS = 60
FORMATS = ("json", "jsonl", "csv")
MEDIA = "promptfoo leaves media out of its results"
LOST = ("contains no trace of this case", "results is whose is unknown", "[bad-table]")
_BLOCK = re.compile(r"^ *```ya?ml[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"(?P<test>.*?)(?: / prompt (?P<prompt>\d+))?(?: / (?P<row>\d+))?(?: #\d+)?", re.DOTALL)


class Compared(NamedTuple):
    """One answer to one case: what promptfoo says of it, and Carob by one of the files."""

    config: str
    format: str
    case: str
    answer: str
    theirs: str
    ours: str
    failed: frozenset[str]
    """The types of the assertions that promptfoo failed."""
    checks: tuple[CheckResult, ...]
    why: str = ""

    @property
    def is_same(self) -> bool:
        """PARTIAL where promptfoo passes: all that Carob judges passes, and it says that it does not judge the rest."""
        return self.ours in ((self.theirs, "partial") if self.theirs == "pass" else (self.theirs,))


def configurations(folder: Path, scratch: Path) -> Iterator[Path]:
    """The files, and the blocks of documentation, each of which gets a file of its own."""
    for path in sorted(folder.rglob("*promptfoo*")):
        if path.suffix in (".yaml", ".yml", ".json") and path.is_file() and "node_modules" not in path.parts:
            yield path
    known = set()
    for path in sorted([*folder.rglob("*.md"), *folder.rglob("*.mdx")]):
        for number, found in enumerate(_BLOCK.finditer(path.read_text("utf-8", "replace"))):
            block = found[1]
            try:
                tree = yaml.safe_load(block)
            except (yaml.YAMLError, ValueError):
                continue
            if isinstance(tree, dict) and isinstance(tree.get("tests"), list) and block not in known:
                known.add(block)
                written = scratch / "-".join(path.relative_to(folder).with_suffix("").parts) / str(number)
                written.mkdir(parents=True)
                prompts = "" if "prompts" in tree else '\nprompts: ["Say {{input}}"]\n'
                (written / "promptfooconfig.yaml").write_text(_dedent(block) + prompts, "utf-8")
                yield written / "promptfooconfig.yaml"


def _dedent(block: str) -> str:
    margin = re.match(" *", block)
    return block if not margin else re.sub(f"^{margin[0]}", "", block, flags=re.MULTILINE)


class Peer:
    """promptfoo in a process that is started again when it hangs."""

    def __init__(self, npm: Path) -> None:
        self._npm = npm.absolute()
        self._process: subprocess.Popen[str] | None = None

    def run(self, config: Path, outputs: Sequence[Path]) -> str:
        """Why it could not run the configuration; empty if it did."""
        if self._process is None:
            script = Path(__file__).with_name("promptfoo_runs_peer.mjs")
            self._process = subprocess.Popen(
                ["node", str(script), str(self._npm)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"config": str(config.absolute()), "outputs": list(map(str, outputs)), "repeat": REPEAT}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], SECONDS)[0]:
            self.close()
            return f"did not end within {SECONDS} s"
        line = self._process.stdout.readline()
        if not line:
            self.close()
            return "ended"
        return str(json.loads(line).get("error", ""))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def match(rows: Sequence[Row], cases: Sequence[Case]) -> list[tuple[Row, Case, int]]:
    """Each row with its case and repetition: by the prompt, and where that is that of several by the order of both.

    promptfoo reads the files of a pattern in another order.
    """
    places: dict[str, list[Row]] = {}
    for row in rows:
        places.setdefault(_prompt_of(row), []).append(row)
    ordered = order_like_promptfoo(cases)
    if Counter({prompt: len(found) for prompt, found in places.items()}) == Counter(case.prompt for case, _ in ordered):
        return [(places[case.prompt].pop(0), case, repeat) for case, repeat in ordered]
    return [(row, *place) for row, place in zip(rows, ordered, strict=True)]


def _prompt_of(row: Row) -> str:
    raw: str = row["prompt"]["raw"]
    said = user_messages(raw)
    return said[-1] if said else raw


def order_like_promptfoo(cases: Sequence[Case]) -> list[tuple[Case, int]]:
    """Cases and repetitions as promptfoo numbers them: test, repetition, variables, prompt."""
    tests: list[dict[tuple[int, int], Case]] = []
    last = ""
    for case in cases:
        parts = _ID.fullmatch(case.id)
        assert parts
        place = (int(parts["prompt"] or 1), int(parts["row"] or 1))
        if not tests or parts["test"] != last or place in tests[-1]:
            tests.append({})
        tests[-1][place] = case
        last = parts["test"]
    return [
        (test[prompt, row], repeat)
        for test in tests
        for repeat in range(REPEAT)
        for row, prompt in sorted((row, prompt) for prompt, row in test)
    ]


def compare(config: Path, peer: Peer, folder: Path) -> list[Compared] | str:
    """Every verdict on one configuration, or why there is none."""
    try:
        suite = carob.load_suite(config)
    except CarobError as error:
        slug = re.search(r"\[([a-z-]+)\]", str(error))
        return f"Carob refuses it: {slug[1] if slug else type(error).__name__}"
    if any(case.turns for case in suite.cases):
        return "its tests are turns of conversations"
    if len(suite.cases) * REPEAT > MOST_ROWS:
        return f"more than {MOST_ROWS} answers"
    outputs = [folder / f"results.{name}" for name in FORMATS]
    for output in outputs:
        output.unlink(missing_ok=True)
    if problem := peer.run(config, outputs):
        return f"promptfoo does not run it: {problem}"
    rows = json.loads(outputs[0].read_text("utf-8"))["results"]["results"]
    rows.sort(key=lambda row: (row["testIdx"], row["promptIdx"]))
    if len(rows) != len(suite.cases) * REPEAT:
        return f"promptfoo counts {len(rows)} answers, Carob {len(suite.cases) * REPEAT}"
    matched = match(rows, suite.cases)
    found: list[Compared] = []
    for output in outputs:
        found += judge(config, suite, output, matched)
    return found


def judge(config: Path, suite: Suite, output: Path, matched: Sequence[tuple[Row, Case, int]]) -> Iterator[Compared]:
    """The verdicts of Carob on one file of results, each with that of promptfoo."""
    try:
        records = carob.run(suite, f"replay:{output}", repeat=REPEAT, workers=0, trust_code=True).records
    except CarobError as error:  # a table that does not show what a prompt is
        for row, case, repeat in matched:
            yield _compare(config, output, row, f"{case.id} ({repeat + 1})", "error", (), str(error))
        return
    by_place = {(record.case.id, record.repeat): record for record in records}
    by_answer = {(record.case.id, str(record.trace.final_message).strip()): record for record in records}
    for row, case, repeat in matched:
        record = by_place[case.id, repeat]
        if output.suffix == ".csv":  # it has the repetitions of a test in the order in which they came in
            record = by_answer.get((case.id, str(_answer_of(row)).strip()), record)
        status, checks, why = str(record.verdict.status).lower(), record.verdict.checks, record.verdict.reason
        yield _compare(config, output, row, f"{case.id} ({repeat + 1})", status, checks, why)


def _answer_of(row: Row) -> str | None:
    output = (row.get("response") or {}).get("output")
    return output if output is None or isinstance(output, str) else json.dumps(output, separators=(",", ":"))


def _compare(
    config: Path, output: Path, row: Row, case: str, ours: str, checks: tuple[CheckResult, ...], why: str
) -> Compared:
    grading = row.get("gradingResult") or {}
    parts = [part for part in grading.get("componentResults") or () if not part.get("pass", True)]
    failed = frozenset(str((part.get("assertion") or {}).get("type")) for part in parts)
    theirs = "pass" if row["success"] else "error" if row.get("failureReason") == 2 else "fail"
    reason = str(grading.get("reason") or row.get("error") or "")
    media = f"{MEDIA}; " if "[REDACTED]" in row["prompt"]["raw"] else ""
    words = f"{media}{reason} / {why}"
    return Compared(str(config), output.suffix[1:], case, str(_answer_of(row)), theirs, ours, failed, checks, words)


def explain(one: Compared) -> str:
    """The class of a difference; the empty string if there is none that is known."""
    unjudged = [check.expected for check in one.checks if check.status is Status.UNJUDGED]
    if one.ours == "skip":
        return "its prompt or a variable is code or no text: Carob runs no such case, and says why"
    if one.ours == "partial" and one.failed and all(_names(unjudged, kind) for kind in one.failed):
        return "promptfoo fails what Carob does not judge, and says so: PARTIAL is no pass"
    if one.ours == "partial" and any(check.status is Status.UNKNOWN for check in one.checks):
        return "the results do not say what a check reads: it is UNKNOWN, and PARTIAL is no pass"
    if one.ours == "error" and one.theirs == "fail" and any(check.status is Status.ERROR for check in one.checks):
        return "code that raises is a failure there and an error here"
    if one.format == "csv" and one.ours == "error" and any(words in one.why for words in LOST):
        return "a table has labels of prompts, cut off, and no numbers of tests: the case is an ERROR"
    if one.ours == "error" and LOST[0] in one.why and one.why.startswith(MEDIA):
        return f"{MEDIA}: the case is an ERROR"
    text = Path(one.config).read_text("utf-8")
    if one.ours == "error" and LOST[0] in one.why and any(word in text for word in ("storeOutputAs", "_conversation")):
        return "its prompt holds the answer to another test: the case is an ERROR"
    return ""


def _names(unjudged: Sequence[str], kind: str) -> bool:
    return any(what.removeprefix("not-").startswith(kind.removeprefix("not-")) for what in unjudged)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--npm", type=Path, required=True, help="The folder in which promptfoo is installed.")
    parser.add_argument("--from", dest="folder", type=Path, required=True, help="Folders of public repositories.")
    parser.add_argument("--only", default="", help="Only configurations whose path holds this text.")
    given = parser.parse_args(arguments)
    verdicts: list[Compared] = []
    not_compared: Counter[str] = Counter()
    peer = Peer(given.npm)
    with tempfile.TemporaryDirectory(prefix="carob-promptfoo-") as name:
        scratch = Path(name)
        for config in configurations(given.folder, scratch):
            if given.only in str(config):
                found = compare(config, peer, scratch)
                if isinstance(found, str):
                    not_compared[found] += 1
                else:
                    verdicts += found
                print(f"{config}: {found if isinstance(found, str) else f'{len(found)} verdicts'}", flush=True)
        peer.close()
        return report(verdicts, not_compared)


def report(verdicts: Sequence[Compared], not_compared: Counter[str]) -> int:
    """Print what was compared; 1 if a difference has no class."""
    configs, cases = {one.config for one in verdicts}, {(one.config, one.case) for one in verdicts}
    print(f"\n{len(configs):,} configurations, {len(cases):,} answers, {len(verdicts):,} verdicts")
    classes: dict[str, list[Compared]] = {}
    for one in verdicts:
        classes.setdefault("" if one.is_same else explain(one) or "UNEXPLAINED", []).append(one)
    pairs = Counter(f"{one.theirs}/{one.ours}" for one in classes.pop("", ()))
    print(f"{pairs.total():,} the same: " + ", ".join(f"{pair} {count:,}" for pair, count in pairs.most_common()))
    for name, found in classes.items():
        print(f"\n{len(found):,} in {len({one.config for one in found})} configurations: {name}")
        for one in found[: 40 if name == "UNEXPLAINED" else 3]:
            about = f"{one.config} ({one.format}), {one.case}, {one.answer[:80]}"
            print(f"  {about}: {one.theirs} / {one.ours}: {one.why[:200]!r}")
    print(f"\n{not_compared.total()} configurations were not compared:")
    for why, count in not_compared.most_common():
        print(f"{count:>5}  {why[:160]}")
    return int("UNEXPLAINED" in classes)


if __name__ == "__main__":
    sys.exit(main())
