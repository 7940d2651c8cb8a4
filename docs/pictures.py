"""`python docs/pictures.py`: the pictures of the README, made anew in docs/images from a run of a small suite."""

from __future__ import annotations

import os
import tempfile
import threading
from pathlib import Path

import carob
from carob.features.browser.environment import find_browser, launch_arguments
from carob.features.compare.report import comparison_page
from carob.features.matrix.report import matrix_html
from carob.journal.index import Index

IMAGES = Path(__file__).parent / "images"
SIZE = {"width": 1180, "height": 760}
START = 1_800_000_000.0
CASE = """
  - id: refund-{name}
    category: refunds
    tags: [smoke, money]
    prompt: I want my money back for {name}.
    expected:
      tool_calls:
        - tool: issue_refund
          arguments: {{ amount: 49 }}
      tool_requires: {{ issue_refund: [verify_identity] }}
      must_say_any: ["49.00"]
      must_not_say: [as an AI, Anything else]
"""
NAMES = ("late-parcel", "twice-charged", "wrong-size", "broken-lamp", "lost-parcel", "gift")
SUITE = "carob: 1\ncases:" + "".join(CASE.format(name=name) for name in NAMES)


def answer(prompt: str) -> dict[str, object]:
    """An agent that gets most refunds right."""
    amount = 94 if "twice" in prompt else 49
    steps = (
        ("lookup_order", {"about": prompt[:40]}, {"total": 49}, 0.0, 0.42),
        ("verify_identity", {"customer": 7}, {"verified": True}, 0.45, 0.93),
        ("issue_refund", {"amount": amount}, {"status": "paid"}, 0.95, 2.05),
    )
    if "gift" in prompt:
        steps = (steps[0], steps[2])
    calls = [
        {"name": name, "arguments": given, "result": result, "success": True,
         "started_at": START + begin, "ended_at": START + end}
        for name, given, result, begin, end in steps
    ]  # fmt: skip
    said = f"Your refund of ${amount}.00 was paid." + (" Anything else?" if "twice" in prompt else "")
    return {"final_message": said, "tool_calls": calls, "tokens": {"input": 1_850, "output": 62}}


def careless(prompt: str) -> dict[str, object]:
    """An agent that forgets to verify who asks, and says more than it should."""
    told = answer(prompt)
    if "parcel" in prompt:
        told["tool_calls"] = [call for call in told["tool_calls"] if call["name"] != "verify_identity"]  # type: ignore[attr-defined]
    return {**told, "final_message": f"Good news! {told['final_message']}"}


def write_pages(first: carob.RunResult) -> dict[str, str]:
    """The pages that are files of their own: several runs side by side, and two of them compared."""
    runs = [first, carob.run("suite.yaml", careless, results_dir="runs")]
    Path("matrix.html").write_bytes(matrix_html(carob.matrix(runs)))
    Path("compare.html").write_bytes(comparison_page(carob.compare_runs(*runs)))
    return {name: Path(f"{name}.html").resolve().as_uri() for name in ("matrix", "compare")}


def main() -> None:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        os.chdir(folder)
        Path("suite.yaml").write_text(SUITE, encoding="utf-8")
        done = carob.run("suite.yaml", answer, results_dir="runs")
        run = f"run/{Index.key_of(Path(done.journal.path))}"
        viewer = carob.open_viewer("runs")
        thread = threading.Thread(target=viewer.run)
        thread.start()
        with sync_playwright() as playwright:
            own = playwright.chromium.executable_path
            browser = playwright.chromium.launch(executable_path=find_browser("", own), args=launch_arguments())
            page = browser.new_page(viewport=SIZE)
            for name, address in (("run", run), ("case", f"{run}/case/1/0")):
                page.goto(viewer.address + address)
                if name == "case":
                    page.locator(".check.k-failed .name").first.click()
                page.evaluate("scrollTo(0, 0)")
                page.screenshot(path=IMAGES / f"{name}.png")
            for name, address in write_pages(done).items():
                page.goto(address)
                page.screenshot(path=IMAGES / f"{name}.png")
            browser.close()
        viewer.stop()
        thread.join()


if __name__ == "__main__":
    main()
