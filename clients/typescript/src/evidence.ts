import { isDeepStrictEqual } from "node:util";
import type { Check, Judged } from "./protocol.ts";

/** A case or trace that is not as expected: its text is the evidence, `expected` and `actual` make the diff. */
export class ContractError extends Error {
  readonly judged: Judged;
  readonly expected: unknown;
  readonly actual: unknown;

  constructor(judged: Judged, place?: string) {
    super(explain(judged));
    this.name = "Carob";
    this.judged = judged;
    ({ expected: this.expected, actual: this.actual } = sides(judged));
    if (place !== undefined) this.stack = `${this.name}: ${this.message}\n    at ${place}`;
  }
}

/** `FAIL`, `ERROR`, or `UNKNOWN` where a check could not be decided. */
export function word(judged: Judged): string {
  const isOpen = judged.status === "PARTIAL" && judged.differences.some((difference) => difference.status === "unknown");
  return isOpen ? "UNKNOWN" : judged.status;
}

export function explain(judged: Judged): string {
  return [`${word(judged)}: ${judged.reason}`, "", ...judged.lines].join("\n").trimEnd();
}

/** What checks expected and found, side by side: values where one check compares values that differ, else its words. */
export function sides(judged: Judged): { expected: unknown; actual: unknown } {
  const [only, ...others] = judged.differences;
  const isValue = only !== undefined && others.length === 0 && typeof only.expected === "object";
  if (isValue && !isDeepStrictEqual(only.expected, only.found)) return { expected: only.expected, actual: only.found };
  const checks = (judged.verdict.checks ?? []).filter(isBad);
  if (checks.length === 0) return { expected: undefined, actual: undefined };
  const lines = (side: "expected" | "found"): string => checks.map((check) => `${check.name}: ${check[side] ?? ""}`).join("\n");
  return { expected: lines("expected"), actual: lines("found") };
}

function isBad(check: Check): boolean {
  return check.status !== "passed" && check.status !== "not_triggered";
}
