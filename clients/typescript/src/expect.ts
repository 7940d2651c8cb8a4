import { CarobError } from "./errors.ts";
import { ContractError, explain, sides } from "./evidence.ts";
import { judge } from "./judge.ts";
import type { Judged } from "./protocol.ts";
import type { Trace } from "./trace.ts";

/** Keys of `expected` in a suite, and `effects` and `words` of its top. */
export type Expected = Record<string, unknown>;

async function check(trace: Trace, expected: Expected): Promise<Judged> {
  return (await judge()).check(trace, expected);
}

async function checkRules(trace: Trace, rules: string | object): Promise<Judged> {
  return (await judge()).rules(trace, rules);
}

/** `await expect(trace).toKeep({ tool_calls_none: ["pay"] })`: throws the evidence of what does not hold or is not known. */
export function expect(trace: Trace): { toKeep(expected: Expected): Promise<void>; toKeepRules(rules: string | object): Promise<void> } {
  const holds = (judged: Judged): void => {
    if (judged.outcome !== "passed") throw new ContractError(judged);
  };
  return {
    toKeep: async (expected) => holds(await check(trace, expected)),
    toKeepRules: async (rules) => holds(await checkRules(trace, rules)),
  };
}

interface MatcherState {
  isNot?: boolean;
}
interface MatcherResult {
  pass: boolean;
  message: () => string;
  actual?: unknown;
  expected?: unknown;
}

/** For `expect.extend` of vitest and jest. What is not known is neither kept nor broken, so `.not` does not accept it. */
export const matchers = {
  async toKeep(this: MatcherState, trace: Trace, expected: Expected): Promise<MatcherResult> {
    return result(await check(trace, expected), this.isNot === true);
  },
  async toKeepRules(this: MatcherState, trace: Trace, rules: string | object): Promise<MatcherResult> {
    return result(await checkRules(trace, rules), this.isNot === true);
  },
};

function result(judged: Judged, isNot: boolean): MatcherResult {
  const pass = judged.outcome === "passed";
  if (isNot && !pass && judged.status !== "FAIL") throw new CarobError(explain(judged), { slug: "not-known" });
  if (pass) return { pass, message: () => "every check passed, and one was expected not to" };
  const { expected, actual } = sides(judged);
  return { pass, message: () => explain(judged), expected, actual };
}
