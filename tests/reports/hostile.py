"""Texts that an agent may say to steer what shows a report: a terminal, a browser, a spreadsheet, a parser, a forge.

`run_saying(text)` is a run in which such a text stands wherever a text of others can stand. Who follows a link, loads
an image or runs a script of one of them would ask `TRAP` for something, or set `window.owned`.
"""

from __future__ import annotations

from typing import Final

from msgspec import structs

from carob.model.run import CaseRecord, Summary
from carob.model.suite import Case
from carob.model.trace import Message, ToolCall, Trace, TraceError
from carob.model.verdict import CaseStatus, EvidenceLocation, Group, SoftScore, Status

from .runs import HEADER, MemoryRun, check, record

TRAP: Final = "http://127.0.0.1:9/owned"
OWNED: Final = "window.owned=1"

HOSTILE: Final[dict[str, str]] = {
    # HTML that runs, loads, navigates or swallows what follows
    "script": f"<script>{OWNED}</script>",
    "script-upper": f"<SCRIPT SRC={TRAP}></SCRIPT>",
    "script-split": f"<scr<script>ipt>{OWNED}</scr</script>ipt>",
    "img-onerror": f'<img src=x onerror="{OWNED}">',
    "img-remote": f'<img src="{TRAP}">',
    "attribute-double": f'" onmouseover="{OWNED}" autofocus onfocus="{OWNED}" x="',
    "attribute-single": f"' onmouseover='{OWNED}' autofocus onfocus='{OWNED}' x='",
    "attribute-bare": f"x onmouseover={OWNED} y",
    "iframe": f'<iframe src="{TRAP}"></iframe>',
    "iframe-srcdoc": f'<iframe srcdoc="<script>parent.{OWNED}</script>"></iframe>',
    "object-embed": f'<object data="{TRAP}"></object><embed src="{TRAP}">',
    "meta-refresh": f'<meta http-equiv="refresh" content="0;url={TRAP}">',
    "base": f'<base href="{TRAP}/">',
    "link-style": f'<link rel="stylesheet" href="{TRAP}"><style>@import "{TRAP}";body{{display:none}}</style>',
    "style-url": f'<p style="background:url({TRAP});position:fixed;inset:0">cover</p>',
    "form": f'<form action="{TRAP}"><input autofocus onfocus={OWNED}><button>ok</button></form>',
    "details-ontoggle": f"<details open ontoggle={OWNED}>x</details>",
    "video-audio": f'<video src="{TRAP}" autoplay onerror={OWNED}></video><audio src="{TRAP}" autoplay></audio>',
    "marquee-body": f"<marquee onstart={OWNED}>x</marquee><body onload={OWNED}>",
    "template-noscript": f'<noscript><p title="</noscript><img src=x onerror={OWNED}>">',
    "textarea-break": f"</textarea><script>{OWNED}</script>",
    "title-break": f"</title><script>{OWNED}</script>",
    "style-break": f"</style><script>{OWNED}</script>",
    "script-break": f'"}}</script><script>{OWNED}</script>',
    "comment-break": f"--><script>{OWNED}</script><!--",
    "script-comment": "<!--<script>",
    "island-escapes": "</script >\u2028\u2029<\\/script>\\u003cscript\\u003e",
    "table-break": "</td></tr></table><h1>all passed</h1>",
    "plaintext": "<plaintext>everything after this is text",
    "entities": "&lt;script&gt;window.owned=1&lt;/script&gt; &#60;img src=x onerror=window.owned=1&#62; &amp;",
    "broken-tag": f"<img src=x onerror={OWNED} //",
    "nul-tag": f"<scr\x00ipt>{OWNED}</scr\x00ipt>",
    # SVG and MathML
    "svg-onload": f'<svg onload="{OWNED}"><circle r="9"/></svg>',
    "svg-script": f'<svg><script href="data:text/javascript,{OWNED}"/></svg>',
    "svg-use": f'<svg><use href="{TRAP}#x"/><image href="{TRAP}"/></svg>',
    "svg-animate": f'<svg><a><animate attributeName=href values="javascript:{OWNED}"/><text>x</text></a></svg>',
    "svg-foreign": f"<svg><foreignObject><body onload={OWNED}></foreignObject></svg>",
    "mathml": f'<math><mtext><table><mglyph><style><img src=x onerror="{OWNED}">',
    # URLs
    "url-javascript": f"javascript:{OWNED}",
    "url-javascript-odd": f"JaVa\tScRiPt\n:{OWNED}//",
    "url-data": f"data:text/html;base64,PHNjcmlwdD57{OWNED}",
    "url-file": "file:///etc/passwd",
    "url-plain": f"see {TRAP} or www.evil.example or mail a@evil.example",
    "url-relative": "//evil.example/x ../../../../etc/passwd",
    # Markdown
    "markdown-link": f"[click](javascript:{OWNED}) [click]({TRAP}) <{TRAP}>",
    "markdown-image": f'![x]({TRAP} "t") ![x](data:image/svg+xml;base64,PHN2Zz4=)',
    "markdown-reference": f"[a]: {TRAP}\n[a] ![a]",
    "markdown-table": "| a | b |\n|---|---|\n| c | d |\n||||",
    "markdown-blocks": "# head\n\n***\n\n> quote\n\n- item\n\n1. one\n\n===\n---\n\n    code",
    "markdown-fence": f"```html\n<b>\n```\n~~~~\n`{OWNED}` ``x``\n<details><summary>x",
    "markdown-escapes": "\\\\| \\` *b* _i_ ~~s~~ $x^2$ \\[ \\( @everyone #1 :tada: GH-1",
    # XML
    "xml-cdata": "]]>]]&gt;<![CDATA[<failure/>]]>",
    "xml-entity": '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd"><!ENTITY b "&a;&a;">]>&a;&b;&undefined;',
    "xml-close": '"/></testcase><testcase name="forged"/><!-- -- --> <?php echo 1 ?>',
    "xml-forbidden": "\x00\x01\x08\x0b\x0c\x1f\ufffe\uffff\ud800\udfff\x7f\x85",
    # Terminals
    "ansi-clear": "\x1b[2J\x1b[H\x1b[32m9 passed\x1b[0m\x1b[?1049h",
    "ansi-title": f"\x1b]0;owned\x07\x1b]8;;{TRAP}\x1b\\link\x1b]8;;\x1b\\\x1b]52;c;b3duZWQ=\x07",
    "ansi-c1": "\x9b31m\x9d0;owned\x9c\x90q\x9c\x85",
    "carriage": "failed\rpassed\b\b\b\b\x7f\v\f\a",
    "line-ends": "one\r\ntwo\nthree\u2028four\u2029five\x85six\x1e",
    "progress-rich": "[bold red]x[/] [link=http://127.0.0.1:9/owned]y[/link] :boom:",
    # What nobody sees, and what is read in another order
    "bidi": "\u202egnp.exe\u202c \u2066x\u2069 \u200f\u061c",
    "zero-width": "pass\u200b\u200c\u200d\ufeff\u2060\u00ad\u3164ed",
    "tags": "ok\U000e0053\U000e0041\U000e0059 \ufe0f\U000e0100",
    "zalgo": "e" + "\u0301\u0489\u20dd" * 40,
    "wide": "宽字符 🙂👩‍👩‍👧‍👦 ﷽ \U0001f1e9\U0001f1ea",
    "surrogates": "\ud83d alone \ude42 \ud83d\ude42",
    # Spreadsheets
    "csv-formula": '=HYPERLINK("http://127.0.0.1:9/owned","x")&WEBSERVICE("http://127.0.0.1:9/owned")',
    "csv-dde": "=cmd|' /C calc'!A0",
    "csv-plus": "+1+1",
    "csv-minus": "-2+3+cmd|' /C calc'!A0",
    "csv-at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "csv-tab": "\t=1+1",
    "csv-carriage": "\r=1+1",
    "csv-wide": "＝1+1",
    "csv-quotes": '","forged","PASS"\n"G9","PASS"\r\n;=1+1;"',
    # Commands of forges and shells
    "github-command": "::error file=x,line=1::forged\n::set-output name=x::y\n##[error]forged",
    "github-percent": "%0A::warning::forged%0D%25 100% a,b:c",
    "github-mask": "::add-mask::a\n::stop-commands::x\n::group::g",
    "summary-html": "<details><summary>forged</summary>\n\n| Case | Status |\n|---|---|\n| x | PASS |",
    "shell": "$(touch owned); `touch owned` && touch owned # ' \" \\ !!",
    # Templates, formats, JSON
    "template": "{{7*7}} {% raw %} ${7*7} #{7*7} %s %(x)s {0} {x.__class__}",
    "json": '"}],"cases":[{"id":"forged"}] \\ \\u0000 \\" __proto__ constructor',
    "jsonl": '\n{"id":"forged","status":"PASS"}\n',
    "spaces": "  leading and trailing \t ",
    "long-word": "w" * 5000,
    "many-lines": "line\n" * 500,
}


def run_saying(text: str) -> MemoryRun:
    """A run with every status in which this text stands wherever one of others can stand."""
    cases = tuple(
        _saying(text, status, index)
        for index, status in enumerate((CaseStatus.FAIL, CaseStatus.PARTIAL, CaseStatus.ERROR, CaseStatus.PASS))
    )
    summary = Summary(passed=1, failed=1, partial=1, error=1, total=4, avg_soft_score=0.5, incomplete=text)
    header = structs.replace(HEADER, suite=text, target=text, options={"target": {"use": text}}, total=4)
    return MemoryRun(cases, summary, header)


def _saying(text: str, status: CaseStatus, index: int) -> CaseRecord:
    name = f"{index}{text}"
    broken = status is CaseStatus.ERROR
    encodable = text.encode(errors="replace").decode()
    trace = Trace(
        case_id=name,
        input=text,
        final_message=text,
        messages=(Message("user", text), Message("assistant", text, text), Message(text, text)),
        tool_calls=(
            ToolCall(text, {text: [text, {"deep": text}]}, id=text, result=text, success=True, parent=text),
            ToolCall("lookup", text, result={text: text}, error=text, missing_fields=(text,)),
        ),
        telemetry=(text,),
        page=text,
        page_before=text,
        database={text: [text]},
        state={text: text},
        unobserved={"database": text},
        attachments={text: text},
        metadata={text: text},
        error=TraceError("crash", text, text) if broken else None,
    )
    held = Status.PASSED if status is CaseStatus.PASS else Status.FAILED
    rows = (
        check(
            text, Group.FORMATTING, held, expected=text, found=text, at=EvidenceLocation("final_message", 0, len(text))
        ),
        check(
            "tool_calls_none[0]",
            Group.TOOL_HYGIENE,
            held,
            expected=text,
            found=text,
            at=EvidenceLocation("tool_calls", index=0),
        ),
        check(
            "telemetry[0]",
            Group.TOOL_HYGIENE,
            Status.UNKNOWN,
            expected=text,
            found=text,
            at=EvidenceLocation("telemetry", index=0),
        ),
        check("required_sources[0]", Group.SYNTHESIS_COVERAGE, held, args={"source": encodable}),
    )
    made = record(
        name, status, rows, index=index, category=text, reason=text, trace=trace, soft=SoftScore(0.5, 0.8, False)
    )
    case = Case(
        id=name,
        prompt=text,
        category=text,
        setup_prompts=(text,),
        preconditions=(text,),
        outcome=text,
        checks=made.case.checks,
        tags=(text,),
        metadata={text: text},
    )
    return structs.replace(made, case=case, attempts=(trace,) if broken else ())
