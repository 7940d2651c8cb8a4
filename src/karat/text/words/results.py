"""Words in the results and names of tools. No suite replaces them: they are read when no suite is known."""

from __future__ import annotations

from karat.text.words.word_list import WordList, lines, words

RESULTS = (
    WordList(
        "verdict_keys",
        "Keys of a result that are a failure where they are false, 0 or `no`.",
        ("success", "ok", "succeeded", "successful", "issuccess"),
        replaceable=False,
    ),
    WordList(
        "error_keys",
        "Keys of a result that are a failure where they are set to something.",
        ("error", "errors", "errorcode", "errormessage", "exception"),
        replaceable=False,
    ),
    WordList(
        "no_error",
        "What an error key holds where there was no error.",
        ("", "none", "null", "no", "no error", "nil", "false", "0", "n/a", "ok", "success"),
        replaceable=False,
    ),
    WordList(
        "failure_marks",
        "Keys that are a failure where they are true.",
        ("iserror", "failed"),
        replaceable=False,
    ),
    WordList(
        "failure_counts",
        "Keys that count what failed: over 0, or a list with entries, is a failure.",
        ("failed", "failures", "failedcount", "failurecount", "numfailed"),
        replaceable=False,
    ),
    WordList(
        "exit_codes",
        "Keys of exit codes, and of gRPC: anything but 0 is a failure.",
        ("exitcode", "exitstatus", "returncode", "grpcstatus"),
        replaceable=False,
    ),
    WordList(
        "status_keys",
        "Keys of a status in words, or of HTTP in numbers.",
        ("status", "state"),
        replaceable=False,
    ),
    WordList(
        "status_codes",
        "Keys of a status of HTTP: 400 or more is a failure.",
        ("statuscode", "httpstatus"),
        replaceable=False,
    ),
    WordList(
        "failed_status",
        "Words of a `status` or `state` that are a failure.",
        (
            "aborted",
            "bad request",
            "crashed",
            "declined",
            "denied",
            "error",
            "errored",
            "exception",
            "fail",
            "failed",
            "failure",
            "fatal",
            "forbidden",
            "internal error",
            "internal server error",
            "nok",
            "not found",
            "not ok",
            "refused",
            "rejected",
            "timed out",
            "timeout",
            "unauthorized",
            "unsuccessful",
        ),
        replaceable=False,
    ),
    WordList(
        "grpc_status",
        "A `status` or `state` in the capitals of gRPC that is a failure.",
        (
            "CANCELLED",
            "UNKNOWN",
            "INVALID_ARGUMENT",
            "DEADLINE_EXCEEDED",
            "NOT_FOUND",
            "ALREADY_EXISTS",
            "PERMISSION_DENIED",
            "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION",
            "ABORTED",
            "OUT_OF_RANGE",
            "UNIMPLEMENTED",
            "INTERNAL",
            "UNAVAILABLE",
            "DATA_LOSS",
            "UNAUTHENTICATED",
        ),
        replaceable=False,
    ),
    WordList(
        "envelopes",
        "Keys that the result itself may be in: signs of failure count there as well.",
        ("body", "data", "result", "response", "content", "output", "structuredcontent"),
        replaceable=False,
    ),
    WordList(
        "notice_keys",
        "An entry of a list with no other keys than these, and a failed status, is a failure and not a record.",
        ("status", "state", "code", "message", "reason", "detail", "details", "title", "type"),
        replaceable=False,
    ),
    WordList(
        "lost_answer",
        "An error of a call that may have had its effect all the same: only its answer was lost.",
        lines("""
            (timed out|time out|time-out|timeout|timeouterror|readtimeout)
            deadline exceeded
            deadline_exceeded
            (answer|response|reply|result) (was |is |)(lost|dropped)
            no (answer|response|reply)
            (connection|stream|socket) (was |)(reset|aborted|closed|dropped|lost|terminated)
            (broken pipe|server disconnected|gateway timeout)
        """),
        replaceable=False,
    ),
    WordList(
        "request_keys",
        "Arguments that mark a call as one request, and are not part of what it asks for.",
        words(
            "clientreference clienttoken clientrequestid correlationid dedupkey idempotencykey idempotencytoken nonce "
            "requestid requestkey"
        ),
        replaceable=False,
    ),
    WordList(
        "framework_helpers",
        "Calls by which frameworks hand over the answer: not tools of the agent, not tool calls.",
        (
            "final_answer",
            "final_result",
            "final_result_*",
            "finish",
            "structured_output",
            "StructuredOutput",
            "submit_final_answer",
        ),
        replaceable=False,
    ),
    WordList(
        "own_ends",
        "Finish reasons of a model that came to its end by itself.",
        (
            "stop",
            "endturn",
            "toolcalls",
            "tooluse",
            "functioncall",
            "functioncalls",
            "stopsequence",
            "completed",
            "eos",
            "complete",
        ),
        replaceable=False,
    ),
    WordList(
        "errors_in_other_languages",
        "Words for `error` before a colon that the text of a result may open with.",
        words("błąd erreur erro errore fehler fel fout ошибка エラー 錯誤 错误 오류"),
        replaceable=False,
    ),
    WordList(
        "failure_kinds",
        "Words that may come before `error`, `exception` or `failure` where the text of a result opens with it.",
        words(
            "a an api application connection critical database execution fatal http internal network request runtime "
            "server system the timeout tool unexpected unknown validation"
        ),
        replaceable=False,
    ),
    WordList(
        "failure_openings",
        "What the text of a result opens with where the call failed.",
        lines("""
            (could not|couldn't|unable to|failed to)
            (i|we|it|tool) (could not|couldn't|failed to)
            (i|we|it|tool) (was|were|am|are|have|has) (unable to|failed to)
            failed (to|because|due|with|after|in|on)
            traceback
            something went wrong
            oops
            there (was|were|has been) (a|an|some) (error|exception|failure|problem)
            (access|permission) (was |is |)denied
            (unauthorized|unauthorised|forbidden|bad request|internal server error)
            timed out
            (the |)(call|connection|operation|request|tool) timed out
            (invalid|missing) (api key|argument|arguments|credential|credentials|date|field|fields|input|parameter|
                parameters|request|token|value|values)
            not (allowed|authorised|authorized|permitted)
            unknown tool
            unsupported operation
        """),
        replaceable=False,
    ),
    WordList(
        "refusal_openings",
        "What the text of a result opens with where the tool refused, or found nothing to work on.",
        lines("""
            (cannot|can't)
            not found
            (aborted|declined|denied|refused|rejected|sorry)
        """),
        replaceable=False,
    ),
    WordList(
        "reading_tools",
        "How names of tools begin that change nothing: `karat lint` proposes `effects` for the others.",
        words(
            "calculate check compute count describe detect fetch find get inspect list load look lookup peek "
            "query read retrieve search show status think track view"
        ),
        replaceable=False,
    ),
    WordList(
        "cut_off",
        "Why a model stopped, where it did not come to its end by itself.",
        words("content_filter length max_output_tokens max_tokens recursion_limit max_steps max_turns"),
        replaceable=False,
    ),
)
