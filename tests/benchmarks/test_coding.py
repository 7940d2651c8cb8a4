"""The recording of a terminal, read as the session that ran in it."""

import json
from pathlib import Path

from benchmarks.published.coding import read_terminal
from carob.evidence.exports.reading import read_conversations
from carob.model.trace import Trace

STEP = (
    "\x1b[1;31mmini-swe-agent\x1b[0m\x1b[31m (step \x1b[0m{0}, $0.03):\r\n"
    "⠙ Waiting for the LM to respond...\r\x1b[2KTHOUGHT: {1}\r\n\r\n```bash\r\n{2}\r\n```\r\n\r\nUser:"
    "\r\n{3}\r\n────\r\n"
)
TERMINAL = "root@app# mini -t 'Fix it.' -y\r\n" + "".join(
    [
        STEP.format(1, "Test.", "pytest -q", "<returncode>1</returncode>\r\n<output>\r\nE\r\n</output>"),
        STEP.format(2, "Successfully done.", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", ""),
    ]
)


def read(folder: Path, terminal: str) -> Trace:
    path = folder / "terminal.traj.json"
    path.write_text(json.dumps(read_terminal(terminal)))
    (conversation,) = read_conversations([path])
    return conversation.trace


def test_a_terminal_has_the_commands_that_were_run_in_it(tmp_path: Path) -> None:
    trace = read(tmp_path, TERMINAL)
    assert [(call.arguments, call.exit_code) for call in trace.tool_calls[:1]] == [({"command": "pytest -q"}, 1)]
    assert trace.final_message == "THOUGHT: Successfully done."


def test_a_terminal_in_which_the_program_never_ran_is_an_error(tmp_path: Path) -> None:
    trace = read(tmp_path, "root@app# mini -t 'Fix it.' -y\r\nbash: mini: command not found\r\n")
    assert trace.error is not None
    assert trace.error.kind == "no-step"
