/** One value as text: agents answer with text, or with parts of which some are text. */
export function textOf(content) {
    if (typeof content === "string")
        return content;
    if (!Array.isArray(content))
        return "";
    return content
        .map((part) => (typeof part === "string" ? part : isRecord(part) && typeof part["text"] === "string" ? part["text"] : ""))
        .join("");
}
export function isRecord(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
/** Arguments as a model wrote them: JSON in text is parsed, anything else stays as it is. */
export function parsed(value) {
    if (typeof value !== "string")
        return value;
    try {
        return JSON.parse(value);
    }
    catch {
        return value;
    }
}
/** What was thrown, in words. */
export function errorText(error) {
    if (error instanceof Error)
        return `${error.name}: ${error.message}`;
    return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
}
