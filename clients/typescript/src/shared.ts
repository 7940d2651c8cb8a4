import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SHARED, readLines, startProcess } from "./judge.ts";

interface Peer {
  socket: Socket;
  runs: Set<string>;
}

/** What is used of a project of vitest: the files whose changes run every test again. */
interface Project {
  vitest: { config: { forceRerunTriggers: string[] } };
}

/**
 * One judge for all files of a vitest run, which in watch mode stays between runs and judges again when a suite changes:
 * `globalSetup: "carob/vitest/setup"` in the configuration of vitest.
 */
export default async function setup(project: Project): Promise<() => void> {
  project.vitest.config.forceRerunTriggers.push("**/*.carob.{yaml,yml,json}", "**/carob.toml");
  const folder = mkdtempSync(join(tmpdir(), "carob-"));
  const path = join(folder, "judge");
  const channel = startProcess();
  const peers = new Map<string, Peer>();
  let ready: string | undefined;
  let count = 0;
  let why: string | undefined;

  const server = createServer((socket) => {
    const name = String(++count);
    const peer: Peer = { socket, runs: new Set() };
    peers.set(name, peer);
    socket.on("error", () => undefined);
    if (ready !== undefined) socket.write(`${ready}\n`);
    if (why !== undefined) socket.destroy();
    readLines(socket, (line) => {
      const message = JSON.parse(line) as { id: string; do: string; run?: string };
      if (message.do === "finish" && message.run !== undefined) peer.runs.delete(message.run);
      channel.output.write(`${JSON.stringify({ ...message, id: `${name}:${message.id}` })}\n`);
    });
    socket.on("close", () => {
      peers.delete(name);
      for (const run of peer.runs) channel.output.write(`${JSON.stringify({ protocol: 1, id: `${name}:`, do: "finish", run, interrupted: true })}\n`);
    });
  });

  channel.output.on("error", () => undefined);
  readLines(channel.input, (line) => {
    const reply = JSON.parse(line) as { id?: string | null; is: string; run?: string };
    if (reply.is === "ready") {
      ready = line;
      for (const { socket } of peers.values()) socket.write(`${line}\n`);
      return;
    }
    const [name = "", ...id] = (reply.id ?? "").split(":");
    const peer = peers.get(name);
    if (reply.is === "run" && reply.run !== undefined) peer?.runs.add(reply.run);
    peer?.socket.write(`${JSON.stringify({ ...reply, id: id.join(":") })}\n`);
  });
  void channel.ended.then((how) => {
    why = how;
    for (const { socket } of peers.values()) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
  process.env[SHARED] = path;
  return () => {
    delete process.env[SHARED];
    for (const { socket } of peers.values()) socket.destroy();
    server.close();
    channel.output.end();
    channel.hold(false);
    rmSync(folder, { recursive: true, force: true });
  };
}
