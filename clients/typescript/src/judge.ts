import { spawn } from "node:child_process";
import { connect } from "node:net";
import type { Readable, Writable } from "node:stream";
import { CarobError } from "./errors.ts";
import { findCarob } from "./finder.ts";
import { PROTOCOL, type Ask, type Failure, type FinishedRun, type Judged, type LoadedSuite, type Ready, type Reply, type StartedRun } from "./protocol.ts";
import type { Trace } from "./trace.ts";

/** The variable that says where the judge of this test run listens. */
export const SHARED = "CAROB_JUDGE";

type Answering = (ask: Ask) => Promise<string | Trace>;
interface Open {
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
  answer: Answering | undefined;
}

/** What a judge is reached through: a process, or the socket of one that others share. */
export interface Channel {
  input: Readable;
  output: Writable;
  /** Whether this channel keeps Node from ending. */
  hold: (holds: boolean) => void;
  /** Resolves, once it is over, with why. */
  ended: Promise<string>;
}

/** A judge of Carob. It stays until this process ends. */
export class Judge {
  readonly #channel: Channel;
  readonly #open = new Map<string, Open>();
  #numbers = 0;
  #over: CarobError | undefined;

  private constructor(channel: Channel) {
    this.#channel = channel;
    channel.output.on("error", () => undefined); // what is wrong is known when the channel ends
    void channel.ended.then((why) => this.#end(why));
  }

  /** The judge at the other end of a channel, once it is ready. */
  static async over(channel: Channel): Promise<Judge> {
    const judge = new Judge(channel);
    const ready = new Promise<Ready>((resolve, reject) => {
      judge.#open.set("", { resolve: resolve as never, reject, answer: undefined });
    });
    judge.#hold();
    readLines(channel.input, (line) => judge.#receive(line));
    const { protocol } = await ready;
    if (protocol !== PROTOCOL) throw new CarobError(`this judge speaks protocol ${protocol}, not ${PROTOCOL}.`, { fix: "Install the version of Carob that this package has.", slug: "judge-protocol" });
    return judge;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  load(suite: string | object): Promise<LoadedSuite> {
    return this.#ask("load", { suite });
  }

  /** Judge a trace of one case, without a run. */
  judge(suite: string, name: string, trace: Trace): Promise<Judged> {
    return this.#ask("judge", { suite, case: name, trace });
  }

  /** Judge a trace by keys of `expected`. */
  check(trace: Trace, expected: object): Promise<Judged> {
    return this.#ask("check", { trace, expected });
  }

  /** Judge a conversation, a trace with `turns`, by rules: a file, its text or the object. */
  rules(trace: Trace, rules: string | object): Promise<Judged> {
    return this.#ask("rules", { trace, rules });
  }

  run(suite: string, target: string, options: object): Promise<StartedRun> {
    return this.#ask("run", { suite, target, ...options });
  }

  case(run: string, name: string, answer: Answering): Promise<Judged> {
    return this.#ask("case", { run, case: name }, answer);
  }

  finish(run: string): Promise<FinishedRun> {
    return this.#ask("finish", { run });
  }

  #ask<Kind>(what: string, fields: object, answer?: Answering): Promise<Kind> {
    return new Promise((resolve, reject) => {
      if (this.#over !== undefined) return reject(this.#over);
      const id = String(++this.#numbers);
      this.#open.set(id, { resolve: resolve as never, reject, answer });
      this.#hold();
      this.#send({ do: what, id, ...fields });
    });
  }

  #send(message: object): void {
    let line: string;
    try {
      line = JSON.stringify({ protocol: PROTOCOL, ...message });
    } catch (error) {
      const { id } = message as { id: string };
      return this.#settle(id)?.reject(new CarobError(`this is not JSON: ${String(error)}.`, { fix: "Give plain values.", slug: "bad-trace" }));
    }
    this.#channel.output.write(`${line}\n`);
  }

  #receive(line: string): void {
    const reply = JSON.parse(line) as Reply | (Ready & { id?: undefined });
    if (reply.is === "ask") return void this.#answer(reply, this.#open.get(reply.id ?? "")?.answer);
    const open = this.#settle(reply.id ?? "");
    if (reply.is === "error") open?.reject(describe(reply));
    else open?.resolve(reply as Reply);
  }

  async #answer(ask: Ask, answer: Answering | undefined): Promise<void> {
    if (answer === undefined) return;
    this.#send({ do: "answer", id: `answer-${ask.ask}`, ask: ask.ask, trace: await answer(ask) });
  }

  #settle(id: string): Open | undefined {
    const open = this.#open.get(id);
    this.#open.delete(id);
    this.#hold();
    return open;
  }

  #hold(): void {
    this.#channel.hold(this.#open.size > 0);
  }

  #end(why: string): void {
    this.#over = new CarobError(`the judge ended: ${why}.`, { fix: "Run the tests again; what was judged before is in the journal.", slug: "judge-ended" });
    for (const open of this.#open.values()) open.reject(this.#over);
    this.#open.clear();
  }
}

function describe(failure: Failure): CarobError {
  const problems = failure.problems ?? [];
  const [first = failure, ...others] = problems;
  const more = others.map((problem) => `\n${problem.where ? `${problem.where}: ` : ""}${problem.cause} [${problem.slug}]`).join("");
  const error = new CarobError(first.cause, { where: first.where, fix: first.fix, slug: first.slug });
  error.message += more;
  return error;
}

/** Calls `take` with each whole line. */
export function readLines(input: Readable, take: (line: string) => void): void {
  let pending = "";
  input.setEncoding("utf8");
  input.on("error", () => undefined); // the channel says that it ended
  input.on("data", (chunk: string) => {
    const lines = (pending + chunk).split("\n");
    pending = lines.pop() ?? "";
    lines.forEach(take);
  });
}

/** Starts a judge as a process below this one. It ends when this process does, however that ends. */
export function startProcess(): Channel {
  const [program = "", ...before] = findCarob();
  const child = spawn(program, [...before, "judge"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(`${program} could not be started: ${error.message}`));
    child.on("exit", (code, signal) => resolve(signal === null ? `exit code ${code}` : signal));
  });
  const holds = [child, child.stdin, child.stdout] as unknown as { ref?(): void; unref?(): void }[];
  return { input: child.stdout, output: child.stdin, ended, hold: (on) => holds.forEach((held) => (on ? held.ref?.() : held.unref?.())) };
}

/** The judge that other processes of this test run use as well. */
export function connectTo(path: string): Channel {
  const socket = connect(path);
  const ended = new Promise<string>((resolve) => {
    socket.on("error", (error) => resolve(error.message));
    socket.on("close", () => resolve("the connection was closed"));
  });
  return { input: socket, output: socket, ended, hold: (on) => void (on ? socket.ref() : socket.unref()) };
}

let current: Promise<Judge> | undefined;

/** The judge of this process, started when it is first needed. */
export async function judge(): Promise<Judge> {
  if (current !== undefined && !(await current.catch(() => undefined))?.isOver) return current;
  const path = process.env[SHARED];
  current = Judge.over(path ? connectTo(path) : startProcess());
  return current;
}
