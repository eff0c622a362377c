// Strips the types of a file and resolves imports without an extension.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };

export function resolve(specifier, context, next) {
  const bare = specifier.startsWith(".") && !/\.\w+$/.test(specifier);
  return next(bare ? `${specifier}.ts` : specifier, context);
}

export function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const source = ts.transpileModule(readFileSync(fileURLToPath(url), "utf8"), { compilerOptions }).outputText;
  return { format: "module", source, shortCircuit: true };
}
