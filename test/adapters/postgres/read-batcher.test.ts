import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { ReadBatcher, type Found, type Wanted } from '../../../adapters/postgres/read-batcher.ts'
import { RegistryError } from '../../../core/errors.ts'

interface Look {
  readonly wanted: Wanted
  /** Everything that is wanted is there. */
  readonly answer: () => void
  readonly fail: (error: Error) => void
}

/** Joined reads, and the looks that they have begun, each of which the test ends. */
function start(): { readonly reads: ReadBatcher; readonly looks: Look[] } {
  const looks: Look[] = []
  const reads = new ReadBatcher(
    (wanted) =>
      new Promise<Found>((resolve, reject) =>
        looks.push({ wanted, answer: () => resolve(everythingOf(wanted)), fail: reject }),
      ),
  )
  return { reads, looks }
}

const everythingOf = ({ keys, entries }: Wanted): Found => ({
  records: new Map(keys.map((key) => [key, [Buffer.from(key), Buffer.from('value'), '1']])),
  positions: new Map(entries.map((entry, i) => [entry, i])),
})

/** As many as it takes until what was answered has begun what waited. */
async function turns(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await turn()
}

const ofKey = (...keys: string[]): Wanted => ({ keys, entries: [] })
const ofEntry = (...entries: string[]): Wanted => ({ keys: [], entries })

/** What one answers, or the error's message. */
const outcomeOf = async (found: Promise<Found>): Promise<readonly string[] | string> => {
  try {
    return [...(await found).records.keys()]
  } catch (error) {
    return (error as Error).message
  }
}

describe('reads that are called at the same time', () => {
  it('are one look, records and positions together, each thing once', async () => {
    const { reads, looks } = start()
    const found = [reads.find(ofKey('a', 'b')), reads.find(ofEntry('00')), reads.find(ofKey('b'))]
    await Promise.resolve()
    found.push(reads.find(ofKey('c')))
    await turn()
    assert.deepEqual(
      looks.map(({ wanted }) => wanted),
      [{ keys: ['a', 'b', 'c'], entries: ['00'] }],
    )
    looks[0]?.answer()
    assert.equal((await found[1])?.positions.get('00'), 0)
    assert.ok((await found[2])?.records.has('b'))
    await Promise.all(found)
  })

  it('wait while three are under way, and then go together with what those ask next that were answered', async () => {
    const { reads, looks } = start()
    const underWay: Promise<Found>[] = []
    for (const key of ['1', '2', '3']) {
      underWay.push(reads.find(ofKey(key)))
      await turn()
    }
    const next = underWay[0]?.then(() => reads.find(ofKey('next')))
    const later = [reads.find(ofKey('4')), reads.find(ofKey('5'))]
    await turn()
    assert.equal(looks.length, 3)
    looks[0]?.answer()
    await underWay[0]
    await turns()
    assert.deepEqual(
      looks.map(({ wanted }) => wanted.keys),
      [['1'], ['2'], ['3'], ['4', '5', 'next']],
    )
    for (const { answer } of looks) answer()
    await Promise.all([...underWay, next, ...later])
  })

  it('are more than one look where they want more than 512 things', async () => {
    const { reads, looks } = start()
    const many = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name} ${i}`)
    const sizes = [500, 20, 2_000, 1]
    const found = sizes.map((size, i) => reads.find(ofKey(...many(String(i), size))))
    for (let ended = 0; ended < sizes.length; ended += 1) {
      await turns()
      looks[ended]?.answer()
    }
    await Promise.all(found)
    assert.deepEqual(
      looks.map(({ wanted }) => wanted.keys.length),
      sizes,
    )
  })
})

describe('a look that fails', () => {
  it('is told to all where the database is away, and the next are looked for', async () => {
    const { reads, looks } = start()
    const found = ['a', 'b'].map((key) => outcomeOf(reads.find(ofKey(key))))
    await turn()
    looks[0]?.fail(new RegistryError('UNAVAILABLE', 'away', { cause: new Error('ECONNREFUSED') }))
    assert.deepEqual(await Promise.all(found), ['away', 'away'])
    const after = outcomeOf(reads.find(ofKey('c')))
    await turn()
    assert.equal(looks.length, 2)
    looks[1]?.answer()
    assert.deepEqual(await after, ['c'])
  })

  it('for what does not pass is told only to those that asked for it', async () => {
    const { reads, looks } = start()
    const damage = new RegistryError('CORRUPT', 'damage', { cause: new RangeError('of one') })
    const found = ['a', 'bad', 'c'].map((key) => outcomeOf(reads.find(ofKey(key))))
    await turn()
    looks[0]?.fail(damage)
    await turn()
    assert.deepEqual(
      looks.slice(1).map(({ wanted }) => wanted.keys),
      [['a'], ['bad'], ['c']],
    )
    for (const { wanted, answer, fail } of looks.slice(1)) {
      if (wanted.keys.includes('bad')) fail(damage)
      else answer()
    }
    assert.deepEqual(await Promise.all(found), [['a'], 'damage', ['c']])
  })
})
