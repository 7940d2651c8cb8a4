/** The messages of `carob judge`, protocol 1; docs/judge.schema.json of Carob describes all of them. */
export const PROTOCOL = 1;

export interface ListedCase {
  id: string;
  prompts: string[];
  line: number;
  category?: string;
  tags?: string[];
  skip?: string;
  xfail?: string;
}

export interface Difference {
  check: string;
  status: string;
  expected: unknown;
  found: unknown;
}

export interface Check {
  name: string;
  group: string;
  status: string;
  expected?: string;
  found?: string;
  turn?: number;
}

export interface Verdict {
  status: string;
  reason?: string;
  checks?: Check[];
}

/** What a case or trace came to. `lines` explain it to a person. */
export interface Judged {
  is: "judged";
  outcome: "passed" | "failed" | "skipped";
  status: string;
  reason: string;
  lines: string[];
  differences: Difference[];
  verdict: Verdict;
}

export interface LoadedSuite {
  is: "suite";
  suite: string;
  file: string;
  name: string;
  cases: ListedCase[];
  warnings: string[];
}

export interface StartedRun {
  is: "run";
  run: string;
}

export interface FinishedRun {
  is: "finished";
  journal: string;
  reports: string[];
  summary: string;
  exit_code: number;
  problems: string[];
}

/** A prompt for the agent. `conversation` is the same for all turns of one run of a case. */
export interface Ask {
  is: "ask";
  ask: string;
  case: string;
  conversation: string;
  turn: number;
  prompt: string;
}

export interface Failure {
  is: "error";
  where: string;
  cause: string;
  fix: string;
  slug: string;
  problems?: { where: string; cause: string; fix: string; slug: string }[];
}

export type Reply = (Judged | LoadedSuite | StartedRun | FinishedRun | Ask | Failure | { is: "closed" }) & { id: string | null };
export type Ready = { is: "ready"; protocol: number; version: string };
