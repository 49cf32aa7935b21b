// Starts `concerto lsp` for open sources, and again when its setting changes.
import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { type Executable, LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";
import { advice, serverCommand } from "./server";

let client: LanguageClient | undefined;
let steps: Promise<void> = Promise.resolve(); // starts and stops, one after another

export function activate(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.commands.registerCommand("concerto.restart", () => next(restart)),
    vscode.workspace.onDidChangeConfiguration((change) => (change.affectsConfiguration("concerto") ? next(restart) : undefined)),
    vscode.workspace.onDidGrantWorkspaceTrust(() => next(restart)),
  );
  void next(restart);
}

export function deactivate(): Promise<void> {
  return next(stop);
}

function next(step: () => Promise<void>): Promise<void> {
  steps = steps.then(step, step);
  return steps;
}

async function restart(): Promise<void> {
  await stop();
  const settings = vscode.workspace.getConfiguration("concerto");
  if (!settings.get<boolean>("server.enabled", true) || !vscode.workspace.isTrusted) {
    return;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const { command, args, cwd } = serverCommand({ path: settings.get<string>("path", ""), folder }, existsSync);
  const server: Executable = { command, args, options: { cwd } };
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "concerto", scheme: "file" },
      { language: "concerto", scheme: "untitled" },
    ],
  };
  const started = new LanguageClient("concerto", "Concerto", server, options);
  try {
    await started.start();
    client = started;
  } catch (error) {
    void vscode.window.showWarningMessage(advice(command, error));
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}
