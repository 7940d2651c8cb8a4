"""The names of what holds a secret: variables of the environment, headers, parameters of a request."""

from __future__ import annotations

import re
from collections.abc import Mapping

SHORTEST_SECRET = 8
"""A shorter value of a variable that is not configured may be a word."""
_VARIABLE = re.compile("(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_HEADERS = ("auth", "cookie", "key", "token", "secret", "password", "credential", "signature", "jwt", "assertion")
_PARAMETERS = frozenset(
    {
        *("key", "apikey", "token", "accesstoken", "refreshtoken", "idtoken", "authtoken", "subscriptionkey"),
        *("clientsecret", "secret", "password", "passwd", "pwd", "sig", "signature", "auth", "authorization"),
        *(
            "credential",
            "codeverifier",
            "devicecode",
            "accesskey",
            "accesskeyid",
            "awsaccesskeyid",
            "jwt",
            "assertion",
            "clientassertion",
            "sessionid",
        ),
        *("sessiontoken", "amzsignature", "amzcredential", "amzsecuritytoken", "googsignature", "googcredential"),
    }
)
_FIELDS = frozenset(
    {
        *("clientsecret", "accesstoken", "refreshtoken", "idtoken", "authtoken", "sessiontoken", "password", "passwd"),
        *("assertion", "clientassertion", "codeverifier", "devicecode", "apikey", "jwt"),
    }
)

NAMED: set[str] = set()
"""Variables that a configuration names, of all projects of this process."""


def is_secret_variable(name: str) -> bool:
    """Whether a variable of this name holds a secret, by its name or by a configuration."""
    return _VARIABLE.search(name) is not None or name in NAMED


def secrets_of_environ(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables that are secrets."""
    return tuple(v for name, v in environ.items() if is_secret_variable(name) and len(v) >= SHORTEST_SECRET)


def is_secret_header(name: str) -> bool:
    """Whether a header of this name lets somebody in."""
    return any(word in name.lower() for word in _HEADERS)


def is_secret_parameter(name: str) -> bool:
    """Whether a parameter of this name says who asks, and not what is asked."""
    plain = _plain(name)
    return any(plain.removeprefix(prefix) in _PARAMETERS for prefix in ("", "x", "api", "oauth"))


def is_secret_field(name: str) -> bool:
    """Whether a field of this name in a body of JSON holds what lets somebody in, if it is one word."""
    return _plain(name) in _FIELDS


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(".", "")
