// Texts as a JSON array on standard input; on standard output, for each, its tokens: [start, end, innermost scopes last], in UTF-16 units.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const wasm = readFileSync(createRequire(import.meta.url).resolve("vscode-oniguruma/release/onig.wasm"));
await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
const path = process.argv[2];
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async () => textmate.parseRawGrammar(readFileSync(path, "utf8"), path),
});
const grammar = await registry.loadGrammar("source.concerto");

function tokens(text) {
  const found = [];
  let state = textmate.INITIAL;
  let offset = 0;
  for (const line of text.split("\n")) {
    const result = grammar.tokenizeLine(line.replace(/\r$/, ""), state);
    for (const token of result.tokens) {
      found.push([offset + token.startIndex, offset + Math.min(token.endIndex, line.length), token.scopes.slice(1)]);
    }
    state = result.ruleStack;
    offset += line.length + 1;
  }
  return found;
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(tokens)));
