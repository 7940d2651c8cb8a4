// What the recorder makes of real runs of the OpenAI Agents SDK with a scripted model, and what its tools logged.
import { Agent, run, setTracingDisabled, tool, Usage } from "@openai/agents";
import { fromAgents } from "carob";
import { z } from "zod";

setTracingDisabled(true);
const parameters = z.object({ order: z.number() });
const log = [];
const refund = tool({
  name: "issue_refund",
  description: "refund",
  parameters,
  execute: async ({ order }) => {
    log.push(order);
    if (order === 2) throw new Error("the order is locked");
    return { refunded: order };
  },
});
const remove = tool({ name: "delete_order", description: "delete", parameters, needsApproval: true, execute: async () => log.push("deleted") });

function scripted(...replies) {
  return {
    async getResponse() {
      const calls = replies.shift() ?? [];
      const output = calls.map(([name, order]) => ({ type: "function_call", callId: `${name}-${order}`, name, arguments: JSON.stringify({ order }), status: "completed" }));
      const words = { type: "message", role: "assistant", id: "m", status: "completed", content: [{ type: "output_text", text: "Done." }] };
      return { output: output.length ? output : [words], usage: new Usage({ inputTokens: 5, outputTokens: 3 }), responseId: "r" };
    },
  };
}

const agent = (...replies) => new Agent({ name: "desk", instructions: "x", model: scripted(...replies), tools: [refund, remove] });
const done = fromAgents(await run(agent([["issue_refund", 1], ["issue_refund", 2]]), "Refund 1 and 2."));
const waits = fromAgents(await run(agent([["delete_order", 3]]), "Delete 3."));
console.log(JSON.stringify({ done, waits, log }));
