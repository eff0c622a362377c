// Reads openapi.json for the API reference: operations, types of schemas and examples. Pure.

export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  enum?: readonly unknown[];
  default?: unknown;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
  additionalProperties?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  description?: string;
  required?: boolean;
  schema: Schema;
}

type Content = Readonly<Record<string, { schema?: Schema }>>;

interface RawOperation {
  tags?: readonly string[];
  summary?: string;
  description?: string;
  operationId?: string;
  parameters?: readonly Parameter[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, { description?: string; content?: Content; $ref?: string }>>;
  "x-right"?: string;
}

export interface Spec {
  info: { title: string; version: string; description?: string };
  paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  components: { schemas: Readonly<Record<string, Schema>> };
}

export interface Operation extends RawOperation {
  id: string;
  method: string;
  path: string;
  tag: string;
}

const METHODS = ["get", "head", "post", "put", "patch", "delete"];

/** All operations, in file order. */
export function operations(spec: Spec): Operation[] {
  return Object.entries(spec.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => {
      const raw = item[method];
      return raw
        ? [{ ...raw, id: raw.operationId ?? `${method} ${path}`, method, path, tag: raw.tags?.[0] ?? "other" }]
        : [];
    }),
  );
}

/** Whether an operation contains all search words. */
export function matches(operation: Operation, words: string): boolean {
  const text = [
    operation.method,
    operation.path,
    operation.summary,
    operation.description,
    operation.tag,
    ...(operation.parameters ?? []).map(({ name }) => name),
  ]
    .join(" ")
    .toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The name of the referenced schema. */
export function nameOf(schema: Schema | undefined): string | undefined {
  return schema?.$ref?.replace(/^.*\//, "");
}

export function resolve(spec: Spec, schema: Schema): Schema {
  const name = nameOf(schema);
  const found = name === undefined ? undefined : spec.components.schemas[name];
  return found ? { ...found, ...(schema.description ? { description: schema.description } : {}) } : schema;
}

/** The schema without its null alternative, and whether it is nullable. */
export function unwrapNullable(schema: Schema): { schema: Schema; nullable: boolean } {
  const options = schema.oneOf ?? schema.anyOf;
  if (options) {
    const rest = options.filter(({ type }) => type !== "null");
    const only = rest[0];
    if (rest.length === 1 && only) return { schema: only, nullable: rest.length < options.length };
  }
  if (schema.allOf?.length === 1 && schema.allOf[0])
    return {
      schema: { ...schema.allOf[0], ...(schema.description ? { description: schema.description } : {}) },
      nullable: false,
    };
  if (Array.isArray(schema.type) && schema.type.includes("null")) {
    const types = schema.type.filter((type) => type !== "null");
    return { schema: { ...schema, type: types.length === 1 ? (types[0] as string) : types }, nullable: true };
  }
  return { schema, nullable: false };
}

/** The type of a schema: `string (uuid)`, `list of JsonBranch`. */
export function typeText(spec: Spec, of: Schema): string {
  const { schema, nullable } = unwrapNullable(of);
  const base = (): string => {
    const name = nameOf(schema);
    const found = resolve(spec, schema);
    if (name && (found.properties || found.additionalProperties)) return name;
    if (found.enum) return name ?? "enum";
    if (found.type === "array") return `list of ${found.items ? typeText(spec, found.items) : "anything"}`;
    if (found.additionalProperties) {
      const values = found.additionalProperties;
      return `map of ${typeof values === "object" ? typeText(spec, values) : "anything"}`;
    }
    const type = [found.type ?? "anything"].flat().join(" or ");
    const format = found.format && !/^u?int|double|float/.test(found.format) ? ` (${found.format})` : "";
    return type + format;
  };
  return base() + (nullable ? " or null" : "");
}

/** The limits of a value, if any. */
export function limits(schema: Schema): string | undefined {
  const parts: string[] = [];
  if (schema.default !== undefined && schema.default !== null) parts.push(`default ${JSON.stringify(schema.default)}`);
  if (schema.maxLength !== undefined) parts.push(`at most ${schema.maxLength} characters`);
  // Omit the limits of the integer type.
  if (schema.maximum !== undefined && schema.maximum < 4294967295)
    parts.push(`${schema.minimum ?? 0} to ${schema.maximum}`);
  return parts.length ? parts.join(", ") : undefined;
}

const STRINGS: Readonly<Record<string, string>> = {
  uuid: "0191c0de-0000-7000-8000-000000000000",
  "date-time": "2026-01-31T12:00:00Z",
  email: "ada@example.org",
  uri: "https://example.org",
};

/** An example of a schema. Without `whole`, only the required fields. */
export function example(spec: Spec, of: Schema, whole: boolean, key = "", depth = 0): unknown {
  const { schema, nullable } = unwrapNullable(of);
  const found = resolve(spec, schema);
  if (nullable && !whole) return null;
  if (found.default !== undefined && found.default !== null) return found.default;
  if (found.enum) return found.enum[0];
  const type = Array.isArray(found.type) ? found.type[0] : found.type;
  if (found.properties) {
    if (depth > 4) return {};
    const names = Object.keys(found.properties).filter((name) => whole || found.required?.includes(name));
    return Object.fromEntries(
      names.map((name) => [name, example(spec, found.properties?.[name] ?? {}, whole && depth < 3, name, depth + 1)]),
    );
  }
  if (type === "array")
    return depth > 4 || !found.items ? [] : [example(spec, found.items, whole, key.replace(/s$/, ""), depth + 1)];
  if (type === "object")
    return typeof found.additionalProperties === "object" && whole
      ? { name: example(spec, found.additionalProperties, whole, "", depth + 1) }
      : {};
  if (type === "integer") return Math.max(found.minimum ?? 1, 1);
  if (type === "number") return 1.5;
  if (type === "boolean") return key === "i_agree";
  if (found.oneOf?.[0] ?? found.anyOf?.[0])
    return example(spec, (found.oneOf?.[0] ?? found.anyOf?.[0]) as Schema, whole, key, depth + 1);
  if (type === "string")
    return STRINGS[found.format ?? ""] ?? STRING_BY_NAME[key] ?? STRING_BY_NAME[nameOf(schema) ?? ""] ?? "text";
  return null;
}

const STRING_BY_NAME: Readonly<Record<string, string>> = {
  name: "An example",
  slug: "an-example",
  branch: "main",
  testbed: "ci-linux-x64",
  measure: "latency",
  project: "my-project",
  units: "nanoseconds (ns)",
  hash: "377b6c671115888950d058a86777ef033a91a291",
  GitHash: "377b6c671115888950d058a86777ef033a91a291",
  result: '{"parser::json":{"latency":{"value":1234.5}}}',
  token: "eyJ…",
  invite: "eyJ…",
};

const RIGHTS: Readonly<Record<string, string>> = {
  public: "Everyone",
  provider: "Everyone, if the provider is configured",
  credential: "Any credential",
  user: "Any user",
  runner: "The runner in the path, with its key",
  registry: "Any registry token",
  session: "Everyone, but not with a key",
  signature: "The code host, with a signed event",
  self: "The user in the path, and administrators",
  admin: "Administrators of the server",
  never: "Not available; kept for existing clients",
};

/** The required permission of an operation, from its `x-right`. */
export function describeRight(code: string | undefined): string {
  if (!code) return "Unspecified";
  const [what = "", permission, ...more] = code.split(":");
  const words = RIGHTS[what] ?? `Requires the permission “${permission ?? ""}” in the ${what}`;
  const open =
    code.startsWith("project:view") && !more.length && permission === "view" ? "; everyone in a public project" : "";
  const bills = more.includes("billed") ? "; if billing is enabled" : "";
  const only =
    bills +
    ([permission, ...more].includes("by_user")
      ? "; not with a project key"
      : [permission, ...more].includes("by_session")
        ? "; only with a session, not with a key"
        : "");
  return words + open + only;
}
