import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../support/repository.ts'
import { bundleVectors, eventVectors } from './bundle-vectors.ts'
import { noteVectors } from './note-vectors.ts'
import { consistencyVectors, inclusionVectors } from './tree-vectors.ts'
import type { Vectors } from './vector.ts'

/** Where the vectors are: one folder for each kind, one file for each vector. */
export const vectorFolder = join(root, 'test/vectors')

/** Makes the vectors of each kind. They are always the same. */
export const kinds: Readonly<Record<string, () => Vectors>> = {
  inclusion: inclusionVectors,
  consistency: consistencyVectors,
  note: noteVectors,
  event: eventVectors,
  bundle: bundleVectors,
}

/** The text of a vector's file. */
export const textOf = (vector: object): string => `${JSON.stringify(vector, null, 2)}\n`

// Writes all of them again: node --conditions=source --import tsx test/vectors/make.ts
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const [kind, make] of Object.entries(kinds)) {
    const folder = join(vectorFolder, kind)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    for (const [name, vector] of Object.entries(make())) writeFileSync(join(folder, `${name}.json`), textOf(vector))
  }
