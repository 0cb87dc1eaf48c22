import { setTimeout as delay } from 'node:timers/promises'
import { median, ratiosOf, roundFigure, type BenchContext } from '../run/case.ts'
import { cpu, measureRate, perSecond, type Rate } from '../run/cpu-time.ts'
import { callForSeconds, inTemporaryFolder } from './concurrency.ts'

/** How records are written. */
export interface Writing {
  /** Records in each call. More than one are a bulk create. */
  readonly size: number
  /** Calls in flight. */
  readonly width: number
  /** No call starts later. */
  readonly seconds: number
}

/** What writes records. */
export interface Writer {
  write(writing: Writing): Promise<{ readonly completed: number; readonly seconds: number }>
  close(): Promise<unknown>
}

/** Returns the `write` of a `Writer` whose calls append this many records. */
export const writingWith =
  (append: (size: number) => Promise<unknown>): Writer['write'] =>
  async ({ size, width, seconds }) => {
    const begin = performance.now()
    let completed = 0
    await callForSeconds(seconds, width, async () => {
      await append(size)
      completed += size
    })
    return { completed, seconds: (performance.now() - begin) / 1_000 }
  }

/** What is measured, and how to open it in an empty folder. */
export interface Store {
  readonly title: string
  /** What it does not have of what a registry has. */
  readonly lacks: string
  /** How to install it, if `open` can throw `ENOENT` or `ERR_MODULE_NOT_FOUND`. */
  readonly from?: string
  open(directory: string): Promise<Writer>
}

/** So that compactions of the store before end. */
const PAUSE_MS = 500

/** Medians of one store in one way, over all rounds. */
export interface StoreFigures {
  readonly perSecond: number
  readonly cpuMicroseconds: number
  /** The rate of the first store to that of this one. */
  readonly ratio: number
}

interface Turns extends Pick<BenchContext, 'progress'> {
  readonly rounds: number
  readonly seconds: number
}

/**
 * Lets all stores that are installed write in each of these ways, in turns; several rounds follow one that warms up.
 * The CPU time is that of this process and its children. Returns the figures of the stores by name, for each way.
 */
export function measureStores(
  stores: Readonly<Record<string, Store>>,
  ways: Readonly<Record<string, Omit<Writing, 'seconds'>>>,
  turns: Turns,
): Promise<ReadonlyMap<string, ReadonlyMap<string, StoreFigures>>> {
  return inTemporaryFolder(async (directory) => {
    const writers = new Map<string, Writer>()
    try {
      for (const [name, store] of Object.entries(stores)) {
        const writer = await store.open(directory).catch((error: unknown) => skip(store, error, turns))
        if (writer !== undefined) writers.set(name, writer)
      }
      return await measureInTurns(writers, ways, turns)
    } finally {
      for (const writer of writers.values()) await writer.close()
    }
  })
}

/** Says how to get a store that is not installed. */
export function skip(
  { title, from }: Pick<Store, 'title' | 'from'>,
  error: unknown,
  { progress }: Pick<BenchContext, 'progress'>,
): undefined {
  if (from === undefined || !/^(?:ENOENT|ERR_MODULE_NOT_FOUND)$/.test(String(Object(error).code))) throw error
  progress(`without ${title}, which is not installed: ${from}`)
}

async function measureInTurns(
  writers: ReadonlyMap<string, Writer>,
  ways: Readonly<Record<string, Omit<Writing, 'seconds'>>>,
  { rounds, seconds, progress }: Turns,
) {
  const measured = new Map(Object.keys(ways).map((way) => [way, new Map<string, Rate[]>()]))
  for (let round = rounds > 1 ? 0 : 1; round <= rounds; round++)
    for (const [way, writing] of Object.entries(ways)) {
      progress(`round ${round} of ${rounds}: ${way}`)
      for (const [name, writer] of writers) {
        const rate = await measureRate([process.pid], () => writer.write({ ...writing, seconds }))
        const rates = measured.get(way)?.get(name) ?? []
        if (round > 0) measured.get(way)?.set(name, [...rates, rate])
        await delay(PAUSE_MS)
      }
    }
  return new Map([...measured].map(([way, rates]) => [way, figuresOf(rates)]))
}

function figuresOf(rates: ReadonlyMap<string, readonly Rate[]>): ReadonlyMap<string, StoreFigures> {
  const [first = []] = rates.values()
  const of = (own: readonly Rate[]): StoreFigures => ({
    perSecond: roundFigure(median(own.map(perSecond))),
    cpuMicroseconds: roundFigure(median(own.map(cpu))),
    ratio: roundFigure(median(ratiosOf(first.map(perSecond), own.map(perSecond)))),
  })
  return new Map([...rates].map(([name, own]) => [name, of(own)]))
}
