// The paths of all pages, read from the source of src/routes.tsx, so that a test that covers all pages fails when a page is
// added to the console and not to the test.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const FILE = join(import.meta.dirname, "../src/routes.tsx");

/** A page: its path, with parameters such as `:project`, and the source of its component. */
export interface Route {
  path: string;
  component: string;
}

/** All pages of the console, without redirects and layouts. */
export function pages(): Route[] {
  const source = ts.createSourceFile(FILE, readFileSync(FILE, "utf8"), ts.ScriptTarget.ES2022, true, ts.ScriptKind.TSX);
  const lists = new Map<string, ts.ArrayLiteralExpression>();
  source.forEachChild((node) => {
    if (!ts.isVariableStatement(node)) return;
    for (const { name, initializer } of node.declarationList.declarations)
      if (initializer && ts.isArrayLiteralExpression(initializer)) lists.set(name.getText(), initializer);
  });
  const walk = (list: ts.ArrayLiteralExpression | undefined, base: string): Route[] => {
    if (!list) throw new Error(`${FILE} has no list of routes with the expected name.`);
    return list.elements.flatMap((element) => {
      if (ts.isSpreadElement(element)) return walk(lists.get(element.expression.getText()), base);
      if (!ts.isObjectLiteralExpression(element)) throw new Error(`${element.getText()} is not a route.`);
      const field = (name: string) =>
        element.properties.filter(ts.isPropertyAssignment).find((property) => property.name.getText() === name)
          ?.initializer;
      const path = field("path");
      const children = field("children");
      return (path && ts.isArrayLiteralExpression(path) ? [...path.elements] : [path]).flatMap((one) => {
        if (!one || !ts.isStringLiteral(one)) throw new Error(`${element.getText()} has no path.`);
        const full = `${base}/${one.text}`.replace(/\/+/g, "/").replace(/(.)\/$/, "$1");
        if (children && ts.isArrayLiteralExpression(children)) return walk(children, full);
        return [{ path: full, component: field("component")?.getText() ?? "" }];
      });
    });
  };
  const all = walk(lists.get("routes"), "");
  return all.filter(({ component }) => component.startsWith("page("));
}
