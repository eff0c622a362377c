// Names in groups: `parser::json::large` is in `json`, which is in `parser`; so is `codec/zstd/4k`. Pure: no DOM.

export interface Named {
  uuid: string;
  name: string;
}

export interface Node<T extends Named> {
  /** The part of the name below its group. */
  label: string;
  /** The whole name of the group, with the separator at the end; of a leaf its name. */
  path: string;
  leaf: T | undefined;
  children: Node<T>[];
  /** Every leaf at and below it. */
  leaves: T[];
}

/** The groups of names, in the order of the names. A group of one is no group. */
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

/** One row of a list: a node and how deep it is. */
export interface Row<T extends Named> {
  node: Node<T>;
  depth: number;
}

/** The rows to show, without what is below a closed group. */
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

/** Whether a name has all the words. */
export function matches(name: string, words: string): boolean {
  const lower = name.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}
