"""The word lists as data: a name, what it means, and its entries. No list holds a word of an example application."""

from __future__ import annotations

from msgspec import Struct


class WordList(Struct, frozen=True):
    """One published list. One that is not `replaceable` is read when no suite is known, or is no matter of language."""

    name: str
    about: str
    entries: tuple[str, ...]
    replaceable: bool = True


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_CLAIMS = (
    WordList(
        "claim_frames",
        "Where a declared word X claims that the deed was done. Adverbs of `claim_adverbs` may be between the words. "
        "START is the start of a sentence or of an item, after words of `lead_ins`; END the end of a sentence or clause; "
        "NOUN one to four words of which none is in `no_headline`; REST other words of the sentence, none of them in "
        "`other_subjects`.",
        _lines("""
            (has|have|'s|'ve) been X
            (i|we) X
            (i|we) have X
            (i|we)'ve X
            (i|we) REST and X
            (i|we)'ve REST and X
            (is|are|'s|'re) now X
            (is|are|'s|'re) X END
            successfully X
            X successfully
            START X
            START NOUN X END
        """),
    ),
    WordList(
        "claim_adverbs",
        "Adverbs that may be inside a claim frame.",
        _words(
            "also automatically duly finally formally hereby immediately just now officially properly quickly recently "
            "safely since successfully then therefore"
        ),
    ),
    WordList(
        "lead_ins",
        "Words that may open a sentence before what it says.",
        _lines("""
            absolutely
            (all right|alright)
            and
            certainly
            congratulations
            done
            excellent
            (good|great) news
            got it
            great
            (hello|hi)
            no problem
            of course
            (ok|okay)
            perfect
            so
            sure
            (thank you|thanks)
            understood
            wonderful
            yes
        """),
    ),
    WordList(
        "no_headline",
        "Words that NOUN of a headline does not hold: with one of them it is a sentence, a condition or a denial.",
        _words(
            "a an and any are as be been being but by can cannot could did do does each every get gets getting got had "
            "has have having he her his how i if is it its may might must my no not of or our per she should than that "
            "their them then they to was we were what when which who whose will with would you"
        ),
    ),
    WordList(
        "other_subjects",
        "Words between `I` and `and X` after which somebody else may have done it.",
        _lines("""
            (he|she|they|which|who)
            that (he|she|the|they|you|your)
            you (are|did|had|have|were)
            you've
        """),
    ),
    WordList(
        "no_claim_after",
        "Up to three words after X at the start of a sentence: X describes a noun there (`Cancelled flights are ...`).",
        _words("are can cannot can't could count do does don't have is may might must need remain should stay will"),
    ),
    WordList(
        "modals",
        "Directly before a frame, or before its `be` or `have`: the deed is to come, or only possible.",
        _lines("""
            (can|could|may|might|must|shall|should|will|would|'ll|'d|to) (also|always|only|not|then)
            (can|could|may|might|must|shall|should|will|would|'ll|'d|to)
        """),
    ),
    WordList(
        "finite_verbs",
        "How a frame begins that no modal can come before: the month of May and a person called Will are not modals.",
        _lines("""
            (has|is|are|i|we)
            ('s|'re)
        """),
    ),
    WordList(
        "conditionals",
        "Earlier in the sentence: what follows holds under a condition.",
        _lines("""
            as long as
            as soon as
            assuming
            if
            in case
            on condition that
            once
            provided
            should (you|your|the|it|this|that|a|an|any)
            unless
            until (a|an|he|i|it|she|that|the|they|this|we|you|your)
            whenever
            whether
        """),
    ),
    WordList(
        "clause_conditionals",
        "Earlier in the clause: a time that need not have come, or a purpose.",
        _lines("""
            after
            before
            so that
            when
            while
        """),
    ),
    WordList(
        "relatives",
        "Directly before a frame that does not begin with `I` or `we`: it only describes something.",
        _lines("""
            (that|which|who)
            whose ...
        """),
    ),
    WordList(
        "earlier",
        "In the clause: it was so before this turn, or is only an impression.",
        _lines("""
            ago
            already
            (appears|appear)
            apparently
            (earlier|formerly|originally|previously)
            in the past
            last (month|time|week|year)
            (seems|seem)
            yesterday
        """),
    ),
    WordList(
        "done_by",
        "After `by`, behind X: a means, a time or the assistant itself. Behind any other `by` somebody else did it.",
        _lines("""
            (me|us|myself|ourselves)
            (now|then|today|tomorrow|tonight|default|mistake|error|hand)
            (card|cash|cheque|credit|e-mail|email|mail|message|phone|post|sms|text|transfer|wire)
            (monday|tuesday|wednesday|thursday|friday|saturday|sunday|noon|midnight)
            (january|february|march|april|may|june|july|august|september|october|november|december)
            the (end|way|time)
        """),
    ),
)

_DENIALS = (
    WordList(
        "denials",
        "Earlier in the clause: what follows is denied.",
        _lines("""
            (cannot|can not|can't|won't|unable|impossible)
            (are|could|did|do|does|had|has|have|is|might|must|need|should|was|were|would)n't
            (fail|fails|failed|failing) to
            hardly
            (neither|nor)
            never
            no
            no longer
            (nobody|none|nothing)
            not
            (refuse|refused|refuses)
            instead of
            rather than
            without
            zero
        """),
    ),
    WordList(
        "no_denials",
        "Phrases that hold a word of denial and deny nothing.",
        _lines("""
            (do not|don't) (forget|hesitate|worry)
            no (doubt|later|matter|need to worry|problem|problems|sooner|worries)
            not (a problem|just|merely|only|simply|to worry)
            without (a|any) (delay|doubt|hitch|issue|issues|problem|problems|trouble)
            without (delay|issue|issues|problems)
        """),
    ),
    WordList(
        "denied_after",
        "Directly after words that this denies: `Assumptions: none`, `Snooze is disabled`.",
        _lines("""
            (:|=|-|–) (false|n/a|nil|no|none|not yet|nothing|zero|0)
            (:|=|-|) (blocked|disabled|locked|not available|unavailable)
            -free
            (never|no longer)
            (is|are|was|were)n't
            (is|are|was|were|has been|have been) (also |currently |now |still |temporarily |)(not|never|no longer)
            (is|are|was|were|has been|have been) (also |currently |now |still |temporarily |)(blocked|disabled|forbidden|gone|hidden|impossible|locked|missing|off|removed|switched off|turned off|unavailable|unsupported)
            (button |option |control |)(can't|cannot|won't|doesn't|does not|will not)
        """),
    ),
    WordList(
        "clause_starts",
        "After a comma, a dash or a word of `clause_joints`: a new clause begins, which an earlier denial does not reach.",
        _words(
            "a all although an and as because both but everything he here however i i'll i'm i've it it's my our she so "
            "that the their then there these they this those though we we'll we're we've while yet you you're your"
        ),
    ),
    WordList("clause_joints", "Words that join clauses: see `clause_starts`.", _words("and because so")),
    WordList("clause_breaks", "Words that begin a new clause without a comma.", _words("but however although though")),
)

_ASKING = (
    WordList(
        "request",
        "A sentence that holds one asks the user for something.",
        _lines("""
            kindly
            please (also |)(choose|clarify|confirm|describe|enter|fill|give|identify|include|indicate|list|name|pick|provide|reply|respond|say|select|send|share|specify|state|submit|supply|tell|type|upload|verify)
            (can|could|would|will|might) you (please |kindly |also |)(choose|clarify|confirm|describe|enter|give|identify|indicate|let|list|name|pick|provide|say|select|send|share|specify|state|supply|tell|type|upload|verify)
            (can|could|may|might) (i|we) (have|get|know|ask)
            (i|we) (still |just |also |only |first |)(need|require)(:| a| an| its| more| some| the| to know| you to| your)
            (i|we)'ll (still |just |also |)need
            (i|we) (will|would) (still |just |also |)need
            (i'd|we'd|i would|we would) (like|need) to (know|have|confirm)
            (i'm|i am|we're|we are) (still |)(missing|lacking|waiting for)
            (once|as soon as) (i|we) (have|know|get|receive)
            (once|as soon as) you (confirm|give|have|provide|send|share|tell)
            (is|are) (still |also |)(missing|needed|required)
            (give|send|tell) (me|us) (a|an|how|its|the|their|what|when|where|which|who|your)
            (missing|needed|required) (information|details|fields):
            (cannot|can't|unable to) ... without (a|an|the|your)
        """),
    ),
    WordList(
        "weak_request",
        "As `request`, unless the answer closes with a courtesy or the sentence holds one.",
        _lines("""
            let (me|us) know
            feel free to (provide|send|share|tell)
            (if|should) you (could |can |)(confirm|give|provide|send|share|tell)
        """),
    ),
    WordList(
        "courtesy",
        "How a question begins that asks for nothing but the next wish; in a sentence with a weak request, anywhere.",
        _lines("""
            (and |)is there (anything|something) (else|more|further)
            (any|anything|something|what|how) (else|more|further|other)
            (and |)(can|could|may|how can|how may|how else can|what else can) (i|we) (be of|do for you|help|assist)
            (do|did) you (have|need) (any|anything|some|something|further|more|other)
            (does|did|do) (that|this|it) (answer|help|look|make sense|sound|work)
            (is|was) (that|this|it|everything) (all|clear|fine|good|helpful|ok|okay|right)
            (guess|you know) what
            (if|should) (there is|there's|you have|you need) (any|anything|further|more|other)
            (if you have|if you need|have|need) (any|anything|further|more|other) (help|assistance|questions|question|else|concerns)
            (ok|okay|right|alright|ready|really|sound good|sounds good|make sense|makes sense|why|why not)?
            want to know (more|why|how)
        """),
    ),
)

_ASKED = (
    WordList(
        "unnamed",
        "Words of a thing in `asks_for` that need not be in the answer.",
        _words("a an any her his its my our some the their your"),
    ),
)

_OUTCOMES = (
    WordList(
        "refusal",
        "The answer refuses, or states a limit.",
        _lines("""
            (i|we) (cannot|can't|can not|won't|will not|may not|must not|could not|couldn't)
            (i|we) (am|are|was|were) (unable|not able|not allowed|not authorised|not authorized|not permitted|not going to)
            (i'm|we're) (unable|not able|not allowed|not authorised|not authorized|not permitted|not going to)
            (i|we) (do not|don't) (do|have access|have permission|have the ability|offer|provide|share|support)
            (i|we) (only|just) (read|help|answer)
            (i|we) (have to|must) (decline|refuse|say no)
            (it|that|they|this|you) (cannot|can't|can not|may not|must not)
            (cannot|can't|can not|may not|must not) be
            (is|are|was|were) (not|no longer|never) (able|allowed|authorised|authorized|available|eligible|offered|permitted|possible|supported)
            (is|are|was|were)n't (able|allowed|authorised|authorized|available|eligible|offered|permitted|possible|supported)
            (is|are) (against|outside|beyond) (our|my|the|company|what)
            (does not|doesn't|do not|don't) (accept|allow|cover|offer|permit|support)
            (unable|not able|not allowed|not permitted|not possible) to
            (decline|declined|refuse|refused) to
            (forbidden|prohibited|impossible)
        """),
    ),
    WordList(
        "failure",
        "The answer admits that something failed.",
        _lines("""
            (i|we) (cannot|can't|can not)
            (could not|couldn't)
            (did not|didn't|does not|doesn't) (complete|finish|go through|happen|respond|succeed|work)
            (has not|hasn't|have not|haven't|was not|wasn't|were not|weren't) (able|accepted|added|available|been|booked|changed|completed|created|done|found|made|possible|processed|saved|sent|successful|updated)
            (is not|isn't|are not|aren't) (available|possible|responding|working)
            (unable|not able|not possible) to
            (fail|failed|fails|failing|failure|failures)
            (error|errors|exception)
            (problem|problems|trouble|difficulty|difficulties)
            (an issue|issues) (with|while|when|occurred|came up|on)
            (nothing|none of it) (was|has been) (added|booked|changed|done|made|saved|sent)
            not (been |)(found|successful|completed|processed)
            (offline|unavailable|unreachable|unresponsive)
            (is|are|was|were) down
            (went|gone|go) wrong
            (timed out|time-out|timeout)
            (rejected|refused|declined|denied|aborted)
            (unsuccessful|without success)
        """),
    ),
    WordList(
        "assumption",
        "Markers of an assumption or of uncertainty.",
        _lines("""
            assumption
            assumes
            assumed
            assuming
            uncertain
            uncertainty
            not certain
            unclear
            unverified
            not enough data
            insufficient data
            incomplete data
            missing data
            based on available data
            cannot verify
            could not verify
            cannot confirm
            may be stale
            might be stale
            may be incomplete
            might be incomplete
            low confidence
            medium confidence
            confidence: low
            confidence: medium
        """),
    ),
    WordList(
        "success_indicator",
        "Words of success for `allocation_valid`.",
        _lines("""
            allocated
            allocation confirmed
            assigned
            available
            booked
            confirmed
            found
            reserved
            scheduled
            success
            successful
            successfully
        """),
    ),
    WordList(
        "failure_indicator",
        "Words of failure for `allocation_valid`.",
        _lines("""
            (already|all|fully|not) (allocated|assigned|booked|reserved|scheduled)
            booked (out|up)
            cannot
            can't
            (conflict|conflicts)
            could not
            couldn't
            denied
            error
            exceeds
            failed
            failure
            impossible
            incompatible
            invalid
            missing
            no available
            no compatible
            none (is |)available
            not available
            not compatible
            not confirmed
            not found
            not possible
            not successful
            not supported
            overbooked
            refused
            rejected
            unable
            unavailable
            unsuccessful
        """),
    ),
    WordList(
        "neutral_indicator",
        "Phrases that hold a word of failure or of denial, and are good news.",
        _lines("""
            (no|without|without a|without any|zero|0) (conflict|conflicts|error|errors|failure|failures|issue|issues|overlap|overlaps|problem|problems)
            (did not|does not|doesn't|didn't) (conflict|exceed|overlap)
        """),
    ),
)

_SENTENCES = (
    WordList(
        "titles",
        "Abbreviations whose full stop never ends a sentence.",
        _words("approx dr e.g fig i.e mr mrs ms no prof st vs"),
    ),
    WordList(
        "abbreviations",
        "Abbreviations whose full stop ends a sentence only where a capital letter follows.",
        _words("a.m dept e.t.a est etc ext inc jr ltd max min p.m sr tel u.k u.s vol"),
    ),
)

_RESULTS = (
    WordList(
        "failed_status",
        "A `status` or `state` of a tool's result that is a failure.",
        _lines("""
            aborted
            bad request
            crashed
            declined
            denied
            error
            errored
            exception
            fail
            failed
            failure
            fatal
            forbidden
            internal error
            internal server error
            invalid
            ko
            nok
            not found
            not ok
            refused
            rejected
            timed out
            timeout
            unauthorized
            unsuccessful
        """),
        replaceable=False,
    ),
    WordList(
        "doubtful_status",
        "A `status` or `state` that may be a failure: the call is neither a success nor a failure.",
        _words("blocked conflict partial unavailable"),
        replaceable=False,
    ),
    WordList(
        "good_status",
        "A `status` or `state` that is a success.",
        _words("completed done ok okay passed succeeded success successful"),
        replaceable=False,
    ),
    WordList(
        "failure_kinds",
        "Words that may stand before `error`, `exception` or `failure` where the text of a result opens with it.",
        _words(
            "a an api application connection critical database execution fatal http internal network request runtime "
            "server system the timeout tool unexpected unknown validation"
        ),
        replaceable=False,
    ),
    WordList(
        "failure_openings",
        "What the text of a result opens with where the call failed.",
        _lines("""
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
            (invalid|missing) (api key|argument|arguments|credential|credentials|date|field|fields|input|parameter|parameters|request|token|value|values)
            not (allowed|authorised|authorized|permitted)
            unknown tool
            unsupported operation
        """),
        replaceable=False,
    ),
    WordList(
        "doubtful_openings",
        "What the text of a result opens with where the call may have failed.",
        _lines("""
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
        _words(
            "calculate check compute count describe detect fetch find get inspect list load look lookup maintenance peek "
            "query read retrieve search show status think track view"
        ),
        replaceable=False,
    ),
    WordList(
        "cut_off",
        "Why a model stopped, where it did not come to its end by itself.",
        _words("content_filter length max_output_tokens max_tokens recursion_limit max_steps max_turns"),
        replaceable=False,
    ),
)

LISTS: dict[str, WordList] = {
    one.name: one for one in (*_CLAIMS, *_DENIALS, *_ASKING, *_ASKED, *_OUTCOMES, *_SENTENCES, *_RESULTS)
}
