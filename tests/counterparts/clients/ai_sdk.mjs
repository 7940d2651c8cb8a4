// An agent with one tool on the AI SDK. A case is read from stdin, the answer is one JSON line.
import { readFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const calls = [];
const { prompt } = JSON.parse(readFileSync(0, "utf8"));
// The SDK of Anthropic expects /v1 in its address, which that of other languages does not.
const baseURL = process.env.ANTHROPIC_BASE_URL + "/v1";
const model = prompt.includes("A2") ? createAnthropic({ baseURL })("m") : createOpenAI().chat("m");
const get_balance = tool({
  description: "The balance of an account.",
  inputSchema: z.object({ account: z.string() }),
  execute: async ({ account }) => {
    const result = { balance: "12.50" };
    calls.push({ name: "get_balance", arguments: { account }, result, success: true });
    return result;
  },
});
const how = { model, prompt, tools: { get_balance }, stopWhen: stepCountIs(5), maxOutputTokens: 100 };
const answer = process.argv[2] === "stream" ? await streamText(how).text : (await generateText(how)).text;
console.log(JSON.stringify({ final_message: answer, tool_calls: calls }));
