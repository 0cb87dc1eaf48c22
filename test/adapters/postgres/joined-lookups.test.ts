import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { JoinedLookups, type LookupResult, type Lookup } from '../../../adapters/postgres/joined-lookups.ts'
import { RegistryError } from '../../../core/errors.ts'

interface Call {
  readonly lookup: Lookup
  /** Resolves the look-up: everything that it requests exists. */
  readonly succeed: () => void
  readonly fail: (error: Error) => void
}

/** Joined look-ups, and the statements that they have started, which the test settles. */
function start(): { readonly reads: JoinedLookups; readonly calls: Call[] } {
  const calls: Call[] = []
  const reads = new JoinedLookups(
    (lookup) =>
      new Promise<LookupResult>((resolve, reject) =>
        calls.push({ lookup, succeed: () => resolve(resultFor(lookup)), fail: reject }),
      ),
  )
  return { reads, calls }
}

const resultFor = ({ keys, entries }: Lookup): LookupResult => ({
  records: new Map(keys.map((key) => [key, [Buffer.from(key), Buffer.from('value')]])),
  positions: new Map(entries.map((entry, i) => [entry, Buffer.of(i)])),
})

/** Enough turns of the event loop for a resolved look-up to start the waiting ones. */
async function turns(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await turn()
}

const ofKey = (...keys: string[]): Lookup => ({ keys, entries: [] })
const ofEntry = (...entries: string[]): Lookup => ({ keys: [], entries })

/** The keys of a result, or the message of its error. */
const outcomeOf = async (result: Promise<LookupResult>): Promise<readonly string[] | string> => {
  try {
    return [...(await result).records.keys()]
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

describe('reads that are called at the same time', () => {
  it('are joined in one look-up, records and positions together, each key once', async () => {
    const { reads, calls } = start()
    const results = [reads.lookup(ofKey('a', 'b')), reads.lookup(ofEntry('00')), reads.lookup(ofKey('b'))]
    await Promise.resolve()
    results.push(reads.lookup(ofKey('c')))
    await turn()
    const shownLookups = calls.map(({ lookup }) => lookup)
    assert.deepEqual(shownLookups, [{ keys: ['a', 'b', 'c'], entries: ['00'] }])
    calls[0]?.succeed()
    assert.deepEqual((await results[1])?.positions.get('00'), Buffer.of(0))
    assert.ok((await results[2])?.records.has('b'))
    await Promise.all(results)
  })

  it('wait while three look-ups run, and are then joined with the next reads of resolved callers', async () => {
    const { reads, calls } = start()
    const running: Promise<LookupResult>[] = []
    for (const key of ['1', '2', '3']) {
      running.push(reads.lookup(ofKey(key)))
      await turn()
    }
    const next = running[0]?.then(() => reads.lookup(ofKey('next')))
    const later = [reads.lookup(ofKey('4')), reads.lookup(ofKey('5'))]
    await turn()
    assert.equal(calls.length, 3)
    calls[0]?.succeed()
    await running[0]
    await turns()
    const shownKeys = calls.map(({ lookup }) => lookup.keys)
    assert.deepEqual(shownKeys, [['1'], ['2'], ['3'], ['4', '5', 'next']])
    for (const { succeed } of calls) succeed()
    await Promise.all([...running, next, ...later])
  })

  it('are more than one look-up if they request more than 512 keys', async () => {
    const { reads, calls } = start()
    const many = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name} ${i}`)
    const sizes = [500, 20, 2_000, 1]
    const results = sizes.map((size, i) => reads.lookup(ofKey(...many(String(i), size))))
    for (let ended = 0; ended < sizes.length; ended += 1) {
      await turns()
      calls[ended]?.succeed()
    }
    await Promise.all(results)
    const lengths = calls.map(({ lookup }) => lookup.keys.length)
    assert.deepEqual(lengths, sizes)
  })
})

describe('a look-up that fails', () => {
  it('rejects all its reads if the database is unreachable, and the next look-up works', async () => {
    const { reads, calls } = start()
    const results = ['a', 'b'].map((key) => outcomeOf(reads.lookup(ofKey(key))))
    await turn()
    calls[0]?.fail(new RegistryError('UNAVAILABLE', 'unreachable', { cause: new Error('ECONNREFUSED') }))
    assert.deepEqual(await Promise.all(results), ['unreachable', 'unreachable'])
    const after = outcomeOf(reads.lookup(ofKey('c')))
    await turn()
    assert.equal(calls.length, 2)
    calls[1]?.succeed()
    assert.deepEqual(await after, ['c'])
  })

  it('rejects only the reads of a damaged record', async () => {
    const { reads, calls } = start()
    const damage = new RegistryError('CORRUPT', 'damage', { cause: new RangeError('of one record') })
    const results = ['a', 'bad', 'c'].map((key) => outcomeOf(reads.lookup(ofKey(key))))
    await turn()
    calls[0]?.fail(damage)
    await turn()
    assert.deepEqual(
      calls.slice(1).map(({ lookup }) => lookup.keys),
      [['a'], ['bad'], ['c']],
    )
    for (const { lookup, succeed, fail } of calls.slice(1)) {
      if (lookup.keys.includes('bad')) fail(damage)
      else succeed()
    }
    assert.deepEqual(await Promise.all(results), [['a'], 'damage', ['c']])
  })
})
