"""Words in the results and names of tools. No suite replaces them: they are read when no suite is known."""

from __future__ import annotations

from karat.text.words.word_list import WordList, lines, words

RESULTS = (
    WordList(
        "failed_status",
        "A `status` or `state` of a tool's result that is a failure.",
        lines("""
            aborted; bad request; crashed; declined; denied; error; errored; exception; fail; failed; failure; fatal;
            forbidden; internal error; internal server error; invalid; ko; nok; not found; not ok; refused; rejected;
            timed out; timeout; unauthorized; unsuccessful
        """),
        replaceable=False,
    ),
    WordList(
        "doubtful_status",
        "A `status` or `state` that may be a failure: the call is neither a success nor a failure.",
        words("blocked conflict partial unavailable"),
        replaceable=False,
    ),
    WordList(
        "good_status",
        "A `status` or `state` that is a success.",
        words("completed done ok okay passed succeeded success successful"),
        replaceable=False,
    ),
    WordList(
        "failure_kinds",
        "Words that may stand before `error`, `exception` or `failure` where the text of a result opens with it.",
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
        "doubtful_openings",
        "What the text of a result opens with where the call may have failed.",
        lines("""
            (cannot|can't)
            not found
            nothing (was|has)
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
