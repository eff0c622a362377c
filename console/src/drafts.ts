// Typed input of forms: survives a sign-in and a reload. The storage of this tab holds it until the form is rendered
// again. Fields with secrets are not stored.

/** The key in the session storage. */
const DRAFTS = "tidemark-drafts";

interface Draft {
  /** UUID of the user who typed the input. */
  owner: string;
  path: string;
  /** The text of the submit button, which identifies a form of the page. */
  form: string;
  /** Values by name or label of the field; a checkbox is "true" or "false". */
  values: Record<string, string>;
}

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** The fields in which the user typed since their form was rendered. */
let touched: Element[] = [];

/** Tracks the input of all forms. */
export function trackInput(): void {
  const note = ({ target, isTrusted }: Event) => {
    if (isTrusted && isField(target) && target.form && !touched.includes(target)) touched.push(target);
  };
  document.addEventListener("input", note);
  document.addEventListener("change", note);
}

/** Whether a reload would discard input. */
export function hasInput(): boolean {
  touched = touched.filter((field) => field.isConnected);
  return touched.length > 0;
}

/** Forgets the input of a form that was sent. */
export function forgetInput(form: HTMLFormElement): void {
  touched = touched.filter((field) => !form.contains(field));
}

/** Stores the input of all forms of this page, without secrets. */
export function saveDrafts(owner: string): void {
  if (!hasInput()) return;
  const forms = new Set(touched.map((field) => field.closest("form")).filter((form) => form?.matches(".form")));
  const saved = read().filter(({ path }) => path !== location.pathname);
  for (const form of forms) {
    if (!form) continue;
    const values: Record<string, string> = {};
    for (const field of form.elements)
      if (isField(field) && keyOf(field) && !isSecret(field) && !isUnselected(field))
        values[keyOf(field)] = isCheckbox(field) ? String(field.checked) : field.value;
    saved.push({ owner, path: location.pathname, form: nameOf(form), values });
  }
  sessionStorage.setItem(DRAFTS, JSON.stringify(saved));
}

/** Fills a form with its stored input, and removes the input from the storage. */
export function restoreDraft(form: HTMLFormElement, owner: string): void {
  const all = read();
  const isOwn = (draft: Draft) => draft.path === location.pathname && draft.form === nameOf(form);
  const draft = all.find(isOwn);
  if (!draft) return;
  const rest = all.filter((other) => !isOwn(other));
  if (rest.length) sessionStorage.setItem(DRAFTS, JSON.stringify(rest));
  else sessionStorage.removeItem(DRAFTS);
  // Another user may have signed in.
  if (draft.owner === owner) fill(form, new Map(Object.entries(draft.values)), 3);
}

/** Some fields appear only after another field has its value. */
function fill(form: HTMLFormElement, values: Map<string, string>, passes: number): void {
  for (const field of form.elements) {
    const value = isField(field) ? values.get(keyOf(field)) : undefined;
    if (!isField(field) || value === undefined || isSecret(field)) continue;
    values.delete(keyOf(field));
    touched.push(field);
    if ((isCheckbox(field) ? String(field.checked) : field.value) === value) continue;
    if (isCheckbox(field)) field.checked = value === "true";
    else field.value = value;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }
  if (values.size && passes > 1) setTimeout(() => fill(form, values, passes - 1));
}

function read(): Draft[] {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFTS) ?? "[]") as Draft[];
  } catch {
    return [];
  }
}

function nameOf(form: HTMLFormElement): string {
  return form.querySelector("[type=submit]")?.textContent ?? "";
}

function keyOf(field: Field): string {
  if (field instanceof HTMLInputElement && field.type === "radio") return `${field.name}=${field.value}`;
  return field.name || (field.labels?.[0]?.textContent ?? field.ariaLabel ?? "");
}

function isField(target: unknown): target is Field {
  return (
    target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
  );
}

function isCheckbox(field: Field): field is HTMLInputElement {
  return field instanceof HTMLInputElement && (field.type === "checkbox" || field.type === "radio");
}

function isUnselected(field: Field): boolean {
  return field instanceof HTMLInputElement && field.type === "radio" && !field.checked;
}

function isSecret(field: Field): boolean {
  return field.dataset.secret !== undefined || ["password", "file", "hidden"].includes(field.type);
}
