import { join } from 'node:path'
import { pick, randomFrom, type Random } from '../../support/bundle-mutations.ts'
import { withTemporary } from '../../support/temporary.ts'
import type { FaultFailure, FaultPart, FaultResult, FaultRun } from '../part.ts'
import { runCases } from '../run-cases.ts'
import { examine } from './case.ts'
import { changeBlobs, changeFile, changeFolders, changeLedgerLines } from './file-changes.ts'
import { createOriginal, type Original } from './originals.ts'
import { describe, isVisible, outcomeOf, type Outcome } from './outcome.ts'
import { changeRecord, renameEvidence } from './record-changes.ts'
import type { Template } from './template.ts'

type Change = (directory: string, template: Template, random: Random) => Promise<string | undefined>

const SMALL_FILES = /^(?:secret|checkpoint-keys\.json|signed-head\.json|(?:\w+\/)?registry\.json|records\/witness)$/

const changeDatabaseFile = changeFile((path) => path.startsWith('records/db/'))
const changeAuthority = changeFile((path) => path.startsWith('tsa/'))
const changeSmallFile = changeFile((path) => SMALL_FILES.test(path))

/** The parts of a data directory, those that hold more of its meaning more often. */
const CHANGES: readonly Change[] = [
  ...Array.from({ length: 9 }, () => changeRecord),
  changeDatabaseFile,
  changeDatabaseFile,
  changeBlobs,
  changeBlobs,
  changeFile((path) => path.startsWith('ledger/')),
  changeLedgerLines,
  changeAuthority,
  changeAuthority,
  changeSmallFile,
  changeSmallFile,
  changeFolders,
]

/** Tries changes until one is possible. */
async function changeOne(directory: string, template: Template, random: Random): Promise<string> {
  for (;;) {
    const change = await pick(random, CHANGES)(directory, template, random)
    if (change !== undefined) return change
  }
}

/** One case in so many uses a store whose log fills a tile. */
const BULK_EVERY = 8
/** In one case of so many, everything is read although fsck reports something, for the control. */
const COMPARED_EVERY = 10
/** How many unchanged stores a run examines: each alarm is a false one. */
const CLEAN_STORES = { short: 4, long: 20 }

/** What was found so far. */
class Tally {
  readonly failures: FaultFailure[] = []
  readonly outcomes = new Map<Outcome, number>()
  clean = 0
  compared = 0
  /** Cases that differ if only what is read is compared, without fsck and the verifier. */
  visible = 0

  count(outcome: Outcome): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }

  fail(seed: number, message: string): void {
    this.failures.push({ seed, message })
  }

  get figures(): string {
    const counts = [...this.outcomes].toSorted(([, a], [, b]) => b - a).map(([outcome, times]) => `${times} ${outcome}`)
    return `${counts.join(', ')}; ${this.clean} clean stores; without checks ${this.visible} of ${this.compared} differ`
  }
}

/** Changes one copy of a store, and examines it. `readAlways`: also compares what is read, for the control. */
async function runCase(original: Original, seed: number, readAlways: boolean, tally: Tally): Promise<void> {
  const random = randomFrom(seed)
  const readOnly = random() < 0.3
  await original.withCopy(async (directory) => {
    const change = await changeOne(directory, original.template, random)
    const examination = await examine(directory, { ...original.options, readOnly, readAlways })
    const outcome = outcomeOf(original.readings, examination)
    tally.count(outcome)
    if (readAlways && examination.readings !== undefined) {
      tally.compared += 1
      if (isVisible(original.readings, examination.readings) === 'missed') tally.visible += 1
    }
    const how = readOnly ? `${change}, started read-only` : change
    if (outcome === 'missed') tally.fail(seed, `${how}: missed: ${describe(original.readings, examination)}`)
  })
}

/** Examines an unchanged copy. */
async function runClean(original: Original, seed: number, tally: Tally): Promise<void> {
  tally.clean += 1
  await original.withCopy(async (directory) => {
    const options = { ...original.options, readOnly: seed % 2 === 0, readAlways: true }
    const examination = await examine(directory, options)
    const outcome = outcomeOf(original.readings, examination)
    if (outcome === 'harmless') return
    tally.fail(seed, `false alarm on a clean store: ${outcome}: ${describe(original.readings, examination)}`)
  })
}

/** A renamed evidence must be reported, and seen by the comparison alone, or the cases prove nothing. */
async function runControl(original: Original, seed: number, tally: Tally): Promise<void> {
  await original.withCopy(async (directory) => {
    await renameEvidence(directory)
    const examination = await examine(directory, { ...original.options, readOnly: false, readAlways: true })
    const { readings } = examination
    const isSeen = readings !== undefined && isVisible(original.readings, readings) === 'missed'
    if (outcomeOf(original.readings, examination) !== 'reported' || !isSeen)
      tally.fail(seed, `control: a renamed evidence is not noticed: ${describe(original.readings, examination)}`)
  })
}

const run = (options: FaultRun): Promise<FaultResult> =>
  withTemporary(async (root) => {
    const { count, seed, long } = options
    const [small, bulk] = await Promise.all([
      createOriginal(join(root, 'small'), 12),
      createOriginal(join(root, 'bulk'), 250),
    ])
    const tally = new Tally()
    await runControl(small, seed, tally)
    const cleanEvery = Math.ceil(count / CLEAN_STORES[long ? 'long' : 'short'])
    const { failures } = await runCases(options, async (own) => {
      const original = own % BULK_EVERY === 0 ? bulk : small
      const i = own - seed
      if (i % cleanEvery === 0) await runClean(original, own, tally)
      await runCase(original, own, i % COMPARED_EVERY === 0, tally)
    })
    return { cases: count, failures: [...tally.failures, ...failures], figures: tally.figures }
  })

export const part: FaultPart = {
  name: 'tampering',
  passesWhen: 'each change of a stopped data directory is refused, reported, disproved, or harmless',
  count: { short: 60, long: 500 },
  run,
}
