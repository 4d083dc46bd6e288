// SPDX-License-Identifier: Apache-2.0
/**
 * Writes all lessons of `vuhca view` into a folder: `main.ts FOLDER`. `npm pack` calls it, because
 * an archive has no rig to make them with.
 */
import { lessonEntries } from '../cli/view/lesson.ts';
import { writeLesson } from '../cli/view/lessons.ts';
import { makeLesson } from './make-lesson.ts';

const [, , folder] = process.argv;
for (const { name } of lessonEntries) writeLesson(folder, makeLesson(name));
