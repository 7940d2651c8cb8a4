import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { findCarob, VERSION } from "../src/finder.ts";

const root = mkdtempSync(join(tmpdir(), "carob-finder-"));
const program = (name: string, text = "#!/bin/sh\n"): string => {
  const file = join(root, name);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
};
const carob = program("bin/carob");
const uvx = program("uv/uvx");
program("node_modules/.bin/carob");
program("elsewhere/carob", "#!/usr/bin/env node\n");
const path = (...folders: string[]): NodeJS.ProcessEnv => ({ PATH: folders.map((folder) => join(root, folder)).join(delimiter) });

test("CAROB comes first, with spaces or with arguments", () => {
  const spaced = program("a folder/carob");
  assert.deepEqual(findCarob({ ...path("bin"), CAROB: spaced }), [spaced]);
  assert.deepEqual(findCarob({ ...path("bin"), CAROB: "carob --quiet" }), ["carob", "--quiet"]);
  assert.throws(() => findCarob({ ...path("bin"), CAROB: "nowhere/carob" }), /CAROB: .*nowhere.* Set it to .*\[no-carob\]/);
});

test("then the PATH, without the command of this package, then uvx of the same version", () => {
  assert.deepEqual(findCarob(path("node_modules/.bin", "elsewhere", "bin", "uv")), [carob]);
  assert.deepEqual(findCarob(path("node_modules/.bin", "elsewhere", "uv")), [uvx, `carob==${VERSION}`]);
  assert.throws(() => findCarob(path("node_modules/.bin")), /Carob was not found\. Install it: uv tool install .*\[no-carob\]/);
});
