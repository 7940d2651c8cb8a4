"""`carob init --inspect URL`: a look at the page, and the first target that follows from it and answers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import cast

import msgspec
from msgspec import structs

from carob.evidence.logs.events import PREFIX, read_object
from carob.features.browser.options import BrowserOptions, Place, check_options
from carob.features.setup.inspect.inspection import Inspection, Observation, describe_trace, prove_target
from carob.features.setup.inspect.page.observe import PageObservation, WorkSign, observe_page
from carob.model.trace import Trace
from carob.targets.base import TargetError
from carob.targets.config import TargetConfig, read_options
from carob.text.wording import pluralize, shorten, visible

LATE = 500.0
"""Milliseconds by which a sign of work may end before the last words appear."""
LONGEST_GAP = 600.0
SHORTEST = 100.0
"""What shows for less may be missed in the next turn; `aria-busy` is never missed."""
QUIET_MS = 1500
TRIES = 5
SHOWN = 4
NEW_NODES = 14
NO_LOG = "none: name its log with -o telemetry_log=FILE, or start the app with {log}"
WORK_FIRST = {"busy": 0, "spinner": 1, "gone": 2}


async def inspect_page(config: TargetConfig, prompt: str) -> Inspection:
    """Look at one turn, propose a target, and prove it with two turns of a fresh conversation.

    A list that shows its last messages alone may look the same after both: then one turn has to do.
    """
    options = check_options(read_options(config, BrowserOptions), config.spec)
    observation = await observe_page(config, options, prompt)
    options_given: dict[str, object] = msgspec.to_builtins(config.options)
    trace, problem, table = None, "", options_given
    candidates = list(_candidates(observation, options))[:TRIES]
    for candidate, prompts in [*((each, (prompt, prompt)) for each in candidates), (candidates[0], (prompt,))]:
        table = options_given | _telemetry(observation, options_given) | candidate
        earlier: list[Trace] = []
        try:
            trace = await prove_target(_patient(config, table, observation, options), *prompts, earlier=earlier)
        except TargetError as error:
            problem = problem or error.message
            continue
        turns = [observation.log, *(turn.telemetry for turn in (*earlier, trace))]
        if "telemetry" not in options_given and (end := _end_of_turn(turns)):
            ending = table | {"telemetry": end | cast(dict[str, object], table.get("telemetry", {}))}
            with suppress(TargetError):
                trace = await prove_target(_patient(config, ending, observation, options), prompt)
                table = ending
        break
    sightings = _sightings(observation)
    sightings += (Observation("a turn with it", describe_trace(trace)),) if trace else ()
    return Inspection(config.name, {"use": config.use, "options": table}, sightings, trace, problem)


def _patient(
    config: TargetConfig, table: dict[str, object], observation: PageObservation, options: BrowserOptions
) -> TargetConfig:
    """The target of a proof, which waits no longer than a turn of this app may take."""
    return structs.replace(
        config, options=table | {"wait_ms": min(options.wait_ms, round(4000 * observation.took) + 15_000)}
    )


def signs(observation: PageObservation) -> list[WorkSign]:
    """The signs of work that show when an answer is complete: on until the last words, without a break; best first."""
    fit = [
        sign
        for sign in observation.signs
        if sign["last"] >= observation.spoke - LATE
        and sign["gap"] <= LONGEST_GAP
        and (sign["kind"] == "busy" or sign["last"] - sign["first"] >= SHORTEST)
    ]
    return sorted(fit, key=lambda sign: (WORK_FIRST[sign["kind"]], not sign["named"], sign["first"] // 300))


def _candidates(observation: PageObservation, options: BrowserOptions) -> Iterator[dict[str, object]]:
    """Options to try, the most reliable first; what the user configured is not questioned."""
    common: dict[str, object] = {"chat_box": _place(observation.chat_box)}
    if observation.frame:
        common = {"frame": observation.frame, **common}
    if observation.send is not None:
        common["send"] = _place(observation.send)
    if observation.alert and options.failure is None:
        common["failure"] = {"role": "alert"}
    quiet: dict[str, object] = {"quiet_ms": 100 * round(max(QUIET_MS, min(10_000, 2 * observation.pause)) / 100)}
    at_work: list[dict[str, object]] = [{sign["kind"]: sign["value"]} for sign in signs(observation)[:2]]
    works: list[dict[str, object]] = [{"complete": work} for work in (*at_work, quiet)]
    answers: list[dict[str, object]] = [{"answer": {"selector": place["selector"]}} for place in observation.places[:2]]
    if options.complete != BrowserOptions().complete:
        works = [{}]
    if options.answer is not None:
        answers = []
    yield from (common | work | answer for answer in answers for work in works)
    yield from (common | work for work in (works[-1:] if answers else works))


def _telemetry(observation: PageObservation, options_given: dict[str, object]) -> dict[str, object]:
    """Which field names the conversation, as far as the log of the turn shows."""
    events = [event for event in map(read_object, observation.log) if event]
    if not events or "telemetry" in options_given:
        return {}
    names = [name for name, value in events[-1].items() if value == observation.session]
    return {"telemetry": {"correlation_field": names[0]}} if names else {}


def _end_of_turn(turns: Sequence[Sequence[str]]) -> dict[str, object]:
    """The event that ends a turn: the last one of every turn that was tried, once in each, and not one of a tool."""
    read = [
        [(event.get("source"), event.get("event")) for event in map(read_object, lines) if event] for lines in turns
    ]
    if not all(read):
        return {}
    source, event = read[0][-1]
    last_in_all = all(events[-1] == (source, event) and events.count((source, event)) == 1 for events in read)
    if not last_in_all or not event or str(source).startswith(PREFIX):
        return {}
    return {name: str(value) for name, value in (("end_source", source), ("end_event", event)) if value}


def _place(place: Place) -> dict[str, object]:
    return {name: value for name, value in structs.asdict(place).items() if value}


def _sightings(observation: PageObservation) -> tuple[Observation, ...]:
    other_boxes = [f"also {_line(box['tag'] + ' ' + box['words'])}" for box in observation.boxes[1:SHOWN]]
    answers = [f"{place['selector']}: {_line(place['words'])}" for place in observation.places[:SHOWN]]
    at_work = [f"{sign['kind']} {sign['value']}, {_seconds(sign)}" for sign in signs(observation)[:SHOWN]]
    log = [pluralize(len(observation.log), "line"), *map(_line, observation.log[-SHOWN:])]
    left = ["the app left the page for it, so it could not be watched"]
    rows: dict[str, list[str]] = {
        "frame": [observation.frame] if observation.frame else [],
        "chat box": [str(observation.chat_box), *other_boxes],
        "sent by": [str(observation.send) if observation.send is not None else "the Enter key"],
        "answer": left if observation.moved else answers,
        "busy signs": at_work or ["none that lasts until the answer is complete"],
        "new on the page": [*_new_nodes(observation)] or ["nothing"],
        "requests": [*map(visible, observation.requests[:NEW_NODES])] or ["none, unless by web socket"],
        "telemetry": log if observation.log else [NO_LOG],
    }
    return tuple(Observation(what, tuple(lines)) for what, lines in rows.items() if lines or what != "frame")


def _new_nodes(observation: PageObservation) -> Iterator[str]:
    """Nodes of the page that were not there before the turn: messages, cards of tools, forms."""
    lines = difflib.ndiff(observation.page_before.split("\n"), observation.page.split("\n"))
    new = [line[2:].strip() for line in lines if line.startswith("+ ")]
    yield from map(_line, new[:NEW_NODES])
    if len(new) > NEW_NODES:
        yield f"and {len(new) - NEW_NODES} more"


def _seconds(sign: WorkSign) -> str:
    return f"{sign['first'] / 1000:.1f} s to {sign['last'] / 1000:.1f} s"


def _line(text: str) -> str:
    return visible(shorten(" ".join(text.split()), 120))
