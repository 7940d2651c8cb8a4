import { basename, resolve } from "node:path";
import { ContractError } from "./evidence.ts";
import { judge, type Judge } from "./judge.ts";
import type { Ask, ListedCase, StartedRun } from "./protocol.ts";
import { errorText, type Message, type Trace } from "./trace.ts";

/** The turn that an agent is asked for. `state` and `messages` are those of its conversation alone. */
export interface Turn {
  case: string;
  conversation: string;
  turn: number;
  /** What was said before this prompt. */
  messages: Message[];
  /** For what the agent must keep between turns, such as its own messages. */
  state: Record<string, unknown>;
}

/** Asks the agent: its words, or a trace such as the recorders make. What it throws makes the case an ERROR. */
export type Answer = (prompt: string, turn: Turn) => string | Trace | Promise<string | Trace>;

export interface SuiteOptions {
  /** What the agent is called in journals and reports. */
  target?: string;
  /** How often each case is run, each time as a test. */
  repeat?: number;
  /** Seconds for one case: 300, unless said otherwise. */
  timeout?: number;
  /** Attempts to repeat a case after an error, never after a failed check. */
  retries?: number;
  /** Where the journal goes, by default where `carob run` would write it. */
  resultsDir?: string;
  /** Further reports, such as `junit` or `html=report.html`. */
  reports?: string[];
}

/** What a test runner offers. */
export interface Runner {
  describe(name: string, body: () => Promise<void>): void;
  test(name: string, milliseconds: number, body: (skip: (why: string) => void) => Promise<void>): void;
  afterAll(body: () => Promise<void>): void;
  report(line: string): void;
}

const TIMEOUT = 300;
const MARGIN = 10;

/** Make a test of each case of a suite, and of each repeat. */
export function defineSuite(runner: Runner, file: string, answer: Answer, options: SuiteOptions = {}): void {
  const { repeat = 1, timeout, retries = 0, target = `typescript:${basename(file)}`, resultsDir, reports } = options;
  const settings = { repeat, retries, ...(timeout && { timeout }), ...(resultsDir && { results_dir: resultsDir }), ...(reports && { reports }) };
  const limit = ((timeout ?? TIMEOUT) * (retries + 1) + MARGIN) * 1000;
  runner.describe(file, async () => {
    const judging = await judge();
    const suite = await judging.load(file);
    let run: Promise<StartedRun> | undefined;
    for (const listed of suite.cases) {
      for (let number = 1; number <= repeat; number += 1) {
        runner.test(number === 1 ? listed.id : `${listed.id} #${number}`, limit, async (skip) => {
          run ??= judging.run(suite.suite, target, settings);
          await runCase(judging, (await run).run, listed, resolve(file), answer, skip);
        });
      }
    }
    runner.afterAll(async () => {
      if (run === undefined || judging.isOver) return;
      const finished = await judging.finish((await run).run);
      runner.report(`carob: ${file}: ${finished.summary}\n  ${finished.journal}`);
      finished.problems.forEach((problem) => runner.report(`carob: ${problem}`));
    });
  });
}

async function runCase(judging: Judge, run: string, listed: ListedCase, file: string, answer: Answer, skip: (why: string) => void): Promise<void> {
  const conversations = new Map<string, Pick<Turn, "messages" | "state">>();
  const judged = await judging.case(run, listed.id, async (ask) => {
    const known = conversations.get(ask.conversation) ?? { messages: [], state: {} };
    conversations.set(ask.conversation, known);
    return takeTurn(ask, known, answer);
  });
  if (judged.outcome === "skipped") skip(judged.status === "XFAIL" ? `known to fail: ${listed.xfail}` : (listed.skip ?? ""));
  else if (judged.outcome === "failed") throw new ContractError(judged, `${file}:${listed.line}:1`);
}

/** One turn. Nothing is thrown: what the agent throws is part of what is judged. */
async function takeTurn(ask: Ask, known: Pick<Turn, "messages" | "state">, answer: Answer): Promise<string | Trace> {
  try {
    const given = await answer(ask.prompt, { ...known, case: ask.case, conversation: ask.conversation, turn: ask.turn, messages: [...known.messages] });
    const words = typeof given === "string" ? given : String(given?.final_message ?? "");
    known.messages.push({ role: "user", content: ask.prompt }, { role: "assistant", content: words });
    return given ?? { error: { kind: "bad-answer", message: "the agent returned nothing" } };
  } catch (error) {
    const detail = error instanceof Error ? { detail: error.stack ?? "" } : {};
    return { error: { kind: "agent", message: errorText(error), ...detail } };
  }
}
