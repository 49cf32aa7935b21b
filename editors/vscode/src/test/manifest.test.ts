// The files that the manifest names are there, and are what it says.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import * as path from "node:path";
import { test } from "node:test";

const root = path.join(__dirname, "..", "..");
const read = (file: string) => JSON.parse(readFileSync(path.join(root, file), "utf8"));
const manifest = read("package.json");

test("the language has its grammar and its configuration", () => {
  const [language] = manifest.contributes.languages;
  const [grammar] = manifest.contributes.grammars;
  assert.equal(language.id, grammar.language);
  assert.equal(read(grammar.path).scopeName, grammar.scopeName);
  const configuration = read(language.configuration);
  for (const pattern of [configuration.wordPattern, ...Object.values<string>(configuration.indentationRules)]) new RegExp(pattern);
  assert.deepEqual(configuration.comments, { lineComment: "//", blockComment: ["/*", "*/"] });
});

test("every setting and command of the source is declared", () => {
  const source = readFileSync(path.join(root, "src", "extension.ts"), "utf8");
  const declared = Object.keys(manifest.contributes.configuration.properties);
  const used = [...source.matchAll(/settings\.get<\w+>\("([\w.]+)"/g)].map((found) => `concerto.${found[1]}`);
  assert.deepEqual(used.sort(), declared.sort());
  const commands = [...source.matchAll(/registerCommand\("([\w.]+)"/g)].map((found) => found[1]);
  assert.deepEqual(commands, manifest.contributes.commands.map((one: { command: string }) => one.command));
});

test("what is packed is what the manifest needs", () => {
  const ignored = readFileSync(path.join(root, ".vscodeignore"), "utf8").split("\n").filter(Boolean);
  assert.ok(ignored.includes("**") && ignored.includes("!dist/extension.js") && ignored.includes("!syntaxes/**"));
  assert.ok(existsSync(path.join(root, "README.md")) && existsSync(path.join(root, "LICENSE")));
});
