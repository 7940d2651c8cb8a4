import { afterAll, describe, expect, test } from "vitest";
import { matchers, type Expected } from "./expect.ts";
import { defineSuite, type Answer, type Runner, type SuiteOptions } from "./suite.ts";

declare module "vitest" {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars
  interface Matchers<T = any> {
    toKeep(expected: Expected): Promise<void>;
    toKeepRules(rules: string | object): Promise<void>;
  }
}

expect.extend(matchers);

const runner: Runner = {
  describe: (name, body) => void describe(name, body),
  test: (name, timeout, body) => void test(name, { timeout }, async (context) => body((why) => context.skip(why))),
  afterAll: (body) => void afterAll(body, 60_000),
  report: (line) => console.log(line),
};

/** Make a vitest test of each case of a suite: `suite("desk.carob.yaml", answer)`. */
export function suite(file: string, answer: Answer, options?: SuiteOptions): void {
  defineSuite(runner, file, answer, options);
}

export { expect };
export * from "./index.ts";
