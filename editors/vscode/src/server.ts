// Which command serves the editor. Knows nothing of VS Code, so that plain node can test it.
import * as path from "node:path";

export interface Settings {
  /** The setting `concerto.path`, "" for none. */
  readonly path: string;
  /** The first folder that is open, if one is. */
  readonly folder: string | undefined;
}

export interface Command {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string | undefined;
}

/** The setting, else the project's own environment, else the PATH; always `concerto lsp` in the folder. */
export function serverCommand(settings: Settings, exists: (file: string) => boolean, platform = process.platform): Command {
  return { command: executable(settings, exists, platform), args: ["lsp"], cwd: settings.folder };
}

function executable({ path: given, folder }: Settings, exists: (file: string) => boolean, platform: string): string {
  const set = given.trim();
  if (set !== "") {
    const whole = set.replaceAll("${workspaceFolder}", folder ?? "");
    const relative = /[\\/]/.test(whole) && !path.isAbsolute(whole);
    return relative && folder !== undefined ? path.join(folder, whole) : whole;
  }
  const own = platform === "win32" ? ["Scripts", "concerto.exe"] : ["bin", "concerto"];
  const installed = folder === undefined ? undefined : path.join(folder, ".venv", ...own);
  return installed !== undefined && exists(installed) ? installed : "concerto";
}

/** What to tell a user whose server did not start. */
export function advice(command: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  return (
    `\`${command} lsp\` did not start: ${why}. Colours work without it; for the rest install Concerto with its extra \`lsp\`, ` +
    "and name the command in the setting `concerto.path` if it is not on the PATH."
  );
}
