import assert from "node:assert/strict";
import { test } from "node:test";
import { fromAgents, fromAiSdk, fromLangChain, fromMastra } from "../src/recorders.ts";
import type { ToolCall, Trace } from "../src/trace.ts";

const asked = { type: "tool-call", toolCallId: "c1", toolName: "pay", input: { order: 7 } };
const pay: ToolCall = { name: "pay", arguments: { order: 7 }, message: "step-1", id: "c1" };
const step = (...content: object[]): object => ({ content, text: "", finishReason: "tool-calls" });
const done = { content: [{ type: "text", text: "Done." }], text: "Done.", finishReason: "stop" };
const aiSdk = (...steps: object[]): object => ({ text: "Done.", steps, finishReason: "stop", totalUsage: { inputTokens: 5, outputTokens: 3 } });

const calls: [string, unknown, Partial<ToolCall>][] = [
  ["a result", [step(asked, { ...asked, type: "tool-result", output: { ok: true } })], { result: { ok: true } }],
  ["a result of null", [step(asked, { ...asked, type: "tool-result", output: undefined })], { result: null }],
  ["an error", [step(asked, { ...asked, type: "tool-error", error: new TypeError("locked") })], { error: "TypeError: locked" }],
  ["nothing that came back", [step(asked)], { unfinished: true }],
  ["a result on the way alone", [step(asked, { ...asked, type: "tool-result", output: 1, preliminary: true })], { unfinished: true }],
  ["arguments that were refused", [step({ ...asked, invalid: true, error: new Error("bad") }, { ...asked, type: "tool-error", error: "bad" })], { started: false, error: "Error: bad" }],
  ["an approval that is waited for", [step(asked, { type: "tool-approval-request", toolCall: asked })], { started: false }],
  ["the lists of older versions", [{ toolCalls: [{ toolCallId: "c1", toolName: "pay", args: { order: 7 } }], toolResults: [{ toolCallId: "c1", result: 3 }] }], { result: 3 }],
];
for (const [name, steps, ending] of calls) {
  test(`AI SDK: a call with ${name}`, async () => {
    const trace = await fromAiSdk(aiSdk(...(steps as object[]), done));
    assert.deepEqual(trace.tool_calls, [{ ...pay, ...ending }]);
  });
}

test("AI SDK: words, steps, tokens and end; promises as streams have them", async () => {
  const { text, steps, finishReason, totalUsage } = aiSdk(done) as Record<string, unknown>;
  const streamed = { text: Promise.resolve(text), steps: Promise.resolve(steps), finishReason: Promise.resolve(finishReason), totalUsage: Promise.resolve(totalUsage) };
  const expected: Trace = { final_message: "Done.", tool_calls: [], steps: 1, tokens: { input: 5, output: 3 }, ended_by: "itself" };
  assert.deepEqual(await fromAiSdk(streamed), expected);
  assert.deepEqual(await fromAiSdk([done]), { final_message: "Done.", tool_calls: [], steps: 1, ended_by: "itself" });
});

test("AI SDK: without steps, calls were not observed", async () => {
  assert.equal("tool_calls" in (await fromAiSdk({ text: "Done." })), false);
});

test("AI SDK: an agent that was stopped did not end by itself", async () => {
  const cut = await fromAiSdk({ text: "", finishReason: "length", steps: [{ ...done, finishReason: "length" }] });
  assert.equal(cut.ended_by, "length");
  const limited = await fromAiSdk({ text: "", finishReason: "tool-calls", steps: [step(asked, { ...asked, type: "tool-result", output: 1 })] });
  assert.equal(limited.ended_by, "max_steps");
});

test("OpenAI Agents: calls with results, handed to people, and without an end", () => {
  const item = (id: string): object => ({ type: "tool_call_item", rawItem: { type: "function_call", callId: id, name: "pay", arguments: '{"order":7}' } });
  const output = (id: string, value: unknown): object => ({ type: "tool_call_output_item", rawItem: { type: "function_call_result", callId: id, name: "pay" }, output: value });
  const trace = fromAgents({ newItems: [item("a"), item("b"), output("a", "paid"), item("c"), { ...item("d"), type: "tool_approval_item" }], finalOutput: "Done.", interruptions: [1] });
  assert.deepEqual(
    trace.tool_calls?.map(({ id, message, result, unfinished, started }) => ({ id, message, result, unfinished, started })),
    [
      { id: "a", message: "message-1", result: "paid", unfinished: undefined, started: undefined },
      { id: "b", message: "message-1", result: undefined, unfinished: true, started: undefined },
      { id: "c", message: "message-2", result: undefined, unfinished: true, started: undefined },
      { id: "d", message: "message-2", result: undefined, unfinished: undefined, started: false },
    ],
  );
  assert.equal("ended_by" in trace, false);
  assert.equal("tool_calls" in fromAgents({ finalOutput: "Done." }), false);
});

test("LangChain: the turn behind the last human message, however messages are written", () => {
  const old = [{ type: "human", content: "before" }, { type: "ai", content: "", tool_calls: [{ id: "x", name: "old", args: {} }] }];
  const turn = [
    { getType: () => "human", content: "Pay" },
    { type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: { content: "", tool_calls: [{ id: "a", name: "pay", args: { order: 7 } }, { id: "b", name: "pay", args: {} }], usage_metadata: { input_tokens: 5, output_tokens: 3 } } },
    { type: "tool", tool_call_id: "a", content: '{"ok":true}', status: "success" },
    { type: "tool", tool_call_id: "b", content: "locked", status: "error" },
    { type: "ai", content: [{ type: "text", text: "Done." }], invalid_tool_calls: [{ id: "c", name: "pay", args: "{", error: "not JSON" }] },
  ];
  const trace = fromLangChain({ messages: [...old, ...turn] });
  assert.deepEqual(trace.tool_calls?.map(({ id, result, error, started }) => [id, result, error, started]), [
    ["a", { ok: true }, undefined, undefined],
    ["b", undefined, "locked", undefined],
    ["c", undefined, "not JSON", false],
  ]);
  assert.deepEqual([trace.final_message, trace.tokens, trace.messages?.length], ["Done.", { input: 5, output: 3 }, 7]);
});

test("Mastra: parts with a payload", async () => {
  const part = { toolCallId: "c1", toolName: "pay", args: { order: 7 } };
  const result = { text: "Done.", steps: [{ toolCalls: [{ type: "tool-call", payload: part }], toolResults: [{ type: "tool-result", payload: { ...part, result: "locked", isError: true } }] }] };
  assert.deepEqual((await fromMastra(result)).tool_calls, [{ ...pay, error: "locked" }]);
  assert.equal((await fromMastra({ error: new Error("down") })).error, "Error: down");
});
