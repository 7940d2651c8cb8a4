/** What an agent did in one turn, in the short form of Carob. What is left out was not observed. */
export interface Trace {
  final_message?: string;
  tool_calls?: ToolCall[];
  messages?: Message[];
  input?: string;
  error?: string | { message: string; kind?: string; detail?: string };
  steps?: number;
  tokens?: { input?: number; output?: number };
  ended_by?: string;
  duration_ms?: number;
  metadata?: Record<string, unknown>;
  turns?: Trace[];
  [key: string]: unknown;
}

/** A call of a tool. Without `result`, `error` and `success`, it is not known how it ended. */
export interface ToolCall {
  name: string;
  arguments?: unknown;
  result?: unknown;
  error?: string;
  success?: boolean;
  started?: boolean;
  unfinished?: boolean;
  id?: string;
  message?: string;
}

export interface Message {
  role: string;
  content: string;
  name?: string;
}

/** One value as text: agents answer with text, or with parts of which some are text. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part) => (typeof part === "string" ? part : isRecord(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Arguments as a model wrote them: JSON in text is parsed, anything else stays as it is. */
export function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** What was thrown, in words. */
export function errorText(error: unknown): string {
  if (error instanceof Error) return `${error.name}: ${error.message}`;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
}
