// SPDX-License-Identifier: Apache-2.0
/**
 * Places of fields in the interface header of the Linux driver (`include/linux/mlx5/mlx5_ifc.h`),
 * read as text: each structure lists its fields with their widths in bits, the most significant bit
 * first, and fields named `reserved_at_...` fill the gaps. Tests compare our tables with these
 * places. Called by tests.
 */

/** Place of a field: offset from the start of the structure and width, in bits. */
export interface Place {
  readonly offset: number;
  readonly bits: number;
}

/** A structure of the header: its size in bits, and its fields by name. */
export interface HeaderStruct {
  readonly bits: number;
  /**
   * Fields of nested structures are `OUTER.INNER`; of an array only the first element is listed.
   */
  readonly fields: ReadonlyMap<string, Place>;
}

type Member = { readonly name: string | undefined; readonly type: Type; readonly count: number };
type Type = { readonly bits: number } | { readonly named: string } | Body;
interface Body {
  readonly kind: string;
  readonly members: readonly Member[];
}

const PREFIX = 'mlx5_ifc_';
const SUFFIX = '_bits';

export class HeaderLayouts {
  readonly #tokens: readonly string[];
  readonly #constants = new Map<string, number>();
  readonly #bodies = new Map<string, Body>();
  readonly #known = new Map<string, HeaderStruct>();
  #next = 0;

  /** `text` is that of the header. Throws when a part of it is not in the form of a structure. */
  constructor(text: string) {
    const code = text
      .replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      .replace(/DECLARE_FLEX_ARRAY\(((?:struct|union)\s+\w+|u8),\s*(\w+)([[\]\w]*)\)/g, '$1 $2[]$3');
    for (const [, name, value] of code.matchAll(/\b(MLX5_\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)\b/g))
      this.#constants.set(name, Number(value));
    this.#tokens = code.match(/\w+|[{}[\];]/g) ?? [];
    while (this.#next < this.#tokens.length) this.#readDefinition();
  }

  /** Values of `enum`, by name. */
  get constants(): ReadonlyMap<string, number> {
    return this.#constants;
  }

  /** The structure `mlx5_ifc_NAME_bits`. Throws when the header has none. */
  find(name: string): HeaderStruct {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const body = this.#bodies.get(name);
    if (body === undefined) throw new Error(`the header has no structure ${PREFIX}${name}${SUFFIX}`);
    const found = this.#layOut(body);
    this.#known.set(name, found);
    return found;
  }

  #readDefinition(): void {
    const [kind, name, brace] = this.#tokens.slice(this.#next, this.#next + 3);
    if (!/^(struct|union)$/.test(kind) || !name.startsWith(PREFIX) || brace !== '{') {
      this.#next++;
      return;
    }
    this.#next += 3;
    this.#bodies.set(name.slice(PREFIX.length, -SUFFIX.length), this.#readBody(kind));
  }

  #readBody(kind: string): Body {
    const members: Member[] = [];
    while (this.#tokens[this.#next] !== '}') members.push(this.#readMember());
    this.#next++;
    return { kind, members };
  }

  #readMember(): Member {
    const kind = this.#take();
    let type: Type | undefined;
    if (kind !== 'u8') {
      if (!/^(struct|union)$/.test(kind)) throw new Error(`${kind} is no type of a field`);
      const name = this.#take();
      type = name === '{' ? this.#readBody(kind) : { named: name.slice(PREFIX.length, -SUFFIX.length) };
    }
    const name = this.#tokens[this.#next] === ';' ? undefined : this.#take();
    const sizes: number[] = [];
    while (this.#tokens[this.#next] === '[') {
      this.#next++;
      sizes.push(this.#tokens[this.#next] === ']' ? 0 : this.#number(this.#take()));
      this.#next++;
    }
    if (this.#take() !== ';') throw new Error(`no end of the field ${name}`);
    // The last size of bits is the width, those before it count elements.
    if (type === undefined) type = { bits: sizes.pop() ?? 0 };
    return { name, type, count: sizes[0] ?? 1 };
  }

  #take(): string {
    return this.#tokens[this.#next++] ?? '';
  }

  #number(token: string): number {
    return this.#constants.get(token) ?? Number(token);
  }

  #layOut(body: Body): HeaderStruct {
    const fields = new Map<string, Place>();
    let position = 0;
    let size = 0;
    for (const { name, type, count } of body.members) {
      const inner = 'bits' in type ? undefined : 'named' in type ? this.find(type.named) : this.#layOut(type);
      const bits = 'bits' in type ? type.bits : (inner?.bits ?? 0);
      if (name !== undefined) fields.set(name, { offset: position, bits: bits * count });
      for (const [field, place] of inner?.fields ?? [])
        fields.set(name === undefined ? field : `${name}.${field}`, { ...place, offset: position + place.offset });
      size = Math.max(size, position + bits * count);
      if (body.kind === 'struct') position = size;
    }
    return { bits: size, fields };
  }
}
