import { spawn } from 'node:child_process'
import { copyFile, link, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { makeTemporary, removeTemporary } from '../../support/temporary.ts'
import type { FaultPart, FaultResult, FaultRun } from '../part.ts'
import { runCases } from '../run-cases.ts'
import { MUTANTS, type Mutant } from './list.ts'

const SHORT = 4
/** Only ends a test that hangs. */
const TIMEOUT_MS = 600_000
const OUTPUT_LENGTH = 2_000
/** This module is `dist/test/faults/mutants/index.js`. */
const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/**
 * Plants known bugs, one at a time, into a copy of the compiled program, and runs the tests that must catch it. A bug
 * that no test notices is a gap in the tests.
 */
export const part: FaultPart = {
  name: 'mutants',
  passesWhen: 'every planted bug is caught by the tests that it names',
  count: { short: SHORT, long: MUTANTS.length },
  run: runMutants,
}

/** With seed 1 the first case is the first mutant. */
const mutantOf = (seed: number): Mutant =>
  MUTANTS[(seed + MUTANTS.length - 1) % MUTANTS.length] ?? failWith('there are no mutants')

const failWith = (message: string): never => {
  throw new Error(message)
}

async function runMutants(options: FaultRun): Promise<FaultResult> {
  for (const mutant of MUTANTS) await mutated(mutant)
  const planted = Array.from({ length: options.count }, (_, i) => mutantOf(options.seed + i))
  const passing = await passingTests([...new Set(planted.flatMap(({ tests }) => tests))])
  const { results, failures } = await runCases(options, (seed) => runMutant(mutantOf(seed), passing))
  return {
    cases: options.count,
    failures,
    figures: `${results.length} of ${options.count} planted bugs caught; ${passing.size} test files pass without them`,
  }
}

/** The control: without a planted bug each test passes in such a copy, so a failure is due to the bug. */
async function passingTests(tests: readonly string[]): Promise<ReadonlySet<string>> {
  const queue = tests.values()
  await withCopy((copy) => {
    const lane = async (): Promise<void> => {
      for (const test of queue) {
        const { isPassed, output } = await runTest(copy, test)
        if (!isPassed) throw new Error(`${test} fails without a planted bug:\n${output}`)
      }
    }
    return Promise.all(Array.from({ length: availableParallelism() }, lane))
  })
  return new Set(tests)
}

/** Throws if one of its tests does not notice the mutant. */
async function runMutant(mutant: Mutant, passing: ReadonlySet<string>): Promise<void> {
  const text = await mutated(mutant)
  await withCopy(async (copy) => {
    const path = join(copy, 'dist', `${mutant.module}.js`)
    // Removed first, because it may be a second name of the original.
    await rm(path)
    await writeFile(path, text)
    for (const test of mutant.tests) {
      if (!passing.has(test)) throw new Error(`${test} did not run without the bug`)
      const { isPassed } = await runTest(copy, test)
      if (isPassed) throw new Error(`"${mutant.name}" (${mutant.module}) is not caught by ${test}`)
    }
  })
}

/** The module with its bug. Throws if the text to replace does not occur exactly once. */
async function mutated({ name, module, find, replace }: Mutant): Promise<string> {
  const source = await readFile(join(ROOT, 'dist', `${module}.js`), 'utf8')
  const parts = source.split(find)
  if (parts.length !== 2)
    throw new Error(`"${name}": ${module} must contain this text once, not ${parts.length - 1} times: ${find}`)
  return parts.join(replace)
}

/** A copy of the project in which `dist` can be changed. Everything else is linked. */
async function withCopy(use: (copy: string) => Promise<unknown>): Promise<void> {
  const copy = await makeTemporary()
  try {
    for (const name of await readdir(ROOT))
      if (name !== 'dist' && name !== '.git') await symlink(join(ROOT, name), join(copy, name))
    await copyTree(join(ROOT, 'dist'), join(copy, 'dist'))
    await use(copy)
  } finally {
    await removeTemporary(copy)
  }
}

/** Gives each file a second name, or copies it if the folders are on different disks. */
async function copyTree(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const source = join(entry.parentPath, entry.name)
    const target = join(to, relative(from, source))
    await mkdir(dirname(target), { recursive: true })
    await link(source, target).catch(() => copyFile(source, target))
  }
}

function runTest(copy: string, test: string): Promise<{ readonly isPassed: boolean; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [`dist/test/${test}.test.js`], { cwd: copy, timeout: TIMEOUT_MS })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (output = `${output}${bytes.toString()}`.slice(-OUTPUT_LENGTH)))
    child.once('error', reject)
    child.once('close', (code, signal) =>
      signal === null
        ? resolve({ isPassed: code === 0, output })
        : reject(new Error(`${test} did not end within ${TIMEOUT_MS / 1000} s`)),
    )
  })
}
