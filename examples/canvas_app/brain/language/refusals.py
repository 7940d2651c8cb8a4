"""What the assistant will not or cannot do, said without a tool."""

import re

from canvas_app.brain.language.lexicon import strangers_in
from canvas_app.brain.language.steps import Say, Step, Surroundings
from canvas_app.brain.language.text import either, without_courtesy
from canvas_app.wording import listed

CAN_DO = (
    "I can add, filter, rename, move and remove components, create and switch spaces, apply templates, set rules, "
    "write the Morning Brief and answer questions across GitHub, Slack, PostHog and Vercel."
)
_ACT = re.compile(
    either(r"""
        send|e-?mail|mail|post|reply|respond|message|dm|text|phone|ring|tell (?!me\b|us\b)\w+|invite|comment|tweet
        merge|deploy|redeploy|roll ?back|ship|release|approve|reopen|assign|push|revert|restart|reboot|publish|trigger
        book|schedule|order|buy|pay|hire|fire|install|upgrade|upload|download|export|run|execute|start a build
        cancel the|call (?!it\b|the\b|this\b|that\b|my\b)\w+
    """)
    + r"\b",
    re.I,
)
_DESTROY = re.compile(
    r"(?:delete|remove|drop|wipe|erase|close|kill|destroy|archive|clear|reset|truncate)\b.*\b"
    + either(r"""
        repo(?:sitory)?|repositories|branch(?:es)?|database|table|account|user|project|channel|message|history
        (?:pull request|pr|issue) #?\d+|deployment #?\w*\d+|production|production data|server
    """)
    + r"\b",
    re.I,
)
_INJECTION = re.compile(
    r"\bignore (?:all |any |the |your )*(?:previous|prior|earlier|above) (?:instructions?|rules?)\b", re.I
)
_SECRET = re.compile(
    r"\b(?:api[- ]?keys?|passwords?|secrets?|access tokens?|credentials?|system prompt|your instructions)\b", re.I
)
_INTEGRATION_SWITCH = re.compile(
    r"^(?:(?:switch|turn) (?:off|on)|disconnect|connect|disable|enable|reconnect)\b.*\b(?:git ?hub|slack|"
    r"post ?hog|vercel|integrations?)\b"
    r"|^(?:switch|turn) (?:git ?hub|slack|post ?hog|vercel) (?:off|on)\b",
    re.I,
)
_DROP_RULE = re.compile(r"^(?:remove|delete|forget|drop|cancel|clear)\b.*\b(?:rules?|preferences?)\b", re.I)
_DROP_SPACE = re.compile(
    r"^(?:remove|delete|drop|close|get rid of|rename)\b.*\b(?:space|workspace)\b(?! ?(?:component|card|widget))", re.I
)
_OFF_TOPIC = re.compile(
    r"\b(?:joke|poem|weather|recipe|song|story|capital of|translate|horoscope|lottery|stock price|football|"
    r"who won|write (?:me )?(?:some )?code|essay)\b",
    re.I,
)


def is_injection(text: str) -> bool:
    """A message that tells the assistant to forget what it is: nothing in it is carried out."""
    return _INJECTION.search(text) is not None


def read_refusal(clause: str, around: Surroundings) -> list[Step]:
    plain = without_courtesy(clause)
    if _SECRET.search(plain):
        return [Say(f"I hold no keys or secrets that I could show, and I would not show them. {CAN_DO}")]
    if _INTEGRATION_SWITCH.match(plain):
        return [
            Say("I cannot switch integrations from the chat. You can do it under Integrations, left of the canvas.")
        ]
    if _DROP_RULE.match(plain):
        return [Say("I cannot drop a rule from the chat. You can do it under Rules, left of the canvas.")]
    if _DESTROY.match(plain):
        return [Say(f"I cannot delete or close anything in your tools: I only read them. {CAN_DO}")]
    if _DROP_SPACE.match(plain):
        return [Say(f"I cannot delete or rename a space. {CAN_DO}")]
    if _ACT.match(plain):
        return [Say(f"I cannot do that: I read GitHub, Slack, PostHog and Vercel, but do not act in them. {CAN_DO}")]
    if _OFF_TOPIC.search(plain):
        return [Say(f"That is outside what I can do. {CAN_DO}")]
    return []


def read_stranger(clause: str, around: Surroundings) -> list[Step]:
    strangers = strangers_in(clause)
    if not strangers:
        return []
    names = listed(strangers)
    verb = "is" if len(strangers) == 1 else "are"
    return [Say(f"{names} {verb} not available here. I can use GitHub, Slack, PostHog and Vercel.")]
