import { after, describe, test } from "node:test";
import { defineSuite, type Answer, type Runner, type SuiteOptions } from "./suite.ts";

const runner: Runner = {
  describe: (name, body) => void describe(name, body),
  test: (name, timeout, body) => void test(name, { timeout }, async (context) => body((why) => context.skip(why))),
  afterAll: (body) => void after(body),
  report: (line) => console.log(line),
};

/** Make a test of node:test of each case of a suite: `suite("desk.carob.yaml", answer)`. */
export function suite(file: string, answer: Answer, options?: SuiteOptions): void {
  defineSuite(runner, file, answer, options);
}

export { expect } from "./expect.ts";
export * from "./index.ts";
