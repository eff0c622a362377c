// Groups names into a tree: `parser::json::large` is in `json`, which is in `parser`; the same for `codec/zstd/4k`.
// Pure: no DOM.

export interface Named {
  uuid: string;
  name: string;
}

export interface Node<T extends Named> {
  /** The part of the name below its group. */
  label: string;
  /** The full name of the group with the trailing separator; for a leaf, its name. */
  path: string;
  leaf: T | undefined;
  children: Node<T>[];
  /** All leaves at and below this node. */
  leaves: T[];
}

/** Builds the tree in the order of the names. A group of one item is omitted. */
export function tree<T extends Named>(items: readonly T[]): Node<T>[] {
  const root: Node<T> = { label: "", path: "", leaf: undefined, children: [], leaves: [] };
  const groups = new Map<string, Node<T>>([["", root]]);
  for (const item of items) {
    const pieces = item.name.split(/(?<=::|\/)(?!$)/);
    let path = "";
    let above = root;
    for (const piece of pieces.slice(0, -1)) {
      path += piece;
      let group = groups.get(path);
      if (!group) {
        group = { label: piece, path, leaf: undefined, children: [], leaves: [] };
        groups.set(path, group);
        above.children.push(group);
      }
      above = group;
    }
    above.children.push({
      label: pieces.at(-1) ?? item.name,
      path: item.name,
      leaf: item,
      children: [],
      leaves: [item],
    });
  }
  return finish(root).children;
}

function finish<T extends Named>(node: Node<T>): Node<T> {
  if (node.leaf) return node;
  node.children = node.children
    .map(finish)
    .map((child) => (child.children.length === 1 && !child.leaf ? joined(child, child.children[0] as Node<T>) : child));
  node.leaves = node.children.flatMap((child) => child.leaves);
  return node;
}

function joined<T extends Named>(group: Node<T>, only: Node<T>): Node<T> {
  return { ...only, label: group.label + only.label };
}

/** One row: a node and its depth. */
export interface Row<T extends Named> {
  node: Node<T>;
  depth: number;
}

/** The visible rows: omits the content of closed groups. */
export function rows<T extends Named>(
  nodes: readonly Node<T>[],
  isOpen: (node: Node<T>) => boolean,
  depth = 0,
): Row<T>[] {
  return nodes.flatMap((node) => [
    { node, depth },
    ...(node.leaf || !isOpen(node) ? [] : rows(node.children, isOpen, depth + 1)),
  ]);
}

/** Whether a name contains all search words. */
export function matches(name: string, words: string): boolean {
  const lower = name.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
