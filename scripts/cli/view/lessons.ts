// SPDX-License-Identifier: Apache-2.0
/**
 * Opens lessons for `vuhca view`. An archive has them in dist/lessons, where
 * scripts/lessons/main.ts wrote them; a clone makes a lesson when it is opened, from the rig, which
 * archives lack.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Lesson, type LessonName, lessonEntries } from './lesson.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const PACKED = join(ROOT, 'dist/lessons');
/** Only a clone has it. */
const BOOTSTRAP = join(ROOT, 'scripts/bootstrap.mjs');
/** Lets the compiled program import TypeScript; and the maker of lessons. */
const TYPESCRIPT = join(ROOT, 'protocol/system/typescript.mjs');
const MAKER = join(ROOT, 'scripts/lessons/make-lesson.ts');

/** A lesson and its recording. */
export interface MadeLesson {
  readonly lesson: Lesson;
  readonly recording: Uint8Array;
}

/** An open lesson. */
export interface OpenLesson {
  readonly lesson: Lesson;
  /** Its recording, as `vuhca replay` and the source of recordings take it. */
  readonly path: string;
  /** Ends it; the file may be removed then. May be called twice. */
  close(): void;
}

/** Throws RangeError with one sentence when there is no lesson of this name. */
export async function openLesson(name: string): Promise<OpenLesson> {
  const entry = lessonEntries.find((one) => one.name === name);
  if (entry === undefined)
    throw new RangeError(`there is no lesson ${name}; there are ${lessonEntries.map((one) => one.name).join(', ')}`);
  return existsSync(BOOTSTRAP) ? openMade(await make(entry.name)) : openWritten(PACKED, entry.name, () => {});
}

/** Writes a lesson into a folder, which is made if absent. */
export function writeLesson(folder: string, { lesson, recording }: MadeLesson): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(descriptionIn(folder, lesson.name), JSON.stringify(lesson));
  writeFileSync(recordingIn(folder, lesson.name), recording);
}

/** Opens a lesson that `writeLesson` has written. */
export function openWritten(folder: string, name: string, close: () => void): OpenLesson {
  const lesson = JSON.parse(readFileSync(descriptionIn(folder, name), 'utf8')) as Lesson;
  return { lesson, path: recordingIn(folder, name), close };
}

function openMade(made: MadeLesson): OpenLesson {
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-lesson-'));
  writeLesson(folder, made);
  return openWritten(folder, made.lesson.name, () => rmSync(folder, { recursive: true, force: true }));
}

async function make(name: LessonName): Promise<MadeLesson> {
  await import(pathToFileURL(TYPESCRIPT).href);
  const { makeLesson } = (await import(pathToFileURL(MAKER).href)) as { makeLesson(name: LessonName): MadeLesson };
  return makeLesson(name);
}

function descriptionIn(folder: string, name: string): string {
  return join(folder, `${name}.json`);
}

function recordingIn(folder: string, name: string): string {
  return join(folder, `${name}.rec`);
}
