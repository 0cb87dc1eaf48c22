import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ReadBatcher, type LookupResult, type Lookup } from '../../../adapters/postgres/read-batcher.ts'
import { RegistryError } from '../../../core/errors.ts'

interface Look {
  readonly lookup: Lookup
  /** Everything that is lookup is there. */
  readonly answer: () => void
  readonly fail: (error: Error) => void
}

/** Joined reads, and the looks that they have begun, each of which the test ends. */
function start(): { readonly reads: ReadBatcher; readonly looks: Look[] } {
  const looks: Look[] = []
  const reads = new ReadBatcher(
    (lookup) =>
      new Promise<LookupResult>((resolve, reject) =>
        looks.push({ lookup, answer: () => resolve(everythingOf(lookup)), fail: reject }),
      ),
  )
  return { reads, looks }
}

const everythingOf = ({ keys, entries }: Lookup): LookupResult => ({
  records: new Map(keys.map((key) => [key, [Buffer.from(key), Buffer.from('value'), '1']])),
  positions: new Map(entries.map((entry, i) => [entry, i])),
})

/** As many as it takes until what was answered has begun what waited. */
async function turns(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await turn()
}

const ofKey = (...keys: string[]): Lookup => ({ keys, entries: [] })
const ofEntry = (...entries: string[]): Lookup => ({ keys: [], entries })

/** What one answers, or the error's message. */
const outcomeOf = async (found: Promise<LookupResult>): Promise<readonly string[] | string> => {
  try {
    return [...(await found).records.keys()]
  } catch (error) {
    return (error as Error).message
  }
}

describe('reads that are called at the same time', () => {
  it('are one look, records and positions together, each thing once', async () => {
    const { reads, looks } = start()
    const found = [reads.lookup(ofKey('a', 'b')), reads.lookup(ofEntry('00')), reads.lookup(ofKey('b'))]
    await Promise.resolve()
    found.push(reads.lookup(ofKey('c')))
    await turn()
    assert.deepEqual(
      looks.map(({ lookup }) => lookup),
      [{ keys: ['a', 'b', 'c'], entries: ['00'] }],
    )
    looks[0]?.answer()
    assert.equal((await found[1])?.positions.get('00'), 0)
    assert.ok((await found[2])?.records.has('b'))
    await Promise.all(found)
  })

  it('wait while three are under way, and then go together with what those ask next that were answered', async () => {
    const { reads, looks } = start()
    const underWay: Promise<LookupResult>[] = []
    for (const key of ['1', '2', '3']) {
      underWay.push(reads.lookup(ofKey(key)))
      await turn()
    }
    const next = underWay[0]?.then(() => reads.lookup(ofKey('next')))
    const later = [reads.lookup(ofKey('4')), reads.lookup(ofKey('5'))]
    await turn()
    assert.equal(looks.length, 3)
    looks[0]?.answer()
    await underWay[0]
    await turns()
    assert.deepEqual(
      looks.map(({ lookup }) => lookup.keys),
      [['1'], ['2'], ['3'], ['4', '5', 'next']],
    )
    for (const { answer } of looks) answer()
    await Promise.all([...underWay, next, ...later])
  })

  it('are more than one look where they want more than 512 things', async () => {
    const { reads, looks } = start()
    const many = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name} ${i}`)
    const sizes = [500, 20, 2_000, 1]
    const found = sizes.map((size, i) => reads.lookup(ofKey(...many(String(i), size))))
    for (let ended = 0; ended < sizes.length; ended += 1) {
      await turns()
      looks[ended]?.answer()
    }
    await Promise.all(found)
    assert.deepEqual(
      looks.map(({ lookup }) => lookup.keys.length),
      sizes,
    )
  })
})

describe('a look that fails', () => {
  it('is told to all where the database is away, and the next are looked for', async () => {
    const { reads, looks } = start()
    const found = ['a', 'b'].map((key) => outcomeOf(reads.lookup(ofKey(key))))
    await turn()
    looks[0]?.fail(new RegistryError('UNAVAILABLE', 'away', { cause: new Error('ECONNREFUSED') }))
    assert.deepEqual(await Promise.all(found), ['away', 'away'])
    const after = outcomeOf(reads.lookup(ofKey('c')))
    await turn()
    assert.equal(looks.length, 2)
    looks[1]?.answer()
    assert.deepEqual(await after, ['c'])
  })

  it('for what does not pass is told only to those that asked for it', async () => {
    const { reads, looks } = start()
    const damage = new RegistryError('CORRUPT', 'damage', { cause: new RangeError('of one') })
    const found = ['a', 'bad', 'c'].map((key) => outcomeOf(reads.lookup(ofKey(key))))
    await turn()
    looks[0]?.fail(damage)
    await turn()
    assert.deepEqual(
      looks.slice(1).map(({ lookup }) => lookup.keys),
      [['a'], ['bad'], ['c']],
    )
    for (const { lookup, answer, fail } of looks.slice(1)) {
      if (lookup.keys.includes('bad')) fail(damage)
      else answer()
    }
    assert.deepEqual(await Promise.all(found), [['a'], 'damage', ['c']])
  })
})
