// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the kernel-doc comments of the driver's sources (Linux, Documentation/doc-guide): those of
 * exported functions, and those of structures and types in headers. driver-api.ts writes the
 * reference of the API from them. guest-tests/kernel-doc.test.ts lets the kernel's own tool check
 * their form.
 */

/** A comment, with the code that follows it. */
export interface KernelDoc {
  readonly name: string;
  readonly summary: string;
  /** Arguments or members, in the order of the comment. */
  readonly parameters: readonly (readonly [name: string, text: string])[];
  /** Paragraphs of the description. */
  readonly description: readonly string[];
  /** Contexts in which a function may be called, and the locks that it takes or needs. */
  readonly context: string;
  readonly returns: string;
  /** The prototype of a function, the definition of a type. */
  readonly code: string;
}

const COMMENT = /^\/\*\*\n((?: \*.*\n)+?) \*\/\n/gm;
const PARAMETER = /^@([\w.]+):\s*(.*)$/;
const SECTION = /^(Context|Return):\s*(.*)$/;
const EXPORTED = /^EXPORT_SYMBOL(?:_GPL)?\((\w+)\);$/gm;

/** Names of the symbols that a C file exports, in its order. */
export function exportedNames(source: string): string[] {
  return [...source.matchAll(EXPORTED)].map(([, name]) => name);
}

/** The comments of the functions, `struct`s and `typedef`s of a file. */
export function readKernelDocs(source: string): KernelDoc[] {
  return [...source.matchAll(COMMENT)].flatMap((match) => {
    const lines = match[1].trimEnd().split('\n');
    const doc = readComment(lines.map((line) => line.slice(' * '.length).trimStart()));
    const code = readCode(source.slice(match.index + match[0].length));
    return doc === undefined ? [] : [{ ...doc, code }];
  });
}

/** A function's prototype, or the whole definition of a type. */
function readCode(after: string): string {
  const type = /^(?:struct \w+ \{\n[\s\S]*?\n\}|typedef [^;]*);/.exec(after);
  if (type !== null) return type[0];
  return `${after.slice(0, after.indexOf('\n{')).trimEnd()};`;
}

/** Undefined for a comment of something else. */
function readComment(lines: readonly string[]): Omit<KernelDoc, 'code'> | undefined {
  const head = /^(?:(\w+)\(\)|(?:struct|typedef) (\w+)) - (.*)$/.exec(lines[0]);
  if (head === null) return undefined;
  const parameters: [string, string][] = [];
  const description: string[] = [];
  const sections = { Context: '', Return: '' };
  let append = (text: string): void => {
    summary = join(summary, text);
  };
  let summary = head[3];
  for (const line of lines.slice(1)) {
    const parameter = PARAMETER.exec(line);
    const section = SECTION.exec(line);
    if (parameter !== null) {
      const row: [string, string] = [parameter[1], parameter[2]];
      parameters.push(row);
      append = (text) => {
        row[1] = join(row[1], text);
      };
    } else if (section !== null) {
      const name = section[1] as keyof typeof sections;
      sections[name] = section[2];
      append = (text) => {
        sections[name] = join(sections[name], text);
      };
    } else if (line === '') append = (text) => startParagraph(text);
    else append(line);
  }
  return {
    name: head[1] ?? head[2],
    summary,
    parameters,
    description,
    context: sections.Context,
    returns: sections.Return,
  };

  function startParagraph(text: string): void {
    const index = description.push(text) - 1;
    append = (more) => {
      description[index] = join(description[index], more);
    };
  }
}

function join(text: string, more: string): string {
  return text === '' ? more : `${text} ${more}`;
}
