// What is started, as plain node sees it.
import assert from "node:assert/strict";
import * as path from "node:path";
import { test } from "node:test";
import { advice, serverCommand } from "../server";

const nothing = () => false;

test("without a setting it is the command on the PATH", () => {
  assert.deepEqual(serverCommand({ path: "", folder: undefined }, nothing), { command: "concerto", args: ["lsp"], cwd: undefined });
  assert.deepEqual(serverCommand({ path: " ", folder: "/p" }, nothing), { command: "concerto", args: ["lsp"], cwd: "/p" });
});

test("the environment of the project comes before the PATH", () => {
  const own = path.join("/p", ".venv", "bin", "concerto");
  assert.equal(serverCommand({ path: "", folder: "/p" }, (file) => file === own, "linux").command, own);
  const windows = path.join("/p", ".venv", "Scripts", "concerto.exe");
  assert.equal(serverCommand({ path: "", folder: "/p" }, (file) => file === windows, "win32").command, windows);
});

test("the setting comes before both", () => {
  const always = () => true;
  assert.equal(serverCommand({ path: "/opt/concerto", folder: "/p" }, always).command, "/opt/concerto");
  assert.equal(serverCommand({ path: "concerto-dev", folder: "/p" }, always).command, "concerto-dev");
  assert.equal(serverCommand({ path: "tools/concerto", folder: "/p" }, always).command, path.join("/p", "tools", "concerto"));
  assert.equal(serverCommand({ path: "${workspaceFolder}/c", folder: "/p" }, always).command, "/p/c");
});

test("the advice names the command, the reason and the setting", () => {
  const text = advice("concerto", new Error("spawn concerto ENOENT"));
  for (const part of ["`concerto lsp`", "ENOENT", "`lsp`", "`concerto.path`"]) assert.ok(text.includes(part), part);
});
