"""Published lists: what in the result of a tool is a sign of failure, and which calls are helpers of a framework.

Keys are compared without case, `_` and `-`: `isError`, `is_error`. docs/targets.md prints every list.
"""

from __future__ import annotations

from typing import NamedTuple


class SignList(NamedTuple):
    """One published list: its name, a sentence about it, and its entries."""

    name: str
    about: str
    entries: tuple[str, ...]


VERDICT_KEYS = SignList(
    "verdict_keys",
    "Keys of a result that are a failure where they are false, 0 or `no`.",
    ("success", "ok", "succeeded", "successful", "issuccess"),
)
ERROR_KEYS = SignList(
    "error_keys",
    "Keys of a result that are a failure where they are set to something.",
    ("error", "errors", "errorcode", "errormessage", "exception"),
)
NO_ERROR = SignList(
    "no_error",
    "What an error key holds where there was no error.",
    ("", "none", "null", "no", "no error", "nil", "false", "0", "n/a", "ok", "success"),
)
FAILURE_MARKS = SignList("failure_marks", "Keys that are a failure where they are true.", ("iserror", "failed"))
FAILURE_COUNTS = SignList(
    "failure_counts",
    "Keys that count what failed: over 0, or a list with entries, is a failure.",
    ("failed", "failures", "failedcount", "failurecount", "numfailed"),
)
EXIT_CODES = SignList(
    "exit_codes",
    "Keys of exit codes, and of gRPC: anything but 0 is a failure.",
    ("exitcode", "exitstatus", "returncode", "grpcstatus"),
)
STATUS_KEYS = SignList("status_keys", "Keys of a status in words, or of HTTP in numbers.", ("status", "state"))
STATUS_CODES = SignList(
    "status_codes", "Keys of a status of HTTP: 400 or more is a failure.", ("statuscode", "httpstatus")
)
FAILED_STATUS = SignList(
    "failed_status",
    "Words of a `status` or `state` that are a failure.",
    (
        *("aborted", "bad request", "crashed", "declined", "denied", "error", "errored", "exception", "fail"),
        *("failed", "failure", "fatal", "forbidden", "internal error", "internal server error", "nok", "not found"),
        *("not ok", "refused", "rejected", "timed out", "timeout", "unauthorized", "unsuccessful"),
    ),
)
GRPC_STATUS = SignList(
    "grpc_status",
    "A `status` or `state` in the capitals of gRPC that is a failure.",
    (
        *("CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
        *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE"),
        *("UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"),
    ),
)
ENVELOPES = SignList(
    "envelopes",
    "Keys that the result itself may be in: signs of failure count there as well.",
    ("body", "data", "result", "response", "content", "output", "structuredcontent"),
)
NOTICE_KEYS = SignList(
    "notice_keys",
    "An entry of a list with no other keys than these, and a failed status, is a failure and not a record.",
    ("status", "state", "code", "message", "reason", "detail", "details", "title", "type"),
)
FRAMEWORK_HELPERS = SignList(
    "framework_helpers",
    "Calls with which frameworks hand over the answer: they are no tools of the agent, and no tool calls of a trace.",
    ("final_answer", "final_result", "finish", "structured_output", "StructuredOutput", "submit_final_answer"),
)
OWN_ENDS = SignList(
    "own_ends",
    "Finish reasons of a model that came to its end by itself.",
    ("stop", "endturn", "toolcalls", "tooluse", "functioncall", "stopsequence", "completed", "eos", "complete"),
)
LISTS = (
    VERDICT_KEYS,
    ERROR_KEYS,
    NO_ERROR,
    FAILURE_MARKS,
    FAILURE_COUNTS,
    EXIT_CODES,
    STATUS_KEYS,
    STATUS_CODES,
    FAILED_STATUS,
    GRPC_STATUS,
    ENVELOPES,
    NOTICE_KEYS,
    FRAMEWORK_HELPERS,
    OWN_ENDS,
)
