import { appendFileSync } from "node:fs";
import { expect, fromAiSdk, suite } from "carob/vitest";
import { test } from "vitest";
import { desk } from "./desk.ts";

suite("desk.carob.yaml", async (prompt, turn) => {
  const trace = await fromAiSdk(await desk(prompt));
  appendFileSync("traces.jsonl", `${JSON.stringify({ case_id: turn.case, ...trace })}\n`);
  return trace;
});

test("keys", async () => {
  const trace = await fromAiSdk(await desk("Please refund 4."));
  await expect(trace).toKeep({ tool_calls: [{ tool: "issue_refund", success: false }] });
  await expect(trace).not.toKeep({ tool_calls_none: ["issue_refund"] });
  await expect(expect({ final_message: "x" }).not.toKeep({ tool_calls_none: ["issue_refund"] })).rejects.toThrow("UNKNOWN");
});
