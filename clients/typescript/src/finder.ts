import { accessSync, closeSync, constants, openSync, readFileSync, readSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { CarobError } from "./errors.ts";

/** The version of this package, which is that of Carob. */
export const VERSION = (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

/** The command that starts Carob: `CAROB`, `carob` on the PATH, or `uvx` with this very version. */
export function findCarob(env: NodeJS.ProcessEnv = process.env): string[] {
  const named = env["CAROB"]?.trim();
  if (named) {
    const command = isProgram(named) ? [named] : named.split(/\s+/);
    if (command[0] !== undefined && (isProgram(command[0]) || onPath(command[0], env) !== undefined)) return command;
    throw new CarobError(`there is no program ${JSON.stringify(named)}.`, { where: "CAROB", fix: "Set it to the command that starts Carob, or unset it.", slug: "no-carob" });
  }
  const carob = onPath("carob", env);
  if (carob !== undefined) return [carob];
  const uvx = onPath("uvx", env);
  if (uvx !== undefined) return [uvx, `carob==${VERSION}`];
  throw new CarobError("Carob was not found.", { fix: `Install it: uv tool install carob==${VERSION} (or pipx), or set CAROB to its command.`, slug: "no-carob" });
}

/** The program of this name on the PATH; not the one that npm made of this package, which would call itself. */
function onPath(name: string, env: NodeJS.ProcessEnv): string | undefined {
  return (env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => folder && !/[\\/]node_modules[\\/]\.bin[\\/]?$/.test(folder))
    .map((folder) => join(folder, name))
    .find((file) => isProgram(file) && !isOurs(file));
}

function isOurs(file: string): boolean {
  const start = Buffer.alloc(32);
  const descriptor = openSync(file, "r");
  readSync(descriptor, start);
  closeSync(descriptor);
  return start.toString("latin1").startsWith("#!/usr/bin/env node");
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
