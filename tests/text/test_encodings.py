"""A secret is found however it is written: escaped, encoded, wrapped into lines, one inside the other."""

from __future__ import annotations

import html
import json
import quopri
import unicodedata
from base64 import b32encode, b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from time import process_time
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from carob.model.trace import REMOVED, TEXT_CAP, Trace, TraceError
from carob.redaction.redactor import Redactor
from carob.text.encodings import SecretSearch


def utf8(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def wrapped(text: str, width: int = 8) -> str:
    return "\r\n ".join(text[at : at + width] for at in range(0, len(text), width))


Writing = Callable[[str], str]
ESCAPES: dict[str, Writing] = {
    "as it is": str,
    "json": lambda s: json.dumps(s)[1:-1],
    "json, all of it": lambda s: "".join(f"\\u{s16:04x}" for s16 in memoryview(s.encode("utf-16-le")).cast("H")),
    "json in capitals": lambda s: "".join(f"\\u{s16:04X}" for s16 in memoryview(s.encode("utf-16-le")).cast("H")),
    "javascript": lambda s: "".join(f"\\u{{{ord(c):x}}}" for c in s),
    "python text": lambda s: repr(s)[1:-1],
    "python ascii": lambda s: ascii(s)[1:-1],
    "python bytes": lambda s: repr(utf8(s))[2:-1],
    "python bytes, all of it": lambda s: "".join(f"\\x{byte:02x}" for byte in utf8(s)),
    "octal": lambda s: "".join(f"\\{byte:03o}" for byte in utf8(s)),
    "url": lambda s: quote(s, safe=""),
    "form": quote_plus,
    "url, all of it": lambda s: "".join(f"%{byte:02X}" for byte in utf8(s)),
    "html": html.escape,
    "html decimal": lambda s: "".join(f"&#{ord(c)};" for c in s),
    "html hexadecimal": lambda s: "".join(f"&#x{ord(c):X};" for c in s),
    "quoted-printable": lambda s: quopri.encodestring(utf8(s)).decode(),
}
ENCODINGS: dict[str, Callable[[bytes], str]] = {
    "base64": lambda b: b64encode(b).decode(),
    "base64 for urls": lambda b: urlsafe_b64encode(b).decode(),
    "base64 in lines": lambda b: encodebytes(b).decode(),
    "base64 in short lines": lambda b: wrapped(b64encode(b).decode()),
    "base32": lambda b: b32encode(b).decode(),
    "base32 in small letters": lambda b: wrapped(b32encode(b).decode().lower()),
    "hex": bytes.hex,
    "hex in capitals": lambda b: b.hex().upper(),
    "hex with colons": lambda b: b.hex(":"),
    "a dump": lambda b: wrapped(b.hex(" "), 48),
    "utf-16": lambda b: repr(b.decode().encode("utf-16-le"))[2:-1],
}
IN_OTHERS: dict[str, Callable[[str], str]] = {
    "a list of bytes": lambda s: str(list(utf8(s))),
    "a list in hex": lambda s: ", ".join(f"0x{byte:02x}" for byte in utf8(s)),
    "base64 twice": lambda s: b64encode(b64encode(utf8(s))).decode(),
    "base64 of json": lambda s: b64encode(json.dumps(s)[1:-1].encode()).decode(),
    "base64 of utf-16": lambda s: b64encode(s.encode("utf-16-le")).decode(),
}
SECRET = "k4r/at+pä\"ssw\\ö%rd <&>7'="
LINES = "-----BEGIN KEY-----\nMIIEow+IBAAKC\nAbCdEf/12345=\n-----END KEY-----"


def hidden(secret: str, text: str) -> str:
    """The text as it is kept; it is found in a record of it, and what stays shows that the rest was not touched."""
    redactor = Redactor([secret])
    assert redactor.finds(msgspec.json.encode(Trace(case_id="a", final_message=text)))
    return redactor.text(text)


@pytest.mark.parametrize("secret", [SECRET, LINES, "hush-1234", "日本語のかぎ", "🔑🔑🔑🔑"])
@pytest.mark.parametrize("inner", ESCAPES)
def test_escaped_twice(secret: str, inner: str) -> None:
    for name, outer in ESCAPES.items():
        text = outer(ESCAPES[inner](secret))
        assert hidden(secret, f"before {text} after") == f"before {REMOVED} after", name


@pytest.mark.parametrize("secret", [SECRET.replace("\\", ""), LINES, "hush-1234"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encoded_and_escaped(secret: str, encoding: str) -> None:
    for name, escape in ESCAPES.items():
        if name == "form" and " " in ENCODINGS[encoding](b"0" * 99):
            continue  # a + between lines is one of Base64
        for before in range(5 if encoding != "utf-16" else 1):
            text = escape(ENCODINGS[encoding](utf8(f"{'u' * before}{secret}xyz")))
            kept = hidden(secret, f"before {text} after")
            assert REMOVED in kept, name
            assert kept.startswith("before "), name
            assert kept.endswith(" after"), name
            left = len(kept.replace(REMOVED, "")) - len("before  after")
            share = len(utf8(secret)) / (before + len(utf8(secret)) + len("xyz"))
            assert left <= len(text) * (1 - 0.5 * share), (name, kept)


@pytest.mark.parametrize("encoding", IN_OTHERS)
def test_encoded_in_another_encoding(encoding: str) -> None:
    for secret in (SECRET, "hush-1234"):
        for before in ("",) if encoding == "base64 twice" else ("", "u", "uu"):
            written = IN_OTHERS[encoding](f"{before}{secret}")
            for text in (written, json.dumps(written)[1:-1], quote(written, safe="")):
                kept = hidden(secret, f"before {text} after")
                assert REMOVED in kept
                assert len(kept) <= len(f"before {text[: len(text) // 2]} after") + len(REMOVED), kept


@pytest.mark.parametrize(
    "written",
    [
        unicodedata.normalize("NFD", SECRET),
        SECRET.encode().decode("latin-1"),
        SECRET.encode().decode("cp1252"),
        wrapped(SECRET.replace(" ", ""), 9),
        "".join(f"%u{unit:04x}" for unit in memoryview(SECRET.encode("utf-16-le")).cast("H")),
    ],
)
def test_in_other_letters_and_lines(written: str) -> None:
    assert hidden(SECRET, f"before {written} after") == f"before {REMOVED} after"
    assert hidden("a-key-of-many-letters-1", "before a-key-of-\n  many-letters-1 after") == f"before {REMOVED} after"
    assert hidden("🔑🔑🔑🔑", "before " + "%ud83d%udd11" * 4 + " after") == f"before {REMOVED} after"
    assert Redactor(["a-short-key-1"]).text("a-short\n-key-1") == "a-short\n-key-1", "this may be anything"


letters = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=4, max_size=30)


@given(letters, st.sampled_from([*ESCAPES]), st.sampled_from([*ESCAPES]), st.sampled_from(["", *ENCODINGS][:-1]))
@example("%41%41", "json", "url", "")
@example("a\\nb\\u0041", "json", "url", "")
@example("&amp;&lt;", "html", "json", "base64")
def test_any_secret_in_any_writing(secret: str, inner: str, outer: str, encoding: str) -> None:
    assume(secret not in REMOVED and secret.strip() == secret)
    middle = ENCODINGS[encoding](utf8(secret)) if encoding else secret
    assume(len(middle) > 8)
    assume(not encoding or " " not in middle or "form" not in (inner, outer))  # a + between lines is one of Base64
    text = ESCAPES[outer](ESCAPES[inner](middle))
    kept = hidden(secret, f"before ({text}) after")
    assert REMOVED in kept
    assert text not in kept


@pytest.mark.parametrize(
    "text", ["let me in", "plain text about 100 % of a & b", "a=b, c=\\n", "C:\\new\\table", "?q=%20a&amp;b=%2B"]
)
def test_other_texts_stay(text: str) -> None:
    assert Redactor(["letmein-0815", "topsecret"]).text(text) == text


def test_what_is_next_to_a_secret_stays() -> None:
    text = "\\u0061\\u0062" + ESCAPES["json, all of it"]("hush-1234") + "\\u0063"
    assert Redactor(["hush-1234"]).text(text) == f"\\u0061\\u0062{REMOVED}\\u0063"
    assert Redactor(["hush-1234"]).text("%61%62%68%75sh-1234%63") == f"%61%62{REMOVED}%63"


@pytest.mark.parametrize("name", [name for name in ESCAPES if name != "quoted-printable"])
@pytest.mark.parametrize("secret", ["hush-1234-hush", SECRET])
def test_half_of_a_secret_before_a_cut_goes_too(secret: str, name: str) -> None:
    """Wherever a text is cut off, also within an escape: fewer than four letters of the secret are left."""
    redactor, text = Redactor([secret]), ESCAPES[name](secret)
    head = "begin "
    least = len(head) + len(ESCAPES[name](secret[:4])) + 9
    for at in range(least, len(head) + len(text)):
        for kept in (
            redactor.text(f"{(head + text)[:at]}… and more"),
            redactor.redact(TraceError("agent", "x", detail=(head + text)[:at])).detail + "… and more",
        ):
            assert kept.startswith(f"{head}{REMOVED}"), (at, kept)
            assert kept.endswith("… and more")


def test_a_fault_that_quotes_half_an_address_shows_no_user() -> None:
    message = "cannot reach https://bob:hunt… in time; see https://example.com"
    assert Redactor().message(message) == f"cannot reach https://{REMOVED}… in time; see https://example.com"


@pytest.mark.parametrize(
    "unit",
    ["\\", "\\\\x", "\\u0061", "%", "%25", "%61", "&", "&amp;", "amp;", "&#97;", "=", "=41", "=\n", " ", "\\ \n"],
)
def test_time_grows_with_the_length_alone(unit: str) -> None:
    search = SecretSearch(["hush-1234", "\\\\\\\\", "%25%25", "&amp;", "aaaaaaaa"])

    def took(size: int) -> float:
        data = (unit * (size // len(unit))).encode()
        began = process_time()
        search.spans(data)
        search.find_torn(data)
        search.may_hold(data)
        return process_time() - began

    took(1_000)
    assert took(100_000) < 50 * max(took(10_000), 0.002)
    assert took(40_000) < 2


def test_many_secrets_in_a_long_text_take_a_moment() -> None:
    search = SecretSearch(f"secret-number-{number}" for number in range(20))
    data = b"One word after another, \\n and 100 %41 of them. " * (TEXT_CAP // 48)
    began = process_time()
    assert search.spans(data) == []
    assert process_time() - began < 20
