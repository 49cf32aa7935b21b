// The command that the extension starts, spoken to with the client's own library. CONCERTO names it; without it there is no test.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";
import { serverCommand } from "../server";

interface Diagnostics {
  readonly uri: string;
  readonly diagnostics: { readonly code: string; readonly range: { readonly start: { readonly line: number } } }[];
}

test("it answers an editor", { skip: process.env.CONCERTO === undefined && "CONCERTO names no command", timeout: 60_000 }, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "concerto-"));
  const { command, args, cwd } = serverCommand({ path: process.env.CONCERTO ?? "", folder }, existsSync);
  const server = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
  const connection = createMessageConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
  const published = new Promise<Diagnostics>((resolve) => connection.onNotification("textDocument/publishDiagnostics", resolve));
  connection.listen();
  const rootUri = pathToFileURL(folder).href;
  const { capabilities } = await connection.sendRequest<{ capabilities: Record<string, never> }>("initialize", {
    processId: process.pid,
    rootUri,
    capabilities: { textDocument: { semanticTokens: { requests: { full: true }, tokenTypes: [], tokenModifiers: [], formats: ["relative"] } } },
  });
  for (const name of ["hoverProvider", "completionProvider", "semanticTokensProvider", "documentFormattingProvider"]) {
    assert.ok(capabilities[name], name);
  }
  await connection.sendNotification("initialized", {});
  const uri = `${rootUri}/main.conc`;
  const textDocument = { uri, languageId: "concerto", version: 1, text: 'fn main() {\n    emit("out", x);\n}\n' };
  await connection.sendNotification("textDocument/didOpen", { textDocument });
  const found = await published;
  assert.equal(found.uri, uri);
  assert.deepEqual(found.diagnostics.map((one) => [one.code, one.range.start.line]), [["E1001", 1]]);
  const tokens = await connection.sendRequest<{ data: number[] }>("textDocument/semanticTokens/full", { textDocument: { uri } });
  assert.ok(tokens.data.length > 0 && tokens.data.length % 5 === 0);
  await connection.sendRequest("shutdown");
  await connection.sendNotification("exit");
  const code = await new Promise((resolve) => server.on("exit", resolve));
  assert.equal(code, 0);
  connection.dispose();
  rmSync(folder, { recursive: true });
});
