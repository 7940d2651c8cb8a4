#!/usr/bin/env node
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findCarob } from "./finder.ts";

/** `npx carob ...`: the command line of Carob, with its streams, signals and exit code. */
function main(): void {
  let command: string[];
  try {
    command = findCarob();
  } catch (error) {
    console.error(`carob: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(4);
  }
  const [program = "", ...before] = command;
  const child = spawn(program, [...before, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`carob: ${program} could not be started: ${error.message} [no-carob]`);
    process.exit(4);
  });
  child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? "SIGTERM"]));
}

main();
