import { errorText, isRecord, parsed, textOf } from "./trace.js";
/** How an agent ended, by the finish reason of its last step; nothing where that does not say it. */
function endedBy(reason, calls) {
    if (typeof reason !== "string" || reason === "" || reason === "unknown" || reason === "other")
        return {};
    if (reason === "stop")
        return { ended_by: "itself" };
    if (reason !== "tool-calls")
        return { ended_by: reason };
    return calls.some((call) => call.unfinished) ? {} : { ended_by: "max_steps" };
}
function tokensOf(usage) {
    if (!isRecord(usage))
        return {};
    const count = (...names) => names.map((name) => usage[name]).find((value) => typeof value === "number");
    const input = count("inputTokens", "promptTokens", "input_tokens");
    const output = count("outputTokens", "completionTokens", "output_tokens");
    if (!input && !output)
        return {}; // nothing was counted
    return { tokens: { ...(input !== undefined && { input }), ...(output !== undefined && { output }) } };
}
/** Calls by their ids, as their parts come in: what was asked for, what came back, what was thrown. */
class Calls {
    list = [];
    #byId = new Map();
    /** A call that was asked for. Until something comes back, it is not finished. */
    add(id, name, args, message) {
        const known = this.#byId.get(String(id));
        if (known !== undefined)
            return known;
        const call = { name: String(name), arguments: args ?? {}, message, unfinished: true };
        if (id !== undefined && id !== null) {
            call.id = String(id);
            this.#byId.set(call.id, call);
        }
        this.list.push(call);
        return call;
    }
    /** The call of a result; one without a request that is known is a call as well. */
    of(id, name, message) {
        return this.#byId.get(String(id)) ?? this.add(id, name ?? "", undefined, message);
    }
    static succeed(call, result) {
        delete call.unfinished;
        call.result = result ?? null;
    }
    static fail(call, error) {
        delete call.unfinished;
        call.error = errorText(error) || "error";
    }
    /** It was asked for and did not run. */
    static refuse(call, error) {
        delete call.unfinished;
        call.started = false;
        if (error !== undefined)
            call.error = errorText(error);
    }
}
/** The result of `generateText` or `streamText` of the AI SDK, 4 and later, or its `steps`. */
export async function fromAiSdk(result) {
    const given = Array.isArray(result) ? { steps: result } : isRecord(result) ? result : Object(result);
    return readSteps(await given["steps"], await given["text"], await (given["totalUsage"] ?? given["usage"]), await given["finishReason"]);
}
/** What `agent.generate` or `agent.stream` of Mastra gives. */
export async function fromMastra(result) {
    const given = result;
    const error = await given["error"];
    if (error !== undefined && error !== null)
        return { error: errorText(error) };
    return readSteps(await given["steps"], await given["text"], await (given["totalUsage"] ?? given["usage"]), await given["finishReason"]);
}
/** Steps hold every call; without them, none was observed. */
function readSteps(steps, text, usage, reason) {
    const last = Array.isArray(steps) ? steps.at(-1) : undefined;
    const words = { final_message: String(text ?? last?.["text"] ?? "") };
    if (!Array.isArray(steps))
        return { ...words, ...tokensOf(usage), ...endedBy(reason, []) };
    const calls = new Calls();
    steps.forEach((step, number) => partsOf(step).forEach((part) => readPart(part, calls, `step-${number + 1}`)));
    return { ...words, tool_calls: calls.list, steps: steps.length, ...tokensOf(usage), ...endedBy(reason ?? last?.["finishReason"], calls.list) };
}
/** The parts of a step: its content, or the lists of calls and results that older versions and Mastra give. */
function partsOf(step) {
    const typed = (kind, parts) => (Array.isArray(parts) ? parts.map((part) => ({ type: kind, ...part })) : []);
    const content = Array.isArray(step["content"]) ? step["content"] : [];
    if (content.some((part) => String(part["type"]).startsWith("tool-")))
        return content;
    return [...typed("tool-call", step["toolCalls"]), ...typed("tool-result", step["toolResults"])];
}
function readPart(given, calls, message) {
    const part = isRecord(given["payload"]) ? { ...given["payload"], type: given["type"] } : given;
    const { type, toolCallId: id, toolName: name } = part;
    const asked = isRecord(part["toolCall"]) ? part["toolCall"] : undefined;
    if (type === "tool-call") {
        const call = calls.add(id, name, part["input"] ?? part["args"], message);
        if (part["invalid"] === true)
            Calls.refuse(call, part["error"] ?? "invalid");
    }
    else if (type === "tool-result" && part["preliminary"] !== true) {
        const call = calls.of(id, name, message);
        const value = part["output"] ?? part["result"];
        if (part["isError"] === true)
            Calls.fail(call, value);
        else
            Calls.succeed(call, value);
    }
    else if (type === "tool-error") {
        const call = calls.of(id, name, message);
        if (call.started === false)
            return; // it is said why already
        Calls.fail(call, part["error"]);
    }
    else if (type === "tool-approval-request" || type === "tool-output-denied") {
        Calls.refuse(calls.of(asked?.["toolCallId"] ?? id, asked?.["toolName"] ?? name, message));
    }
}
/** What `run` of the OpenAI Agents SDK for JavaScript gives. */
export function fromAgents(result) {
    const given = result;
    const waits = Boolean(given.interruptions?.length);
    const output = waits ? undefined : given.finalOutput;
    const words = { final_message: typeof output === "string" ? output : output === undefined || output === null ? "" : JSON.stringify(output) };
    if (!Array.isArray(given.newItems))
        return words;
    const calls = new Calls();
    let message = 0;
    let before = "";
    for (const item of given.newItems) {
        const kind = String(item["type"]);
        const raw = isRecord(item["rawItem"]) ? item["rawItem"] : {};
        if (kind === "tool_call_output_item")
            finishCall(calls, raw, item["output"], message);
        if (kind === "tool_call_item" || kind === "tool_approval_item") {
            if (before !== "tool_call_item")
                message += 1; // what one response asks for comes in a row
            const call = calls.add(raw["callId"] ?? raw["id"], raw["name"] ?? raw["type"], parsed(raw["arguments"]), `message-${message}`);
            if (kind === "tool_approval_item")
                Calls.refuse(call);
            else if (raw["type"] === "hosted_tool_call" && raw["output"] !== undefined)
                Calls.succeed(call, raw["output"]);
        }
        before = kind;
    }
    const steps = Array.isArray(given.rawResponses) ? { steps: given.rawResponses.length } : {};
    return { ...words, tool_calls: calls.list, ...steps, ...tokensOf(given.state?.usage), ...(waits ? {} : { ended_by: "itself" }) };
}
function finishCall(calls, raw, output, message) {
    const call = calls.of(raw["callId"], raw["name"], `message-${message}`);
    delete call.started; // it waited for a person, and then it ran
    Calls.succeed(call, output ?? textOf(raw["output"]));
}
const HUMAN = ["human", "user"];
/** Messages of LangChain.js or LangGraph.js: the state of an agent, or its list. The turn is what follows the last human message. */
export function fromLangChain(state) {
    const given = Array.isArray(state) ? state : state["messages"];
    if (!Array.isArray(given))
        return { error: { kind: "bad-answer", message: "these are not messages of LangChain" } };
    const all = given.map((message) => message);
    const last = all.findLastIndex((message) => HUMAN.includes(kindOf(message)));
    const turn = all.slice(last + 1);
    const calls = new Calls();
    turn.forEach((message, number) => readMessage(message, calls, number));
    const answer = turn.findLast((message) => ["ai", "assistant"].includes(kindOf(message)));
    const messages = all.map((message) => ({ role: kindOf(message), content: textOf(fieldsOf(message)["content"]) }));
    const usage = turn.map((message) => fieldsOf(message)["usage_metadata"]).filter(isRecord);
    const sum = (name) => usage.reduce((total, counts) => total + Number(counts[name] ?? 0), 0);
    return {
        final_message: answer === undefined ? "" : textOf(fieldsOf(answer)["content"]),
        tool_calls: calls.list,
        messages,
        ...(usage.length ? { tokens: { input: sum("input_tokens"), output: sum("output_tokens") } } : {}),
    };
}
function readMessage(message, calls, number) {
    const fields = fieldsOf(message);
    const list = (name) => (Array.isArray(fields[name]) ? fields[name] : []);
    for (const call of list("tool_calls"))
        calls.add(call["id"], call["name"], call["args"], `message-${number}`);
    for (const call of list("invalid_tool_calls"))
        Calls.refuse(calls.add(call["id"], call["name"], call["args"], `message-${number}`), call["error"] ?? "invalid");
    if (kindOf(message) !== "tool")
        return;
    const call = calls.of(fields["tool_call_id"], fields["name"], `message-${number}`);
    const content = textOf(fields["content"]);
    if (fields["status"] === "error")
        Calls.fail(call, content);
    else
        Calls.succeed(call, parsed(content));
}
/** The fields of a message; one that was serialized has them in `kwargs`. */
function fieldsOf(message) {
    return isRecord(message["kwargs"]) ? message["kwargs"] : message;
}
function kindOf(message) {
    const get = message["getType"] ?? message["_getType"];
    if (typeof get === "function")
        return String(get.call(message));
    if (Array.isArray(message["id"]))
        return String(message["id"].at(-1)).replace(/Message(Chunk)?$/, "").toLowerCase();
    return String(message["type"] ?? message["role"] ?? "");
}
