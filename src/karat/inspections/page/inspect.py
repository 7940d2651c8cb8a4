"""`karat inspect URL`: a look at the page, and of the targets that follow from it the first that gives an answer."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator

import msgspec
from msgspec import structs

from karat.inspections.inspection import Inspection, Observation
from karat.inspections.page.boxes import PageControl
from karat.inspections.page.observe import PageObservation, WorkSign, observe_page
from karat.inspections.proof import describe_trace, prove_target
from karat.targets.base import TargetError
from karat.targets.browser.options import BrowserOptions, Place, checked
from karat.targets.config import TargetConfig, read_options
from karat.telemetry.events import PREFIX
from karat.text.wording import counted, shorten, visible

LATE = 500.0
"""Milliseconds by which a sign of work may end before the last words appear."""
LONGEST_GAP = 600.0
SHORTEST = 100.0
"""What shows for less may be missed in the next turn; `aria-busy` is never missed."""
QUIET_MS = 1500
TRIES = 5
SHOWN = 4
NEW_NODES = 14
WORK_FIRST = {"busy": 0, "spinner": 1, "gone": 2}


async def inspect_page(config: TargetConfig, prompt: str) -> Inspection:
    """Look at one turn, propose a target, and prove it with two turns of a fresh conversation.

    A list that shows its last messages alone may look the same after both: then one turn has to do.
    """
    options = checked(read_options(config, BrowserOptions), config.spec)
    seen = await observe_page(config, options, prompt)
    given: dict[str, object] = msgspec.to_builtins(config.options)
    trace, problem, table = None, "", given
    candidates = list(_candidates(seen, options))[:TRIES]
    for candidate, prompts in [*((each, (prompt, prompt)) for each in candidates), (candidates[0], (prompt,))]:
        table = given | _telemetry(seen, given) | candidate
        try:
            trace = await prove_target(structs.replace(config, options=table | _patience(seen, options)), *prompts)
        except TargetError as error:
            problem = problem or error.message
            continue
        break
    sightings = (*_sightings(seen), *([Observation("a turn with it", describe_trace(trace))] if trace else []))
    return Inspection(config.name, {"use": config.use, "options": table}, sightings, trace, problem)


def _patience(seen: PageObservation, options: BrowserOptions) -> dict[str, object]:
    """A proof waits no longer than a turn of this app may take."""
    return {"wait_ms": min(options.wait_ms, round(4000 * seen.took) + 15_000)}


def signs(seen: PageObservation) -> list[WorkSign]:
    """The signs of work that show when an answer is complete: on until the last words, without a break; best first."""
    fit = [
        sign
        for sign in seen.signs
        if sign["last"] >= seen.spoke - LATE
        and sign["gap"] <= LONGEST_GAP
        and (sign["kind"] == "busy" or sign["last"] - sign["first"] >= SHORTEST)
    ]
    return sorted(fit, key=lambda sign: (WORK_FIRST[sign["kind"]], not sign["named"], sign["first"] // 300))


def _candidates(seen: PageObservation, options: BrowserOptions) -> Iterator[dict[str, object]]:
    """Options to try, the most reliable first; what the user configured is not questioned."""
    common: dict[str, object] = {"chat_box": _place(seen.chat_box)}
    if seen.frame:
        common = {"frame": seen.frame, **common}
    if seen.send is not None:
        common["send"] = _place(seen.send)
    if seen.alert and options.failure is None:
        common["failure"] = {"role": "alert"}
    quiet: dict[str, object] = {"quiet_ms": 100 * round(max(QUIET_MS, min(10_000, 2 * seen.pause)) / 100)}
    works: list[dict[str, object]] = [{"complete": work} for work in (*_signs_of_work(seen), quiet)]
    answers: list[dict[str, object]] = [{"answer": {"selector": place["selector"]}} for place in seen.places[:2]]
    if options.complete != BrowserOptions().complete:
        works = [{}]
    if options.answer is not None:
        answers = []
    yield from (common | work | answer for answer in answers for work in works)
    yield from (common | work for work in (works[-1:] if answers else works))


def _signs_of_work(seen: PageObservation) -> list[dict[str, object]]:
    return [{sign["kind"]: sign["value"]} for sign in signs(seen)[:2]]


def _telemetry(seen: PageObservation, given: dict[str, object]) -> dict[str, object]:
    """Which line ends a turn, and which field names the conversation, as far as the log of the turn shows."""
    if not seen.log or "telemetry" in given:
        return {}
    events = [event for event in map(_object, seen.log) if event]
    plain = [event for event in events if not str(event.get("source", "")).startswith(PREFIX) and event.get("event")]
    found: dict[str, object] = {}
    last = plain[-1] if plain and events and plain[-1] is events[-1] else None
    if (
        last is not None
        and sum((e.get("source"), e["event"]) == (last.get("source"), last["event"]) for e in plain) == 1
    ):
        found = {f"end_{part}": str(last[part]) for part in ("source", "event") if last.get(part)}
    names = [name for name, value in (events[-1] if events else {}).items() if value == seen.session]
    if names:
        found["correlation_field"] = names[0]
    return {"telemetry": found} if found else {}


def _object(line: str) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _place(place: Place) -> dict[str, object]:
    return {name: value for name, value in structs.asdict(place).items() if value}


def _sightings(seen: PageObservation) -> Iterator[Observation]:
    if seen.frame:
        yield Observation("frame", (seen.frame,))
    yield Observation("chat box", (str(seen.chat_box), *(f"also {_box(box)}" for box in seen.boxes[1:SHOWN])))
    yield Observation("sent by", (str(seen.send) if seen.send is not None else "the Enter key",))
    if seen.moved:
        yield Observation("answer", ("the app left the page for it, so it could not be watched",))
    else:
        yield Observation(
            "answer", tuple(f"{place['selector']}: {_line(place['words'])}" for place in seen.places[:SHOWN])
        )
    at_work = tuple(f"{sign['kind']} {sign['value']}, {_seconds(sign)}" for sign in signs(seen)[:SHOWN])
    yield Observation("busy signs", at_work or ("none that lasts until the answer is complete",))
    yield Observation("new on the page", tuple(_new_nodes(seen)) or ("nothing",))
    yield Observation("requests", tuple(map(visible, seen.requests[:NEW_NODES])) or ("none but by web socket, if any",))
    if seen.log:
        yield Observation("telemetry", (counted(len(seen.log), "line"), *map(_line, seen.log[-SHOWN:])))
    else:
        yield Observation("telemetry", ("none: name its log with -o telemetry_log=FILE, or start the app with {log}",))


def _new_nodes(seen: PageObservation) -> Iterator[str]:
    """Nodes of the page that were not there before the turn: messages, cards of tools, forms."""
    lines = difflib.ndiff(seen.page_before.split("\n"), seen.page.split("\n"))
    new = [line[2:].strip() for line in lines if line.startswith("+ ")]
    yield from map(_line, new[:NEW_NODES])
    if len(new) > NEW_NODES:
        yield f"and {len(new) - NEW_NODES} more"


def _box(box: PageControl) -> str:
    return _line(f"{box['tag']} {box['words']}")


def _seconds(sign: WorkSign) -> str:
    return f"{sign['first'] / 1000:.1f} s to {sign['last'] / 1000:.1f} s"


def _line(text: str) -> str:
    return visible(shorten(" ".join(text.split()), 120))
