"""Files of the workspace: which are new, changed or gone, what is in them, and what was done to their lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypedDict

from msgspec import UNSET, Meta, Struct

from carob.checks.base import CheckRequest, Phrase, own_field, regex_problems
from carob.features.coding.checks.base import FILES, WorkspaceCheck, evidence_of, list_shown, plural
from carob.features.coding.checks.samples import UNSEEN_WORK, workspace_trace
from carob.matchers.reading import MatchedValue, find_problems, matcher
from carob.matchers.values import format_value
from carob.model.check import CheckProblem, Example, Expected
from carob.model.trace import Trace
from carob.model.verdict import CheckResult, EvidenceLocation, Status
from carob.model.workspace import FileChange, FoundFile, WorkspaceEvidence
from carob.text.globs import matches_any, matches_glob, why_bad_glob
from carob.text.regexes import safe_regex

Globs = Annotated[list[Phrase], Meta(description="Patterns of paths below the workspace; `**` goes through folders.")]
SomeGlobs = Annotated[Globs, Meta(min_length=1)]
How = Literal["created", "changed", "deleted", "changed_only", "unchanged", "exist", "absent", "contents"]
WORDS: Mapping[How, str] = {
    "created": "created",
    "changed": "changed",
    "deleted": "deleted",
    "changed_only": "no change but of",
    "unchanged": "unchanged",
    "exist": "there at the end",
    "absent": "not there at the end",
    "contents": "contents of",
}
NOT_ASKED = "the files of {!r} were not looked up in this run: run the case again"
FIX = workspace_trace("edit:src/calc.py", "new:tests/test_mul.py")
KEPT = {"README.md": (FoundFile("README.md", "# calc\n"),), "x.txt": ()}


class ExpectedFiles(TypedDict, total=False):
    """What became of files: `[]` means none."""

    created: Annotated[Globs, Meta(description="For each pattern a new file; `[]`: there is no new file.")]
    changed: Annotated[Globs, Meta(description="For each pattern a changed file; `[]`: none is changed.")]
    deleted: Annotated[Globs, Meta(description="For each pattern a deleted file, and no other; `[]`: none is deleted.")]
    changed_only: Annotated[Globs, Meta(description="Only such files were created, changed or deleted.")]
    unchanged: Annotated[SomeGlobs, Meta(description="No such file was created, changed or deleted.")]
    exist: Annotated[SomeGlobs, Meta(description="For each pattern a file that is there at the end.")]
    absent: Annotated[SomeGlobs, Meta(description="No such file is there at the end.")]
    contents: Annotated[
        dict[Phrase, MatchedValue],
        Meta(min_length=1, description="The text of files at the end; matchers are allowed."),
    ]


class Files(WorkspaceCheck, Struct, frozen=True):
    """Files of the workspace were created, changed or deleted like this, or hold this."""

    name: ClassVar = "files"
    channels: ClassVar = FILES
    failure: ClassVar = ("", "expected: ")
    field: ClassVar = own_field(
        Annotated[ExpectedFiles, Meta(min_length=1)],
        "Files of the workspace, by patterns: created, changed, changed_only, unchanged, deleted, exist, absent, and "
        "contents by matcher.",
        in_defaults=(("unchanged", "add"), ("absent", "add")),
    )
    examples: ClassVar = (
        Example({"how": "created", "paths": ["tests/*.py"]}, FIX, Status.PASSED),
        Example({"how": "created", "paths": ["docs/**"]}, FIX, Status.FAILED),
        Example({"how": "created", "paths": []}, FIX, Status.FAILED),
        Example({"how": "changed", "paths": ["src/**"]}, FIX, Status.PASSED),
        Example({"how": "changed", "paths": []}, FIX, Status.FAILED),
        Example({"how": "deleted", "paths": []}, FIX, Status.PASSED),
        Example({"how": "deleted", "paths": []}, workspace_trace("gone:a.py"), Status.FAILED),
        Example({"how": "deleted", "paths": ["a.py"]}, workspace_trace("gone:a.py", "gone:b.py"), Status.FAILED),
        Example({"how": "changed_only", "paths": ["src/**", "tests/**"]}, FIX, Status.PASSED),
        Example({"how": "changed_only", "paths": ["src/**"]}, FIX, Status.FAILED),
        Example({"how": "unchanged", "paths": ["tests/**"]}, FIX, Status.FAILED),
        Example({"how": "unchanged", "paths": ["tests/**"]}, workspace_trace("edit:src/calc.py"), Status.PASSED),
        Example({"how": "exist", "paths": ["README.md"]}, workspace_trace(found=KEPT), Status.PASSED),
        Example({"how": "exist", "paths": ["x.txt"]}, workspace_trace(found=KEPT), Status.FAILED),
        Example({"how": "absent", "paths": ["x.txt"]}, workspace_trace(found=KEPT), Status.PASSED),
        Example({"how": "absent", "paths": ["y.txt"]}, workspace_trace(found=KEPT), Status.UNKNOWN),
        Example(
            {"how": "contents", "paths": ["README.md"], "content": {"$contains": "calc"}},
            workspace_trace(found=KEPT),
            Status.PASSED,
        ),
        Example(
            {"how": "contents", "paths": ["README.md"], "content": {"$contains": "mul"}},
            workspace_trace(found=KEPT),
            Status.FAILED,
        ),
        Example({"how": "unchanged", "paths": ["tests/**"]}, UNSEEN_WORK, Status.UNKNOWN),
    )
    how: How
    paths: tuple[str, ...]
    content: Any = UNSET

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        for how, value in expected.get("files", {}).items():
            if how != "contents":
                yield CheckRequest({"how": how, "paths": value}, ("files", how))
                continue
            for path, content in value.items():
                yield CheckRequest({"how": how, "paths": [path], "content": content}, ("files", how, path))

    @property
    def prohibits(self) -> bool:
        return self.how in ("unchanged", "changed_only", "absent") or not self.paths

    @property
    def description(self) -> str:
        if not self.paths:
            return "no change of a file" if self.how == "changed_only" else f"no file {WORDS[self.how]}"
        if self.how == "contents":
            return f"{self.paths[0]} holds {format_value(self.content)}"
        return f"{WORDS[self.how]}: {', '.join(self.paths)}"

    def validate(self) -> Iterator[CheckProblem]:
        for index, path in enumerate(self.paths):
            if why := why_bad_glob(path):
                yield CheckProblem("bad-pattern", why, () if self.how == "contents" else (index,))
        if self.content is not UNSET:
            yield from find_problems(self.content)

    def judge(self, trace: Trace) -> CheckResult:
        evidence, why = evidence_of(trace, "files")
        if why:
            return self.unknown(why)
        if self.how in ("exist", "absent", "contents"):
            return self._judge_found(evidence, trace)
        return self._judge_changes(evidence.files, trace.cut("files"))

    def _judge_changes(self, files: Iterable[FileChange], cut: str | None) -> CheckResult:
        touched = [
            change for change in files if self.how not in ("created", "changed", "deleted") or change.change == self.how
        ]
        shown = list_shown((f"{change.path} ({change.change})" for change in touched), "no such change")
        wrong = [change.path for change in touched if self._is_wrong(change.path)]
        if wrong:
            return self.failed(list_shown(wrong, ""), EvidenceLocation("files"))
        if self.how in ("changed_only", "unchanged"):
            return self.passed_unless(cut, shown)
        missing = [path for path in self.paths if not any(matches_glob(path, change.path) for change in touched)]
        if missing:
            return self.failed_unless(cut, f"no file {', '.join(missing)} {self.how}: {shown}")
        return self.passed_unless(cut if self.how == "deleted" or not self.paths else None, shown)

    def _is_wrong(self, path: str) -> bool:
        """Whether that this file was touched is what must not be."""
        is_named = matches_any(self.paths, path)
        if self.how == "unchanged":
            return is_named
        return not is_named if self.how in ("changed_only", "deleted") or not self.paths else False

    def _judge_found(self, evidence: WorkspaceEvidence, trace: Trace) -> CheckResult:
        unasked = [path for path in self.paths if path not in evidence.found]
        if unasked:
            return self.unknown(trace.cut("files") or NOT_ASKED.format(unasked[0]))
        found = {path: evidence.found[path] for path in self.paths}
        shown = list_shown((file.path for files in found.values() for file in files), "no such file")
        if self.how == "contents":
            return self._judge_content(found[self.paths[0]])
        wrong = [path for path, files in found.items() if bool(files) is (self.how == "absent")]
        return self.failed(f"{', '.join(wrong)}: {shown}") if wrong else self.passed(shown)

    def _judge_content(self, files: tuple[FoundFile, ...]) -> CheckResult:
        if not files:
            return self.failed(f"there is no file {self.paths[0]}")
        expected = matcher(self.content)
        for file in files:
            if file.text is None:
                return self.unknown(f"{file.path}: {file.why}")
            if not expected.holds(file.text) and not expected.holds(file.text.removesuffix("\n")):
                return self.failed(f"{file.path} holds {format_value(file.text)}")
        return self.passed(list_shown((file.path for file in files), ""))


class ExpectedDiff(TypedDict, total=False):
    """What was done to the lines of files."""

    removes_none: Annotated[
        list[Phrase],
        Meta(min_length=1, description="No line that one of these regexes finds is gone; moved is not gone."),
    ]
    adds: Annotated[list[Phrase], Meta(min_length=1, description="Each of these regexes finds a line that was added.")]
    max_files: Annotated[int, Meta(ge=0, description="The maximum number of files created, changed or deleted.")]
    max_lines: Annotated[int, Meta(ge=0, description="The maximum number of lines added and removed.")]


class Diff(WorkspaceCheck, Struct, frozen=True):
    """The lines of changed files: none of these removed, these added, not more than so many files and lines."""

    name: ClassVar = "diff"
    channels: ClassVar = FILES
    failure: ClassVar = ("", "expected: ")
    field: ClassVar = own_field(
        Annotated[ExpectedDiff, Meta(min_length=1)],
        "The lines of changed files: removes_none and adds, by regexes; max_files and max_lines.",
        in_defaults=(("removes_none", "add"), ("max_files", "smaller"), ("max_lines", "smaller")),
    )
    examples: ClassVar = (
        Example({"removes_none": "^def "}, FIX, Status.PASSED),
        Example({"removes_none": r"^x = 1$"}, FIX, Status.FAILED),
        Example({"adds": r"^x = 2$"}, FIX, Status.PASSED),
        Example({"adds": "^def mul"}, FIX, Status.FAILED),
        Example({"max_files": 2}, FIX, Status.PASSED),
        Example({"max_files": 1}, FIX, Status.FAILED),
        Example({"max_lines": 4}, FIX, Status.PASSED),
        Example({"max_lines": 3}, FIX, Status.FAILED),
        Example({"max_files": 2}, UNSEEN_WORK, Status.UNKNOWN),
    )
    removes_none: str | None = None
    adds: str | None = None
    max_files: int | None = None
    max_lines: int | None = None

    @classmethod
    def read(cls, expected: Expected) -> Iterator[CheckRequest]:
        for key, value in expected.get("diff", {}).items():
            if not isinstance(value, list):
                yield CheckRequest({key: value}, ("diff", key))
                continue
            for index, pattern in enumerate(value):
                yield CheckRequest({key: pattern}, ("diff", key, index))

    @property
    def prohibits(self) -> bool:
        return self.adds is None

    @property
    def description(self) -> str:
        if self.max_files is not None:
            return f"at most {plural(self.max_files, 'changed file')}"
        if self.max_lines is not None:
            return f"at most {plural(self.max_lines, 'changed line')}"
        return f"no line {self.removes_none!r} removed" if self.removes_none else f"a line {self.adds!r} added"

    def validate(self) -> Iterator[CheckProblem]:
        for pattern in filter(None, (self.removes_none, self.adds)):
            yield from regex_problems(pattern, is_forbidden=pattern is self.removes_none)

    def judge(self, trace: Trace) -> CheckResult:
        evidence, why = evidence_of(trace, "files")
        if why:
            return self.unknown(why)
        cut = trace.cut("files")
        if self.max_files is not None:
            return self._judge_most(len(evidence.files), self.max_files, "file", cut)
        unread = next((f"{change.path}: {change.why_no_text}" for change in evidence.files if change.why_no_text), "")
        removed, added = _changed_lines(evidence.files)
        if self.max_lines is not None:
            return self._judge_most(removed.total() + added.total(), self.max_lines, "line", cut or unread)
        pattern = self.removes_none or self.adds or ""
        hits = [line for line in (removed if self.removes_none else added) if safe_regex.search(pattern, line)]
        shown = list_shown(map(repr, hits), "no such line")
        if self.removes_none:
            return self.failed(shown, EvidenceLocation("files")) if hits else self.passed_unless(cut or unread, shown)
        return self.passed(shown) if hits else self.failed_unless(cut or unread, shown)

    def _judge_most(self, count: int, most: int, noun: str, doubt: str | None) -> CheckResult:
        shown = plural(count, noun)
        return self.failed(shown) if count > most else self.passed_unless(doubt, shown)


def _changed_lines(files: Iterable[FileChange]) -> tuple[Counter[str], Counter[str]]:
    """The lines that are gone and those that are new, over all files: what only moved is neither."""
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    for change in files:
        if not change.why_no_text:
            before.update((change.before_text or "").splitlines())
            after.update((change.after_text or "").splitlines())
    return before - after, after - before
