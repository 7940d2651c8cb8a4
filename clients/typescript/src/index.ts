export { CarobError } from "./errors.ts";
export { ContractError } from "./evidence.ts";
export { matchers, type Expected } from "./expect.ts";
export { findCarob, VERSION } from "./finder.ts";
export { judge, Judge } from "./judge.ts";
export type { Difference, FinishedRun, Judged, ListedCase, LoadedSuite, Verdict } from "./protocol.ts";
export { fromAgents, fromAiSdk, fromLangChain, fromMastra } from "./recorders.ts";
export type { Answer, SuiteOptions, Turn } from "./suite.ts";
export type { Message, ToolCall, Trace } from "./trace.ts";
