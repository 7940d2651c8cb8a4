"""Error texts of tools, which are failures, and texts that only hold such words, which are not."""

from __future__ import annotations

import pytest

from carob.text.tool_results import call_success

FAILURES = (
    "Error from server (Forbidden): pods is forbidden", "psql: error: connection to server failed",
    "docker: Error response from daemon: No such container", "Error response from daemon: conflict",
    "bash: foo: command not found", "sh: 1: foo: not found", "cat: x.txt: No such file or directory",
    "1 validation error for Order", "2 validation errors for Order\nid", "Payment declined", "Your card was declined.",
    "Insufficient funds", "npm ERR! code E404", "E: Unable to locate package x", "curl: (7) Failed to connect",
    "ssh: connect to host x port 22: Connection refused", "Connection refused", "Rate limit reached",
    "Too many requests",
    "quota exceeded", "zsh: command not found: foo", "Segmentation fault (core dumped)", "panic: runtime error",
    "Killed",
    "Timeout", "timeout after 30 s", "deadlock detected", "syntax error at or near \"x\"", "no such table: x",
    "The request was rejected", "Transaction declined", "Order not found", "User does not exist",
    "java.lang.NullPointerException", "Exception in thread \"main\" x", "Uncaught TypeError: x", "exit status 1",
    "make: *** [all] Error 2", "503 Service Unavailable", "Reservation unsuccessful",
    "ORA-00942: table or view does not exist", "ERROR 1045 (28000): Access denied", "rpc error: code = Unavailable",
)  # fmt: skip
DATA = (
    "0 errors found", "No errors", "Order found: A-17", "The error log is empty", "Validation passed",
    "Payment accepted",
    "2 validation rules applied", "Declined invitations: 3", "Timeout set to 30 s", "Errors: 0",
    "Killed process list: none",
    "Permission granted", "Cancelled order A-17", "Failed logins: 0", "Rate limit: 100 per minute", "Aborted runs: 2",
    "Not found items: 0", "Order A-17 was cancelled", "docker: 3 containers", "bash: GNU bash 5.2", "Payment of 5 EUR",
)  # fmt: skip


@pytest.mark.parametrize("text", FAILURES)
def test_an_error_text_is_a_failure(text: str) -> None:
    assert call_success(text) is False


@pytest.mark.parametrize("text", DATA)
def test_a_text_that_only_holds_such_words_is_none(text: str) -> None:
    assert call_success(text) is True


@pytest.mark.parametrize(
    "result", [{"status": 200, "body": {"error": "x"}}, {"status": "completed", "result": {"error": "x"}}]
)
def test_a_good_status_around_a_failed_body_does_not_count(result: object) -> None:
    assert call_success(result) is False
