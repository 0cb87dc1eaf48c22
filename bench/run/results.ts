import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchCase, BenchResult } from './case.ts'
import type { Machine } from './machine.ts'
import { drawPicture } from './picture.ts'
import { repositoryPath } from './repository.ts'

/** A file `bench/results/NAME.json`. */
export interface RecordedResult extends BenchResult {
  readonly bench: string
  /** When the run began, ISO 8601. */
  readonly at: string
  readonly machine: Machine
  /** How long the run took. */
  readonly seconds: number
}

const FOLDER = repositoryPath('bench/results')

/** Writes a result and its picture. */
export async function saveResult(bench: BenchCase, result: RecordedResult): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  await writeFile(join(FOLDER, `${bench.name}.json`), `${JSON.stringify(result, null, 2)}\n`)
  await savePicture(bench, result)
}

/**
 * Draws the picture of a recorded result again. Returns its path, or `undefined` if the benchmark has no picture or no
 * result.
 */
export async function redrawPicture(bench: BenchCase): Promise<string | undefined> {
  const text = await readFile(join(FOLDER, `${bench.name}.json`), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : savePicture(bench, JSON.parse(text))
}

async function savePicture(
  { name, picture }: BenchCase,
  { rows, machine }: RecordedResult,
): Promise<string | undefined> {
  if (picture === undefined) return undefined
  const path = join(FOLDER, `${name}.svg`)
  await writeFile(path, `${await drawPicture(picture, rows, machine)}\n`)
  return path
}
