import { appendFileSync } from "node:fs";
import { generateText, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";

const usage = { inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 3, text: 3, reasoning: 0 } };

/** A desk whose model is scripted: it looks up, or refunds where the prompt names a refund. */
function reply(prompt: string, step: number): any {
  const name = prompt.includes("refund") ? "issue_refund" : "look_up";
  const calls = step === 0 && /\d/.test(prompt);
  if (calls) return { content: [{ type: "tool-call", toolCallId: "c1", toolName: name, input: JSON.stringify({ order: Number(/\d+/.exec(prompt)) }) }], finishReason: { unified: "tool-calls" }, usage, warnings: [] };
  return { content: [{ type: "text", text: "Sorry, it is done." }], finishReason: { unified: "stop" }, usage, warnings: [] };
}

const log = (name: string, how: string): void => appendFileSync("tools.log", `${name} ${how}\n`);
const inputSchema = z.object({ order: z.number() });

export async function desk(prompt: string) {
  let step = 0;
  return generateText({
    model: new MockLanguageModelV3({ doGenerate: async () => reply(prompt, step++) }),
    tools: {
      look_up: tool({ inputSchema, execute: async ({ order }) => (log("look_up", "done"), { order, state: "open" }) }),
      issue_refund: tool({
        inputSchema,
        execute: async ({ order }) => {
          log("issue_refund", order % 2 ? "done" : "failed");
          if (order % 2 === 0) throw new Error("the order is locked");
          return { refunded: order };
        },
      }),
    },
    stopWhen: stepCountIs(3),
    prompt,
  });
}
