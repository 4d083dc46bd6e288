// SPDX-License-Identifier: Apache-2.0
/**
 * Folds a long range to 32 bytes, whose CRC-16 is that of the whole range: WebAssembly with
 * vectors, because a table takes a byte at a time, and no library has this polynomial. A word of 16
 * bits advances by 32 bytes by a linear map, the sum of the maps of its four half bytes; an
 * instruction looks up sixteen of those at once. `crc.ts` calls it.
 */

/** Bytes of a step: sixteen words. */
export const FOLD_BYTES = 32;
/** Longest range. */
export const FOLD_MAX_BYTES = 0xf000;
/** Address of a range; the tables lie before it. */
const RANGE_ADDRESS = 0x100;
const VECTOR_BYTES = 16;
const TABLES = 8;

/** Bytes of WebAssembly instructions. */
type Code = readonly number[];

/** Sections and opcodes of the binary format of WebAssembly. */
const SectionId = { TYPE: 1, FUNCTION: 3, MEMORY: 5, EXPORT: 7, CODE: 10 } as const;
const [I32, V128, NO_RESULT] = [0x7f, 0x7b, 0x40];
const [LOOP, END, BRANCH_IF, LOCAL_TEE, I32_ADD, I32_SUB] = [0x03, 0x0b, 0x0d, 0x22, 0x6a, 0x6b];

/** Local variables: two parameters, then vectors. */
const Local = { ADDRESS: 0, STEPS: 1, LOW: 2, HIGH: 3, NEXT: 4, FAR: 5, MASK: 6, NIBBLE: 7, TABLE: 11 } as const;
const VECTORS = Local.TABLE + TABLES - Local.LOW;

const get = (local: number): Code => [0x20, local];
const set = (local: number): Code => [0x21, local];
const vector = (...opcode: number[]): Code => [0xfd, ...opcode];
const load = (offset: number): Code => vector(0x00, 0, ...unsigned(offset));
const store = (offset: number): Code => vector(0x0b, 0, ...unsigned(offset));
const shuffle = (lanes: Code): Code => vector(0x0d, ...lanes);
const SWIZZLE = vector(0x0e);
const AND = vector(0x4e);
const XOR = vector(0x51);
const SHIFT_RIGHT = vector(...unsigned(0x6d));
const constant = (value: number): Code => [0x41, value];

/** What is used of WebAssembly, of which the library of types that we have says nothing. */
interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

/** What the module exports. `fold` works on the memory from `address` on. */
interface FoldExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly fold: (address: number, steps: number) => void;
}

/** Folds the range that begins at `at` of `bytes`. */
export interface VcrcFold {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly at: number;
  /** Folds `32 * (steps + 1)` bytes from `at` on to their last 32; 1 step or more. */
  readonly fold: (at: number, steps: number) => void;
}

/**
 * `advance` is the map: the state 32 bytes after a state of 16 bits, with zeros between. Undefined
 * where the processor or the engine has no vectors.
 */
export function makeVcrcFold(advance: (state: number) => number): VcrcFold | undefined {
  const { WebAssembly: api } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
  try {
    const { memory, fold } = new api.Instance(new api.Module(Uint8Array.from(assemble()))).exports as FoldExports;
    const bytes = new Uint8Array(memory.buffer);
    for (let table = 0; table < TABLES; table++)
      for (let nibble = 0; nibble < 16; nibble++)
        bytes[table * VECTOR_BYTES + nibble] = advance(nibble << (4 * (table >>> 1))) >>> (8 * (table & 1));
    bytes.fill(0x0f, TABLES * VECTOR_BYTES, (TABLES + 1) * VECTOR_BYTES);
    return { bytes, view: new DataView(memory.buffer), at: RANGE_ADDRESS, fold };
  } catch {
    return undefined;
  }
}

/** Words become low and high bytes, and words again. */
const LOW_LANES = Array.from({ length: 16 }, (_, lane) => 2 * lane);
const HIGH_LANES = LOW_LANES.map((lane) => lane + 1);
const FIRST_LANES = Array.from({ length: 16 }, (_, lane) => (lane >>> 1) + 16 * (lane & 1));
const LAST_LANES = FIRST_LANES.map((lane) => lane + 8);

/** Takes the low or the high bytes of the sixteen words that were read. */
function split(local: number, lanes: Code): Code {
  return [...get(Local.NEXT), ...get(Local.FAR), ...shuffle(lanes), ...set(local)];
}

const SPLIT_WORDS: Code = [...split(Local.LOW, LOW_LANES), ...split(Local.HIGH, HIGH_LANES)];

const READ_WORDS: Code = [
  ...[...get(Local.ADDRESS), ...load(0), ...set(Local.NEXT)],
  ...[...get(Local.ADDRESS), ...load(VECTOR_BYTES), ...set(Local.FAR)],
];

/** Writes eight words. */
function write(lanes: Code, offset: number): Code {
  return [...get(Local.ADDRESS), ...get(Local.LOW), ...get(Local.HIGH), ...shuffle(lanes), ...store(offset)];
}

/** Adds the maps of the half bytes to the low (0) or the high (1) bytes of the next words. */
function addMaps(local: number, part: number): Code {
  const added = [0, 1, 2, 3].flatMap((nibble): Code => {
    return [...get(Local.TABLE + 2 * nibble + part), ...get(Local.NIBBLE + nibble), ...SWIZZLE, ...XOR];
  });
  return [...get(local), ...added, ...set(local)];
}

/** A step of the loop: all words advance by 32 bytes, and the next words are added. */
function step(): Code {
  const halves = [Local.LOW, Local.HIGH].flatMap((local, index): Code => {
    const [low, high] = [Local.NIBBLE + 2 * index, Local.NIBBLE + 2 * index + 1];
    return [
      ...[...get(local), ...get(Local.MASK), ...AND, ...set(low)],
      ...[...get(local), ...constant(4), ...SHIFT_RIGHT, ...set(high)],
    ];
  });
  return [
    ...[...get(Local.ADDRESS), ...constant(FOLD_BYTES), I32_ADD, ...set(Local.ADDRESS)],
    ...[...READ_WORDS, ...halves, ...SPLIT_WORDS, ...addMaps(Local.LOW, 0), ...addMaps(Local.HIGH, 1)],
    ...[...get(Local.STEPS), ...constant(1), I32_SUB, LOCAL_TEE, Local.STEPS, BRANCH_IF, 0],
  ];
}

/** A module with a page of memory and one function. */
function assemble(): Code {
  const loads = Array.from({ length: TABLES + 1 }, (_, table): Code => {
    return [...constant(0), ...load(table * VECTOR_BYTES), ...set(table === TABLES ? Local.MASK : Local.TABLE + table)];
  });
  const body: Code = [
    ...[...loads.flat(), ...READ_WORDS, ...SPLIT_WORDS],
    ...[LOOP, NO_RESULT, ...step(), END],
    ...[...write(FIRST_LANES, 0), ...write(LAST_LANES, VECTOR_BYTES), END],
  ];
  const code: Code = [1, VECTORS, V128, ...body];
  return [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(SectionId.TYPE, [1, 0x60, 2, I32, I32, 0]),
    ...section(SectionId.FUNCTION, [1, 0]),
    ...section(SectionId.MEMORY, [1, 0, 1]),
    ...section(SectionId.EXPORT, [2, ...text('memory'), 2, 0, ...text('fold'), 0, 0]),
    ...section(SectionId.CODE, [1, ...unsigned(code.length), ...code]),
  ];
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content];
}

function text(name: string): Code {
  return [name.length, ...[...name].map((letter) => letter.charCodeAt(0))];
}

/** LEB128. */
function unsigned(value: number): Code {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}
