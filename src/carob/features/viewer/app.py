"""The pages of the viewer, their addresses, and the guard before them: no other machine, no other site, no writing."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial, wraps
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from carob.checks.catalog import catalog_for
from carob.errors import CarobError, UsageError
from carob.features.viewer import pages, run_list
from carob.features.viewer.rule_pages import rules_page
from carob.journal.index import CaseFilter, Index, IndexedRun
from carob.model.run import CaseRecord
from carob.plugins.features import Page, all_features, load
from carob.plugins.project import Project, token_prices
from carob.reports.escaping import terminal
from carob.reports.html.case_view import CaseSetting
from carob.reports.html.markup import escape_text
from carob.reports.html.pages import assets, environment, find_own_file, fragment, record_json
from carob.reports.html.run_pages import MissingPageError, OfRun, PageRequest
from carob.reports.html.run_view import RunHead
from carob.reports.suite_lines import SuiteLines, suite_lines
from carob.system.loopback_auth import LoopbackGuard, RefusedRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Template
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

TEMPLATES: Final = Path(__file__).parent / "templates"
LARGEST_NUMBER: Final = 1 << 31
MOST_OTHERS: Final = 200
LARGEST_BODY: Final = 64 << 10
ASSET_TYPES: Final = {".css": "text/css", ".js": "text/javascript"}
LONGEST_WORDS: Final = 500
ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#c08a1e" d="M8 1l6 6-6 8-6-8z"/></svg>'
)
FIELDS: Final = ("status", "category", "tag", "check", "kind", "text", "order")


class Viewer:
    """Answers each address from the index, which is brought up to date first."""

    def __init__(self, index: Index, project: Project, person: str = "") -> None:
        self._index = index
        self._person = person
        self._memory: dict[str, Any] = {}
        self._project = project
        self._prices = token_prices(project)
        self._catalog = catalog_for(project)
        self._pages = pages_of_features()
        self._compares = any(page.name == "compare" for page in self._pages)

    def runs(self, request: Request) -> Response:
        self._index.refresh()
        runs = self._index.runs()
        suites = run_list.suites(self._index, runs, self._prices)
        words = run_list.total_words(len(runs), suites)
        foreign, compares = self._index.invalid_files(), self._compares
        return _page(request, "runs.html", suites=suites, foreign=foreign, words=words, compares=compares)

    def grid(self, request: Request) -> Response:
        run, query = self._run(request), request.query_params
        start = _number(query.get("start", "0"))
        grid = pages.grid_page(self._index, run, query.get("over", ""), query.get("order", ""), start, home(request))
        return self._run_page(request, "grid.html", run, grid=grid, overs=pages.OVERS, orders=pages.ORDERS)

    def suite(self, request: Request) -> Response:
        run = self._run(request)
        return self._run_page(request, "suite.html", run, lines=suite_lines(run.header, self._catalog))

    def run(self, request: Request) -> Response:
        run = self._run(request)
        chosen = _read_filter(request)
        part = request.query_params.get("part", "")
        if part == "live":
            return self._live(run, home(request))
        start = _number(request.query_params.get("start", "0"))
        rows, total = pages.rows(self._index, run, chosen, start)
        to = OfRun(home(request), run.key, chosen)
        if part == "rows":
            html = "".join(fragment("row")(row, to) for row in rows)
            return HTMLResponse(_encode(html), headers={"X-Cases": str(total), "X-Total": str(run.summary.total)})
        return self._run_page(
            request,
            "run.html",
            run,
            version=run.version,
            groups=self._index.groups(run.key),
            catalog=self._catalog,
            choices=self._index.choices(run.key),
            chosen=chosen,
            rows=rows,
            found=total,
            to=to,
            others=self._others(run),
        )

    def _others(self, run: IndexedRun) -> list[IndexedRun]:
        """Runs that this one can be compared with, those of its suite first."""
        others = [other for other in self._index.runs() if other.key != run.key] if self._compares else []
        return sorted(others, key=lambda other: other.header.suite != run.header.suite)[:MOST_OTHERS]

    def _live(self, run: IndexedRun, start: str) -> Response:
        """The head of a run that goes on, again and again."""
        head = fragment("run_head")(self._head(run))
        broke = fragment("broke")(self._index.groups(run.key), OfRun(start, run.key, CaseFilter()), self._catalog)
        headers = {"X-Version": run.version, "X-Ended": str(int(run.ended))}
        return HTMLResponse(_encode(head + broke), headers=headers)

    def case(self, request: Request) -> Response:
        run = self._run(request)
        at, repeat = self._place(request)
        to = OfRun(home(request), run.key, _read_filter(request))
        setting = CaseSetting(run.header, self._catalog, self._prices, SuiteLines(run.header, self._catalog))
        case = pages.case_page(self._index, run, setting, to, at, repeat)
        if case is None:
            raise MissingPageError
        strip = pages.strip(self._index, run, at)
        run_head = self._head(run)
        parts = [self._case_part(part, request, case.record, run) for part in case_parts()]
        strip = strip if len(strip) > 1 else []
        return _page(request, "case.html", case=case, to=to, strip=strip, run=run_head, parts=parts)

    def _case_part(self, part: Page, request: Request, record: CaseRecord, run: IndexedRun) -> str:
        """What a feature says of a case, as HTML."""
        try:
            values = load(part.loads)(self._make_request(request), record, run)
        except CarobError as error:  # the case itself can be shown
            return f'<p class="trouble">{escape_text(str(error))}</p>'
        return template_of(f"{part.name}.html", _templates_of(part)).render(home=home(request), **values)

    def record(self, request: Request) -> Response:
        """The raw record of a case, as text: no browser takes it for a page."""
        record = self._index.record(self._run(request), *self._place(request))
        if record is None:
            raise MissingPageError
        return Response(record_json(record), media_type="text/plain")

    def file(self, request: Request) -> Response:
        """A file of a case: one that its trace names, by its number, from the folder of its run."""
        run = self._run(request)
        record = self._index.record(run, *self._place(request))
        names = list(record.trace.attachments.values()) if record else []
        number = _number(request.path_params["number"])
        file = find_own_file(run.path, names[number]) if number < len(names) else None
        if file is None:
            raise MissingPageError
        if file.is_picture:
            return FileResponse(file.path, media_type=file.type)
        return FileResponse(file.path, media_type="application/octet-stream", filename=file.path.name)

    def rules(self, request: Request) -> Response:
        run = self._run(request)
        rule, start = (
            request.query_params.get("rule", "")[:LONGEST_WORDS],
            _number(request.query_params.get("start", "0")),
        )
        to = OfRun(home(request), run.key, CaseFilter())
        return self._run_page(request, "rules.html", run, **rules_page(self._index, run, rule, to, start))

    def page_of_feature(self, page: Page, request: Request) -> Response:
        self._index.refresh()
        asked, function, templates = self._make_request(request), load(page.loads), _templates_of(page)
        try:
            values = function(asked)
        except UsageError as error:  # such as runs without a common case: no failure of the viewer
            return _page(request, "trouble.html", words=str(error))
        name = f"{page.name}.html"
        if asked.key:
            return self._run_page(request, name, asked.run, templates, **values)
        return _page(request, name, 200, templates, **values)

    def _make_request(self, request: Request) -> PageRequest:
        key, query = request.path_params.get("key", ""), request.query_params
        return PageRequest(
            self._index, self._project, home(request), query, key, self._head, self._person, self._memory
        )

    async def write_page(self, page: Page, request: Request) -> Response:
        """Give a page what a person sends: a JSON object."""
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > LARGEST_BODY:
                return _reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LARGEST_BODY:,} bytes can be sent")
        try:
            sent = msgspec.json.decode(data, type=dict[str, Any])
            await run_in_threadpool(load(page.writes), self._make_request(request), sent)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _reply(HTTPStatus.BAD_REQUEST, "not a JSON object")
        except MissingPageError:
            return _reply(HTTPStatus.NOT_FOUND, "the run or the case is not there any more")
        except CarobError as error:
            return _reply(HTTPStatus.BAD_REQUEST, str(error))
        return _reply(HTTPStatus.OK, "")

    def _run_page(
        self, request: Request, name: str, run: IndexedRun, templates: Path = TEMPLATES, /, **context: object
    ) -> Response:
        of_run = [page for page in self._pages if page.title and "{key}" in page.address]
        listed = [page for page in of_run if not page.option or page.option in run.header.options]
        return _page(request, name, 200, templates, key=run.key, run=self._head(run), listed=listed, **context)

    def _head(self, run: IndexedRun) -> RunHead:
        models: dict[str, str] = self._memory.setdefault("models", {})
        if not models.get(run.key):
            models[run.key] = pages.seen_model(self._index, run)
        return pages.run_head(run, self._prices, models[run.key])

    def _run(self, request: Request) -> IndexedRun:
        self._index.refresh()
        return self._find_run(request.path_params["key"])

    def _find_run(self, key: str) -> IndexedRun:
        run = self._index.run(key)
        if run is None:
            raise MissingPageError
        return run

    def _place(self, request: Request) -> tuple[int, int]:
        return _number(request.path_params["index"]), _number(request.path_params["repeat"])


def pages_of_features() -> list[Page]:
    return [page for feature in all_features() for page in feature.pages]


def case_parts() -> list[Page]:
    return [part for feature in all_features() for part in feature.case_parts]


def _templates_of(page: Page) -> Path:
    """The folder of the template of a page."""
    package = page.loads.partition(":")[0].rpartition(".")[0]
    return Path(str(files(package))) / "templates"


def application(index: Index, token: str, port: int, project: Project, person: str = "") -> ASGIApp:
    """The viewer with its guard. `person`: who may write, on the pages that take something."""
    viewer, written = Viewer(index, project, person), [page for page in pages_of_features() if person and page.writes]
    of_pages = {name: _templates_of(page) / name for page in pages_of_features() for name in page.assets}
    static = {
        "carob.css": ("text/css", assets().style),
        "carob.js": ("text/javascript", assets().script),
        "icon.svg": ("image/svg+xml", ICON),
    } | {name: (ASSET_TYPES[path.suffix], path.read_text("utf-8")) for name, path in of_pages.items()}

    def asset(request: Request) -> Response:
        file = static.get(request.path_params["name"])
        return Response(file[1], media_type=file[0]) if file else _missing(request)

    case_path = "/run/{key}/case/{index}/{repeat}"
    routes = {
        "/": viewer.runs,
        "/run/{key}": viewer.run,
        "/run/{key}/rules": viewer.rules,
        "/run/{key}/grid": viewer.grid,
        "/run/{key}/suite": viewer.suite,
        case_path: viewer.case,
        f"{case_path}/file/{{number}}": viewer.file,
        f"{case_path}/record": viewer.record,
        "/static/{name}": asset,
    } | {page.address: partial(viewer.page_of_feature, page) for page in pages_of_features()}
    page_routes = [Route(path, _with_error_page(answer), methods=["GET", "HEAD"]) for path, answer in routes.items()]
    page_routes += [Route(page.address, partial(viewer.write_page, page), methods=["POST"]) for page in written]
    pages_of = Starlette(routes=page_routes, exception_handlers={404: lambda request, error: _missing(request)})
    pages_of.router.redirect_slashes = False  # it would lead to an address without the token
    pages_of.state.frame = {"assets": [*of_pages], "written": [(page.name, page.title) for page in written]}
    return ViewerGuard(pages_of, token, port, {page.address for page in written})


def _with_error_page(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Show errors as a page of one line."""

    @wraps(answer)
    def respond(request: Request) -> Response:
        try:
            return answer(request)
        except MissingPageError:
            return _missing(request)
        except CarobError as error:
            return _page(request, "trouble.html", 503, words=str(error))

    return respond


def _missing(request: Request) -> Response:
    return _page(request, "trouble.html", 404, words="Page not found. The run may have been removed or replaced.")


def home(request: Request) -> str:
    """The way from a page to the first one. All links are relative: the token is in the address and nowhere else."""
    return "../" * (request.scope["raw_path"].count(b"/") - 1) or "./"


def _page(
    request: Request, name: str, status: int = 200, templates: Path = TEMPLATES, /, **context: object
) -> Response:
    html = template_of(name, templates).render(home=home(request), **request.app.state.frame, **context)
    return HTMLResponse(_encode(html), status_code=status)


def _reply(status: HTTPStatus, problem: str) -> Response:
    body = msgspec.json.encode({"problem": terminal(problem)} if problem else {})
    return Response(body, status_code=status, media_type="application/json")


def template_of(name: str, folder: Path = TEMPLATES) -> Template:
    """A template of the viewer, or of a feature, which extends those of the viewer."""
    templates = environment(TEMPLATES, *({folder} - {TEMPLATES}))
    templates.filters |= {"is_live": run_list.is_live, "trouble": run_list.trouble}
    return templates.get_template(name)


def _encode(html: str) -> bytes:
    return str(html).encode("utf-8", "replace")


def _read_filter(request: Request) -> CaseFilter:
    return CaseFilter(**{name: request.query_params.get(name, "")[:LONGEST_WORDS] for name in FIELDS})


def _number(text: str) -> int:
    """A number in an address; anything else, or a number too large for any run, is a missing page."""
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or int(text) >= LARGEST_NUMBER:
        raise MissingPageError
    return int(text)


POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
WHAT_TO_OPEN: Final = "Open the address that `carob view` printed."


class ViewerGuard:
    """Checks every request before it reaches a page, which sees its address without the token."""

    def __init__(self, app: ASGIApp, token: str, port: int, written: Collection[str] = ()) -> None:
        self._app = app
        self._written = written
        self._guard = LoopbackGuard(port, token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            inner = self._enter(scope)
        except RefusedRequest as refused:
            await _answer(send, refused.status, f"{refused.why.capitalize()}. {WHAT_TO_OPEN}\n")
        else:
            await self._app(inner, receive, _with_headers(send))

    def _enter(self, scope: Scope) -> Scope:
        method, headers = (
            scope["method"],
            [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]],
        )
        if method not in ("GET", "HEAD") and not (method == "POST" and self._written):
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, "the viewer is read-only")
        path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
        token = len(path) - len(self._guard.enter(f"{path}?{query}", headers).removesuffix(f"?{query}"))
        inner = {**scope, "path": scope["path"][token:], "raw_path": scope["raw_path"][token:]}
        if method == "POST":
            self._check_written(inner["path"], dict(headers))
        return inner

    def _check_written(self, path: str, headers: Mapping[str, str]) -> None:
        """Refuse what a page of the viewer would not send. An `origin` that is there was found to be its own."""
        if path not in self._written:
            raise RefusedRequest(HTTPStatus.METHOD_NOT_ALLOWED, "this page is read-only")
        if "origin" not in headers:
            raise RefusedRequest(HTTPStatus.FORBIDDEN, "a request to write came without its origin")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RefusedRequest(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "what is written must be sent as JSON")


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            sent_names = {name for name, _ in message["headers"]}
            extra = [
                (name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in sent_names
            ]
            message["headers"] = [*message["headers"], *extra]
        await send(message)

    return send_with_headers


async def _answer(send: Send, status: HTTPStatus, text: str) -> None:
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8"}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": text.encode()})
