// The scripted desk agent on the AI SDK itself, with its own test double of a model.
import { createServer } from "node:http";
import { convertToModelMessages, stepCountIs, streamText, tool } from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { z } from "zod";

const usage = { inputTokens: { total: 5 }, outputTokens: { total: 3 } };
const words = (message) => message.content.map((part) => part.text ?? "").join("");

function spoken(answer) {
  const deltas = answer.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "t", delta }));
  return answer ? [{ type: "text-start", id: "t" }, ...deltas, { type: "text-end", id: "t" }] : [];
}

// What the model says: decided by the last thing that the user said.
function script(prompt) {
  const said = prompt.filter((message) => message.role === "user").map(words);
  const last = prompt.at(-1);
  const asked = said.at(-1);
  if (asked === "crash") throw new Error("the model is down");
  if (said.includes("nothing")) return spoken("");
  if (asked.startsWith("weather") && last.role !== "tool") {
    const input = JSON.stringify({ city: asked.split(" ").at(-1) });
    return [{ type: "tool-call", toolCallId: `call-${prompt.length}`, toolName: "weather", input }];
  }
  if (asked.startsWith("weather")) {
    const { type, value } = last.content[0].output;
    return spoken(type.startsWith("error") ? "I could not find out." : `It is ${value}.`);
  }
  return spoken(asked === "what did I say?" ? `You said: ${said[0]}` : "Hello there.");
}

const model = new MockLanguageModelV3({
  doStream: async ({ prompt }) => {
    const parts = script(prompt);
    const unified = parts[0]?.type === "tool-call" ? "tool-calls" : "stop";
    const chunks = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason: { unified }, usage }];
    return { stream: simulateReadableStream({ chunks }) };
  },
});

const weather = tool({
  description: "The weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => {
    if (city === "Nowhere") throw new Error("there is no such city");
    return `sunny in ${city}`;
  },
});

createServer(async (request, response) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  let body = "";
  for await (const part of request) body += part;
  const messages = await convertToModelMessages(JSON.parse(body).messages);
  const result = streamText({ model, messages, tools: { weather }, stopWhen: stepCountIs(5), onError: () => {} });
  result.pipeUIMessageStreamToResponse(response);
}).listen(Number(process.argv[2]), "127.0.0.1");
